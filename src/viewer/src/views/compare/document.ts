// The document of a comparison (candle-graph/comparison/7) as this view reads it.
// In: meta.comparison. Out: `readComparison`, with a value or null for every field that is shown. Left to neighbours: words
// (words.ts), drawing.
// A field that the view does not know is ignored; one that is absent is null, and said to be so where it would stand.

export interface Have {
  runs: number;
  median_count: number | null;
  median: number | null;
}

export interface Bounds {
  lower_delta: number;
  upper_delta: number;
  level: number;
  level_kind: string;
}

export interface Change {
  baseline: Have;
  candidate: Have;
  median_delta: number | null;
  median_delta_percent: number | null;
  share_of_change: number | null;
  confidence_interval: Bounds | null;
  p: number | null;
  p_holm: number | null;
  q_benjamini_hochberg: number | null;
  without_interval: string | null;
  label?: string;
  name?: string;
  shape?: number[];
  dtype?: string;
}

export interface Bounded<T> {
  total: number;
  rows: T[];
}

export interface Run {
  run_id: string;
  manifest_sha256: string | null;
  started_at: string | null;
  pair_id: string | null;
  outer_wall_time_ns: number | null;
}

export interface Cohort {
  samples_ns: number[];
  median_ns: number | null;
  p95_ns: number | null;
  mad_ns: number | null;
}

export interface Interval {
  level: number;
  lower_delta_ns: number;
  upper_delta_ns: number;
  lower_delta_percent: number | null;
  upper_delta_percent: number | null;
  statistic: string;
  method: string;
  resamples: number;
  seed: number | null;
  true_level: number;
  true_level_kind: string;
  runs_needed_for_level: number | null;
}

export interface Tests {
  rank_test: string;
  rank_p: number;
  rank_p_kind: string;
  shift_ns: number;
  shift_lower_ns: number;
  shift_upper_ns: number;
  shift_level: number;
  permutation_p: number;
  permutation_p_kind: string;
  permutation_arrangements: number;
  welch_log: { t: number; degrees_of_freedom: number; p: number; percent: number } | null;
}

export interface Design {
  sequence: string;
  order: string | null;
  stretches: number | null;
  p_so_few_stretches: number | null;
  place_gap: number | null;
  drift: { ns_per_run: number; percent_per_run: number | null; p: number } | null;
  spread_ratio: number | null;
  baseline_outliers: string[];
  candidate_outliers: string[];
  hosts: { host_name: string | null; cpu_model: string | null; baseline_runs: number; candidate_runs: number }[];
}

export interface TensorRow {
  label: string;
  rms_a: number | null;
  rms_b: number | null;
  rms_ratio: number | null;
  abs_max_ratio: number | null;
  non_finite_a: number;
  non_finite_b: number;
  non_finite_changed: boolean;
  samples_a: number;
  samples_b: number;
  runs_a: number;
  runs_b: number;
}

export interface Coded {
  code: string;
  message: string;
}

export interface Comparison {
  schema: string | null;
  verdict: string;
  headline: string;
  cautions: Coded[];
  comparable: boolean;
  paired: boolean;
  reasons: Coded[];
  verification: string | null;
  baseline_runs: Run[];
  candidate_runs: Run[];
  baseline_id: string | null;
  candidate_id: string | null;
  identity: Record<string, string | number> | null;
  baseline: Cohort;
  candidate: Cohort;
  pairs: { pair_id: string; delta_ns: number | null }[];
  median_delta_ns: number | null;
  median_delta_percent: number | null;
  threshold_percent: number | null;
  interval: Interval | null;
  tests: Tests | null;
  sensitivity: {
    smallest_change_ns: number;
    smallest_change_percent: number | null;
    runs_needed: { effect_percent: number; runs: number | null }[];
  } | null;
  design: Design;
  labels: Bounded<Change>;
  operations: Bounded<Change>;
  memory: Bounded<Change>;
  gradients: Bounded<Change>;
  values: Bounded<TensorRow>;
  only_a: Bounded<string>;
  only_b: Bounded<string>;
}

type Json = Record<string, unknown>;

const object = (value: unknown): Json => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {});
const list = <T>(value: unknown): T[] => (Array.isArray(value) ? (value as T[]) : []);
const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
const orNull = <T>(value: unknown): T | null => (typeof value === "object" && value !== null ? (value as T) : null);

function bounded<T>(value: unknown, rows: unknown = object(value).rows): Bounded<T> {
  const there = list<T>(rows);
  return { rows: there, total: Math.max(there.length, number(object(value).total) ?? 0) };
}

function cohort(value: unknown): Cohort {
  const c = object(value);
  return { samples_ns: list<number>(c.samples_ns), median_ns: number(c.median_ns), p95_ns: number(c.p95_ns), mad_ns: number(c.mad_ns) };
}

function design(value: unknown): Design {
  const d = object(value);
  return {
    sequence: text(d.sequence) ?? "",
    order: text(d.order),
    stretches: number(d.stretches),
    p_so_few_stretches: number(d.p_so_few_stretches),
    place_gap: number(d.place_gap),
    drift: orNull(d.drift),
    spread_ratio: number(d.spread_ratio),
    baseline_outliers: list(d.baseline_outliers),
    candidate_outliers: list(d.candidate_outliers),
    hosts: list(d.hosts),
  };
}

export function readComparison(value: unknown): Comparison {
  const c = object(value);
  const inputs = object(c.inputs);
  const stats = object(c.tensor_stats);
  return {
    schema: text(c.schema),
    verdict: text(c.verdict) ?? "ineligible",
    headline: text(c.headline) ?? "",
    cautions: list(c.cautions),
    comparable: c.comparable === true,
    paired: c.paired === true,
    reasons: list(c.reasons),
    verification: text(inputs.verification),
    baseline_runs: list(inputs.baseline),
    candidate_runs: list(inputs.candidate),
    baseline_id: text(c.baseline_implementation_id),
    candidate_id: text(c.candidate_implementation_id),
    identity: orNull(c.identity),
    baseline: cohort(c.baseline),
    candidate: cohort(c.candidate),
    pairs: list(c.pairs),
    median_delta_ns: number(c.median_delta_ns),
    median_delta_percent: number(c.median_delta_percent),
    threshold_percent: number(c.threshold_percent),
    interval: orNull(c.confidence_interval),
    tests: orNull(c.tests),
    sensitivity: orNull(c.sensitivity),
    design: design(c.design),
    labels: bounded(c.labels),
    operations: bounded(c.operations),
    memory: bounded(c.memory),
    gradients: bounded(c.gradients),
    values: bounded(stats.matched_cut, stats.matched),
    only_a: bounded(stats.unmatched_a),
    only_b: bounded(stats.unmatched_b),
  };
}

export type Side = "baseline" | "candidate";

/** One run in the order in which all started. */
export interface Dot {
  /** From 1. */
  place: number;
  side: Side;
  run: Run;
  apart: boolean;
}

export function dotsOf(c: Comparison): Dot[] {
  const next = { A: 0, B: 0 };
  const dots: Dot[] = [];
  [...c.design.sequence].forEach((letter, i) => {
    const side: Side = letter === "A" ? "baseline" : "candidate";
    const run = letter === "A" ? c.baseline_runs[next.A++] : c.candidate_runs[next.B++];
    if (!run) return;
    const apart = (letter === "A" ? c.design.baseline_outliers : c.design.candidate_outliers).includes(run.run_id);
    dots.push({ place: i + 1, side, run, apart });
  });
  return dots;
}
