//! `nsight-manifest`.

use std::path::PathBuf;

use super::common::Progress;
use crate::error::{Error, Result};
use crate::load::{self, Options};
use crate::output::nsight_manifest::{Stated, write_manifest};
use crate::output::write;
use crate::text::printable;

/// Arguments of `nsight-manifest`.
#[derive(clap::Args)]
pub struct Args {
    /// The trace that was recorded while Nsight Systems ran
    #[arg(long, value_name = "TRACE")]
    trace: PathBuf,
    /// The directory of the capture: the .nsys-rep and the CSV reports; the manifest is written into it
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Version of Nsight Systems, as `nsys --version` prints it
    #[arg(long, value_name = "VERSION")]
    nsys_version: Option<String>,
    /// A command line that made the files; may be given several times
    #[arg(long = "command", value_name = "LINE")]
    commands: Vec<String>,
    /// Revision of a source beside the program's own; may be given several times
    #[arg(long = "source", value_name = "NAME=REVISION", value_parser = source)]
    sources: Vec<(String, String)>,
    /// Write the manifest anew where there is one
    #[arg(long)]
    replace: bool,
}

fn source(text: &str) -> std::result::Result<(String, String), String> {
    let (name, revision) = text.split_once('=').ok_or("a source is NAME=REVISION")?;
    if name.trim().is_empty() || revision.trim().is_empty() || text.contains(char::is_control) {
        return Err("a source is NAME=REVISION, and both are there, on one line".to_owned());
    }
    Ok((name.to_owned(), revision.to_owned()))
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut names = std::collections::BTreeSet::new();
    if let Some((name, _)) = args.sources.iter().find(|(name, _)| !names.insert(name)) {
        return Err(Error::Usage { problem: format!("--source names {name:?} twice; give it one revision") });
    }
    let progress = Progress::start(&args.dir);
    let trace = load::open(&args.trace, Options::default())?;
    let stated = Stated {
        tool_version: args.nsys_version.clone(),
        commands: args.commands.clone(),
        source_revisions: args.sources.iter().cloned().collect(),
        replace: args.replace,
    };
    let written = write_manifest(trace, &args.dir, &stated)?;
    drop(progress);
    for report in &written.failed {
        eprintln!("warning: {}", printable(report.reason.as_deref().unwrap_or(report.report)));
    }
    for reason in &written.unbound {
        eprintln!("warning: the reports are not bound to the trace: {}", printable(reason));
    }
    let path = printable(&written.path.display().to_string());
    let line =
        format!("{path}: {} files of run {}\n", written.manifest.artifacts.len(), printable(&written.manifest.run.id));
    write::write(None, |out| out.write_all(line.as_bytes()).map_err(Error::io("write", "the receipt")))
}
