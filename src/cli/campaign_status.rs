//! `campaign-status`.

use std::path::{Path, PathBuf};

use super::common::{Format, FormatArgs, OutputArgs, Progress};
use crate::error::{Error, Result};
use crate::output::campaign::{self, Campaign};
use crate::output::write;

/// Arguments of `campaign-status`.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign's manifest; the bundles it plans lie below its folder
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let campaign = Campaign::read(&args.manifest)?;
    let places: Vec<PathBuf> = campaign.manifest.planned.iter().map(|p| campaign.place(p)).collect();
    let read: Vec<&Path> = places.iter().chain([&args.manifest]).map(PathBuf::as_path).collect();
    let target = args.output.target(&read)?;
    let progress = Progress::start(&args.manifest);
    let status = campaign.status()?;
    drop(progress);
    match args.format.choice(&args.output) {
        Format::Json => write::json(target, &status),
        Format::Text => {
            let text = campaign::text(&status);
            write::write(target, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", "the status")))
        }
    }
}
