//! Cohorts: runs of two commands, each a fresh process, in an order that keeps a drifting machine out of the result.
//! In: two commands, a number of runs, a directory. Out: a published bundle of each run, a log of each, the plan.
//! Left to neighbours: what the runs say of each other (`compare`), what a program does with its orders (`CohortRun`).
//!
//! Nothing is remembered but plan and bundles: whatever ended an earlier start, the same command goes on from it.

mod plan;
mod process;
mod progress;
mod state;

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use candle_graph_record::Cohort;

use self::process::Orders;
use self::progress::Progress;
use self::state::Finished;
use super::bundle::discard;
use crate::error::{Error, Result};
use crate::evidence::eligibility::FEWEST_RUNS;
use crate::load::bundle;

pub use plan::{MOST, Plan, SCHEMA, Slot};

/// Where bundles of runs go that did not end well.
const FAILED: &str = "failed";

/// Which runs.
#[derive(Clone, Debug)]
pub struct Request {
    /// The command of the baseline, for `sh -c`.
    pub baseline: String,
    pub candidate: String,
    /// Runs of each command, [`FEWEST_RUNS`] to [`MOST`].
    pub runs: usize,
    /// Seed of the order.
    pub seed: u64,
    /// Whether the n-th runs of both cohorts are a pair.
    pub paired: bool,
    /// The directory of it all.
    pub out: PathBuf,
}

/// Bundles of all runs, every one of them verified, each cohort by number.
#[derive(Clone, Debug)]
pub struct Cohorts {
    pub plan: Plan,
    pub baseline: Vec<PathBuf>,
    pub candidate: Vec<PathBuf>,
}

impl Request {
    /// Runs whatever is not there yet, until all runs are.
    ///
    /// # Errors
    /// The first run that fails or leaves no bundle of its own; a directory that holds something else; the file
    /// system's failures. Everything that is there stays, and the same request goes on from it.
    pub fn run(&self) -> Result<Cohorts> {
        for (option, command) in [("--baseline", &self.baseline), ("--candidate", &self.candidate)] {
            if command.trim().is_empty() || command.contains('\0') {
                return Err(Error::Usage { problem: format!("{option} is no command; give one for `sh -c`") });
            }
        }
        if !(FEWEST_RUNS..=MOST).contains(&self.runs) {
            return Err(Error::Usage { problem: format!("--runs is {}; give {FEWEST_RUNS} to {MOST}", self.runs) });
        }
        if let Some(bundle) = bundle::around(&self.out) {
            let problem = format!("lies in the bundle {}; a bundle never changes", bundle.display());
            return Err(Error::input(&self.out, problem));
        }
        let Self { baseline, candidate, runs, seed, paired, .. } = self.clone();
        let plan = Plan::new(baseline, candidate, runs, seed, paired)?;
        std::fs::create_dir_all(&self.out).map_err(Error::io("create directory", &self.out))?;
        let _lock = alone(&self.out)?;
        let plan = plan.settle(&self.out)?;
        for folder in [Cohort::Baseline.as_str(), Cohort::Candidate.as_str(), "logs"] {
            let folder = self.out.join(folder);
            std::fs::create_dir_all(&folder).map_err(Error::io("create directory", folder))?;
        }
        self.run_all(&plan)?;
        let of = |cohort: Cohort| {
            let slots = plan.slots().into_iter().filter(move |slot| slot.cohort == cohort);
            slots.map(|slot| slot.bundle(&self.out)).collect()
        };
        Ok(Cohorts { baseline: of(Cohort::Baseline), candidate: of(Cohort::Candidate), plan })
    }

    fn run_all(&self, plan: &Plan) -> Result<()> {
        let mut runs = Runs::default();
        let mut left = Vec::new();
        // What is there is looked at first: an error in it is told before an hour of running, not after.
        for slot in plan.slots() {
            let place = slot.bundle(&self.out);
            match state::find(&slot, &place, plan.paired)? {
                None => left.push(slot),
                Some(run) => runs.add(&slot, &place, &run)?,
            }
        }
        let mut progress = Progress::new(plan.order.len());
        while let Some(slot) = left.first().copied() {
            progress.started(&slot, &left);
            let began = Instant::now();
            let run = self.run_one(plan, &slot, &mut runs).map_err(|failure| match failure {
                Failure::Before(error) => error,
                Failure::Run(problem) => self.failed(plan, &slot, &problem, &progress),
            })?;
            progress.finished(&slot, began.elapsed(), &run);
            left.remove(0);
        }
        Ok(())
    }

