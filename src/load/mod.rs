//! Edge in: any form of trace becomes the same set of checked Parquet files.
//! In: a path (trace directory, bundle, JSON lines, `-`). Out: a [`Trace`]: its run record and, per table, files whose schema
//! has been checked. Left to neighbours: SQL over them (`session`), what they mean (`analysis`).

pub mod bundle;
mod directory;
mod files;
mod guard;
mod import;
mod jsonl;
mod lives;
pub mod nsight;
mod numbers;
mod spill;
mod thrift;
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
    /// A published bundle.
    Bundle,
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
    /// Checked files per table; a table without rows has none.
    pub files: BTreeMap<&'static str, Vec<PathBuf>>,
    /// Rows per table.
    pub rows: BTreeMap<&'static str, u64>,
    /// The bundle that the trace was read from, verified.
    pub bundle: Option<bundle::Verified>,
    /// The Nsight reports that were supplied with it.
    pub nsight: Option<nsight::Supplied>,
    /// Owns files that exist for this process only.
    pub(crate) _scratch: Option<tempfile::TempDir>,
    /// Owns tables of Nsight reports that exist for this process only.
    pub(crate) _nsight: Option<tempfile::TempDir>,
}

impl Trace {
    /// Rows of a table.
    pub fn count(&self, table: &str) -> u64 {
        self.rows.get(table).copied().unwrap_or(0)
    }

    /// Rows of all event tables.
    pub fn events(&self) -> u64 {
        self.rows.iter().filter(|(table, _)| !crate::tables::nsight::is_one(table)).map(|(_, rows)| rows).sum()
    }

    /// Rows that queries read: of the trace and of its Nsight reports.
    pub fn stored_rows(&self) -> u64 {
        self.rows.values().sum()
    }

    /// The copy of a file of a bundle that was made while it was verified.
    ///
    /// # Errors
    /// When none was made.
    pub(crate) fn kept(&self, name: &str) -> Result<PathBuf> {
        let copy = self._scratch.as_ref().map(|dir| dir.path().join(name)).filter(|path| path.is_file());
        copy.ok_or_else(|| Error::input(self.requested.join(name), "was not read"))
    }

    /// Forgets every table but these; what this process copied of the others goes at once.
    pub fn keep_only(&mut self, tables: &[&str]) {
        let scratch = self._scratch.as_ref().map(tempfile::TempDir::path);
        for path in self.files.iter().filter(|(table, _)| !tables.contains(table)).flat_map(|(_, paths)| paths) {
            if scratch.is_some_and(|scratch| path.starts_with(scratch)) {
                // What stays goes with the directory.
                let _ = std::fs::remove_file(path);
            }
        }
        self.files.retain(|table, _| tables.contains(table));
        self.rows.retain(|table, _| tables.contains(table));
    }

    /// An error about the copy of a bundle's file as one about the bundle: nobody knows the copy.
    pub(crate) fn of_input(&self, error: Error) -> Error {
        match (&self.bundle, &self._scratch) {
            (Some(_), Some(scratch)) => bundle::of_bundle(error, scratch.path(), &self.requested),
            _ => error,
        }
    }

    /// The file of a table as its bundle holds it, where that was kept; else the one that is read.
    pub(crate) fn as_carried(&self, file: &Path) -> PathBuf {
        let kept = file.file_name().map(|name| Path::new(bundle::CARRIED).join(name));
        let kept = kept.and_then(|kept| self.kept(&kept.to_string_lossy()).ok());
        kept.unwrap_or_else(|| file.to_owned())
    }

    /// The copies of a bundle's Nsight files, for whoever asked to keep them; of a file that was not kept, where it would be.
    pub(crate) fn kept_nsight(&self) -> Vec<PathBuf> {
        let (Some(bundle), Some(scratch)) = (&self.bundle, &self._scratch) else { return Vec::new() };
        let files = bundle.manifest.files.iter().filter(|f| bundle::nsight_name(&f.path).is_some());
        files.map(|f| scratch.path().join(&f.path)).collect()
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
    /// Keep what a bundle carries as it is, its Nsight files and its recorded tables, to publish them anew.
    pub carried: bool,
    /// Keep the Nsight reports of a bundle, to read them anew.
    pub reports: bool,
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
        if bundle::is_bundle(path) {
            return bundle::read(path, options);
        }
        if path.parent().is_some_and(bundle::is_bundle) {
            return Err(Error::input(path, "is a folder of a bundle; give the bundle"));
        }
        if path.join(layout::RUN).is_file() {
            return directory::read(path);
        }
        return Err(Error::input(
            path,
            format!(
                "is a directory without {} or {}, so it is neither a trace nor a bundle; give the path a session was \
                 opened with",
                layout::RUN,
                bundle::layout::MANIFEST
            ),
        ));
    }
    if path.file_name().is_some_and(|name| name == bundle::layout::MANIFEST) {
        return Err(Error::input(path, "is the manifest of a bundle; give the directory it is in"));
    }
    jsonl::read_file(path, options)
}
