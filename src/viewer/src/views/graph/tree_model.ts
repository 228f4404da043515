// Which nodes of the call tree there are to draw: spans, siblings of one name as one node, and what is cut.
// In: the spans, what is expanded. Out: `visible`, a list in the order of a walk. Left to neighbours: where they are
// drawn (tree_layout.ts), how (tree_nodes.tsx, outline.tsx).
// Twenty-four thousand layers of a loop have as many names: names that differ in their digits alone are grouped as well,
// once there are many.

import { count } from "../../ui/format";
import type { Spans } from "./spans";

export interface TreeNode {
  key: string;
  kind: "span" | "group" | "pattern" | "more";
  depth: number;
  /** Place of its parent in the list; -1: a root. */
  parent: number;
  /** Row of a span; -1: no single one. */
  row: number;
  /** Rows it stands for. */
  rows: ArrayLike<number>;
  name: string;
  /** Host time, of several spans summed; null: none is known. */
  total: number | null;
  self: number | null;
  /** Spans whose time is not known. */
  unknown: number;
  /** Nodes it opens to; 0: a leaf. */
  children: number;
  expanded: boolean;
  step: string | null;
  /** Part of the measured region; null: not in it. */
  share: number | null;
  /** Spans at it or below it that the search finds. */
  hits: number;
  /** Whether the search finds the node itself. */
  hit: boolean;
  /** Place among its siblings, from 1, and their number: for screen readers. */
  place: number;
  siblings: number;
}

export type Order = "run" | "slowest";

/** Nodes that an expanded node shows at first, and that "more" adds. */
export const CHUNK = 40;
/** Nodes that are drawn at most. */
export const MOST = 500;
/** Siblings from which on names that differ in digits alone are one node. */
const MANY = 25;

interface Entry {
  key: string;
  kind: "span" | "group" | "pattern";
  name: string;
  rows: number[];
}

export interface Hits {
  of: Uint8Array;
  /** Hits before each place of the walk. */
  before: Int32Array;
  total: number;
}

/** Spans whose name holds every word of a query. */
export function search(spans: Spans, query: string): Hits | null {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const { codes, dictionary } = spans.table.text("name");
  const found = dictionary.map((name) => {
    const low = name.toLowerCase();
    return words.every((word) => low.includes(word));
  });
  const of = Uint8Array.from(codes, (code) => (found[code] ? 1 : 0));
  const before = new Int32Array(spans.rows + 1);
  for (let row = 0; row < spans.rows; row++) before[spans.first[row]! + 1] = of[row]!;
  for (let i = 0; i < spans.rows; i++) before[i + 1]! += before[i]!;
  return { of, before, total: before[spans.rows]! };
}

function entriesOf(spans: Spans, rows: ArrayLike<number>, scope: string, single: boolean): Entry[] {
  const byName = new Map<string, number[]>();
  for (let i = 0; i < rows.length; i++) {
    const name = spans.name(rows[i]!);
    const list = byName.get(name);
    if (list) list.push(rows[i]!);
    else byName.set(name, [rows[i]!]);
  }
  const one = (row: number): Entry => ({ key: `span:${spans.ids[row]}`, kind: "span", name: spans.name(row), rows: [row] });
  const entry = ([name, list]: [string, number[]]): Entry =>
    list.length === 1 ? one(list[0]!) : { key: `n:${scope}:${name}`, kind: "group", name, rows: list };
  if (single && byName.size === 1) return [...byName.values()][0]!.map(one);
  if (byName.size < MANY || single) return [...byName].map(entry);
  const byPattern = new Map<string, [string, number[]][]>();
  for (const pair of byName) {
    const pattern = pair[0].replace(/\d+/g, "#");
    const list = byPattern.get(pattern);
    if (list) list.push(pair);
    else byPattern.set(pattern, [pair]);
  }
  return [...byPattern].flatMap(([pattern, pairs]): Entry[] => {
    if (pairs.length < MANY) return pairs.map(entry);
    const all = pairs.flatMap(([, list]) => list);
    return [{ key: `p:${scope}:${pattern}`, kind: "pattern", name: pattern, rows: all }];
  });
}

const made = new WeakMap<Spans, Map<string, Entry[]>>();

/** What a node opens to: kept, since it never changes. */
export function childrenOf(spans: Spans, node: { key: string; kind: string; rows: ArrayLike<number> }): Entry[] {
  let kept = made.get(spans);
  if (!kept) made.set(spans, (kept = new Map()));
  let entries = kept.get(node.key);
  if (!entries) {
    const inside = node.kind === "span" || node.kind === "root";
    const rows = node.kind === "span" ? spans.children(node.rows[0]!) : node.rows;
    entries = entriesOf(spans, rows, node.key, !inside);
    kept.set(node.key, entries);
  }
  return entries;
}

const sums = new WeakMap<Spans, Map<string, { total: number | null; self: number | null; unknown: number }>>();

