//! `completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::error::{Error, Result};
use crate::output::write;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "candle-graph", &mut script);
    write::write(None, |out| out.write_all(&script).map_err(Error::io("write", "standard output")))
}
