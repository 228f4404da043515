//! Findings and gaps: what stands out, and what cannot be known.
//! In: an examined trace. Out: findings that name their rows and the capability they need; gaps as sentences.
//! Left to neighbours: the queries behind them. Absent evidence yields a gap, never a finding.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::health::{Health, Severity};
use crate::error::Result;
use crate::text::shorten;

use super::{Capability, Evidence, Level, Row};

/// One thing that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub code: &'static str,
    /// Level of the weakest capability it rests on.
    pub qualification: Level,
    /// Capabilities it rests on.
    pub requires: Vec<&'static str>,
    /// The row it rests on.
    pub source: String,
    pub summary: String,
}

/// Nanoseconds as milliseconds with two digits, for sentences.
fn ms(ns: i64) -> String {
    format!("{:.2} ms", ns as f64 / 1e6)
}

pub(super) fn derive(evidence: &Evidence) -> Result<Vec<Finding>> {
    let first = |name| evidence.top(name).map(|rows| Row::first(&rows));
    let level = |name: &str| evidence.capabilities.get(name).map_or(Level::Unavailable, |c| c.level);
    let mut findings = Vec::new();
    let slowest = first("slowest_host")?;
    if slowest.exists() {
        findings.push(Finding {
            code: "largest_observed_host_self_time",
            qualification: level("nested_host_time"),
            requires: vec!["nested_host_time"],
            source: slowest.text("id"),
            summary: format!(
                "`{}` has the longest self time in the measured region: {} of its {} are outside its child spans",
                shorten(&slowest.text("name")),
                ms(slowest.int("measured_overlap_self_time_ns")),
                ms(slowest.int("full_duration_ns")),
            ),
        });
    }
    let op = first("op_names")?;
    if op.exists() {
        findings.push(Finding {
            code: "dominant_operation",
            qualification: level("operation_coverage"),
            requires: vec!["operation_coverage"],
            source: format!("op:{}", shorten(&op.text("name"))),
            summary: format!(
                "`{}` takes {} over {} {}, {:.0}% of the host time of all recorded operations; host time is not device time",
                shorten(&op.text("name")),
                ms(op.int("total_ns")),
                op.int("calls"),
                if op.int("calls") == 1 { "call" } else { "calls" },
                op.opt_float("share").unwrap_or(0.0) * 100.0,
            ),
        });
    }
    let stats = first("tensor_stat_totals")?;
    let non_finite = stats.int("non_finite_events");
    if non_finite > 0 {
        let seen = first("non_finite_stats")?;
        findings.push(Finding {
            code: "non_finite_values",
            qualification: Level::Partial,
            requires: vec!["tensor_coverage"],
            source: seen.text("span_id"),
            summary: format!(
                "`{}` in `{}` is the first of {non_finite} tensor statistics ({} recorded) with NaN or infinite elements: {} of {}",
                shorten(&seen.text("label")),
                shorten(&seen.text("span_name")),
                stats.int("events"),
                seen.int("non_finite"),
                seen.int("elements"),
            ),
        });
    }
    Ok(findings)
}

/// Absences that no capability speaks of.
const STEPS: [&str; 3] = ["forward_absent", "backward_absent", "optimizer_absent"];

pub(super) fn gaps(health: &Health, capabilities: &BTreeMap<&'static str, Capability>) -> Vec<String> {
    let lacking = |c: &&Capability| matches!(c.level, Level::Unavailable | Level::Invalid);
    // An absent plane is said once, by its capability; only the steps of an update have none.
    let said_below = |code: &str| code.ends_with("_absent") && !STEPS.contains(&code);
    let warnings = health.issues.iter().filter(|i| i.severity == Severity::Warning && !said_below(i.code));
    let of_health = warnings.map(|i| i.message.clone());
    // How the capture ended is a warning already.
    let said_above = |reason: &String| reason.starts_with("health code capture_");
    let of_planes = capabilities.values().filter(lacking).map(|c| c.reason.clone()).filter(|r| !said_above(r));
    of_health.chain(of_planes).collect::<BTreeSet<String>>().into_iter().collect()
}
