// From the text of a block to typed columns: base64, gzip, an Arrow IPC stream. Runs in the worker.
// In: base64 text. Out: rows and columns as table.ts has them, in buffers that can be handed over. Left to neighbours:
// messages (worker.ts), which block (store.ts).
// Whole numbers are read as two halves: 64-bit integers of JavaScript cost some 30 ns each, and a page has millions.

import { type Data, Type, tableFromIPC, type Vector } from "apache-arrow";
import type { Column, NumColumn, TextColumn } from "./table";

export interface Decoded {
  rows: number;
  columns: [string, Column][];
}

export async function decode(base64: string): Promise<Decoded> {
  const packed = fromBase64(base64);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const table = tableFromIPC(new Uint8Array(await new Response(stream).arrayBuffer()));
  const columns = table.schema.fields.map((field): [string, Column] => {
    const vector = table.getChild(field.name)!;
    const column = read(vector, table.numRows);
    const base = field.metadata.get("cg.base");
    if (column.kind === "num") {
      // Differences are stored, where numbers rise as times do.
      if (base !== undefined) sumUp(column, BigInt(base));
      else if (field.metadata.get("cg.delta") === "1") sumUp(column, 0n);
      column.prefix = field.metadata.get("cg.prefix") ?? null;
    }
    return [field.name, column];
  });
  return { rows: table.numRows, columns };
}

/** Turns differences into numbers; `base` is what comes before the first. */
function sumUp(column: NumColumn, base: bigint): void {
  const { values } = column;
  let last = Number(base);
  let large = !Number.isSafeInteger(last);
  for (let i = 0; i < values.length && !large; i++) {
    last += values[i]!;
    large = !Number.isSafeInteger(last);
  }
  if (!large) {
    for (let i = 0, sum = Number(base); i < values.length; i++) values[i] = sum += values[i]!;
    return;
  }
  const differences = column.exact;
  const exact = new BigInt64Array(values.length);
  for (let i = 0, sum = base; i < values.length; i++) {
    sum += differences ? differences[i]! : BigInt(values[i]!);
    exact[i] = sum;
    values[i] = Number(sum);
  }
  column.exact = exact;
}

/** Every buffer of the columns, to hand over instead of to copy. */
export function buffers(columns: [string, Column][]): ArrayBuffer[] {
  const all = new Set<ArrayBuffer>();
  for (const [, column] of columns) {
    const parts = column.kind === "text" ? [column.codes] : [column.values, column.nulls];
    if (column.kind === "num") parts.push(column.exact as never);
    for (const part of parts) if (part) all.add(part.buffer as ArrayBuffer);
  }
  return [...all];
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const made = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (made.fromBase64) return made.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function read(vector: Vector, rows: number): Column {
  const type = vector.type;
  if (Type.Bool === type.typeId) return readBool(vector, rows);
  if (Type.Dictionary === type.typeId) return readDictionary(vector, rows);
  if (Type.Int === type.typeId || Type.Float === type.typeId) return readNumbers(vector, rows);
  return readText(vector, rows);
}

function readNulls(vector: Vector, rows: number): Uint8Array | null {
  if (vector.nullCount === 0) return null;
  const nulls = new Uint8Array(rows);
  eachChunk(vector, (data, at) => {
    if (data.nullCount === 0) return;
    const bits = data.nullBitmap;
    for (let i = 0; i < data.length; i++) {
      const bit = data.offset + i;
      nulls[at + i] = (bits[bit >> 3]! >> (bit & 7)) & 1 ? 0 : 1;
    }
  });
  return nulls;
}

function eachChunk(vector: Vector, use: (data: Data, at: number) => void): void {
  let at = 0;
  for (const data of vector.data) {
    use(data, at);
    at += data.length;
  }
}

function readNumbers(vector: Vector, rows: number): Column {
  const values = new Float64Array(rows);
  const nulls = readNulls(vector, rows);
  let exact: BigInt64Array | null = null;
  eachChunk(vector, (data, at) => {
    const raw = data.values as Int32Array | Float64Array | BigInt64Array;
    if (!(raw instanceof BigInt64Array || raw instanceof BigUint64Array)) {
      for (let i = 0; i < data.length; i++) values[at + i] = raw[i] as number;
      return;
    }
    const halves = new Int32Array(raw.buffer, raw.byteOffset, data.length * 2);
    for (let i = 0; i < data.length; i++) {
      const high = halves[2 * i + 1]!;
      values[at + i] = high * 4294967296 + (halves[2 * i]! >>> 0);
      if ((high >= 0x200000 || high < -0x200000) && !nulls?.[at + i]) exact ??= new BigInt64Array(rows);
    }
  });
  if (exact) eachChunk(vector, (data, at) => exact!.set(data.values.subarray(0, data.length), at));
  if (nulls) for (let i = 0; i < rows; i++) if (nulls[i]) values[i] = NaN;
  return { kind: "num", values, nulls, exact, prefix: null };
}

function readBool(vector: Vector, rows: number): Column {
  const values = new Uint8Array(rows);
  eachChunk(vector, (data, at) => {
    const bits = data.values as Uint8Array;
    for (let i = 0; i < data.length; i++) {
      const bit = data.offset + i;
      values[at + i] = (bits[bit >> 3]! >> (bit & 7)) & 1;
    }
  });
  return { kind: "bool", values, nulls: readNulls(vector, rows) };
}

function readDictionary(vector: Vector, rows: number): TextColumn {
  const codes = new Int32Array(rows);
  const nulls = readNulls(vector, rows);
  const dictionary: string[] = [];
  let last: Vector | null = null;
  let base = 0;
  eachChunk(vector, (data, at) => {
    // A stream may replace the dictionary between two batches.
    if (data.dictionary && data.dictionary !== last) {
      last = data.dictionary;
      base = dictionary.length;
      for (let i = 0; i < last.length; i++) dictionary.push(String(last.get(i)));
    }
    const raw = data.values as Int32Array;
    for (let i = 0; i < data.length; i++) codes[at + i] = raw[i]! + base;
  });
  if (nulls) for (let i = 0; i < rows; i++) if (nulls[i]) codes[i] = -1;
  return { kind: "text", codes, dictionary };
}

function readText(vector: Vector, rows: number): TextColumn {
  const codes = new Int32Array(rows);
  const places = new Map<string, number>();
  for (let i = 0; i < rows; i++) {
    const value: unknown = vector.get(i);
    if (value === null || value === undefined) {
      codes[i] = -1;
      continue;
    }
    const text = String(value);
    let code = places.get(text);
    if (code === undefined) places.set(text, (code = places.size));
    codes[i] = code;
  }
  return { kind: "text", codes, dictionary: [...places.keys()] };
}
