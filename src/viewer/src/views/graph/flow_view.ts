// The nodes and lines of the data flow that are drawn: operations, closed spans, tensors that come from nowhere.
// In: the flow, a scope, what is open. Out: `viewOf`. Left to neighbours: places (flow_layout.ts), looks (flow_nodes.tsx).
// At most some three hundred nodes: more are on further pages, in the order of recording; what is left out is counted.

import { count } from "../../ui/format";
import type { TensorFacts } from "./categories";
import type { Flow } from "./flow";
import { placed, type Scope } from "./flow_scope";

export interface FlowNode {
  key: string;
  kind: "op" | "group" | "link" | "input" | "outside";
  name: string;
  /** Nodes of the flow that it stands for. */
  members: number[];
  /** Row of the closed span, or of the span that an operation ran in; -1: none. */
  span: number;
  /** Host time of its operations, summed; null: not known. */
  time: number | null;
  /** Tensors that it stands for. */
  tensors: number[];
  category: string | null;
  /** For "outside": whether it is before or behind what is drawn. */
  side: "before" | "behind" | null;
}

export interface FlowLine {
  from: number;
  to: number;
  tensors: number[];
  recorded: boolean;
}

export interface FlowView {
  nodes: FlowNode[];
  lines: FlowLine[];
  /** Operations in the scope, those that are drawn one by one or in a group, and their pages. */
  operations: number;
  drawn: number;
  pages: number;
  page: number;
  /** Nodes of the scope before they were put on pages. */
  whole: number;
  /** Nodes without a producer, or outside, that found no room. */
  left: number;
  /** Nodes around one that found no room. */
  cut: number;
}

/** Operations and groups of a page, and nodes of all kinds. */
export const PAGE = 150;
export const MOST = 300;
/** Tensors of one taker that stand apart. */
const APART = 3;

export interface Wish {
  scope: Scope;
  open: Set<number>;
  page: number;
  inputs: boolean;
  facts: Map<string, TensorFacts>;
}

export function viewOf(flow: Flow, wish: Wish): FlowView {
  const { members, holder, cut } = placed(flow, wish.scope, wish.open);
  const all = new Map<string, FlowNode>();
  for (let i = 0; i < members.length; i++) {
    const node = members[i]!;
    const span = holder[i]!;
    const key = span >= 0 ? `grp:${flow.spans.ids[span]}` : `op:${flow.seq[node]}${flow.link[node] ? `:${node}` : ""}`;
    const there = all.get(key);
    if (there) {
      there.members.push(node);
      continue;
    }
    const kind = span >= 0 ? "group" : flow.link[node] ? "link" : "op";
    const name = span >= 0 ? flow.spans.name(span) : flow.name(node);
    all.set(key, {
      key,
      kind,
      name,
      members: [node],
      span: span >= 0 ? span : flow.span[node]!,
      time: null,
      tensors: [],
      category: flow.link[node] ? (wish.facts.get(name)?.category ?? null) : null,
      side: null,
    });
  }
  const whole = [...all.values()];
  const pages = Math.max(1, Math.ceil(whole.length / PAGE));
  const page = Math.max(0, Math.min(wish.page, pages - 1));
  const nodes = pages === 1 ? whole : whole.slice(page * PAGE, (page + 1) * PAGE);
  const nodeAt = new Int32Array(flow.size).fill(-1);
  nodes.forEach((node, i) => {
    for (const member of node.members) {
      nodeAt[member] = i;
      const time = flow.time(member);
      if (time !== null) node.time = (node.time ?? 0) + time;
    }
  });
  const ends = joined(flow, nodes, nodeAt);
  const lines = ends.lines;
  let left = 0;
  const main = nodes.length;
  const spare = () => MOST - nodes.length;
  const put = (made: FlowNode[], wire: (node: FlowNode, at: number, i: number) => void) => {
    made.forEach((node, i) => {
      if (spare() <= 0) left++;
      else {
        nodes.push(node);
        wire(node, nodes.length - 1, i);
      }
    });
  };
  if (wish.inputs) {
    const inputs = inputsOf(flow, ends.sources, wish.facts);
    put(inputs.map((x) => x.node), (node, at, i) => {
      const { taker } = inputs[i]!;
      const recorded = node.tensors.every((t) => ends.tied.has(`${t} ${taker}`));
      lines.push({ from: at, to: taker, tensors: node.tensors, recorded });
    });
  }
  for (const side of ["before", "behind"] as const) {
    const outer = outerOf(flow, side === "before" ? ends.before : ends.behind, side);
    put(outer.map((x) => x.node), (node, at, i) => {
      const other = outer[i]!.taker;
      const pair = side === "before" ? { from: at, to: other } : { from: other, to: at };
      lines.push({ ...pair, tensors: node.tensors, recorded: false });
    });
  }
  const drawn = nodes.slice(0, main).reduce((n, x) => n + (x.kind === "op" || x.kind === "group" ? x.members.length : 0), 0);
  const operations = members.reduce((n, node) => n + (flow.link[node] ? 0 : 1), 0);
  return { nodes, lines, operations, drawn, pages, page, whole: whole.length, left, cut };
}

