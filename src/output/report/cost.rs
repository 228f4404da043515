//! What a run cost in host time, operations and their work, and activations.
//! In: the overview and a few queries more. Out: tables, each with the command that gives it again.
//! Left to neighbours: memory (`memory`), device time (`device`), values (`numerics`).

use super::markdown::{bar as block, percent, sentence, several, si};
use super::opening::region_commands;
use super::page::{Page, Table, kind, sql};
use super::{Source, UNSOUND, absent_or, bar, float, int, name, number, plain, shape, share, size, text, time};
use crate::error::Result;
use crate::evidence::Row as First;
use crate::output::documents::Bounded;
use crate::output::overview::Timing;
use crate::output::rows::Row;
use crate::text::{bytes, count, duration};

/// The measured region, its steps, its slowest spans.
pub(super) fn host_time(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Host time");
    let Some(timing) = &source.overview.timing else {
        let why = if source.sound { "the trace has no measured region" } else { UNSOUND };
        page.paragraph(&format!("Not derived: {why}."));
        if source.overview.counts.events.spans > 0 {
            page.again(&["`candle-graph sql BUNDLE 'SELECT * FROM spans ORDER BY start_ns'`".to_owned()]);
        }
        return Ok(());
    };
    steps(page, timing);
    let spans = source.rows("slowest_host", Some(timing.slowest_host_spans.total))?;
    slowest(page, timing, &spans);
    Ok(())
}

fn steps(page: &mut Page, timing: &Timing) {
    let (recorded, absent): (Vec<&Row>, Vec<&Row>) =
        timing.step_split.iter().partition(|r| int(r, "wall_ns").is_some());
    let mut table = Table::new(&["step", ">host time", ">share", ""]);
    for row in &recorded {
        table.push(vec![
            absent_or(text(row, "step").map(str::to_owned)),
            time(row, "wall_ns"),
            share(row, "share"),
            bar(row, "share"),
        ]);
    }
    let wall = duration(timing.outer_wall_time_ns as f64);
    let caption = format!(
        "**By step.** The {wall} of the measured region, each moment counted once, for the span that the region waits \
         for; a moment of no step is untracked."
    );
    page.list(&caption, recorded.len(), table);
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().filter_map(|row| text(row, "step")).collect();
        page.paragraph(&format!("Not recorded, because no span states the step: {}.", names.join(", ")));
    }
    page.again(&region_commands());
}

fn slowest(page: &mut Page, timing: &Timing, spans: &Bounded<Row>) {
    let mut table = Table::new(&["span", ">self", ">share", "", ">total", ">CPU", "scope"]);
    let mut beside = false;
    for row in &spans.rows {
        // What ran beside the region is no part of it.
        let inside = text(row, "scope") == Some("measured_subtree");
        beside |= !inside;
        let own = float(row, "measured_overlap_self_time_ns").filter(|_| inside);
        let part = own.map(|own| own / (timing.outer_wall_time_ns.max(1)) as f64);
        table.push(vec![
            name(row, "name"),
            time(row, "measured_overlap_self_time_ns"),
            absent_or(part.map(percent)),
            part.map(block).unwrap_or_default(),
            time(row, "full_duration_ns"),
            time(row, "cpu_ns"),
            plain(row, "scope"),
        ]);
    }
    if table.is_empty() {
        return;
    }
    let cpu = cpu_said(&spans.rows);
    page.list(
        &format!("**Slowest spans**, by self time: host time in the measured region and in no child span. {cpu}"),
        spans.total,
        table,
    );
    if beside {
        page.paragraph(
            "Spans of scope `concurrent_overlap` ran beside the region: their time is never added to its own.",
        );
    }
    page.again(&[kind("slowest-host"), kind("critical-path")]);
}

/// What thread CPU time is, or that there is none.
fn cpu_said(rows: &[Row]) -> &'static str {
    match rows.iter().any(|row| int(row, "cpu_ns").is_some()) {
        true => "CPU is the time that their threads computed.",
        false => "Their thread CPU time is not recorded.",
    }
}

