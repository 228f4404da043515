//! `candle-graph/schedule/1`: the order in which to run two implementations.
//! In: how many runs each, a seed. Out: the plan, as a document and as lines. Left to neighbours: running it (`cohort`),
//! drawing it (`analysis::statistics`).

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::statistics;
use crate::error::{Error, Result};
use crate::evidence::eligibility::FEWEST_RUNS;
use crate::output::documents::{TOOL, Tool};

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/schedule/1";
/// Most runs of an implementation: nobody starts more by hand.
const MOST: usize = 10_000;

/// A plan of runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Schedule {
    pub schema: &'static str,
    pub tool: Tool,
    /// Runs of each implementation.
    pub runs: usize,
    /// Seed of the order.
    pub seed: u64,
    /// `baseline` or `candidate` of each run, in order of time: blocks of baseline, candidate, candidate, baseline or their
    /// mirror image.
    pub order: Vec<&'static str>,
}

impl Schedule {
    /// The plan of so many runs each.
    ///
    /// # Errors
    /// Fewer runs than are judged, or more than anyone starts.
    pub fn new(runs: usize, seed: u64) -> Result<Self> {
        if !(FEWEST_RUNS..=MOST).contains(&runs) {
            return Err(Error::Usage { problem: format!("--schedule is {runs}; give {FEWEST_RUNS} to {MOST}") });
        }
        let order = statistics::schedule(runs, seed).into_iter().map(statistics::Side::as_str).collect();
        Ok(Self { schema: SCHEMA, tool: TOOL, runs, seed, order })
    }

    /// One line a run: its place and its implementation.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (at, side) in self.order.iter().enumerate() {
            let _ = writeln!(out, "{} {side}", at + 1);
        }
        out
    }
}
