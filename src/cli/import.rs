//! `import`.

use super::common::{InputArgs, NsightArgs, OutputArgs};
use crate::error::Result;
use crate::output::{summary, write};

/// Arguments of `import`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    nsight: NsightArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.input.input])?;
    write::json(target, &summary::packet(&args.input.evidence(&args.nsight, |_| Vec::new())?)?)
}
