//! Which report a file is, by its name.
//! In: a file name. Out: the report, if the name says one. Left to neighbours: whether its header agrees (`header`).

use crate::tables::nsight::{REPORTS, Report};

/// What a capture manifest is called.
pub const MANIFEST: &str = "capture-manifest.json";

/// What `--report NAME:ARGUMENT` leaves in a file name, behind the report's.
const ARGUMENTS: [&str; 4] = ["_base", "_mangled", "_nvtx-name", "_nvtx_name"];

/// Whether a file is the raw capture; `.qdrep` to 2021.
pub fn is_raw(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".nsys-rep", ".qdrep"].iter().any(|end| lower.ends_with(end))
}

/// Whether a file can hold a report as text.
pub(super) fn is_text(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".csv", ".txt"].iter().any(|end| lower.ends_with(end))
}

/// The report that a file name ends in: `x_cuda_api_sum.csv`, `cuda_api_sum.csv`, `cuda_api_sum_cuda_api_sum.csv`,
/// `x.csv_cuda_api_sum.csv`, `x_cudaapisum.excerpt.csv`, `x_cuda_gpu_kern_sum_base.csv`.
pub(super) fn report_of(name: &str) -> Option<&'static Report> {
    if !is_text(name) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let mut stem = lower.as_str();
    while let Some((shorter, _)) = stem.rsplit_once('.') {
        stem = shorter;
        let mut bare = stem;
        while let Some(before) = ARGUMENTS.iter().find_map(|argument| bare.strip_suffix(argument)) {
            bare = before;
        }
        let named = |report: &str| {
            bare.strip_suffix(report).is_some_and(|before| before.is_empty() || before.ends_with(['_', '-', '.', ' ']))
        };
        if let Some(report) = REPORTS.iter().find(|r| named(r.report) || named(r.old_name)) {
            return Some(report);
        }
    }
    None
}

/// Whether a file name has the report's name somewhere in it, as `x_gpukernsum_older.csv` has.
pub(super) fn mentions(name: &str, report: &Report) -> bool {
    let lower = name.to_ascii_lowercase();
    let bounded = |at: usize, length: usize| {
        let (before, after) = (&lower.as_bytes()[..at], &lower.as_bytes()[at + length..]);
        [before.last(), after.first()].into_iter().all(|b| b.is_none_or(|b| !b.is_ascii_alphanumeric()))
    };
    [report.report, report.old_name].iter().any(|n| lower.match_indices(n).any(|(at, _)| bounded(at, n.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_nsys_writes_is_known() {
        let report = |name| report_of(name).map(|r| r.table);
        for (name, table) in [
            ("nsys-04-cublas_cuda_api_sum.csv", Some("cuda_api")),
            ("cuda_api_sum_cuda_api_sum.csv", Some("cuda_api")),
            ("x.csv_cuda_api_sum.csv", Some("cuda_api")),
            ("cuda_gpu_trace.csv", Some("gpu_trace")),
            ("CUDA_GPU_TRACE.CSV", Some("gpu_trace")),
            ("vgg11_output_nsys_gputrace.csv", Some("gpu_trace")),
            ("paddle_static_gpukernsum.csv", Some("gpu_kernels")),
            ("decode_gtx1050ti_stats_nvtxgpuproj.excerpt.csv", Some("nvtx_gpu_proj")),
            ("a_gpumemtimesum.csv", Some("gpu_mem_time")),
            ("a_nvtxpptrace.csv", Some("nvtx_pushpop_trace")),
            ("a_cuda_api_trace.csv", Some("cuda_api_trace")),
            ("cuda_gpu_trace.txt", Some("gpu_trace")),
            ("x_cuda_gpu_kern_sum_base.csv", Some("gpu_kernels")),
            ("x_cuda_gpu_trace_nvtx-name_base.csv", Some("gpu_trace")),
            ("_base.csv", None),
            ("a_nvtx_gpu_proj_sum.csv", None),
            ("a_cuda_kern_exec_sum.csv", None),
            ("a_cuda_api_sum", None),
            ("a_cuda_api_sum.sqlite", None),
            ("mycuda_api_sum2.csv", None),
            ("notcuda_api_sum.csv", None),
            ("capture.nsys-rep", None),
            (".csv", None),
            ("x_gpukernsum_older.csv", None),
        ] {
            assert_eq!(report(name), table, "{name}");
        }
        let kernels = REPORTS.iter().find(|r| r.table == "gpu_kernels").expect("a report");
        assert!(mentions("x_gpukernsum_older.csv", kernels) && mentions("gpukernsum.2.csv", kernels));
        assert!(!mentions("x_mygpukernsum_older.csv", kernels) && !mentions("gpukernsum2.csv", kernels));
    }
}
