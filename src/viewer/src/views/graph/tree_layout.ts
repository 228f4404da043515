// Where the nodes of the call tree are: columns by depth, a node beside the first of its children.
// In: the nodes in the order of a walk. Out: boxes and the lines between them. Left to neighbours: drawing.
// A node stays where it is when something below it opens: nothing above the reader's eye moves.

import type { Box } from "./stage";
import type { TreeNode } from "./tree_model";

export const WIDE = 236;
export const HIGH = 48;
const GAP_X = 34;
const GAP_Y = 9;

export interface TreeLayout {
  boxes: Box[];
  width: number;
  height: number;
  /** A line from each parent to its children. */
  lines: string[];
}

export function layoutTree(nodes: TreeNode[]): TreeLayout {
  const boxes: Box[] = [];
  const lines: string[] = [];
  let row = 0;
  let width = 0;
  nodes.forEach((node, i) => {
    // The first child is on its parent's line, every other node below all that came before.
    if (i > 0 && node.parent !== i - 1) row++;
    const box = { x: node.depth * (WIDE + GAP_X), y: row * (HIGH + GAP_Y), w: WIDE, h: node.kind === "more" ? 26 : HIGH };
    boxes.push(box);
    width = Math.max(width, box.x + box.w);
    const from = boxes[node.parent];
    if (!from) return;
    const x0 = from.x + from.w;
    const y0 = from.y + HIGH / 2;
    const y1 = box.y + box.h / 2;
    const middle = x0 + GAP_X / 2;
    const r = Math.min(7, Math.abs(y1 - y0) / 2);
    lines.push(
      y1 - y0 < 1 ? `M${x0} ${y0}H${box.x}` : `M${x0} ${y0}H${middle - r}q${r} 0 ${r} ${r}V${y1 - r}q0 ${r} ${r} ${r}H${box.x}`,
    );
  });
  return { boxes, width, height: (row + 1) * (HIGH + GAP_Y) - GAP_Y, lines };
}
