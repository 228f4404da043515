//! What may be claimed of the GPU: which reports were read, whether they belong to the trace, and whether its labels were
//! seen there.
//! In: a trace with Nsight reports, and a session over it. Out: two capabilities, the ledger. Left to neighbours: rows.

use arrow::array::RecordBatch;

use crate::analysis::correlation::Ledger;
use crate::error::Result;
use crate::load::Trace;
use crate::load::nsight::State;
use crate::query::{self, Filter, Page};
use crate::session::Session;

use super::capabilities::{Capability, Level, capability};
use super::provenance::{Binding, BindingState, binding};

/// The planes that rest on Nsight reports.
pub const PLANES: [&str; 2] = ["gpu_correlation", "provenance_binding"];

/// What is known of the GPU.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub binding: Binding,
    /// Which labels were seen, or why that is not known.
    pub ledger: Result<Ledger, String>,
}

/// Whether the report whose rows are in `table` was read.
fn is_read(trace: &Trace, table: &str) -> bool {
    let report = trace.nsight.as_ref().and_then(|supplied| supplied.report(table));
    report.is_some_and(|r| r.state == State::Available)
}

/// Why the rows of `tables` are not all known, if they are not; `None`: every one was read.
pub fn lacking(trace: &Trace, tables: &[&str]) -> Option<String> {
    let Some(supplied) = &trace.nsight else { return Some("no Nsight reports were supplied".to_owned()) };
    let reasons: Vec<String> = tables
        .iter()
        .filter(|table| !is_read(trace, table))
        .filter_map(|table| supplied.report(table)?.reason.clone())
        .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Why GPU operations cannot be attributed to ranges by correlation id, if they cannot.
pub fn lacking_join(trace: &Trace) -> Option<String> {
    let join = lacking(trace, &["gpu_trace", "cuda_api_trace"]);
    let ranges = ["nvtx_pushpop_trace", "nvtx_gpu_proj"].iter().any(|table| is_read(trace, table));
    match join {
        None if !ranges => lacking(trace, &["nvtx_pushpop_trace", "nvtx_gpu_proj"]),
        other => other,
    }
}

/// Why it is not known which labels ran on the GPU, if it is not.
fn lacking_ranges(trace: &Trace) -> Option<String> {
    if is_read(trace, "nvtx_gpu_proj") { None } else { lacking_join(trace).and(lacking(trace, &["nvtx_gpu_proj"])) }
}

/// What must have been read for a query's rows to be known.
enum Needs {
    Tables(&'static [&'static str]),
    /// Ranges with GPU work: projected, or joined.
    Ranges,
    /// Operations, calls and ranges, to be joined by correlation id.
    Join,
}

const TIMELINE: Needs = Needs::Tables(&["gpu_trace"]);

/// What each query over Nsight reports rests on; every other query rests on the trace.
const NEEDS: &[(&str, Needs)] = &[
    ("gpu_busy", TIMELINE),
    ("gpu_hotspots", TIMELINE),
    ("gpu_memory_operations", TIMELINE),
    ("gpu_idle", TIMELINE),
    ("timeline_gpu", TIMELINE),
    ("timeline_ranges", Needs::Tables(&["nvtx_pushpop_trace"])),
    ("gpu_kernel_summary", Needs::Tables(&["gpu_kernels"])),
    ("cuda_api_functions", Needs::Tables(&["cuda_api"])),
    ("gpu_launches", Needs::Tables(&["gpu_trace", "cuda_api_trace"])),
    ("gpu_correlation", Needs::Ranges),
    ("gpu_phases", Needs::Ranges),
    ("gpu_phase_kernels", Needs::Join),
    ("gpu_phase_copies", Needs::Join),
    ("gpu_attribution_totals", Needs::Join),
    ("gpu_attribution_gaps", Needs::Join),
    ("gpu_idle_labels", Needs::Join),
];

