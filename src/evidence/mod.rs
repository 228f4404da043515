//! What may be claimed from what was seen.
//! In: an opened trace. Out: its health, capabilities, gaps and findings, over a SQL session that knows its coverage.
//! Left to neighbours: the shape of documents (`output`).

mod activations;
mod capabilities;
pub mod eligibility;
mod findings;
pub mod gpu;
mod provenance;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow::array::{Int64Array, RecordBatch, StringArray};

use crate::analysis::health::{self, Check, Health};
use crate::error::{Error, Result};
use crate::load::Trace;
use crate::query::{self, Filter, Page};
use crate::session::{Limits, SMALL, Session};
use crate::tables;

pub use activations::activation_planes;
pub use capabilities::{Capability, Level};
pub use findings::{FINDING_QUERIES, Finding};
pub use provenance::{Binding, BindingState, binding};

/// One trace, examined.
pub struct Evidence {
    pub trace: Trace,
    pub session: Session,
    pub health: Health,
    /// By name, as documents list them.
    pub capabilities: BTreeMap<&'static str, Capability>,
    /// What Nsight reports say, where there are any.
    pub gpu: Option<gpu::Gpu>,
    /// First rows of queries that have been run.
    tops: Mutex<Tops>,
}

type Tops = BTreeMap<&'static str, Top>;

/// The first rows of a query.
#[derive(Clone)]
struct Top {
    rows: Vec<RecordBatch>,
    /// Whether these are all.
    whole: bool,
}

/// Rows of a headline.
pub const TOP: usize = 5;

/// How many rows of a headline are fetched: of a small trace enough to count them all without a second query, of a
/// large one just enough to see that there are more.
fn fetched(trace: &Trace) -> usize {
    if trace.events() < SMALL { 10_000 } else { TOP + 1 }
}

