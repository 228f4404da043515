//! `overview`.

use super::common::{Format, FormatArgs, InputArgs, NsightArgs, OutputArgs, style};
use crate::error::{Error, Result};
use crate::output::{overview, terminal, write};

/// Arguments of `overview`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    nsight: NsightArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.input.input])?;
    let document = overview::build(&args.input.evidence(&args.nsight, overview::headlines)?)?;
    let format = args.format.choice(&args.output);
    match format {
        Format::Json => write::json(target, &overview::to_json(&document)?),
        Format::Text => {
            let text = terminal::overview(&document, style(&args.output));
            write::write(target, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", "the overview")))
        }
    }
}
