//! Findings and gaps: what stands out, and what cannot be known.
//! In: an examined trace. Out: findings that name a problem, the rows it rests on, the capability it needs and what to do
//! next; gaps as sentences. Left to neighbours: the queries behind them. Absent evidence yields a gap, never a finding.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;

use crate::analysis::health::{Health, Severity};
use crate::error::Result;
use crate::text::{bytes, duration, shorten};

use super::{Capability, Evidence, Level, Row};

/// One thing that stands out.
#[derive(Clone, Debug)]
pub struct Finding {
    pub code: &'static str,
    /// Level of the weakest capability it rests on.
    pub qualification: Level,
    /// Capabilities it rests on.
    pub requires: Vec<&'static str>,
    /// The thing it is about: a span, an operation, a storage, a clock, a family.
    pub source: String,
    pub summary: String,
    /// The query whose rows it rests on.
    pub query: &'static str,
    /// Those rows.
    pub rows: Vec<RecordBatch>,
    /// The query kind to look at next, and why.
    pub next: (&'static str, &'static str),
}

/// Share of the host time of all operations from which one operation dominates: a third of a step is where halving it is
/// felt (Amdahl: 1 / (1 - 1/6) = 1.2x).
const DOMINANT: f64 = 1.0 / 3.0;
/// Share of the measured region below which the time of an operation is not felt.
const FELT: f64 = 0.05;
/// Share of the measured region that belongs to no step and no child span, from which something is missing in the picture.
const UNTRACKED: f64 = 0.10;
/// Share of the peak that one storage holds.
const PEAK_HOLDER: f64 = 1.0 / 3.0;
/// Share of its window in which a device clock was busy, below which the host could not keep it fed.
const STARVED: f64 = 0.5;

/// Share of a label's projected interval in which its GPU was busy, below which the GPU waited for the host more than it
/// worked.
const LAUNCH_BOUND: f64 = 0.5;
/// Share of a label's projected interval that its copies take while none of its kernels runs, from which copies are what
/// the label waits for.
const COPY_BOUND: f64 = 1.0 / 3.0;
/// Share of the GPU time outside every label from which the labels do not describe the step.
const OUTSIDE: f64 = 0.10;

/// A rule: the capabilities it needs, and what it finds where they hold.
struct Rule {
    requires: &'static [&'static str],
    /// The weakest level it can speak from.
    least: Level,
    /// Whether its query takes seconds on a trace of many events.
    deep: bool,
    find: fn(&Evidence) -> Result<Option<Found>>,
}

/// What a rule found.
struct Found {
    code: &'static str,
    source: String,
    summary: String,
    query: &'static str,
    rows: Vec<RecordBatch>,
    next: (&'static str, &'static str),
}

/// In the order in which they are shown.
const RULES: &[Rule] = &[
    Rule { requires: &[], least: Level::Partial, deep: false, find: non_finite },
    Rule { requires: &["gradient_coverage"], least: Level::Partial, deep: false, find: dead_family },
    Rule { requires: &["nested_host_time"], least: Level::Partial, deep: false, find: slowest },
    Rule { requires: &["operation_coverage"], least: Level::Partial, deep: false, find: dominant },
    Rule { requires: &["nested_host_time"], least: Level::Complete, deep: false, find: untracked },
    Rule { requires: &["logical_memory_coverage"], least: Level::Partial, deep: true, find: peak_holder },
    // Where some device work was not recorded, an idle clock may have been busy.
    Rule { requires: &["nested_device_time"], least: Level::Complete, deep: false, find: starved },
    Rule { requires: &["gpu_correlation"], least: Level::Partial, deep: false, find: launch_bound },
    Rule { requires: &["gpu_correlation"], least: Level::Partial, deep: false, find: copy_bound },
    Rule { requires: &["gpu_correlation"], least: Level::Partial, deep: false, find: outside_labels },
];

/// The queries whose rows findings rest on.
pub const FINDING_QUERIES: &[&str] = &[
    "first_non_finite",
    "gradient_families",
    "slowest_host",
    "op_names",
    "peak_storages_ranked",
    "device_busy",
    "gpu_phases",
    "gpu_attribution_totals",
];

