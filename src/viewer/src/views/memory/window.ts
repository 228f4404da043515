// The window of time that a view shows: the whole, or a part of it that the address names.
// In: what was recorded, Route.from and Route.to. Out: spans of time, zoomed and moved within the whole. Left to
// neighbours: drawing (plot.tsx). Pure but for the hook.
// Moments are whole nanoseconds: a window is never narrower than a few of them.

import { useMemo } from "preact/hooks";
import { useRoute } from "../../state/route";

export type Span = [from: number, to: number];

const NARROWEST = 20;

export function clamp(n: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, n));
}

/** A window `factor` as wide, with `about` at the same place of it, within the whole. */
export function zoomed([from, to]: Span, whole: Span, factor: number, about = (from + to) / 2): Span {
  const width = clamp((to - from) * factor, Math.min(NARROWEST, whole[1] - whole[0]), whole[1] - whole[0]);
  const share = to > from ? (about - from) / (to - from) : 0.5;
  return within([about - share * width, about + (1 - share) * width], whole);
}

export function panned([from, to]: Span, whole: Span, share: number): Span {
  const by = (to - from) * share;
  return within([from + by, to + by], whole);
}

function within([from, to]: Span, whole: Span): Span {
  const width = Math.min(to - from, whole[1] - whole[0]);
  const start = clamp(from, whole[0], whole[1] - width);
  return [Math.round(start), Math.round(start + width)];
}

/** The window, and how to change it: null is the whole. */
export function useWindow(whole: Span): [Span, (window: Span | null, how?: "push" | "replace") => void] {
  const [route, go] = useRoute();
  const { from, to } = route;
  const window = useMemo((): Span => {
    if (from === undefined || to === undefined || !(to > from)) return whole;
    return zoomed([from, to], whole, 1);
  }, [from, to, whole[0], whole[1]]);
  const set = (next: Span | null, how: "push" | "replace" = "push") => {
    const all = next === null || (next[0] <= whole[0] && next[1] >= whole[1]);
    go(all ? { from: undefined, to: undefined } : { from: next![0], to: next![1] }, how);
  };
  return [window, set];
}

/** From the first thing recorded to the end of the recording, from 0 where little happened before. */
export function wholeOf(first: number, last: number, ended: number | null): Span {
  const end = Math.max(last, ended ?? last);
  const to = end > last || end === 0 ? Math.max(end, last + 1) : last + Math.max(1, Math.round((last - first) * 0.02));
  const from = first >= 0 && first <= to * 0.25 ? 0 : first - Math.round((to - first) * 0.02);
  return [from, Math.max(to, from + NARROWEST)];
}
