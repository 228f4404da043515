// Planes of other clocks: device intervals, GPU operations and ranges of Nsight, each on an axis of its own.
// In: blocks `timeline_device`, `timeline_gpu`, `timeline_ranges`. Out: planes. Left to neighbours: the host (host.ts).
// No time of these is ever compared with one of the host or of each other: a plane has an origin, not an offset.

import type { Table } from "../../data/table";
import { colorToken } from "../../ui/colors";
import { count } from "../../ui/format";
import { printable } from "../../ui/text";
import { NO_STEP, STEPS, steps } from "./host";
import { KINDS, type Kind, MERGED, type Plane, PlaneBuilder, TIMELESS, type Tone } from "./model";
import { Rows } from "./rows";
import { index, relative } from "./times";

interface Lane {
  label: string;
  detail: string;
  /** In order of time. */
  marks: number[];
}

interface Source {
  id: string;
  title: string;
  clock: string;
  kind: Kind;
  table: Table;
  lanes: Lane[];
  /** What a mark is called where it has no name. */
  nameless: string;
  names: string;
  noun: [one: string, several: string];
  tones: Tone[];
  tone: (row: number) => number;
  /** Least row within its lane. */
  level?: (row: number) => number;
}

/** One plane for each clock of each device: a clock's times mean nothing on another. */
export function devicePlanes(table: Table, spans: Table | null): Plane[] {
  const tones = spans && spans.rows > 0 ? steps(spans) : null;
  const at = spans ? index(spans.num("id").values) : () => -1;
  const launched = table.num("span_id").values;
  const planes = new Map<string, Lane[]>();
  lanesOf(table, ["device", "clock_id", "stream_id"], ([device, clock, stream]) => {
    const lane: Lane = { label: `stream ${said(stream)}`, detail: "", marks: [] };
    const key = JSON.stringify([said(device, "device not named"), said(clock)]);
    const lanes = planes.get(key);
    if (lanes) lanes.push(lane);
    else planes.set(key, [lane]);
    return lane;
  });
  return [...planes].map(([key, lanes], i) => {
    const [device, clock] = JSON.parse(key) as [string, string];
    return plane({
      id: `device${i}`,
      title: `Device ${device}`,
      clock: `clock ${clock}`,
      kind: "device",
      table,
      lanes,
      names: "span_name",
      nameless: "(span not recorded)",
      noun: ["interval", "intervals"],
      tones: STEPS,
      tone: (row) => {
        const span = at(launched[row]!);
        return tones && span >= 0 ? tones[span]! : NO_STEP;
      },
    });
  });
}

const GPU_KINDS: Tone[] = [
  { token: "--c5", label: "kernel" },
  { token: "--c3", label: "memcpy" },
  { token: "--c6", label: "memset" },
  { token: "--c4", label: "graph" },
  { token: "--c7", label: "other" },
];

/** All GPUs of a report: Nsight puts them on one clock. */
export function gpuPlane(table: Table): Plane {
  const kinds = table.text("kind");
  const tones = Int8Array.from(kinds.dictionary, (kind) => GPU_KINDS.findIndex((t) => t.label === kind));
  const lanes: Lane[] = [];
  lanesOf(table, ["device", "context_id", "stream_id"], ([device, context, stream]) => {
    const detail = `${said(device, "device not named")} · context ${said(context)}`;
    lanes.push({ label: `stream ${said(stream)}`, detail, marks: [] });
    return lanes.at(-1)!;
  });
  return plane({
    id: "gpu",
    title: "GPU operations of Nsight",
    clock: "Nsight's device clock",
    kind: "gpu",
    table,
    lanes,
    names: "name",
    nameless: "(no name)",
    noun: ["operation", "operations"],
    tones: GPU_KINDS,
    tone: (row) => {
      const code = kinds.codes[row]!;
      return code >= 0 && tones[code]! >= 0 ? tones[code]! : GPU_KINDS.length - 1;
    },
  });
}

/** Ranges have no colours of meaning: a label has the colour of its name. */
const NAMED: Tone[] = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6"].map((token) => ({ token, label: "" }));