/// Runs the queries whose tables hold anything; the others have no rows.
fn run_tops(session: &Session, trace: &Trace, names: &[&'static str]) -> Result<Tops> {
    let mut busy = Vec::new();
    for name in names {
        // A view reads spans at least, and every trace has spans.
        let holds = |table: &String| trace.count(table) > 0 || session.is_view(table);
        if query::reads(name)?.iter().any(holds) {
            busy.push(*name);
        }
    }
    let rows = query::tops(session, &busy, fetched(trace))?;
    let top = |rows: Vec<RecordBatch>| {
        let whole = rows.iter().map(RecordBatch::num_rows).sum::<usize>() < fetched(trace);
        Top { rows, whole }
    };
    Ok(busy.into_iter().zip(rows.into_iter().map(top)).collect())
}

impl Evidence {
    /// Examines a trace: health from one pass over its files, then what may be claimed of each plane. Beside the pass
    /// run the `headlines`, queries that need no sound capture; [`Evidence::top`] then has their rows.
    ///
    /// # Errors
    /// A file that cannot be read, an engine that refuses its set-up.
    pub fn gather(trace: Trace, limits: Limits, headlines: &[&'static str]) -> Result<Self> {
        let traces = [trace];
        let mut wanted = headlines.to_vec();
        if traces[0].events() >= SMALL && headlines.contains(&"slowest_host") {
            // Counted beside the ranking; of a small trace the ranking is fetched whole.
            wanted.push("ranked_spans");
        }
        let (examined, started) = std::thread::scope(|scope| {
            let examined = scope.spawn(|| examine(&traces[0]));
            let started = Session::open(&traces, limits).and_then(|session| {
                let tops = run_tops(&session, &traces[0], &wanted)?;
                let gpu = gpu::examine(&traces[0], &session)?;
                Ok((session, tops, gpu))
            });
            (examined.join(), started)
        });
        let [trace] = traces;
        let failed = || Error::input(&trace.requested, "its health check failed unexpectedly");
        let (health, mut capabilities) = examined.unwrap_or_else(|_| Err(failed()))?;
        let (session, mut tops, gpu) = started?;
        let gpu = gpu.map(|(gpu, rows)| {
            tops.insert(gpu::LEDGER, Top { rows, whole: true });
            gpu
        });
        capabilities.extend(gpu::capabilities(gpu.as_ref()));
        Ok(Self { trace, session, health, capabilities, gpu, tops: Mutex::new(tops) })
    }

    /// The first rows of a query without filter, more than [`TOP`] where there are more; run once, however often it is
    /// asked for.
    ///
    /// # Errors
    /// The engine's own failures.
    pub fn top(&self, name: &'static str) -> Result<Vec<RecordBatch>> {
        Ok(self.fetch(name)?.rows)
    }

    fn fetch(&self, name: &'static str) -> Result<Top> {
        let mut tops = self.tops.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(top) = tops.get(name) {
            return Ok(top.clone());
        }
        let top = run_tops(&self.session, &self.trace, &[name])?.remove(name);
        let top = top.unwrap_or(Top { rows: Vec::new(), whole: true });
        tops.insert(name, top.clone());
        Ok(top)
    }

    /// The first [`TOP`] rows of a query, and how many it has.
    ///
    /// # Errors
    /// The engine's own failures.
    pub fn top_of(&self, name: &'static str) -> Result<(Vec<RecordBatch>, usize)> {
        let Top { rows, whole } = self.fetch(name)?;
        let seen: usize = rows.iter().map(RecordBatch::num_rows).sum();
        let total = match name {
            _ if whole => seen,
            "slowest_host" => usize::try_from(Row::first(&self.top("ranked_spans")?).int("spans")).unwrap_or(seen),
            _ => query::count(&self.session, name, &Filter::default())?,
        };
        let mut left = TOP;
        let cut = |batch: RecordBatch| {
            let batch = batch.slice(0, batch.num_rows().min(left));
            left -= batch.num_rows();
            batch
        };
        Ok((rows.into_iter().map(cut).collect(), total))
    }

    /// Every row of a query without filter: those of a headline where it was fetched whole, else it is run.
    ///
    /// # Errors
    /// The engine's own failures.
    pub fn whole(&self, name: &'static str) -> Result<Vec<RecordBatch>> {
        let known = self.tops.lock().unwrap_or_else(|e| e.into_inner()).get(name).cloned();
        match known {
            Some(Top { rows, whole: true }) => Ok(rows),
            _ => {
                let rows = query::rows(&self.session, name, &Filter::default(), Page::ALL)?;
                if !is_large(&self.trace) {
                    // A bundle has many rows twice, as a table and in its viewer.
                    let mut tops = self.tops.lock().unwrap_or_else(|e| e.into_inner());
                    tops.insert(name, Top { rows: rows.clone(), whole: true });
                }
                Ok(rows)
            }
        }
    }

    /// Whether any gradient is in this state.
    ///
    /// # Errors
    /// The engine's own failures.
    pub fn has_gradients(&self, state: &str) -> Result<bool> {
        let states = self.top("gradient_states")?;
        let mut rows = states.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| batch.slice(at, 1)));
        Ok(rows.any(|row| Row::first(&[row]).text("state") == state))
    }

    /// `coverage` of this trace: what may be claimed of each plane.
    pub fn coverage(&self) -> RecordBatch {
        coverage_batch(&self.trace, &self.capabilities)
    }

    /// Whether a statement may read `coverage`, which costs a pass over the trace to make.
    pub fn mentions_coverage(statement: &str) -> bool {
        statement.to_ascii_lowercase().contains("coverage")
    }

    /// Why a question that needs a complete, valid capture cannot be answered, if it cannot.
    ///
    /// # Errors
    /// [`Error::Refused`] with the health code.
    pub fn require_sound(&self, kind: &str) -> Result<()> {
        match self.health.unsound_reason() {
            None => Ok(()),
            Some(reason) => Err(Error::Refused { kind: kind.to_owned(), reason }),
        }
    }

    /// What the trace cannot show, each gap once, in alphabetical order.
    pub fn gaps(&self) -> Vec<String> {
        findings::gaps(&self.health, &self.capabilities)
    }

    /// What stands out, each with the evidence it rests on; none for a capture that is not sound. `deep`: with the rules
    /// whose queries take seconds on a trace of many events.
    ///
    /// # Errors
    /// The engine's own failures.
    pub fn findings(&self, deep: bool) -> Result<Vec<Finding>> {
        if self.health.is_sound() { findings::derive(self, deep) } else { Ok(Vec::new()) }
    }
}

/// Whether there are so many events that a first look leaves the deep questions out.
pub fn is_large(trace: &Trace) -> bool {
    trace.events() >= SMALL
}

/// The measured region of a run.
pub struct Region {
    /// Its span.
    pub id: String,
    /// Its wall time.
    pub duration_ns: i64,
}

/// The measured region, where there is exactly one.
///
/// # Errors
/// The engine's own failures.
pub fn outer_wall(evidence: &Evidence) -> Result<Option<Region>> {
    let row = Row::first(&evidence.top("outer_wall")?);
    Ok(row.opt_int("outer_wall_time_ns").map(|duration_ns| Region { id: row.text("id"), duration_ns }))
}

