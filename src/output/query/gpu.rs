//! What Nsight reports say of the GPU: their state, the ledger of labels, phases, kernels, and what belongs to no label.
//! In: an examined trace. Out: a document for each question; what was not read is unavailable, never zero.
//! Left to neighbours: the SQL, what may be claimed (`evidence::gpu`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::RANKING;
use crate::analysis::correlation::Ledger;
use crate::error::Result;
use crate::evidence::gpu::{self, PLANES};
use crate::evidence::{Evidence, Level};
use crate::load::nsight::{self, State};
use crate::output::bounds::{Budget, TEXT};
use crate::output::documents::{Bounded, CapabilityOut, capability};
use crate::output::rows::{Row, json_rows};
use crate::text::{shorten, shorten_to};

/// Clocks: those of the host, of device events and of Nsight Systems are apart, never added and never on one axis.
const CLOCK: &str = "nsight";

/// Whether a question can be answered, and how far the answer is to be trusted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuState {
    /// `available` or `unavailable`.
    pub status: &'static str,
    /// Why it is unavailable.
    pub reason: Option<String>,
    /// `bound`, `partial` or `mismatch`; null where no Nsight reports were supplied. A poor binding suppresses no row.
    pub provenance_binding: Option<&'static str>,
    /// The clock of every time below: no host or device-event time is comparable with it.
    pub clock_plane: &'static str,
    /// Whether that clock was aligned with the trace's: never.
    pub clock_aligned: bool,
    /// The reports that the answer rests on.
    pub required_reports: BTreeMap<String, ReportState>,
}

/// One report: whether it was read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportState {
    /// `available`, `unavailable` (not supplied) or `failed` (supplied and not readable).
    pub status: &'static str,
    /// The table its rows are in.
    pub table: &'static str,
    pub file: Option<String>,
    /// Null unless it is available: unknown, not zero.
    pub rows: Option<u64>,
    /// What the last printed digit of its times stands for; 1: exact.
    pub time_step_ns: Option<i64>,
    /// Why it is not available.
    pub reason: Option<String>,
    pub notes: Vec<String>,
}

/// A supplied file that is kept and not read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetainedOut {
    pub file: String,
    /// What it looks like, where that is worth saying.
    pub remark: Option<String>,
}

/// What the capture's maker stated.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaptureOut {
    pub tool: Option<String>,
    pub tool_version: Option<String>,
    pub commands: Bounded<String>,
    pub host: Option<String>,
    pub devices: Bounded<String>,
    pub source_revisions: BTreeMap<String, String>,
    pub artifacts: usize,
}

/// `gpu-status`: what was supplied, what was read, what it proves.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuStatus {
    #[serde(flatten)]
    pub state: GpuState,
    /// Why the reports are not bound to the trace.
    pub diagnostics: Bounded<String>,
    pub capture: Option<CaptureOut>,
    pub correlation: CorrelationState,
    /// How many files were supplied, and whether the raw capture is among them.
    pub files: usize,
    pub raw_report: bool,
    pub retained: Bounded<RetainedOut>,
    /// Rows of query `gpu_busy`, a device each; null where no timeline was read.
    pub devices: Option<Bounded<Row>>,
    pub capabilities: BTreeMap<&'static str, CapabilityOut>,
}

/// Whether the ledger is complete.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CorrelationState {
    pub status: &'static str,
    /// Null where it is unknown.
    pub complete: Option<bool>,
    pub reason: Option<String>,
}

/// `gpu-correlation`: which labels were expected on the GPU, and which were seen.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuCorrelation {
    #[serde(flatten)]
    pub state: GpuState,
    /// `projection` (ranges that Nsight Systems projected onto the GPU) or `correlation_ids` (joined here).
    pub mode: Option<&'static str>,
    /// Something was expected, and nothing is missing, unexpected or seen twice; null where it is unknown.
    pub complete: Option<bool>,
    pub ledger: Option<LedgerOut>,
    /// Rows of query `gpu_correlation`, a label each; null where it is unknown.
    pub labels: Option<Bounded<Row>>,
}

/// The ledger of labels.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LedgerOut {
    pub expected: Bounded<String>,
    pub cpu_only: Bounded<String>,
    pub observed: Bounded<String>,
    pub matched: Bounded<String>,
    pub missing_expected: Bounded<String>,
    pub unexpected_observed: Bounded<String>,
    pub unexpected_cpu_only: Bounded<String>,
    pub duplicates: Bounded<String>,
}

