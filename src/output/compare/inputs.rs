//! The runs of a comparison: opened, examined, and of their rows what a comparison reads.
//! In: paths of two cohorts. Out: each run's record and wall time, and tables of what each run has of each label,
//! operation, summary, gradient. Left to neighbours: what may be said of them.
//!
//! A thousand bundles are never open at once: they come in groups, each a SQL session over its runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::analysis::statistics::Side;
use crate::error::{Error, Result};
use crate::evidence::{self, eligibility::Replicate};
use crate::load::{self, Options, Trace};
use crate::output::columns::Columns;
use crate::query::{self, Filter, Page};
use crate::session::{Limits, Session};

/// Runs that are open at once.
const GROUP: usize = 32;

/// One run of a comparison.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub replicate: Replicate,
    /// Identity of its bundle; `None`: a raw trace.
    pub manifest_sha256: Option<String>,
    /// Wall time of its measured region; `None` unless the capture is complete and valid and has exactly one.
    pub wall_ns: Option<i64>,
}

/// What one run has of something: how often, and how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub run: usize,
    pub count: i64,
    /// `None`: recorded, and not known.
    pub value: Option<f64>,
    /// Elements that are not finite, of tensors and gradients.
    pub non_finite: i64,
    /// A second value: the largest, of tensors.
    pub second: Option<f64>,
}

/// What the runs have, by what it is of.
pub(super) type Table<K> = BTreeMap<K, Vec<Cell>>;

/// Name, shape and element type of an operation.
pub(super) type OpKey = (String, Vec<i64>, String);

/// Both cohorts, in the order in which their runs started.
#[derive(Debug, Default)]
pub(super) struct Cohorts {
    pub baseline: Vec<Run>,
    pub candidate: Vec<Run>,
    /// Positions in cells: those of the baseline, then those of the candidate.
    pub labels: Table<String>,
    pub operations: Table<OpKey>,
    pub tensor_stats: Table<String>,
    /// By root/key.
    pub gradients: Table<String>,
    /// One entry, if any run recorded logical memory.
    pub memory: Table<&'static str>,
}

impl Cohorts {
    /// Opens and reads every run.
    ///
    /// # Errors
    /// An input that cannot be read or, unless `unverified`, is no bundle that verifies.
    pub fn read(baseline: &[PathBuf], candidate: &[PathBuf], unverified: bool) -> Result<Self> {
        let sides = baseline.iter().map(|p| (Side::Baseline, p)).chain(candidate.iter().map(|p| (Side::Candidate, p)));
        let inputs: Vec<(Side, &PathBuf)> = sides.collect();
        let mut read = Reader { cohorts: Self::default(), runs: Vec::new() };
        for group in inputs.chunks(GROUP) {
            read.group(group, unverified)?;
        }
        Ok(read.finish())
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.baseline.len() + self.candidate.len()
    }
}

struct Reader {
    cohorts: Cohorts,
    /// As they were given.
    runs: Vec<(Side, Run)>,
}

impl Reader {
    fn group(&mut self, inputs: &[(Side, &PathBuf)], unverified: bool) -> Result<()> {
        let mut opened = open_all(inputs, unverified)?;
        // Rows are told apart by run_id: what came twice goes into a session of its own.
        while !opened.is_empty() {
            let mut seen = BTreeSet::new();
            let (now, later) = opened.into_iter().partition(|(_, trace, _)| seen.insert(trace.run.run_id.clone()));
            self.session(now)?;
            opened = later;
        }
        Ok(())
    }

