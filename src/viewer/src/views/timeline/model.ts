// What a timeline draws: marks in rows, rows in groups, all of one clock.
// In: nothing. Out: `Plane`, `PlaneBuilder`. Left to neighbours: which rows of which block (host.ts, clocks.ts), which
// row a mark goes to (rows.ts).
// Marks of a row never overlap, so both their starts and their ends rise: what can be seen is found by bisection. Times
// are offsets from the plane's origin: clocks that count from 1970 do not fit into a double.

import type { Table } from "../../data/table";
import { printable } from "../../ui/text";

export const KINDS = ["span", "op", "device", "gpu", "range"] as const;
export type Kind = (typeof KINDS)[number];

/** Bits of Plane.flags. */
export const MERGED = 1;
/** It never closed: it is drawn to the end of the plane, and its length is not known. */
export const OPEN = 2;
/** No duration was recorded: it is drawn where it starts. */
export const TIMELESS = 4;

export interface Tone {
  /** Custom property of style.css. */
  token: string;
  label: string;
}

export interface Group {
  label: string;
  detail: string;
  /** First of its rows, and how many there are. */
  row: number;
  rows: number;
}

export interface Region {
  from: number;
  to: number;
  open: boolean;
}

export interface Plane {
  /** As addresses name it. */
  id: string;
  title: string;
  /** The host's own clock; any other is not aligned with it. */
  host: boolean;
  clock: string;
  origin: bigint;
  from: number;
  to: number;
  /** The last instant that was recorded; what is drawn after it is open-ended. */
  known: number;
  count: number;
  start: Float64Array;
  end: Float64Array;
  /** Sum of the lengths of all marks before it, one longer than `count`. */
  busy: Float64Array;
  /** Place in `names`. */
  name: Int32Array;
  names: string[];
  tone: Uint8Array;
  tones: Tone[];
  flags: Uint8Array;
  kind: Uint8Array;
  /** Row of the block that it comes from. */
  source: Int32Array;
  /** First mark of each row, and `count` at the end. */
  rows: Int32Array;
  /** Row of each mark. */
  rowOf: Int32Array;
  groups: Group[];
  tables: Partial<Record<Kind, Table>>;
  regions: Region[];
  /** Tones that some mark has, a bit each. */
  used: number;
  /** Marks that stand for several rows; marks without an end; rows that have no start and are not drawn. */
  merged: number;
  open: number;
  skipped: number;
}

export type PlaneHead = Pick<Plane, "id" | "title" | "host" | "clock" | "origin" | "tones" | "tables">;

/** Collects marks, each row in order of time, and puts them row by row. */
export class PlaneBuilder {
  private n = 0;
  private readonly start: Float64Array;
  private readonly end: Float64Array;
  private readonly name: Int32Array;
  private readonly tone: Uint8Array;
  private readonly flags: Uint8Array;
  private readonly kind: Uint8Array;
  private readonly source: Int32Array;
  private readonly group: Int32Array;
  private readonly row: Int32Array;
  private readonly groups: { label: string; detail: string; rows: number }[] = [];
  private readonly names: string[] = [];
  skipped = 0;

  constructor(most: number) {
    this.start = new Float64Array(most);
    this.end = new Float64Array(most);
    this.name = new Int32Array(most);
    this.tone = new Uint8Array(most);
    this.flags = new Uint8Array(most);
    this.kind = new Uint8Array(most);
    this.source = new Int32Array(most);
    this.group = new Int32Array(most);
    this.row = new Int32Array(most);
  }

  /** Names of a block; the answer is what to add to its codes. */
  dictionary(names: string[]): number {
    const at = this.names.length;
    for (const name of names) this.names.push(printable(name));
    return at;
  }

  addGroup(label: string, detail: string): number {
    this.groups.push({ label, detail, rows: 1 });
    return this.groups.length - 1;
  }

  add(group: number, row: number, start: number, end: number, kind: number, source: number, name: number, tone: number, flags: number): void {
    const i = this.n++;
    this.start[i] = start;
    this.end[i] = end;
    this.name[i] = name;
    this.tone[i] = tone;
    this.flags[i] = flags;
    this.kind[i] = kind;
    this.source[i] = source;
    this.group[i] = group;
    this.row[i] = row;
    const of = this.groups[group]!;
    if (row >= of.rows) of.rows = row + 1;
  }

  finish(head: PlaneHead, from: number, to: number, known: number, regions: Region[]): Plane {
    const n = this.n;
    const groups: Group[] = [];
    let rowCount = 0;
    for (const { label, detail, rows } of this.groups) {
      groups.push({ label, detail, row: rowCount, rows });
      rowCount += rows;
    }
    const rows = new Int32Array(rowCount + 1);
    for (let i = 0; i < n; i++) rows[groups[this.group[i]!]!.row + this.row[i]! + 1]!++;
    for (let r = 0; r < rowCount; r++) rows[r + 1]! += rows[r]!;
    const next = rows.slice();
    const plane: Plane = {
      ...head,
      from,
      to,
      known,
      count: n,
      start: new Float64Array(n),
      end: new Float64Array(n),
      busy: new Float64Array(n + 1),
      name: new Int32Array(n),
      names: this.names,
      tone: new Uint8Array(n),
      flags: new Uint8Array(n),
      kind: new Uint8Array(n),
      source: new Int32Array(n),
      rows,
      rowOf: new Int32Array(n),
      groups,
      regions,
      used: 0,
      merged: 0,
      open: 0,
      skipped: this.skipped,
    };
    for (let i = 0; i < n; i++) {
      const row = groups[this.group[i]!]!.row + this.row[i]!;
      const at = next[row]!++;
      plane.start[at] = this.start[i]!;
      plane.end[at] = this.end[i]!;
      plane.name[at] = this.name[i]!;
      plane.tone[at] = this.tone[i]!;
      plane.flags[at] = this.flags[i]!;
      plane.kind[at] = this.kind[i]!;
      plane.source[at] = this.source[i]!;
      plane.rowOf[at] = row;
      plane.used |= 1 << this.tone[i]!;
      if (this.flags[i]! & OPEN) plane.open++;
      if (this.flags[i]! & MERGED) plane.merged++;
    }
    for (let i = 0; i < n; i++) plane.busy[i + 1] = plane.busy[i]! + plane.end[i]! - plane.start[i]!;
    return plane;
  }
}

/** Group of a row. */
export function groupOf(plane: Plane, row: number): number {
  let low = 0;
  let high = plane.groups.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (plane.groups[mid]!.row <= row) low = mid;
    else high = mid - 1;
  }
  return low;
}
