// The visible part of each plane in the address, so that a link leads to the same place.
// In: Route, a range. Out: a range, a change of the route. Left to neighbours: when it is written (plane.tsx).
// The host has `from` and `to`; a plane of another clock a parameter of its own, for its times are no times of the host.

import type { Change, Route } from "../../state/route";
import type { Plane } from "./model";
import { home, type Range } from "./range";

export function rangeOf(route: Route, plane: Plane): Range | null {
  if (plane.host) {
    const origin = Number(plane.origin);
    return whole(route.from === undefined ? NaN : route.from - origin, route.to === undefined ? NaN : route.to - origin);
  }
  const [from, to] = String(route[parameter(plane)] ?? "").split("_");
  return whole(number(from), number(to));
}

/** The first view needs no parameter. */
export function changeOf(plane: Plane, view: Range): Change {
  const first = home(plane);
  const same = view.from === first.from && view.to === first.to;
  if (plane.host) {
    const origin = Number(plane.origin);
    return { from: same ? undefined : round(view.from + origin), to: same ? undefined : round(view.to + origin) };
  }
  return { [parameter(plane)]: same ? undefined : `${round(view.from)}_${round(view.to)}` };
}

function parameter(plane: Plane): string {
  return `range_${plane.id}`;
}

function number(text: string | undefined): number {
  return text ? Number(text) : NaN;
}

function whole(from: number, to: number): Range | null {
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? { from, to } : null;
}

function round(ns: number): number {
  return Math.round(ns * 100) / 100;
}
