// An axis: numbers to places between 0 and 1, with ticks at round numbers, as on the pages of the command line.
// In: finite numbers. Out: `axisOf`. Left to neighbours: lengths in pixels.

export interface Axis {
  log: boolean;
  /** Tick labels are in units of ten to this power; 0: plain. */
  power: number;
  ticks: { place: number; label: string }[];
  place: (n: number) => number;
}

/** Range from which on positive numbers get a logarithmic axis. */
const WIDE = 1000;

export function axisOf(numbers: number[], count: number): Axis {
  const finite = numbers.filter(Number.isFinite);
  if (finite.length === 0) return { log: false, power: 0, ticks: [], place: () => 0 };
  const low = finite.reduce((a, b) => Math.min(a, b));
  const high = finite.reduce((a, b) => Math.max(a, b));
  return low > 0 && high / low > WIDE ? logarithmic(Math.log10(low), Math.log10(high), count) : linear(low, high, count);
}

const between = (low: number, high: number, n: number) => Math.max(0, Math.min(1, (n - low) / (high - low)));

function linear(lowest: number, highest: number, count: number): Axis {
  const most = Math.max(Math.abs(lowest), Math.abs(highest));
  const exponent = most > 0 ? Math.max(-307, Math.floor(Math.log10(most))) : 0;
  const power = exponent >= -3 && exponent <= 4 ? 0 : exponent;
  const unit = 10 ** power;
  let [low, high] = [lowest / unit, highest / unit];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= size * 1e-9) {
    // One number: in the middle between 0 and its double.
    [low, high] = size === 0 ? [0, 1] : [Math.min(low, 0) * 2, Math.max(high, 0) * 2];
  } else if (low > 0 && low < high / 2) low = 0;
  else if (high < 0 && high > low / 2) high = 0;
  const step = niceStep((high - low) / Math.max(1, count));
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const [from, to] = [first * step, last * step];
  const ticks = [];
  for (let i = first; i <= last; i++) ticks.push({ place: between(from, to, i * step), label: (i * step || 0).toFixed(digits).replace(/^-(0(\.0+)?)$/, "$1") });
  return { log: false, power, ticks, place: (n) => between(from, to, n / unit) };
}

function logarithmic(low: number, high: number, count: number): Axis {
  const first = Math.floor(low);
  const decades = Math.max(1, Math.ceil(high) - first);
  const every = Math.ceil(decades / Math.max(1, count));
  const last = first + Math.ceil(decades / every) * every;
  const ticks = [];
  for (let at = first; at <= last; at += every) ticks.push({ place: between(first, last, at), label: `10${superscript(at)}` });
  return { log: true, power: 0, ticks, place: (n) => between(first, last, Math.log10(n)) };
}

/** The smallest of 1, 2, 5 times a power of ten that is not below `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * (1 - 1e-9)) ?? 10 * power;
}

export function superscript(n: number): string {
  return String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)] ?? "⁻");
}

/** The unit in which times of this size are read, in nanoseconds, and its name. */
export function timeUnit(ns: number): [number, string] {
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  return units.find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
}

export function byteUnit(n: number): [number, string] {
  const units: [number, string][] = [[1024 ** 3, "GiB"], [1024 ** 2, "MiB"], [1024, "KiB"]];
  return units.find(([size]) => Math.abs(n) >= size) ?? [1, "B"];
}
