// Where rows are on the screen: groups below each other, folded ones as a thin strip.
// In: a plane, which groups are folded. Out: `Layout`. Left to neighbours: drawing.

import { groupOf, type Plane } from "./model";

export const ROW = 22;
const AROUND = 6;
/** Room for the name of a group and a line below it. */
const LEAST = 46;
const FOLDED = 20;

export interface Layout {
  height: number;
  /** Top of each group and its height. */
  tops: Float64Array;
  heights: Float64Array;
  /** Height of a row in each group, and the room above the first. */
  row: Float64Array;
  inset: Float64Array;
  folded: ReadonlySet<number>;
}

export function layOut(plane: Plane, folded: ReadonlySet<number>): Layout {
  const n = plane.groups.length;
  const tops = new Float64Array(n);
  const heights = new Float64Array(n);
  const row = new Float64Array(n);
  const inset = new Float64Array(n);
  let y = 0;
  plane.groups.forEach((group, g) => {
    tops[g] = y;
    row[g] = folded.has(g) ? Math.min(ROW, FOLDED / group.rows) : ROW;
    heights[g] = folded.has(g) ? FOLDED + 2 * AROUND : Math.max(LEAST, group.rows * ROW + 2 * AROUND);
    inset[g] = folded.has(g) ? AROUND : Math.floor((heights[g]! - group.rows * ROW) / 2) + 1;
    y += heights[g]!;
  });
  return { height: y, tops, heights, row, inset, folded };
}

/** Top of a row. */
export function rowTop(layout: Layout, plane: Plane, row: number): number {
  const g = groupOf(plane, row);
  return layout.tops[g]! + layout.inset[g]! + (row - plane.groups[g]!.row) * layout.row[g]!;
}

/** First group whose end is below `y`. */
export function groupAt(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.tops.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (layout.tops[mid]! <= y) low = mid;
    else high = mid - 1;
  }
  return low;
}

/** Row at a height; -1: none. */
export function rowAt(layout: Layout, plane: Plane, y: number): number {
  if (y < 0 || y >= layout.height || plane.groups.length === 0) return -1;
  const g = groupAt(layout, y);
  const group = plane.groups[g]!;
  const row = Math.floor((y - layout.tops[g]! - layout.inset[g]!) / layout.row[g]!);
  return row >= 0 && row < group.rows ? group.row + row : -1;
}
