//! `sql`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::common::{OutputArgs, Progress, for_people};
use crate::error::{Error, Result};
use crate::evidence::{self, Evidence};
use crate::load::{self, Options, Trace};
use crate::output::sql::{self, Format};
use crate::query::QUERIES;
use crate::session::{Limits, Session};

/// Arguments of `sql`.
#[derive(clap::Args)]
pub struct Args {
    /// Traces, then one SELECT statement; with several traces every table holds the rows of all, told apart by run_id
    #[arg(required = true, num_args = 1.., value_names = ["INPUT", "SELECT"])]
    inputs_and_statement: Vec<PathBuf>,
    /// Read the statement from this file; every argument is then a trace
    #[arg(long)]
    file: Option<PathBuf>,
    /// Run this query of queries/ as it is; every argument is then a trace
    #[arg(long, value_name = "NAME", conflicts_with = "file",
          value_parser = clap::builder::PossibleValuesParser::new(QUERIES.iter().map(|(name, _)| *name)))]
    query: Option<String>,
    /// Text for a parameter of the statement, as NAME=TEXT; a parameter without one is NULL
    #[arg(long, value_name = "NAME=TEXT", value_parser = parameter)]
    param: Vec<(String, String)>,
    /// Form of the result; by default a table on a terminal, else JSON
    #[arg(long)]
    format: Option<FormatArg>,
    /// Memory the engine may hold before it spills to disk, in MiB
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(16..=1 << 20))]
    memory_limit: u64,
    /// Read the Nsight Systems reports in this directory along with the one trace that is given
    #[arg(long, value_name = "DIR")]
    nsight_dir: Option<PathBuf>,
    /// Read damaged JSON-lines traces up to their first unreadable line
    #[arg(long)]
    salvage: bool,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormatArg {
    Table,
    Json,
    Csv,
    Parquet,
    Arrow,
}

fn parameter(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is NAME=TEXT")?;
    Ok((name.trim_start_matches('$').to_owned(), value.to_owned()))
}

impl Args {
    /// The statement and the traces.
    fn statement(&self) -> Result<(String, &[PathBuf])> {
        if let Some(path) = &self.file {
            let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
            return Ok((text, &self.inputs_and_statement));
        }
        if let Some((_, text)) = self.query.as_ref().and_then(|query| QUERIES.iter().find(|(name, _)| name == query)) {
            return Ok(((*text).to_owned(), &self.inputs_and_statement));
        }
        let usage = |problem: &str| Error::Usage { problem: problem.to_owned() };
        match self.inputs_and_statement.split_last() {
            Some((statement, inputs)) if !inputs.is_empty() => {
                let text = statement.to_str().ok_or_else(|| usage("the statement is not UTF-8"))?;
                Ok((text.to_owned(), inputs))
            }
            _ => Err(usage("sql takes one trace or more, then a SELECT statement (or --file, or --query)")),
        }
    }
}

/// Rows are told apart by run_id alone, so one run given twice would be counted twice.
fn refuse_one_run_twice(traces: &[Trace]) -> Result<()> {
    for (index, trace) in traces.iter().enumerate() {
        if let Some(first) = traces[..index].iter().find(|t| t.run.run_id == trace.run.run_id) {
            let problem =
                format!("is the same run as {} ({}); give each run once", first.requested.display(), trace.run.run_id);
            return Err(Error::input(&trace.requested, problem));
        }
    }
    Ok(())
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (statement, inputs) = args.statement()?;
    let paths: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let target = args.output.target(&paths)?;
    let format = match args.format {
        Some(FormatArg::Table) => Format::Table,
        Some(FormatArg::Json) => Format::Json,
        Some(FormatArg::Csv) => Format::Csv,
        Some(FormatArg::Parquet) => Format::Parquet,
        Some(FormatArg::Arrow) => Format::Arrow,
        None if for_people(&args.output) => Format::Table,
        None => Format::Json,
    };
    let memory_bytes = usize::try_from(args.memory_limit << 20).unwrap_or(usize::MAX);
    let _progress = Progress::start(paths[0]);
    let mut traces = paths
        .iter()
        .map(|p| load::open(p, Options { salvage: args.salvage, ..Options::default() }))
        .collect::<Result<Vec<_>>>()?;
    refuse_one_run_twice(&traces)?;
    match (&args.nsight_dir, traces.as_mut_slice()) {
        (None, _) => {}
        (Some(dir), [trace]) => load::nsight::attach(trace, dir)?,
        (Some(_), _) => {
            let problem =
                "--nsight-dir belongs to one trace; publish each with its own as a bundle, and give the bundles";
            return Err(Error::Usage { problem: problem.to_owned() });
        }
    }
    let session = Session::open(&traces, Limits { memory_bytes, ..Limits::default() })?;
    if Evidence::mentions_coverage(&statement) {
        evidence::register_coverage(&session, &traces)?;
    }
    let parameters: HashMap<String, String> = args.param.iter().cloned().collect();
    sql::run(&session, &statement, &parameters, format, target)
}
