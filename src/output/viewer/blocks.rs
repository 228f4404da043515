//! What a page of a trace holds: the queries, how many of their rows, and what is kept where there are more.
//! In: an examined trace. Out: the rows of each block, or why there are none. Left to neighbours: their encoding
//! (`encode`), the size of the whole (`mod`).

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;

use super::levels::{self, Keep, Kept, Marks};
use super::memory;
use crate::error::{Error, Result};
use crate::evidence::{Evidence, gpu};
use crate::query::{self, Filter, Page};

/// One block of a page.
pub(super) struct Block {
    /// The query in queries/ whose rows it holds.
    pub query: &'static str,
    pub keep: Keep,
    /// Most rows, whatever the page may weigh.
    pub most: usize,
    /// Whether it needs a complete, valid capture.
    pub sound: bool,
}

/// Rows of a list; nobody reads further, and `query` has them all.
const LIST: usize = 20_000;
/// Marks of a timeline.
const MARKS: usize = 1_000_000;

const fn list(query: &'static str) -> Block {
    Block { query, keep: Keep::First, most: LIST, sound: false }
}

const fn sound(block: Block) -> Block {
    Block { sound: true, ..block }
}

const fn kept(keep: Keep, most: usize, block: Block) -> Block {
    Block { keep, most, ..block }
}

