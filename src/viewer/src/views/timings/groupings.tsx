// The lists of Timings, as data: which block, which columns, what a row selects.
// In: nothing. Out: `groupings`. Left to neighbours: drawing them (timings.tsx).

import type { Table } from "../../data/table";
import { href } from "../../state/route";
import { locate, parse, select } from "../../state/selection";
import type { ColumnSpec, Sort } from "../../ui/data_table";
import { Text } from "../../ui/value";

export interface Grouping {
  id: string;
  label: string;
  title: string;
  block: string;
  /** Capability that it rests on. */
  capability: string;
  note: string;
  search: string;
  what: string;
  facets: string[];
  columns: (string | ColumnSpec)[];
  sort?: Sort;
  /** Selection of a row. */
  select: (table: Table, row: number) => string;
  /** Row of a selection; -1: none. */
  selected: (table: Table, sel: string) => number;
}

const rowOf = (block: string) => ({
  select: (_: Table, row: number) => select.row(block, row),
  selected: (_: Table, sel: string) => {
    const s = parse(sel);
    return s?.kind === "row" && s.block === block ? s.row : -1;
  },
});

const located = (kind: string) => (table: Table, sel: string) => {
  const s = parse(sel);
  return s?.kind === kind ? locate(s, table) : -1;
};

/** Where the rows of a name are in the timeline. */
const seenByName: ColumnSpec = {
  name: "timeline",
  label: "where",
  meaning: "where they ran",
  render: (row, table) => <a tabIndex={-1} href={href({ view: "timeline", sel: undefined, q: table.string("name", row) ?? "" })}>Timeline</a>,
};

const name: ColumnSpec = { name: "name", most: 48 };

const indented: ColumnSpec = {
  name: "name",
  most: 60,
  render: (row, table) => (
    <span style={{ paddingLeft: `${Math.min(24, table.number("depth", row) ?? 0) * 12}px` }}>
      <Text text={table.string("name", row) ?? ""} most={56} />
    </span>
  ),
};

