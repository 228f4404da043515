// Memory: what was live over time, what held the peak, how long each storage lived; beside it, what was physically held.
// In: meta, the blocks of memory. Out: `View`. Left to neighbours: panels in memory/.
// Logical and physical memory share the session clock and are never added. What was not recorded is one sentence.

import { useMemo } from "preact/hooks";
import { viewKeys } from "../app";
import { absence, store, useTable } from "../data/store";
import type { Table } from "../data/table";
import { useRoute } from "../state/route";
import { parse } from "../state/selection";
import { useSelectedRow } from "../ui/details";
import { Empty, Panel } from "../ui/panel";
import { Lead } from "./memory/lead";
import { Lifetimes, Retained } from "./memory/lifetimes";
import { LivePanel, type Peak, useLiveTable } from "./memory/live";
import { Composition, PeakStorages } from "./memory/peak";
import { Physical } from "./memory/physical";
import { Totals } from "./memory/totals";
import { type Span, useWindow, wholeOf } from "./memory/window";
import "./memory/memory.css";

const KEYS: [string, string][] = [
  ["← →", "in the chart: pan, with Shift by half a window"],
  ["+ − 0", "in the chart: zoom in, zoom out, the whole"],
  [", . p", "in the chart: the change before, the change after, the peak"],
];

export function View() {
  viewKeys.memory = KEYS;
  const [route] = useRoute();
  const live = useLiveTable();
  const peaks = useTable("memory_peak").table;
  const composition = useTable("peak_composition").table;
  const physical = useTable("physical_timeline").table;
  const whole = useMemo(() => extent(live.table, physical), [live.table, physical]);
  const [window, onZoom] = useWindow(whole);
  const peak = useMemo((): Peak | null => {
    if (!peaks || peaks.rows === 0) return null;
    return { at: peaks.number("timestamp_ns", 0) ?? 0, bytes: peaks.number("live_bytes", 0) ?? 0 };
  }, [peaks]);
  const atPeak = useMemo(() => (composition ? byCategory(composition) : null), [composition]);
  const selection = parse(route.sel);
  const selected = selection?.kind === "storage" ? selection.id : null;
  const found = useSelectedRow(selected === null ? undefined : route.sel);
  const chosen = useMemo(() => {
    if (!found || selected === null) return null;
    const from = found.table.number("start_timestamp_ns", found.row);
    return from === null ? null : { id: selected, from, to: found.table.number("end_timestamp_ns", found.row) };
  }, [found, selected]);
  const why = absence("memory_totals");

  return (
    <div class="memory">
      {why === null ? (
        <>
          <Lead />
          <div class="chart-row">
            <LivePanel of={live} whole={whole} window={window} onZoom={onZoom} peak={peak} atPeak={atPeak} chosen={chosen} />
            <Composition />
          </div>
          <PeakStorages selected={selected} />
          <Totals />
          <Lifetimes window={window} peak={peak} selected={selected} />
          <Retained selected={selected} recorded={why === null} />
        </>
      ) : (
        <Panel title="Logical memory" query="memory_timeline">
          <Empty title="No logical memory to show" reason={reasons(why)} />
        </Panel>
      )}
      <Physical whole={whole} window={window} onZoom={onZoom} />
    </div>
  );
}

/** Why there is nothing, and why that is so. */
function reasons(why: string): string {
  const { evidence, unsound_reason } = store.meta;
  const reason = evidence.capabilities.logical_memory_coverage?.reason;
  return [reason ?? why, unsound_reason].filter(Boolean).join("; ");
}

function extent(live: Table | undefined, physical: Table | undefined): Span {
  let first = Infinity;
  let last = -Infinity;
  const look = (table: Table | undefined, names: string[]) => {
    for (const name of names) {
      if (!table?.has(name)) continue;
      for (const ns of table.num(name).values) {
        if (ns < first) first = ns;
        if (ns > last) last = ns;
      }
    }
  };
  look(live, ["timestamp_ns", "start_ns", "end_ns"]);
  look(physical, ["timestamp_ns"]);
  const ended = Number(store.meta.evidence.provenance.ended_ns ?? NaN);
  const end = Number.isFinite(ended) && ended > 0 ? ended : null;
  return first <= last ? wholeOf(first, last, end) : wholeOf(0, end ?? 1, end);
}

function byCategory(table: Table): Map<string, number> {
  const bytes = new Map<string, number>();
  for (let i = 0; i < table.rows; i++) {
    if (table.cell("dimension", i) !== "category") continue;
    bytes.set(table.string("value", i) ?? "other", table.number("bytes", i) ?? 0);
  }
  return bytes;
}