/// Operations by name, by shape, and the work that is known of them.
pub(super) fn operations(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Operations");
    if let Some(why) = source.absent("operation_coverage") {
        page.paragraph(&why);
        return Ok(());
    }
    if !source.sound {
        let recorded = several(source.overview.counts.events.operations, "operation was", "operations were");
        page.paragraph(&format!("{recorded} recorded. They are not ranked: {UNSOUND}."));
        page.again(&[kind("ops")]);
        return Ok(());
    }
    let by_name = source.rows("op_names", Some(source.overview.operations.by_name.total))?;
    let mut table = Table::new(&["operation", ">calls", ">host time", ">share", "", ">CPU"]);
    for row in &by_name.rows {
        let cells = vec![
            name(row, "name"),
            number(row, "calls"),
            time(row, "total_ns"),
            share(row, "share"),
            bar(row, "share"),
        ];
        table.push([cells, vec![time(row, "cpu_ns")]].concat());
    }
    let cpu = cpu_said(&by_name.rows);
    page.list(
        &format!(
            "**By name**, most host time first. The share is of the time of all operations, not of wall time: operations \
             of several threads overlap. {cpu}"
        ),
        by_name.total,
        table,
    );
    page.again(&[sql("op_names")]);
    let by_shape = source.rows("ops", None)?;
    let mut table = Table::new(&["operation", "output", "dtype", "device", ">calls", ">host time", ">p50", ">p99"]);
    for row in &by_shape.rows {
        let what = vec![name(row, "name"), shape(row, "shape"), plain(row, "dtype"), plain(row, "device")];
        let cost = vec![number(row, "calls"), time(row, "total_ns"), time(row, "p50_ns"), time(row, "p99_ns")];
        table.push([what, cost].concat());
    }
    page.list("**By shape**, with the median and the 99th percentile of a call.", by_shape.total, table);
    page.again(&[kind("ops")]);
    work(page, source)
}

fn work(page: &mut Page, source: &Source<'_>) -> Result<()> {
    if source.large {
        page.paragraph("**Work**: floating-point operations are left out of the page of a large trace.");
        page.again(&[kind("work")]);
        return Ok(());
    }
    let work = source.rows("op_work_by_name", None)?;
    let mut table =
        Table::new(&["operation", "device", ">work", ">rate", ">bytes moved", ">intensity", ">counted calls"]);
    let mut any = false;
    for row in &work.rows {
        any |= int(row, "flops").is_some();
        table.push(vec![
            name(row, "name"),
            plain(row, "device"),
            absent_or(float(row, "flops").map(|n| si(n, "FLOP"))),
            absent_or(float(row, "flops_per_second").map(|n| si(n, "FLOP/s"))),
            size(row, "bytes_moved"),
            absent_or(float(row, "intensity").map(|n| format!("{n:.2} FLOP/B"))),
            format!("{} of {}", number(row, "counted_calls"), number(row, "calls")),
        ]);
    }
    if !any {
        page.paragraph("**Work** is not known of any operation: no rule for its name, or no shapes of its inputs.");
        page.again(&[kind("uncounted-work")]);
        return Ok(());
    }
    page.list(
        "**Work**, where names and shapes tell it, else –. Bytes moved are the footprints of inputs and outputs; a rate is given \
         only where host time holds the work.",
        work.total,
        table,
    );
    page.again(&[kind("work"), kind("uncounted-work")]);
    Ok(())
}

/// Operations that made activations.
pub(super) fn activations(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Activations");
    if let Some(why) = source.absent("activation_coverage") {
        page.paragraph(&why);
        return Ok(());
    }
    if !source.sound {
        page.paragraph(&format!("Not ranked: {UNSOUND}."));
        page.again(&[kind("activations")]);
        return Ok(());
    }
    if source.large {
        page.paragraph("Left out of the page of a large trace.");
        page.again(&[kind("activations")]);
        return Ok(());
    }
    let Some(operations) = source.overview.activations.observed_operations else {
        page.paragraph(&format!("Not known: {}.", sentence(&source.overview.activations.host_time.reason)));
        return Ok(());
    };
    let counts = First::first(&source.evidence.top("activation_summary")?);
    let of = |column: &str| count(counts.int(column).unsigned_abs());
    page.paragraph(&format!(
        "{} of the measured region made an activation: {} gave the footprint of their output, {} own a storage, {} in \
         all. Of the other activation storages, {} ({}) belong to no one operation.",
        several(operations.unsigned_abs(), "operation", "operations"),
        of("dense_output_operations"),
        of("logical_storage_operations"),
        bytes(counts.int("attributed_bytes") as f64),
        of("unattributed_storages"),
        bytes(counts.int("unattributed_bytes") as f64),
    ));
    page.again(&[sql("activation_summary")]);
    let (query, caption) = match (counts.int("logical_storage_operations"), counts.int("dense_output_operations")) {
        (0, 0) => {
            page.again(&[kind("activations")]);
            return Ok(());
        }
        (0, _) => ("activations_by_dense_output", "**Largest activations**, by the footprint of the output."),
        _ => (
            "activations_by_logical_bytes",
            "**Largest activations**, by the bytes of the storages that are theirs alone.",
        ),
    };
    let largest = source.rows(query, None)?;
    let mut table =
        Table::new(&["operation", "output", "dtype", ">own storages", ">held for", ">footprint", ">host time"]);
    for row in &largest.rows {
        table.push(vec![
            name(row, "name"),
            shape(row, "shape"),
            plain(row, "dtype"),
            size(row, "logical_allocated_bytes"),
            time(row, "logical_storage_live_duration_ns"),
            size(row, "dense_output_bytes"),
            time(row, "observed_host_duration_ns"),
        ]);
    }
    page.list(caption, largest.total, table);
    page.again(&[kind("activations"), sql(query)]);
    Ok(())
}
