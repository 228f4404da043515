//! `completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::error::Result;
use crate::output::write;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<()> {
    write::write(None, |mut out| {
        clap_complete::generate(args.shell, &mut super::Cli::command(), "candle-graph", &mut out);
        Ok(())
    })
}
