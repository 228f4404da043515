// The lists of the document as tables, so that they sort, filter and select like those of a trace.
// In: the document. Out: `changeTable`, `valueTable`, `runTable`. Left to neighbours: drawing them (changes.tsx, values.tsx,
// runs.tsx).
// What a column means is what the schema of the document says.

import { COMPARED } from "../../data/origin";
import { store } from "../../data/store";
import { type Column, Table } from "../../data/table";
import type { ColumnInfo } from "../../data/types";
import { type Change, type Comparison, type Dot, dotsOf, type TensorRow } from "./document";
import { certain, operation, shift } from "./words";

export type Spec<R> = [name: string, unit: string, meaning: string, of: (row: R) => string | number | boolean | null | undefined];

function table<R>(name: string, rows: R[], total: number, specs: Spec<R>[]): Table {
  const full = COMPARED + name;
  const there = store.peek(full);
  if (there) return there;
  const columns = new Map<string, Column>();
  const infos: ColumnInfo[] = [];
  for (const [column, unit, meaning, of] of specs) {
    const cells = rows.map((row) => of(row) ?? null);
    const kind = cells.find((cell) => cell !== null);
    columns.set(column, typeof kind === "string" ? texts(cells) : typeof kind === "boolean" ? truths(cells) : numbers(cells));
    infos.push({ name: column, type: typeof kind === "string" ? "Utf8" : "Float64", unit, meaning });
  }
  const info = { name: full, query: null, rows: rows.length, total, note: null, unavailable: null, columns: infos };
  return store.adopt(new Table(full, rows.length, columns), info);
}

type Cells = (string | number | boolean | null)[];

function numbers(cells: Cells): Column {
  const values = Float64Array.from(cells, (c) => (typeof c === "number" ? c : NaN));
  const nulls = Uint8Array.from(cells, (c) => (typeof c === "number" ? 0 : 1));
  return { kind: "num", values, nulls: nulls.includes(1) ? nulls : null, exact: null, prefix: null };
}

function truths(cells: Cells): Column {
  return { kind: "bool", values: Uint8Array.from(cells, (c) => (c === true ? 1 : 0)), nulls: null };
}

function texts(cells: Cells): Column {
  const places = new Map<string, number>();
  const codes = Int32Array.from(cells, (c) => {
    if (typeof c !== "string") return -1;
    const at = places.get(c) ?? places.size;
    places.set(c, at);
    return at;
  });
  return { kind: "text", codes, dictionary: [...places.keys()] };
}

export type ChangeList = "labels" | "operations" | "memory" | "gradients";

