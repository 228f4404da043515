// Times of several columns as offsets from one origin; rows by their identity.
// In: columns of absolute times. Out: offsets that a double holds exactly, and the origin. Left to neighbours: lengths.

import { type NumColumn, offsets } from "../../data/table";

export interface Times {
  origin: bigint;
  /** NaN: absent. */
  starts: Float64Array[];
}

/** `zero`: a clock that begins with the capture keeps its own zero, as long as a double holds its times. */
export function relative(columns: NumColumn[], zero: boolean): Times {
  if (zero && columns.every((c) => !c.exact)) return { origin: 0n, starts: columns.map((c) => c.values) };
  const parts = columns.map((c) => ({ ...offsets(c), rows: c.values.length }));
  const bases = parts.filter((p) => p.rows > 0).map((p) => p.base);
  const origin = bases.reduce((least, base) => (base < least ? base : least), bases[0] ?? 0n);
  const starts = parts.map(({ base, values }) => {
    const shift = Number(base - origin);
    return shift === 0 || values.length === 0 ? values : values.map((v) => v + shift);
  });
  return { origin, starts };
}

/** Row of each number in a column, quickly where the numbers are dense; -1: none. */
export function index(values: Float64Array): (value: number) => number {
  let top = -1;
  for (const v of values) if (v > top) top = v;
  if (top < 4 * values.length + 1024) {
    const at = new Int32Array(top + 1).fill(-1);
    for (let i = values.length - 1; i >= 0; i--) if (values[i]! >= 0) at[values[i]!] = i;
    return (v) => (v >= 0 && v <= top ? at[v]! : -1);
  }
  const at = new Map<number, number>();
  for (let i = values.length - 1; i >= 0; i--) at.set(values[i]!, i);
  return (v) => at.get(v) ?? -1;
}
