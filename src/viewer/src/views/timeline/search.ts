// Search in a plane: names and ids that hold a text, in any case.
// In: a plane, a query. Out: `Hits`: which marks, in which order of time. Left to neighbours: dimming the others
// (paint.ts), going from one to the next (index.tsx).
// Names are looked at once each, ids as numbers: a million marks cost some milliseconds.

import { sorted } from "../../ui/order";
import { ID_PREFIX, idColumns } from "./marks";
import { KINDS, MERGED, type Plane } from "./model";

export interface Hits {
  query: string;
  /** 1: found. */
  flags: Uint8Array;
  /** How many marks before each are found: a column knows at once whether it holds one. */
  sums: Int32Array;
  total: number;
}

const lowered = new WeakMap<Plane, string[]>();
const orders = new WeakMap<Plane, Uint32Array>();

export function search(plane: Plane, query: string): Hits | null {
  const text = query.trim().toLowerCase();
  if (text === "") return null;
  let names = lowered.get(plane);
  if (!names) lowered.set(plane, (names = plane.names.map((n) => n.toLowerCase())));
  const named = Uint8Array.from(names, (n) => (n.includes(text) ? 1 : 0));
  const { count, name } = plane;
  const flags = new Uint8Array(count);
  for (let i = 0; i < count; i++) flags[i] = named[name[i]!]!;
  byId(plane, text, flags);
  const sums = new Int32Array(count + 1);
  let total = 0;
  for (let i = 0; i < count; i++) {
    total += flags[i]!;
    sums[i + 1] = total;
  }
  return { query: text, flags, sums, total };
}

/** Ids as they are shown: s12, s12:3, device:4, gpu:5, range:6. */
function byId(plane: Plane, text: string, flags: Uint8Array): void {
  const colon = text.lastIndexOf(":");
  KINDS.forEach((kind, k) => {
    const table = plane.tables[kind];
    const prefix = ID_PREFIX[kind];
    if (!table || !possible(prefix, text, kind === "op")) return;
    const [first, second] = idColumns(kind, table);
    // Neighbours share a span, and most operations a place in it: text of a number is made when it changes.
    const places = new Map<number, boolean>();
    const inSpan = (a: number) => (colon < 0 ? `${prefix}${a}`.includes(text) : `${prefix}${a}`.endsWith(text.slice(0, colon)));
    const inPlace = (b: number) => (colon < 0 ? `${b}`.includes(text) : `${b}`.startsWith(text.slice(colon + 1)));
    let last = NaN;
    let ofSpan = false;
    for (let i = 0; i < plane.count; i++) {
      if (plane.kind[i] !== k || flags[i] || plane.flags[i]! & MERGED) continue;
      const row = plane.source[i]!;
      const a = first ? first[row]! : row;
      if (Number.isNaN(a)) continue;
      if (!second) flags[i] = `${prefix}${a}`.includes(text) ? 1 : 0;
      else {
        if (a !== last) ofSpan = inSpan((last = a));
        const found = colon < 0 ? ofSpan || once(places, second[row]!, inPlace) : ofSpan && once(places, second[row]!, inPlace);
        if (found) flags[i] = 1;
      }
    }
  });
}

function once(known: Map<number, boolean>, value: number, ask: (value: number) => boolean): boolean {
  let answer = known.get(value);
  if (answer === undefined) known.set(value, (answer = ask(value)));
  return answer;
}

/** Whether a text can be part of an id: only one with a digit is looked for there, or every word with an s would be found. */
function possible(prefix: string, text: string, pair: boolean): boolean {
  const [, head = "", rest = ""] = /^(\D*)(.*)$/.exec(text) ?? [];
  if (!(pair ? /^\d+(:\d*)?$/ : /^\d+$/).test(rest)) return false;
  return prefix.endsWith(head) || (pair && head === ":");
}

/** Marks that were found, in order of time. */
export function inOrder(plane: Plane, hits: Hits): Int32Array {
  let order = orders.get(plane);
  if (!order) {
    const all = Uint32Array.from({ length: plane.count }, (_, i) => i);
    const column = { kind: "num" as const, values: plane.start, nulls: null, exact: null, prefix: null };
    orders.set(plane, (order = sorted(column, all, false)));
  }
  const list = new Int32Array(hits.total);
  let n = 0;
  for (const mark of order) if (hits.flags[mark]) list[n++] = mark;
  return list;
}

/** Place in `list` of a mark, or of where it would stand: {at, found}. */
export function placeOf(plane: Plane, list: Int32Array, mark: number, time: number): { at: number; found: boolean } {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (plane.start[list[mid]!]! < time) low = mid + 1;
    else high = mid;
  }
  for (let i = low; i < list.length && plane.start[list[i]!] === time; i++) if (list[i] === mark) return { at: i, found: true };
  return { at: low, found: false };
}
