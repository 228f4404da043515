// A mark as people and addresses name it, and what is said of it.
// In: a plane, a mark. Out: its id, its selection, lines of text. Left to neighbours: the whole row (ui/details.tsx).
// What was not recorded is said to be so; a length is given only where the trace has one.

import type { Table } from "../../data/table";
import { bytes, count, duration, percent } from "../../ui/format";
import { printable, short } from "../../ui/text";
import { locate, parse, select } from "../../state/selection";
import { groupOf, KINDS, type Kind, MERGED, OPEN, type Plane, TIMELESS } from "./model";

export const ID_PREFIX: Record<Kind, string> = { span: "s", op: "s", device: "device:", gpu: "gpu:", range: "range:" };

/** Numbers of an id by row of the block; null: the row itself. */
export function idColumns(kind: Kind, table: Table): [Float64Array | null, Float64Array | null] {
  switch (kind) {
    case "span":
      return [table.num("id").values, null];
    case "op":
      return [table.num("span_id").values, table.num("op_index").values];
    case "device":
      return [null, null];
    default:
      return [table.num("row").values, null];
  }
}

export function kindOf(plane: Plane, mark: number): Kind {
  return KINDS[plane.kind[mark]!]!;
}

/** Rows that a mark stands for. */
export function standsFor(plane: Plane, mark: number): number {
  if (!(plane.flags[mark]! & MERGED)) return 1;
  return plane.tables[kindOf(plane, mark)]!.number("merged", plane.source[mark]!) ?? 1;
}

/** Its name; a mark of several has that of the longest, and says so. */
export function nameOf(plane: Plane, mark: number): string {
  const name = plane.names[plane.name[mark]!]!;
  const more = standsFor(plane, mark) - 1;
  return more > 0 ? `${name} and ${count(more)} more` : name;
}

/** Null: a mark of several rows has no id. */
export function idOf(plane: Plane, mark: number): string | null {
  if (plane.flags[mark]! & MERGED) return null;
  const kind = kindOf(plane, mark);
  const row = plane.source[mark]!;
  const [first, second] = idColumns(kind, plane.tables[kind]!);
  const a = first ? first[row]! : row;
  return Number.isNaN(a) ? null : `${ID_PREFIX[kind]}${a}${second ? `:${second[row]}` : ""}`;
}

/** As Route.sel names it. */
export function selectionOf(plane: Plane, mark: number): string {
  const kind = kindOf(plane, mark);
  const row = plane.source[mark]!;
  const table = plane.tables[kind]!;
  if (!(plane.flags[mark]! & MERGED)) {
    if (kind === "span") return select.span(table.cell("id", row));
    if (kind === "op" && table.cell("op_index", row) !== null) return select.op(table.cell("span_id", row), table.cell("op_index", row));
    if (kind === "device") return select.device(row);
    if (kind === "gpu" && table.number("row", row) !== null) return select.gpu(table.number("row", row)!);
  }
  return select.row(table.name, row);
}

const inverses = new WeakMap<Plane, Partial<Record<Kind, Int32Array>>>();

const last = new WeakMap<Plane, { sel: string; mark: number }>();

/** Mark of a selection; -1: this plane does not have it. */
export function markOf(plane: Plane, sel: string | undefined): number {
  if (!sel) return -1;
  // Several components ask for the same one, and an operation is looked for among all.
  const known = last.get(plane);
  if (known?.sel === sel) return known.mark;
  const mark = find(plane, sel);
  last.set(plane, { sel, mark });
  return mark;
}

function find(plane: Plane, sel: string): number {
  const selection = parse(sel);
  if (!selection) return -1;
  for (const kind of KINDS) {
    const table = plane.tables[kind];
    const own = selection.kind === "row" ? table?.name === selection.block : selection.kind === kind;
    if (!table || !own) continue;
    const row = locate(selection, table);
    if (row < 0) return -1;
    let known = inverses.get(plane);
    if (!known) inverses.set(plane, (known = {}));
    let inverse = known[kind];
    if (!inverse) {
      inverse = known[kind] = new Int32Array(table.rows).fill(-1);
      const k = KINDS.indexOf(kind);
      for (let i = 0; i < plane.count; i++) if (plane.kind[i] === k) inverse[plane.source[i]!] = i;
    }
    return inverse[row]!;
  }
  return -1;
}

/** Absolute time on the plane's clock, every digit. */
export function exactTime(plane: Plane, offset: number): string {
  return `${count(plane.origin + BigInt(Math.round(offset)))} ns`;
}