/// `gpu-phases`: what each label did on the GPU.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuPhases {
    #[serde(flatten)]
    pub state: GpuState,
    /// Why operations are not attributed by correlation id, where they are not: busy times are then unknown.
    pub attribution_reason: Option<String>,
    /// Rows of query `gpu_phases`.
    pub phases: Option<Bounded<Row>>,
    /// Rows of query `gpu_phase_kernels`; null where operations are not attributed.
    pub kernels: Option<Bounded<Row>>,
    /// Rows of query `gpu_phase_copies`; null where operations are not attributed.
    pub copies: Option<Bounded<Row>>,
}

/// `gpu-kernels`: what ran on the GPU.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuKernels {
    #[serde(flatten)]
    pub state: GpuState,
    /// The report that the kernels are from: the timeline, else the summary.
    pub source: Option<&'static str>,
    /// Rows of query `gpu_hotspots` or, from the summary, `gpu_kernel_summary`.
    pub kernels: Option<Bounded<Row>>,
    /// Rows of query `gpu_memory_operations`; null where no timeline was read.
    pub memory_operations: Option<Bounded<Row>>,
    /// Rows of query `gpu_launches`: which calls caused the work; null where calls were not read.
    pub launches: Option<Bounded<Row>>,
    /// Rows of query `cuda_api_functions`: host time; null where the summary was not read.
    pub api_functions: Option<Bounded<Row>>,
}

/// `gpu-attribution-gaps`: GPU work that belongs to no label, and labels without any.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuGaps {
    #[serde(flatten)]
    pub state: GpuState,
    /// Why the reports are not bound to the trace.
    pub diagnostics: Bounded<String>,
    /// Row of query `gpu_attribution_totals`.
    pub totals: Option<Row>,
    /// Rows of query `gpu_attribution_gaps`: operations outside every label, by kernel.
    pub outside: Option<Bounded<Row>>,
    /// Rows of query `gpu_idle_labels`: labels without a kernel.
    pub labels_without_kernels: Option<Bounded<Row>>,
    pub missing_expected: Option<Bounded<String>>,
    pub unexpected_observed: Option<Bounded<String>>,
    pub unexpected_cpu_only: Option<Bounded<String>>,
    pub duplicates: Option<Bounded<String>>,
}

/// Short texts, the first of them.
fn texts<'a>(of: impl IntoIterator<Item = &'a String>) -> Bounded<String> {
    let all: Vec<&String> = of.into_iter().collect();
    let total = all.len();
    Bounded::part(all.into_iter().take(RANKING).map(|t| shorten(t)).collect(), total)
}

/// Sentences, which are longer.
fn sentences(of: &[String]) -> Bounded<String> {
    Bounded::part(of.iter().take(RANKING).map(|t| shorten_to(t, TEXT)).collect(), of.len())
}

fn report(found: &nsight::ReportState) -> ReportState {
    ReportState {
        status: found.state.as_str(),
        table: found.table,
        file: found.file.as_deref().map(shorten),
        rows: found.rows,
        time_step_ns: found.time_step_ns,
        reason: found.reason.as_deref().map(|r| shorten_to(r, TEXT)),
        notes: found.notes.iter().map(|n| shorten_to(n, TEXT)).collect(),
    }
}

/// The state of an answer that rests on the reports of `tables`, unavailable for `reason`.
fn state(evidence: &Evidence, tables: &[&str], reason: Option<String>) -> GpuState {
    let supplied = evidence.trace.nsight.iter();
    let reports = supplied.flat_map(|s| tables.iter().filter_map(|table| s.report(table)));
    GpuState {
        status: if reason.is_none() { "available" } else { "unavailable" },
        reason: reason.map(|r| shorten_to(&r, TEXT)),
        provenance_binding: evidence.gpu.as_ref().map(|gpu| gpu.binding.state.as_str()),
        clock_plane: CLOCK,
        clock_aligned: false,
        required_reports: reports.map(|r| (r.report.to_owned(), report(r))).collect(),
    }
}

/// Every row of a query, run once; `None` where they are not known.
fn whole(evidence: &Evidence, query: &'static str) -> Result<Option<Vec<Row>>> {
    match gpu::lacking_for(&evidence.trace, query) {
        Some(_) => Ok(None),
        None => json_rows(&evidence.whole(query)?).map(Some),
    }
}

