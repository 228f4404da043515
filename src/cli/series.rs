//! `series`.

use std::path::{Path, PathBuf};

use super::common::{OutputArgs, Progress, for_people};
use crate::error::{Error, Result};
use crate::output::{series, write};

/// Arguments of `series`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("captures").required(true)))]
pub struct Args {
    /// A campaign's manifest; every capture that it plans must be published
    #[arg(long, value_name = "FILE", group = "captures")]
    manifest: Option<PathBuf>,
    /// Published bundles of one program, in any order
    #[arg(long, value_name = "DIR", num_args = 1.., group = "captures")]
    bundle: Vec<PathBuf>,
    /// Only scalars and tensor statistics whose label, and gradients whose root/key, begins so
    #[arg(long)]
    label_prefix: Option<String>,
    /// Also write a page of plots, one self-contained HTML file
    #[arg(long, value_name = "FILE.html", value_parser = page())]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// A path whose name says that it is a page.
fn page() -> impl clap::builder::TypedValueParser<Value = PathBuf> {
    use clap::builder::TypedValueParser;
    clap::builder::PathBufValueParser::new().try_map(|path| {
        let html = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"));
        if html { Ok(path) } else { Err("the page is HTML; give a name that ends in .html") }
    })
}

pub(super) fn run(args: &Args) -> Result<()> {
    let request = series::Request {
        manifest: args.manifest.clone(),
        bundles: args.bundle.clone(),
        label_prefix: args.label_prefix.clone(),
    };
    let reads = request.reads()?;
    let read: Vec<&Path> = reads.iter().map(PathBuf::as_path).collect();
    let target = args.output.target(&read)?;
    let report = OutputArgs { output: args.report.clone() };
    let report = report.target(&read)?;
    if report.is_some() && report == target {
        return Err(Error::Usage { problem: "--report and --output name one file; give each its own".to_owned() });
    }
    let progress = Progress::start(read.first().unwrap_or(&Path::new("")));
    let document = request.build()?;
    drop(progress);
    let Some(page) = report else { return write::json(target, &document) };
    write::write(Some(page), |out| {
        let html = series::render(&document, &request);
        out.write_all(html.as_bytes()).map_err(Error::io("write", page))
    })?;
    if for_people(&args.output) {
        // Who asked for the page does not want the same numbers over the screen.
        eprintln!("{}", crate::text::printable(&format!("wrote {}", page.display())));
        return Ok(());
    }
    write::json(target, &document)
}
