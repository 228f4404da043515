//! `cohort`.

use std::path::{Path, PathBuf};

use super::common::{FormatArgs, OutputArgs};
use super::compare;
use super::pages::ReportArgs;
use crate::error::Result;
use crate::output::cohort::Request;
use crate::output::compare as comparison;

/// What follows the options of `cohort --help`.
const MORE: &str = "\
Each run is a fresh process of `sh -c CMD` that publishes one bundle at $CANDLE_GRAPH_BUNDLE, of the pair \
$CANDLE_GRAPH_PAIR_ID, in the cohort $CANDLE_GRAPH_COHORT (in Rust: CohortRun::from_env). Started again with the same \
arguments it goes on where it stopped.

Fewer than 5 runs of each command are not judged: with 4 a 95 % interval would hang on the one oddest run, with 3 \
there is none. Pairs need 6: with 5, even five times the same sign has p = 0.0625.";

/// Arguments of `cohort`.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Command of the baseline, for `sh -c`
    #[arg(long, value_name = "CMD")]
    baseline: String,
    /// Command of the candidate, for `sh -c`
    #[arg(long, value_name = "CMD")]
    candidate: String,
    /// Runs of each command, at least 5; 6 or more for a 95 % interval of pairs
    #[arg(long, value_name = "N")]
    runs: usize,
    /// Directory for the plan, the bundles and the logs; new, empty, or of the same runs
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Seed of the order: blocks of baseline, candidate, candidate, baseline or their mirror image
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Runs are no pairs, and get no pair id
    #[arg(long)]
    unpaired: bool,
    /// Smallest change of interest in percent: with it the runs can show that there is none
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,
    #[command(flatten)]
    report: ReportArgs,
    /// Exit with 1, after writing, if the runs turn out not to be comparable
    #[arg(long)]
    require_eligible: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    // What the runs will write: nothing else is written there, not even before they are.
    let theirs = ["baseline", "candidate", "logs", "cohort.json"].map(|name| args.out.join(name));
    let theirs: Vec<&Path> = theirs.iter().map(PathBuf::as_path).collect();
    let target = args.output.target(&theirs)?;
    let pages = args.report.pages(&theirs, &args.output)?;
    if let Some(pages) = &pages {
        pages.have_a_place(&args.out)?;
    }
    let request = Request {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        runs: args.runs,
        seed: args.seed,
        paired: !args.unpaired,
        out: args.out.clone(),
    };
    let cohorts = request.run()?;
    let asked = comparison::Request {
        baseline: cohorts.baseline,
        candidate: cohorts.candidate,
        threshold_percent: args.threshold,
        ..comparison::Request::default()
    };
    let document = asked.build()?;
    if let Some(pages) = pages {
        pages.write(&document, &asked, &args.output)?;
    }
    compare::show(&document, &args.format, &args.output, target)?;
    compare::eligible(&document.reasons, document.comparable, args.require_eligible)
}
