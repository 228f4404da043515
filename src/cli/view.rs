//! `view`.

use std::path::{Path, PathBuf};

use super::common::{InputArgs, NsightArgs, OutputArgs, Progress, for_people};
use crate::error::{Error, Result};
use crate::output::{bundle, viewer, write};
use crate::text::{bytes, printable};

/// Arguments of `view`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    nsight: NsightArgs,
    /// Most bytes of the page, e.g. 40MB or 500kB: timelines are drawn coarser and lists cut until it fits, and say so
    #[arg(long, value_name = "SIZE", default_value = "40MB", value_parser = size)]
    max_size: usize,
    /// Write to this file, whole or not at all
    #[arg(long, short, value_name = "FILE.html")]
    output: PathBuf,
}

/// A number of bytes: 40MB, 500kB, 38MiB or plain.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return Err("give bytes, or a number with kB, MB, KiB or MiB".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "give a number of bytes, as 40MB".to_owned())?;
    Ok((number * factor) as usize)
}

pub(super) fn run(args: &Args) -> Result<()> {
    let output = OutputArgs { output: Some(args.output.clone()) };
    let target = output.target(&[&args.input.input])?;
    let progress = Progress::start(&args.input.input);
    let page = match viewer::comparison_at(&args.input.input)? {
        Some(document) => viewer::of_comparison(&document, args.max_size)?,
        None => viewer::of_trace(&bundle::examine(args.input.trace(&args.nsight)?)?, args.max_size)?,
    };
    drop(progress);
    write::write(target, |out| out.write_all(&page).map_err(Error::io("write", &args.output)))?;
    if for_people(&OutputArgs { output: None }) {
        eprintln!("{}", printable(&said(&args.output, page.len())));
    }
    Ok(())
}

fn said(path: &Path, size: usize) -> String {
    format!("wrote {} ({})", path.display(), bytes(size as f64))
}
