// The program's own device intervals: how busy each device clock was, which spans took device time, where it stood still.
// In: blocks device_busy, slowest_device, device_idle. Out: `Devices`. Left to neighbours: Nsight's evidence.
// Each device clock is a clock of its own: not the host's, not Nsight's, not another device's. Nothing is added over them.

import { absence, store, useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { href, useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { count, duration, plural } from "../../ui/format";
import { Qualified } from "../../ui/level";
import { Empty, Panel } from "../../ui/panel";
import { Stack } from "../../ui/stack";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";
import { Rows } from "./list";

export function Devices() {
  const why = absence("device_busy");
  const capability = store.meta.evidence.capabilities.nested_device_time;
  return (
    <section class="devices" aria-labelledby="device-clocks">
      <h2 id="device-clocks" class="part-heading">
        Device intervals that the program recorded <small>another clock: of device events, neither the host's nor Nsight's</small>
      </h2>
      {why !== null ? (
        <Panel title="Device clocks" query="device_busy">
          <Empty title="No device intervals" reason={capability?.reason ?? why} />
        </Panel>
      ) : (
        <>
          <Busy />
          <div class="pair">
            <Slowest />
            <Idle />
          </div>
        </>
      )}
    </section>
  );
}

function Busy() {
  const of = useTable("device_busy");
  const { table } = of;
  return (
    <Panel
      title="How busy each device clock was"
      query="device_busy"
      of={of}
      height={150}
      note="Between the first and the last interval of each clock. Work on several streams at once counts once; nothing is added over clocks."
      tools={<a href={href({ view: "timeline" })}>Timeline</a>}
    >
      {table && (
        <>
          <div class="clocks">
            {Array.from({ length: Math.min(table.rows, 24) }, (_, row) => (
              <Clock key={row} table={table} row={row} />
            ))}
          </div>
          {table.rows > 24 && <p class="body soft">showing 24 of {count(table.rows)} clocks</p>}
          <div class="body">
            <Qualified of={store.meta.evidence.capabilities.nested_device_time} label="Device time:" />
          </div>
        </>
      )}
    </Panel>
  );
}

function Clock({ table, row }: { table: Table; row: number }) {
  const n = (name: string) => table.number(name, row) ?? 0;
  const sel = select.row("device_busy", row);
  const device = table.string("device", row) ?? "–";
  const clock = table.string("clock_id", row) ?? "–";
  const backends = table.string("backends", row);
  const together = n("busy_ns") > 0 ? n("summed_ns") / n("busy_ns") : 0;
  return (
    <section class="clock">
      <h3>
        <span title={printable(`${device}, clock ${clock}`)}>
          {short(device, 24)} <small>clock {short(clock, 32)}</small>
        </span>
        <strong>
          <Value v={table.cell("utilisation", row)} name="utilisation" sel={sel} absent="the window has no length" /> busy
        </strong>
      </h3>
      <p class="soft">
        {plural(n("intervals"), "interval")} of {plural(n("spans"), "span")} in {duration(n("window_ns"))}, {plural(n("streams"), "stream")}
        {together > 1.005 ? `, ${together.toFixed(2)} at once on average` : ""}
        {backends ? `; measured by ${printable(backends)}` : ""}
      </p>
      <Stack
        label={`Time of ${printable(device)}, clock ${printable(clock)}`}
        unit="ns"
        whole={n("window_ns")}
        parts={[
          { name: "busy", value: table.number("busy_ns", row), color: "var(--c0)", sel },
          { name: "idle", value: table.number("idle_ns", row), color: "var(--c7)", sel },
        ]}
      />
    </section>
  );
}

function Slowest() {
  const of = useTable("slowest_device");
  const { table } = of;
  return (
    <Panel title="Device time of each span" query="slowest_device" of={of} height={200} note="Of the intervals that a span launched itself, without its children's. Never host time.">
      {table && (
        <Rows
          table={table}
          label="Device time of each span, longest first"
          what="rows"
          maxRows={10}
          columns={[
            { name: "name", label: "span", render: (row) => <SpanLink id={table.string("id", row)} name={table.string("name", row)} /> },
            { name: "device_busy_ns", label: "device busy", bar: true },
            { name: "interval_count", label: "intervals" },
            { name: "device" },
            { name: "clock_id", label: "clock", most: 22 },
            { name: "streams" },
          ]}
        />
      )}
    </Panel>
  );
}

function SpanLink({ id, name }: { id: string | null; name: string | null }) {
  const [, go] = useRoute();
  if (id === null) return <Value v={null} />;
  const sel = select.span(id);
  return (
    <a class="name" href={href({ sel })} onClick={(e) => (e.preventDefault(), go({ sel }))} title={printable(`${name ?? id} (${id})`)}>
      {short(name ?? id, 36)}
    </a>
  );
}

function Idle() {
  const of = useTable("device_idle");
  const { table } = of;
  if (of.state === "unavailable") {
    return (
      <Panel title="Idle gaps" query="device_idle">
        <Empty title="No gap" reason="Between its first and its last interval no device clock stood still." />
      </Panel>
    );
  }
  return (
    <Panel title="Idle gaps of each device clock" query="device_idle" of={of} height={200} note="Before the first and after the last interval nothing is known.">
      {table && (
        <Rows
          table={table}
          label="Idle gaps on each device clock, longest first"
          what="gaps"
          maxRows={10}
          columns={[
            { name: "idle_ns", label: "idle", bar: true, color: () => "var(--c7)" },
            { name: "device" },
            { name: "clock_id", label: "clock", most: 22 },
            { name: "start_ns", label: "from" },
            { name: "before_span", label: "after span", render: (row) => <SpanLink id={table.string("before_span", row)} name={null} /> },
            { name: "after_span", label: "until span", render: (row) => <SpanLink id={table.string("after_span", row)} name={null} /> },
          ]}
        />
      )}
    </Panel>
  );
}
