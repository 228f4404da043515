//! `summary`.

use super::common::{InputArgs, NsightArgs, OutputArgs};
use crate::error::Result;
use crate::output::{summary, write};

/// Arguments of `summary`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    nsight: NsightArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Exit with 1, after writing, unless the capture is complete and structurally valid
    #[arg(long)]
    require_valid: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.input.input])?;
    let evidence = args.input.evidence(&args.nsight, |_| Vec::new())?;
    write::json(target, &summary::build(&evidence)?)?;
    if args.require_valid { evidence.require_sound("--require-valid") } else { Ok(()) }
}