interface Ends {
  lines: FlowLine[];
  /** Tensors without a producer, with the nodes that take them. */
  sources: Map<number, Set<number>>;
  /** Tensors without a producer that a node takes by a recorded edge alone: `tensor node`. */
  tied: Set<string>;
  /** Nodes of the flow that are not drawn, with the drawn ones that take from them, or give to them. */
  before: Map<number, Set<number>>;
  behind: Map<number, Set<number>>;
}

function joined(flow: Flow, nodes: FlowNode[], nodeAt: Int32Array): Ends {
  const lines = new Map<number, FlowLine>();
  const sources = new Map<number, Set<number>>();
  const before = new Map<number, Set<number>>();
  const behind = new Map<number, Set<number>>();
  const tied = new Set<string>();
  const note = (map: Map<number, Set<number>>, key: number, at: number) => {
    const set = map.get(key);
    if (set) set.add(at);
    else map.set(key, new Set([at]));
  };
  nodes.forEach((node, at) => {
    for (const member of node.members) {
      for (let e = flow.inStart[member]!; e < flow.inStart[member + 1]!; e++) {
        const from = flow.inFrom[e]!;
        const tensor = flow.inTensor[e]!;
        if (from < 0) {
          note(sources, tensor, at);
          if (flow.inRecorded[e]) tied.add(`${tensor} ${at}`);
        } else if (nodeAt[from]! < 0) note(before, from, at);
        else if (nodeAt[from] !== at) {
          const key = nodeAt[from]! * nodes.length + at;
          const line = lines.get(key);
          if (!line) lines.set(key, { from: nodeAt[from]!, to: at, tensors: [tensor], recorded: flow.inRecorded[e] === 1 });
          else if (!line.tensors.includes(tensor) && line.tensors.length < 1000) line.tensors.push(tensor);
        }
      }
      for (let i = flow.outStart[member]!; i < flow.outStart[member + 1]!; i++) {
        const to = flow.inNode[flow.outEntry[i]!]!;
        if (nodeAt[to]! < 0) note(behind, to, at);
      }
    }
  });
  return { lines: [...lines.values()], sources, tied, before, behind };
}

interface Side {
  node: FlowNode;
  taker: number;
}

/**
 * Tensors or nodes of each taker: what is taken in several places is drawn beside each of them. Lines across the picture
 * would tie everything to everything.
 */
function alike(of: Map<number, Set<number>>): { things: number[]; taker: number }[] {
  const by = new Map<number, number[]>();
  for (const [thing, takers] of of) {
    for (const taker of takers) {
      const list = by.get(taker);
      if (list) list.push(thing);
      else by.set(taker, [thing]);
    }
  }
  return [...by].map(([taker, things]) => ({ taker, things })).sort((a, b) => a.taker - b.taker);
}

function inputsOf(flow: Flow, sources: Map<number, Set<number>>, facts: Map<string, TensorFacts>): Side[] {
  return alike(sources).flatMap(({ things, taker }): Side[] => {
    const node = (tensors: number[]): Side => {
      const known = tensors.map((t) => facts.get(flow.tensors[t]!)?.category ?? null);
      const same = known.every((c) => c === known[0]) ? known[0]! : null;
      const name = tensors.length === 1 ? flow.tensors[tensors[0]!]! : `${count(tensors.length)} ${same ?? "tensor"}s`;
      const first = Math.min(...sources.get(tensors[0]!)!);
      // One of them has the name alone as its key: a selection of the tensor finds it.
      const key = `in:${flow.tensors[tensors[0]!]}${taker === first ? "" : `:${taker}`}`;
      return { node: side(key, "input", name, tensors, [], same, null), taker };
    };
    return things.length <= APART ? things.map((t) => node([t])) : [node(things)];
  });
}

function outerOf(flow: Flow, outer: Map<number, Set<number>>, where: "before" | "behind"): Side[] {
  return alike(outer).map(({ things, taker }) => {
    const first = things[0]!;
    const span = flow.span[first]!;
    const place = span >= 0 ? ` in ${flow.spans.name(span)}` : "";
    const name = things.length === 1 ? `${flow.name(first)}${place}` : `${count(things.length)} operations`;
    const tensors = where === "before" ? things.map((n) => flow.output[n]!).filter((t) => t >= 0) : [];
    return { node: side(`${where}:${first}:${taker}`, "outside", name, tensors, things, null, where), taker };
  });
}

function side(
  key: string,
  kind: "input" | "outside",
  name: string,
  tensors: number[],
  members: number[],
  category: string | null,
  where: FlowNode["side"],
): FlowNode {
  return { key, kind, name, members, span: -1, time: null, tensors, category, side: where };
}
