// What can be seen, and what is where: bisection in rows whose starts and ends rise.
// In: a plane, a range of time, a place. Out: marks. Left to neighbours: pixels (paint.ts), rows on the screen (layout.ts).

import { groupOf, type Plane } from "./model";
import type { Range } from "./range";
import type { Hits } from "./search";

/** First mark of [first, last) that ends at `time` or after it. */
export function firstEnding(end: Float64Array, first: number, last: number, time: number): number {
  let low = first;
  let high = last;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (end[mid]! < time) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** First mark of [first, last) that starts at `time` or after it; near ones are found soonest. */
export function firstStarting(start: Float64Array, first: number, last: number, time: number): number {
  let low = first;
  let stride = 1;
  while (low + stride < last && start[low + stride]! < time) {
    low += stride;
    stride *= 2;
  }
  let high = Math.min(low + stride, last);
  while (low < high) {
    const mid = (low + high) >> 1;
    if (start[mid]! < time) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** Mark of a row at an instant, or the nearest within `slack`; -1: none. */
export function hit(plane: Plane, row: number, time: number, slack: number): number {
  const first = plane.rows[row]!;
  const last = plane.rows[row + 1]!;
  const i = firstEnding(plane.end, first, last, time);
  let best = -1;
  let distance = slack;
  for (const m of [i - 1, i, i + 1]) {
    if (m < first || m >= last) continue;
    const d = Math.max(plane.start[m]! - time, time - plane.end[m]!, 0);
    if (d < distance || (d === 0 && best < 0)) {
      best = m;
      distance = d;
    }
  }
  return best;
}

export type Direction = "left" | "right" | "up" | "down";

/** The mark beside another: in its row, above it at its start, below it while it runs. */
export function neighbour(plane: Plane, mark: number, direction: Direction): number {
  const row = plane.rowOf[mark]!;
  const { start, end, rows } = plane;
  if (direction === "left") return mark > rows[row]! ? mark - 1 : -1;
  if (direction === "right") return mark + 1 < rows[row + 1]! ? mark + 1 : -1;
  const group = plane.groups[groupOf(plane, row)]!;
  if (direction === "up") {
    for (let r = row - 1; r >= group.row; r--) {
      const m = firstEnding(end, rows[r]!, rows[r + 1]!, start[mark]!);
      if (m < rows[r + 1]! && start[m]! <= start[mark]!) return m;
    }
    return nearest(plane, group.row - 1, start[mark]!);
  }
  for (let r = row + 1; r < group.row + group.rows; r++) {
    const m = firstStarting(start, rows[r]!, rows[r + 1]!, start[mark]!);
    if (m < rows[r + 1]! && start[m]! <= end[mark]!) return m;
  }
  return nearest(plane, group.row + group.rows, start[mark]!);
}

/** Mark of a row nearest to an instant; -1: there is no such row. */
function nearest(plane: Plane, row: number, time: number): number {
  if (row < 0 || row + 1 >= plane.rows.length) return -1;
  return hit(plane, row, time, Infinity);
}

/** Marks that can be seen, and the longest of them, longest first; `found`: only those that a search found. */
export function longest(plane: Plane, { from, to }: Range, most: number, found: Hits | null): { marks: number[]; total: number } {
  const { start, end, rows } = plane;
  const marks: number[] = [];
  const lengths: number[] = [];
  let total = 0;
  for (let r = 0; r + 1 < rows.length; r++) {
    const first = firstEnding(end, rows[r]!, rows[r + 1]!, from);
    const last = firstStarting(start, first, rows[r + 1]!, to);
    if (last <= first) continue;
    total += found ? found.sums[last]! - found.sums[first]! : last - first;
    for (let m = first; m < last; m++) {
      const length = end[m]! - start[m]!;
      if ((marks.length === most && length <= lengths[most - 1]!) || found?.flags[m] === 0) continue;
      let at = marks.length;
      while (at > 0 && lengths[at - 1]! < length) at--;
      marks.splice(at, 0, m);
      lengths.splice(at, 0, length);
      if (marks.length > most) {
        marks.pop();
        lengths.pop();
      }
    }
  }
  return { marks, total };
}