/// Nanoseconds for sentences.
fn time(ns: i64) -> String {
    duration(ns as f64)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

fn calls(n: i64) -> String {
    format!("{n} {}", if n == 1 { "call" } else { "calls" })
}

/// The first row of a result, as evidence.
fn first_row(rows: &[RecordBatch]) -> Vec<RecordBatch> {
    rows.iter().find(|b| b.num_rows() > 0).map(|b| b.slice(0, 1)).into_iter().collect()
}

pub(super) fn derive(evidence: &Evidence, deep: bool) -> Result<Vec<Finding>> {
    let level = |name: &&'static str| evidence.capabilities.get(*name).map_or(Level::Unavailable, |c| c.level);
    let mut findings = Vec::new();
    for rule in RULES {
        // Statistics have no declared level: they are what the program chose to look at.
        let qualification = rule.requires.iter().map(level).min().unwrap_or(Level::Partial);
        if qualification < rule.least || (rule.deep && !deep) {
            continue;
        }
        if let Some(found) = (rule.find)(evidence)? {
            findings.push(Finding {
                code: found.code,
                qualification,
                requires: rule.requires.to_vec(),
                source: found.source,
                summary: found.summary,
                query: found.query,
                rows: found.rows,
                next: found.next,
            });
        }
    }
    Ok(findings)
}

fn slowest(evidence: &Evidence) -> Result<Option<Found>> {
    let rows = evidence.top("slowest_host")?;
    let row = Row::first(&rows);
    Ok(row.exists().then(|| Found {
        code: "largest_observed_host_self_time",
        source: row.text("id"),
        summary: format!(
            "`{}` has the longest self time in the measured region: {} of its {} are outside its child spans",
            shorten(&row.text("name")),
            time(row.int("measured_overlap_self_time_ns")),
            time(row.int("full_duration_ns")),
        ),
        query: "slowest_host",
        rows: first_row(&rows),
        next: ("hotspots", "see whether all spans of that name are slow, or one of them"),
    }))
}

fn dominant(evidence: &Evidence) -> Result<Option<Found>> {
    let rows = evidence.top("op_names")?;
    let op = Row::first(&rows);
    let share = op.opt_float("share").unwrap_or(0.0);
    // The largest part of next to nothing is no finding.
    let region = super::outer_wall(evidence)?.map_or(0, |region| region.duration_ns);
    let felt = op.int("total_ns") as f64 >= region as f64 * FELT;
    Ok((op.exists() && share >= DOMINANT && felt).then(|| Found {
        code: "dominant_operation",
        source: format!("op:{}", shorten(&op.text("name"))),
        summary: format!(
            "`{}` takes {} over {}, {} of the host time of all recorded operations; host time is not device time",
            shorten(&op.text("name")),
            time(op.int("total_ns")),
            calls(op.int("calls")),
            percent(share),
        ),
        query: "op_names",
        rows: first_row(&rows),
        next: ("ops", "see which shapes of it take the time"),
    }))
}

fn untracked(evidence: &Evidence) -> Result<Option<Found>> {
    let rows = evidence.top("slowest_host")?;
    let Some(region) = super::outer_wall(evidence)? else { return Ok(None) };
    // The measured span is among the first rows wherever its self time is large enough to matter.
    for batch in &rows {
        for index in 0..batch.num_rows().min(super::TOP) {
            let at = batch.slice(index, 1);
            let row = Row::first(std::slice::from_ref(&at));
            let own = row.int("measured_overlap_self_time_ns");
            let share = own as f64 / region.duration_ns.max(1) as f64;
            if row.text("id") == region.id && share >= UNTRACKED {
                return Ok(Some(Found {
                    code: "untracked_time",
                    source: region.id,
                    summary: format!(
                        "{} of the measured region's {} ({}) lie in none of its child spans: nobody can say what ran then",
                        time(own),
                        time(region.duration_ns),
                        percent(share),
                    ),
                    query: "slowest_host",
                    rows: vec![at],
                    next: ("critical-path", "see between which spans the time lies, and open spans there"),
                }));
            }
        }
    }
    Ok(None)
}

fn non_finite(evidence: &Evidence) -> Result<Option<Found>> {
    // Where it was is asked only if there is any: most traces have none, and to plan the walk takes longer than to count.
    let bad = Row::first(&evidence.top("tensor_stat_totals")?).int("non_finite_events");
    if bad == 0 && !evidence.has_gradients("non_finite")? {
        return Ok(None);
    }
    let rows = evidence.top("first_non_finite")?;
    let first = Row::first(&rows);
    Ok(first.exists().then(|| {
        let place = match first.text("span_name") {
            name if name.is_empty() => String::new(),
            name => format!(" in `{}`", shorten(&name)),
        };
        let amount = match (first.opt_int("non_finite"), first.opt_int("elements")) {
            (Some(bad), Some(all)) => format!(": {bad} of {all} elements"),
            _ => String::new(),
        };
        Found {
            code: "non_finite_values",
            source: first.text("span_id"),
            summary: format!(
                "`{}`{place} is the first recorded {} with NaN or infinite values{amount}",
                shorten(&first.text("label")),
                if first.text("kind") == "gradient" { "gradient" } else { "tensor statistic" },
            ),
            query: "first_non_finite",
            rows: first_row(&rows),
            next: ("first-non-finite", "see the last finite value before it and what it reached"),
        }
    }))
}

fn dead_family(evidence: &Evidence) -> Result<Option<Found>> {
    if !evidence.has_gradients("zero")? && !evidence.has_gradients("missing")? {
        return Ok(None);
    }
    let rows = evidence.top("gradient_families")?;
    let mut dead = Vec::new();
    for batch in &rows {
        for index in 0..batch.num_rows() {
            let at = batch.slice(index, 1);
            let row = Row::first(std::slice::from_ref(&at));
            let members = row.int("members");
            // An inactive family is meant to have none and a conditional one may; what was never recorded is a gap.
            let meant = ["inactive", "data_conditional"].contains(&row.text("expectation").as_str());
            if !meant && members > 0 && row.int("present") == 0 && row.int("zero") + row.int("missing") == members {
                dead.push((row.text("family"), row.text("root"), members, at));
            }
        }
    }
    let Some((family, root, members, _)) = dead.first().cloned() else { return Ok(None) };
    let (what, name) = if family.is_empty() { ("root", root) } else { ("family", family) };
    Ok(Some(Found {
        code: "dead_gradient_family",
        source: format!("{what}:{}", shorten(&name)),
        summary: format!(
            "no parameter of {what} `{}` ({members}) has a gradient{}: its values are zero or missing",
            shorten(&name),
            if dead.len() > 1 { format!(", nor in {} more", dead.len() - 1) } else { String::new() },
        ),
        query: "gradient_families",
        rows: dead.into_iter().map(|(_, _, _, at)| at).take(super::TOP).collect(),
        next: ("dead-gradients", "list the parameters; a fused operation without a backward cuts them off silently"),
    }))
}

fn peak_holder(evidence: &Evidence) -> Result<Option<Found>> {
    let rows = evidence.top("peak_storages_ranked")?;
    let row = Row::first(&rows);
    let share = row.opt_float("share").unwrap_or(0.0);
    Ok((row.exists() && share >= PEAK_HOLDER).then(|| Found {
        code: "peak_held_by_one_storage",
        source: row.text("storage_id"),
        summary: format!(
            "one {} storage of {}, allocated in `{}`, holds {} of the logical bytes live at the peak",
            row.text("category"),
            bytes(row.int("bytes") as f64),
            shorten(&row.text("allocation_span_name")),
            percent(share),
        ),
        query: "peak_storages_ranked",
        rows: first_row(&rows),
        next: ("memory", "see what else is live at the peak and how long it lives"),
    }))
}

fn starved(evidence: &Evidence) -> Result<Option<Found>> {
    let rows = evidence.top("device_busy")?;
    for batch in &rows {
        for index in 0..batch.num_rows() {
            let at = batch.slice(index, 1);
            let row = Row::first(std::slice::from_ref(&at));
            let Some(utilisation) = row.opt_float("utilisation") else { continue };
            if utilisation < STARVED && row.int("intervals") > 1 {
                let clock = format!("{}/{}", shorten(&row.text("device")), shorten(&row.text("clock_id")));
                return Ok(Some(Found {
                    code: "host_bound_device",
                    summary: format!(
                        "device clock {clock} was busy {} of the {} between its first and last interval ({}): the device waited \
                         for the host",
                        time(row.int("busy_ns")),
                        time(row.int("window_ns")),
                        percent(utilisation),
                    ),
                    source: clock,
                    query: "device_busy",
                    rows: vec![at],
                    next: ("device-idle", "see the longest gaps and the spans before and after them"),
                }));
            }
        }
    }
    Ok(None)
}

/// The row of `gpu_phases` with the longest projected interval of those that pass, each with its busy time known.
fn phase(evidence: &Evidence, passes: impl Fn(&Row, f64) -> bool) -> Result<Option<(RecordBatch, String)>> {
    if super::gpu::lacking_join(&evidence.trace).is_some() {
        return Ok(None);
    }
    let mut found: Option<(i64, RecordBatch, String)> = None;
    for batch in &evidence.top("gpu_phases")? {
        for index in 0..batch.num_rows() {
            let at = batch.slice(index, 1);
            let row = Row::first(std::slice::from_ref(&at));
            let (Some(projected), Some(_)) = (row.opt_int("projected_duration_ns"), row.opt_int("gpu_busy_ns")) else {
                continue;
            };
            let longest = found.as_ref().is_none_or(|(longest, _, _)| projected > *longest);
            if projected > 0 && longest && passes(&row, projected as f64) {
                let label = shorten(&row.text("label"));
                found = Some((projected, at, label));
            }
        }
    }
    Ok(found.map(|(_, at, label)| (at, label)))
}

fn launch_bound(evidence: &Evidence) -> Result<Option<Found>> {
    let waits = |row: &Row, projected: f64| {
        let exposed = row.int("exposed_copy_ns") as f64;
        let busy = row.int("gpu_busy_ns") as f64;
        row.int("kernels") > 1 && busy < projected * LAUNCH_BOUND && exposed < projected * COPY_BOUND
    };
    let Some((at, label)) = phase(evidence, waits)? else { return Ok(None) };
    let row = Row::first(std::slice::from_ref(&at));
    Ok(Some(Found {
        code: "launch_bound_phase",
        summary: format!(
            "the GPU was busy {} of the {} from the first to the last operation of `{label}`: its {} kernels, {} long on \
             average, waited to be launched; the host spent {} in the calls that launched them",
            time(row.int("gpu_busy_ns")),
            time(row.int("projected_duration_ns")),
            row.int("kernels"),
            time(row.int("kernel_ns") / row.int("kernels").max(1)),
            time(row.int("launch_ns")),
        ),
        source: format!("label:{label}"),
        query: "gpu_phases",
        rows: vec![at],
        next: ("gpu-kernels", "see which kernels are short; fuse them, batch them, or launch them as a CUDA graph"),
    }))
}

fn copy_bound(evidence: &Evidence) -> Result<Option<Found>> {
    let copies = |row: &Row, projected: f64| row.int("exposed_copy_ns") as f64 >= projected * COPY_BOUND;
    let Some((at, label)) = phase(evidence, copies)? else { return Ok(None) };
    let row = Row::first(std::slice::from_ref(&at));
    Ok(Some(Found {
        code: "copy_bound_phase",
        summary: format!(
            "copies took {} of the {} from the first to the last operation of `{label}` while none of its kernels ran: {} \
             copies, {} in all",
            time(row.int("exposed_copy_ns")),
            time(row.int("projected_duration_ns")),
            row.int("copies"),
            time(row.int("copy_ns")),
        ),
        source: format!("label:{label}"),
        query: "gpu_phases",
        rows: vec![at],
        next: ("gpu-phases", "see which copies they are; keep the data on the device, or overlap them with kernels"),
    }))
}

fn outside_labels(evidence: &Evidence) -> Result<Option<Found>> {
    if super::gpu::lacking_for(&evidence.trace, "gpu_attribution_totals").is_some() {
        return Ok(None);
    }
    let rows = evidence.top("gpu_attribution_totals")?;
    let row = Row::first(&rows);
    let share = row.opt_float("outside_share").unwrap_or(0.0);
    Ok((share >= OUTSIDE).then(|| Found {
        code: "gpu_work_outside_labels",
        source: "gpu".to_owned(),
        summary: format!(
            "{} of the {} of GPU work ({}) belong to no label: {} operations were launched outside every range",
            time(row.int("outside_ns")),
            time(row.int("gpu_time_ns")),
            percent(share),
            row.int("outside_operations"),
        ),
        query: "gpu_attribution_totals",
        rows: first_row(&rows),
        next: ("gpu-attribution-gaps", "see which kernels they are, and open a span where they are launched"),
    }))
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
