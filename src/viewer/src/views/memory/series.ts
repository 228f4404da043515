// Logical live bytes over time as states: what each category held from one moment to the next, never interpolated.
// In: block memory_timeline (every event) or memory_levels (steps). Out: `Live`, and what it was at a moment. Left to
// neighbours: drawing (paint.ts). Pure.
// A step of memory_levels knows the last and the largest of each category. The last ones were live together and are
// stacked; the largest may have been at different moments, so their sum is only a bound, kept apart.

import type { Table } from "../../data/table";

export interface Live {
  /** From the bottom of the stack up. */
  categories: string[];
  /** When each state begins; it lasts until the next one begins. */
  starts: Float64Array;
  /** Bytes of each category in each state. */
  values: Float64Array[];
  totals: Float64Array;
  /** Of steps: no moment of the state had more than this. Null where every event is there. */
  bounds: Float64Array | null;
  /** Row of the block that each state comes from. */
  rows: Int32Array;
  block: "memory_timeline" | "memory_levels";
}

/** What stays longest lies lowest, so that it does not carry the waves of the rest. */
const ORDER = ["parameter", "optimizer", "other", "gradient", "activation"];

export function ordered(categories: Iterable<string>): string[] {
  const place = (c: string) => (ORDER.indexOf(c) < 0 ? ORDER.length : ORDER.indexOf(c));
  return [...new Set(categories)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

function empty(states: number, categories: string[], block: Live["block"]): Live {
  return {
    categories,
    starts: new Float64Array(states),
    values: categories.map(() => new Float64Array(states)),
    totals: new Float64Array(states),
    bounds: null,
    rows: new Int32Array(states),
    block,
  };
}

/** A state after every event, of all devices or of one. */
export function fromEvents(table: Table, device: string | null): Live {
  const times = table.num("timestamp_ns").values;
  const deltas = table.num("delta_bytes").values;
  const { codes, dictionary } = table.text("category");
  const devices = table.text("device");
  const only = device === null ? -2 : devices.dictionary.indexOf(device);
  const here = (row: number) => only === -2 || devices.codes[row] === only;
  let states = 0;
  const seen = new Set<string>();
  for (let row = 0; row < table.rows; row++) {
    if (!here(row)) continue;
    states++;
    seen.add(dictionary[codes[row]!] ?? "other");
  }
  const live = empty(states, ordered(seen), "memory_timeline");
  const slot = dictionary.map((name) => live.categories.indexOf(name));
  const held = live.categories.map(() => 0);
  let total = 0;
  let at = 0;
  for (let row = 0; row < table.rows; row++) {
    if (!here(row)) continue;
    held[slot[codes[row]!]!]! += deltas[row]!;
    total += deltas[row]!;
    live.starts[at] = times[row]!;
    live.totals[at] = total;
    live.rows[at] = row;
    for (let c = 0; c < held.length; c++) live.values[c]![at] = held[c]!;
    at++;
  }
  return live;
}

/** A state for every step with a change, and one for every time between two of them. */
export function fromLevels(table: Table): Live {
  const starts = table.num("start_ns").values;
  const ends = table.num("end_ns").values;
  const last = table.num("last_live_bytes").values;
  const most = table.num("max_live_bytes").values;
  const { codes, dictionary } = table.text("category");
  const categories = ordered(dictionary);
  const slot = dictionary.map((name) => categories.indexOf(name));
  const held = categories.map(() => 0);
  const large = empty(table.rows * 2, categories, "memory_levels");
  const bounds = new Float64Array(table.rows * 2);
  let states = 0;
  const push = (start: number, row: number, bound: number) => {
    let total = 0;
    for (let c = 0; c < held.length; c++) {
      large.values[c]![states] = held[c]!;
      total += held[c]!;
    }
    large.starts[states] = start;
    large.totals[states] = total;
    large.rows[states] = row;
    bounds[states] = Math.max(total, bound);
    states++;
  };
  for (let row = 0; row < table.rows; ) {
    const start = starts[row]!;
    const end = ends[row]!;
    const top = held.slice();
    const first = row;
    for (; row < table.rows && starts[row] === start; row++) {
      const c = slot[codes[row]!]!;
      top[c] = most[row]!;
      held[c] = last[row]!;
    }
    push(start, first, top.reduce((a, b) => a + b, 0));
    if (row === table.rows || starts[row]! > end) push(end, first, 0);
  }
  return {
    ...large,
    starts: large.starts.slice(0, states),
    values: large.values.map((v) => v.slice(0, states)),
    totals: large.totals.slice(0, states),
    rows: large.rows.slice(0, states),
    bounds: bounds.slice(0, states),
  };
}

/** The state at a moment: the last that has begun; -1: none has. */
export function stateAt(live: Live, ns: number): number {
  let low = 0;
  let high = live.starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (live.starts[middle]! <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** First state with the most live bytes; -1: there is no state. */
export function peakState(live: Live): number {
  let best = -1;
  for (let i = 0; i < live.totals.length; i++) if (best < 0 || live.totals[i]! > live.totals[best]!) best = i;
  return best;
}

export interface Drawn {
  /** Places in pixels at which a state begins; one more than there are states. */
  x: Float64Array;
  state: Int32Array;
  /** Most bytes of a state or of a pixel, where only bounds are known. */
  bounds: Float64Array | null;
  length: number;
}

/**
 * The states that a window shows. Where more fall into a pixel than can be seen, the one with the most live bytes stands
 * for them: a state that was, not a mean of several.
 */
export function visible(live: Live, from: number, to: number, width: number): Drawn {
  const n = live.starts.length;
  const scale = width / (to - from);
  const first = Math.max(0, stateAt(live, from));
  const last = stateAt(live, to);
  const few = last - first + 1 <= width * 2;
  const pixels = Math.ceil(width);
  const room = few ? Math.max(0, last - first + 1) : pixels + 1;
  const out: Drawn = { x: new Float64Array(room + 1), state: new Int32Array(room), bounds: null, length: 0 };
  if (n === 0 || last < 0) return out;
  const bounds = live.bounds ? (out.bounds = new Float64Array(room)) : null;
  const push = (x: number, state: number) => {
    if (bounds) bounds[out.length] = live.bounds![state]!;
    out.x[out.length] = x;
    out.state[out.length++] = state;
  };
  const columnOf = (i: number) => Math.min(pixels - 1, Math.floor(Math.max(0, (live.starts[i]! - from) * scale)));
  for (let i = first; i <= last; i++) {
    if (few) {
      push(Math.max(0, (live.starts[i]! - from) * scale), i);
      continue;
    }
    const column = columnOf(i);
    const at = out.length - 1;
    if (at < 0 || out.x[at]! < column) push(column, i);
    else {
      if (live.totals[i]! > live.totals[out.state[at]!]!) out.state[at] = i;
      if (bounds) bounds[at] = Math.max(bounds[at]!, live.bounds![i]!);
    }
    // A state that goes on is in the next pixel too, where a larger one may take its place.
    const next = i < last ? columnOf(i + 1) : pixels;
    if (next > column && column + 1 < pixels) push(column + 1, i);
  }
  out.x[out.length] = width;
  return out;
}

/** Most bytes of a window, its bounds included. */
export function topOf(live: Live, from: number, to: number): number {
  const of = live.bounds ?? live.totals;
  const last = stateAt(live, to);
  let top = 0;
  for (let i = Math.max(0, stateAt(live, from)); i <= last; i++) if (of[i]! > top) top = of[i]!;
  return top;
}
