//! The top of the page: what ran, how long it took, whether to trust it, and what it ran on.
//! In: the overview. Out: a title, a few sentences, a table of facts. Left to neighbours: the costs (`cost`).

use super::Source;
use super::markdown::{label, sentence, several, word};
use super::page::{Page, Table, kind, sql};
use crate::error::Result;
use crate::evidence::Row as First;
use crate::output::documents::TOOL;
use crate::text::{bytes, count, duration};

/// Findings repeated at the top.
const FOREMOST: usize = 2;
/// Tags shown.
const TAGS: usize = 20;

/// `training update 3`, `inference 3`.
fn what(source: &Source<'_>) -> String {
    let p = &source.overview.provenance;
    format!("{} {}", if p.phase == "train" { "training update" } else { "inference" }, p.capture_step)
}

/// What a host time of this run is.
fn meaning(source: &Source<'_>) -> String {
    let p = &source.overview.provenance;
    let device = label(&source.evidence.trace.run.device);
    if p.device == "cpu" {
        return "On the CPU an operation is done when its call returns, so host time holds the work.".to_owned();
    }
    match (p.timing_mode, p.measured_region_device_synchronized) {
        ("host", false) => format!(
            "The program did not synchronize {device}: this is the time the host took, and launched work may have run \
             on after it."
        ),
        ("host", true) => format!(
            "The program synchronized {device} right before and after it, so the whole covers the device's work; the \
             times of spans and operations inside are launch times."
        ),
        _ => format!("The program synchronized {device} at every span, so that span times cover the device's work."),
    }
}

