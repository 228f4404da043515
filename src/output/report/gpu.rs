//! What Nsight reports say of the GPU: devices, labels, kernels, and what belongs to no label.
//! In: the GPU queries. Out: tables on the clock of Nsight Systems. Left to neighbours: device-event time (`device`).

use super::markdown::{percent, sentence, several};
use super::page::{Page, Table, kind, sql};
use super::{Source, bar, float, int, name, number, plain, share, size, time};
use crate::error::Result;
use crate::evidence::gpu;

/// The section.
pub(super) fn gpu(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "GPU");
    let trace = &source.evidence.trace;
    let Some(supplied) = &trace.nsight else {
        page.paragraph("Not recorded: no Nsight reports were supplied.");
        return Ok(());
    };
    let binding = source.overview.gpu.provenance_binding.unwrap_or_default();
    page.paragraph(&format!(
        "From Nsight Systems, on its own clock: never beside host time or device-event time. The reports are **{binding}** to \
         this run; {}.",
        sentence(&source.evidence.capabilities["gpu_correlation"].reason)
    ));
    let mut states = Table::new(&["report", "state", ">rows", "file"]);
    for report in &supplied.reports {
        let rows = report.rows.map_or_else(|| super::ABSENT.to_owned(), crate::text::count);
        let file = report.file.as_deref().map_or_else(|| super::ABSENT.to_owned(), super::markdown::label);
        states.push(vec![format!("`{}`", report.report), report.state.as_str().to_owned(), rows, file]);
    }
    page.list("**Reports.** One that is not available has unknown rows, not none.", supplied.reports.len(), states);
    page.again(&[kind("gpu-status")]);
    devices(page, source)?;
    phases(page, source)?;
    kernels(page, source)?;
    outside(page, source)
}

fn devices(page: &mut Page, source: &Source<'_>) -> Result<()> {
    if gpu::lacking_for(&source.evidence.trace, "gpu_busy").is_some() {
        return Ok(());
    }
    let found = source.rows("gpu_busy", None)?;
    let mut table = Table::new(&["device", ">busy", ">of", ">idle", ">kernels", ">copies", ">copies alone"]);
    for row in &found.rows {
        let times = ["busy_ns", "window_ns", "idle_ns"].map(|column| time(row, column));
        let rest = vec![number(row, "kernels"), time(row, "copy_busy_ns"), time(row, "exposed_copy_ns")];
        table.push([vec![plain(row, "device")], times.to_vec(), rest].concat());
    }
    page.list(
        "**By device**: the time in which at least one operation ran, of the time between the first and the last; copies \
         alone are those beside which no kernel ran.",
        found.total,
        table,
    );
    page.again(&[sql("gpu_busy"), sql("gpu_idle")]);
    Ok(())
}

fn phases(page: &mut Page, source: &Source<'_>) -> Result<()> {
    if gpu::lacking_for(&source.evidence.trace, "gpu_phases").is_some() {
        return Ok(());
    }
    let found = source.rows("gpu_phases", None)?;
    let mut table = Table::new(&["label", "attribution", ">busy", ">of", ">share", "", ">kernels", ">copies alone"]);
    for row in &found.rows {
        table.push(vec![
            name(row, "label"),
            plain(row, "attribution"),
            time(row, "gpu_busy_ns"),
            time(row, "projected_duration_ns"),
            share(row, "busy_share"),
            bar(row, "busy_share"),
            number(row, "kernels"),
            time(row, "exposed_copy_ns"),
        ]);
    }
    page.list(
        "**By label.** `exact` is joined by correlation id and confirmed by Nsight Systems' own count; `projected_only` knows \
         the interval and no busy time. Labels inside each other count the same work.",
        found.total,
        table,
    );
    page.again(&[kind("gpu-phases"), kind("gpu-correlation")]);
    Ok(())
}

fn kernels(page: &mut Page, source: &Source<'_>) -> Result<()> {
    let ranking = gpu::kernels(&source.evidence.trace);
    if ranking == Some("gpu_hotspots") {
        let found = source.rows("gpu_hotspots", None)?;
        let mut table = Table::new(&["kernel", ">total", ">share", "", ">calls", ">p50", ">p99"]);
        for row in &found.rows {
            let shares = [share(row, "share_of_kernel_time"), bar(row, "share_of_kernel_time")];
            let rest = vec![number(row, "kernels"), time(row, "p50_ns"), time(row, "p99_ns")];
            table.push([vec![name(row, "name"), time(row, "total_ns")], shares.to_vec(), rest].concat());
        }
        page.list("**Kernels**, by the time they ran.", found.total, table);
        let found = source.rows("gpu_memory_operations", None)?;
        let mut table = Table::new(&["operation", "direction", ">total", ">operations", ">size"]);
        for row in &found.rows {
            let what = vec![plain(row, "kind"), plain(row, "direction")];
            table.push([what, vec![time(row, "total_ns"), number(row, "operations"), size(row, "bytes")]].concat());
        }
        page.list("**Copies and sets.** Sizes are as rounded as the report prints them.", found.total, table);
    } else if ranking.is_some() {
        let found = source.rows("gpu_kernel_summary", None)?;
        let mut table = Table::new(&["kernel", ">total", ">calls", ">mean"]);
        for row in &found.rows {
            table.push(vec![name(row, "name"), time(row, "total_ns"), number(row, "instances"), time(row, "mean_ns")]);
        }
        page.list("**Kernels**, as Nsight Systems added them up.", found.total, table);
    } else {
        return Ok(());
    }
    page.again(&[kind("gpu-kernels")]);
    Ok(())
}

fn outside(page: &mut Page, source: &Source<'_>) -> Result<()> {
    if let Some(why) = gpu::lacking_join(&source.evidence.trace) {
        page.paragraph(&format!("What belongs to no label is not known: {}.", sentence(&why)));
        return Ok(());
    }
    let totals = source.rows("gpu_attribution_totals", None)?;
    let Some(row) = totals.rows.first() else { return Ok(()) };
    let operations = int(row, "outside_operations").and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    page.paragraph(&format!(
        "{} of the GPU time ({}, {}) belong to no label.",
        float(row, "outside_share").map_or_else(|| super::ABSENT.to_owned(), percent),
        time(row, "outside_ns"),
        several(operations, "operation", "operations"),
    ));
    page.again(&[kind("gpu-attribution-gaps")]);
    Ok(())
}
