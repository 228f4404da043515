//! The comparison for a person at a terminal.
//! In: the document. Out: text, 100 columns wide at most but for labels. Left to neighbours: the numbers, and what all
//! readers are told alike (`words`).

use std::fmt::Write;

use super::headline::signed;
use super::words::{self, List};
use super::{CohortOut, Comparison};
use crate::output::terminal::{Style, grid, section, wrap};
use crate::text::{duration, printable, shorten_to};

/// Rows of a list.
const ROWS: usize = 10;
/// Longest label.
const LABEL: usize = 128;
/// Letters of the sequence.
const LETTERS: usize = 40;

/// The comparison as text.
pub fn text(c: &Comparison, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.verdict(c.verdict, &lines(&c.headline, 2)));
    for caution in &c.cautions {
        let _ = writeln!(out, "  {}", mind(style, &caution.message));
    }
    reasons(&mut out, style, "Why there is no verdict", &c.reasons);
    section(&mut out, style, "Wall time of the measured region", 1, 1);
    let rows = [
        cohort("baseline", c.baseline_implementation_id.as_deref(), &c.baseline),
        cohort("candidate", c.candidate_implementation_id.as_deref(), &c.candidate),
    ];
    grid(&mut out, style, &["cohort", "runs", "median", "p95", "MAD"], &rows);
    if let Some(how) = words::how(c) {
        let _ = writeln!(out, "  {}", lines(&how, 4));
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
        let needed: Vec<String> =
            words::needed(&sensitivity.runs_needed).iter().map(|(effect, runs)| format!("{effect}: {runs}")).collect();
        let needed = format!("{} to show a change of {}", words::runs(c), needed.join(", "));
        let _ = writeln!(out, "  {}", style.dim(&lines(&needed, 4)));
    }
    let d = &c.design;
    let order = format!(
        "order {} {}, drift {}",
        letters(&d.sequence),
        d.order.unwrap_or("unknown"),
        words::drift(d.drift.as_ref())
    );
    let _ = writeln!(out, "  {}", style.dim(&lines(&order, 4)));
    for list in words::lists(c) {
        changes(&mut out, style, c, &list);
    }
    values(&mut out, style, c);
    out
}

/// A sentence in lines, harmless for a terminal.
pub(super) fn lines(text: &str, indent: usize) -> String {
    // A number and its percent sign stay together.
    const TOGETHER: &str = "\u{a0}%";
    let text = printable(text).replace(" %", TOGETHER);
    wrap(&text.split(' ').collect::<Vec<_>>(), " ", indent).replace(TOGETHER, " %")
}

/// Something to mind.
pub(super) fn mind(style: Style, message: &str) -> String {
    // The word is set off by itself: what follows is wrapped as if it had no colour.
    let text = lines(&format!("mind: {message}"), 4);
    format!("{}{}", style.warning("mind:"), text.strip_prefix("mind:").unwrap_or(&text))
}

/// Why there is not what was asked for.
pub(super) fn reasons(out: &mut String, style: Style, title: &str, reasons: &[super::ReasonOut]) {
    if reasons.is_empty() {
        return;
    }
    section(out, style, title, reasons.len(), reasons.len());
    for reason in reasons {
        let _ = writeln!(out, "  {}", lines(&format!("{}: {}", reason.code, reason.message), 4));
    }
}

/// A cohort's row.
pub(super) fn cohort(name: &str, id: Option<&str>, of: &CohortOut) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map_or("-".to_owned(), duration);
    let name = printable(&shorten_to(&words::cohort(name, id), LABEL));
    vec![name, of.samples_ns.len().to_string(), time(of.median_ns), time(of.p95_ns), time(of.mad_ns)]
}

/// The first cohorts in the order of the runs, and how many runs there are if these are not all.
fn letters(sequence: &str) -> String {
    let runs = sequence.chars().count();
    let first: String = sequence.chars().take(LETTERS).collect();
    if runs > LETTERS { format!("{first}… ({runs} runs)") } else { first }
}

fn changes(out: &mut String, style: Style, c: &Comparison, list: &List<'_>) {
    let value = |v: Option<f64>| v.map_or("-".to_owned(), |v| list.unit.show(v));
    let runs = (c.inputs.baseline.len(), c.inputs.candidate.len());
    let tested = list.lines.iter().any(|line| line.change.p.is_some());
    let row = |line: &words::Line<'_>| {
        let change = line.change;
        let mut cells = vec![
            printable(&shorten_to(&line.name, LABEL)),
            value(change.baseline.median),
            value(change.candidate.median),
            change.median_delta.map_or("-".to_owned(), |delta| list.unit.signed(delta)),
        ];
        if tested {
            cells.push(words::interval(change, list.unit, runs));
            cells.push(change.p_holm.map_or("-".to_owned(), |p| format!("{p:.3}")));
        }
        cells
    };
    let rows: Vec<Vec<String>> = list.lines.iter().take(ROWS).map(row).collect();
    section(out, style, list.title, rows.len(), list.total);
    let header = [list.column, "baseline", "candidate", "change", "interval", "p (Holm)"];
    grid(out, style, &header[..if tested { 6 } else { 4 }], &rows);
}

fn values(out: &mut String, style: Style, c: &Comparison) {
    let stats = &c.tensor_stats;
    if stats.matched.is_empty() {
        return;
    }
    let ratio = |r: Option<f64>| r.map_or("-".to_owned(), |r| format!("{r:.4}"));
    let row = |t: &super::TensorRow| {
        let non_finite = format!("{} / {}", t.non_finite_a, t.non_finite_b);
        vec![printable(&shorten_to(&t.label, LABEL)), ratio(t.rms_ratio), ratio(t.abs_max_ratio), non_finite]
    };
    let rows: Vec<Vec<String>> = stats.matched.iter().take(ROWS).map(row).collect();
    section(out, style, "Values", rows.len(), stats.matched_cut.total);
    grid(out, style, &["label", "rms ratio", "abs max ratio", "non-finite"], &rows);
}
