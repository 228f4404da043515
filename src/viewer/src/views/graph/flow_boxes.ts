// Boxes in boxes: what is in a box is laid out by itself, then the box is one node of what is around it.
// In: items with the box each is in, ties between items. Out: places of items and boxes, the way of each tie. Left to
// neighbours: what items and boxes are (flow_layout.ts).
// dagre can nest by itself, in three times the time and with one box right of the other. Here a tie that leaves a box has
// a port at its edge: one for all ties of one item.

import { Graph, layout as dagre } from "@dagrejs/dagre";
import type { Point } from "./flow_path";
import type { Box } from "./stage";

export interface Item {
  /** Span of the box that it is in; -1: in none. */
  home: number;
  /** Room that it takes with what is beside it, and its own size in the middle of that. */
  w: number;
  h: number;
  own: { w: number; h: number };
}

export interface Tie {
  from: number;
  to: number;
  weight: number;
  /** The line that it is part of. */
  line: number;
}

export interface Arranged {
  boxes: Box[];
  clusters: { span: number; box: Box }[];
  ways: Point[][];
  width: number;
  height: number;
}

const PAD = 12;
/** Room for the name of a box. */
const HEAD = 26;

interface Level {
  span: number;
  up: Level | null;
  depth: number;
  graph: Graph;
  items: number[];
  inner: Level[];
  ports: { top: Set<string>; bottom: Set<string> };
  /** Places of what is in it, from its upper left corner. */
  at: Map<string, Box>;
  w: number;
  h: number;
}

export function arrange(items: Item[], ties: Tie[], parent: (span: number) => number, shared: number): Arranged {
  const root = newLevel(-1, null);
  const levels = new Map<number, Level>([[-1, root], [shared, root]]);
  const levelOf = (span: number): Level => {
    let level = levels.get(span);
    if (!level) {
      const up = levelOf(parent(span));
      level = newLevel(span, up);
      up.inner.push(level);
      levels.set(span, level);
    }
    return level;
  };
  const home = items.map((item, i) => {
    const level = levelOf(item.home);
    level.items.push(i);
    level.graph.setNode(`n${i}`, { width: item.w, height: item.h });
    return level;
  });

  // Each tie in parts: out of the boxes of its start, through the level that holds both, into those of its end.
  interface Part {
    level: Level;
    from: string;
    to: string;
    name: string;
  }
  const parts = ties.map((tie): Part[] => {
    let [a, b] = [home[tie.from]!, home[tie.to]!];
    let [from, to] = [`n${tie.from}`, `n${tie.to}`];
    const out: Part[] = [];
    const into: Part[] = [];
    const part = (level: Level, v: string, w: string): Part => {
      const name = `t${tie.from}`;
      if (!level.graph.hasEdge(v, w, name)) level.graph.setEdge(v, w, { weight: tie.weight }, name);
      return { level, from: v, to: w, name };
    };
    const port = (level: Level, side: "top" | "bottom") => {
      const id = `${side === "top" ? "i" : "o"}${tie.from}`;
      if (!level.ports[side].has(id)) {
        level.ports[side].add(id);
        level.graph.setNode(id, { width: 1, height: 1 });
      }
      return id;
    };
    while (a !== b) {
      if (a.depth >= b.depth) {
        out.push(part(a, from, port(a, "bottom")));
        from = `c${a.span}`;
        a = a.up!;
      } else {
        into.unshift(part(b, port(b, "top"), to));
        to = `c${b.span}`;
        b = b.up!;
      }
      // Boxes are nodes of what is around them before any tie names them.
      ensure(a, from);
      ensure(b, to);
    }
    if (from === to) return [];
    return [...out, part(a, from, to), ...into];
  });

  place(root);
  const corners = new Map<Level, Point>();
  const corner = (level: Level): Point => {
    let at = corners.get(level);
    if (!at) {
      const up = level.up;
      const box = up?.at.get(`c${level.span}`);
      const outer = up ? corner(up) : { x: 0, y: 0 };
      at = { x: outer.x + (box?.x ?? 0), y: outer.y + (box?.y ?? 0) };
      corners.set(level, at);
    }
    return at;
  };
  const boxIn = (level: Level, id: string): Box => {
    const c = corner(level);
    const box = level.at.get(id)!;
    const at = { ...box, x: c.x + box.x, y: c.y + box.y };
    if (id[0] !== "n") return at;
    const { own } = items[Number(id.slice(1))]!;
    return { x: at.x + (at.w - own.w) / 2, y: at.y + (at.h - own.h) / 2, ...own };
  };
  const ways = parts.map((list): Point[] => {
    const way: Point[] = [];
    list.forEach(({ level, from, to, name }, i) => {
      const [c, shift] = [corner(level), shiftOf(level)];
      const [a, b] = [boxIn(level, from), boxIn(level, to)];
      const edge = level.graph.edge({ v: from, w: to, name }) as { points?: Point[] };
      const middle = (box: Box) => ({ x: box.x + box.w / 2, y: box.y + box.h / 2 });
      const points = edge.points?.map((p) => ({ x: p.x + c.x + shift.x, y: p.y + c.y + shift.y })) ?? [middle(b), middle(a)];
      const down = a.y + a.h / 2 <= b.y + b.h / 2;
      const on = (x: number, box: Box) => {
        const inset = Math.min(18, box.w / 2);
        return Math.max(box.x + inset, Math.min(box.x + box.w - inset, x));
      };
      if (i === 0) way.push({ x: on(points[0]!.x, a), y: down ? a.y + a.h : a.y });
      else if (from[0] === "c") way.push({ x: way[way.length - 1]!.x, y: down ? a.y + a.h : a.y });
      // The points next to both ends lie where dagre would have gone on: to the middle of a box, not to its port.
      way.push(...points.slice(2, -2));
      if (i === list.length - 1) way.push({ x: on(points[points.length - 1]!.x, b), y: down ? b.y : b.y + b.h });
      else if (to[0] === "c") {
        const next = list[i + 1]!;
        way.push({ x: boxIn(next.level, next.from).x, y: down ? b.y : b.y + b.h });
      } else way.push({ x: b.x, y: b.y });
    });
    return way;
  });
  return {
    boxes: items.map((_, i) => boxIn(home[i]!, `n${i}`)),
    clusters: [...new Set(levels.values())].filter((l) => l.up).map((l) => ({ span: l.span, box: boxIn(l.up!, `c${l.span}`) })),
    ways,
    width: root.w,
    height: root.h,
  };
}

