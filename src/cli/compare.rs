//! `compare`.

use std::path::{Path, PathBuf};

use super::common::{Format, FormatArgs, OutputArgs, Progress, style};
use super::pages::ReportArgs;
use crate::error::{Error, Result};
use crate::output::{compare, write};

/// Arguments of `compare`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("alone").args(["aa", "schedule"]).multiple(false)))]
pub struct Args {
    /// Bundles of the implementation that is there; one bundle is one run of its program
    #[arg(long, value_name = "BUNDLE", num_args = 1.., required_unless_present = "alone", conflicts_with = "alone")]
    baseline: Vec<PathBuf>,
    /// Bundles of the implementation that may replace it
    #[arg(long, value_name = "BUNDLE", num_args = 1.., required_unless_present = "alone", conflicts_with = "alone")]
    candidate: Vec<PathBuf>,
    /// Bundles of one implementation, at least 10: how far apart its runs are on this machine, its noise floor
    #[arg(long, value_name = "BUNDLE", num_args = 1.., conflicts_with_all = ["threshold", "all", "report"])]
    aa: Vec<PathBuf>,
    /// Print the order in which to run each implementation N times, at least 5, and compare nothing
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["threshold", "all", "report", "unverified_traces", "require_eligible"]
    )]
    schedule: Option<usize>,
    /// Seed of that order
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        requires = "schedule",
        conflicts_with_all = ["aa", "baseline", "candidate"]
    )]
    seed: u64,
    /// Smallest change of interest in percent: with it the runs can show that there is none
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,
    #[command(flatten)]
    report: ReportArgs,
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
    match args.schedule {
        Some(runs) => schedule(args, runs),
        None if !args.aa.is_empty() => noise(args),
        None => comparison(args),
    }
}

fn comparison(args: &Args) -> Result<()> {
    let request = compare::Request {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        unverified: args.unverified_traces,
        threshold_percent: args.threshold,
        all: args.all,
    };
    let reads = request.reads();
    let target = args.output.target(&reads)?;
    let pages = args.report.pages(&reads, &args.output)?;
    let progress = Progress::start(reads.first().unwrap_or(&Path::new("")));
    let document = request.build()?;
    drop(progress);
    if let Some(pages) = pages {
        pages.write(&document, &request, &args.output)?;
    }
    show(&document, &args.format, &args.output, target)?;
    eligible(&document.reasons, document.comparable, args.require_eligible)
}

fn noise(args: &Args) -> Result<()> {
    let request = compare::noise::Request { cohort: args.aa.clone(), unverified: args.unverified_traces };
    let reads = request.reads();
    let target = args.output.target(&reads)?;
    let progress = Progress::start(reads.first().unwrap_or(&Path::new("")));
    let document = request.build()?;
    drop(progress);
    match args.format.choice(&args.output) {
        Format::Json => write::json(target, &document),
        Format::Text => text(&compare::noise_text(&document, style(&args.output)), target),
    }?;
    eligible(&document.reasons, document.comparable, args.require_eligible)
}

fn schedule(args: &Args, runs: usize) -> Result<()> {
    let plan = compare::Schedule::new(runs, args.seed)?;
    let target = args.output.target(&[])?;
    match args.format.choice(&args.output) {
        Format::Json => write::json(target, &plan),
        Format::Text => text(&plan.text(), target),
    }
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
        Format::Text => text(&compare::text(document, style(output)), target),
    }
}

fn text(text: &str, target: write::Target<'_>) -> Result<()> {
    write::write(target, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", "the comparison")))
}

/// Fails, if asked to, where there is no verdict.
pub(super) fn eligible(reasons: &[compare::ReasonOut], comparable: bool, required: bool) -> Result<()> {
    if !required || comparable {
        return Ok(());
    }
    let first = reasons.first();
    let (code, problem) = first.map_or(("ineligible", String::new()), |r| (r.code, r.message.clone()));
    Err(Error::Ineligible { code, problem })
}
