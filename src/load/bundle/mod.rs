//! A bundle as an input: verified first, and then read from the very bytes that were verified.
//! In: a directory with a manifest. Out: a [`Trace`] like any other. Left to neighbours: publishing one (`output`).

mod manifest;
mod run;
pub mod signature;
mod verify;

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::AsArray;

use candle_graph_record::table::{TABLES_SCHEMA, TableSpec};
use candle_graph_record::tables::run::RunRecord;

pub use manifest::{BUNDLE_SCHEMA, FileEntry, Manifest, hex, is_bundle_path, layout, sha256};
pub use run::{RUN_SCHEMA, to_bytes as run_bytes};
pub use verify::{Verified, hash_all, open_regular, read_small, verify};

use super::{Form, Options, Trace, directory, files, nsight};
use crate::error::{Error, Result};
use crate::tables;
use crate::text::shorten;

/// Beside the copies that are read, those that are as the bundle holds them.
pub(super) const CARRIED: &str = "carried";

/// Whether a directory claims to be a bundle. A link where the manifest belongs claims it too: it is refused as one.
pub fn is_bundle(dir: &Path) -> bool {
    std::fs::symlink_metadata(dir.join(layout::MANIFEST)).is_ok()
}

/// Where a table's file lies in a bundle.
pub fn table_path(table: &str) -> String {
    format!("{}/{table}.parquet", layout::TABLES)
}

/// Verifies a bundle and opens the copy that was made of its trace meanwhile.
pub(super) fn read(dir: &Path, options: Options) -> Result<Trace> {
    let scratch = directory::scratch_dir()?;
    let stored: Vec<(&str, String)> = tables::stored().iter().map(|t| (t.name, table_path(t.name))).collect();
    let copy = |name: &str| scratch.path().join(name);
    let folder = copy(layout::NSIGHT);
    std::fs::create_dir(&folder).map_err(Error::io("create directory", &folder))?;
    let keep = |path: &str| {
        if [layout::RUN, layout::REDACTION].contains(&path) {
            return Some(copy(path));
        }
        if let Some(name) = nsight_name(path) {
            let wanted = options.carried || name == nsight::MANIFEST || (options.reports && nsight::is_read(name));
            return wanted.then(|| copy(path));
        }
        let (table, _) = stored.iter().find(|(_, listed)| listed == path)?;
        Some(copy(&format!("{table}.parquet")))
    };
    // What no reader could read is refused before a byte of it is copied.
    open_tables(&dir.join(layout::RUN), &|table| Some(dir.join(table_path(table))).filter(|p| p.exists()))?;
    let verified = verify(dir, &keep)?;
    if options.carried {
        keep_as_carried(scratch.path())?;
    }
    let mut trace = open_copies(scratch.path()).map_err(|e| of_bundle(e, scratch.path(), dir))?;
    same_run(dir, &verified, &trace.run)?;
    let supplied: Vec<FileEntry> = verified.manifest.files.iter().filter_map(supplied).collect();
    if !supplied.is_empty() {
        let redacted = verified.manifest.entry(layout::REDACTION).is_some();
        open_nsight(&mut trace, supplied, scratch.path(), redacted).map_err(|e| of_bundle(e, scratch.path(), dir))?;
    }
    trace.requested = dir.to_owned();
    trace.bundle = Some(verified);
    trace._scratch = Some(scratch);
    Ok(trace)
}

/// The name of a file in a bundle's folder of Nsight files.
pub fn nsight_name(path: &str) -> Option<&str> {
    path.strip_prefix(layout::NSIGHT)?.strip_prefix('/')
}

/// An entry of a bundle under its own name, where it is one of its Nsight files.
fn supplied(entry: &FileEntry) -> Option<FileEntry> {
    Some(FileEntry { path: nsight_name(&entry.path)?.to_owned(), ..entry.clone() })
}

