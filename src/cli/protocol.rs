//! `protocol`.

use super::common::OutputArgs;
use crate::error::Result;
use crate::output::{protocol, write};

/// Arguments of `protocol`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    write::json(args.output.target(&[])?, &protocol::build(super::commands()))
}