/// The first rows of a query, in one of `shares` parts of the response.
fn rows(evidence: &Evidence, query: &'static str, shares: usize) -> Result<Option<Bounded<Row>>> {
    Ok(whole(evidence, query)?.map(|mut rows| {
        let total = rows.len();
        rows.truncate(RANKING);
        Bounded::part(Budget::share(shares).take(rows), total)
    }))
}

fn reasons(evidence: &Evidence) -> Bounded<String> {
    sentences(evidence.gpu.as_ref().map_or(&[], |gpu| &gpu.binding.reasons))
}

fn ledger(evidence: &Evidence) -> Option<&Ledger> {
    evidence.gpu.as_ref().and_then(|gpu| gpu.ledger.as_ref().ok())
}

/// Whether the ledger is complete.
pub fn correlation_state(evidence: &Evidence) -> CorrelationState {
    match ledger(evidence) {
        Some(ledger) => CorrelationState { status: "available", complete: Some(ledger.is_complete()), reason: None },
        None => {
            let reason = shorten_to(&evidence.capabilities["gpu_correlation"].reason, TEXT);
            CorrelationState { status: "unavailable", complete: None, reason: Some(reason) }
        }
    }
}

pub(super) fn status(evidence: &Evidence) -> Result<GpuStatus> {
    let supplied = evidence.trace.nsight.as_ref();
    let every: Vec<&str> = crate::tables::nsight::REPORTS.iter().map(|r| r.table).collect();
    let nothing = supplied.is_none().then(|| "no Nsight reports were supplied".to_owned());
    let retained: Vec<RetainedOut> = supplied
        .iter()
        .flat_map(|s| &s.retained)
        .take(RANKING)
        .map(|r| RetainedOut { file: shorten(&r.file), remark: r.remark.as_deref().map(|t| shorten_to(t, TEXT)) })
        .collect();
    let capture = supplied.and_then(|s| s.manifest.as_ref()?.as_ref().ok()).map(|m| CaptureOut {
        tool: Some(shorten(&m.tool.name)).filter(|name| !name.is_empty()),
        tool_version: m.tool.version.as_deref().map(shorten),
        commands: sentences(&m.commands),
        host: m.hardware.host.as_deref().map(shorten),
        devices: texts(&m.hardware.devices),
        source_revisions: m.source_revisions.iter().take(RANKING).map(|(k, v)| (shorten(k), shorten(v))).collect(),
        artifacts: m.artifacts.len(),
    });
    Ok(GpuStatus {
        state: state(evidence, &every, nothing),
        diagnostics: reasons(evidence),
        capture,
        correlation: correlation_state(evidence),
        files: supplied.map_or(0, |s| s.files.len()),
        raw_report: supplied.is_some_and(|s| s.files.iter().any(|f| nsight::is_raw(&f.path))),
        retained: Bounded::part(retained, supplied.map_or(0, |s| s.retained.len())),
        devices: rows(evidence, "gpu_busy", 2)?,
        capabilities: PLANES.iter().map(|plane| (*plane, short(evidence, plane))).collect(),
    })
}

fn short(evidence: &Evidence, plane: &str) -> CapabilityOut {
    let mut plane = capability(&evidence.capabilities[plane]);
    plane.reason = shorten_to(&plane.reason, TEXT);
    plane
}

pub(super) fn correlation(evidence: &Evidence) -> Result<GpuCorrelation> {
    let projected = gpu::lacking(&evidence.trace, &["nvtx_gpu_proj"]).is_none();
    let ledger = ledger(evidence);
    let mode = ledger.map(|_| if projected { "projection" } else { "correlation_ids" });
    let tables: &[&str] = match mode {
        Some("correlation_ids") => &["gpu_trace", "cuda_api_trace", "nvtx_pushpop_trace"],
        _ => &["nvtx_gpu_proj"],
    };
    Ok(GpuCorrelation {
        mode,
        complete: ledger.map(Ledger::is_complete),
        ledger: ledger.map(|l| LedgerOut {
            expected: texts(&l.expected),
            cpu_only: texts(&l.cpu_only),
            observed: texts(&l.observed),
            matched: texts(&l.matched),
            missing_expected: texts(&l.missing_expected),
            unexpected_observed: texts(&l.unexpected_observed),
            unexpected_cpu_only: texts(&l.unexpected_cpu_only),
            duplicates: texts(&l.duplicates),
        }),
        labels: rows(evidence, "gpu_correlation", 3)?,
        state: state(evidence, tables, gpu::lacking_for(&evidence.trace, "gpu_correlation")),
    })
}

