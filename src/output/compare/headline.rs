//! The verdict in words, and what to mind when believing it.
//! In: the document's numbers. Out: a sentence and a list of cautions, each with a code. Left to neighbours: the numbers.

use schemars::JsonSchema;
use serde::Serialize;

use super::inputs::Cohorts;
use super::numerics::non_finite_changed;
use super::primary::{DriftOut, HostOut};
use super::{Comparison, ReasonOut};
use crate::text::{count, duration, shorten};

/// Drift that is worth a word: so improbable without one, and so many percent of a run's time from run to run.
const DRIFT_P: f64 = 0.05;
const DRIFT_PERCENT: f64 = 0.1;
/// Labels that a caution names.
const NAMED: usize = 3;

/// Something to mind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Caution {
    /// `non_finite_changed`, `blocked_order`, `drift`, `mixed_hosts`, `outliers`, `spreads_differ`, `level_not_reached`
    /// or `opinions_differ`; of one cohort against itself also `halves_differ`.
    pub code: &'static str,
    pub message: String,
}

/// The verdict as a sentence.
pub(super) fn headline(c: &Comparison) -> String {
    let percent = |p: Option<f64>| p.map_or(String::new(), |p| format!(" ({p:+.1} %)"));
    let delta = c.median_delta_ns.map_or_else(|| "unknown".to_owned(), signed);
    let Some(interval) = &c.confidence_interval else {
        return without(&c.reasons, "No verdict");
    };
    let between = format!(
        "between {} and {}",
        interval.lower_delta_percent.map_or_else(|| signed(interval.lower_delta_ns), |p| format!("{p:+.1} %")),
        interval.upper_delta_percent.map_or_else(|| signed(interval.upper_delta_ns), |p| format!("{p:+.1} %")),
    );
    let level = format!("{:.1} % interval", 100.0 * interval.true_level);
    let changed = delta + &percent(c.median_delta_percent);
    let said = match c.verdict {
        "candidate_faster" => format!("The candidate is faster: {changed}, {between} ({level})."),
        "candidate_slower" => format!("The candidate is slower: {changed}, {between} ({level})."),
        "equivalent" => format!(
            "No difference of interest: {changed}, {between} ({level}), within the threshold of {} %.",
            c.threshold_percent.unwrap_or_default()
        ),
        _ => {
            let least = c.sensitivity.as_ref().and_then(|s| s.smallest_change_percent);
            let least =
                least.map_or(String::new(), |p| format!(" They could have shown a change of {p:.1} % or more."));
            format!("These runs cannot tell: {changed}, {between} ({level}).{least}")
        }
    };
    // Whatever the time says, it is of another computation then.
    match c.cautions.iter().find(|caution| caution.code == "non_finite_changed") {
        Some(caution) => format!("{said} But {}.", caution.message),
        None => said,
    }
}

/// What there is not, and the first reason why.
pub(super) fn without(reasons: &[ReasonOut], what: &str) -> String {
    let why = match reasons {
        [] => "a wall time is not known".to_owned(),
        [one] => one.message.clone(),
        [first, rest] => format!("{}; and one more reason ({})", first.message, rest.code),
        [first, rest @ ..] => format!("{}; and {} more reasons", first.message, rest.len()),
    };
    format!("{what}: {why}.")
}

/// A time with its sign.
pub(super) fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, duration(ns.abs()))
}

/// What to mind, the gravest first.
pub(super) fn cautions(c: &Comparison, cohorts: &Cohorts) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let mut add = |code, message| cautions.push(Caution { code, message });
    // Of everything that has values, gradients too, and of what one cohort alone has.
    let changed: Vec<String> = (cohorts.tensor_stats.iter().chain(&cohorts.gradients))
        .filter(|(_, cells)| {
            let (a, b) = cells.split_at(cells.partition_point(|cell| cell.run < cohorts.baseline.len()));
            non_finite_changed(a, b)
        })
        .map(|(label, _)| shorten(label))
        .collect();
    if !changed.is_empty() {
        let more = if changed.len() > NAMED { format!(" and {} more", changed.len() - NAMED) } else { String::new() };
        let names = changed.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        add("non_finite_changed", format!("the number of non-finite values changed in {names}{more}"));
    }
    let d = &c.design;
    if d.order == Some("blocked") {
        let drift = d.place_gap.map_or(String::new(), |gap| {
            format!("; a drift of 1 % a run would move the difference by {:.1} %", gap.abs())
        });
        add("blocked_order", format!("the runs came in blocks ({}){drift}", shorten(&d.sequence)));
    }
    let outliers = d.baseline_outliers.len() + d.candidate_outliers.len();
    let shared = [d.drift.as_ref().and_then(drifts), several_hosts(&d.hosts), apart(outliers, cohorts.len())];
    shared.into_iter().flatten().for_each(|caution| add(caution.code, caution.message));
    if d.spreads_differ {
        let ratio = d.spread_ratio.unwrap_or_default();
        add("spreads_differ", format!("the candidate's spread is {ratio:.2} times the baseline's"));
    }
    if let Some(interval) = c.confidence_interval.as_ref().filter(|i| i.runs_needed_for_level.is_some()) {
        let what = if c.paired { "pairs" } else { "runs a cohort" };
        add(
            "level_not_reached",
            format!(
                "the interval's level is {:.2} %, not {:.0} %: that needs {} {what}",
                100.0 * interval.true_level,
                100.0 * interval.level,
                interval.runs_needed_for_level.unwrap_or_default()
            ),
        );
    }
    let decided = matches!(c.verdict, "candidate_faster" | "candidate_slower");
    if let Some(welch) = c.tests.as_ref().and_then(|t| t.welch_log).filter(|_| decided && d.spreads_differ)
        && welch.p > 0.05
    {
        add(
            "opinions_differ",
            format!("Welch's t-test, which minds the spreads, is not convinced (p = {:.3})", welch.p),
        );
    }
    cautions
}

/// Times that change from run to run.
pub(super) fn drifts(drift: &DriftOut) -> Option<Caution> {
    let much = drift.percent_per_run.is_none_or(|p| p.abs() >= DRIFT_PERCENT);
    let slope = drift.percent_per_run.map_or_else(|| signed(drift.ns_per_run), |p| format!("{p:+.2} %"));
    (drift.p <= DRIFT_P && much).then(|| Caution {
        code: "drift",
        message: format!("the times drift by {slope} a run (p = {:.3}), whichever the cohort", drift.p),
    })
}

/// Runs of several machines.
pub(super) fn several_hosts(hosts: &[HostOut]) -> Option<Caution> {
    let message = || format!("the runs are from {} machines", hosts.len());
    (hosts.len() > 1).then(|| Caution { code: "mixed_hosts", message: message() })
}

/// Runs that stand apart.
pub(super) fn apart(outliers: usize, runs: usize) -> Option<Caution> {
    let (stand, they) = if outliers == 1 { ("stands", "it was") } else { ("stand", "they were") };
    (outliers > 0).then(|| Caution {
        code: "outliers",
        message: format!("{} of {} runs {stand} apart; {they} kept", count(outliers as u64), count(runs as u64)),
    })
}
