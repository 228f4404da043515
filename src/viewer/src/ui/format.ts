// Numbers as people read them, as the command line writes them (src/text.rs of the repository).
// In: a value and its unit. Out: text of it, and the exact value for a title. Left to neighbours: alignment, links.
// An absent value is an en dash, never 0.

import type { Cell } from "../data/table";
import { printable } from "./text";

export const ABSENT = "–";

/** Nanoseconds in the unit that keeps three or four digits. */
export function duration(ns: number): string {
  const n = Math.abs(ns);
  if (n >= 1e9) return `${(ns / 1e9).toFixed(3)} s`;
  if (n >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
  if (n >= 1e3) return `${(ns / 1e3).toFixed(2)} µs`;
  return `${ns.toFixed(0)} ns`;
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
  let value = n;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < BINARY.length) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${n.toFixed(0)} B` : `${value.toFixed(1)} ${BINARY[unit]}`;
}

/** Digits in groups of three. */
export function count(n: number | bigint): string {
  const text = typeof n === "bigint" || Number.isInteger(n) ? n.toString() : float(n);
  return /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text;
}

const SCALES: [number, string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A large quantity in decimal units: 12.3 GFLOP. */
export function scaled(n: number, unit: string): string {
  for (const [size, prefix] of SCALES) {
    if (Math.abs(n) >= size) return `${(n / size).toFixed(2)} ${prefix}${unit}`;
  }
  return `${Number.isInteger(n) ? n : float(n)} ${unit}`;
}

/** Four digits of a number, and a power of ten where it is far from 1. */
export function float(n: number): string {
  if (Number.isNaN(n)) return "NaN";
  if (!Number.isFinite(n)) return n > 0 ? "+inf" : "-inf";
  const size = Math.abs(n);
  if (n === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return n.toExponential(3);
  return String(Number(n.toPrecision(5)));
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return float(share);
  const n = share * 100;
  if (n !== 0 && Math.abs(n) < 0.1) return n > 0 ? "<0.1 %" : ">-0.1 %";
  return `${n.toFixed(1)} %`;
}

const SHARES = /(^|_)(share|utilisation|share_of_[a-z_]+)$/;

/** Whether a column without a unit is a part of a whole, 0 to 1. */
export function isShare(name: string, unit: string): boolean {
  return unit === "none" && SHARES.test(name);
}

/** A value in the unit of its column, as text for people. */
export function format(value: Cell | undefined, unit = "none", name = ""): string {
  if (value === null || value === undefined) return ABSENT;
  if (typeof value === "string") return printable(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  const n = Number(value);
  if (unit === "ns" || unit.startsWith("ns ")) return duration(n);
  if (unit === "bytes") return bytes(n);
  if (unit === "count") return count(value);
  if (unit === "FLOP" || unit === "FLOP/s") return scaled(n, unit);
  if (unit === "id") return value.toString();
  if (isShare(name, unit)) return percent(n);
  if (typeof value === "bigint") return count(value);
  return Number.isInteger(n) && Math.abs(n) < 1e15 ? count(n) : float(n);
}

/** The value itself, with its unit: for titles, and for copying. */
export function exact(value: Cell | undefined, unit = "none"): string {
  if (value === null || value === undefined) return "absent (NULL)";
  if (typeof value === "string") return printable(value);
  if (typeof value === "boolean") return String(value);
  if (unit === "id") return value.toString();
  const digits = typeof value === "bigint" || Number.isInteger(value) ? count(value) : String(value);
  return unit === "none" || unit === "count" ? digits : `${digits} ${unit}`;
}

/** "showing 50 of 1,000", or how many there are where nothing is cut. */
export function showing(shown: number, total: number, what = "rows"): string {
  if (shown < total) return `showing ${count(shown)} of ${count(total)} ${what}`;
  return total === 1 ? `1 ${what.replace(/ies$/, "y").replace(/s$/, "")}` : `${count(total)} ${what}`;
}

/** "1 kernel", "2 kernels". */
export function plural(n: number, one: string): string {
  return `${count(n)} ${n === 1 ? one : `${one}s`}`;
}
