//! `report`.

use std::path::PathBuf;

use super::common::{InputArgs, NsightArgs, OutputArgs, Progress};
use crate::error::Result;
use crate::load::{self, Options};
use crate::output::bundle::{Publication, SigningKey, publish};
use crate::output::write;
use crate::text::printable;

/// Arguments of `report`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// Where to publish: a directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    bundle: PathBuf,
    #[command(flatten)]
    nsight: NsightArgs,
    /// Take host name, user names, home paths and environment-like tags out of everything that is published
    #[arg(long)]
    redact: bool,
    /// Sign the bundle with this Ed25519 private key (PEM, as OpenSSL writes it)
    #[arg(long, value_name = "KEYFILE")]
    sign: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.input.input, &args.bundle])?;
    // Before anything is published: a key that cannot sign is no reason to begin.
    let key = args.sign.as_deref().map(SigningKey::read).transpose()?;
    let progress = Progress::start(&args.input.input);
    let trace =
        load::open(&args.input.input, Options { salvage: args.input.salvage, carried: true, ..Options::default() })?;
    let how = Publication { nsight_dir: args.nsight.nsight_dir.as_deref(), redact: args.redact, sign: key.as_ref() };
    let receipt = publish(&trace, &args.bundle, &how)?;
    drop(progress);
    if let Err(e) = write::json(target, &receipt) {
        // What was asked for is there, so this is no failure; but nobody may take the silence for a receipt.
        let (path, problem) = (args.bundle.display().to_string(), e.to_string());
        eprintln!(
            "warning: the bundle is published at {}, but its receipt is not written: {}",
            printable(&path),
            printable(&problem)
        );
    }
    Ok(())
}
