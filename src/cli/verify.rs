//! `verify`.

use std::path::PathBuf;

use super::common::{OutputArgs, Progress};
use crate::error::Result;
use crate::output::bundle::{VerifyOptions, verify};
use crate::output::write;

/// Arguments of `verify`.
#[derive(clap::Args)]
pub struct Args {
    /// The bundle
    bundle: PathBuf,
    /// Derive every derived file again from the recorded ones, and compare
    #[arg(long)]
    semantic: bool,
    /// Fail unless this Ed25519 public key (PEM, as OpenSSL writes it) has signed the bundle
    #[arg(long, value_name = "PUBKEY")]
    require_signature: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.bundle])?;
    let _progress = Progress::start(&args.bundle);
    let options = VerifyOptions { semantic: args.semantic, required_key: args.require_signature.as_deref() };
    write::json(target, &verify(&args.bundle, &options)?)
}
