// The two headlines: where the measured region's time goes, and what holds the memory at its peak.
// In: meta; blocks step_split, host_hotspots, peak_composition, memory_peak. Out: `Time`, `Memory`. Left to neighbours:
// the lists in full (Timings, Memory).
// Time is host time, memory is what the program recorded: both say so, and how far they can be trusted.

import { absence, store, useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { href } from "../../state/route";
import { select } from "../../state/selection";
import { type BarRow, Bars } from "../../ui/bars";
import { cssMeaning } from "../../ui/colors";
import { count, format, plural } from "../../ui/format";
import { Qualified } from "../../ui/level";
import { Empty, Panel } from "../../ui/panel";
import { Stack } from "../../ui/stack";
import { printable } from "../../ui/text";
import { Value } from "../../ui/value";

const TOP = 5;

export function Time() {
  const { evidence } = store.meta;
  const { timing, capabilities } = evidence;
  const spans = useTable("spans").table;
  const hotspots = useTable("host_hotspots");
  if (!timing) return <WithoutRegion />;
  const region = spans ? spans.bool("measured").values.indexOf(1) : -1;
  const id = region >= 0 ? spans?.cell("id", region) : null;
  return (
    <Panel title="Where the time goes" query="step_split">
      <div class="headline">
        <p class="figure">
          <Value v={timing.outer_wall_time_ns} unit="ns" sel={id ? select.span(id) : undefined} />
          <span>wall time of the measured region, host clock</span>
        </p>
        <Qualified of={capabilities.outer_wall_time} />
        <OnCpu spans={spans} region={region} wall={timing.outer_wall_time_ns} />
        <Asynchronous />
        <Stack
          label="Wall time by step"
          unit="ns"
          whole={timing.outer_wall_time_ns}
          parts={timing.step_split.map((row, i) => ({
            name: String(row.step),
            value: row.wall_ns === null || row.wall_ns === undefined ? null : Number(row.wall_ns),
            color: cssMeaning(String(row.step)),
            sel: select.row("step_split", i),
            absent: "no span states this step",
          }))}
        />
        <div class="lists">
          <Bars
            title="Spans by name, self time"
            query="host_hotspots"
            room={TOP}
            rows={
              hotspots.table
                ? hottest(hotspots.table)
                : hotspots.state === "loading"
                  ? undefined
                  : slowestSpans(timing.outer_wall_time_ns)
            }
            more={{ href: href({ view: "timings" }), text: "All spans" }}
          />
          <Operations />
        </div>
      </div>
    </Panel>
  );
}

/** How much of the region its thread ran: a step that mostly waits is slow for another reason than its operations. */
function OnCpu({ spans, region, wall }: { spans: Table | undefined; region: number; wall: number }) {
  const cpu = spans && region >= 0 ? spans.number("cpu_ns", region) : null;
  if (cpu === null || wall <= 0) return null;
  const rest = wall - cpu;
  return (
    <p class="qualified">
      <Value v={cpu} unit="ns" /> of it ({format(Math.min(1, cpu / wall), "none", "share")}) its thread ran on a CPU
      {rest > wall / 5 && (
        <strong>
          ; for <Value v={rest} unit="ns" /> it did not run: it waited, or other work had the CPU
        </strong>
      )}
    </p>
  );
}

/** Host time on a device that works on its own says when work was launched, not how long it took. */
function Asynchronous() {
  const { device, timing_mode: mode } = store.meta.run;
  if (typeof device !== "string" || device.startsWith("cpu") || mode !== "host") return null;
  return (
    <p class="qualified">
      Work on {printable(device)} runs beside the host: times of spans and operations are those of launching it, never the
      device's own.
    </p>
  );
}

/** What is known of an unsound capture: which spans were open at its end, which closed ones were long. */
function WithoutRegion() {
  const { evidence, unsound_reason } = store.meta;
  const spans = useTable("spans");
  const table = spans.table;
  const open: BarRow[] = [];
  const closed: number[] = [];
  for (let i = 0; table && i < table.rows; i++) {
    if (table.number("host_total_time_ns", i) !== null) closed.push(i);
    else if (open.length < TOP) open.push({ ...spanRow(table, i), sub: table.string("id", i) ?? undefined });
  }
  const self = (i: number) => table?.number("host_self_time_ns", i) ?? 0;
  const longest = closed.sort((a, b) => self(b) - self(a)).slice(0, TOP);
  const known = table !== undefined || spans.state === "unavailable";
  return (
    <Panel title="Where the time goes" query="step_split">
      <div class="headline">
        <p>
          <strong>No time of a measured region.</strong>{" "}
          <span class="soft">{printable(evidence.timing_unavailable_reason ?? unsound_reason ?? "")}</span>
        </p>
        <div class="lists">
          <Bars
            title="Spans still open at the end"
            query="spans"
            room={3}
            rows={known ? open : undefined}
            empty={spans.reason ?? "Every span was closed."}
            more={{ href: href({ view: "timeline" }), text: "Timeline of what was recorded" }}
          />
          <Bars
            title="Longest closed spans, self time"
            query="spans"
            room={3}
            rows={table ? longest.map((i) => spanRow(table, i)) : known ? [] : undefined}
            empty={spans.reason ?? "No span was closed."}
          />
        </div>
        {evidence.operations.by_name.rows.length > 0 && <Operations />}
      </div>
    </Panel>
  );
}

function spanRow(table: Table, i: number): BarRow {
  const id = table.string("id", i);
  const value = table.number("host_self_time_ns", i);
  return {
    key: String(i),
    name: table.string("name", i) ?? "",
    value,
    unit: "ns",
    share: null,
    sel: id ? select.span(id) : undefined,
    link: id ? href({ sel: select.span(id) }) : undefined,
  };
}

function hottest(table: Table): BarRow[] {
  const rows: BarRow[] = [];
  for (let i = 0; i < table.rows && rows.length < TOP; i++) {
    // Spans beside the region are not part of its time.
    if (table.cell("scope", i) !== "measured_subtree") continue;
    const name = table.string("name", i) ?? "";
    rows.push({
      key: String(i),
      name,
      sub: `×${count(table.number("calls", i) ?? 0)}`,
      value: table.number("measured_self_ns", i),
      unit: "ns",
      share: table.number("share", i),
      link: href({ view: "timings", by: "name", q: name }),
      sel: select.row("host_hotspots", i),
    });
  }
  return rows;
}

function slowestSpans(wall: number): BarRow[] {
  return (store.meta.evidence.timing?.slowest_host_spans.rows ?? []).slice(0, TOP).map((row) => ({
    key: String(row.id),
    name: String(row.name),
    value: Number(row.measured_overlap_self_time_ns),
    unit: "ns",
    share: wall > 0 ? Number(row.measured_overlap_self_time_ns) / wall : null,
    sel: select.span(row.id),
  }));
}

function Operations() {
  const { by_name, coverage } = store.meta.evidence.operations;
  const rows = by_name.rows.slice(0, TOP).map((row): BarRow => {
    const name = String(row.name);
    return {
      key: name,
      name,
      sub: `×${count(Number(row.calls))}`,
      value: row.total_ns === null ? null : Number(row.total_ns),
      unit: "ns",
      share: row.share === null ? null : Number(row.share),
      link: href({ view: "timings", by: "ops", q: name }),
    };
  });
  const first = by_name.rows[0];
  const whole = first && Number(first.share) > 0 ? Number(first.total_ns) / Number(first.share) : null;
  const more = by_name.total > rows.length ? `All ${count(by_name.total)} names` : "All operations";
  return (
    <div>
      <Bars
        title="Operations, % of all operations"
        query="op_names"
        room={Math.min(TOP, Math.max(1, rows.length))}
        rows={rows}
        more={rows.length > 0 ? { href: href({ view: "timings", by: "ops" }), text: more } : undefined}
        empty={coverage.reason}
      />
      {whole !== null && (
        <p class="qualified">
          All operations together: <Value v={Math.round(whole)} unit="ns" />
        </p>
      )}
      <Qualified of={coverage} />
    </div>
  );
}

export function Memory() {
  const { memory, capabilities } = store.meta.evidence;
  const peak = useTable("memory_peak");
  const composition = useTable("peak_composition");
  const title = "What holds the memory";
  const of = capabilities.logical_memory_coverage;
  if (!memory.logical) {
    return (
      <Panel title={title} query="peak_composition">
        <Empty title="No logical memory was recorded" reason={of?.reason ?? absence("memory_peak")} />
      </Panel>
    );
  }
  const one = memory.by_device.total === 1 ? memory.by_device.rows[0] : undefined;
  const bytes = one ? Number(one.peak_live_bytes) : peak.table ? peak.table.number("live_bytes", 0) : null;
  const storages = peak.table?.number("storages", 0);
  return (
    <Panel title={title} query="peak_composition">
      <div class="headline">
        <p class="figure">
          <Value
            v={bytes}
            unit="bytes"
            sel={peak.table ? select.row("memory_peak", 0) : select.row("memory_totals", 0)}
            absent="being read"
          />
          <span>
            live at once, logical peak{storages ? `, in ${plural(storages, "storage")}` : ""}
          </span>
        </p>
        <Qualified of={of} />
        {composition.table ? (
          <Composition table={composition.table} />
        ) : (
          <div class="waiting" style={{ minHeight: "310px" }}>
            {composition.state === "loading" ? "Decoding…" : composition.reason}
          </div>
        )}
      </div>
    </Panel>
  );
}

function Composition({ table }: { table: Table }) {
  const of = (dimension: string) => {
    const rows: number[] = [];
    for (let i = 0; i < table.rows; i++) if (table.cell("dimension", i) === dimension) rows.push(i);
    return rows;
  };
  const bars = (dimension: string, name: (row: number) => string, sub: (row: number) => string | undefined) =>
    of(dimension)
      .slice(0, TOP)
      .map((i): BarRow => {
        const text = name(i);
        return {
          key: String(i),
          name: text,
          sub: sub(i),
          value: table.number("bytes", i),
          unit: "bytes",
          share: table.number("share", i),
          sel: select.row("peak_composition", i),
        };
      });
  const storages = (row: number) => `×${count(table.number("storages", row) ?? 0)}`;
  const more = { href: href({ view: "memory" }), text: "Every storage at the peak" };
  return (
    <>
      <Stack
        label="Memory at the peak by category"
        unit="bytes"
        parts={of("category").map((i) => ({
          name: table.string("value", i) ?? "other",
          value: table.number("bytes", i),
          color: cssMeaning(table.string("value", i)),
          sel: select.row("peak_composition", i),
        }))}
      />
      <div class="lists">
        <Bars
          title="Allocated in span"
          rows={bars("span", (i) => table.string("label", i) ?? table.string("value", i) ?? "no span", storages)}
          more={more}
        />
        <Bars title="Allocated by operation" rows={bars("op", (i) => table.string("value", i) ?? "no operation named", storages)} />
      </div>
    </>
  );
}