pub(super) fn phases(evidence: &Evidence) -> Result<GpuPhases> {
    let tables = ["nvtx_gpu_proj", "nvtx_pushpop_trace", "cuda_api_trace", "gpu_trace"];
    Ok(GpuPhases {
        phases: rows(evidence, "gpu_phases", 3)?,
        kernels: rows(evidence, "gpu_phase_kernels", 3)?,
        copies: rows(evidence, "gpu_phase_copies", 3)?,
        attribution_reason: gpu::lacking_join(&evidence.trace).map(|r| shorten_to(&r, TEXT)),
        state: state(evidence, &tables, gpu::lacking_for(&evidence.trace, "gpu_phases")),
    })
}

pub(super) fn kernels(evidence: &Evidence) -> Result<GpuKernels> {
    let query = gpu::kernels(&evidence.trace);
    let lacking = match query {
        Some(_) => None,
        None => gpu::lacking(&evidence.trace, &["gpu_trace", "gpu_kernels"]),
    };
    Ok(GpuKernels {
        source: query.map(|query| if query == "gpu_hotspots" { "cuda_gpu_trace" } else { "cuda_gpu_kern_sum" }),
        kernels: query.map(|query| rows(evidence, query, 4)).transpose()?.flatten(),
        memory_operations: rows(evidence, "gpu_memory_operations", 8)?,
        launches: rows(evidence, "gpu_launches", 4)?,
        api_functions: rows(evidence, "cuda_api_functions", 4)?,
        state: state(evidence, &["gpu_trace", "gpu_kernels", "cuda_api_trace", "cuda_api"], lacking),
    })
}

pub(super) fn gaps(evidence: &Evidence) -> Result<GpuGaps> {
    let ledger = ledger(evidence);
    let tables = ["gpu_trace", "cuda_api_trace", "nvtx_pushpop_trace", "nvtx_gpu_proj"];
    Ok(GpuGaps {
        diagnostics: reasons(evidence),
        totals: whole(evidence, "gpu_attribution_totals")?.and_then(|mut rows| rows.pop()),
        outside: rows(evidence, "gpu_attribution_gaps", 3)?,
        labels_without_kernels: rows(evidence, "gpu_idle_labels", 3)?,
        missing_expected: ledger.map(|l| texts(&l.missing_expected)),
        unexpected_observed: ledger.map(|l| texts(&l.unexpected_observed)),
        unexpected_cpu_only: ledger.map(|l| texts(&l.unexpected_cpu_only)),
        duplicates: ledger.map(|l| texts(&l.duplicates)),
        state: state(evidence, &tables, gpu::lacking_join(&evidence.trace)),
    })
}

/// Everything that follows from Nsight reports, whole; lists are null where their reports were not read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GpuSummary {
    #[serde(flatten)]
    pub state: GpuState,
    /// Why the reports are not bound to the trace.
    pub diagnostics: Vec<String>,
    /// Whether every expected label, and no other, has GPU work; null where that is unknown.
    pub correlation_complete: Option<bool>,
    /// Rows of query `gpu_correlation`.
    pub labels: Option<Vec<Row>>,
    /// Rows of query `gpu_busy`.
    pub devices: Option<Vec<Row>>,
    /// Rows of query `gpu_phases`.
    pub phases: Option<Vec<Row>>,
    /// Rows of query `gpu_phase_kernels`.
    pub phase_kernels: Option<Vec<Row>>,
    /// Rows of query `gpu_phase_copies`.
    pub phase_copies: Option<Vec<Row>>,
    /// Rows of query `gpu_hotspots`.
    pub kernels: Option<Vec<Row>>,
    /// Rows of query `gpu_kernel_summary`.
    pub kernel_summary: Option<Vec<Row>>,
    /// Rows of query `gpu_memory_operations`.
    pub memory_operations: Option<Vec<Row>>,
    /// Rows of query `gpu_launches`.
    pub launches: Option<Vec<Row>>,
    /// Rows of query `cuda_api_functions`.
    pub api_functions: Option<Vec<Row>>,
    /// Row of query `gpu_attribution_totals`.
    pub attribution_totals: Option<Row>,
    /// Rows of query `gpu_attribution_gaps`.
    pub attribution_gaps: Option<Vec<Row>>,
}

