// Tests of the timeline's logic, without a browser: node --test test/
// In: src/views/timeline, bundled in memory. Out: verdicts. Left to neighbours: what is drawn (a browser shows it).
// Small worlds whose answer a reader can work out, and laws over random ones.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const src = join(dirname(fileURLToPath(import.meta.url)), "..", "src");
// What modules ask of a browser when they are read.
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.document = { documentElement: { dataset: {} } };
globalThis.location = { hash: "" };
globalThis.addEventListener = () => {};
globalThis.localStorage = { getItem: () => null };

const modules = ["host", "clocks", "visible", "search", "ruler", "range", "marks", "layout", "rows", "model"];
const entry = modules.map((m) => `export * as ${m} from "./views/timeline/${m}";`).join("\n");
const { outputFiles } = await build({
  stdin: { contents: `${entry}\nexport { Table } from "./data/table";`, resolveDir: src, loader: "ts" },
  bundle: true,
  format: "esm",
  write: false,
  logLevel: "error",
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { host, clocks, visible, search, ruler, range, marks, layout, rows, model, Table } = await import(`data:text/javascript;base64,${code}`);

const num = (values, prefix = null) => {
  const nulls = Uint8Array.from(values, (v) => (v === null ? 1 : 0));
  return { kind: "num", values: Float64Array.from(values, (v) => v ?? NaN), nulls, exact: null, prefix };
};
const text = (values) => {
  const dictionary = [...new Set(values.filter((v) => v !== null))];
  return { kind: "text", codes: Int32Array.from(values, (v) => (v === null ? -1 : dictionary.indexOf(v))), dictionary };
};
const bool = (values) => ({ kind: "bool", values: Uint8Array.from(values, Number), nulls: null });

/** Spans as [id, parent, name, step, measured, thread, start, total]. */
function spansOf(list) {
  const of = (i) => list.map((s) => s[i]);
  const columns = { id: num(of(0), "s"), parent_id: num(of(1), "s"), name: text(of(2)), step: text(of(3)), measured: bool(of(4)) };
  const times = { thread_id: num(of(5)), start_ns: num(of(6)), host_total_time_ns: num(of(7)), host_self_time_ns: num(of(7)), cpu_ns: num(of(7)) };
  return new Table("spans", list.length, new Map(Object.entries({ ...columns, ...times })));
}

/** Operations as [thread, start, duration, span, index, name, merged]. */
function opsOf(list) {
  const of = (i) => list.map((o) => o[i]);
  const columns = { thread_id: num(of(0)), start_ns: num(of(1)), duration_ns: num(of(2)), span_id: num(of(3), "s"), op_index: num(of(4)), name: text(of(5)) };
  return new Table("timeline_ops", list.length, new Map(Object.entries({ ...columns, merged: num(of(6)), summed_ns: num(of(2)) })));
}

const placed = (plane) =>
  Array.from({ length: plane.count }, (_, m) => {
    const group = model.groupOf(plane, plane.rowOf[m]);
    return `${plane.groups[group].label}/${plane.rowOf[m] - plane.groups[group].row} ${marks.nameOf(plane, m)}`;
  }).sort();

/** Every row in order, nothing over anything else. */
function sound(plane) {
  for (let r = 0; r + 1 < plane.rows.length; r++) {
    for (let m = plane.rows[r]; m < plane.rows[r + 1]; m++) {
      assert.equal(plane.rowOf[m], r);
      assert.ok(plane.end[m] >= plane.start[m]);
      if (m > plane.rows[r]) assert.ok(plane.end[m - 1] <= plane.start[m], `row ${r}: mark ${m} over the one before`);
    }
  }
}

const STEP = spansOf([
  [1, null, "root", null, false, 1, 0, 100],
  [2, 1, "step", null, true, 1, 10, 80],
  [3, 2, "forward", "forward", false, 1, 10, 30],
  [4, 3, "fc", null, false, 1, 12, 10],
  [5, 2, "backward", "backward", false, 1, 50, 30],
  [6, 1, "load", null, false, 2, 20, 40],
]);

test("spans lie below their parents, operations below the spans that run, each thread apart", () => {
  const ops = opsOf([
    [1, 13, 2, 4, 0, "matmul", 1],
    [1, 25, 2, 3, 0, "add", 1],
    [null, 26, 2, 3, 1, "where", 1],
  ]);
  const plane = host.hostPlane(STEP, ops);
  sound(plane);
  assert.deepEqual(placed(plane), [
    "thread 1/0 root",
    "thread 1/1 step",
    "thread 1/2 backward",
    "thread 1/2 forward",
    "thread 1/3 add",
    "thread 1/3 fc",
    "thread 1/4 matmul",
    "thread 2/0 load",
    "thread unknown/0 where",
  ]);
  const tone = Object.fromEntries(Array.from({ length: plane.count }, (_, m) => [marks.nameOf(plane, m), plane.tones[plane.tone[m]].label]));
  assert.equal(tone.fc, "forward");
  assert.equal(tone.matmul, "forward");
  assert.equal(tone.backward, "backward");
  assert.equal(tone.load, "outside these steps");
  assert.deepEqual(plane.regions, [{ from: 10, to: 90, open: false }]);
});

test("a span that never closed goes on to the end and has no length", () => {
  const plane = host.hostPlane(
    spansOf([
      [1, null, "root", null, false, 1, 0, 100],
      [2, 1, "lost", null, false, 1, 5, null],
      [3, 1, "next", null, true, 1, 10, 80],
    ]),
    null,
  );
  sound(plane);
  assert.deepEqual(placed(plane), ["thread 1/0 root", "thread 1/1 lost", "thread 1/2 next"]);
  const lost = marks.markOf(plane, "span:2");
  assert.equal(plane.flags[lost], model.OPEN);
  assert.ok(plane.to > plane.known && plane.end[lost] === plane.to);
  const said = marks.describe(plane, lost, null);
  assert.deepEqual(said.lines[0], ["Duration", "not known"]);
  assert.ok(!said.lines.some(([label]) => label === "Self"));
});

test("parents that go round in a circle, and starts that are absent, end", () => {
  const plane = host.hostPlane(
    spansOf([
      [1, 2, "a", null, false, 1, 0, 10],
      [2, 1, "b", null, false, 1, 1, 5],
      [3, 3, "c", null, false, 1, null, 5],
    ]),
    null,
  );
  sound(plane);
  assert.equal(plane.count, 2);
  assert.equal(plane.skipped, 1);
});

/** The same numbers in every run. */
function random(seed) {
  let x = seed;
  return (n) => {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    return (x >>> 8) % n;
  };
}

test("rows never overlap, whatever the times; what is seen is what a search of all marks finds", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const next = random(seed);
    const spans = Array.from({ length: 1 + next(40) }, (_, i) => [i + 1, i === 0 ? null : 1 + next(i), `n${next(5)}`, null, i === 1, next(2), next(200), next(8) ? next(60) : null]);
    spans.sort((a, b) => a[6] - b[6] || a[0] - b[0]);
    const ops = Array.from({ length: next(80) }, (_, i) => [next(3) || null, next(240), next(30), 1 + next(spans.length), i, `o${next(4)}`, next(4) ? 1 : 5]);
    ops.sort((a, b) => (a[0] ?? 99) - (b[0] ?? 99) || a[1] - b[1]);
    const plane = host.hostPlane(spansOf(spans), opsOf(ops));
    sound(plane);
    assert.equal(plane.count, spans.length + ops.length);
    const from = next(200);
    const view = { from, to: from + 1 + next(100) };
    const seen = [];
    for (let m = 0; m < plane.count; m++) if (plane.end[m] >= view.from && plane.start[m] < view.to) seen.push(m);
    const found = visible.longest(plane, view, 1000, null);
    assert.equal(found.total, seen.length);
    assert.deepEqual([...found.marks].sort((a, b) => a - b), seen);
    const lengths = found.marks.map((m) => plane.end[m] - plane.start[m]);
    assert.deepEqual(lengths, [...lengths].sort((a, b) => b - a));
    const hits = search.search(plane, "o1");
    const named = Array.from({ length: plane.count }, (_, m) => plane.names[plane.name[m]].includes("o1"));
    assert.equal(hits.total, named.filter(Boolean).length);
    const order = search.inOrder(plane, hits);
    for (let i = 1; i < order.length; i++) assert.ok(plane.start[order[i - 1]] <= plane.start[order[i]]);
    order.forEach((m, i) => assert.deepEqual(search.placeOf(plane, order, m, plane.start[m]), { at: i, found: true }));
  }
});

