//! The comparison for a person at a terminal.
//! In: the document. Out: text, 100 columns wide at most but for labels. Left to neighbours: the numbers.

use std::fmt::Write;

use super::headline::signed;
use super::{Change, Comparison};
use crate::output::documents::Bounded;
use crate::output::terminal::{Style, grid, section};
use crate::text::{bytes, duration, printable, shorten_to};

/// Rows of a list.
const ROWS: usize = 10;
/// Longest label.
const LABEL: usize = 128;

/// The comparison as text.
pub fn text(c: &Comparison, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.verdict(c.verdict, &printable(&c.headline)));
    for caution in &c.cautions {
        let _ = writeln!(out, "  {} {}", style.level("partial"), printable(&caution.message));
    }
    if !c.reasons.is_empty() {
        section(&mut out, style, "Why there is no verdict", c.reasons.len(), c.reasons.len());
        for reason in &c.reasons {
            let _ = writeln!(out, "  {}: {}", reason.code, printable(&reason.message));
        }
    }
    section(&mut out, style, "Wall time of the measured region", 1, 1);
    let time = |ns: Option<f64>| ns.map_or("-".to_owned(), duration);
    let cohort = |name: &str, id: &Option<String>, of: &super::CohortOut| {
        let id = id.as_deref().map_or(String::new(), |id| format!(" ({id})"));
        let name = printable(&shorten_to(&format!("{name}{id}"), LABEL));
        vec![name, of.samples_ns.len().to_string(), time(of.median_ns), time(of.p95_ns), time(of.mad_ns)]
    };
    let rows = [
        cohort("baseline", &c.baseline_implementation_id, &c.baseline),
        cohort("candidate", &c.candidate_implementation_id, &c.candidate),
    ];
    grid(&mut out, style, &["cohort", "runs", "median", "p95", "MAD"], &rows);
    if let Some(interval) = &c.confidence_interval {
        let _ = writeln!(
            out,
            "  {}: {} to {}, {} ({} {:.2} %)",
            interval.statistic.replace('_', " "),
            signed(interval.lower_delta_ns),
            signed(interval.upper_delta_ns),
            interval.method.replace('_', " "),
            interval.true_level_kind.replace('_', " "),
            100.0 * interval.true_level,
        );
    }
    if let Some(tests) = &c.tests {
        let _ = writeln!(
            out,
            "  {} p = {:.4} ({}), Hodges-Lehmann {}, permutation p = {:.4}",
            tests.rank_test.replace('_', " "),
            tests.rank_p,
            tests.rank_p_kind.replace('_', " "),
            signed(tests.shift_ns),
            tests.permutation_p
        );
    }
    if let Some(sensitivity) = &c.sensitivity {
        let needed = |n: &super::RunsNeeded| {
            let runs = n.runs.map_or("over a million".to_owned(), |r| r.to_string());
            format!("{} %: {runs}", n.effect_percent)
        };
        let needed: Vec<String> = sensitivity.runs_needed.iter().map(needed).collect();
        let what = if c.paired { "pairs" } else { "runs a cohort" };
        let _ = writeln!(out, "{}", style.dim(&format!("  {what} to show a change of {}", needed.join(", "))));
    }
    let d = &c.design;
    let drift = d.drift.map_or("unknown".to_owned(), |drift| {
        let slope = drift.percent_per_run.map_or_else(|| signed(drift.ns_per_run), |p| format!("{p:+.2} %"));
        format!("{slope} a run (p = {:.3})", drift.p)
    });
    let order = format!("  order {} {}, drift {drift}", shorten_to(&d.sequence, LABEL), d.order.unwrap_or("unknown"));
    let _ = writeln!(out, "{}", style.dim(&order));
    let times = |ns: f64| duration(ns);
    changes(&mut out, style, "Own time by label", &c.labels, times, |row| (row.label.clone(), &row.change));
    changes(&mut out, style, "Operations", &c.operations, times, |row| {
        (format!("{} {:?} {}", row.name, row.shape, row.dtype), &row.change)
    });
    changes(&mut out, style, "Memory", &c.memory, bytes, |row| (row.label.clone(), &row.change));
    let numerics = &c.tensor_stats;
    if !numerics.matched.is_empty() {
        let ratio = |r: Option<f64>| r.map_or("-".to_owned(), |r| format!("{r:.4}"));
        let rows: Vec<Vec<String>> = numerics
            .matched
            .iter()
            .take(ROWS)
            .map(|t| {
                let non_finite = format!("{} / {}", t.non_finite_a, t.non_finite_b);
                let label = printable(&shorten_to(&t.label, LABEL));
                vec![label, ratio(t.rms_ratio), ratio(t.abs_max_ratio), non_finite]
            })
            .collect();
        section(&mut out, style, "Values", rows.len(), numerics.matched_cut.total);
        grid(&mut out, style, &["label", "rms ratio", "abs max ratio", "non-finite"], &rows);
    }
    out
}

fn changes<R>(
    out: &mut String,
    style: Style,
    title: &str,
    list: &Bounded<R>,
    unit: impl Fn(f64) -> String,
    row: impl Fn(&R) -> (String, &Change),
) {
    if list.rows.is_empty() {
        return;
    }
    let value = |v: Option<f64>| v.map_or("-".to_owned(), &unit);
    let with_sign = |v: f64| format!("{}{}", if v < 0.0 { "-" } else { "+" }, unit(v.abs()));
    let rows: Vec<Vec<String>> = list
        .rows
        .iter()
        .take(ROWS)
        .map(|r| {
            let (name, change) = row(r);
            let interval = match (&change.confidence_interval, change.without_interval) {
                (Some(b), _) => format!("{} … {}", with_sign(b.lower_delta), with_sign(b.upper_delta)),
                (None, why) => why.unwrap_or("-").replace('_', " "),
            };
            vec![
                printable(&shorten_to(&name, LABEL)),
                value(change.baseline.median),
                value(change.candidate.median),
                change.median_delta.map_or("-".to_owned(), with_sign),
                interval,
                change.p_holm.map_or("-".to_owned(), |p| format!("{p:.3}")),
            ]
        })
        .collect();
    section(out, style, title, rows.len(), list.total);
    grid(out, style, &["", "baseline", "candidate", "delta", "interval", "p (Holm)"], &rows);
}
