//! `cohort.json`: which commands are run, how often and in which order, fixed before the first of them starts.
//! In: what was asked for, or the file of an earlier start. Out: the plan and its runs with their places. Left to
//! neighbours: what is there of them (`state`), running them (the module above).

use std::path::{Path, PathBuf};

use candle_graph_record::Cohort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::statistics::{self, Side};
use crate::error::{Error, Result};
use crate::evidence::eligibility::FEWEST_RUNS;
use crate::load::bundle;
use crate::output::write;
use crate::text::shorten;

/// The plan's schema.
pub const SCHEMA: &str = "candle-graph/cohort/1";
/// Its name in the cohorts' directory.
pub(super) const FILE: &str = "cohort.json";

/// Most runs of a command: both together keep three digits.
pub const MOST: usize = 499;
/// Largest plan that is read; two command lines may be long.
const LARGEST: u64 = 4 << 20;

/// What was planned.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Cohort")]
pub struct Plan {
    pub schema: String,
    /// The command of the baseline, run by `sh -c`.
    pub baseline: String,
    /// The command of the candidate.
    pub candidate: String,
    /// Runs of each command.
    #[schemars(range(min = 5, max = 499))]
    pub runs: usize,
    /// Seed of the order.
    pub seed: u64,
    /// Whether the n-th runs of both cohorts are a pair.
    pub paired: bool,
    /// Where the commands run.
    pub working_directory: String,
    /// The cohort of each run, in order of time: blocks of baseline, candidate, candidate, baseline or their mirror
    /// image.
    #[schemars(with = "Vec<CohortName>")]
    pub order: Vec<Cohort>,
}

/// A cohort as documents write it.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "read by the schema alone: the recorder's enum knows no schemas")]
enum CohortName {
    Baseline,
    Candidate,
}

/// One planned run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its place in time, from 1.
    pub position: usize,
    pub cohort: Cohort,
    /// Its number within its cohort, from 1.
    pub number: usize,
}

impl Slot {
    /// `baseline/001`, below the cohorts' directory.
    pub fn name(&self) -> String {
        format!("{}/{:03}", self.cohort.as_str(), self.number)
    }

    /// Where its bundle is or will be.
    pub fn bundle(&self, dir: &Path) -> PathBuf {
        dir.join(self.name())
    }

    /// Where what it prints goes: by name in order of time.
    pub fn log(&self, dir: &Path) -> PathBuf {
        dir.join("logs").join(format!("{:03}-{}.log", self.position, self.cohort.as_str()))
    }

    /// The pair that it belongs to, where runs are paired.
    pub fn pair_id(&self) -> String {
        format!("pair-{:03}", self.number)
    }
}

impl Plan {
    /// A plan with its order.
    pub fn new(baseline: String, candidate: String, runs: usize, seed: u64, paired: bool) -> Result<Self> {
        let here = std::env::current_dir().map_err(Error::io("find", "."))?;
        let working_directory = here.display().to_string();
        let order = schedule(runs, seed);
        Ok(Self { schema: SCHEMA.to_owned(), baseline, candidate, runs, seed, paired, working_directory, order })
    }

    /// Every run, in order of time.
    pub fn slots(&self) -> Vec<Slot> {
        let mut numbers = [0; 2];
        let slots = self.order.iter().enumerate().map(|(at, cohort)| {
            let number = &mut numbers[usize::from(*cohort == Cohort::Candidate)];
            *number += 1;
            Slot { position: at + 1, cohort: *cohort, number: *number }
        });
        slots.collect()
    }

    /// The command of a cohort.
    pub fn command(&self, cohort: Cohort) -> &str {
        match cohort {
            Cohort::Baseline => &self.baseline,
            Cohort::Candidate => &self.candidate,
        }
    }

    /// The plan in `dir`, which must be this one; written there if there is none. What is in the file is the plan: a
    /// later version may draw another order.
    ///
    /// # Errors
    /// A plan of other runs, naming what differs; a directory that holds something else; the file system's failures.
    pub(super) fn settle(self, dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        if std::fs::symlink_metadata(&path).is_ok() {
            let found = read(&path)?;
            return match self.difference(&found) {
                None => Ok(found),
                Some(what) => Err(Error::input(path, what)),
            };
        }
        let entries = std::fs::read_dir(dir).map_err(Error::io("read directory", dir))?;
        for entry in entries {
            let entry = entry.map_err(Error::io("read directory", dir))?;
            // A plan that was being written when its process was killed.
            if !entry.file_name().as_encoded_bytes().starts_with(b".candle-graph-") {
                let name = entry.file_name();
                let problem =
                    format!("holds {:?} and no {FILE}; give a new directory", shorten(&name.to_string_lossy()));
                return Err(Error::input(dir, problem));
            }
        }
        write::json(Some(&path), &self)?;
        Ok(self)
    }

