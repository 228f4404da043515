//! A comparison as a Markdown page: what the HTML page says, its picture as a strip of text.
//! In: the document, and how it was asked for. Out: GitHub-flavoured Markdown of bounded size. Left to neighbours: text of
//! a trace as Markdown (`report::markdown`), words (`words`).

use super::words::{self, Unit};
use super::{Comparison, Request, strip};
use crate::output::report::markdown::{ABSENT, label, sentence, value, word};
use crate::output::report::page::{Page, Table};
use crate::text::{count, duration};

/// Rows of a list.
const ROWS: usize = 25;
/// Runs of the table of inputs.
const INPUTS: usize = 200;
/// Letters of the sequence.
const LETTERS: usize = 120;

/// The page.
pub(super) fn render(c: &Comparison, request: &Request) -> String {
    let mut page = Page::default();
    let (verdict, rest) = words::verdict(c);
    page.heading(1, &sentence(verdict));
    page.paragraph(&sentence(rest));
    if let Some(strip) = strip::text(c) {
        page.paragraph(&format!("```text\n{strip}```"));
    }
    if let Some(how) = words::how(c) {
        page.paragraph(&format!("Interval: {}.", sentence(&how)));
    }
    if !c.cautions.is_empty() {
        let cautions: Vec<String> =
            c.cautions.iter().map(|caution| sentence(&format!("{}.", caution.message))).collect();
        page.caution(&cautions);
    }
    if !c.reasons.is_empty() {
        page.heading(2, "Why there is no verdict");
        let reasons: Vec<String> =
            c.reasons.iter().map(|r| format!("`{}`: {}", r.code, sentence(&r.message))).collect();
        page.points(&reasons);
    }
    cohorts(&mut page, c);
    changes(&mut page, c);
    values(&mut page, c);
    design(&mut page, c);
    opinions(&mut page, c);
    inputs(&mut page, c);
    page.heading(2, "The numbers");
    let [command, labels, operations] = words::commands(request);
    page.paragraph(&[command, labels, operations].map(|command| label_of_command(&command)).join("\n\n"));
    page.finish()
}

/// A command that a reader can copy, unless its paths hold what ends code.
fn label_of_command(command: &str) -> String {
    if command.contains('`') { sentence(command) } else { format!("`{command}`") }
}

fn absent_or(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| ABSENT.to_owned())
}

fn cohorts(page: &mut Page, c: &Comparison) {
    page.heading(2, "Wall time of the measured region");
    let time = |ns: Option<f64>| absent_or(ns.map(duration));
    let mut table = Table::new(&["cohort", "implementation", ">runs", ">median", ">p95", ">MAD"]);
    for (name, id, of) in [
        ("baseline", &c.baseline_implementation_id, &c.baseline),
        ("candidate", &c.candidate_implementation_id, &c.candidate),
    ] {
        let id = absent_or(id.as_deref().map(label));
        let runs = count(of.samples_ns.len() as u64);
        table.push(vec![name.to_owned(), id, runs, time(of.median_ns), time(of.p95_ns), time(of.mad_ns)]);
    }
    page.list("One sample is one run of the program.", 2, table);
    if let Some(i) = &c.identity {
        page.paragraph(&format!(
            "Workload {}, model {}, configuration {}, data {}, seeds {}, batch {} × {}, {}, on {}.",
            label(&i.workload_id),
            label(&i.model_id),
            label(&i.config_id),
            label(&i.data_id),
            label(&i.seed_policy),
            count(i.physical_batch),
            count(i.accumulation_steps),
            word(&i.precision),
            label(&i.device_state)
        ));
    }
}

fn changes(page: &mut Page, c: &Comparison) {
    let runs = (c.inputs.baseline.len(), c.inputs.candidate.len());
    for list in words::lists(c) {
        page.heading(2, list.title);
        let mut table = Table::new(&[list.column, ">baseline", ">candidate", ">change", ">", ">interval", ">p (Holm)"]);
        for line in list.lines.iter().take(ROWS) {
            let change = line.change;
            let show = |v: Option<f64>| absent_or(v.map(|v| list.unit.show(v)));
            table.push(vec![
                label(&line.name),
                show(change.baseline.median),
                show(change.candidate.median),
                absent_or(change.median_delta.map(|d| list.unit.signed(d))),
                absent_or(change.median_delta_percent.map(|p| format!("{p:+.1} %"))),
                words::interval(change, list.unit, runs),
                absent_or(change.p_holm.map(|p| format!("{p:.3}"))),
            ]);
        }
        page.list(list.about, list.total, table);
    }
}

