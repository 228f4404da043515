//! Logical and physical memory: beside each other, never mixed.
//! In: an examined trace. Out: totals, the peak and what held it, lifetimes, a timeline; physical checkpoints apart.
//! Left to neighbours: the SQL.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Availability, RANKING, Request, bounded, few};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::output::bounds::{Budget, Pool};
use crate::output::documents::Cut;
use crate::output::rows::Row;

/// Both planes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryResult {
    pub logical: Logical,
    pub physical: Physical,
}

/// What the program recorded of its storages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Logical {
    #[serde(flatten)]
    pub availability: Availability,
    pub storage_allocation_count: Option<i64>,
    pub matched_storage_free_count: Option<i64>,
    pub total_allocated_bytes: Option<i64>,
    /// Still live at the end.
    pub retained_bytes: Option<i64>,
    /// Rows of query `memory_totals`.
    pub by_device: Option<Vec<Row>>,
    /// Rows of query `memory_by_category`.
    pub by_category: Option<Vec<Row>>,
    pub peak: Option<Peak>,
    /// Rows of query `retained_storages`.
    pub retained: Option<Vec<Row>>,
    /// Rows of query `lifetimes`.
    pub lifetimes: Option<Vec<Row>>,
    /// Rows of query `memory_timeline`.
    pub timeline: Option<Vec<Row>>,
    /// Rows of query `memory_envelope`: the whole timeline in a hundred parts.
    pub envelope: Option<Vec<Row>>,
    /// How much of each list is here; `--all` gives every row.
    pub lists: BTreeMap<&'static str, Cut>,
}

/// The moment at which most was live at once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Peak {
    pub timestamp_ns: Option<i64>,
    pub live_bytes: Option<i64>,
    pub storages: Option<i64>,
    pub live_bytes_by_device: BTreeMap<String, i64>,
    pub live_bytes_by_category: BTreeMap<String, i64>,
    /// Rows of query `peak_composition`.
    pub composition: Vec<Row>,
    /// Rows of query `peak_storages_ranked`.
    pub live_allocations: Vec<Row>,
}

/// Checkpoints of devices and allocators. They name no tensor and no operation, so they attribute nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Physical {
    #[serde(flatten)]
    pub availability: Availability,
    /// Rows of query `device_memory`.
    pub by_device: Option<Vec<Row>>,
    /// Rows of query `physical_timeline`: beside each checkpoint what of it the logical plane does not explain.
    pub timeline: Option<Vec<Row>>,
    /// How much of each list is here; `--all` gives every row.
    pub lists: BTreeMap<&'static str, Cut>,
}

/// Lists that share a response, and one share for the sums by device and category, which repeat what is in them.
const LISTS: usize = 11;

struct Lists<'a> {
    evidence: &'a Evidence,
    request: &'a Request,
    pool: &'a mut Pool,
    available: bool,
    cuts: BTreeMap<&'static str, Cut>,
}

impl Lists<'_> {
    fn rows(&mut self, name: &'static str, query: &str) -> Result<Option<Vec<Row>>> {
        if !self.available {
            return Ok(None);
        }
        let limit = (!self.request.all).then_some(RANKING);
        let found = bounded(self.evidence, query, limit, Budget::WHOLE)?;
        let rows = self.pool.take(found.rows);
        let displayed = rows.len();
        self.cuts.insert(name, Cut { total: found.total, displayed, truncated: displayed < found.total });
        Ok(Some(rows))
    }
}

/// Logical and physical memory of a trace.
///
/// # Errors
/// The engine's own failures.
pub fn result(evidence: &Evidence, request: &Request) -> Result<MemoryResult> {
    let mut pool = Pool::new(LISTS, request.all);
    Ok(MemoryResult {
        logical: logical(evidence, request, &mut pool)?,
        physical: physical(evidence, request, &mut pool)?,
    })
}

fn logical(evidence: &Evidence, request: &Request, pool: &mut Pool) -> Result<Logical> {
    let availability = Availability::of(evidence, "logical_memory_coverage");
    let available = availability.is_available();
    let mut lists = Lists { evidence, request, pool, available, cuts: BTreeMap::new() };
    let by_device = lists.rows("by_device", "memory_totals")?;
    let sum = |column: &str| -> Option<i64> {
        Some(by_device.as_ref()?.iter().filter_map(|row| row.get(column)?.as_i64()).sum())
    };
    // A sum over a cut list would be too small.
    let whole = lists.cuts.get("by_device").is_some_and(|cut| !cut.truncated);
    let total = |column: &str| sum(column).filter(|_| whole);
    let envelope = match available {
        true => Some(lists.pool.take(few(evidence, "memory_envelope")?)),
        false => None,
    };
    Ok(Logical {
        storage_allocation_count: total("storage_allocation_count"),
        matched_storage_free_count: total("matched_storage_free_count"),
        total_allocated_bytes: total("total_allocated_bytes"),
        retained_bytes: total("retained_bytes"),
        by_category: lists.rows("by_category", "memory_by_category")?,
        peak: if available { Some(peak(&mut lists)?) } else { None },
        retained: lists.rows("retained", "retained_storages")?,
        lifetimes: lists.rows("lifetimes", "lifetimes")?,
        timeline: lists.rows("timeline", "memory_timeline")?,
        envelope,
        by_device,
        lists: lists.cuts,
        availability,
    })
}

fn peak(lists: &mut Lists<'_>) -> Result<Peak> {
    let moment = crate::evidence::Row::first(&crate::query::rows(
        &lists.evidence.session,
        "memory_peak",
        &crate::query::Filter::default(),
        crate::query::Page::first(1),
    )?);
    let composition = lists.rows("peak.composition", "peak_composition")?.unwrap_or_default();
    let by = |dimension: &str| {
        let rows = composition.iter().filter(|row| row["dimension"] == dimension);
        rows.filter_map(|row| Some((row.get("value")?.as_str()?.to_owned(), row.get("bytes")?.as_i64()?))).collect()
    };
    Ok(Peak {
        timestamp_ns: moment.opt_int("timestamp_ns"),
        live_bytes: moment.opt_int("live_bytes"),
        storages: moment.opt_int("storages"),
        live_bytes_by_device: by("device"),
        live_bytes_by_category: by("category"),
        live_allocations: lists.rows("peak.live_allocations", "peak_storages_ranked")?.unwrap_or_default(),
        composition,
    })
}

fn physical(evidence: &Evidence, request: &Request, pool: &mut Pool) -> Result<Physical> {
    let availability = Availability::of(evidence, "physical_memory_coverage");
    let mut lists = Lists { evidence, request, pool, available: availability.is_available(), cuts: BTreeMap::new() };
    Ok(Physical {
        by_device: lists.rows("by_device", "device_memory")?,
        timeline: lists.rows("timeline", "physical_timeline")?,
        lists: lists.cuts,
        availability,
    })
}
