// The answer in one line of figures: how much at the peak, what held it, what stayed.
// In: blocks memory_peak, peak_composition, peak_storages_ranked, memory_totals; the capability. Out: `Lead`. Left to
// neighbours: everything in full below it.

import type { ComponentChildren } from "preact";
import { store, useTable } from "../../data/store";
import type { Cell, Table } from "../../data/table";
import { select } from "../../state/selection";
import { cssMeaning } from "../../ui/colors";
import { percent, plural } from "../../ui/format";
import { Qualified } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { short } from "../../ui/text";
import { Text, Value } from "../../ui/value";

export function Lead() {
  const peak = useTable("memory_peak");
  const composition = useTable("peak_composition").table;
  const storages = useTable("peak_storages_ranked").table;
  const totals = useTable("memory_totals").table;
  const held = peak.table?.number("storages", 0) ?? 0;
  const devices = peak.table?.number("devices", 0) ?? 0;
  const category = largest(composition, "category");
  const span = largest(composition, "span");
  const kept = totals ? sum(totals, "retained_bytes") : null;
  const retained = store.info("retained_storages");
  const ofPeak = (row: number) => percent(composition?.number("share", row) ?? NaN);
  return (
    <Panel title="Peak of logical memory" query="memory_peak" of={peak} height={108} class="leading">
      <dl class="facts">
        <Fact name="live at once, at the peak" v={peak.table?.cell("live_bytes", 0)} sel={select.row("memory_peak", 0)} strong>
          at <Value v={peak.table?.cell("timestamp_ns", 0)} unit="ns" sel={select.row("memory_peak", 0)} /> of the session, {plural(held, "storage")} on {plural(devices, "device")}
        </Fact>
        <Fact name="most of it is" text={category < 0 ? null : composition!.string("value", category)} color={category < 0 ? undefined : cssMeaning(composition!.string("value", category))}>
          {category >= 0 && <Part table={composition!} row={category} share={ofPeak(category)} />}
        </Fact>
        <Fact name="allocated most in span" text={span < 0 ? null : (composition!.string("label", span) ?? composition!.string("value", span))} sel={span < 0 ? undefined : select.span(composition!.string("value", span))}>
          {span >= 0 && <Part table={composition!} row={span} share={ofPeak(span)} />}
        </Fact>
        <Fact name="largest storage then" v={storages?.cell("bytes", 0)} sel={storages ? select.storage(storages.string("storage_id", 0) ?? "") : undefined}>
          {storages && storages.rows > 0 && describe(storages)}
        </Fact>
        <Fact name="still live at the end" v={kept}>
          {retained && !retained.unavailable ? `${plural(retained.total ?? retained.rows, "storage")} never seen to end` : "every storage ended, seen or inferred"}
        </Fact>
      </dl>
      <div class="body">
        <Qualified of={store.meta.evidence.capabilities.logical_memory_coverage} label="Logical memory:" />
      </div>
    </Panel>
  );
}

interface FactProps {
  name: string;
  v?: Cell | undefined;
  text?: string | null;
  sel?: string;
  color?: string;
  strong?: boolean;
  children?: ComponentChildren;
}

function Fact({ name, v, text, sel, color, strong, children }: FactProps) {
  return (
    <div class={strong ? "strong" : undefined}>
      <dt>{name}</dt>
      <dd class="amount">
        {text === undefined ? (
          <Value v={v} unit="bytes" sel={v === undefined ? undefined : sel} absent="being read" />
        ) : text === null ? (
          <Value v={null} />
        ) : (
          <>
            {color && <i style={{ background: color }} aria-hidden="true" />}
            <Text text={text} most={22} sel={sel} />
          </>
        )}
      </dd>
      <dd class="soft">{children}</dd>
    </div>
  );
}

function Part({ table, row, share }: { table: Table; row: number; share: string }) {
  return (
    <>
      {share} of the peak, <Value v={table.cell("bytes", row)} unit="bytes" sel={select.row("peak_composition", row)} />
    </>
  );
}

function describe(table: Table): string {
  const share = table.number("share", 0);
  const parts = [table.string("category", 0), table.string("op_name", 0) ?? table.string("allocation_span_name", 0)];
  const what = parts.filter((p) => p !== null).map((p) => short(p, 24));
  return `${what.join(", ")}${share === null ? "" : `; ${percent(share)} of the peak`}`;
}

/** Row of a dimension with the most bytes. */
function largest(table: Table | undefined, dimension: string): number {
  let best = -1;
  for (let i = 0; table && i < table.rows; i++) {
    if (table.cell("dimension", i) !== dimension) continue;
    if (best < 0 || (table.number("bytes", i) ?? 0) > (table.number("bytes", best) ?? 0)) best = i;
  }
  return best;
}

function sum(table: Table, column: string): number {
  let all = 0;
  for (let i = 0; i < table.rows; i++) all += table.number(column, i) ?? 0;
  return all;
}