function timesOf(spans: Spans, entry: Entry) {
  let kept = sums.get(spans);
  if (!kept) sums.set(spans, (kept = new Map()));
  let sum = kept.get(entry.key);
  if (!sum) {
    sum = { total: null, self: null, unknown: 0 };
    for (const row of entry.rows) {
      const total = spans.total(row);
      const self = spans.self(row);
      if (total === null) sum.unknown++;
      else sum.total = (sum.total ?? 0) + total;
      if (self !== null) sum.self = (sum.self ?? 0) + self;
    }
    kept.set(entry.key, sum);
  }
  return sum;
}

export interface Shape {
  expanded: Set<string>;
  /** Children that a node shows, where "more" was asked for. */
  limits: Map<string, number>;
  /** Nodes that are shown even where their siblings are cut. */
  pinned: Set<string>;
  order: Order;
}

/** The nodes to draw, each before what is below it. */
export function visible(spans: Spans, shape: Shape, hits: Hits | null): TreeNode[] {
  const out: TreeNode[] = [];
  const region = spans.region();
  const add = (entry: Entry, depth: number, parent: number, place: number, siblings: number): void => {
    const { total, self, unknown } = timesOf(spans, entry);
    const first = entry.rows[0]!;
    const children = childrenOf(spans, entry).length;
    const expanded = children > 0 && shape.expanded.has(entry.key);
    const inRegion = spans.measured >= 0 && spans.within(first, spans.measured);
    const at = out.length;
    out.push({
      key: entry.key,
      kind: entry.kind,
      depth,
      parent,
      row: entry.kind === "span" ? first : -1,
      rows: entry.rows,
      name: entry.name,
      total,
      self,
      unknown,
      children,
      expanded,
      step: spans.step(first),
      share: inRegion && region && total !== null ? total / region : null,
      hits: hits ? below(spans, entry.rows, hits) : 0,
      hit: hits ? entry.rows.some((row) => hits.of[row] === 1) : false,
      place,
      siblings,
    });
    if (expanded) level(childrenOf(spans, entry), entry.key, depth + 1, at);
  };
  const level = (entries: Entry[], key: string, depth: number, parent: number): void => {
    const limit = shape.limits.get(key) ?? CHUNK;
    let shown = entries;
    const slow = (e: Entry) => timesOf(spans, e).total ?? -1;
    if (entries.length > limit || shape.order === "slowest") {
      const bySlow = entries.map((e, i) => ({ e, i, t: slow(e) })).sort((a, b) => b.t - a.t || a.i - b.i);
      const kept = bySlow.filter(({ e }, i) => i < limit || shape.pinned.has(e.key));
      if (shape.order === "run") kept.sort((a, b) => a.i - b.i);
      shown = kept.map(({ e }) => e);
    }
    const cut = entries.length - shown.length;
    const siblings = shown.length + (cut > 0 ? 1 : 0);
    let place = 1;
    for (const entry of shown) add(entry, depth, parent, place++, siblings);
    if (cut > 0) out.push(more(key, depth, parent, entries.length, shown.length, siblings));
  };
  level(entriesOf(spans, spans.roots, "root", false), "root", 0, -1);
  return out;
}

function more(key: string, depth: number, parent: number, all: number, shown: number, place: number): TreeNode {
  return {
    key: `more:${key}`,
    kind: "more",
    depth,
    parent,
    row: -1,
    rows: [],
    name: `showing ${count(shown)} of ${count(all)}, the slowest`,
    total: null,
    self: null,
    unknown: 0,
    children: 0,
    expanded: false,
    step: null,
    share: null,
    hits: 0,
    hit: false,
    place,
    siblings: place,
  };
}

function below(spans: Spans, rows: ArrayLike<number>, hits: Hits): number {
  let n = 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    n += hits.before[spans.last[row]!]! - hits.before[spans.first[row]!]!;
  }
  return n;
}

/** What is open at first: level by level, as long as it is a picture and no wall. */
export function openAtFirst(spans: Spans, most = 36): Set<string> {
  const expanded = new Set<string>();
  let level = entriesOf(spans, spans.roots, "root", false);
  let nodes = level.length;
  while (level.length > 0) {
    const below = level.flatMap((entry) => (entry.kind === "span" ? childrenOf(spans, entry) : []));
    if (below.length === 0 || nodes + below.length > most) break;
    for (const entry of level) if (entry.kind === "span") expanded.add(entry.key);
    nodes += below.length;
    level = below;
  }
  return expanded;
}

/** Opens everything above a span, and shows it even where its siblings are cut. */
export function reveal(spans: Spans, shape: Shape, row: number): Shape {
  const expanded = new Set(shape.expanded);
  const pinned = new Set(shape.pinned);
  let here: { key: string; kind: string; rows: ArrayLike<number> } = { key: "root", kind: "root", rows: spans.roots };
  for (;;) {
    const next = childrenOf(spans, here).find((e) => e.rows.some((r) => spans.within(row, r)));
    if (!next) break;
    pinned.add(next.key);
    if (next.kind === "span" && next.rows[0] === row) break;
    expanded.add(next.key);
    here = next;
  }
  return { ...shape, expanded, pinned };
}
