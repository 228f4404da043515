// Physical memory: what a process, an allocator or a device held at each checkpoint, on a scale of its own.
// In: block physical_timeline; the window of the view. Out: `Physical`. Left to neighbours: logical memory.
// It is another fact than logical memory: the two share a clock and nothing else. Between two checkpoints nothing is
// known, so that points are joined by a dotted line only to guide the eye.

import { useMemo } from "preact/hooks";
import { absence, store, useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { token } from "../../ui/colors";
import { DataTable } from "../../ui/data_table";
import { Qualified } from "../../ui/level";
import { Empty, Panel } from "../../ui/panel";
import { printable } from "../../ui/text";
import { DeviceChoice } from "./choice";
import { type Area, TimePlot } from "./plot";
import type { Span } from "./window";

const FACTS: [column: string, label: string, color: string, shape: "dot" | "square"][] = [
  ["used_bytes", "in use", "--c4", "dot"],
  ["reserved_bytes", "reserved by the allocator", "--c5", "square"],
];

interface Props {
  whole: Span;
  window: Span;
  onZoom: (window: Span | null, how?: "push" | "replace") => void;
}

export function Physical({ whole, window, onZoom }: Props) {
  const [route, go] = useRoute();
  const of = useTable("physical_timeline");
  const { table } = of;
  const capability = store.meta.evidence.capabilities.physical_memory_coverage;
  const devices = useMemo(() => (table ? [...new Set(table.text("device").dictionary)] : []), [table]);
  const device = devices.find((d) => d === route.pdev) ?? largest(table) ?? devices[0];
  const keep = useMemo(() => (table && device !== undefined ? sameDevice(table, device) : undefined), [table, device]);
  if (of.state === "unavailable") {
    return (
      <Panel title="Physical memory checkpoints" query="physical_timeline">
        <Empty title="No physical memory was recorded" reason={capability?.reason ?? absence("physical_timeline")} />
      </Panel>
    );
  }
  const tools = devices.length > 1 && device !== undefined && (
    <DeviceChoice label="Device or allocator" devices={devices} chosen={device} onChoose={(d) => go({ pdev: d ?? undefined }, "replace")} />
  );
  return (
    <Panel
      title="Physical memory checkpoints"
      query="physical_timeline"
      of={of}
      height={480}
      tools={tools}
      note="What a process, an allocator or a device held when it was asked: another fact than logical memory, on its own scale. Unexplained is what was in use beyond the live bytes recorded under the same device then; it may be negative, and it is added to nothing."
    >
      {table && device !== undefined && keep && (
        <>
          <Chart table={table} device={device} keep={keep} whole={whole} window={window} onZoom={onZoom} />
          <DataTable
            table={table}
            label={`Physical memory checkpoints of ${printable(device)}`}
            what="checkpoints"
            keep={keep}
            maxRows={8}
            columns={[
              { name: "timestamp_ns", label: "read at" },
              { name: "device" },
              { name: "used_bytes", label: "in use", absent: "not given" },
              { name: "reserved_bytes", label: "reserved", absent: "not given" },
              { name: "free_bytes", label: "free", absent: "not given" },
              { name: "capacity_bytes", label: "capacity", absent: "not given" },
              { name: "logical_live_bytes", label: "logical live then", absent: "no logical memory was recorded on it" },
              { name: "unexplained_bytes", label: "unexplained", absent: "in use or logical live is not known" },
            ]}
            onSelect={(row) => go({ sel: select.row("physical_timeline", row) })}
          />
          <div class="body">
            <Qualified of={capability} label="Physical memory:" />
          </div>
        </>
      )}
    </Panel>
  );
}

function sameDevice(table: Table, device: string): (row: number) => boolean {
  const { codes, dictionary } = table.text("device");
  const code = dictionary.indexOf(device);
  return (row) => codes[row] === code;
}

/** The device that had the most in use: the one to look at first. */
function largest(table: Table | undefined): string | undefined {
  let best: string | undefined;
  let most = -1;
  for (let row = 0; table && row < table.rows; row++) {
    const used = table.number("used_bytes", row);
    if (used === null || used <= most) continue;
    most = used;
    best = table.string("device", row) ?? undefined;
  }
  return best;
}

interface ChartProps extends Props {
  table: Table;
  device: string;
  keep: (row: number) => boolean;
}

function Chart({ table, device, keep, whole, window, onZoom }: ChartProps) {
  const series = useMemo(() => {
    const times = table.num("timestamp_ns").values;
    return FACTS.map(([name, label, color, shape]) => {
      const column = table.num(name);
      const points: [number, number][] = [];
      for (let row = 0; row < table.rows; row++) {
        if (keep(row) && !column.nulls?.[row]) points.push([times[row]!, column.values[row]!]);
      }
      return { label, color, shape, points };
    }).filter((s) => s.points.length > 0);
  }, [table, keep]);
  const top = Math.max(0, ...series.flatMap((s) => s.points.map(([, n]) => n)));
  const paint = (ctx: CanvasRenderingContext2D, area: Area) => {
    ctx.beginPath();
    ctx.rect(area.left - 5, 0, area.width + 10, area.top + area.height + 5);
    ctx.clip();
    for (const { color, shape, points } of series) {
      ctx.strokeStyle = ctx.fillStyle = token(color);
      ctx.lineWidth = 1.5;
      ctx.setLineDash([2, 4]);
      ctx.beginPath();
      for (const [at, n] of points) ctx.lineTo(area.x(at), area.y(n));
      ctx.stroke();
      ctx.setLineDash([]);
      const size = points.length > area.width / 8 ? 1.5 : 4;
      for (const [at, n] of points) {
        ctx.beginPath();
        if (shape === "dot") ctx.arc(area.x(at), area.y(n), size, 0, 2 * Math.PI);
        else ctx.rect(area.x(at) - size, area.y(n) - size, 2 * size, 2 * size);
        ctx.fill();
      }
    }
  };
  if (series.length === 0) return <Empty title={`Nothing to draw of ${printable(device)}`} reason="Its checkpoints give neither what was in use nor what was reserved." />;
  return (
    <>
      <ul class="keyline">
        {series.map(({ label, color, shape }) => (
          <li key={label}>
            <i class={shape} style={{ background: `var(${color})` }} aria-hidden="true" /> {label}
          </li>
        ))}
        <li class="soft">dotted: not known between checkpoints</li>
      </ul>
      <TimePlot
        label={`Physical memory of ${printable(device)} at ${series[0]!.points.length} checkpoints`}
        whole={whole}
        window={window}
        top={top}
        height={180}
        paint={paint}
        deps={[series]}
        onZoom={onZoom}
      />
    </>
  );
}