/// Opens the Nsight reports of a bundle whose tables were copied to `scratch`.
fn open_nsight(trace: &mut Trace, files: Vec<FileEntry>, scratch: &Path, redacted: bool) -> Result<()> {
    let manifest = scratch.join(layout::NSIGHT).join(nsight::MANIFEST);
    if trace.count(crate::tables::nsight::STATES) == 0 {
        let path = scratch.join(format!("{}.parquet", crate::tables::nsight::STATES));
        return Err(Error::input(path, "is missing: nothing says what became of the bundle's Nsight reports"));
    }
    nsight::open(trace, files, Some(manifest.as_path()).filter(|path| path.is_file()), redacted)
}

/// The trace whose run record and tables were copied to `scratch`, without statistics that nobody has checked.
fn open_copies(scratch: &Path) -> Result<Trace> {
    let copy = |table: &str| scratch.join(format!("{table}.parquet"));
    for spec in tables::stored() {
        if copy(spec.name).is_file() {
            files::without_statistics(&copy(spec.name), &spec)?;
        }
    }
    let trace = open_tables(&scratch.join(layout::RUN), &|table| Some(copy(table)).filter(|p| p.is_file()))?;
    rows_of_one_run(&trace)?;
    Ok(trace)
}

/// Keeps the copies of tables as they are, beside those whose statistics go.
fn keep_as_carried(scratch: &Path) -> Result<()> {
    let folder = scratch.join(CARRIED);
    std::fs::create_dir(&folder).map_err(Error::io("create directory", &folder))?;
    for spec in tables::events() {
        let (copy, kept) =
            (scratch.join(format!("{}.parquet", spec.name)), folder.join(format!("{}.parquet", spec.name)));
        if copy.is_file() {
            std::fs::copy(&copy, kept).map_err(Error::io("copy", copy))?;
        }
    }
    Ok(())
}

/// Opens the files of a bundle that is being made as [`crate::load::open`] opens those of one that was: what is derived
/// from either must be the same.
///
/// # Errors
/// A file that is no such table.
pub fn read_staged(dir: &Path) -> Result<Trace> {
    let scratch = directory::scratch_dir()?;
    let copy = |from: std::path::PathBuf, to: &str| {
        let to = scratch.path().join(to);
        std::fs::copy(&from, to).map(drop).map_err(Error::io("copy", from))
    };
    copy(dir.join(layout::RUN), layout::RUN)?;
    for spec in tables::stored() {
        let file = dir.join(table_path(spec.name));
        if file.is_file() {
            copy(file, &format!("{}.parquet", spec.name))?;
        }
    }
    let mut trace = open_copies(scratch.path()).map_err(|e| of_bundle(e, scratch.path(), dir))?;
    if dir.join(layout::NSIGHT).is_dir() {
        let names = nsight::list(&dir.join(layout::NSIGHT))?;
        let names = names.iter().filter_map(|p| Some(format!("{}/{}", layout::NSIGHT, p.file_name()?.to_str()?)));
        let files = hash_all(dir, &names.collect::<Vec<_>>())?.iter().filter_map(supplied).collect();
        let folder = scratch.path().join(layout::NSIGHT);
        std::fs::create_dir(&folder).map_err(Error::io("create directory", &folder))?;
        let manifest = Path::new(layout::NSIGHT).join(nsight::MANIFEST);
        if dir.join(&manifest).is_file() {
            copy(dir.join(&manifest), &manifest.to_string_lossy())?;
        }
        let redacted = dir.join(layout::REDACTION).is_file();
        open_nsight(&mut trace, files, scratch.path(), redacted).map_err(|e| of_bundle(e, scratch.path(), dir))?;
    }
    trace._scratch = Some(scratch);
    Ok(trace)
}

/// Whether a file can be a bundle's as it is.
///
/// # Errors
/// A file that is no such table.
pub fn is_exact(path: &Path, table: &TableSpec) -> Result<bool> {
    files::is_exact(path, table)
}

