//! The runs of a comparison: opened, examined, and of their rows what a comparison reads.
//! In: paths of two cohorts. Out: each run's record and wall time, and tables of what each run has of each label,
//! operation, summary, gradient. Left to neighbours: what may be said of them.
//!
//! A thousand bundles are never open at once: they come in groups, each a SQL session over its runs, a few at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::analysis::statistics::Side;
use crate::error::{Error, Result};
use crate::evidence::{self, eligibility::Replicate};
use crate::load::{self, Options, Trace, bundle};
use crate::output::columns::Columns;
use crate::output::each::each;
use crate::query::{self, Filter, Page};
use crate::session::{Limits, Session};

/// Runs of a session at most: planning its queries costs as much as reading three runs of 10,000 operations.
const GROUP: usize = 32;
/// Groups that are read at once, cores permitting. Each may take 200 MiB.
const AT_ONCE: usize = 4;

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
        // All of about the same size, whatever is left over.
        let size = inputs.len().div_ceil(inputs.len().div_ceil(GROUP).max(1)).max(1);
        let groups: Vec<&[(Side, &PathBuf)]> = inputs.chunks(size).collect();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let at_once = cores.min(AT_ONCE).min(groups.len()).max(1);
        let read = each(&groups, at_once, |group| Reader::group(group, unverified, cores / at_once))?;
        let whole = read.into_iter().reduce(Reader::and).unwrap_or_default();
        Ok(whole.finish())
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.baseline.len() + self.candidate.len()
    }
}

#[derive(Default)]
struct Reader {
    cohorts: Cohorts,
    /// As they were given.
    runs: Vec<(Side, Run)>,
}

impl Reader {
    fn group(inputs: &[(Side, &PathBuf)], unverified: bool, threads: usize) -> Result<Self> {
        let mut read = Self::default();
        let mut opened = each(inputs, threads, |(side, path)| {
            open(path, unverified).map(|(trace, replicate)| (*side, trace, replicate))
        })?;
        // Rows are told apart by run_id: what came twice goes into a session of its own.
        while !opened.is_empty() {
            let mut seen = BTreeSet::new();
            let (now, later) = opened.into_iter().partition(|(_, trace, _)| seen.insert(trace.run.run_id.clone()));
            read.session(now)?;
            opened = later;
        }
        Ok(read)
    }

    /// The runs of a group, then those of another.
    fn and(mut self, other: Self) -> Self {
        fn add<K: Ord>(to: &mut Table<K>, from: Table<K>, first: usize) {
            for (key, cells) in from {
                let cells = cells.into_iter().map(|cell| Cell { run: first + cell.run, ..cell });
                to.entry(key).or_default().extend(cells);
            }
        }
        let first = self.runs.len();
        self.runs.extend(other.runs);
        let (to, from) = (&mut self.cohorts, other.cohorts);
        add(&mut to.labels, from.labels, first);
        add(&mut to.operations, from.operations, first);
        add(&mut to.tensor_stats, from.tensor_stats, first);
        add(&mut to.gradients, from.gradients, first);
        add(&mut to.memory, from.memory, first);
        self
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
        let rows = |name: &str, row: &mut dyn FnMut(usize, &Columns<'_>, usize)| -> Result<()> {
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
        rows("series_wall", &mut |run, row, at| {
            let run = &mut runs[run].1;
            let known = run.replicate.unsound.is_none() && run.replicate.measured_regions == 1;
            run.wall_ns = row.opt_int("outer_wall_time_ns", at).filter(|_| known);
        })?;
        let cohorts = &mut self.cohorts;
        rows("cohort_labels", &mut |run, row, at| {
            let cell = Cell::of(run, row.opt_int("calls", at), row.opt_int("measured_self_ns", at).map(|n| n as f64));
            cohorts.labels.entry(row.text("label", at)).or_default().push(cell);
        })?;
        rows("cohort_ops", &mut |run, row, at| {
            let key = (row.text("name", at), row.ints("shape", at), row.text("dtype", at));
            let cell = Cell::of(run, row.opt_int("calls", at), row.opt_int("total_ns", at).map(|n| n as f64));
            cohorts.operations.entry(key).or_default().push(cell);
        })?;
        rows("cohort_tensor_stats", &mut |run, row, at| {
            let cell = Cell::of(run, row.opt_int("samples", at), row.opt_float("rms", at));
            let non_finite = row.opt_int("non_finite", at).unwrap_or_default();
            let cell = Cell { non_finite, second: row.opt_float("abs_max", at), ..cell };
            cohorts.tensor_stats.entry(row.text("label", at)).or_default().push(cell);
        })?;
        rows("cohort_gradients", &mut |run, row, at| {
            let cell = Cell::of(run, row.opt_int("records", at), row.opt_float("norm", at));
            let non_finite = row.opt_int("non_finite", at).unwrap_or_default();
            let label = format!("{}/{}", row.text("root", at), row.text("key", at));
            cohorts.gradients.entry(label).or_default().push(Cell { non_finite, ..cell });
        })?;
        rows("cohort_memory", &mut |run, row, at| {
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

fn open(path: &Path, unverified: bool) -> Result<(Trace, Replicate)> {
    // Looked at before it is opened: nothing else may be waited for, as a pipe would be.
    if !unverified && path.exists() && !bundle::is_bundle(path) {
        let what = "is no bundle, so nothing proves what it holds; publish it (`candle-graph report TRACE --bundle DIR`), \
                    or give --unverified-traces for a diagnosis without a verdict";
        return Err(Error::input(path, what));
    }
    let trace = load::open(path, Options::default())?;
    let health = evidence::check(&trace).map_err(|e| trace.of_input(e))?;
    let replicate = Replicate {
        run: trace.run.clone(),
        unsound: health.unsound_reason(),
        measured_regions: health.counts.measured_spans,
    };
    Ok((trace, replicate))
}
