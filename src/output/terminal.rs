//! The overview for a person at a terminal.
//! In: the overview document. Out: text, 100 columns wide at most but for labels. Left to neighbours: the numbers.

use std::fmt::Write;

use serde_json::Value;

use super::documents::Bounded;
use super::overview::{Deferred, Overview};
use super::rows::Row;
use crate::text::{bytes, count, duration, printable, shorten, shorten_to};

/// How text is set off.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether escape sequences may be used.
    pub color: bool,
}

impl Style {
    /// Line by line: whoever reads one line of the output finds its colour switched off again.
    fn wrap(self, code: &str, text: &str) -> String {
        let line = |line: &str| if self.color { format!("\x1b[{code}m{line}\x1b[0m") } else { line.to_owned() };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// A comparison's verdict, or what is said of it.
    pub(super) fn verdict(self, verdict: &str, text: &str) -> String {
        let code = match verdict {
            "candidate_faster" => "1;32",
            "candidate_slower" | "ineligible" => "1;31",
            _ => "1",
        };
        self.wrap(code, text)
    }

    fn heading(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// A word that warns.
    pub(super) fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(super) fn level(self, level: &str) -> String {
        let code = match level {
            "complete" => "32",
            "partial" => "33",
            "invalid" | "failed" | "interrupted" => "31",
            _ => "2",
        };
        self.wrap(code, level)
    }
}

/// Text of the trace: bounded, and without anything a terminal obeys.
fn show(text: &str) -> String {
    printable(&shorten(text))
}

fn text(row: &Row, column: &str) -> String {
    show(row.get(column).and_then(Value::as_str).unwrap_or("-"))
}

fn time(row: &Row, column: &str) -> String {
    row.get(column).and_then(Value::as_f64).map_or("-".to_owned(), duration)
}

fn size(row: &Row, column: &str) -> String {
    row.get(column).and_then(Value::as_f64).map_or("-".to_owned(), bytes)
}

fn share(row: &Row, column: &str) -> String {
    row.get(column).and_then(Value::as_f64).map_or("-".to_owned(), |s| format!("{:.1} %", s * 100.0))
}

fn number(row: &Row, column: &str) -> String {
    row.get(column).and_then(Value::as_u64).map_or("-".to_owned(), count)
}

/// Columns of a terminal.
const COLUMNS: usize = 100;

/// Columns of text, the first left-aligned, the others right-aligned. What is too long for the first column and the width
/// of a terminal stands on a line of its own.
pub(super) fn grid(out: &mut String, style: Style, header: &[&str], rows: &[Vec<String>]) {
    let wide = |text: &str| text.chars().count();
    let width = |column: usize| rows.iter().map(|r| wide(&r[column])).chain([wide(header[column])]).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..header.len()).map(width).collect();
    let others: usize = widths.iter().skip(1).map(|w| w + 2).sum();
    let room = COLUMNS.saturating_sub(2 + others).max(wide(header[0]));
    if widths[0] > room {
        let fitting = rows.iter().map(|r| wide(&r[0])).filter(|w| *w <= room);
        widths[0] = fitting.chain([wide(header[0])]).max().unwrap_or(0);
    }
    let line = |cells: &[String]| -> String {
        let mut text = String::from("  ");
        for (column, cell) in cells.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(wide(cell)));
            match column {
                0 if wide(cell) > widths[0] => text.push_str(&format!("{cell}\n  {}", " ".repeat(widths[0]))),
                0 => text.push_str(&format!("{cell}{pad}")),
                _ => text.push_str(&format!("  {pad}{cell}")),
            }
        }
        text.trim_end().to_owned()
    };
    let titles: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
    let _ = writeln!(out, "{}", style.dim(&line(&titles)));
    for row in rows {
        let _ = writeln!(out, "{}", line(row));
    }
}

pub(super) fn section(out: &mut String, style: Style, title: &str, shown: usize, total: usize) {
    let part = if shown < total { style.dim(&format!("  {shown} of {total}")) } else { String::new() };
    let _ = writeln!(out, "\n{}{part}", style.heading(title));
}