/// Why the rows of `query` are not known, if they are not.
pub fn lacking_for(trace: &Trace, query: &str) -> Option<String> {
    match NEEDS.iter().find(|(name, _)| *name == query)?.1 {
        Needs::Tables(tables) => lacking(trace, tables),
        Needs::Ranges => lacking_ranges(trace),
        Needs::Join => lacking_join(trace),
    }
}

/// The query that ranks kernels: from the timeline, else from the summary.
pub fn kernels(trace: &Trace) -> Option<&'static str> {
    ["gpu_hotspots", "gpu_kernel_summary"].into_iter().find(|query| lacking_for(trace, query).is_none())
}

/// Queries whose rows an overview shows of a GPU, as far as their reports were read.
pub fn headlines(trace: &Trace) -> Vec<&'static str> {
    let known = |query: &&str| lacking_for(trace, query).is_none();
    let queries = ["gpu_busy", "gpu_phases", "gpu_attribution_totals"].into_iter().filter(known);
    queries.chain(kernels(trace)).collect()
}

/// The query that the ledger is made of.
pub(super) const LEDGER: &str = "gpu_correlation";

/// Examines the Nsight reports of a trace; `None` without any. `session` is over this trace alone. Gives the rows of the
/// ledger's query too, which are shown beside it.
///
/// # Errors
/// The engine's own failures.
pub(super) fn examine(trace: &Trace, session: &Session) -> Result<Option<(Gpu, Vec<RecordBatch>)>> {
    let Some(binding) = binding(trace) else { return Ok(None) };
    let (ledger, rows) = match lacking_for(trace, LEDGER) {
        Some(reason) => (Err(reason), Vec::new()),
        None => {
            let rows = query::rows(session, LEDGER, &Filter::default(), Page::ALL)?;
            (Ok(Ledger::of(&rows)), rows)
        }
    };
    Ok(Some((Gpu { binding, ledger }, rows)))
}

/// The capabilities of both planes.
pub(super) fn capabilities(gpu: Option<&Gpu>) -> [(&'static str, Capability); 2] {
    let none = || capability(Level::Unavailable, "no Nsight reports were supplied", "none");
    let Some(gpu) = gpu else { return PLANES.map(|plane| (plane, none())) };
    let source = "capture-manifest.json and the supplied files";
    let bound = match gpu.binding.state {
        BindingState::Bound => {
            capability(Level::Complete, "the capture manifest names this run, its labels and these very files", source)
        }
        BindingState::Partial => capability(Level::Partial, gpu.binding.reasons.join("; "), source),
        BindingState::Mismatch => capability(Level::Invalid, gpu.binding.reasons.join("; "), source),
    };
    let source = "nvtx_gpu_proj_trace, or ranges joined to GPU operations by correlation id";
    let correlation = match &gpu.ledger {
        Err(reason) => capability(Level::Unavailable, reason.clone(), "none"),
        Ok(ledger) if ledger.expected.is_empty() => capability(
            Level::Partial,
            "the contract expects no label on a GPU, so nothing can be missing or complete",
            source,
        ),
        Ok(ledger) => {
            let seen = format!("{} of {} expected labels have GPU work", ledger.matched.len(), ledger.expected.len());
            let wrong: Vec<String> = ledger.problems().into_iter().map(|(n, how)| format!("{n} {how}")).collect();
            match (wrong.is_empty(), gpu.binding.state) {
                (true, BindingState::Bound) => capability(Level::Complete, seen, source),
                (true, _) => capability(
                    Level::Partial,
                    format!("{seen}, but nothing proves that the reports are of this run"),
                    source,
                ),
                (false, _) => capability(Level::Partial, format!("{seen}; labels {}", wrong.join(", ")), source),
            }
        }
    };
    let observed = gpu.ledger.as_ref().ok().map(|ledger| ledger.observed.len() as u64);
    [(PLANES[0], Capability { observed, ..correlation }), (PLANES[1], bound)]
}
