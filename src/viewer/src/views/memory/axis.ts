// Ticks of an axis of time or of bytes: round numbers, all in one unit.
// In: a range and how many ticks there is room for. Out: places and their texts. Left to neighbours: drawing them.
// A range that is narrow and far from 0 keeps as many digits as tell two ticks apart.

import { count } from "../../ui/format";

export interface Tick {
  at: number;
  text: string;
}

const TIME: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

const BYTES: [number, string][] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

/** 1, 2 or 5 times a power of ten: the smallest that is at least `least`. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const n of [1, 2, 5]) if (n * power >= least * 0.999999) return n * power;
  return 10 * power;
}

function ticks(from: number, to: number, most: number, size: number, unit: string): Tick[] {
  const step = roundStep((to - from) / size / Math.max(1, most));
  // Whole nanoseconds and whole bytes: nothing was measured between two of them.
  const whole = size === 1 ? Math.max(1, step) : step;
  const digits = Math.max(0, -Math.floor(Math.log10(whole) + 1e-9));
  const out: Tick[] = [];
  for (let i = Math.ceil(from / size / whole - 1e-9); i * whole * size <= to * (1 + 1e-12); i++) {
    const value = i * whole;
    const [int = "0", rest] = value.toFixed(digits).split(".");
    const grouped = count(BigInt(int === "-0" ? "0" : int));
    out.push({ at: value * size, text: i === 0 ? "0" : `${grouped}${rest ? `.${rest}` : ""} ${unit}` });
  }
  return out;
}

/** Ticks of a clock, in the largest unit that the range fills. */
export function timeTicks(from: number, to: number, most: number): Tick[] {
  const [size, unit] = TIME.find(([s]) => Math.max(Math.abs(to - from), 1) >= s) ?? [1, "ns"];
  return ticks(from, to, most, size, unit);
}

/** Ticks from 0 up to `top` bytes. */
export function byteTicks(top: number, most: number): Tick[] {
  const [size, unit] = BYTES.find(([s]) => top >= s * 1.5) ?? [1, "B"];
  return ticks(0, top, most, size, unit);
}

/** A moment with the digits that matter where `window` is how long a screen lasts. */
export function moment(ns: number, window: number): string {
  if (ns === 0) return "0";
  const size = Math.max(Math.abs(ns), 1);
  const [scale, unit] = TIME.find(([s]) => size >= s) ?? [1, "ns"];
  const digits = Math.max(0, Math.min(Math.round(Math.log10(scale)), Math.ceil(Math.log10((scale * 10_000) / Math.max(window, 1)))));
  const [int = "0", rest] = (ns / scale).toFixed(digits).split(".");
  return `${count(BigInt(int === "-0" ? "0" : int))}${rest ? `.${rest}` : ""} ${unit}`;
}
