// The search of the timeline: how many marks it finds, and the way from one to the next.
// In: planes, what is found in each, the selection. Out: `Finder`. Left to neighbours: looking (search.ts), dimming.
// Planes come one after the other: times of different clocks have no order.

import { useMemo } from "preact/hooks";
import { navigate, useRoute } from "../../state/route";
import { count } from "../../ui/format";
import type { Chart } from "./chart";
import { markOf, selectionOf } from "./marks";
import type { Plane } from "./model";
import { type Hits, inOrder, placeOf } from "./search";

interface Props {
  planes: Plane[];
  found: (Hits | null)[];
  charts: Map<string, Chart>;
  query: string;
  onQuery: (query: string) => void;
}

export function Finder({ planes, found, charts, query, onQuery }: Props) {
  const [route] = useRoute();
  const total = found.reduce((n, hits) => n + (hits?.total ?? 0), 0);
  const marks = planes.reduce((n, plane) => n + plane.count, 0);
  const at = useMemo(() => planes.map((plane) => markOf(plane, route.sel)), [planes, route.sel]);
  const lists = useMemo(() => {
    const known: (Int32Array | undefined)[] = [];
    return (i: number) => (known[i] ??= found[i] ? inOrder(planes[i]!, found[i]!) : new Int32Array());
  }, [planes, found]);

  /** Number of the selection among what was found, over all planes; and where it is or would be. */
  const position = () => {
    let before = 0;
    for (let i = 0; i < planes.length; i++) {
      if (at[i]! >= 0) {
        const place = placeOf(planes[i]!, lists(i), at[i]!, planes[i]!.start[at[i]!]!);
        return { number: before + place.at, found: place.found };
      }
      before += found[i]?.total ?? 0;
    }
    // Nothing is selected: the first in view is next.
    const first = planes[0];
    const from = first ? (charts.get(first.id)?.view.from ?? first.from) : 0;
    const start = first ? placeOf(first, lists(0), -1, from).at : 0;
    return { number: start < (found[0]?.total ?? 0) ? start : 0, found: false };
  };
  const here = total > 0 && at.some((m) => m >= 0) ? position() : null;

  const go = (step: 1 | -1) => {
    if (total === 0) return;
    const p = position();
    let next = p.found ? p.number + step : step > 0 ? p.number : p.number - 1;
    next = ((next % total) + total) % total;
    for (let i = 0; i < planes.length; i++) {
      const n = found[i]?.total ?? 0;
      if (next < n) {
        const mark = lists(i)[next]!;
        navigate({ sel: selectionOf(planes[i]!, mark) }, "replace");
        return;
      }
      next -= n;
    }
  };
  const said = query.trim() === "" ? `${count(marks)} marks` : here?.found ? `${count(here.number + 1)} of ${count(total)}` : `${count(total)} found`;
  return (
    <search class="tl-search">
      <input
        type="search"
        data-search
        placeholder="Search names and ids  ( / )"
        aria-label="Search names and ids in the timeline"
        value={query}
        onInput={(e) => onQuery(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== "Enter") return;
          e.preventDefault();
          go(e.shiftKey ? -1 : 1);
        }}
      />
      <button type="button" class="quiet" disabled={total === 0} onClick={() => go(-1)} aria-label="Previous one found" title="Previous (Shift+Enter)">
        ↑
      </button>
      <button type="button" class="quiet" disabled={total === 0} onClick={() => go(1)} aria-label="Next one found" title="Next (Enter)">
        ↓
      </button>
      <span class="cut" role="status">
        {said}
      </span>
    </search>
  );
}
