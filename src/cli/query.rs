//! `query`.

use super::common::{InputArgs, NsightArgs, OutputArgs};
use crate::error::{Error, Result};
use crate::output::{query, write};
use crate::query::Filter;

/// Arguments of `query`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    nsight: NsightArgs,
    /// What to query
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(query::KINDS.iter().map(|k| k.name)))]
    kind: String,
    /// Only events of exactly this label
    #[arg(long, conflicts_with = "label_prefix")]
    label: Option<String>,
    /// Only events whose label begins so
    #[arg(long)]
    label_prefix: Option<String>,
    /// Rows of a page, 1 to 1000; 50 unless given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with = "all")]
    limit: Option<u16>,
    /// Rows to skip
    #[arg(long, conflicts_with = "all")]
    offset: Option<usize>,
    /// Every matching row
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[&args.input.input])?;
    let kind =
        query::kind(&args.kind).ok_or_else(|| Error::Usage { problem: format!("{:?} is no query kind", args.kind) })?;
    let request = query::Request {
        filter: Filter { label: args.label.clone(), label_prefix: args.label_prefix.clone() },
        limit: args.limit.map(usize::from),
        offset: args.offset,
        all: args.all,
    };
    query::refuse_flags(kind, &request)?;
    write::json(target, &query::build(&args.input.evidence(&args.nsight, |_| Vec::new())?, kind, &request)?)
}