test("the tree of rows answers as a walk over all of them does", () => {
  const next = random(7);
  const tree = new rows.Rows();
  const ends = [];
  for (let time = 0; time < 600; time++) {
    const from = next(4);
    let free = from;
    while ((ends[free] ?? -Infinity) > time) free++;
    assert.equal(tree.free(from, time), free);
    assert.equal(tree.lastOpen(time), ends.findLastIndex((e) => e > time));
    ends[free] = time + next(80);
    for (let i = 0; i < free; i++) ends[i] ??= -Infinity;
    tree.set(free, ends[free]);
  }
});

test("names and ids are found in any case; an id only where there is a digit", () => {
  const plane = host.hostPlane(STEP, opsOf([[1, 13, 2, 4, 0, "MatMul", 1], [1, 16, 2, 4, 1, "add", 3]]));
  const found = (query) => {
    const hits = search.search(plane, query);
    return Array.from({ length: plane.count }, (_, m) => m).filter((m) => hits.flags[m]).map((m) => marks.nameOf(plane, m)).sort();
  };
  assert.deepEqual(found("matmul"), ["MatMul"]);
  assert.deepEqual(found("s4"), ["MatMul", "fc"]);
  assert.deepEqual(found("4:0"), ["MatMul"]);
  assert.deepEqual(found("s"), ["step"]);
  assert.equal(search.search(plane, "  "), null);
});