export function changeTable(c: Comparison, list: ChangeList): Table {
  const unit = list === "memory" ? "bytes" : list === "gradients" ? "none" : "ns";
  const named: Spec<Change>[] =
    list === "operations"
      ? [
          ["operation", "none", "name, shape of the output and element type", operation],
          ["name", "none", "operation", (r) => r.name],
          ["shape", "none", "shape of the output", (r) => (r.shape?.length ? r.shape.join("×") : "scalar")],
          ["dtype", "none", "element type of the output", (r) => r.dtype],
        ]
      : [["label", "none", list === "gradients" ? "root/key of the gradient" : "label", (r) => r.label]];
  return table(list, c[list].rows, c[list].total, [
    ...named,
    ["baseline", unit, "median of the runs' values; absent: none is known", (r) => r.baseline.median],
    ["candidate", unit, "median of the runs' values; absent: none is known", (r) => r.candidate.median],
    ["median_delta", unit, "candidate less baseline: difference of the medians; of pairs, the median delta", (r) => r.median_delta],
    ["median_delta_percent", "%", "the delta in percent of the baseline's median", (r) => r.median_delta_percent],
    ["share_of_change", "none", "the delta over that of the whole, where the verdict says that the whole changed", (r) => r.share_of_change],
    ["lower_delta", unit, "lower bound of the interval", (r) => r.confidence_interval?.lower_delta],
    ["upper_delta", unit, "upper bound of the interval", (r) => r.confidence_interval?.upper_delta],
    ["level", "none", "level of the interval", (r) => r.confidence_interval?.level],
    ["level_kind", "none", "exact, at_least or approximate", (r) => r.confidence_interval?.level_kind],
    ["p", "none", "Mann-Whitney; of pairs, Wilcoxon's signed ranks", (r) => r.p],
    ["p_holm", "none", "p adjusted for all rows of the list (Holm)", (r) => r.p_holm],
    ["q_benjamini_hochberg", "none", "the share of false findings to expect among the rows at or below it (Benjamini and Hochberg)", (r) => r.q_benjamini_hochberg],
    ["without_interval", "none", "why there is no interval", (r) => r.without_interval],
    ["baseline_runs", "count", "runs of the baseline that recorded it", (r) => r.baseline.runs],
    ["candidate_runs", "count", "runs of the candidate that recorded it", (r) => r.candidate.runs],
    ["baseline_median_count", "none", "median over these runs of how often a run did", (r) => r.baseline.median_count],
    ["candidate_median_count", "none", "median over these runs of how often a run did", (r) => r.candidate.median_count],
    ["shown_change", unit, "the delta; where one cohort alone has it, all of it with the sign of its coming or going", shift],
    ["certain_change", unit, "the bound nearest to zero of an interval without zero, all of what one cohort alone has, else 0: rows are in this order", certain],
  ]);
}

export function valueTable(c: Comparison): Table {
  return table<TensorRow>("values", c.values.rows, c.values.total, [
    ["label", "none", "label of the summarised tensor", (r) => r.label],
    ["rms_a", "none", "root mean square of the baseline; absent: never known, as of tensors with a non-finite element", (r) => r.rms_a],
    ["rms_b", "none", "root mean square of the candidate", (r) => r.rms_b],
    ["rms_ratio", "none", "candidate over baseline; absent unless both are known and the baseline's is above zero", (r) => r.rms_ratio],
    ["abs_max_ratio", "none", "the largest magnitude, candidate over baseline", (r) => r.abs_max_ratio],
    ["non_finite_a", "count", "NaN or infinite elements of the baseline, over all runs", (r) => r.non_finite_a],
    ["non_finite_b", "count", "NaN or infinite elements of the candidate, over all runs", (r) => r.non_finite_b],
    ["non_finite_changed", "none", "whether a run of one cohort has more of them on average than a run of the other", (r) => r.non_finite_changed === true],
    ["samples_a", "count", "summaries of the baseline, over all runs", (r) => r.samples_a],
    ["samples_b", "count", "summaries of the candidate, over all runs", (r) => r.samples_b],
    ["runs_a", "count", "runs of the baseline that recorded it", (r) => r.runs_a],
    ["runs_b", "count", "runs of the candidate that recorded it", (r) => r.runs_b],
  ]);
}

export function runTable(c: Comparison): Table {
  const dots = dotsOf(c);
  return table<Dot>("runs", dots, dots.length, [
    ["run", "id", "its place in the order in which all runs started", (d) => d.place],
    ["cohort", "none", "baseline or candidate", (d) => d.side],
    ["pair_id", "id", "runs that are compared with one another", (d) => d.run.pair_id],
    ["started_at", "none", "when it started, UTC", (d) => d.run.started_at],
    ["outer_wall_time_ns", "ns", "wall time of the measured region; absent: not known", (d) => d.run.outer_wall_time_ns],
    ["apart", "none", "whether it stands apart from its cohort; it was kept", (d) => d.apart],
    ["run_id", "id", "the run", (d) => d.run.run_id],
    ["manifest_sha256", "id", "identity of its bundle, which was verified; absent for a raw trace", (d) => d.run.manifest_sha256],
  ]);
}
