//! `report.md`: the page of a bundle that a person reads.
//! In: an examined trace, and what its evidence does not know. Out: GitHub-flavoured Markdown, the same bytes for the
//! same trace wherever it lies, at most [`MOST`] bytes whatever it holds. Left to neighbours: the numbers (`overview`).

mod cost;
mod device;
mod gpu;
pub(super) mod markdown;
mod memory;
mod numerics;
mod opening;
pub(super) mod page;
mod verdict;

use serde_json::Value;

use super::documents::Bounded;
use super::overview::{self, Overview};
use super::rows::{Row, json_rows};
use crate::error::Result;
use crate::evidence::{Evidence, TOP, is_large};
use crate::load::Trace;
use crate::text::{bytes, count, duration};
use markdown::{ABSENT, label, percent, word};
use page::Page;

/// Most bytes of a page.
pub const MOST: usize = 64 << 10;

/// Rows of a table.
const ROWS: usize = 8;

/// What the evidence does not know of a bundle.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// What was removed before publication: what, in how many places.
    pub removed: Vec<(String, usize)>,
}

/// Queries that the page of a trace shows, for [`Evidence::gather`] to run at once: those of the overview and a few more.
pub fn headlines(trace: &Trace) -> Vec<&'static str> {
    let mut names = overview::headlines(trace);
    let mut add = |table: &str, queries: &[&'static str]| {
        if trace.count(table) > 0 {
            names.extend(queries);
        }
    };
    add("ops", &["ops"]);
    add("device_intervals", &["device_busy"]);
    add("gradients", &["gradient_families"]);
    add("tensor_stats", &["tensor_stats", "non_finite_stats"]);
    if !is_large(trace) {
        add("ops", &["op_work_by_name"]);
        add("memory", &["memory_by_category"]);
        add("device_intervals", &["slowest_device"]);
    }
    names
}

/// The page.
///
/// # Errors
/// The engine's own failures.
pub fn markdown(evidence: &Evidence, extra: &Extra) -> Result<String> {
    let overview = overview::build(evidence)?;
    let source = Source {
        evidence,
        overview: &overview,
        extra,
        sound: evidence.health.is_sound(),
        large: is_large(&evidence.trace),
    };
    let mut page = Page::default();
    opening::summary(&mut page, &source)?;
    page.heading(2, "What ran");
    opening::what_ran(&mut page, &source);
    page.heading(2, "What it cost");
    cost::host_time(&mut page, &source)?;
    cost::operations(&mut page, &source)?;
    cost::activations(&mut page, &source)?;
    memory::logical(&mut page, &source)?;
    memory::physical(&mut page, &source)?;
    device::clocks(&mut page, &source)?;
    gpu::gpu(&mut page, &source)?;
    numerics::gradients(&mut page, &source)?;
    numerics::statistics(&mut page, &source)?;
    page.heading(2, "What is wrong");
    verdict::wrong(&mut page, &source);
    page.heading(2, "What is not known");
    verdict::unknown(&mut page, &source);
    page.heading(2, "How to read this page");
    verdict::how_to_read(&mut page);
    Ok(page.finish())
}

/// What a page is made from.
struct Source<'a> {
    evidence: &'a Evidence,
    overview: &'a Overview,
    extra: &'a Extra,
    /// Whether rankings and findings may be shown.
    sound: bool,
    /// Whether questions that take seconds are left to other commands.
    large: bool,
}

impl Source<'_> {
    /// The first rows of a query, and how many it has, unless the overview has counted them.
    fn rows(&self, query: &'static str, total: Option<usize>) -> Result<Bounded<Row>> {
        let total = match total {
            Some(total) => total,
            None => self.evidence.top_of(query)?.1,
        };
        // Of a large trace the engine is asked for hardly more than this, so that other tables of the page stop here too.
        let mut left = if self.large { TOP } else { ROWS };
        let mut rows = Vec::new();
        for batch in self.evidence.top(query)? {
            let part = batch.slice(0, batch.num_rows().min(left));
            left -= part.num_rows();
            rows.extend(json_rows(&[part])?);
        }
        Ok(Bounded::part(rows, total))
    }

    /// Why there is nothing of a plane; `None` where there is something.
    fn absent(&self, plane: &str) -> Option<String> {
        let capability = self.evidence.capabilities.get(plane)?;
        let nothing = capability.observed == Some(0) || capability.source == "none";
        nothing.then(|| format!("Not recorded: {}.", markdown::sentence(&capability.reason)))
    }
}

/// Why a capture carries no ranking, where one would stand.
const UNSOUND: &str = "this capture is not complete and valid, as said at the top";

fn int(row: &Row, column: &str) -> Option<i64> {
    row.get(column).and_then(Value::as_i64)
}

fn float(row: &Row, column: &str) -> Option<f64> {
    row.get(column).and_then(Value::as_f64)
}

fn text<'a>(row: &'a Row, column: &str) -> Option<&'a str> {
    row.get(column).and_then(Value::as_str)
}

fn absent_or(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| ABSENT.to_owned())
}

fn name(row: &Row, column: &str) -> String {
    absent_or(text(row, column).map(label))
}

fn plain(row: &Row, column: &str) -> String {
    absent_or(text(row, column).map(word))
}

fn time(row: &Row, column: &str) -> String {
    absent_or(float(row, column).map(duration))
}

fn size(row: &Row, column: &str) -> String {
    absent_or(float(row, column).map(bytes))
}

fn share(row: &Row, column: &str) -> String {
    absent_or(float(row, column).map(percent))
}

fn bar(row: &Row, column: &str) -> String {
    float(row, column).map(markdown::bar).unwrap_or_default()
}

fn number(row: &Row, column: &str) -> String {
    absent_or(int(row, column).and_then(|n| u64::try_from(n).ok()).map(count))
}

/// Dimensions as people write them.
fn shape(row: &Row, column: &str) -> String {
    const DIMENSIONS: usize = 8;
    let Some(sizes) = row.get(column).and_then(Value::as_array) else { return ABSENT.to_owned() };
    let mut sizes: Vec<String> = sizes.iter().map(Value::to_string).collect();
    if sizes.len() > DIMENSIONS {
        sizes.truncate(DIMENSIONS);
        sizes.push("…".to_owned());
    }
    if sizes.is_empty() { "scalar".to_owned() } else { sizes.join(" × ") }
}