/// The overview as text.
pub fn overview(o: &Overview, style: Style) -> String {
    let mut out = String::new();
    let p = &o.provenance;
    let unit = if p.phase == "train" { "update" } else { "invocation" };
    let _ = writeln!(
        out,
        "{}  {unit} {} on {}, {}",
        style.heading(&show(&p.entrypoint)),
        p.capture_step,
        show(&p.device),
        style.level(p.outcome),
    );
    let mut facts = vec![p.timestamp.clone()];
    facts.extend(p.candle_version.as_ref().map(|v| format!("candle {v}")));
    facts.extend(p.build_profile.as_ref().map(|b| format!("recorder {b}")));
    facts.extend(p.cpu_model.clone());
    let _ = writeln!(out, "{}", style.dim(&facts.iter().map(|f| show(f)).collect::<Vec<_>>().join(" · ")));
    if let Some(reason) = &p.reason {
        let _ = writeln!(out, "reason: {}", show(reason));
    }
    let c = &o.counts.events;
    let _ = writeln!(
        out,
        "{} spans, {} operations, {} tensors, {} statistics, {} gradients, {} memory events; {} lost",
        count(c.spans),
        count(c.operations),
        count(c.tensors),
        count(c.tensor_stats),
        count(c.gradients),
        count(c.memory_events),
        count(u64::try_from(p.events_lost).unwrap_or(0)),
    );
    timing(&mut out, o, style);
    operations(&mut out, o, style);
    gradients_and_memory(&mut out, o, style);
    gpu(&mut out, o, style);
    evidence(&mut out, o, style);
    let _ = writeln!(out, "\n{}", style.heading("Next"));
    for next in &o.next_queries {
        let argv: Vec<String> = next.argv.iter().map(|a| shell_word(a)).collect();
        let _ = writeln!(out, "  {}", argv.join(" "));
    }
    out
}

fn timing(out: &mut String, o: &Overview, style: Style) {
    let Some(t) = &o.timing else {
        section(out, style, "Host time", 0, 0);
        sentence(out, &format!("unavailable: {}", o.timing_unavailable_reason.as_deref().unwrap_or("")));
        return;
    };
    let list = &t.slowest_host_spans;
    section(
        out,
        style,
        &format!("Host time  {} in the measured region", duration(t.outer_wall_time_ns as f64)),
        list.displayed,
        list.total,
    );
    let rows: Vec<Vec<String>> = list
        .rows
        .iter()
        .map(|r| {
            vec![
                text(r, "name"),
                time(r, "measured_overlap_self_time_ns"),
                time(r, "full_duration_ns"),
                time(r, "cpu_ns"),
                text(r, "scope"),
            ]
        })
        .collect();
    grid(out, style, &["span", "self", "total", "cpu", "scope"], &rows);
    let steps = t.step_split.iter().filter(|r| !r.get("wall_ns").is_none_or(Value::is_null));
    let steps: Vec<String> = steps.map(|r| format!("{} {}", text(r, "step"), time(r, "wall_ns"))).collect();
    if steps.len() > 1 {
        let _ = writeln!(out, "  by step: {}", steps.join(", "));
    }
}

fn operations(out: &mut String, o: &Overview, style: Style) {
    let list = &o.operations.by_name;
    section(out, style, "Operations  host time as the program measured it", list.displayed, list.total);
    if list.rows.is_empty() {
        let _ = writeln!(out, "  none recorded");
        return;
    }
    let rows: Vec<Vec<String>> = list
        .rows
        .iter()
        .map(|r| vec![text(r, "name"), number(r, "calls"), time(r, "total_ns"), share(r, "share"), time(r, "cpu_ns")])
        .collect();
    grid(out, style, &["operation", "calls", "total", "share", "cpu"], &rows);
}