    fn session(&mut self, opened: Vec<(Side, Trace, Replicate)>) -> Result<()> {
        let mut ids = BTreeMap::new();
        let mut traces = Vec::with_capacity(opened.len());
        for (side, trace, replicate) in opened {
            ids.insert(trace.run.run_id.clone(), self.runs.len());
            let manifest_sha256 = trace.bundle.as_ref().map(|b| b.identity.clone());
            self.runs.push((side, Run { replicate, manifest_sha256, wall_ns: None }));
            traces.push(trace);
        }
        // One partition: floats are then summed in the order in which they are stored, on every machine.
        let session = Session::open(&traces, Limits { partitions: Some(1), ..Limits::default() })?;
        let each = |name: &str, row: &mut dyn FnMut(usize, &Columns<'_>, usize)| -> Result<()> {
            for batch in query::rows(&session, name, &Filter::default(), Page::ALL)? {
                let columns = Columns(&batch);
                for at in 0..batch.num_rows() {
                    if let Some(run) = ids.get(&columns.text("run_id", at)) {
                        row(*run, &columns, at);
                    }
                }
            }
            Ok(())
        };
        let runs = &mut self.runs;
        each("series_wall", &mut |run, row, at| {
            let run = &mut runs[run].1;
            let known = run.replicate.unsound.is_none() && run.replicate.measured_regions == 1;
            run.wall_ns = row.opt_int("outer_wall_time_ns", at).filter(|_| known);
        })?;
        let cohorts = &mut self.cohorts;
        each("cohort_labels", &mut |run, row, at| {
            let cell = Cell::of(run, row.opt_int("calls", at), row.opt_int("measured_self_ns", at).map(|n| n as f64));
            cohorts.labels.entry(row.text("label", at)).or_default().push(cell);
        })?;
        each("cohort_ops", &mut |run, row, at| {
            let key = (row.text("name", at), row.ints("shape", at), row.text("dtype", at));
            let cell = Cell::of(run, row.opt_int("calls", at), row.opt_int("total_ns", at).map(|n| n as f64));
            cohorts.operations.entry(key).or_default().push(cell);
        })?;
        each("cohort_tensor_stats", &mut |run, row, at| {
            let cell = Cell::of(run, row.opt_int("samples", at), row.opt_float("rms", at));
            let non_finite = row.opt_int("non_finite", at).unwrap_or_default();
            let cell = Cell { non_finite, second: row.opt_float("abs_max", at), ..cell };
            cohorts.tensor_stats.entry(row.text("label", at)).or_default().push(cell);
        })?;
        each("cohort_gradients", &mut |run, row, at| {
            let cell = Cell::of(run, row.opt_int("records", at), row.opt_float("norm", at));
            let non_finite = row.opt_int("non_finite", at).unwrap_or_default();
            let label = format!("{}/{}", row.text("root", at), row.text("key", at));
            cohorts.gradients.entry(label).or_default().push(Cell { non_finite, ..cell });
        })?;
        each("cohort_memory", &mut |run, row, at| {
            let cell = Cell::of(run, Some(1), row.opt_int("peak_live_bytes", at).map(|n| n as f64));
            cohorts.memory.entry("peak_live_bytes").or_default().push(cell);
        })
    }

    /// Puts the runs in the order in which they started, and the cells in that of the runs.
    fn finish(self) -> Cohorts {
        let Self { mut cohorts, runs } = self;
        let mut order: Vec<usize> = (0..runs.len()).collect();
        let key = |at: &usize| {
            let (side, run) = &runs[*at];
            let record = &run.replicate.run;
            (*side == Side::Candidate, record.started_at_us, record.run_id.clone(), run.manifest_sha256.clone())
        };
        order.sort_by_cached_key(key);
        let mut place = vec![0; runs.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        fn arrange<K: Ord>(table: &mut Table<K>, place: &[usize]) {
            for cells in table.values_mut() {
                cells.iter_mut().for_each(|cell| cell.run = place[cell.run]);
                cells.sort_by_key(|cell| cell.run);
            }
        }
        arrange(&mut cohorts.labels, &place);
        arrange(&mut cohorts.operations, &place);
        arrange(&mut cohorts.tensor_stats, &place);
        arrange(&mut cohorts.gradients, &place);
        arrange(&mut cohorts.memory, &place);
        let mut runs: Vec<Option<(Side, Run)>> = runs.into_iter().map(Some).collect();
        for at in order {
            match runs[at].take() {
                Some((Side::Baseline, run)) => cohorts.baseline.push(run),
                Some((Side::Candidate, run)) => cohorts.candidate.push(run),
                None => {}
            }
        }
        cohorts
    }
}

impl Cell {
    fn of(run: usize, count: Option<i64>, value: Option<f64>) -> Self {
        Self { run, count: count.unwrap_or_default(), value, non_finite: 0, second: None }
    }
}

/// Opens and examines some inputs, with as many threads as there are cores.
fn open_all(inputs: &[(Side, &PathBuf)], unverified: bool) -> Result<Vec<(Side, Trace, Replicate)>> {
    let next = AtomicUsize::new(0);
    let opened = Mutex::new(Vec::with_capacity(inputs.len()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(inputs.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((side, path)) = inputs.get(at) else { break };
                    let one = open(path, unverified).map(|(trace, replicate)| (*side, trace, replicate));
                    opened.lock().unwrap_or_else(|e| e.into_inner()).push((at, one));
                }
            });
        }
    });
    let mut opened = opened.into_inner().unwrap_or_else(|e| e.into_inner());
    opened.sort_by_key(|(at, _)| *at);
    opened.into_iter().map(|(_, one)| one).collect()
}

fn open(path: &Path, unverified: bool) -> Result<(Trace, Replicate)> {
    let trace = load::open(path, Options::default())?;
    if trace.bundle.is_none() && !unverified {
        let what = "is no bundle, so nothing proves what it holds; publish it (`candle-graph report TRACE --bundle DIR`), \
                    or give --unverified-traces for a diagnosis without a verdict";
        return Err(Error::input(path, what));
    }
    let health = evidence::check(&trace).map_err(|e| trace.of_input(e))?;
    let replicate = Replicate {
        run: trace.run.clone(),
        unsound: health.unsound_reason(),
        measured_regions: health.counts.measured_spans,
    };
    Ok((trace, replicate))
}
