// What a comparison says in words: the sentences, signs and names of the command line (src/output/compare/words.rs).
// In: the document. Out: plain text that may hold text of a trace. Left to neighbours: making it harmless, drawing.
// The verdict is the document's own headline: "these runs cannot tell" is never turned into "nothing changed".

import { bytes, count, duration } from "../../ui/format";
import type { Change, Comparison, Side } from "./document";

export type Unit = "time" | "bytes" | "number";

/** A value of a tensor in four digits. */
export function value(x: number): string {
  const size = Math.abs(x);
  if (size === 0) return "0";
  const place = [1e5, 1e4, 1e3, 1e2, 1e1, 1, 1e-1, 1e-2, 1e-3].findIndex((least) => size >= least);
  if (place >= 0 && size < 1e6) return x.toFixed(Math.max(0, place + 4 - 6));
  return x.toExponential(3).replace("e+", "e");
}

export function show(unit: Unit, x: number): string {
  return unit === "time" ? duration(x) : unit === "bytes" ? bytes(x) : value(x);
}

/** With its sign, unless it is zero. */
export function signed(unit: Unit, x: number): string {
  if (x === 0) return show(unit, 0);
  return `${x < 0 ? "-" : "+"}${show(unit, Math.abs(x))}`;
}

/** Two bounds, with their unit once if it is the same. */
export function range(unit: Unit, lower: number, upper: number): string {
  const [a, b] = [signed(unit, lower), signed(unit, upper)];
  const [x, y] = [a.split(" "), b.split(" ")];
  return x.length === 2 && y.length === 2 && x[1] === y[1] ? `${x[0]} … ${b}` : `${a} … ${b}`;
}

export function percent(x: number | null, digits = 1): string {
  return x === null ? "" : `${x === 0 ? "" : x < 0 ? "-" : "+"}${Math.abs(x).toFixed(digits)} %`;
}

export function p(x: number | null): string | null {
  return x === null ? null : x < 0.0005 ? "<0.001" : x.toFixed(3);
}

/** What less and more of it mean. */
export function sides(unit: Unit): [string, string] {
  return unit === "time" ? ["faster", "slower"] : ["less", "more"];
}

const DIMENSIONS = 8;

/** `matmul 8×256×32 f32`. */
export function operation(row: Change): string {
  const sizes = (row.shape ?? []).slice(0, DIMENSIONS).map(String);
  if ((row.shape?.length ?? 0) > DIMENSIONS) sizes.push("…");
  return `${row.name ?? ""} ${sizes.length === 0 ? "scalar" : sizes.join("×")} ${row.dtype ?? ""}`;
}

/** The interval of a row, or why it has none. */
export function interval(change: Change, unit: Unit, runs: [number, number]): string | null {
  const b = change.confidence_interval;
  if (b) return range(unit, b.lower_delta, b.upper_delta);
  const why = change.without_interval;
  if (why === "not_in_every_run") {
    const [a, z] = [change.baseline.runs, change.candidate.runs];
    return a === runs[0] && z === runs[1] ? "not known in every run" : `in ${a} of ${runs[0]}, ${z} of ${runs[1]} runs`;
  }
  if (why === null || why === "ineligible") return null;
  return why.replaceAll("_", " ");
}

/** Why a row has no interval, as a sentence. */
export function whyNone(change: Change): string {
  switch (change.without_interval) {
    case "ineligible":
      return "the cohorts may not be compared";
    case "only_in_baseline":
      return "only the baseline has it";
    case "only_in_candidate":
      return "only the candidate has it";
    case "not_in_every_run":
      return "not every run has a value";
    default:
      return "not in the document";
  }
}

/** The delta, or what one cohort alone has with the sign of its coming or going. */
export function shift(change: Change): number | null {
  if (change.median_delta !== null) return change.median_delta;
  if (change.without_interval === "only_in_baseline") return change.baseline.median === null ? null : -change.baseline.median;
  if (change.without_interval === "only_in_candidate") return change.candidate.median;
  return null;
}

