//! Logical memory over time in few enough steps to draw.
//! In: the rows of query `memory_timeline`, in order of time. Out: for each step and category the most and the last live
//! bytes. Left to neighbours: shorter timelines, which a page holds event by event.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;

use super::levels::Kept;
use crate::error::{Error, Result};
use crate::evidence::{Evidence, Row};
use crate::query;
use crate::text::count;

/// Events that a page holds one by one.
pub(super) const EVENTS: usize = 50_000;

/// Steps of a longer timeline: more than a screen has columns of pixels.
const STEPS: i64 = 8_192;

/// What happened in a step to one category.
struct Step {
    most: i64,
    last: i64,
}

/// The steps of a timeline, and how many events it has.
pub(super) fn levels(evidence: &Evidence) -> Result<(Kept, usize)> {
    let session = &evidence.session;
    // What lies in the window is what the trace recorded, so that no event falls outside it.
    let window = "SELECT min(timestamp_ns) AS first_ns, max(timestamp_ns) AS last_ns FROM memory";
    let window = Row::first(&session.collect(session.sql(window)?)?);
    let (first, last) = (window.opt_int("first_ns").unwrap_or(0), window.opt_int("last_ns").unwrap_or(0));
    let width = (last.saturating_sub(first) / STEPS).saturating_add(1);
    let mut steps: BTreeMap<(i64, String), Step> = BTreeMap::new();
    let mut held: BTreeMap<String, i64> = BTreeMap::new();
    let total = session.each_batch(session.sql(query::text("memory_timeline")?)?, |batch| {
        let column = |name: &str| {
            let missing = || Error::Query { query: "memory_timeline".to_owned(), problem: format!("has no {name}") };
            batch.column_by_name(name).ok_or_else(missing)
        };
        let times = column("timestamp_ns")?.as_primitive::<Int64Type>();
        let live = column("category_live_bytes")?.as_primitive::<Int64Type>();
        let categories = column("category")?.as_string::<i32>();
        for row in 0..batch.num_rows() {
            let (category, live) = (categories.value(row), live.value(row));
            let step = times.value(row).saturating_sub(first) / width;
            // A step begins with what the one before left.
            let before = held.get(category).copied().unwrap_or(0);
            let at = steps.entry((step, category.to_owned())).or_insert(Step { most: before, last: before });
            at.most = at.most.max(live);
            at.last = live;
            match held.get_mut(category) {
                Some(bytes) => *bytes = live,
                None => drop(held.insert(category.to_owned(), live)),
            }
        }
        Ok(())
    })?;
    let start = |step: i64| first.saturating_add(step.saturating_mul(width));
    let of = |get: &dyn Fn(&(i64, String), &Step) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(steps.iter().map(|(key, step)| get(key, step))))
    };
    let categories: ArrayRef = Arc::new(StringArray::from_iter_values(steps.keys().map(|(_, category)| category)));
    let rows = RecordBatch::try_from_iter([
        ("start_ns", of(&|key, _| start(key.0))),
        ("end_ns", of(&|key, _| start(key.0 + 1))),
        ("category", categories),
        ("max_live_bytes", of(&|_, step| step.most)),
        ("last_live_bytes", of(&|_, step| step.last)),
    ]);
    let rows = rows.map_err(|e| Error::Sql { problem: format!("levels of memory: {e}") })?;
    let note = format!(
        "{} events in steps of {}: of each step and category the most live bytes and the last.",
        count(total as u64),
        crate::text::duration(width as f64)
    );
    Ok((Kept { rows, note: Some(note) }, total))
}