const fn timeline(query: &'static str, lanes: &'static [&'static str], own: &'static [&'static str]) -> Block {
    kept(Keep::Marks(Marks { lanes, own }), MARKS, list(query))
}

/// Every block, those first that the first look needs.
pub(super) const BLOCKS: &[Block] = &[
    sound(list("step_split")),
    sound(list("host_hotspots")),
    list("ops"),
    list("memory_totals"),
    list("memory_peak"),
    list("peak_composition"),
    list("peak_storages_ranked"),
    kept(Keep::Longest, 200_000, list("spans")),
    timeline(
        "timeline_ops",
        &["thread_id"],
        &["seq", "span_id", "op_index", "cpu_ns", "output_dense_bytes", "input_dense_bytes"],
    ),
    timeline("timeline_device", &["device", "clock_id", "stream_id"], &["seq"]),
    timeline("timeline_gpu", &["device", "context_id", "stream_id"], &["row", "bytes", "correlation_id"]),
    timeline("timeline_ranges", &["process_id", "thread_id", "level"], &["row"]),
    kept(Keep::First, 400_000, list("flow")),
    sound(kept(Keep::First, 200_000, list("critical_path"))),
    list("op_work_by_name"),
    list("tensor_stats"),
    list("gradients"),
    list("gradient_families"),
    list("dead_gradients"),
    list("first_non_finite"),
    list("memory_by_category"),
    kept(Keep::All, memory::EVENTS, list("memory_timeline")),
    list("lifetimes"),
    list("retained_storages"),
    list("physical_timeline"),
    list("device_busy"),
    list("device_idle"),
    sound(list("slowest_device")),
    list("gpu_reports"),
    list("gpu_busy"),
    list("gpu_idle"),
    list("gpu_hotspots"),
    list("gpu_kernel_summary"),
    list("gpu_phases"),
    list("gpu_phase_kernels"),
    list("gpu_phase_copies"),
    list("gpu_correlation"),
    list("gpu_attribution_totals"),
    list("gpu_attribution_gaps"),
    list("gpu_launches"),
    list("gpu_memory_operations"),
    list("cuda_api_functions"),
];

/// The rows of a block.
pub(super) struct Gathered {
    /// `memory_levels` for a long `memory_timeline`, else the query's name.
    pub name: &'static str,
    pub block: &'static Block,
    /// Or why there is no such block.
    pub rows: Result<Kept, String>,
    /// How many rows the query has.
    pub total: usize,
}

/// The rows of `block`, at most as many as it may have.
pub(super) fn gather(evidence: &Evidence, block: &'static Block) -> Result<Gathered> {
    let none = |why: String| Gathered { name: block.query, block, rows: Err(why), total: 0 };
    if let Some(why) = evidence.health.unsound_reason().filter(|_| block.sound) {
        return Ok(none(format!("needs a complete, valid capture, and this one has {why}")));
    }
    if let Some(why) = gpu::lacking_for(&evidence.trace, block.query) {
        return Ok(none(why));
    }
    if let Some(why) = nothing_recorded(evidence, block.query)? {
        return Ok(none(why));
    }
    if block.query == "memory_timeline" && evidence.trace.count("memory") > memory::EVENTS as u64 {
        let (rows, total) = memory::levels(evidence)?;
        return Ok(Gathered { name: "memory_levels", block, rows: Ok(rows), total });
    }
    let (rows, total) = match block.keep {
        Keep::First => first(evidence, block)?,
        Keep::All | Keep::Longest => {
            let rows = one(block.query, evidence.whole(block.query)?)?;
            let total = rows.as_ref().map_or(0, RecordBatch::num_rows);
            (rows, total)
        }
        Keep::Marks(marks) => return timeline_rows(evidence, block, &marks),
    };
    let rows = match rows {
        Some(rows) => Ok(levels::keep(block.keep, rows, block.most, total)?),
        None => Err("there is none".to_owned()),
    };
    Ok(Gathered { name: block.query, block, rows, total })
}

/// Why a query has no row, where nothing was recorded that it reads.
fn nothing_recorded(evidence: &Evidence, query: &'static str) -> Result<Option<String>> {
    let reads = query::reads(query)?;
    let events = crate::tables::events();
    let recorded: Vec<&str> = events.iter().map(|t| t.name).filter(|t| reads.iter().any(|r| r == t)).collect();
    let supplied = reads.iter().any(|r| crate::tables::nsight::is_one(r));
    if supplied && evidence.trace.nsight.is_none() {
        return Ok(Some("no Nsight reports were supplied".to_owned()));
    }
    // A label of a span is looked up by many; what such a query is about is the other table.
    let about: Vec<&&str> = recorded.iter().filter(|t| **t != "spans" || recorded.len() == 1).collect();
    let empty = !about.is_empty() && about.iter().all(|t| evidence.trace.count(t) == 0);
    let names: Vec<&str> = about.iter().map(|t| told(t)).collect();
    Ok(empty.then(|| format!("no {} were recorded", names.join(" and no "))))
}

/// What the rows of a recorded table are called.
fn told(table: &str) -> &str {
    match table {
        "ops" => "operations",
        "tensor_stats" => "tensor statistics",
        "memory" => "storage lifetimes",
        "device_memory" => "physical checkpoints",
        "device_intervals" => "device intervals",
        other => other,
    }
}

/// The rows of a query as one batch; none where there are none.
fn one(query: &str, rows: Vec<RecordBatch>) -> Result<Option<RecordBatch>> {
    let Some(first) = rows.iter().find(|b| b.num_rows() > 0) else { return Ok(None) };
    concat_batches(&first.schema(), &rows).map(Some).map_err(wrong(query))
}

fn wrong(query: &str) -> impl Fn(ArrowError) -> Error {
    let query = query.to_owned();
    move |e| Error::Query { query: query.clone(), problem: e.to_string() }
}

/// The first rows of a query, and how many it has.
fn first(evidence: &Evidence, block: &Block) -> Result<(Option<RecordBatch>, usize)> {
    let all = Filter::default();
    let rows = match crate::evidence::is_large(&evidence.trace) {
        false => evidence.whole(block.query)?,
        true => query::rows(&evidence.session, block.query, &all, Page::first(block.most + 1))?,
    };
    let rows = one(block.query, rows)?;
    let seen = rows.as_ref().map_or(0, RecordBatch::num_rows);
    let more = seen > block.most && crate::evidence::is_large(&evidence.trace);
    Ok((rows, if more { query::count(&evidence.session, block.query, &all)? } else { seen }))
}

/// The marks of a timeline, merged while its rows arrive: a hundred million operations are never held.
fn timeline_rows(evidence: &Evidence, block: &'static Block, marks: &Marks) -> Result<Gathered> {
    let session = &evidence.session;
    let (mut held, mut rows, mut width): (Vec<RecordBatch>, usize, Option<i64>) = (Vec::new(), 0, None);
    let mut shrink = |held: &mut Vec<RecordBatch>| -> Result<usize> {
        let Some(all) = one(block.query, std::mem::take(held))? else { return Ok(0) };
        let (kept, step) = levels::merge(marks, all, block.most).map_err(wrong(block.query))?;
        width = width.max(step);
        let rows = kept.num_rows();
        held.push(kept);
        Ok(rows)
    };
    let total = session.each_batch(session.sql(query::text(block.query)?)?, |batch| {
        rows += batch.num_rows();
        held.push(levels::marks(&batch).map_err(wrong(block.query))?);
        if rows > 4 * block.most {
            rows = shrink(&mut held)?;
        }
        Ok(())
    })?;
    shrink(&mut held)?;
    let rows = match held.pop() {
        Some(rows) => Ok(Kept { rows, note: width.map(|width| levels::merged_note(width, total)) }),
        None => Err("there is none".to_owned()),
    };
    Ok(Gathered { name: block.query, block, rows, total })
}
