// The marks in view as a table, the longest first: what the canvas shows, for those who do not see it, and to read off.
// In: a plane and its chart. Out: `VisibleList`. Left to neighbours: finding them (visible.ts), the table (ui).
// It follows the view when that has come to rest.

import { useMemo } from "preact/hooks";
import { type Column, Table } from "../../data/table";
import { navigate } from "../../state/route";
import { DataTable } from "../../ui/data_table";
import { count, showing } from "../../ui/format";
import type { Chart } from "./chart";
import { idOf, kindOf, nameOf, noun, selectionOf } from "./marks";
import { groupOf, MERGED, OPEN, type Plane, TIMELESS } from "./model";
import type { Range } from "./range";
import type { Hits } from "./search";
import { longest } from "./visible";

const MOST = 50;

interface Props {
  plane: Plane;
  view: Range;
  selected: number;
  planes: Plane[];
  onPlane: (plane: Plane) => void;
  chart: Chart | null;
  /** Only what a search found. */
  hits: Hits | null;
}

function numbers(values: (number | null)[]): Column {
  const nulls = Uint8Array.from(values, (v) => (v === null ? 1 : 0));
  return { kind: "num", values: Float64Array.from(values, (v) => v ?? NaN), nulls, exact: null, prefix: null };
}

function texts(values: (string | null)[]): Column {
  return { kind: "text", codes: Int32Array.from(values, (v, i) => (v === null ? -1 : i)), dictionary: values.map((v) => v ?? "") };
}

function tableOf(plane: Plane, marks: number[]): Table {
  const known = (m: number) => !(plane.flags[m]! & (OPEN | TIMELESS));
  const of = (m: number, column: string) => plane.tables[kindOf(plane, m)]!.number(column, plane.source[m]!);
  const region = plane.regions[0];
  const share = (m: number) => {
    if (!region || region.open || !known(m) || plane.start[m]! < region.from || plane.end[m]! > region.to) return null;
    const own = plane.flags[m]! & MERGED ? (of(m, "summed_ns") ?? NaN) : plane.end[m]! - plane.start[m]!;
    const part = own / (region.to - region.from);
    return Number.isFinite(part) ? part : null;
  };
  const columns: [string, Column][] = [
    ["name", texts(marks.map((m) => nameOf(plane, m)))],
    ["what", texts(marks.map((m) => noun(plane, m)))],
    ["id", texts(marks.map((m) => idOf(plane, m)))],
    ["where", texts(marks.map((m) => plane.groups[groupOf(plane, plane.rowOf[m]!)]!.label))],
    ["start", numbers(marks.map((m) => plane.start[m]!))],
    ["duration", numbers(marks.map((m) => (known(m) ? plane.end[m]! - plane.start[m]! : null)))],
  ];
  if (plane.host) {
    columns.push(["self", numbers(marks.map((m) => (kindOf(plane, m) === "span" ? of(m, "host_self_time_ns") : null)))]);
    if (region) columns.push(["share", numbers(marks.map(share))]);
  }
  return new Table("visible", marks.length, new Map(columns));
}

export function VisibleList({ plane, view, selected, planes, onPlane, chart, hits }: Props) {
  const { marks, total } = useMemo(() => longest(plane, view, MOST, hits), [plane, view.from, view.to, hits]);
  const table = useMemo(() => tableOf(plane, marks), [plane, marks]);
  const clock = plane.host ? "session clock" : "since the plane's first mark, on its own clock";
  const choose = (row: number) => {
    const mark = marks[row]!;
    navigate({ sel: selectionOf(plane, mark) });
    chart?.reveal(mark);
  };
  return (
    <section class="panel tl-list" aria-labelledby="tl-list-title">
      <header>
        <h2 id="tl-list-title">{hits ? "What was found in view, the longest first" : "What is in view, the longest first"}</h2>
        <span class="cut">{showing(marks.length, total, "marks")}</span>
        <span class="gap" />
        {planes.length > 1 && (
          <select
            aria-label="Plane that is listed"
            value={plane.id}
            onChange={(e) => onPlane(planes.find((p) => p.id === e.currentTarget.value) ?? plane)}
          >
            {planes.map((p) => (
              <option key={p.id} value={p.id}>
                {p.title}
              </option>
            ))}
          </select>
        )}
      </header>
      <DataTable
        table={table}
        label={`The longest marks in view of ${plane.title}: ${count(marks.length)} of ${count(total)}`}
        columns={[
          { name: "name", most: 48 },
          { name: "what", meaning: "What it is; a mark may stand for several rows" },
          { name: "id", absent: "a mark of several rows has no id of its own" },
          ...(plane.groups.length > 1 ? [{ name: "where", label: plane.host ? "thread" : "lane" }] : []),
          { name: "start", unit: "ns", meaning: `When it starts: ${clock}` },
          { name: "duration", unit: "ns", meaning: "From its start to its end", bar: true, absent: "it never closed, or no duration was recorded" },
          ...(plane.host ? [{ name: "self", unit: "ns", meaning: "Host time outside its child spans; spans alone have it", absent: "only a closed span has a self time" }] : []),
          ...(table.has("share") ? [{ name: "share", label: "of the region", unit: "none", meaning: "Part of the measured region", absent: "not wholly in the measured region, or without an end" }] : []),
        ]}
        maxRows={12}
        what="marks listed"
        onSelect={choose}
        selected={marks.indexOf(selected)}
      />
    </section>
  );
}