function newLevel(span: number, up: Level | null): Level {
  const graph = new Graph({ directed: true, multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 24, edgesep: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  const ports = { top: new Set<string>(), bottom: new Set<string>() };
  return { span, up, depth: up ? up.depth + 1 : 0, graph, items: [], inner: [], ports, at: new Map(), w: 0, h: 0 };
}

function ensure(level: Level, id: string): void {
  if (!level.graph.hasNode(id)) level.graph.setNode(id, { width: 1, height: 1 });
}

/** One thing in a box needs no layers: its ports lie right above and below it. */
function alone(graph: Graph, id: string, top: Set<string>, bottom: Set<string>): void {
  const node = graph.node(id) as { width: number; height: number };
  graph.setNode(id, { ...node, x: 0, y: 0 });
  const spread = (ports: Set<string>, y: number) => {
    const step = Math.min(16, (node.width - 60) / Math.max(1, ports.size));
    [...ports].forEach((port, i) => graph.setNode(port, { width: 1, height: 1, x: (i - (ports.size - 1) / 2) * step, y }));
  };
  spread(top, -node.height / 2 - 5);
  spread(bottom, node.height / 2 + 5);
}

const shifts = new WeakMap<Level, Point>();
function shiftOf(level: Level): Point {
  return shifts.get(level) ?? { x: 0, y: 0 };
}

/** Lays out what is in a level, from the inside to the outside. */
function place(level: Level): void {
  const { graph } = level;
  for (const inner of level.inner) {
    place(inner);
    graph.setNode(`c${inner.span}`, { width: inner.w, height: inner.h });
  }
  const real = graph.nodes().filter((id) => id[0] === "n" || id[0] === "c");
  // Ports lie at the edges: held there by a node above all, and one below.
  const { top, bottom } = level.ports;
  if (real.length === 1) alone(graph, real[0]!, top, bottom);
  else if (top.size > 0) {
    graph.setNode("T", { width: 1, height: 1 });
    for (const id of top) graph.setEdge("T", id, { weight: 40 }, "hold");
    for (const id of real) if ((graph.predecessors(id) ?? []).length === 0) graph.setEdge("T", id, { weight: 0 }, "hold");
  }
  if (real.length > 1 && bottom.size > 0) {
    graph.setNode("B", { width: 1, height: 1 });
    for (const id of bottom) graph.setEdge(id, "B", { weight: 40 }, "hold");
    for (const id of real) if ((graph.successors(id) ?? []).length === 0) graph.setEdge(id, "B", { weight: 0 }, "hold");
  }
  if (real.length > 1) dagre(graph);
  const shown = [...real, ...top, ...bottom];
  const boxes = shown.map((id): [string, Box] => {
    const { x, y, width, height } = graph.node(id) as { x: number; y: number; width: number; height: number };
    return [id, { x: x - width / 2, y: y - height / 2, w: width, h: height }];
  });
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [, b] of boxes) {
    x0 = Math.min(x0, b.x);
    y0 = Math.min(y0, b.y);
    x1 = Math.max(x1, b.x + b.w);
    y1 = Math.max(y1, b.y + b.h);
  }
  // Lines may run beside everything.
  for (const e of graph.edges()) {
    if (e.name === "hold") continue;
    for (const p of (graph.edge(e) as { points?: Point[] }).points ?? []) {
      x0 = Math.min(x0, p.x);
      x1 = Math.max(x1, p.x);
    }
  }
  const pad = level.up ? PAD : 0;
  const shift = { x: pad - x0, y: (level.up ? HEAD : 0) - y0 };
  shifts.set(level, shift);
  for (const [id, b] of boxes) level.at.set(id, { ...b, x: b.x + shift.x, y: b.y + shift.y });
  level.w = x1 - x0 + 2 * pad;
  level.h = y1 - y0 + (level.up ? HEAD + PAD : 0);
}