/// The bundle that a path lies in, through any link; the path need not exist.
pub fn around(path: &Path) -> Option<std::path::PathBuf> {
    let existing = path.ancestors().find(|p| !p.as_os_str().is_empty() && p.exists()).unwrap_or(Path::new("."));
    let resolved = existing.canonicalize().ok()?;
    resolved.ancestors().find(|ancestor| is_bundle(ancestor)).map(Path::to_owned)
}

/// Refuses rows of another run than their file's.
fn rows_of_one_run(trace: &Trace) -> Result<()> {
    for (table, files) in &trace.files {
        for batch in trace.scan(table, &["run_id"]) {
            let batch = batch?;
            let ids = batch.column(0).as_string::<i32>();
            if let Some(other) = ids.iter().flatten().find(|id| *id != trace.run.run_id) {
                let problem =
                    format!("holds rows of run {}, and the trace is run {}", shorten(other), trace.run.run_id);
                let path = files.first().cloned().unwrap_or_default();
                return Err(Error::Table { path, table: (*table).to_owned(), problem });
            }
        }
    }
    Ok(())
}

fn same_run(dir: &Path, bundle: &Verified, run: &RunRecord) -> Result<()> {
    let (stated, found) = (&bundle.manifest.run_id, &run.run_id);
    if stated == found {
        return Ok(());
    }
    Err(Error::input(dir.join(layout::MANIFEST), format!("names run {stated}, and the bundle holds run {found}")))
}

/// Verifies a bundle without keeping anything of it: its hashes, and that a reader could read its run and its tables.
/// Gives its run too.
///
/// # Errors
/// As [`verify`], and a file that is no such table.
pub fn inspect(dir: &Path) -> Result<(Verified, RunRecord)> {
    let verified = verify(dir, &|_| None)?;
    let trace = open_tables(&dir.join(layout::RUN), &|table| {
        verified.manifest.entry(&table_path(table)).map(|entry| dir.join(&entry.path))
    })?;
    same_run(dir, &verified, &trace.run)?;
    Ok((verified, trace.run))
}

/// Verifies a bundle and reads its run record from the very bytes that were verified; of its other files the hashes alone.
///
/// # Errors
/// As [`verify()`], and a run record that is none, or another run's.
pub fn read_run(dir: &Path) -> Result<(Verified, RunRecord)> {
    let scratch = directory::scratch_dir()?;
    let copy = scratch.path().join(layout::RUN);
    let verified = verify(dir, &|path| (path == layout::RUN).then(|| copy.clone()))?;
    let run = verify::read_small(&copy, manifest::LARGEST_RUN).and_then(|bytes| run::parse(&bytes, &copy));
    let run = run.map_err(|e| of_bundle(e, scratch.path(), dir))?;
    same_run(dir, &verified, &run)?;
    Ok((verified, run))
}

/// A trace of a run record and one file for each table that has rows, as bundles hold them. Sizes are checked: a bundle
/// comes from anywhere.
///
/// # Errors
/// The file that is no such table.
pub fn open_tables(run_path: &Path, file: &dyn Fn(&str) -> Option<std::path::PathBuf>) -> Result<Trace> {
    let bytes = verify::read_small(run_path, manifest::LARGEST_RUN)?;
    let mut trace = Trace {
        requested: run_path.to_owned(),
        form: Form::Bundle,
        schema: TABLES_SCHEMA.to_owned(),
        run: run::parse(&bytes, run_path)?,
        files: BTreeMap::new(),
        rows: BTreeMap::new(),
        bundle: None,
        nsight: None,
        _scratch: None,
        _nsight: None,
    };
    for spec in tables::stored() {
        if let Some(path) = file(spec.name) {
            directory::add(&mut trace, &spec, path, true)?;
        }
    }
    Ok(trace)
}

/// An error about the copy as one about the bundle: nobody knows the copy.
pub(super) fn of_bundle(error: Error, scratch: &Path, dir: &Path) -> Error {
    error.of_path(|path| match path.strip_prefix(scratch) {
        Ok(name) if name.extension().is_some_and(|e| e == "parquet") => dir.join(layout::TABLES).join(name),
        Ok(name) => dir.join(name),
        Err(_) => path,
    })
}