test("a mark of several has no id of its own and says what it stands for", () => {
  const plane = host.hostPlane(STEP, opsOf([[1, 13, 5, null, null, "matmul", 37]]));
  const mark = Array.from({ length: plane.count }, (_, m) => m).find((m) => plane.flags[m] & model.MERGED);
  assert.equal(marks.idOf(plane, mark), null);
  assert.equal(marks.selectionOf(plane, mark), "row:timeline_ops:0");
  assert.equal(marks.markOf(plane, "row:timeline_ops:0"), mark);
  assert.match(marks.describe(plane, mark, "10.97 µs").notes[0], /^Stands for 37 operations shorter than 10\.97 µs/);
  assert.equal(marks.nameOf(plane, mark), "matmul and 36 more");
});

test("each clock of each device is a plane of its own, exact however large its times are", () => {
  const base = 1_790_000_000_000_000_000n;
  const exact = BigInt64Array.from([base, base + 5n, 3n, 9n]);
  const table = new Table(
    "timeline_device",
    4,
    new Map(
      Object.entries({
        device: text(["cuda:0", "cuda:0", "cuda:0", "cuda:1"]),
        clock_id: text(["a", "a", "b", "a"]),
        stream_id: text(["7", "8", "7", null]),
        start_ns: { kind: "num", values: Float64Array.from(exact, Number), nulls: null, exact, prefix: null },
        duration_ns: num([4, 2, 1, 1]),
        span_id: num([4, 4, 4, 99], "s"),
        span_name: text(["fc", "fc", "fc", null]),
        merged: num([1, 1, 1, 1]),
        summed_ns: num([4, 2, 1, 1]),
      }),
    ),
  );
  const planes = clocks.devicePlanes(table, STEP);
  assert.deepEqual(planes.map((p) => [p.title, p.clock, p.host, p.origin]), [
    ["Device cuda:0", "clock a", false, base],
    ["Device cuda:0", "clock b", false, 3n],
    ["Device cuda:1", "clock a", false, 9n],
  ]);
  assert.deepEqual([...planes[0].start], [0, 5]);
  assert.equal(marks.exactTime(planes[0], 5), "1,790,000,000,000,000,005 ns");
  assert.equal(planes[0].tones[planes[0].tone[0]].label, "forward");
  assert.ok(marks.describe(planes[2], 0, null).notes.some((n) => n.includes("not aligned")));
  planes.forEach(sound);
});

