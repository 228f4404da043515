//! Device time: each clock by itself, never beside host time.
//! In: the busy time of clocks and spans. Out: two tables. Left to neighbours: host time (`cost`).

use super::page::{Page, Table, kind};
use super::{Source, UNSOUND, bar, name, number, plain, share, time};
use crate::error::Result;

/// How busy each clock was, and with which spans.
pub(super) fn clocks(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Device time");
    if let Some(why) = source.absent("nested_device_time") {
        page.paragraph(&why);
        return Ok(());
    }
    let clocks = source.rows("device_busy", None)?;
    let mut table = Table::new(&["device", "clock", ">busy", ">of", ">share", "", ">idle", ">intervals", ">streams"]);
    for row in &clocks.rows {
        table.push(vec![
            plain(row, "device"),
            name(row, "clock_id"),
            time(row, "busy_ns"),
            time(row, "window_ns"),
            share(row, "utilisation"),
            bar(row, "utilisation"),
            time(row, "idle_ns"),
            number(row, "intervals"),
            number(row, "streams"),
        ]);
    }
    page.list(
        "**By clock**: the time in which at least one interval ran, of the time between the first and the last. Times of \
         different clocks are never compared, and never with host time.",
        clocks.total,
        table,
    );
    page.again(&[kind("device-busy"), kind("device-idle")]);
    if !source.sound {
        page.paragraph(&format!("**Spans** are not ranked: {UNSOUND}."));
        return Ok(());
    }
    if source.large {
        page.paragraph("**Spans** by device time are left out of the page of a large trace.");
        page.again(&[kind("slowest-device")]);
        return Ok(());
    }
    let spans = source.rows("slowest_device", None)?;
    let mut table = Table::new(&["span", "device", "clock", ">device time", ">intervals"]);
    for row in &spans.rows {
        let place = vec![name(row, "name"), plain(row, "device"), name(row, "clock_id")];
        table.push([place, vec![time(row, "device_busy_ns"), number(row, "interval_count")]].concat());
    }
    page.list("**By span**, of the work that the span itself launched, longest first.", spans.total, table);
    page.again(&[kind("slowest-device")]);
    Ok(())
}
