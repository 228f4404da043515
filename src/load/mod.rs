//! Edge in: any form of trace becomes the same set of checked Parquet files.
//! In: a path (trace directory, JSON lines, `-`). Out: a [`Trace`]: its run record and, per table, files whose schema
//! has been checked. Left to neighbours: SQL over them (`session`), what they mean (`analysis`).

mod directory;
mod files;
mod import;
mod jsonl;
mod lives;
mod spill;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_graph_record::parquet_sink::layout;
use candle_graph_record::tables::run::RunRecord;

use crate::error::{Error, Result};

pub(crate) use directory::scratch_dir;
pub use files::Scan;

/// The form an input had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A trace directory.
    Directory,
    /// JSON lines, plain or compressed.
    JsonLines,
}

/// One opened trace.
#[derive(Debug)]
pub struct Trace {
    /// As given on the command line.
    pub requested: PathBuf,
    pub form: Form,
    /// The version read: the table layout or the interchange version.
    pub schema: String,
    pub run: RunRecord,
    /// Checked files per event table; a table without rows has none.
    pub files: BTreeMap<&'static str, Vec<PathBuf>>,
    /// Rows per event table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Owns files that exist for this process only.
    pub(crate) _scratch: Option<tempfile::TempDir>,
}

impl Trace {
    /// Rows of a table.
    pub fn count(&self, table: &str) -> u64 {
        self.rows.get(table).copied().unwrap_or(0)
    }

    /// Rows of all event tables.
    pub fn events(&self) -> u64 {
        self.rows.values().sum()
    }

    /// Reads some columns of a table, in order of recording, batch by batch.
    pub fn scan(&self, table: &'static str, columns: &[&str]) -> Scan {
        Scan::new(self.files.get(table).cloned().unwrap_or_default(), columns)
    }
}

/// How to open an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Read JSON lines up to the first unreadable line, as an interrupted capture.
    pub salvage: bool,
}

/// Opens a trace of any form.
///
/// # Errors
/// One line that says what the input is instead, or which file, table, column or line is at fault.
pub fn open(path: &Path, options: Options) -> Result<Trace> {
    if path == Path::new("-") {
        return jsonl::read_stdin(options);
    }
    let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::input(path, "does not exist"),
        _ => Error::Io { action: "open", path: path.to_owned(), source },
    })?;
    if metadata.is_dir() {
        if path.join(layout::RUN).is_file() {
            return directory::read(path);
        }
        return Err(Error::input(
            path,
            format!(
                "is a directory without {}, so it is no trace; give the path a session was opened with",
                layout::RUN
            ),
        ));
    }
    jsonl::read_file(path, options)
}