fn values(page: &mut Page, c: &Comparison) {
    let stats = &c.tensor_stats;
    if stats.matched.is_empty() && stats.unmatched_a.total + stats.unmatched_b.total == 0 {
        return;
    }
    page.heading(2, "Values");
    let number = |v: Option<f64>| absent_or(v.map(value));
    let ratio = |v: Option<f64>| absent_or(v.map(|r| format!("{r:.4}")));
    let titles = ["label", ">rms, baseline", ">candidate", ">ratio", ">largest, ratio", ">not finite", ">runs"];
    let mut table = Table::new(&titles);
    for row in stats.matched.iter().take(ROWS) {
        let changed = if row.non_finite_changed { " **changed**" } else { "" };
        table.push(vec![
            label(&row.label),
            number(row.rms_a),
            number(row.rms_b),
            ratio(row.rms_ratio),
            ratio(row.abs_max_ratio),
            format!("{} / {}{changed}", row.non_finite_a, row.non_finite_b),
            format!("{} / {}", row.runs_a, row.runs_b),
        ]);
    }
    page.list("Candidate over baseline: 1 is no change.", stats.matched_cut.total, table);
    for (side, alone) in [("baseline", &stats.unmatched_a), ("candidate", &stats.unmatched_b)] {
        if alone.total > 0 {
            let names: Vec<String> = alone.rows.iter().take(ROWS).map(|name| label(name)).collect();
            let more = alone.total.saturating_sub(names.len()) as u64;
            let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
            page.paragraph(&format!("Only in the {side}: {}{more}.", names.join(", ")));
        }
    }
}

fn design(page: &mut Page, c: &Comparison) {
    let d = &c.design;
    page.heading(2, "Order of the runs");
    let total = d.sequence.chars().count();
    let letters: String = d.sequence.chars().take(LETTERS).collect();
    let more = if total > LETTERS { "…" } else { "" };
    let mut points =
        vec![format!("`{letters}`{more}, {} (A the baseline, B the candidate)", d.order.unwrap_or("unknown"))];
    points.push(sentence(&format!("drift {}", words::drift(d.drift.as_ref()))));
    if let Some(ratio) = d.spread_ratio {
        points.push(format!("spread of the candidate over the baseline’s: {ratio:.2}"));
    }
    let apart: Vec<String> =
        d.baseline_outliers.iter().chain(&d.candidate_outliers).take(ROWS).map(|id| label(id)).collect();
    if !apart.is_empty() {
        points.push(format!("runs that stand apart, and were kept: {}", apart.join(", ")));
    }
    for host in d.hosts.iter().take(ROWS) {
        let name = |text: &Option<String>| text.as_deref().map_or("not recorded".to_owned(), label);
        let (machine, processor) = (name(&host.host_name), name(&host.cpu_model));
        points.push(format!(
            "machine {machine}, processor {processor}: {} runs of the baseline, {} of the candidate",
            host.baseline_runs, host.candidate_runs
        ));
    }
    page.points(&points);
}

fn opinions(page: &mut Page, c: &Comparison) {
    let mut table = Table::new(&["test", ">p", "computed", "with"]);
    let all = words::tests(c);
    let tests = all.len();
    all.into_iter().for_each(|test| table.push(test.map(|cell| word(&cell)).to_vec()));
    if !table.is_empty() {
        page.heading(2, "Second opinions");
        page.list("The interval decides; none of these does.", tests, table);
    }
    let Some(s) = &c.sensitivity else { return };
    page.heading(2, "Runs needed");
    let least = s.smallest_change_percent.map_or_else(|| duration(s.smallest_change_ns), |p| format!("{p:.1} %"));
    let mut table = Table::new(&["change", ">runs"]);
    words::needed(&s.runs_needed).into_iter().for_each(|(effect, runs)| table.push(vec![effect, runs]));
    let caption = format!(
        "A change smaller than {least} would have been inconclusive. So many {} show a change four times in five:",
        words::runs(c)
    );
    page.list(&caption, s.runs_needed.len(), table);
}

fn inputs(page: &mut Page, c: &Comparison) {
    page.heading(2, "Runs");
    let mut table = Table::new(&[">run", "cohort", "pair", "started, UTC", ">wall time", "run id", "manifest"]);
    let dots = super::page::dots(c);
    for dot in dots.iter().take(INPUTS) {
        let run = dot.run;
        let manifest = run.manifest_sha256.as_deref().map(|sha| sha.get(..12).unwrap_or(sha));
        table.push(vec![
            dot.place.to_string(),
            dot.side.as_str().to_owned(),
            absent_or(run.pair_id.as_deref().map(label)),
            word(run.started_at.split('.').next().unwrap_or_default()),
            absent_or(run.outer_wall_time_ns.map(|ns| Unit::Time.show(ns as f64))),
            label(&run.run_id),
            absent_or(manifest.map(label)),
        ]);
    }
    let verified = match c.inputs.verification {
        "verified_bundles" => "Bundles, verified before they were read.",
        _ => "Raw traces: nothing proves that they are as they were recorded.",
    };
    page.list(verified, dots.len(), table);
}
