// Where the nodes of the data flow are: layers from top to bottom by dagre, a box around what ran in one span.
// In: nodes, lines, which span each ran in. Out: places, paths, boxes. Left to neighbours: drawing, the boxes one by one
// (flow_boxes.ts).
// Long lines cost the most and can be followed the least: beyond a length they end in a reference to where they come from.

import { arrange, type Arranged, type Item, type Tie } from "./flow_boxes";
import { smooth } from "./flow_path";
import type { FlowLine, FlowNode } from "./flow_view";
import type { Spans } from "./spans";
import type { Box } from "./stage";

export interface Reference {
  box: Box;
  /** Node that it refers to, and the line that it stands for. */
  from: number;
  line: number;
}

export interface Cluster {
  box: Box;
  span: number;
  depth: number;
}

export interface FlowLayout {
  boxes: Box[];
  paths: string[];
  references: Reference[];
  clusters: Cluster[];
  width: number;
  height: number;
}

export const WIDE = 232;
export const HIGH = 38;
export const SMALL = 24;
/** Steps of lines between layers that a layout has time for: 300 nodes in half a second. */
const STEPS = 600;

const SIDE_MOST = 132;
const SIDE_GAP = 16;
const STACK = SMALL + 3;

/** Operations and closed spans: what the layers are made of. */
export function isMain(node: FlowNode): boolean {
  return node.kind === "op" || node.kind === "group";
}

/** What is drawn beside the one node that it is tied to. */
function isSide(node: FlowNode): boolean {
  return node.kind === "input" || node.kind === "outside";
}

interface Beside {
  left: number[];
  right: number[];
}

export function layoutFlow(nodes: FlowNode[], lines: FlowLine[], spans: Spans, wide: (node: FlowNode) => number): FlowLayout {
  const kept = cutLong(nodes, lines);
  const homes = homesOf(nodes, lines, spans);
  const width = (at: number) => Math.min(SIDE_MOST, wide(nodes[at]!));

  // Beside each node: what it takes from nowhere and from far away, and what takes from it outside.
  const beside = nodes.map((): Beside => ({ left: [], right: [] }));
  const inward = nodes.map((): number[] => []);
  lines.forEach((line, i) => {
    if (isSide(nodes[line.from]!) || !kept[i]) inward[line.to]!.push(i);
    else if (isSide(nodes[line.to]!)) beside[line.from]!.right.push(i);
  });
  inward.forEach((list, at) => {
    const half = beside[at]!.right.length > 0 ? list.length : Math.ceil(list.length / 2);
    beside[at]!.left.push(...list.slice(0, half));
    beside[at]!.right.unshift(...list.slice(half));
  });
  const other = (line: FlowLine, at: number) => (line.from === at ? line.to : line.from);

  const mains: number[] = [];
  const place = new Int32Array(nodes.length).fill(-1);
  const items: Item[] = [];
  nodes.forEach((node, at) => {
    if (isSide(node)) return;
    place[at] = items.length;
    mains.push(at);
    const most = (list: number[]) => list.reduce((m, i) => Math.max(m, width(other(lines[i]!, at)) + SIDE_GAP), 0);
    const { left, right } = beside[at]!;
    const own = isMain(node) ? { w: WIDE, h: HIGH } : { w: width(at), h: SMALL };
    items.push({
      home: homes[at]!,
      w: own.w + 2 * Math.max(most(left), most(right)),
      h: Math.max(own.h, Math.max(left.length, right.length) * STACK - 3),
      own,
    });
  });
  const tied = lines.map((line, i) => kept[i]! && !isSide(nodes[line.from]!) && !isSide(nodes[line.to]!));
  const ties: Tie[] = lines.flatMap((line, i) =>
    tied[i] ? [{ from: place[line.from]!, to: place[line.to]!, weight: isMain(nodes[line.from]!) ? 2 : 1, line: i }] : [],
  );
  const shared = common(spans, [...new Set(homes.filter((span, at) => span >= 0 && place[at]! >= 0))]);
  const parent = (span: number) => {
    const up = span < 0 ? -1 : spans.parent[span]!;
    return up < 0 || up === shared || (shared >= 0 && !spans.within(up, shared)) ? -1 : up;
  };
  const made: Arranged = arrange(items, ties, parent, shared);

  const boxes: Box[] = nodes.map(() => ({ x: 0, y: 0, w: 0, h: 0 }));
  mains.forEach((at, i) => (boxes[at] = made.boxes[i]!));
  const paths = lines.map(() => "");
  made.ways.forEach((way, i) => (paths[ties[i]!.line] = smooth(way)));
  const references: Reference[] = [];
  for (const at of mains) {
    const own = boxes[at]!;
    const put = (list: number[], left: boolean) => {
      const top = own.y + own.h / 2 - (list.length * STACK - 3) / 2;
      list.forEach((i, n) => {
        const line = lines[i]!;
        const node = other(line, at);
        const w = width(node);
        const x = left ? own.x - SIDE_GAP - w : own.x + own.w + SIDE_GAP;
        const box = { x, y: top + n * STACK, w, h: SMALL };
        if (isSide(nodes[node]!)) boxes[node] = box;
        else references.push({ box, from: line.from, line: i });
        paths[i] = across(box, own, left, line.to === at);
      });
    };
    put(beside[at]!.left, true);
    put(beside[at]!.right, false);
  }
  const clusters = made.clusters.map(({ span, box }) => ({ span, box, depth: spans.path(span).length }));
  clusters.sort((a, b) => a.depth - b.depth);
  return { boxes, paths, references, clusters, width: made.width, height: made.height };
}