    /// What was asked for otherwise than `found` has it.
    fn difference(&self, found: &Plan) -> Option<String> {
        let text = |text: &str| format!("{:?}", shorten(text));
        let fields = [
            ("--baseline", text(&self.baseline), text(&found.baseline)),
            ("--candidate", text(&self.candidate), text(&found.candidate)),
            ("--runs", self.runs.to_string(), found.runs.to_string()),
            ("--seed", self.seed.to_string(), found.seed.to_string()),
            ("--unpaired", (!self.paired).to_string(), (!found.paired).to_string()),
            ("the working directory", text(&self.working_directory), text(&found.working_directory)),
        ];
        let (name, asked, was) = fields.into_iter().find(|(_, asked, was)| asked != was)?;
        Some(format!(
            "was begun with other runs: {name} is {asked} now, and was {was}; give the same, or a new directory"
        ))
    }
}

fn read(path: &Path) -> Result<Plan> {
    #[derive(Deserialize)]
    struct Version {
        schema: String,
    }
    let bytes = bundle::read_small(path, LARGEST)?;
    let problem = |text: String| Error::input(path, text);
    let no_plan = |e: serde_json::Error| problem(format!("is no cohort plan ({e})"));
    let Version { schema } = serde_json::from_slice(&bytes).map_err(no_plan)?;
    if schema != SCHEMA {
        return Err(problem(format!("has schema {:?}; this version reads {SCHEMA:?}", shorten(&schema))));
    }
    let plan: Plan = serde_json::from_slice(&bytes).map_err(no_plan)?;
    let of = |cohort: Cohort| plan.order.iter().filter(|c| **c == cohort).count();
    if !(FEWEST_RUNS..=MOST).contains(&plan.runs) || Cohort::ALL.iter().any(|c| of(*c) != plan.runs) {
        return Err(problem(format!("is no cohort plan (its order does not have {} runs of each cohort)", plan.runs)));
    }
    Ok(plan)
}

/// The order of `runs` runs of each cohort: see [`statistics::schedule`].
fn schedule(runs: usize, seed: u64) -> Vec<Cohort> {
    let cohort = |side: Side| match side {
        Side::Baseline => Cohort::Baseline,
        Side::Candidate => Cohort::Candidate,
    };
    statistics::schedule(runs, seed).into_iter().map(cohort).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(runs: usize, seed: u64) -> String {
        schedule(runs, seed).iter().map(|c| if *c == Cohort::Baseline { 'A' } else { 'B' }).collect()
    }

    #[test]
    fn the_order_is_blocks_of_four_as_the_seed_says() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..64 {
            for runs in FEWEST_RUNS..=12 {
                let order = letters(runs, seed);
                assert_eq!(order.len(), 2 * runs);
                for block in order.as_bytes().chunks(4) {
                    let block = std::str::from_utf8(block).expect("letters");
                    assert!(["ABBA", "BAAB", "AB", "BA"].contains(&block), "{order}");
                }
                assert_eq!(order.matches('A').count(), runs, "{order}");
                assert_eq!(order, letters(runs, seed), "the same seed gives the same order");
            }
            seen.insert(letters(6, seed));
        }
        assert_eq!(seen.len(), 8, "each of the three blocks is drawn by itself: {seen:?}");
    }

    #[test]
    fn runs_are_numbered_within_their_cohort() {
        let plan = Plan::new("a".to_owned(), "b".to_owned(), 5, 3, true).expect("a plan");
        let slots = plan.slots();
        assert_eq!(slots.iter().map(|s| s.position).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
        for cohort in Cohort::ALL {
            let numbers: Vec<usize> = slots.iter().filter(|s| s.cohort == *cohort).map(|s| s.number).collect();
            assert_eq!(numbers, [1, 2, 3, 4, 5], "both runs of a pair lie in one block or its end");
        }
        for pair in slots.chunks(2) {
            assert_eq!(pair[0].pair_id(), pair[1].pair_id());
        }
    }
}