const NOUNS: Record<Kind, [one: string, several: string]> = {
  span: ["span", "spans"],
  op: ["operation", "operations"],
  device: ["device interval", "device intervals"],
  gpu: ["GPU operation", "GPU operations"],
  range: ["range", "ranges"],
};

export function noun(plane: Plane, mark: number): string {
  const kind = kindOf(plane, mark);
  const merged = standsFor(plane, mark);
  return merged > 1 ? `${count(merged)} ${NOUNS[kind][1]}` : NOUNS[kind][0];
}

/** Letters of a name in the box beside the pointer; the details have all of them. */
const LONGEST = 240;

export interface Said {
  name: string;
  what: string;
  lines: [label: string, text: string][];
  /** What has to be known to read it aright. */
  notes: string[];
}

/** `bound`: the length below which rows were merged, as the block's note says it. */
export function describe(plane: Plane, mark: number, bound: string | null): Said {
  const kind = kindOf(plane, mark);
  const table = plane.tables[kind]!;
  const row = plane.source[mark]!;
  const flags = plane.flags[mark]!;
  const length = plane.end[mark]! - plane.start[mark]!;
  const cell = (name: string) => table.number(name, row);
  const text = (name: string) => {
    const value = table.string(name, row);
    return value === null ? null : printable(value);
  };
  const lines: Said["lines"] = [];
  const notes: string[] = [];
  const timed = (ns: number) => (ns < 1000 ? duration(ns) : `${duration(ns)}  (${count(Math.round(ns))} ns)`);
  const group = plane.groups[groupOf(plane, plane.rowOf[mark]!)]!;
  const id = idOf(plane, mark);
  const what = [noun(plane, mark), ...(id ? [id] : []), group.label].join(" · ");

  if (flags & MERGED) {
    const summed = cell("summed_ns");
    const shorter = bound ? ` shorter than ${bound}` : "";
    notes.push(`Stands for ${noun(plane, mark)}${shorter}; the longest is ${short(plane.names[plane.name[mark]!]!, 80)}.`);
    lines.push(["In all", summed === null ? "not recorded" : timed(summed)], ["From first to last", timed(length)]);
  } else if (flags & OPEN) {
    lines.push(["Duration", "not known"]);
    notes.push("It never closed: when it ended was not recorded.");
  } else if (flags & TIMELESS) {
    lines.push(["Duration", "not recorded"]);
  } else {
    lines.push(["Duration", timed(length)]);
  }
  if (kind === "span" && !(flags & OPEN)) {
    const self = cell("host_self_time_ns");
    lines.push(["Self", self === null ? "not recorded" : timed(self)]);
  }
  const cpu = flags & MERGED ? null : cell("cpu_ns");
  if (cpu !== null) lines.push(["CPU time", timed(cpu)]);
  const region = plane.regions[0];
  if (region && !region.open && !(flags & (OPEN | TIMELESS))) {
    const inside = plane.start[mark]! >= region.from && plane.end[mark]! <= region.to;
    const own = flags & MERGED ? (cell("summed_ns") ?? NaN) : length;
    const share = own / (region.to - region.from);
    if (!inside) notes.push("Not, or not wholly, in the measured region.");
    else if (Number.isFinite(share)) lines.push(["Of the measured region", percent(share)]);
  }
  lines.push(["Starts at", exactTime(plane, plane.start[mark]!)]);
  if (kind === "span" || kind === "op") lines.push(["Step", plane.tones[plane.tone[mark]!]!.label]);
  if (kind === "op" && !(flags & MERGED)) {
    const shape = [text("shape"), text("dtype"), text("device")].filter((t) => t !== null);
    if (shape.length > 0) lines.push(["Output", shape.join(" · ")]);
    const output = cell("output_dense_bytes");
    if (output !== null) lines.push(["Footprint of the output", bytes(output)]);
  }
  if (kind === "device") lines.push(["Launched by", text("span_name") === null ? (text("span_id") ?? "not recorded") : `${text("span_name")} (${text("span_id")})`]);
  if (kind === "gpu") {
    const direction = text("direction");
    lines.push(["Kind", [text("kind"), direction?.replaceAll("_", " ")].filter(Boolean).join(" · ") || "not given"]);
    const moved = cell("bytes");
    if (moved !== null) lines.push(["Moved", bytes(moved)]);
  }
  if (!plane.host) notes.push("On its own clock, not aligned with the host.");
  return { name: short(nameOf(plane, mark), LONGEST), what, lines, notes };
}