/** How much certainly changed: the bound nearest to zero of an interval without it, all of what one cohort alone has. */
export function certain(change: Change): number {
  const b = change.confidence_interval;
  if (b) return Math.max(b.lower_delta, -b.upper_delta, 0);
  if (change.without_interval === "only_in_baseline") return Math.abs(change.baseline.median ?? 0);
  if (change.without_interval === "only_in_candidate") return Math.abs(change.candidate.median ?? 0);
  return 0;
}

/** The verdict in a few words, and what it rests on: the two parts of the headline. */
export function verdict(c: Comparison): [string, string] {
  const at = c.headline.indexOf(": ");
  return at < 0 ? [c.headline, ""] : [c.headline.slice(0, at), c.headline.slice(at + 2)];
}

export function capital(text: string): string {
  const [first, ...rest] = text;
  return first === undefined ? "" : first.toUpperCase() + rest.join("");
}

const NAME = 20;

/** What the cohorts are called where there is little room: by their implementations, if that tells them apart. */
export function names(c: Comparison): Record<Side, string> {
  const short = (id: string | null) => (id !== null && [...id].length <= NAME && id.trim() !== "" ? id : null);
  const [a, b] = [short(c.baseline_id), short(c.candidate_id)];
  return a !== null && b !== null && a !== b ? { baseline: a, candidate: b } : { baseline: "baseline", candidate: "candidate" };
}

export function runsCompared(c: Comparison): string {
  const [a, b] = [c.baseline_runs.length, c.candidate_runs.length];
  if (c.paired) return `${count(a)} pairs of runs`;
  return a === b ? `${count(a)} runs each` : `${count(a)} and ${count(b)} runs`;
}

/** How the interval of the whole was had. */
export function how(c: Comparison): string | null {
  const i = c.interval;
  if (!i) return null;
  const level = `${(100 * i.true_level).toFixed(2)} %`;
  const said =
    i.true_level_kind === "exact" ? `true level ${level}, exact` : i.true_level_kind === "at_least" ? `true level at least ${level}` : `true level about ${level}`;
  const drawn = i.seed === null ? "" : `, seed ${i.seed}`;
  const method =
    i.method === "exact_enumeration"
      ? `all ${count(i.resamples)} distinct resamples`
      : i.method === "sampled"
        ? `${count(i.resamples)} resamples${drawn}`
        : i.method.replaceAll("_", " ");
  return `${i.statistic.replaceAll("_", " ")}: ${range("time", i.lower_delta_ns, i.upper_delta_ns)}; ${method}, ${said}`;
}

export interface Opinion {
  test: string;
  p: number;
  computed: string;
  with: string;
}

/** Second opinions: none of them decides. */
export function opinions(c: Comparison): Opinion[] {
  const t = c.tests;
  if (!t) return [];
  const level = `${(100 * t.shift_level).toFixed(2)} %`;
  const shifted = `Hodges-Lehmann shift ${signed("time", t.shift_ns)}, ${range("time", t.shift_lower_ns, t.shift_upper_ns)} (${level})`;
  const [ranks, moved] =
    t.rank_test === "mann_whitney"
      ? ["Mann-Whitney, of ranks", "Permutation of runs, of means"]
      : ["Wilcoxon, of signed ranks", "Permutation of signs, of means"];
  const all = [
    { test: ranks!, p: t.rank_p, computed: t.rank_p_kind.replaceAll("_", " "), with: shifted },
    { test: moved!, p: t.permutation_p, computed: t.permutation_p_kind.replaceAll("_", " "), with: `${count(t.permutation_arrangements)} arrangements` },
  ];
  const w = t.welch_log;
  if (w) {
    const more = `t = ${w.t.toFixed(2)}, ${w.degrees_of_freedom.toFixed(1)} degrees of freedom; geometric means differ by ${percent(w.percent)}`;
    all.push({ test: "Welch, of logarithms", p: w.p, computed: "Student’s t", with: more });
  }
  return all;
}

export function runsWord(c: Comparison): string {
  return c.paired ? "pairs" : "runs a cohort";
}

export function drift(c: Comparison): string {
  const d = c.design.drift;
  if (!d) return "unknown";
  const slope = d.percent_per_run === null ? signed("time", d.ns_per_run) : percent(d.percent_per_run, 2);
  return `${slope} a run (p = ${d.p.toFixed(3)})`;
}
