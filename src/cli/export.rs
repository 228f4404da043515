//! `export`.

use std::path::Path;

use super::common::{InputArgs, OutputArgs, Progress};
use crate::error::Result;
use crate::load::{self, Options};
use crate::output::{export, write};

/// Arguments of `export`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// The form to write
    #[arg(long)]
    format: Format,
    #[command(flatten)]
    output: OutputArgs,
}

/// A form of trace that other tools read.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// JSON lines, candle-graph/trace/10: nothing is lost by reading them back
    Jsonl,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.input.input])?;
    let _progress = Progress::start(&args.input.input);
    let trace = load::open(&args.input.input, Options { salvage: args.input.salvage, ..Options::default() })?;
    let name = target.unwrap_or(Path::new("standard output"));
    write::write(target, |out| match args.format {
        Format::Jsonl => export::jsonl(&trace, out, name),
    })
}
