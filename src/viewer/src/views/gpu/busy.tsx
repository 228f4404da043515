// How busy each GPU was: its window cut into kernels, copies and idle time, and the longest times without work.
// In: blocks gpu_busy, gpu_idle. Out: `Busy`, `Idle`. Left to neighbours: operations one by one (Timeline).
// The parts of one GPU fill its own window; another GPU has another window, and a row of its own.

import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { href } from "../../state/route";
import { select } from "../../state/selection";
import { count, duration, plural } from "../../ui/format";
import { Panel } from "../../ui/panel";
import { Stack } from "../../ui/stack";
import { printable } from "../../ui/text";
import { Value } from "../../ui/value";
import { List } from "./list";

export function Busy() {
  const of = useTable("gpu_busy");
  const { table } = of;
  return (
    <Panel
      title="How busy each GPU was"
      query="gpu_busy"
      of={of}
      height={170}
      note="From the first to the last operation of each GPU. Work on several streams at once counts once; GPUs are not added up."
      tools={<a href={href({ view: "timeline" })}>Timeline</a>}
    >
      {table && (
        <div class="clocks">
          {Array.from({ length: table.rows }, (_, row) => (
            <Gpu key={row} table={table} row={row} />
          ))}
        </div>
      )}
    </Panel>
  );
}

function Gpu({ table, row }: { table: Table; row: number }) {
  const n = (name: string) => table.number(name, row) ?? 0;
  const sel = select.row("gpu_busy", row);
  const window = n("window_ns");
  const name = table.string("device", row);
  const streams = n("streams");
  const other = n("busy_ns") - n("kernel_busy_ns") - n("exposed_copy_ns");
  const graphs = n("graphs") > 0 ? `, ${plural(n("graphs"), "whole graph")}` : "";
  return (
    <section class="clock">
      <h3>
        {name === null ? "a GPU that the report does not name" : printable(name)}
        <strong>
          <Value v={table.cell("utilisation", row)} name="utilisation" sel={sel} absent="the window has no length" /> busy
        </strong>
      </h3>
      <p class="soft">
        {plural(n("kernels"), "kernel")}{graphs}, {n("copies") === 1 ? "1 copy" : `${count(n("copies"))} copies`} in {duration(window)}
        {streams > 0 ? `, ${plural(streams, "stream")}` : ""}
      </p>
      <Stack
        label={`Time of ${name === null ? "the GPU" : printable(name)}`}
        unit="ns"
        whole={window}
        parts={[
          { name: "kernels alone", value: n("kernel_busy_ns") - n("overlapped_ns"), color: "var(--c0)", sel, title: "kernel_busy_ns less overlapped_ns" },
          { name: "kernels + copies", value: n("overlapped_ns"), color: "var(--c2)", sel, title: "copies hidden behind a kernel: overlapped_ns" },
          { name: "copies alone", value: n("exposed_copy_ns"), color: "var(--c1)", sel, title: "exposed copies: exposed_copy_ns" },
          ...(other > 0 ? [{ name: "other operations", value: other, color: "var(--c3)", sel, title: "memsets and others while no kernel and no copy ran" }] : []),
          { name: "idle", value: n("idle_ns"), color: "var(--c7)", sel, title: "no operation ran: idle_ns" },
        ]}
      />
    </section>
  );
}

export function Idle() {
  return (
    <List
      title="Longest idle times of each GPU"
      query="gpu_idle"
      label="Times in which a GPU had nothing to do, longest first"
      what="gaps"
      maxRows={8}
      columns={[
        { name: "idle_ns", label: "idle", bar: true, color: () => "var(--c7)" },
        { name: "device", absent: "the report names none" },
        { name: "start_ns", label: "from" },
        { name: "before_name", label: "after this operation", most: 46 },
        { name: "after_name", label: "until this one", most: 46 },
      ]}
    />
  );
}
