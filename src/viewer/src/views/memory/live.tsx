// Logical live bytes over time, by category: the chart, what is read from it at a moment, the window it shows.
// In: blocks memory_timeline or memory_levels, spans (steps), memory_totals. Out: `LivePanel`. Left to neighbours: states
// (series.ts), pixels (paint.ts), what the peak was made of (peak.tsx).
// The readout is the legend: at the cursor, else at the pinned moment, else at the peak.

import { useMemo, useState } from "preact/hooks";
import { store, type TableState, useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { cssMeaning } from "../../ui/colors";
import { bytes, percent } from "../../ui/format";
import { Panel } from "../../ui/panel";
import { printable } from "../../ui/text";
import { Value } from "../../ui/value";
import { moment } from "./axis";
import { DeviceChoice } from "./choice";
import { ABOVE, paintLife, paintLive, paintPeak, paintSteps, type Stretch } from "./paint";
import { type Area, TimePlot } from "./plot";
import { fromEvents, fromLevels, type Live, peakState, stateAt, topOf } from "./series";
import { type Span, zoomed } from "./window";

export interface Peak {
  at: number;
  bytes: number;
}

export interface Chosen {
  id: string;
  from: number;
  to: number | null;
}

interface Props {
  of: TableState;
  whole: Span;
  window: Span;
  onZoom: (window: Span | null, how?: "push" | "replace") => void;
  peak: Peak | null;
  /** Bytes by category at the peak, where a query gives them. */
  atPeak: Map<string, number> | null;
  chosen: Chosen | null;
}

const HEIGHT = 340;

export function LivePanel({ of, whole, window, onZoom, peak: common, atPeak, chosen }: Props) {
  const [route, go] = useRoute();
  const [hovered, setHovered] = useState<number>();
  const totals = useTable("memory_totals").table;
  const { steps, region } = useStretches(whole);
  const exact = of.info?.name === "memory_timeline";
  const devices = totals && exact && totals.rows > 1 ? names(totals) : [];
  const device = devices.find((d) => d === route.device) ?? null;
  const live = useMemo(() => {
    if (!of.table) return null;
    return of.table.name === "memory_levels" ? fromLevels(of.table) : fromEvents(of.table, device);
  }, [of.table, device]);
  const peak = useMemo(() => {
    if (!live || device === null) return common;
    const state = peakState(live);
    return state < 0 ? null : { at: live.starts[state]!, bytes: live.totals[state]! };
  }, [live, device, common]);

  const at = typeof route.at === "string" && Number.isFinite(Number(route.at)) ? Number(route.at) : undefined;
  const pin = (ns: number | undefined) => go({ at: ns === undefined ? undefined : String(Math.round(ns)) }, "replace");
  const label = peak ? `${device === null ? "" : `${printable(device)} `}peak ${bytes(peak.bytes)}` : "";
  const paint = (ctx: CanvasRenderingContext2D, area: Area) => {
    if (steps) paintSteps(ctx, area, steps);
    if (live) paintLive(ctx, area, live);
    if (chosen) paintLife(ctx, area, chosen.id, chosen.from, chosen.to);
    if (peak) paintPeak(ctx, area, peak.at, peak.bytes, label);
  };
  const top = useMemo(
    () => (live ? Math.max(topOf(live, ...window), peak && inside(peak.at, window) ? peak.bytes : 0) : (peak?.bytes ?? 0)),
    [live, window[0], window[1], peak],
  );
  const around = () => {
    if (!peak) return;
    const width = (whole[1] - whole[0]) / 20;
    onZoom([Math.max(whole[0], Math.round(peak.at - width / 2)), Math.min(whole[1], Math.round(peak.at + width / 2))]);
  };
  const stop = (from: number, forward: boolean) => {
    if (!live) return undefined;
    const state = stateAt(live, from);
    if (forward) return live.starts[state + 1];
    let before = state;
    while (before >= 0 && live.starts[before] === from) before--;
    return live.starts[before];
  };
  const tools = (
    <div class="tools">
      {devices.length > 1 && (
        <DeviceChoice label="Device" devices={devices} chosen={device} onChoose={(d) => go({ device: d ?? undefined })} all="all devices" />
      )}
      <div class="segmented" role="group" aria-label="Window of time">
        <button type="button" onClick={around} disabled={!peak} title="Zoom to the peak">
          peak
        </button>
        {region && (
          <button type="button" onClick={() => onZoom(region)} title="Zoom to the measured region">
            measured
          </button>
        )}
        <button type="button" onClick={() => onZoom(null)} title="The whole recording (0, double click)">
          whole
        </button>
      </div>
    </div>
  );
  const note = exact
    ? "Each recorded beginning and end of a storage, on the session clock: what the program recorded, not what an allocator held."
    : `${of.info?.note ? printable(of.info.note) : ""} In colour: live together at the end of each step. Grey above it: the most of each category in the step, added up, which is a bound, since they need not have been at once.`;
  return (
    <Panel title="Logical live bytes over time" query="memory_timeline" of={of} height={HEIGHT + 64} tools={tools} note={note} class="live">
      <Readout live={live} at={hovered ?? at} hovering={hovered !== undefined} peak={peak} atPeak={device === null ? atPeak : null} window={window} device={device} onUnpin={at === undefined ? undefined : () => pin(undefined)} />
      <TimePlot
        label={describe(peak, window, device)}
        whole={whole}
        window={window}
        top={top}
        height={HEIGHT}
        above={ABOVE}
        paint={paint}
        deps={[live, steps, peak, label, chosen?.id]}
        pin={at}
        onPin={pin}
        onZoom={onZoom}
        onHover={setHovered}
        stop={stop}
        peak={peak?.at}
      />
      <p class="hint">
        Drag to zoom · click to hold a moment · Ctrl + wheel to zoom · double click for the whole · <kbd>?</kbd> for keys
      </p>
    </Panel>
  );
}

function inside(ns: number, [from, to]: Span): boolean {
  return ns >= from && ns <= to;
}

function names(totals: Table): string[] {
  return Array.from({ length: totals.rows }, (_, i) => totals.string("device", i)).filter((d) => d !== null);
}

function describe(peak: Peak | null, window: Span, device: string | null): string {
  const what = `Logical live bytes over time${device === null ? "" : ` of ${printable(device)}`}`;
  const span = `shown from ${moment(window[0], window[1] - window[0])} to ${moment(window[1], window[1] - window[0])}`;
  return `${what}, ${span}. ${peak ? `Peak ${bytes(peak.bytes)} at ${moment(peak.at, window[1] - window[0])}.` : ""}`;
}

/** Spans that state a step in order of time, and the measured region with a little around it; null: not there. */
function useStretches(whole: Span): { steps: Stretch[] | null; region: Span | null } {
  const table = useTable("spans").table;
  return useMemo(() => {
    if (!table) return { steps: null, region: null };
    const steps: Stretch[] = [];
    const { codes, dictionary } = table.text("step");
    const measured = table.bool("measured").values;
    const starts = table.num("start_ns").values;
    const lasts = table.num("host_total_time_ns");
    let region: Span | null = null;
    for (let row = 0; row < table.rows; row++) {
      if (lasts.nulls?.[row]) continue;
      const [from, to] = [starts[row]!, starts[row]! + lasts.values[row]!];
      if (codes[row]! >= 0) steps.push({ name: dictionary[codes[row]!]!, from, to });
      if (measured[row] === 1 && region === null) region = zoomed([from, to], whole, 1.04);
    }
    return { steps, region };
  }, [table, whole[0], whole[1]]);
}

interface Read {
  live: Live | null;
  at: number | undefined;
  hovering: boolean;
  peak: Peak | null;
  atPeak: Map<string, number> | null;
  window: Span;
  device: string | null;
  onUnpin?: () => void;
}

/** What each category held: a legend with numbers. */
function Readout({ live, at, hovering, peak, atPeak, window, device, onUnpin }: Read) {
  const width = window[1] - window[0];
  const state = live ? (at === undefined ? peakState(live) : stateAt(live, at)) : -1;
  const bound = live?.bounds && at !== undefined && state >= 0 ? live.bounds[state]! : null;
  const held = (name: string, c: number): number | null => {
    if (at === undefined && atPeak) return atPeak.get(name) ?? 0;
    if (!live || (at === undefined && live.bounds)) return null;
    return state < 0 ? 0 : live.values[c]![state]!;
  };
  const categories = live?.categories ?? [...(atPeak?.keys() ?? [])];
  const total = at === undefined ? (peak?.bytes ?? null) : live ? (state < 0 ? 0 : live.totals[state]!) : null;
  const when = at === undefined ? (peak ? `at the ${device === null ? "" : `${printable(device)} `}peak, ${moment(peak.at, width)}` : "") : `at ${moment(at, width)}`;
  const sel = live && state >= 0 && at !== undefined ? select.row(live.block, live.rows[state]!) : at === undefined && device === null ? select.row("memory_peak", 0) : undefined;
  const spoken = hovering || at === undefined ? "" : `${when}: ${bytes(total ?? 0)} live`;
  return (
    <div class="readout">
      <p class="when">
        <span>{when}</span>
        <Value v={total} unit="bytes" sel={sel} absent="being read" />
        {bound !== null && bound > (total ?? 0) && <span class="soft" title="sum of the most of each category in this step">≤ {bytes(bound)} within the step</span>}
        {onUnpin && !hovering && (
          <button type="button" class="quiet" onClick={onUnpin} title="Back to the peak (Esc)">
            ✕ <span class="visually-hidden">let go of this moment</span>
          </button>
        )}
      </p>
      <ul>
        {[...categories].reverse().map((name, i) => {
          const value = held(name, categories.length - 1 - i);
          return (
            <li key={name}>
              <i style={{ background: cssMeaning(name) }} aria-hidden="true" />
              <span>{printable(name)}</span>
              <Value v={value} unit="bytes" absent="not known between the steps of this page" />
              <small>{value !== null && total ? percent(value / total) : ""}</small>
            </li>
          );
        })}
      </ul>
      <span class="visually-hidden" role="status">
        {spoken}
      </span>
    </div>
  );
}

/** The block that has live bytes over time. */
export function useLiveTable(): TableState {
  const levels = useTable(store.info("memory_levels") ? "memory_levels" : "memory_timeline");
  return levels;
}
