//! The command line: one subcommand a file, no logic of its own.
//! In: arguments. Out: an exit code. Left to neighbours: everything else.
//!
//! Exit 0: the declared output was produced. 1: an error, one line. 2: bad usage.

mod campaign_status;
mod cohort;
mod common;
mod compare;
mod completions;
mod export;
mod import;
mod nsight_manifest;
mod overview;
mod pages;
mod protocol;
mod query;
mod report;
mod schema;
mod series;
mod sql;
mod summary;
mod verify;
#[cfg(feature = "visualizer")]
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::error::{Error, Result, one_line};
use crate::text::{printable, shorten_to};

/// Bytes of an error; a path alone may have 4 KiB.
const LONGEST_ERROR: usize = 16 << 10;

/// Records one selected Candle training update or inference invocation and explains it with SQL.
#[derive(Parser)]
#[command(name = "candle-graph", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print what this tool speaks: schemas, commands, query kinds
    Protocol(protocol::Args),
    /// Print a bounded first look at a trace
    Overview(overview::Args),
    /// Print the complete derived collections of a trace
    Summary(summary::Args),
    /// Print one slice of a trace
    Query(query::Args),
    /// Run SQL over one or many traces
    Sql(sql::Args),
    /// Print the complete evidence packet of a trace
    Import(import::Args),
    /// Write a trace in a form that other tools read
    Export(export::Args),
    /// Publish a trace as a bundle that can be verified
    Report(report::Args),
    /// Write one HTML file that shows a trace, or a comparison, in a browser without a network
    #[cfg(feature = "visualizer")]
    View(view::Args),
    /// Write the manifest that binds Nsight reports to the trace they were captured with
    NsightManifest(nsight_manifest::Args),
    /// Check a bundle: that it is unchanged, and on request who signed it and that it follows from its trace
    Verify(verify::Args),
    /// Compare the bundles that are there with those a campaign planned
    CampaignStatus(campaign_status::Args),
    /// Run two commands in turn, each many times, to compare what they publish
    Cohort(cohort::Args),
    /// Compare two implementations, run against run: faster, slower, or these runs cannot tell
    Compare(compare::Args),
    /// Print what many captures of one program recorded, by captured step
    Series(series::Args),
    /// Print the JSON Schema of a document or table
    Schema(schema::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

/// Name and purpose of every subcommand.
fn commands() -> Vec<(String, String)> {
    Cli::command()
        .get_subcommands()
        .map(|c| (c.get_name().to_owned(), c.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect()
}

/// Runs the program. As `cargo candle-graph` it is handed its own name once more; both forms parse alike.
pub fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|a| a == "candle-graph") {
        arguments.remove(1);
    }
    for argument in &mut arguments {
        // A statement that begins with a SQL comment is no flag: no flag has a space behind its dashes.
        if argument.to_str().is_some_and(|a| a.starts_with("-- ")) {
            *argument = OsString::from(format!("\n{}", argument.display()));
        }
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version go to standard output and are no error.
            let _ = e.print();
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(2));
        }
    };
    // A panic is a fault of ours or of a library; to the user it is one line and exit 1 like any other.
    std::panic::set_hook(Box::new(|_| {}));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(cli.command)));
    match ended.unwrap_or_else(|panic| Err(unexpected(panic.as_ref()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What a hostile input names can be long; an error is a line.
            eprintln!("error: {}", printable(&shorten_to(&error.to_string(), LONGEST_ERROR)));
            ExitCode::from(if matches!(error, Error::Usage { .. }) { 2 } else { 1 })
        }
    }
}

fn unexpected(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let problem =
        format!("the query engine failed on this input: {}; is a file of the trace damaged?", one_line(&text));
    Error::Sql { problem }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Protocol(args) => protocol::run(&args),
        Command::Overview(args) => overview::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Sql(args) => sql::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Report(args) => report::run(&args),
        #[cfg(feature = "visualizer")]
        Command::View(args) => view::run(&args),
        Command::NsightManifest(args) => nsight_manifest::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::CampaignStatus(args) => campaign_status::run(&args),
        Command::Cohort(args) => cohort::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Series(args) => series::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