test("the ruler counts in 1, 2 and 5, in a unit that keeps its labels short", () => {
  const labels = (from, to) => ruler.ruler({ from, to }, 1000).ticks.map((t) => t.label);
  assert.deepEqual(labels(0, 10), ["0 ns", "1 ns", "2 ns", "3 ns", "4 ns", "5 ns", "6 ns", "7 ns", "8 ns", "9 ns", "10 ns"]);
  assert.deepEqual(labels(0, 900_000).slice(0, 3), ["0 µs", "100 µs", "200 µs"]);
  assert.deepEqual(labels(0, 5_000_000).slice(0, 3), ["0.0 ms", "0.5 ms", "1.0 ms"]);
  const deep = ruler.ruler({ from: 184_765_400, to: 184_766_400 }, 1000);
  assert.equal(deep.base, "184,765 µs");
  assert.equal(deep.ticks[0].label, "+400 ns");
  for (const length of [1, 7, 300, 12345, 1e9, 3e12]) {
    for (const width of [80, 700, 4000]) {
      const { ticks } = ruler.ruler({ from: 17, to: 17 + length }, width);
      assert.ok(ticks.length <= Math.max(2, width / 90 + 2), `${length} over ${width}: ${ticks.length}`);
    }
  }
});

test("zooming keeps the instant under the pointer and the bounds of the plane", () => {
  const plane = host.hostPlane(STEP, null);
  const all = range.whole(plane);
  const near = range.zoom(all, 0.5, 40, plane);
  const place = (r) => (40 - r.from) / (r.to - r.from);
  assert.ok(Math.abs(place(all) - place(near)) < 1e-9);
  assert.deepEqual(range.zoom(near, 1e9, 40, plane), all);
  const closest = range.zoom(all, 1e-9, 40, plane);
  assert.ok(Math.abs(closest.to - closest.from - range.CLOSEST) < 1e-9);
  assert.deepEqual(range.pan(all, 1e6, plane), all);
});

test("a row of the screen is found where it is drawn, folded or not", () => {
  const plane = host.hostPlane(STEP, null);
  for (const folded of [new Set(), new Set([0]), new Set([0, 1])]) {
    const laid = layout.layOut(plane, folded);
    for (let r = 0; r + 1 < plane.rows.length; r++) assert.equal(layout.rowAt(laid, plane, layout.rowTop(laid, plane, r) + 1), r);
    assert.equal(layout.rowAt(laid, plane, -1), -1);
    assert.equal(layout.rowAt(laid, plane, laid.height + 1), -1);
  }
});

test("arrows go to the neighbour in a row, to what is above, to what runs below", () => {
  const plane = host.hostPlane(STEP, opsOf([[1, 13, 2, 4, 0, "matmul", 1]]));
  const at = (sel) => marks.markOf(plane, sel);
  const go = (sel, direction) => marks.nameOf(plane, visible.neighbour(plane, at(sel), direction));
  assert.equal(go("span:3", "right"), "backward");
  assert.equal(go("span:4", "up"), "forward");
  assert.equal(go("span:4", "down"), "matmul");
  assert.equal(go("op:4:0", "down"), "load");
  assert.equal(visible.neighbour(plane, at("span:1"), "left"), -1);
});