export function rangePlane(table: Table): Plane {
  const labels = table.text("label");
  const tones = Uint8Array.from(labels.dictionary, nameTone);
  const levels = table.num("level").values;
  const lanes: Lane[] = [];
  lanesOf(table, ["process_id", "thread_id"], ([process, thread]) => {
    lanes.push({ label: `thread ${said(thread)}`, detail: `process ${said(process)}`, marks: [] });
    return lanes.at(-1)!;
  });
  return plane({
    id: "ranges",
    title: "NVTX ranges of Nsight",
    clock: "host time on Nsight's clock",
    kind: "range",
    table,
    lanes,
    names: "label",
    nameless: "(no label)",
    noun: ["range", "ranges"],
    tones: NAMED,
    tone: (row) => tones[labels.codes[row]!] ?? 0,
    level: (row) => (levels[row]! > 0 ? levels[row]! : 0),
  });
}

export function nameTone(name: string): number {
  return Number(colorToken(name).slice(3)) % NAMED.length;
}

function said(value: string | null | undefined, absent = "not given"): string {
  return value == null ? absent : printable(value);
}

/** Rows by what is equal in some columns: the blocks come in that order, so most rows join the lane of the one before. */
function lanesOf(table: Table, names: string[], open: (values: (string | null)[]) => Lane): void {
  const keys = names.map((name) => {
    const column = table.columns.get(name)!;
    return column.kind === "text" ? column.codes : column.kind === "num" ? column.values : new Int32Array(table.rows);
  });
  const lanes = new Map<string, Lane>();
  let lane: Lane | null = null;
  for (let row = 0; row < table.rows; row++) {
    // Object.is: an absent number is NaN.
    if (!lane || !keys.every((k) => Object.is(k[row], k[row - 1]))) {
      const values = names.map((name) => table.string(name, row));
      const key = JSON.stringify(values);
      lane = lanes.get(key) ?? open(values);
      lanes.set(key, lane);
    }
    lane.marks.push(row);
  }
}

function plane(source: Source): Plane {
  const { table, lanes } = source;
  const length = table.num("duration_ns").values;
  const merged = table.num("merged").values;
  const codes = table.text(source.names).codes;
  const column = table.num("start_ns");
  const kept = lanes.flatMap((lane) => lane.marks);
  const all = kept.length === table.rows;
  // The origin is the plane's own first mark: another clock's must not decide it.
  const mine = all ? column : pick(column, kept);
  const { origin, starts } = relative([mine], false);
  const start = all ? starts[0]! : spread(starts[0]!, kept, table.rows);
  const builder = new PlaneBuilder(kept.length);
  builder.dictionary(table.text(source.names).dictionary);
  const nameless = builder.dictionary([source.nameless]);
  let known = 0;
  for (const lane of lanes) {
    let rows = 0;
    for (const row of lane.marks) rows += merged[row]! > 1 ? merged[row]! : 1;
    const counted = `${count(rows)} ${source.noun[rows === 1 ? 0 : 1]}`;
    const group = builder.addGroup(lane.label, lane.detail ? `${lane.detail} · ${counted}` : counted);
    const free = new Rows();
    const marks = lane.marks.filter((row) => !Number.isNaN(start[row]!));
    builder.skipped += lane.marks.length - marks.length;
    if (marks.some((row, i) => i > 0 && start[marks[i - 1]!]! > start[row]!)) marks.sort((a, b) => start[a]! - start[b]!);
    for (const row of marks) {
      const timeless = Number.isNaN(length[row]!);
      const end = timeless ? start[row]! : start[row]! + length[row]!;
      const place = free.free(source.level?.(row) ?? 0, start[row]!);
      free.set(place, end);
      if (end > known) known = end;
      const flags = (merged[row]! > 1 ? MERGED : 0) | (timeless ? TIMELESS : 0);
      const kind = KINDS.indexOf(source.kind);
      builder.add(group, place, start[row]!, end, kind, row, codes[row]! < 0 ? nameless : codes[row]!, source.tone(row), flags);
    }
  }
  const { id, title, clock, tones } = source;
  return builder.finish({ id, title, clock, host: false, origin, tones, tables: { [source.kind]: table } }, 0, known, known, []);
}

function pick(column: ReturnType<Table["num"]>, rows: number[]): ReturnType<Table["num"]> {
  return {
    ...column,
    values: Float64Array.from(rows, (row) => column.values[row]!),
    nulls: column.nulls && Uint8Array.from(rows, (row) => column.nulls![row]!),
    exact: column.exact && BigInt64Array.from(rows, (row) => column.exact![row]!),
  };
}

function spread(values: Float64Array, rows: number[], length: number): Float64Array {
  const all = new Float64Array(length).fill(NaN);
  rows.forEach((row, i) => (all[row] = values[i]!));
  return all;
}