export const groupings: Grouping[] = [
  {
    id: "name",
    label: "Spans by name",
    title: "Spans by name",
    block: "host_hotspots",
    capability: "nested_host_time",
    note: "Host time. Self time is wall time outside child spans; only the part inside the measured region is counted in “measured self”. Total counts a span in each of its ancestors too: it does not add up.",
    search: "Filter by name",
    what: "names",
    facets: ["scope"],
    columns: [
      name,
      { name: "calls" },
      { name: "measured_self_ns", label: "measured self", bar: true },
      { name: "share", absent: "beside the region: no part of its time" },
      { name: "self_ns", label: "self" },
      { name: "total_ns", label: "total" },
      { name: "p50_ns", label: "p50" },
      { name: "p99_ns", label: "p99" },
      { name: "max_ns", label: "max" },
      { name: "cpu_ns", label: "CPU", absent: "no CPU time was known" },
      { name: "scope" },
      seenByName,
    ],
    ...rowOf("host_hotspots"),
  },
  {
    id: "ops",
    label: "Operations by shape",
    title: "Operations by name, shape, dtype and device",
    block: "ops",
    capability: "operation_coverage",
    note: "Host time as the program measured it: launch time for an asynchronous device, never device time. Bytes are dense footprints, not allocations.",
    search: "Filter by name, shape, dtype",
    what: "combinations",
    facets: ["dtype", "device"],
    columns: [
      name,
      { name: "shape" },
      { name: "total_ns", label: "total", bar: true },
      { name: "calls" },
      { name: "p50_ns", label: "p50" },
      { name: "p99_ns", label: "p99" },
      { name: "max_ns", label: "max" },
      { name: "cpu_ns", label: "CPU", absent: "not measured" },
      { name: "dtype" },
      { name: "device" },
      { name: "output_dense_bytes", label: "output", absent: "never given" },
      { name: "input_dense_bytes", label: "inputs" },
      seenByName,
    ],
    ...rowOf("ops"),
  },
  {
    id: "work",
    label: "Work",
    title: "Floating-point work by operation",
    block: "op_work_by_name",
    capability: "operation_coverage",
    note: "FLOP as a rule for the operation's name and shapes counts them. A rate is given only where host time holds the work.",
    search: "Filter by name, rule",
    what: "names",
    facets: ["device", "rule"],
    columns: [
      name,
      { name: "device" },
      { name: "rule", absent: "there is no rule for this name" },
      { name: "calls" },
      { name: "counted_calls", label: "counted" },
      { name: "flops", label: "FLOP", bar: true, absent: "none is counted" },
      { name: "flops_per_second", label: "FLOP/s", absent: "host time does not hold the work, or none is counted" },
      { name: "intensity", label: "FLOP/byte", absent: "not both are known" },
      { name: "bytes_moved", label: "bytes moved", absent: "footprints were not given" },
      { name: "total_ns", label: "total" },
      seenByName,
    ],
    ...rowOf("op_work_by_name"),
  },
  {
    id: "spans",
    label: "Every span",
    title: "Every span",
    block: "spans",
    capability: "nested_host_time",
    note: "Host time. Self time is wall time outside child spans.",
    search: "Filter by name, id, thread",
    what: "spans",
    facets: ["step", "kind", "scope"],
    sort: { column: "host_self_time_ns", descending: true },
    columns: [
      { name: "id" },
      name,
      { name: "host_self_time_ns", label: "self", bar: true, absent: "the span never closed" },
      { name: "host_total_time_ns", label: "total", absent: "the span never closed" },
      { name: "cpu_ns", label: "CPU", absent: "not known" },
      { name: "start_ns", label: "start" },
      { name: "thread_id", label: "thread" },
      { name: "step", absent: "the program stated none" },
      { name: "kind" },
      { name: "scope" },
      {
        name: "timeline",
        label: "where",
        render: (row, table) => <a tabIndex={-1} href={href({ view: "timeline", sel: select.span(table.cell("id", row)) })}>Timeline</a>,
      },
    ],
    select: (table, row) => select.span(table.cell("id", row)),
    selected: located("span"),
  },
  {
    id: "calls",
    label: "Every operation",
    title: "Every operation",
    block: "timeline_ops",
    capability: "operation_coverage",
    note: "Host time as the program measured it: launch time for an asynchronous device, never device time.",
    search: "Filter by name, shape, span",
    what: "operations",
    facets: ["dtype", "device"],
    sort: { column: "duration_ns", descending: true },
    columns: [
      name,
      { name: "duration_ns", label: "duration", bar: true },
      { name: "cpu_ns", label: "CPU", absent: "not measured" },
      { name: "start_ns", label: "start" },
      { name: "span_id", label: "span", absent: "several were drawn as one" },
      { name: "op_index", label: "index", absent: "several were drawn as one" },
      { name: "thread_id", label: "thread", absent: "the trace does not say" },
      { name: "shape", absent: "several were drawn as one" },
      { name: "dtype" },
      { name: "device" },
      { name: "output_dense_bytes", label: "output", absent: "not given" },
      {
        name: "timeline",
        label: "where",
        render: (row, table) => <a tabIndex={-1} href={href({ view: "timeline", sel: opSelection(table, row) })}>Timeline</a>,
      },
    ],
    select: opSelection,
    selected: (table, sel) => {
      const s = parse(sel);
      if (s?.kind === "row" && s.block === "timeline_ops") return s.row;
      return s?.kind === "op" ? locate(s, table) : -1;
    },
  },
  {
    id: "path",
    label: "Critical path",
    title: "Critical path of the measured region",
    block: "critical_path",
    capability: "outer_wall_time",
    note: "What the region waits for, in order of time: these parts add up to its wall time exactly, so one of them must become shorter for the region to become shorter.",
    search: "Filter by name, id",
    what: "spans",
    facets: ["step", "kind"],
    columns: [
      { name: "id" },
      indented,
      { name: "kind" },
      { name: "step", absent: "none states one" },
      { name: "from_ns", label: "from" },
      { name: "to_ns", label: "to" },
      { name: "path_ns", label: "waited for", bar: true },
      { name: "share" },
      {
        name: "timeline",
        label: "where",
        render: (row, table) => <a tabIndex={-1} href={href({ view: "timeline", sel: select.span(table.cell("id", row)) })}>Timeline</a>,
      },
    ],
    select: (table, row) => select.span(table.cell("id", row)),
    selected: located("span"),
  },
];

/** An operation by its place in its span; a mark of several by its row. */
function opSelection(table: Table, row: number): string {
  const index = table.number("op_index", row);
  return index === null ? select.row("timeline_ops", row) : select.op(table.cell("span_id", row), index);
}
