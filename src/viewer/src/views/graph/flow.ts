// Which operation made what another one took: all of the data flow that the page has, as a graph of numbers.
// In: blocks flow and timeline_ops, the spans. Out: `Flow`, made once a page. Left to neighbours: what of it is drawn
// (flow_view.ts).
// A tensor comes from the latest operation before that put it out. A recorded edge ties the two tensors it names: into
// the operation that made the second, or, where none did, through a node of its own.

import type { Table } from "../../data/table";
import { select } from "../../state/selection";
import type { Spans } from "./spans";

export class Flow {
  readonly spans: Spans;
  readonly flow: Table;
  readonly ops: Table | null;
  /** Nodes in the order of recording: operations, and recorded edges where no operation made their tensor. */
  readonly size: number;
  readonly seq: Float64Array;
  readonly link: Uint8Array;
  /** Row of the span it ran in; -1: not known. */
  readonly span: Int32Array;
  /** Row in timeline_ops; -1: not in the page, or merged there. */
  readonly opRow: Int32Array;
  /** Its first row in flow; -1: it took no tensor. */
  readonly flowRow: Int32Array;
  /** Tensor that it put out; -1: not known. */
  readonly output: Int32Array;
  readonly tensors: string[];
  /** Tensors that a node takes: from inStart[n] to inStart[n + 1]. */
  readonly inStart: Int32Array;
  readonly inTensor: Int32Array;
  /** Node that made it; -1: none is recorded. */
  readonly inFrom: Int32Array;
  readonly inRecorded: Uint8Array;
  /** Entries of `in…` that take from a node. */
  readonly outStart: Int32Array;
  readonly outEntry: Int32Array;
  /** Node that each entry belongs to. */
  readonly inNode: Int32Array;
  private readonly places = new Map<number, number>();
  /** Operations before each place of the walk through the spans. */
  private readonly before: Int32Array;
  private readonly direct: Int32Array;
  readonly operations: number;

  constructor(flow: Table, ops: Table | null, spans: Spans) {
    this.spans = spans;
    this.flow = flow;
    this.ops = ops;
    const { tensors, from, to } = tensorsOf(flow);
    this.tensors = tensors;
    const isEdge = edges(flow);
    const seqs = flow.num("seq").values;

    // Nodes: operations of the page, and of the flow whose operations were merged; edges, each one at first.
    const most = (ops?.rows ?? 0) + flow.rows;
    const seq = new Float64Array(most);
    const opRows = new Int32Array(most).fill(-1);
    const flowRows = new Int32Array(most).fill(-1);
    const link = new Uint8Array(most);
    const bySeq = new Map<number, number>();
    let size = 0;
    if (ops) {
      const { values } = ops.num("seq");
      for (let i = 0; i < ops.rows; i++) {
        if (Number.isNaN(values[i]!)) continue;
        seq[size] = values[i]!;
        opRows[size] = i;
        bySeq.set(values[i]!, size++);
      }
    }
    const nodeOf = new Int32Array(flow.rows);
    for (let i = 0; i < flow.rows; i++) {
      let node = isEdge[i] ? undefined : bySeq.get(seqs[i]!);
      if (node === undefined) {
        node = size++;
        seq[node] = seqs[i]!;
        link[node] = isEdge[i]!;
        if (!isEdge[i]) bySeq.set(seqs[i]!, node);
      }
      if (flowRows[node]! < 0) flowRows[node] = i;
      nodeOf[i] = node;
    }
    const order = inOrder(size, (a, b) => seq[a]! - seq[b]! || a - b);
    const place = new Int32Array(size);
    order.forEach((old, now) => (place[old] = now));
    for (let i = 0; i < flow.rows; i++) nodeOf[i] = place[nodeOf[i]!]!;
    this.size = size;
    this.seq = Float64Array.from(order, (old) => seq[old]!);
    this.opRow = order.map((old) => opRows[old]!);
    this.flowRow = order.map((old) => flowRows[old]!);
    this.link = Uint8Array.from(order, (old) => link[old]!);
    this.output = new Int32Array(size).fill(-1);

    // Who made what: rows in the order of recording, the inputs of an operation before its output.
    const rows = inOrder(flow.rows, (a, b) => nodeOf[a]! - nodeOf[b]! || a - b);
    const producer = new Int32Array(tensors.length).fill(-1);
    const [taker, taken, maker] = [new Int32Array(flow.rows), new Int32Array(flow.rows), new Int32Array(flow.rows)];
    const recorded = new Uint8Array(flow.rows);
    let n = 0;
    for (let i = 0; i < rows.length; ) {
      const node = nodeOf[rows[i]!]!;
      let end = i;
      while (end < rows.length && nodeOf[rows[end]!] === node) end++;
      const target = to[rows[i]!]!;
      const made = producer[target]!;
      const tied = this.link[node] === 1 && made >= 0 && this.link[made] === 0;
      for (let j = i; j < end; j++) {
        const tensor = from[rows[j]!]!;
        const source = producer[tensor]!;
        if (tied && source === made) continue;
        taker[n] = tied ? made : node;
        taken[n] = tensor;
        maker[n] = source;
        recorded[n++] = this.link[node]!;
      }
      if (!tied) {
        this.output[node] = target;
        producer[target] = node;
      }
      i = end;
    }
    const byTaker = inOrder(n, (a, b) => taker[a]! - taker[b]! || a - b);
    this.inNode = byTaker.map((e) => taker[e]!);
    this.inTensor = byTaker.map((e) => taken[e]!);
    this.inFrom = byTaker.map((e) => maker[e]!);
    this.inRecorded = Uint8Array.from(byTaker, (e) => recorded[e]!);
    this.inStart = starts(this.inNode, this.size);
    this.outStart = starts(this.inFrom, this.size);
    this.outEntry = new Int32Array(n);
    const next = this.outStart.slice();
    for (let e = 0; e < n; e++) if (this.inFrom[e]! >= 0) this.outEntry[next[this.inFrom[e]!]!++] = e;

    const ofOp = ops?.num("span_id").values;
    const ofFlow = flow.num("span_id").values;
    this.span = new Int32Array(this.size).fill(-1);
    for (let i = 0; i < this.size; i++) {
      const id = this.opRow[i]! >= 0 ? ofOp![this.opRow[i]!]! : this.flowRow[i]! >= 0 ? ofFlow[this.flowRow[i]!]! : NaN;
      if (!Number.isNaN(id)) this.span[i] = spans.row(id);
      if (!this.link[i]) this.places.set(this.seq[i]!, i);
    }
    this.direct = new Int32Array(spans.rows);
    let operations = 0;
    for (let i = 0; i < this.size; i++) {
      if (this.link[i]) continue;
      operations++;
      if (this.span[i]! >= 0) this.direct[this.span[i]!]!++;
    }
    this.operations = operations;
    this.before = new Int32Array(spans.rows + 1);
    for (let row = 0; row < spans.rows; row++) this.before[spans.first[row]! + 1] = this.direct[row]!;
    for (let i = 0; i < spans.rows; i++) this.before[i + 1]! += this.before[i]!;
  }