fn gradients_and_memory(out: &mut String, o: &Overview, style: Style) {
    if !o.gradients.states.is_empty() {
        section(out, style, "Gradients", 0, 0);
        let states: Vec<String> =
            o.gradients.states.iter().map(|r| format!("{} {}", number(r, "gradients"), text(r, "state"))).collect();
        let _ = writeln!(out, "  {}", states.join(", "));
        let without = &o.gradients.not_present;
        let rows: Vec<Vec<String>> = without
            .rows
            .iter()
            .map(|r| vec![format!("{}/{}", text(r, "root"), text(r, "key")), text(r, "state")])
            .collect();
        if !rows.is_empty() {
            let more =
                if without.truncated { format!("  {} of {}", without.displayed, without.total) } else { String::new() };
            grid(out, style, &[&format!("parameter{more}"), "state"], &rows);
        }
    }
    let logical = &o.memory.by_device;
    if !logical.rows.is_empty() {
        section(out, style, "Logical memory  storages the program recorded", logical.displayed, logical.total);
        let rows: Vec<Vec<String>> = logical
            .rows
            .iter()
            .map(|r| {
                vec![
                    text(r, "device"),
                    size(r, "peak_live_bytes"),
                    time(r, "peak_timestamp_ns"),
                    size(r, "total_allocated_bytes"),
                    number(r, "storage_allocation_count"),
                    size(r, "retained_bytes"),
                ]
            })
            .collect();
        grid(out, style, &["device", "peak", "at", "allocated", "storages", "retained"], &rows);
        let held = &o.memory.at_peak;
        let rows: Vec<Vec<String>> = held
            .rows
            .iter()
            .map(|r| {
                vec![
                    text(r, "allocation_span_name"),
                    text(r, "op_name"),
                    text(r, "category"),
                    size(r, "bytes"),
                    share(r, "share"),
                ]
            })
            .collect();
        if !rows.is_empty() {
            let title = format!("held at the peak  {} of {}", held.displayed, held.total);
            grid(out, style, &[&title, "operation", "category", "size", "share"], &rows);
        }
    }
    let physical = &o.memory.physical_by_device;
    if !physical.rows.is_empty() {
        section(out, style, "Physical memory  checkpoints", physical.displayed, physical.total);
        let rows: Vec<Vec<String>> = physical
            .rows
            .iter()
            .map(|r| {
                vec![
                    text(r, "device"),
                    number(r, "samples"),
                    size(r, "min_used_bytes"),
                    size(r, "max_used_bytes"),
                    size(r, "max_reserved_bytes"),
                ]
            })
            .collect();
        grid(out, style, &["device", "samples", "least used", "most used", "reserved"], &rows);
    }
}

/// What Nsight reports say, where any were supplied.
fn gpu(out: &mut String, o: &Overview, style: Style) {
    let gpu = &o.gpu;
    let Some(binding) = gpu.provenance_binding else { return };
    section(out, style, &format!("GPU  Nsight reports, {binding}"), 0, 0);
    sentence(out, &gpu.reason);
    let failed: Vec<&str> =
        gpu.reports.iter().filter(|(_, state)| **state == "failed").map(|(name, _)| *name).collect();
    if !failed.is_empty() {
        sentence(out, &format!("not readable: {}; query --kind gpu-status says why", failed.join(", ")));
    }
    let mut table =
        |title: &str, columns: &[&str], list: &Option<Bounded<Row>>, cells: &dyn Fn(&Row) -> Vec<String>| {
            let Some(list) = list.as_ref().filter(|list| !list.rows.is_empty()) else { return };
            let part = if list.truncated { format!("  {} of {}", list.displayed, list.total) } else { String::new() };
            let title = format!("{title}{part}");
            let header: Vec<&str> = std::iter::once(title.as_str()).chain(columns.iter().copied()).collect();
            grid(out, style, &header, &list.rows.iter().map(cells).collect::<Vec<_>>());
        };
    table("device", &["busy", "of", "idle", "kernels", "copies alone"], &gpu.devices, &|r| {
        let [busy, of, idle, copies] = ["busy_ns", "window_ns", "idle_ns", "exposed_copy_ns"].map(|c| time(r, c));
        vec![text(r, "device"), busy, of, idle, number(r, "kernels"), copies]
    });
    table("label", &["attribution", "busy", "of", "share", "kernels"], &gpu.phases, &|r| {
        let [busy, of] = ["gpu_busy_ns", "projected_duration_ns"].map(|c| time(r, c));
        vec![text(r, "label"), text(r, "attribution"), busy, of, share(r, "busy_share"), number(r, "kernels")]
    });
    table("kernel", &["total", "calls", "mean"], &gpu.kernels, &|r| {
        let calls = if r.contains_key("kernels") { "kernels" } else { "instances" };
        vec![text(r, "name"), time(r, "total_ns"), number(r, calls), time(r, "mean_ns")]
    });
    if let Some(outside) = gpu.outside_share.filter(|share| *share > 0.0) {
        let percent = outside * 100.0;
        sentence(out, &format!("{percent:.1}% of the GPU time belongs to no label; query --kind gpu-attribution-gaps"));
    }
}