/// Adds `coverage` to a session over many traces: what may be claimed of each plane of each.
///
/// # Errors
/// A file that cannot be read.
pub fn register_coverage(session: &Session, traces: &[Trace]) -> Result<()> {
    let mut batches = Vec::new();
    for trace in traces {
        let (_, mut planes) = examine(trace)?;
        let gpu = match (&trace.nsight, traces) {
            (None, _) => None,
            (Some(_), [_]) => gpu::examine(trace, session)?,
            (Some(_), _) => gpu::examine(trace, &Session::open(std::slice::from_ref(trace), Limits::default())?)?,
        };
        planes.extend(gpu::capabilities(gpu.as_ref().map(|(gpu, _)| gpu)));
        batches.push(coverage_batch(trace, &planes));
    }
    session.register_batches("coverage", Session::plain_schema(&tables::coverage()), batches)
}

/// What query `activation_evidence` counts, without an engine: tensors and allocations of category activation.
fn activation_records(trace: &Trace) -> Result<i64> {
    use arrow::array::AsArray;
    let mut found = 0;
    for batch in trace.scan("tensors", &["category"]) {
        found += batch?["category"].as_string::<i32>().iter().filter(|c| *c == Some("activation")).count();
    }
    for batch in trace.scan("memory", &["category", "action"]) {
        let batch = batch?;
        let actions = batch["action"].as_string::<i32>().iter();
        let rows = batch["category"].as_string::<i32>().iter().zip(actions);
        found += rows.filter(|row| *row == (Some("activation"), Some("alloc"))).count();
    }
    Ok(found as i64)
}

fn coverage_batch(trace: &Trace, planes: &BTreeMap<&'static str, Capability>) -> RecordBatch {
    let run = &trace.run;
    let text = |get: &dyn Fn(&str, &Capability) -> String| -> arrow::array::ArrayRef {
        Arc::new(StringArray::from_iter_values(planes.iter().map(|(name, c)| get(name, c))))
    };
    RecordBatch::try_new(
        Session::plain_schema(&tables::coverage()),
        vec![
            text(&|_, _| run.run_id.clone()),
            text(&|name, _| name.to_owned()),
            Arc::new(StringArray::from_iter(planes.values().map(|c| c.declared.map(|d| d.as_str())))),
            Arc::new(Int64Array::from_iter(planes.values().map(|c| c.observed.map(|n| n as i64)))),
            text(&|_, c| c.level.as_str().to_owned()),
            text(&|_, c| c.reason.clone()),
            text(&|_, c| c.source.clone()),
            Arc::new(Int64Array::from_iter_values(planes.values().map(|_| run.events_lost))),
        ],
    )
    .expect("columns follow tables::coverage()")
}

/// The health of a trace, and from it what may be claimed of each plane that rests on the trace itself.
fn examine(trace: &Trace) -> Result<(Health, BTreeMap<&'static str, Capability>)> {
    let health = check(trace).map_err(|e| trace.of_input(e))?;
    let activations = activation_records(trace).map_err(|e| trace.of_input(e))?;
    let capabilities = capabilities::matrix(&trace.run, &health, activations);
    Ok((health, capabilities))
}

/// The health of a trace, from one pass over its files.
///
/// # Errors
/// A file that cannot be read.
pub fn check(trace: &Trace) -> Result<Health> {
    let mut check = Check::new(&trace.run);
    for (table, columns) in health::READS {
        let columns = check.needs(table, columns);
        for batch in trace.scan(table, &columns) {
            check.feed(table, &batch?);
        }
    }
    Ok(check.finish())
}

/// The first row of a result, by column name; what is absent reads as NULL.
pub struct Row {
    batch: Option<RecordBatch>,
}

impl Row {
    /// The first row of `batches`.
    pub fn first(batches: &[RecordBatch]) -> Self {
        Self { batch: batches.iter().find(|b| b.num_rows() > 0).cloned() }
    }

    /// Whether there is a row.
    pub fn exists(&self) -> bool {
        self.batch.is_some()
    }

    /// An integer column.
    pub fn opt_int(&self, column: &str) -> Option<i64> {
        use arrow::array::{Array, AsArray};
        let array = self.batch.as_ref()?.column_by_name(column)?.as_primitive_opt::<arrow::datatypes::Int64Type>()?;
        array.is_valid(0).then(|| array.value(0))
    }

    /// An integer column, 0 for NULL: for counts only.
    pub fn int(&self, column: &str) -> i64 {
        self.opt_int(column).unwrap_or(0)
    }

    /// A floating-point column.
    pub fn opt_float(&self, column: &str) -> Option<f64> {
        use arrow::array::{Array, AsArray};
        let array = self.batch.as_ref()?.column_by_name(column)?.as_primitive_opt::<arrow::datatypes::Float64Type>()?;
        array.is_valid(0).then(|| array.value(0))
    }

    /// A text column.
    pub fn text(&self, column: &str) -> String {
        use arrow::array::AsArray;
        let text = || Some(self.batch.as_ref()?.column_by_name(column)?.as_string_opt::<i32>()?.value(0).to_owned());
        text().unwrap_or_default()
    }
}
