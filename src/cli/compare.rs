//! `compare`.

use std::path::{Path, PathBuf};

use super::common::{Format, FormatArgs, OutputArgs, Progress, for_people};
use crate::error::{Error, Result};
use crate::output::{compare, terminal, write};

/// Arguments of `compare`.
#[derive(clap::Args)]
pub struct Args {
    /// Bundles of the implementation that is there; one bundle is one run of its program
    #[arg(long, value_name = "BUNDLE", num_args = 1.., required = true)]
    baseline: Vec<PathBuf>,
    /// Bundles of the implementation that may replace it
    #[arg(long, value_name = "BUNDLE", num_args = 1.., required = true)]
    candidate: Vec<PathBuf>,
    /// Smallest change of interest in percent: with it the runs can show that there is none
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,
    /// Take raw traces too: a diagnosis, never a verdict
    #[arg(long)]
    unverified_traces: bool,
    /// Exit with 1, after writing, if the cohorts are not comparable
    #[arg(long)]
    require_eligible: bool,
    /// Every row of every list
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let request = compare::Request {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        unverified: args.unverified_traces,
        threshold_percent: args.threshold,
        all: args.all,
    };
    let reads = request.reads();
    let target = args.output.target(&reads)?;
    let progress = Progress::start(reads.first().unwrap_or(&Path::new("")));
    let document = request.build()?;
    drop(progress);
    show(&document, &args.format, &args.output, target)?;
    eligible(&document, args.require_eligible)
}

/// Prints or writes a comparison.
pub(super) fn show(
    document: &compare::Comparison,
    format: &FormatArgs,
    output: &OutputArgs,
    target: write::Target<'_>,
) -> Result<()> {
    match format.choice(output) {
        Format::Json => write::json(target, document),
        Format::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
            let text = compare::text(document, terminal::Style { color: for_people(output) && !plain });
            write::write(target, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", "the comparison")))
        }
    }
}

/// Fails, if asked to, where there is no verdict.
pub(super) fn eligible(document: &compare::Comparison, required: bool) -> Result<()> {
    if !required || document.comparable {
        return Ok(());
    }
    let first = document.reasons.first();
    let (code, problem) = first.map_or(("ineligible", String::new()), |r| (r.code, r.message.clone()));
    Err(Error::Ineligible { code, problem })
}
