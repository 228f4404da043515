// What is selected: one row of the evidence, named so that a link to it survives (Route.sel).
// In: the text of Route.sel. Out: `parse`, `select` (texts), `locate` (block and row). Left to neighbours: showing it
// (ui/details.tsx), highlighting it (views).
// Span ids are numbers in the tables and s8 in the results of queries: both mean the same here.

import type { Table } from "../data/table";

export type Selection =
  | { kind: "span"; id: number }
  | { kind: "op"; span: number; index: number }
  | { kind: "storage" | "tensor"; id: string }
  | { kind: "device" | "gpu"; row: number }
  | { kind: "row"; block: string; row: number };

/** Number of a span: 8 for 8, "8" and "s8"; NaN for anything else. */
export function spanNumber(id: unknown): number {
  if (typeof id === "number" || typeof id === "bigint") return Number(id);
  const match = /^s?(\d+)$/.exec(String(id));
  return match ? Number(match[1]) : NaN;
}

/** Texts of Route.sel. */
export const select = {
  span: (id: unknown) => `span:${spanNumber(id)}`,
  op: (span: unknown, index: unknown) => `op:${spanNumber(span)}:${index}`,
  storage: (id: string) => `storage:${id}`,
  tensor: (id: string) => `tensor:${id}`,
  device: (row: number) => `device:${row}`,
  gpu: (row: number) => `gpu:${row}`,
  row: (block: string, row: number) => `row:${block}:${row}`,
};

export function parse(text: string | undefined): Selection | null {
  if (!text) return null;
  const at = text.indexOf(":");
  const kind = text.slice(0, at);
  const rest = text.slice(at + 1);
  const whole = (t: string | undefined) => (t !== undefined && /^\d+$/.test(t) ? Number(t) : NaN);
  let found: Selection | null = null;
  switch (kind) {
    case "span":
      found = { kind, id: spanNumber(rest) };
      break;
    case "op": {
      const [span, index] = rest.split(":");
      found = { kind, span: spanNumber(span ?? ""), index: whole(index) };
      break;
    }
    case "storage":
    case "tensor":
      return rest === "" ? null : { kind, id: rest };
    case "device":
    case "gpu":
      found = { kind, row: whole(rest) };
      break;
    case "row": {
      const [block, row] = rest.split(":");
      found = { kind, block: block ?? "", row: whole(row) };
      break;
    }
  }
  const bad = found === null || Object.values(found).some((v) => Number.isNaN(v));
  return bad ? null : found;
}

/** Blocks that may have the row of a selection, the likeliest first. */
export function blocksOf(selection: Selection): string[] {
  switch (selection.kind) {
    case "span":
      return ["spans"];
    case "op":
      return ["timeline_ops"];
    case "storage":
      return ["lifetimes", "peak_storages_ranked", "retained_storages"];
    case "tensor":
      return ["lifetimes"];
    case "device":
      return ["timeline_device"];
    case "gpu":
      return ["timeline_gpu"];
    case "row":
      return [selection.block];
  }
}

/** Row of a selection in one of its blocks; -1: the block does not have it. */
export function locate(selection: Selection, table: Table): number {
  switch (selection.kind) {
    case "span":
      return table.find("id", `s${selection.id}`);
    case "op": {
      if (!table.has("op_index") || !table.has("span_id")) return -1;
      const index = table.num("op_index").values;
      const spans = table.num("span_id").values;
      for (let i = 0; i < table.rows; i++) if (index[i] === selection.index && spans[i] === selection.span) return i;
      return -1;
    }
    case "storage":
      return table.find("storage_id", selection.id);
    case "tensor": {
      // The storage that it is in: its tensors are one text, with commas.
      const column = table.columns.get("tensor_ids");
      if (column?.kind !== "text") return -1;
      const code = column.dictionary.findIndex((ids) => ids.split(", ").includes(selection.id));
      return code < 0 ? -1 : column.codes.indexOf(code);
    }
    case "gpu":
      if (table.columns.get("row")?.kind === "num") return table.num("row").values.indexOf(selection.row);
      return selection.row < table.rows ? selection.row : -1;
    case "device":
    case "row":
      return selection.row < table.rows ? selection.row : -1;
  }
}