/** A short line between a node and what is beside it. */
function across(side: Box, own: Box, left: boolean, inward: boolean): string {
  const y0 = side.y + side.h / 2;
  const y1 = Math.max(own.y + 7, Math.min(own.y + own.h - 7, y0));
  const [a, b] = left ? [side.x + side.w, own.x] : [side.x, own.x + own.w];
  return inward ? `M${a} ${y0}L${b} ${y1}` : `M${b} ${y1}L${a} ${y0}`;
}

/** Which lines are drawn whole. */
function cutLong(nodes: FlowNode[], lines: FlowLine[]): boolean[] {
  const layer = new Int32Array(nodes.length);
  const into: number[][] = nodes.map(() => []);
  const both = (line: FlowLine) => !isSide(nodes[line.from]!) && !isSide(nodes[line.to]!);
  for (const line of lines) if (both(line) && line.from < line.to) into[line.to]!.push(line.from);
  for (let at = 0; at < nodes.length; at++) for (const from of into[at]!) layer[at] = Math.max(layer[at]!, layer[from]! + 1);
  const long = (line: FlowLine) => (both(line) ? Math.abs(layer[line.to]! - layer[line.from]!) - 1 : 0);
  for (const most of [24, 14, 8, 4]) {
    const kept = lines.map((line) => long(line) <= most);
    if (lines.reduce((n, line, i) => n + (kept[i] ? long(line) : 0), 0) <= STEPS) return kept;
  }
  return lines.map((line) => long(line) <= 2);
}

/** The span whose box a node is in; a recorded edge is in that of what it ties. */
function homesOf(nodes: FlowNode[], lines: FlowLine[], spans: Spans): number[] {
  const homes = nodes.map((node) => {
    if (node.span < 0) return -1;
    return node.kind === "group" ? spans.parent[node.span]! : node.kind === "op" ? node.span : -1;
  });
  const beside = new Map<number, number[]>();
  for (const line of lines) {
    for (const [at, other] of [[line.from, line.to], [line.to, line.from]] as const) {
      if (isMain(nodes[at]!)) continue;
      const list = beside.get(at);
      if (list) list.push(homes[other]!);
      else beside.set(at, [homes[other]!]);
    }
  }
  for (const [at, list] of beside) homes[at] = list.includes(-1) ? -1 : common(spans, list);
  return homes;
}

/** The innermost span that holds all of these. */
function common(spans: Spans, rows: number[]): number {
  let at = rows[0] ?? -1;
  while (at >= 0 && !rows.every((row) => spans.within(row, at))) at = spans.parent[at]!;
  return at;
}