/// The summary.
///
/// # Errors
/// The engine's own failures.
pub fn summary(evidence: &Evidence) -> Result<GpuSummary> {
    let trace = &evidence.trace;
    let every: Vec<&str> = crate::tables::nsight::REPORTS.iter().map(|r| r.table).collect();
    let nothing = trace.nsight.is_none().then(|| "no Nsight reports were supplied".to_owned());
    Ok(GpuSummary {
        state: state(evidence, &every, nothing),
        diagnostics: evidence.gpu.as_ref().map(|gpu| gpu.binding.reasons.clone()).unwrap_or_default(),
        correlation_complete: ledger(evidence).map(Ledger::is_complete),
        labels: whole(evidence, "gpu_correlation")?,
        devices: whole(evidence, "gpu_busy")?,
        phases: whole(evidence, "gpu_phases")?,
        phase_kernels: whole(evidence, "gpu_phase_kernels")?,
        phase_copies: whole(evidence, "gpu_phase_copies")?,
        kernels: whole(evidence, "gpu_hotspots")?,
        kernel_summary: whole(evidence, "gpu_kernel_summary")?,
        memory_operations: whole(evidence, "gpu_memory_operations")?,
        launches: whole(evidence, "gpu_launches")?,
        api_functions: whole(evidence, "cuda_api_functions")?,
        attribution_totals: whole(evidence, "gpu_attribution_totals")?.and_then(|mut rows| rows.pop()),
        attribution_gaps: whole(evidence, "gpu_attribution_gaps")?,
    })
}

/// GPU headlines of an overview.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Gpu {
    /// `available` when any report was read.
    pub status: &'static str,
    /// Why nothing is known, or how far what is known goes.
    pub reason: String,
    /// `bound`, `partial` or `mismatch`; null where no Nsight reports were supplied.
    pub provenance_binding: Option<&'static str>,
    /// Whether every expected label, and no other, has GPU work; null where that is unknown.
    pub correlation_complete: Option<bool>,
    /// The state of each report by its name; empty where none were supplied.
    pub reports: BTreeMap<&'static str, &'static str>,
    /// Rows of query `gpu_busy`; null where no timeline was read.
    pub devices: Option<Bounded<Row>>,
    /// Rows of query `gpu_phases`; null where no ranges were read.
    pub phases: Option<Bounded<Row>>,
    /// Rows of query `gpu_hotspots`, or of `gpu_kernel_summary` where only the summary was read.
    pub kernels: Option<Bounded<Row>>,
    /// Share of the GPU time of all operations that belongs to no label; null where it is unknown.
    pub outside_share: Option<f64>,
}

/// The headlines.
///
/// # Errors
/// The engine's own failures.
pub fn headlines(evidence: &Evidence) -> Result<Gpu> {
    let trace = &evidence.trace;
    let top = |query: &'static str| -> Result<Option<Bounded<Row>>> {
        if gpu::lacking_for(trace, query).is_some() {
            return Ok(None);
        }
        let (rows, total) = evidence.top_of(query)?;
        Ok(Some(Bounded::part(json_rows(&rows)?, total)))
    };
    let totals = match gpu::lacking_join(trace) {
        None => crate::evidence::Row::first(&evidence.top("gpu_attribution_totals")?).opt_float("outside_share"),
        Some(_) => None,
    };
    let supplied = trace.nsight.iter().flat_map(|s| &s.reports);
    let read = supplied.clone().any(|r| r.state == State::Available);
    let plane = &evidence.capabilities["gpu_correlation"];
    Ok(Gpu {
        status: if read { "available" } else { "unavailable" },
        reason: match (&trace.nsight, plane.level) {
            (Some(_), Level::Unavailable) if !read => "no supplied Nsight report could be read".to_owned(),
            _ => plane.reason.clone(),
        },
        provenance_binding: evidence.gpu.as_ref().map(|gpu| gpu.binding.state.as_str()),
        correlation_complete: ledger(evidence).map(Ledger::is_complete),
        reports: supplied.map(|r| (r.report, r.state.as_str())).collect(),
        devices: top("gpu_busy")?,
        phases: top("gpu_phases")?,
        kernels: gpu::kernels(trace).map(top).transpose()?.flatten(),
        outside_share: totals,
    })
}
