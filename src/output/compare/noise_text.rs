//! The noise of one cohort for a person at a terminal.
//! In: the document. Out: text, 100 columns wide at most but for labels. Left to neighbours: the numbers (`noise`).

use std::fmt::Write;

use super::noise::Noise;
use super::text::{cohort, lines, mind, reasons};
use super::words::{self, Unit};
use crate::output::terminal::{Style, grid, section};
use crate::text::count;

/// The document as text.
pub fn noise_text(n: &Noise, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.verdict(n.verdict, &lines(&n.headline, 2)));
    for caution in &n.cautions {
        let _ = writeln!(out, "  {}", mind(style, &caution.message));
    }
    reasons(&mut out, style, "Why there is no noise floor", &n.reasons);
    section(&mut out, style, "Wall time of the measured region", 1, 1);
    let mut rows = vec![cohort("all runs", n.implementation_id.as_deref(), &n.cohort)];
    if let Some(halves) = &n.halves {
        rows.push(cohort("first half (A)", None, &halves.first));
        rows.push(cohort("second half (B)", None, &halves.second));
    }
    grid(&mut out, style, &["cohort", "runs", "median", "p95", "MAD"], &rows);
    if let Some(halves) = &n.halves {
        let i = &halves.confidence_interval;
        let said = format!(
            "B less A: {}, {} ({:.2} % interval), Mann-Whitney p = {:.4}",
            Unit::Time.signed(halves.median_delta_ns),
            Unit::Time.range(i.lower_delta_ns, i.upper_delta_ns),
            100.0 * i.true_level,
            halves.rank_p
        );
        let _ = writeln!(out, "  {}", lines(&said, 4));
    }
    if let Some(noise) = &n.noise {
        let which = match noise.seed {
            None => format!("all {} splits into halves", count(noise.splits)),
            Some(seed) => format!("{} random splits into halves (seed {seed})", count(noise.splits)),
        };
        let said = format!(
            "{which}: median {:.2} %, 95th percentile {:.2} %, largest {:.2} %",
            noise.median_percent, noise.p95_percent, noise.max_percent
        );
        let _ = writeln!(out, "  {}", lines(&said, 4));
    }
    if !n.runs_needed.is_empty() {
        let needed: Vec<String> =
            words::needed(&n.runs_needed).iter().map(|(effect, runs)| format!("{effect}: {runs}")).collect();
        let needed = format!("runs a cohort to show a change of {}", needed.join(", "));
        let _ = writeln!(out, "  {}", style.dim(&lines(&needed, 4)));
    }
    let _ = writeln!(out, "  {}", style.dim(&format!("drift {}", words::drift(n.drift.as_ref()))));
    for id in n.outliers.iter().take(10) {
        let _ = writeln!(out, "  {}", style.dim(&lines(&format!("stands apart: {id}"), 4)));
    }
    out
}
