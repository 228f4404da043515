// The host plane: spans nested as they were opened, operations below them, thread by thread.
// In: blocks `spans` and `timeline_ops`. Out: a `Plane` on the session's clock. Left to neighbours: other clocks
// (clocks.ts), drawing.
// A span lies below its parent, where both are of one thread; an operation below every span that runs while it does.
// Where a trace does not say the thread, marks have a group of their own, one row for each that runs at once.

import type { Table } from "../../data/table";
import { count } from "../../ui/format";
import { MERGED, OPEN, type Plane, PlaneBuilder, type Region, TIMELESS, type Tone } from "./model";
import { Rows } from "./rows";
import { index, relative } from "./times";

export const STEPS: Tone[] = [
  { token: "--c0", label: "forward" },
  { token: "--c1", label: "backward" },
  { token: "--c2", label: "optimizer" },
  { token: "--c7", label: "outside these steps" },
];
export const NO_STEP = 3;

/** Step of each span: its own, or that of the nearest span around it that has one. */
export function steps(spans: Table): Uint8Array {
  const step = spans.text("step");
  const own = Int8Array.from(step.dictionary, (name) => STEPS.findIndex((s, i) => i < NO_STEP && s.label === name));
  const parents = spans.num("parent_id").values;
  const at = index(spans.num("id").values);
  const tones = new Uint8Array(spans.rows).fill(255);
  const path: number[] = [];
  for (let i = 0; i < spans.rows; i++) {
    let tone = 255;
    path.length = 0;
    for (let s = i; tone === 255; ) {
      path.push(s);
      // Marked as seen: parents that go round in a circle end here.
      tones[s] = NO_STEP;
      const code = step.codes[s]!;
      if (code >= 0 && own[code]! >= 0) tone = own[code]!;
      else {
        s = at(parents[s]!);
        if (s < 0) tone = NO_STEP;
        else if (tones[s] !== 255) tone = tones[s]!;
      }
    }
    for (const s of path) tones[s] = tone;
  }
  return tones;
}

interface Ops {
  table: Table;
  start: Float64Array;
  length: Float64Array;
  merged: Float64Array;
  span: Float64Array;
  codes: Int32Array;
}

