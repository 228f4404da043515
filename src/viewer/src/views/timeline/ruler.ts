// Steps of a time ruler: 1, 2 or 5 of a power of ten, whole nanoseconds at least; labels that stay short.
// In: a range and its width. Out: ticks, and the time that they count from. Left to neighbours: drawing (head.ts).
// Deep inside a long capture a label counts from the last thousand of its unit, which the ruler names once.

import { count } from "../../ui/format";
import type { Range } from "./range";

export interface Ruler {
  ticks: { time: number; label: string }[];
  /** Distance of the lines between the labelled ones. */
  minor: number;
  /** What the labels count from, and how it is said; empty: zero. */
  from: number;
  base: string;
}

const UNITS: [size: number, name: string, next: string][] = [
  [1e9, "s", ""],
  [1e6, "ms", "s"],
  [1e3, "µs", "ms"],
  [1, "ns", "µs"],
];

export function step(length: number, width: number, room = 96): number {
  const least = (length / Math.max(width, 1)) * room;
  if (!(least > 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const n of [1, 2, 5, 10]) if (n * power >= least * 0.999) return n * power;
  return 10 * power;
}

export function ruler({ from, to }: Range, width: number): Ruler {
  const every = step(to - from, width);
  let [size, unit, larger] = UNITS.find(([u]) => every >= u) ?? UNITS[3]!;
  const thousand = 1000 * size;
  let base = 0;
  let digits = 0;
  if (larger !== "" && to >= 2 * thousand) {
    // 1.5 ms reads better than 1,500 µs; 4 ms + 303 µs better than 4,303 µs.
    if (every >= thousand / 10 && to < 100 * thousand) [size, unit, digits] = [thousand, larger, every % thousand === 0 ? 0 : 1];
    else if (from >= thousand) base = Math.floor(from / thousand) * thousand;
  }
  const ticks: Ruler["ticks"] = [];
  for (let n = Math.ceil(from / every); n * every <= to && ticks.length < 1000; n++) {
    const time = n * every;
    const value = Math.abs(time - base) / size;
    const number = digits > 0 ? value.toFixed(digits) : count(Math.round(value));
    ticks.push({ time, label: `${base > 0 ? "+" : ""}${time < base ? "−" : ""}${number} ${unit}` });
  }
  const minor = every >= 5 ? every / 5 : every;
  return { ticks, minor, from: base, base: base > 0 ? `${count(base / thousand)} ${larger}` : "" };
}