/// Title, caution, sentences, what stands out.
pub(super) fn summary(page: &mut Page, source: &Source<'_>) -> Result<()> {
    let o = source.overview;
    let p = &o.provenance;
    // Not the overview's texts, which are cut already: what is cut twice states a wrong length.
    let run = &source.evidence.trace.run;
    page.heading(1, &format!("{} · {}", label(&run.entrypoint), what(source)));
    if !source.sound {
        page.caution(&trouble(source)?);
    }
    let mut sentences =
        vec![format!("{} of {} ran on {}.", capital(&what(source)), label(&run.entrypoint), label(&run.device))];
    match &o.timing {
        Some(timing) => {
            let wall = duration(timing.outer_wall_time_ns as f64);
            sentences.push(format!("Its measured region took **{wall}** of host wall time. {}", meaning(source)));
        }
        None if !source.sound => sentences.push("How long it took is not derived from such a capture.".to_owned()),
        None => {
            let why = o.timing_unavailable_reason.as_deref().unwrap_or("the trace has no measured region");
            sentences.push(format!("How long it took is not recorded: {}.", sentence(why)));
        }
    }
    if source.sound {
        let warned = match o.health.warning_count {
            0 => "without a warning".to_owned(),
            n => format!("with {}", several(n as u64, "warning", "warnings")),
        };
        sentences.push(format!("The capture is **complete** and **valid**: every structural check passed, {warned}."));
    }
    if p.events_lost > 0 {
        let lost = several(
            p.events_lost.unsigned_abs(),
            "fact that the program handed it",
            "facts that the program handed it",
        );
        sentences.push(format!("The recorder refused or lost {lost}."));
    }
    if !source.extra.removed.is_empty() {
        sentences
            .push("Private details were removed before publication; which ones is said under *What ran*.".to_owned());
    }
    page.paragraph(&sentences.join(" "));
    page.points(&foremost(source));
    page.again(&["`candle-graph overview BUNDLE`".to_owned()]);
    page.paragraph(
        "A line that begins with ↳ holds the commands that give the numbers above it again; BUNDLE stands for the path of \
         this bundle.",
    );
    Ok(())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Why a capture carries no rankings.
fn trouble(source: &Source<'_>) -> Result<Vec<String>> {
    let o = source.overview;
    let mut lines = Vec::new();
    let reason = source.evidence.trace.run.reason.as_deref().map(|r| format!(": {}", sentence(r))).unwrap_or_default();
    match o.provenance.outcome {
        "failed" => lines.push(format!("**The program ended this capture as failed**{reason}.")),
        "interrupted" => lines.push(format!("**This capture was cut off before it ended**{reason}.")),
        _ => {}
    }
    if !o.health.structurally_valid {
        let errors = several(o.health.error_count as u64, "structural error", "structural errors");
        let first = o.health.issues.rows.first().map(|i| format!(", first `{}`: {}", i.code, sentence(&i.message)));
        lines.push(format!("**This capture is not valid**: {errors}{}.", first.unwrap_or_default()));
    }
    if let Some(first) = first_not_finite(source)? {
        lines.insert(0, format!("**The numbers diverged**: {first}."));
    }
    lines.push(
        "Times, rankings and findings are derived only from a complete, valid capture: they are not shown. What was \
         recorded is, so that the failure can be explained."
            .to_owned(),
    );
    Ok(lines)
}

/// The first value that is not finite, in words.
fn first_not_finite(source: &Source<'_>) -> Result<Option<String>> {
    let counted = source.overview.counts.tensor_stat_non_finite_events > 0;
    if !counted && !source.evidence.has_gradients("non_finite")? {
        return Ok(None);
    }
    let first = First::first(&source.evidence.top("first_non_finite")?);
    let place = match first.text("span_name") {
        span if span.is_empty() => String::new(),
        span => format!(" in {}", label(&span)),
    };
    let what = || format!("{}{place} is the first recorded value that is not finite", label(&first.text("label")));
    Ok(first.exists().then(what))
}

/// The findings that matter most: the first ones.
fn foremost(source: &Source<'_>) -> Vec<String> {
    let findings = source.overview.findings.rows.iter().take(FOREMOST);
    // A name keeps its first letter.
    let said = |summary: &str| match summary.starts_with('`') {
        true => format!("{}.", sentence(summary)),
        false => format!("{}.", capital(&sentence(summary))),
    };
    findings.map(|f| said(&f.summary)).collect()
}

/// Facts of the run, then what a bundle carries beside the trace.
pub(super) fn what_ran(page: &mut Page, source: &Source<'_>) {
    let (facts, missing) = facts(source);
    let mut table = Table::new(&["fact", "recorded"]);
    let total = facts.len();
    facts.into_iter().for_each(|(fact, recorded)| table.push(vec![fact, recorded]));
    page.list_within(6 << 10, "", total, table);
    if !missing.is_empty() {
        page.paragraph(&format!("Not recorded, because this trace does not carry it: {}.", missing.join(", ")));
    }
    page.again(&["`candle-graph sql BUNDLE 'SELECT * FROM run'`".to_owned()]);
    let mut files = Table::new(&["file", ">size"]);
    let supplied = source.evidence.trace.nsight.as_ref().map_or(&[][..], |supplied| &supplied.files);
    supplied.iter().take(20).for_each(|f| files.push(vec![label(&f.path), bytes(f.bytes as f64)]));
    page.list("**Nsight files**, supplied and carried unchanged.", supplied.len(), files);
    let mut removed = Table::new(&["removed", ">places"]);
    source.extra.removed.iter().take(20).for_each(|(n, places)| removed.push(vec![label(n), count(*places as u64)]));
    page.list("**Removed before publication**, everywhere in this bundle.", source.extra.removed.len(), removed);
}

/// What is recorded of the run, and the names of what is not.
fn facts(source: &Source<'_>) -> (Vec<(String, String)>, Vec<&'static str>) {
    let p = &source.overview.provenance;
    let run = &source.evidence.trace.run;
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut missing = Vec::new();
    let mut fact = |name: &str, recorded: String| facts.push((name.to_owned(), recorded));
    fact("run", label(&p.run_id));
    fact("correlation", label(&run.correlation_id));
    fact("what", format!("{} after {}", what(source), several(p.warmup_steps.unsigned_abs(), "warm-up", "warm-ups")));
    fact("started", word(&p.timestamp));
    fact("device", word(&run.device));
    let synchronized = if p.measured_region_device_synchronized { "" } else { "not " };
    fact("timing", format!("{}; device {synchronized}synchronized around the region", word(p.timing_mode)));
    fact(
        "ended",
        match p.ended_ns {
            Some(ns) => format!("{}, {} after the session opened", p.outcome, duration(ns as f64)),
            None => format!("{}; when is not recorded", p.outcome),
        },
    );
    fact("scope claimed", word(run.contract.measurement_scope.as_str()));
    let c = &source.overview.counts.events;
    let holds = [
        (c.spans, "span", "spans"),
        (c.operations, "operation", "operations"),
        (c.tensors, "tensor", "tensors"),
        (c.tensor_stats, "statistic", "statistics"),
        (c.gradients, "gradient", "gradients"),
        (c.memory_events, "memory event", "memory events"),
        (c.device_memory_samples, "memory checkpoint", "memory checkpoints"),
        (c.device_intervals, "device interval", "device intervals"),
    ];
    let holds = holds.iter().filter(|(n, ..)| *n > 0).map(|(n, one, many)| several(*n, one, many));
    fact("holds", holds.collect::<Vec<_>>().join(", "));
    let recorder = [
        p.candle_graph_version.as_ref().map(|v| format!("candle-graph {}", word(v))),
        p.build_profile.as_deref().map(word),
        p.toolchain.as_deref().map(word),
    ];
    let recorder = recorder.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let known = [
        ("recorder", Some(recorder).filter(|r| !r.is_empty())),
        ("candle version", p.candle_version.as_deref().map(word)),
        ("git revision", p.git_revision.as_deref().map(label)),
        ("operating system", p.os.as_deref().map(word)),
        ("CPU", p.cpu_model.as_deref().map(word)),
        ("logical cores", p.logical_cores.map(count)),
    ];
    for (name, recorded) in known {
        match recorded {
            Some(recorded) => fact(name, recorded),
            None => missing.push(name),
        }
    }
    if let Some(identity) = &run.identity {
        let stated = [
            ("workload", &identity.workload_id),
            ("model", &identity.model_id),
            ("configuration", &identity.config_id),
            ("data", &identity.data_id),
            ("seed policy", &identity.seed_policy),
            ("precision", &identity.precision),
        ];
        stated.iter().for_each(|(name, text)| fact(name, label(text)));
        let [batch, accumulated] = [identity.physical_batch, identity.accumulation_steps].map(count);
        fact("batch", format!("{batch}, accumulated over {accumulated}"));
    }
    run.tags.iter().take(TAGS).for_each(|(key, tag)| fact(&format!("tag {}", label(key)), label(tag)));
    if run.tags.len() > TAGS {
        fact("more tags", count((run.tags.len() - TAGS) as u64));
    }
    fact("this page", format!("{} {}", TOOL.package, TOOL.version));
    (facts, missing)
}

/// The commands behind the measured region's time.
pub(super) fn region_commands() -> Vec<String> {
    vec![sql("outer_wall"), kind("steps")]
}
