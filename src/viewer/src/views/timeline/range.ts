// The visible part of a plane: zooming, moving, fitting, within bounds.
// In: a range, what is done to it. Out: a range. Left to neighbours: who asks (chart.ts, input.ts).

import type { Plane } from "./model";

export interface Range {
  from: number;
  to: number;
}

/** Two nanoseconds fill the view at most: times are whole nanoseconds. */
export const CLOSEST = 2;

/** Whole of a plane, with a little room at its ends. */
export function whole(plane: Plane): Range {
  const length = Math.max(plane.to - plane.from, CLOSEST);
  return { from: plane.from - length * 0.01, to: plane.from + length * 1.01 };
}

export function clamp(range: Range, plane: Plane): Range {
  const all = whole(plane);
  const length = Math.min(Math.max(range.to - range.from, Math.min(CLOSEST, all.to - all.from)), all.to - all.from);
  const from = Math.min(Math.max(range.from, all.from), all.to - length);
  return { from, to: from + length };
}

/** `factor` below 1 comes closer; the instant `at` stays where it is. */
export function zoom(range: Range, factor: number, at: number, plane: Plane): Range {
  const length = (range.to - range.from) * factor;
  const all = whole(plane);
  const kept = Math.min(Math.max(length, CLOSEST), all.to - all.from) / (range.to - range.from);
  return clamp({ from: at - (at - range.from) * kept, to: at + (range.to - at) * kept }, plane);
}

export function pan(range: Range, by: number, plane: Plane): Range {
  return clamp({ from: range.from + by, to: range.to + by }, plane);
}

/** Something and room around it: a part of its length on each side. */
export function fit(from: number, to: number, room: number, plane: Plane): Range {
  const length = Math.max(to - from, CLOSEST);
  return clamp({ from: from - length * room, to: from + length * (1 + room) }, plane);
}

/** Moves a range as little as shows an interval; a range too small for it is centred on its start. */
export function reveal(range: Range, from: number, to: number, plane: Plane): Range {
  const length = range.to - range.from;
  const edge = length * 0.08;
  if (to - from > length - 2 * edge) {
    const seen = Math.min(to, range.to) - Math.max(from, range.from);
    return seen > length * 0.3 ? range : fit(from, to, 0.5, plane);
  }
  if (from >= range.from + edge && to <= range.to - edge) return range;
  if (from >= range.from && to <= range.to) return range;
  const middle = (from + to) / 2;
  return clamp({ from: middle - length / 2, to: middle + length / 2 }, plane);
}

/** The measured region; everything, where there is none. */
export function region(plane: Plane): Range {
  const measured = plane.regions[0];
  return measured ? fit(measured.from, measured.to, 0.02, plane) : whole(plane);
}

/** What a reader sees first: the measured region, or everything where a span never closed: its open end is the news. */
export function home(plane: Plane): Range {
  return plane.open > 0 ? whole(plane) : region(plane);
}
