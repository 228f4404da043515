//! What is wrong, what is not known, and how to read the page.
//! In: health, findings, capabilities, gaps. Out: two tables, a list, a few sentences. Left to neighbours: the numbers.

use super::markdown::{sentence, several};
use super::page::{Page, Table, kind, sql};
use super::{Source, UNSOUND};
use crate::evidence::Level;

/// Bytes of the table of planes and gaps, which is shown whole wherever texts are not hostile.
const PLANES: usize = 8 << 10;

/// Health issues, then findings.
pub(super) fn wrong(page: &mut Page, source: &Source<'_>) {
    let health = &source.overview.health;
    page.heading(3, "Health");
    let issues = &health.issues;
    let mut table = Table::new(&["severity", "code", "what"]);
    for issue in &issues.rows {
        let severity = if issue.severity == "error" { "**error**" } else { issue.severity };
        table.push(vec![severity.to_owned(), format!("`{}`", issue.code), sentence(&issue.message)]);
    }
    let verdict = match (health.error_count, health.warning_count) {
        (0, 0) => "Every structural check passed, and nothing is absent that a check looks for.".to_owned(),
        (0, n) => format!("No structural error. {}:", several(n as u64, "warning", "warnings")),
        (n, 0) => format!("{}:", several(n as u64, "structural error", "structural errors")),
        (n, warnings) => format!(
            "{}, {}:",
            several(n as u64, "structural error", "structural errors"),
            several(warnings as u64, "warning", "warnings")
        ),
    };
    match table.is_empty() {
        true => page.paragraph(&verdict),
        false => page.list(&verdict, issues.total, table),
    }
    page.again(&["`candle-graph overview BUNDLE`".to_owned()]);
    page.heading(3, "Findings");
    let findings = &source.overview.findings;
    if !source.sound {
        page.paragraph(&format!("Not derived: {UNSOUND}."));
    } else if findings.rows.is_empty() {
        page.paragraph("Nothing stands out by the rules that were applied.");
    }
    let point = |f: &crate::output::documents::FindingOut| {
        let level = f.qualification;
        // Two spaces end a line.
        format!(
            "**`{}`**: {} ({level} evidence).  \n  ↳ {} gives its numbers; {} to {}.",
            f.code,
            sentence(&f.summary),
            sql(f.evidence.query),
            kind(f.next.kind),
            f.next.purpose
        )
    };
    page.points(&findings.rows.iter().map(point).collect::<Vec<_>>());
}

/// A level with a mark that shows it at a glance.
fn marked(level: Level) -> String {
    let mark = match level {
        Level::Complete => "●",
        Level::Partial => "◐",
        Level::Unavailable => "○",
        Level::Invalid => "✗",
    };
    format!("{mark} {}", level.as_str())
}

/// A reason without the message of a health code, which stands a few lines above.
fn below_health(reason: &str) -> String {
    let code = reason.strip_prefix("health code ").and_then(|rest| rest.split_once(": "));
    match code {
        Some((code, _)) if code.chars().all(|c| c.is_ascii_lowercase() || c == '_') => {
            format!("health code `{code}`, above")
        }
        _ => sentence(reason),
    }
}

/// Planes from the weakest to the strongest, gaps that no plane speaks of, parts left out.
pub(super) fn unknown(page: &mut Page, source: &Source<'_>) {
    let planes = &source.evidence.capabilities;
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for level in [Level::Invalid, Level::Unavailable, Level::Partial, Level::Complete] {
        for (name, plane) in planes.iter().filter(|(_, plane)| plane.level == level) {
            rows.push((format!("`{name}`"), marked(level), below_health(&plane.reason)));
        }
    }
    let said = |gap: &str| planes.values().any(|plane| plane.reason == gap);
    for gap in source.overview.gaps.rows.iter().filter(|gap| !said(gap)) {
        let issue = source.evidence.health.issues.iter().find(|issue| issue.message == *gap);
        let name = issue.map_or("gap".to_owned(), |issue| format!("`{}`", issue.code));
        rows.push((name, "○ gap".to_owned(), sentence(gap)));
    }
    let events = &source.overview.counts.events;
    // What the overview never shows, and this page only of a small trace.
    let own =
        [("work", "work", events.operations), ("spans by device time", "slowest-device", events.device_intervals)];
    let own = own.iter().filter(|(.., recorded)| source.large && *recorded > 0).map(|(part, name, _)| (*part, *name));
    for (part, name) in source.overview.deferred.iter().map(|part| (part.part, part.kind)).chain(own) {
        rows.push((part.to_owned(), "○ left out".to_owned(), format!("the trace is large; {}", kind(name))));
    }
    let total = rows.len() + (source.overview.gaps.total - source.overview.gaps.displayed);
    let mut table = Table::new(&["plane", "level", "why"]);
    rows.into_iter().for_each(|(plane, level, why)| table.push(vec![plane, level, why]));
    page.list_within(
        PLANES,
        "What may be claimed of each plane of evidence, the weakest first. What is missing from a plane that is not complete \
         may have happened all the same.",
        total,
        table,
    );
    page.again(&[kind("capabilities")]);
}

/// A few sentences for whoever meets such a page for the first time.
pub(super) fn how_to_read(page: &mut Page) {
    page.paragraph(
        "Host time is what the program's own threads spent, by their clock; device time comes from device clocks, and the \
         two are never mixed. A footprint is elements times the size of one, and no allocation; logical memory is what the \
         program recorded of its storages, physical memory what a device or an allocator reported. Partial means that some \
         of a plane was recorded and nobody promised all of it, so that what is missing here may still have happened; – \
         means that a fact was not recorded, and never zero.",
    );
    page.paragraph(
        "This page is derived from the tables beside it. `candle-graph verify BUNDLE --semantic` \
         checks every file of the bundle and derives the page again.",
    );
}