    fn run_one(&self, plan: &Plan, slot: &Slot, runs: &mut Runs) -> std::result::Result<Finished, Failure> {
        let place = slot.bundle(&self.out);
        // What a killed process left of this run: it is run anew, and measures anew.
        discard(&place)?;
        // The process may work elsewhere than here.
        let bundle = std::path::absolute(&place).map_err(Error::io("find", &place))?;
        let (command, log) = (plan.command(slot.cohort), slot.log(&self.out));
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
        let status = process::run(&Orders { slot, command, bundle: &bundle, log: &log, paired: plan.paired })?;
        let failed = |problem: String| Err(Failure::Run(problem));
        if let Some(ending) = process::ending(status) {
            return failed(ending);
        }
        match state::find(slot, &place, plan.paired) {
            Err(error) => failed(format!("published no bundle of this run ({error})")),
            Ok(None) => {
                failed(format!("ended well, and published nothing at CANDLE_GRAPH_BUNDLE ({})", bundle.display()))
            }
            // Times of JSON lines are whole seconds.
            Ok(Some(run)) if run.started_at_us < began - 1_000_000 => failed(
                "published a capture that was recorded before this process began; each run records its own".to_owned(),
            ),
            Ok(Some(run)) => match runs.add(slot, &place, &run) {
                Err(error) => failed(format!("published no bundle of this run ({error})")),
                Ok(()) => Ok(run),
            },
        }
    }

    /// The error of a run that was run and did not end well; its bundle, if any, makes room for the next start.
    fn failed(&self, plan: &Plan, slot: &Slot, problem: &str, progress: &Progress) -> Error {
        let log = slot.log(&self.out);
        progress.failed(&log, &process::tail(&log));
        let run = format!("run {} of {} ({}) {problem}", slot.position, plan.order.len(), slot.name());
        let aside = match set_aside(&self.out, slot) {
            Ok(None) => String::new(),
            Ok(Some(place)) => format!("; what it published is kept at {}", place.display()),
            Err(error) => format!("; remove what it published before another start ({error})"),
        };
        Error::input(log, format!("{run}{aside}; this is its log, and the same command goes on from this run"))
    }
}

/// Why a run is not there.
enum Failure {
    /// It was not run.
    Before(Error),
    /// It was run, and this is what it did.
    Run(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Before(error)
    }
}

/// The runs that are there, by id.
#[derive(Default)]
struct Runs(BTreeMap<String, String>);

impl Runs {
    fn add(&mut self, slot: &Slot, place: &Path, run: &Finished) -> Result<()> {
        match self.0.insert(run.run_id.clone(), slot.name()) {
            None => Ok(()),
            Some(other) => {
                Err(Error::input(place, format!("is the same run as {other}; each run is a process of its own")))
            }
        }
    }
}

/// Moves the bundle of a run that failed out of its place, and says where it is.
fn set_aside(dir: &Path, slot: &Slot) -> Result<Option<PathBuf>> {
    let place = slot.bundle(dir);
    if std::fs::symlink_metadata(&place).is_err() {
        return Ok(None);
    }
    let folder = dir.join(FAILED);
    std::fs::create_dir_all(&folder).map_err(Error::io("create directory", &folder))?;
    let name = format!("{:03}-{}", slot.position, slot.cohort.as_str());
    let names = std::iter::once(name.clone()).chain((2..).map(|again| format!("{name}.{again}")));
    let free = names.map(|name| folder.join(name)).find(|path| std::fs::symlink_metadata(path).is_err());
    let free = free.unwrap_or(folder);
    std::fs::rename(&place, &free).map_err(Error::io("move away", place))?;
    Ok(Some(free))
}

/// Makes sure that nobody else runs these cohorts meanwhile: two runs at once measure each other.
fn alone(dir: &Path) -> Result<Option<File>> {
    if cfg!(not(unix)) {
        return Ok(None);
    }
    let file = File::open(dir).map_err(Error::io("open", dir))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            Err(Error::input(dir, "another `candle-graph cohort` is at work here; wait until it ends, or end it"))
        }
        // A file system without locks.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}
