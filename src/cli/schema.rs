//! `schema`.

use super::common::OutputArgs;
use crate::error::{Error, Result};
use crate::output::{schemas, write};
use crate::tables;

/// Arguments of `schema`.
#[derive(clap::Args)]
pub struct Args {
    /// A document (overview, query, …) or a table (tables/ops, …); without it, the names
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let target = args.output.target(&[])?;
    let documents = schemas::documents();
    let specs = tables::all();
    let Some(name) = &args.name else {
        let names = documents.iter().map(|(n, _)| n.clone()).chain(specs.iter().map(|s| format!("tables/{}", s.name)));
        let text: String = names.map(|n| n + "\n").collect();
        return write::write(target, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", "the names")));
    };
    if let Some((_, schema)) = documents.iter().find(|(n, _)| n == name) {
        return write::json(target, schema);
    }
    match specs.iter().find(|s| name.strip_prefix("tables/") == Some(s.name)) {
        Some(spec) => write::json(target, &schemas::table(spec)),
        None => Err(Error::Usage { problem: format!("{name:?} has no schema; `candle-graph schema` lists the names") }),
    }
}