fn evidence(out: &mut String, o: &Overview, style: Style) {
    section(out, style, "What may be claimed", 0, 0);
    for level in ["complete", "partial", "invalid", "unavailable"] {
        let names: Vec<&str> = o.capabilities.iter().filter(|(_, c)| c.level == level).map(|(n, _)| *n).collect();
        if !names.is_empty() {
            let pad = " ".repeat(13 - level.len());
            let _ = writeln!(out, "  {}{pad}{}", style.level(level), wrap(&names, ", ", 15));
        }
    }
    let errors: Vec<_> = o.health.issues.rows.iter().filter(|i| i.severity == "error").collect();
    if !errors.is_empty() {
        section(out, style, "Structural errors", errors.len(), o.health.error_count);
        for issue in errors {
            sentence(out, &format!("{}: {}", issue.code, issue.message));
        }
    }
    if !o.findings.rows.is_empty() {
        section(out, style, "Findings", o.findings.displayed, o.findings.total);
        for finding in &o.findings.rows {
            let sentence = format!("{} ({} evidence)", printable(&finding.summary), finding.qualification);
            let words: Vec<&str> = sentence.split(' ').collect();
            let _ = writeln!(out, "  {}", wrap(&words, " ", 4));
            let next = format!("next: query --kind {}, to {}", finding.next.kind, finding.next.purpose);
            let _ = writeln!(out, "    {}", style.dim(&wrap(&next.split(' ').collect::<Vec<_>>(), " ", 6)));
        }
    }
    if !o.gaps.rows.is_empty() {
        section(out, style, "Not known", o.gaps.displayed, o.gaps.total);
        for gap in &o.gaps.rows {
            sentence(out, gap);
        }
        deferred(out, o);
    }
}

/// What the overview of a large trace leaves to other commands.
fn deferred(out: &mut String, o: &Overview) {
    for Deferred { part, kind } in &o.deferred {
        let _ = writeln!(out, "  {part}: left out of a large trace's overview; query --kind {kind} has it");
    }
}

/// A sentence that may hold text of the trace, in lines.
fn sentence(out: &mut String, text: &str) {
    let text = printable(&shorten_to(text, 1024));
    let _ = writeln!(out, "  {}", wrap(&text.split(' ').collect::<Vec<_>>(), " ", 4));
}

/// Words in lines of at most 100 columns, the second and later lines indented.
pub(super) fn wrap(words: &[&str], separator: &str, indent: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for (index, word) in words.iter().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + separator.len() + length > COLUMNS {
            let _ = write!(text, "{}\n{}", separator.trim_end(), " ".repeat(indent));
            column = indent;
        } else if index > 0 {
            text.push_str(separator);
            column += separator.len();
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// A word as a POSIX shell reads it back.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", printable(word).replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_size_and_gain_a_unit() {
        assert_eq!(duration(999.0), "999 ns");
        assert_eq!(duration(1_234.0), "1.23 µs");
        assert_eq!(duration(1_234_567.0), "1.235 ms");
        assert_eq!(duration(61_000_000_000.0), "61.000 s");
        assert_eq!(bytes(1023.0), "1023 B");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn every_line_switches_its_colour_off() {
        assert_eq!(Style { color: true }.dim("a\n  b"), "\x1b[2ma\x1b[0m\n\x1b[2m  b\x1b[0m");
        assert_eq!(Style { color: false }.dim("a\n  b"), "a\n  b");
    }

    #[test]
    fn hostile_text_is_text() {
        assert_eq!(printable("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