export function hostPlane(spans: Table, ops: Table | null): Plane {
  const opTable = ops && ops.rows > 0 ? ops : null;
  const startColumns = [spans.num("start_ns"), ...(opTable ? [opTable.num("start_ns")] : [])];
  const { origin, starts } = relative(startColumns, true);
  const spanStart = starts[0]!;
  const total = spans.num("host_total_time_ns").values;
  const op: Ops | null = opTable && {
    table: opTable,
    start: starts[1]!,
    length: opTable.num("duration_ns").values,
    merged: opTable.num("merged").values,
    span: opTable.num("span_id").values,
    codes: opTable.text("name").codes,
  };

  let from = Infinity;
  let known = -Infinity;
  let open = false;
  const reach = (start: Float64Array, length: Float64Array) => {
    for (let i = 0; i < start.length; i++) {
      const s = start[i]!;
      if (s < from) from = s;
      const e = Number.isNaN(length[i]!) ? s : s + length[i]!;
      if (e > known) known = e;
    }
  };
  reach(spanStart, total);
  if (op) reach(op.start, op.length);
  for (let i = 0; i < spans.rows && !open; i++) open = Number.isNaN(total[i]!);
  if (!(from <= known)) from = known = 0;
  const to = open ? known + Math.max((known - from) * 0.1, 1) : known;

  const tones = steps(spans);
  const at = index(spans.num("id").values);
  const parents = spans.num("parent_id").values;
  const threads = spans.num("thread_id").values;
  const measured = spans.bool("measured");
  const spanNames = spans.text("name");
  const builder = new PlaneBuilder(spans.rows + (op?.table.rows ?? 0));
  const spanBase = builder.dictionary(spanNames.dictionary);
  const opBase = op ? builder.dictionary(op.table.text("name").dictionary) : 0;
  const nameless = builder.dictionary(["(no name)"]);

  // Depth below the outermost span of the same thread decides among spans that start together.
  const depth = new Int32Array(spans.rows).fill(-1);
  const parentOf = (s: number) => {
    const p = at(parents[s]!);
    return p >= 0 && (threads[p] === threads[s] || (Number.isNaN(threads[p]!) && Number.isNaN(threads[s]!))) ? p : -1;
  };
  const chain: number[] = [];
  for (let i = 0; i < spans.rows; i++) {
    chain.length = 0;
    let s = i;
    while (s >= 0 && depth[s]! < 0) {
      depth[s] = 0;
      chain.push(s);
      s = parentOf(s);
    }
    for (let d = s >= 0 ? depth[s]! + 1 : 0, k = chain.length - 1; k >= 0; k--, d++) depth[chain[k]!] = d;
  }

  const rowOf = new Int32Array(spans.rows).fill(-1);
  const endOf = (s: number) => (Number.isNaN(total[s]!) ? to : spanStart[s]! + total[s]!);
  const bySpans = byThread(threads, spanStart, (a, b) => spanStart[a]! - spanStart[b]! || depth[a]! - depth[b]! || a - b);
  const byOps = op ? byThread(op.table.num("thread_id").values, op.start, (a, b) => op.start[a]! - op.start[b]! || a - b) : new Map();
  builder.skipped = bySpans.skipped + (op ? (byOps as Split).skipped : 0);
  const keys = [...new Set([...bySpans.keys(), ...byOps.keys()])].sort((a, b) => a - b);
  for (const key of keys) {
    const mine = bySpans.get(key) ?? new Int32Array();
    const own: Int32Array = byOps.get(key) ?? new Int32Array();
    let operations = 0;
    if (op) for (const o of own) operations += op.merged[o]! > 1 ? op.merged[o]! : 1;
    const parts = [];
    if (mine.length > 0) parts.push(`${count(mine.length)} ${mine.length === 1 ? "span" : "spans"}`);
    if (operations > 0) parts.push(`${count(operations)} ${operations === 1 ? "operation" : "operations"}`);
    const group = builder.addGroup(key === Infinity ? "thread unknown" : `thread ${key}`, parts.join(" · "));

    const spanRows = new Rows();
    let deepest = -1;
    for (const s of mine) {
      const p = parentOf(s);
      const row = spanRows.free(p >= 0 ? rowOf[p]! + 1 : 0, spanStart[s]!);
      rowOf[s] = row;
      spanRows.set(row, endOf(s));
      if (row > deepest) deepest = row;
    }

    const live = new Rows();
    const opRows = new Rows();
    let next = 0;
    const addSpan = (s: number) => {
      live.set(rowOf[s]!, endOf(s));
      const code = spanNames.codes[s]!;
      const flags = Number.isNaN(total[s]!) ? OPEN : 0;
      builder.add(group, rowOf[s]!, spanStart[s]!, endOf(s), 0, s, code < 0 ? nameless : spanBase + code, tones[s]!, flags);
    };
    for (const o of own) {
      const start = op!.start[o]!;
      while (next < mine.length && spanStart[mine[next]!]! <= start) addSpan(mine[next++]!);
      const timeless = Number.isNaN(op!.length[o]!);
      const end = timeless ? start : start + op!.length[o]!;
      let below = live.lastOpen(start);
      // A mark that stands for several may reach into spans that open while it runs; most look at none.
      for (let k = next; k < mine.length && spanStart[mine[k]!]! < end && below < deepest; k++) {
        if (k - next > 64) below = deepest;
        else if (rowOf[mine[k]!]! > below) below = rowOf[mine[k]!]!;
      }
      const row = opRows.free(below + 1, start);
      opRows.set(row, end);
      const holder = at(op!.span[o]!);
      // The span may have been cut from the page, and a mark of several names none: then time says which it ran in.
      const tone = holder >= 0 ? tones[holder]! : innermost(mine, next, start);
      const code = op!.codes[o]!;
      const flags = (op!.merged[o]! > 1 ? MERGED : 0) | (timeless ? TIMELESS : 0);
      builder.add(group, row, start, end, 1, o, code < 0 ? nameless : opBase + code, tone, flags);
    }
    while (next < mine.length) addSpan(mine[next++]!);
  }

  /** Step of the span that opened last before `next` and runs at `time`; looks back a little only. */
  function innermost(mine: Int32Array, next: number, time: number): number {
    for (let k = next - 1, seen = 0; k >= 0 && seen < 64; k--, seen++) if (endOf(mine[k]!) > time) return tones[mine[k]!]!;
    return NO_STEP;
  }

  const regions: Region[] = [];
  for (let s = 0; s < spans.rows; s++) {
    if (measured.values[s] === 1 && !measured.nulls?.[s] && !Number.isNaN(spanStart[s]!)) {
      regions.push({ from: spanStart[s]!, to: endOf(s), open: Number.isNaN(total[s]!) });
    }
  }
  const head = { id: "host", title: "Host threads", host: true, clock: "session clock", origin, tones: STEPS };
  const tables = opTable ? { span: spans, op: opTable } : { span: spans };
  return builder.finish({ ...head, tables }, from, to, known, regions);
}

interface Split extends Map<number, Int32Array> {
  skipped: number;
}

/** Rows of each thread in order of time; Infinity: the thread is not known. Rows without a start are left out. */
function byThread(threads: Float64Array, start: Float64Array, order: (a: number, b: number) => number): Split {
  const parts = new Map<number, Int32Array>() as Split;
  parts.skipped = 0;
  const n = start.length;
  const keyOf = (i: number) => (Number.isNaN(threads[i]!) ? Infinity : threads[i]!);
  // Rows of a thread come together, or nearly so: each run of them is one step.
  const runs = new Map<number, [from: number, to: number][]>();
  for (let i = 0; i < n; ) {
    const key = keyOf(i);
    let to = i;
    while (to < n && keyOf(to) === key && !Number.isNaN(start[to]!)) to++;
    if (to === i) {
      parts.skipped++;
      i++;
      continue;
    }
    const known = runs.get(key);
    if (known) known.push([i, to]);
    else runs.set(key, [[i, to]]);
    i = to;
  }
  for (const [key, of] of runs) {
    const part = new Int32Array(of.reduce((sum, [from, to]) => sum + to - from, 0));
    let place = 0;
    for (const [from, to] of of) for (let i = from; i < to; i++) part[place++] = i;
    parts.set(key, part);
  }
  for (const part of parts.values()) {
    let ordered = true;
    for (let i = 1; i < part.length && ordered; i++) ordered = order(part[i - 1]!, part[i]!) <= 0;
    if (!ordered) part.sort(order);
  }
  return parts;
}