  /** Operations of a span and of all below it. */
  below(row: number): number {
    return this.before[this.spans.last[row]!]! - this.before[this.spans.first[row]!]!;
  }

  /** Operations of a span itself. */
  own(row: number): number {
    return this.direct[row]!;
  }

  /** The node of an operation; -1: the page does not have it. */
  at(span: number, index: number): number {
    const { ops } = this;
    if (!ops) return -1;
    const spans = ops.num("span_id").values;
    const indexes = ops.num("op_index").values;
    for (let i = 0; i < ops.rows; i++) {
      if (indexes[i] === index && spans[i] === span) return this.places.get(ops.num("seq").values[i]!) ?? -1;
    }
    return -1;
  }

  /** The operation that made a tensor, or the first that took it; -1: none. */
  around(tensor: string): number {
    const code = this.tensors.indexOf(tensor);
    if (code < 0) return -1;
    const maker = this.output.indexOf(code);
    if (maker >= 0 && !this.link[maker]) return maker;
    const entry = this.inTensor.indexOf(code);
    return entry < 0 || this.link[this.inNode[entry]!] ? -1 : this.inNode[entry]!;
  }

  /** What selects an operation; null: the page does not have its row. */
  selOf(node: number): string | null {
    const row = this.opRow[node] ?? -1;
    const index = row < 0 ? null : this.ops!.number("op_index", row);
    return index === null ? null : select.op(this.ops!.cell("span_id", row), index);
  }

  name(node: number): string {
    if (this.link[node]) return this.tensors[this.output[node]!] ?? "edge";
    if (this.opRow[node]! >= 0) return this.ops!.string("name", this.opRow[node]!) ?? "operation";
    return this.flow.string("op_name", this.flowRow[node]!) ?? "operation";
  }

  time(node: number): number | null {
    return this.opRow[node]! < 0 ? null : this.ops!.number("duration_ns", this.opRow[node]!);
  }

  /** Shape and element type of what it put out. */
  shape(node: number): string | null {
    if (this.opRow[node]! < 0) return null;
    const shape = this.ops!.string("shape", this.opRow[node]!);
    const dtype = this.ops!.string("dtype", this.opRow[node]!);
    return [shape, dtype].filter((t) => t !== null).join(" ") || null;
  }

  bytes(node: number): number | null {
    return this.opRow[node]! < 0 ? null : this.ops!.number("output_dense_bytes", this.opRow[node]!);
  }
}

/** 0 to size in an order: most often they are in it already. */
function inOrder(size: number, compare: (a: number, b: number) => number): Int32Array {
  const all = new Int32Array(size);
  let sorted = true;
  for (let i = 0; i < size; i++) {
    all[i] = i;
    if (i > 0 && sorted && compare(i - 1, i) > 0) sorted = false;
  }
  return sorted ? all : all.sort(compare);
}

function starts(values: Int32Array, size: number): Int32Array {
  const at = new Int32Array(size + 1);
  for (const v of values) if (v >= 0) at[v + 1]!++;
  for (let i = 0; i < size; i++) at[i + 1]! += at[i]!;
  return at;
}

function edges(flow: Table): Uint8Array {
  const source = flow.text("source");
  const edge = source.dictionary.indexOf("edge");
  return Uint8Array.from(source.codes, (code) => (code === edge && edge >= 0 ? 1 : 0));
}

/** Both columns of tensors with one dictionary. */
function tensorsOf(flow: Table): { tensors: string[]; from: Int32Array; to: Int32Array } {
  const [a, b] = [flow.text("from_tensor"), flow.text("to_tensor")];
  const tensors = [...a.dictionary];
  const places = new Map(tensors.map((t, i) => [t, i]));
  const codes = b.dictionary.map((t) => {
    let at = places.get(t);
    if (at === undefined) {
      at = tensors.length;
      tensors.push(t);
      places.set(t, at);
    }
    return at;
  });
  return { tensors, from: a.codes, to: Int32Array.from(b.codes, (c) => codes[c]!) };
}

const made = new WeakMap<Table, Flow>();

export function flowOf(flow: Table, ops: Table | null, spans: Spans): Flow {
  let of = made.get(flow);
  if (!of) made.set(flow, (of = new Flow(flow, ops, spans)));
  return of;
}
