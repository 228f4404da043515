//! `--report` of `compare` and `cohort`: two pages of one comparison.

use std::path::{Path, PathBuf};

use super::common::{OutputArgs, for_people};
use crate::error::{Error, Result};
use crate::output::{compare, write};
use crate::text::printable;

/// Whether pages are wanted, and where.
#[derive(clap::Args)]
pub struct ReportArgs {
    /// Also write two pages: one self-contained HTML file with the picture, and the same as Markdown beside it
    #[arg(long, value_name = "FILE.html|FILE.md", value_parser = page())]
    report: Option<PathBuf>,
}

/// Where the pages go.
pub(super) struct Pages {
    html: PathBuf,
    markdown: PathBuf,
}

/// A path whose name says that it is one of the two.
fn page() -> impl clap::builder::TypedValueParser<Value = PathBuf> {
    use clap::builder::TypedValueParser;
    clap::builder::PathBufValueParser::new().try_map(|path| {
        let known = is(&path, "html") || is(&path, "md");
        if known { Ok(path) } else { Err("give a name that ends in .html or .md; both pages are written") }
    })
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

impl ReportArgs {
    /// Both pages; refused when they would be written into what is read, or over the result.
    pub(super) fn pages(&self, reads: &[&Path], output: &OutputArgs) -> Result<Option<Pages>> {
        let Some(path) = &self.report else { return Ok(None) };
        let (html, markdown) = match is(path, "html") {
            true => (path.clone(), path.with_extension("md")),
            false => (path.with_extension("html"), path.clone()),
        };
        for page in [&html, &markdown] {
            OutputArgs { output: Some(page.clone()) }.target(reads)?;
            if page.exists() && !page.is_file() {
                return Err(Error::input(page, "is no regular file; give the name of one"));
            }
            if output.output.as_ref().is_some_and(|output| same(output, page)) {
                let page = page.display();
                return Err(Error::Usage {
                    problem: format!("--report writes {page}, which is --output; give each its own"),
                });
            }
        }
        Ok(Some(Pages { html, markdown }))
    }
}

/// Whether two names are of one file, whether it is there or not.
fn same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize().ok().or_else(|| Some(directory.canonicalize().ok()?.join(path.file_name()?)))
    };
    one == other || place(one).zip(place(other)).is_some_and(|(one, other)| one == other)
}

impl Pages {
    /// Refuses a directory that is not there, unless it is `coming`: better before hours of runs than after.
    pub(super) fn have_a_place(&self, coming: &Path) -> Result<()> {
        let directory = self.html.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if directory.is_dir() || directory == coming {
            return Ok(());
        }
        Err(Error::input(directory, "is no directory to write into; create it first"))
    }

    /// Writes both, each whole or not at all.
    pub(super) fn write(
        &self,
        document: &compare::Comparison,
        request: &compare::Request,
        output: &OutputArgs,
    ) -> Result<()> {
        for (path, text) in [(&self.html, document.html(request)), (&self.markdown, document.markdown(request))] {
            write::write(Some(path), |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))?;
        }
        if for_people(output) {
            let names = format!("wrote {} and {}", self.html.display(), self.markdown.display());
            eprintln!("{}", printable(&names));
        }
        Ok(())
    }
}
