// Where an arrow key leads in the data flow: along the lines, or to what lies beside.
// In: a key, the node it starts from, places. Out: the next node; null: no key of this. Left to neighbours: going there.

import type { FlowView } from "./flow_view";
import type { Box } from "./stage";

export function flowStep(key: string, at: number, view: FlowView, boxes: Box[]): number | null {
  if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) return null;
  const byPlace = () => boxes.map((_, i) => i).sort((a, b) => boxes[a]!.y - boxes[b]!.y || boxes[a]!.x - boxes[b]!.x);
  if (at < 0 || key === "Home") return byPlace()[0] ?? -1;
  if (key === "End") return byPlace().at(-1) ?? -1;
  const middle = (b: Box) => ({ x: b.x + b.w / 2, y: b.y + b.h / 2 });
  const here = middle(boxes[at]!);
  const nearest = (among: number[], cost: (dx: number, dy: number) => number) => {
    let best = -1;
    let least = Infinity;
    for (const i of among) {
      const to = middle(boxes[i]!);
      const c = cost(to.x - here.x, to.y - here.y);
      if (c < least) {
        least = c;
        best = i;
      }
    }
    return best;
  };
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const way = key === "ArrowLeft" ? -1 : 1;
    return nearest(boxes.map((_, i) => i), (dx, dy) => (dx * way > 1 ? Math.abs(dx) + 3 * Math.abs(dy) : Infinity));
  }
  const down = key === "ArrowDown";
  const along = view.lines.flatMap((l) => (down ? (l.from === at ? [l.to] : []) : l.to === at ? [l.from] : []));
  // What operations made comes before what came from nowhere.
  const main = along.filter((i) => view.nodes[i]!.kind === "op" || view.nodes[i]!.kind === "group");
  const linked = nearest(main.length > 0 ? main : along, (dx, dy) => Math.abs(dy) + Math.abs(dx) / 4);
  if (linked >= 0) return linked;
  return nearest(boxes.map((_, i) => i), (dx, dy) => (dy * (down ? 1 : -1) > 1 ? Math.abs(dy) + 2 * Math.abs(dx) : Infinity));
}
