// Which part of the data flow is looked at, and which spans of it are open: operations one by one, or a span as one node.
// In: the flow, the route. Out: `Scope`, `placed`. Left to neighbours: nodes and lines of it (flow_view.ts).
// Few operations are all shown; of many, spans open level by level as long as the picture can be taken in.

import type { Flow } from "./flow";

export type Scope =
  | { kind: "span"; row: number }
  | { kind: "all" }
  | { kind: "near"; node: number; steps: number };

/** Operations up to which each is a node of its own. */
export const FEW = 150;
/** Nodes up to which spans open by themselves. */
const CALM = 60;
/** Operations around one at most. */
const NEAR = 300;

/** Spans that are open at first below a scope. */
export function openAtFirst(flow: Flow, scope: Scope): Set<number> {
  const { spans } = flow;
  const open = new Set<number>();
  if (scope.kind === "near") return open;
  const roots = scope.kind === "span" ? Array.from(spans.children(scope.row)) : spans.roots;
  const total = scope.kind === "span" ? flow.below(scope.row) : flow.operations;
  let level = roots.filter((row) => flow.below(row) > 0);
  let nodes = level.length + (scope.kind === "span" ? flow.own(scope.row) : 0);
  while (level.length > 0) {
    const below = level.flatMap((row) => Array.from(spans.children(row)).filter((child) => flow.below(child) > 0));
    const next = nodes - level.length + below.length + level.reduce((n, row) => n + flow.own(row), 0);
    // One node says nothing: what is in it does.
    if (total > FEW && next > CALM && nodes > 1) break;
    for (const row of level) open.add(row);
    nodes = next;
    level = below;
  }
  return open;
}

export interface Placed {
  /** Nodes of the flow in the scope, in the order of recording. */
  members: number[];
  /** For each member the closed span that holds it; -1: it stands for itself. */
  holder: Int32Array;
  /** Rows of spans of which something is in the scope, outermost first: boxes around their nodes. */
  cut: number;
}

export function placed(flow: Flow, scope: Scope, open: Set<number>): Placed {
  if (scope.kind === "near") return around(flow, scope.node, scope.steps);
  const { spans } = flow;
  const members: number[] = [];
  const inside = new Int8Array(spans.rows).fill(-1);
  const holders = new Int32Array(spans.rows).fill(-2);
  const within = (row: number) => {
    if (scope.kind === "all") return true;
    if (row < 0) return false;
    if (inside[row] === -1) inside[row] = spans.within(row, scope.row) ? 1 : 0;
    return inside[row] === 1;
  };
  const holderOf = (row: number): number => {
    if (row < 0) return -1;
    if (holders[row] !== -2) return holders[row]!;
    let found = -1;
    for (const at of spans.path(row)) {
      if (scope.kind === "span" && (at === scope.row || !spans.within(at, scope.row))) continue;
      if (open.has(at)) continue;
      found = at;
      break;
    }
    return (holders[row] = found);
  };
  const holder: number[] = [];
  for (let node = 0; node < flow.size; node++) {
    if (flow.link[node] ? !(scope.kind === "all" || touches(flow, node, within)) : !within(flow.span[node]!)) continue;
    members.push(node);
    holder.push(flow.link[node] ? -1 : holderOf(flow.span[node]!));
  }
  return { members, holder: Int32Array.from(holder), cut: 0 };
}

/** Whether a recorded edge ties something in the scope. */
function touches(flow: Flow, node: number, within: (row: number) => boolean): boolean {
  for (let e = flow.inStart[node]!; e < flow.inStart[node + 1]!; e++) {
    const from = flow.inFrom[e]!;
    if (from >= 0 && !flow.link[from] && within(flow.span[from]!)) return true;
  }
  for (let i = flow.outStart[node]!; i < flow.outStart[node + 1]!; i++) {
    const to = flow.inNode[flow.outEntry[i]!]!;
    if (!flow.link[to] && within(flow.span[to]!)) return true;
  }
  return false;
}

/** What is up to so many steps before and behind one node, the nearest first. */
function around(flow: Flow, node: number, steps: number): Placed {
  const seen = new Set([node]);
  let cut = 0;
  const walk = (next: (n: number) => number[]) => {
    let edge = [node];
    for (let step = 0; step < steps && edge.length > 0; step++) {
      const found: number[] = [];
      for (const n of edge) {
        for (const m of next(n)) {
          if (m < 0 || seen.has(m)) continue;
          if (seen.size >= NEAR) cut++;
          else {
            seen.add(m);
            found.push(m);
          }
        }
      }
      edge = found;
    }
  };
  walk((n) => Array.from(flow.inFrom.subarray(flow.inStart[n]!, flow.inStart[n + 1]!)));
  walk((n) => Array.from(flow.outEntry.subarray(flow.outStart[n]!, flow.outStart[n + 1]!), (e) => flow.inNode[e]!));
  const members = [...seen].sort((a, b) => a - b);
  return { members, holder: new Int32Array(members.length).fill(-1), cut };
}
