// Where a row of a block comes from: the recorded rows behind it, and the statement that fetches them.
// In: a block, a row of it. Out: `Origin`. Left to neighbours: showing it (ui/details.tsx, ui/sql.tsx).
// Statements are for people to copy, never run here; text in them is quoted as SQL quotes it.

import { type Selection, spanNumber } from "../state/selection";
import { store } from "./store";
import type { Cell, Table } from "./table";

export interface Origin {
  /** "table ops, run run-1…, span_id 12, op_index 3" */
  text: string;
  sql: string;
  /** The table is of an Nsight report: the command names its folder. */
  nsight: boolean;
  /** Commands that give it, where no statement over one trace does: rows of a comparison. */
  commands?: string[];
}

type Key = [column: string, value: string | number | bigint];

export function literal(value: string | number | bigint): string {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** A word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function statement(table: string, keys: Key[], nsight = false): Origin {
  const run = store.meta.run.run_id;
  const all: Key[] = typeof run === "string" ? [["run_id", run], ...keys] : keys;
  const where = all.map(([column, value]) => `${column} = ${literal(value)}`).join("\n  AND ");
  const names = keys.map(([column, value]) => `${column} ${value}`);
  const text = [`table ${table}`, ...(typeof run === "string" ? [`run ${run}`] : []), ...names].join(", ");
  return { text, sql: `SELECT *\nFROM ${table}\nWHERE ${where}`, nsight };
}

/** Columns of a block that name the recorded rows behind a row of it: their table, and what they are called there. */
const BEHIND: Record<string, [table: string, columns: Record<string, string>]> = {
  host_hotspots: ["spans", { name: "name" }],
  critical_path: ["spans", { id: "span_id" }],
  ops: ["ops", { name: "name", dtype: "dtype", device: "device" }],
  op_work_by_name: ["ops", { name: "name", device: "device" }],
  tensor_stats: ["tensor_stats", { label: "label", span_id: "span_id" }],
  gradients: ["gradients", { root: "root", key: "key" }],
  dead_gradients: ["gradients", { root: "root", key: "key" }],
  memory_totals: ["memory", { device: "device" }],
  memory_by_category: ["memory", { device: "device", category: "category" }],
  memory_timeline: ["memory", { storage_id: "storage_id" }],
  lifetimes: ["memory", { storage_id: "storage_id" }],
  retained_storages: ["memory", { storage_id: "storage_id" }],
  peak_storages_ranked: ["memory", { storage_id: "storage_id" }],
  physical_timeline: ["device_memory", { device: "device", timestamp_ns: "timestamp_ns" }],
  device_busy: ["device_intervals", { device: "device", clock_id: "clock_id" }],
  slowest_device: ["device_intervals", { id: "span_id", device: "device", clock_id: "clock_id" }],
  timeline_device: ["device_intervals", { device: "device", stream_id: "stream_id", span_id: "span_id", start_ns: "start_ns" }],
  gpu_hotspots: ["gpu_trace", { name: "name" }],
  gpu_kernel_summary: ["gpu_kernels", { name: "name" }],
  cuda_api_functions: ["cuda_api", { name: "name" }],
  gpu_reports: ["nsight_reports", { report: "report" }],
};

/** Null: no rows of one table are behind it, and its query is all there is to show. */
export function originOf(selection: Selection, table: Table | undefined, row: number): Origin | null {
  switch (selection.kind) {
    case "span":
      return statement("spans", [["span_id", selection.id]]);
    case "op":
      return statement("ops", [["span_id", selection.span], ["op_index", selection.index]]);
    case "storage":
      return statement("memory", [["storage_id", selection.id]]);
    case "tensor":
      return statement("tensors", [["tensor_id", selection.id]]);
    case "gpu":
      return statement("gpu_trace", [["row", selection.row]], true);
    case "device":
      return table ? behind("timeline_device", table, row) : null;
    case "row":
      if (selection.block.startsWith(COMPARED)) return compared(selection.block.slice(COMPARED.length), row);
      return table ? behind(selection.block, table, row) : null;
  }
}

/** Before the names of tables that are made from the document of a comparison. */
export const COMPARED = "comparison.";

/** Where in the document a row is, and the query that gives what each run has of it. */
const IN_DOCUMENT: Record<string, [path: string, query: string | null]> = {
  labels: ["labels.rows", "cohort_labels"],
  operations: ["operations.rows", "cohort_ops"],
  memory: ["memory.rows", "cohort_memory"],
  gradients: ["gradients.rows", "cohort_gradients"],
  values: ["tensor_stats.matched", "cohort_tensor_stats"],
  runs: ["inputs", "series_wall"],
};

export function compareCommands(query: string | null): string[] {
  const whole = "candle-graph compare --baseline BUNDLE... --candidate BUNDLE... --all -o comparison.json";
  return query ? [whole, `candle-graph sql BUNDLE... --query ${query} --format csv`] : [whole];
}

function compared(name: string, row: number): Origin | null {
  const known = IN_DOCUMENT[name];
  if (!known) return null;
  const [path, query] = known;
  const place = name === "runs" ? path : `${path}[${row}]`;
  return { text: `document of the comparison, ${place}`, sql: "", nsight: false, commands: compareCommands(query) };
}

function behind(block: string, table: Table, row: number): Origin | null {
  if (block === "spans") return statement("spans", [["span_id", spanNumber(table.cell("id", row))]]);
  if (block === "timeline_ops" && table.cell("op_index", row) !== null) {
    const span = spanNumber(table.cell("span_id", row));
    return statement("ops", [["span_id", span], ["op_index", table.number("op_index", row)!]]);
  }
  const known = BEHIND[block];
  if (!known) return null;
  const [name, columns] = known;
  const keys = Object.entries(columns).map(([from, to]): [string, Cell] => [to, table.cell(from, row)]);
  const given = keys.filter(([, value]) => value !== null);
  if (given.length === 0) return null;
  const bound = given.map(([to, value]): Key => {
    if (to === "span_id") return [to, spanNumber(value)];
    return [to, typeof value === "boolean" || value === null ? Number(value) : value];
  });
  return statement(name, bound, /^(gpu_|cuda_|nvtx_|nsight_)/.test(name));
}

/** The command line that runs a statement. */
export function command(sql: string, nsight = false): string {
  const flat = sql.replace(/\s*\n\s*/g, " ").trim();
  return `candle-graph sql TRACE ${shellWord(flat)}${nsight ? " --nsight-dir DIR" : ""}`;
}

/** The command line that runs a query of the tool by its name. */
export function queryCommand(query: string): string {
  const nsight = /^(gpu_|cuda_|timeline_gpu)/.test(query);
  return `candle-graph sql TRACE --query ${query}${nsight ? " --nsight-dir DIR" : ""}`;
}
