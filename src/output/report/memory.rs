//! What a run held: logical memory, and apart from it what devices and allocators reported.
//! In: the overview and the categories. Out: tables by device, by category, by storage. Left to neighbours: activations
//! and their footprints (`cost`).

use super::markdown::{bar as block, percent};
use super::page::{Page, Table, kind};
use super::{ABSENT, Source, UNSOUND, absent_or, bar, float, name, number, plain, shape, share, size, time};
use crate::error::Result;

/// Storages that the program recorded.
pub(super) fn logical(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Logical memory");
    if let Some(why) = source.absent("logical_memory_coverage") {
        page.paragraph(&why);
        return Ok(());
    }
    let devices = &source.overview.memory.by_device;
    let mut table = Table::new(&["device", ">peak", ">reached at", ">allocated", ">storages", ">freed", ">still live"]);
    for row in &devices.rows {
        table.push(vec![
            plain(row, "device"),
            size(row, "peak_live_bytes"),
            time(row, "peak_timestamp_ns"),
            size(row, "total_allocated_bytes"),
            number(row, "storage_allocation_count"),
            number(row, "matched_storage_free_count"),
            size(row, "retained_bytes"),
        ]);
    }
    page.list(
        "**By device**: the storages that the program recorded, which is not what a process or an allocator held. Still \
         live: at the end of the capture.",
        devices.total,
        table,
    );
    if source.large {
        page.paragraph(
            "What was **held at the peak**, by category and by storage, is left out of the page of a large trace.",
        );
    } else {
        categories(page, source)?;
        holders(page, source)?;
    }
    page.again(&[kind("memory"), kind("lifetimes")]);
    Ok(())
}

fn categories(page: &mut Page, source: &Source<'_>) -> Result<()> {
    let found = source.rows("memory_by_category", None)?;
    let at_peak: f64 = found.rows.iter().filter_map(|row| float(row, "live_at_peak_bytes")).sum();
    // A share of a part would be too large.
    let part = |part: Option<f64>| part.filter(|_| at_peak > 0.0 && !found.truncated).map(|bytes| bytes / at_peak);
    let mut table =
        Table::new(&["device", "category", ">held at the peak", ">share", "", ">own peak", ">allocated", ">storages"]);
    for row in &found.rows {
        let part = part(float(row, "live_at_peak_bytes"));
        table.push(vec![
            plain(row, "device"),
            plain(row, "category"),
            size(row, "live_at_peak_bytes"),
            absent_or(part.map(percent)),
            part.map(block).unwrap_or_default(),
            size(row, "peak_live_bytes"),
            size(row, "allocated_bytes"),
            number(row, "allocations"),
        ]);
    }
    page.list("**By category**, when all devices together held most.", found.total, table);
    Ok(())
}

fn holders(page: &mut Page, source: &Source<'_>) -> Result<()> {
    if !source.sound {
        page.paragraph(&format!("What was **held at the peak** is not ranked: {UNSOUND}."));
        return Ok(());
    }
    let found = source.rows("peak_storages_ranked", Some(source.overview.memory.at_peak.total))?;
    let mut table = Table::new(&["allocated in", "by", "category", "shape", "dtype", ">size", ">share", "", ">lived"]);
    for row in &found.rows {
        table.push(vec![
            name(row, "allocation_span_name"),
            name(row, "op_name"),
            plain(row, "category"),
            shape(row, "shape"),
            plain(row, "dtype"),
            size(row, "bytes"),
            share(row, "share"),
            bar(row, "share"),
            match time(row, "live_ns") {
                lived if lived == ABSENT => "to the end".to_owned(),
                lived => lived,
            },
        ]);
    }
    page.list("**Held at the peak**, the largest storages first.", found.total, table);
    Ok(())
}

/// Checkpoints of devices and allocators.
pub(super) fn physical(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Physical memory");
    if let Some(why) = source.absent("physical_memory_coverage") {
        page.paragraph(&why);
        return Ok(());
    }
    let devices = source.rows("device_memory", Some(source.overview.memory.physical_by_device.total))?;
    let mut table = Table::new(&["device", ">checkpoints", ">least used", ">most used", ">most reserved", ">capacity"]);
    for row in &devices.rows {
        table.push(vec![
            plain(row, "device"),
            number(row, "samples"),
            size(row, "min_used_bytes"),
            size(row, "max_used_bytes"),
            size(row, "max_reserved_bytes"),
            size(row, "capacity_bytes"),
        ]);
    }
    page.list(
        "**Checkpoints** of devices and allocators. They name no operation and no tensor, and between two of them anything \
         may have happened.",
        devices.total,
        table,
    );
    page.again(&[kind("memory")]);
    Ok(())
}
