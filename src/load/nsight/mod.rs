//! Nsight Systems reports: a flat directory of what `nsys stats` wrote becomes tables.
//! In: a directory and the run it goes with. Out: a Parquet file per report that has rows, and what became of each report.
//! Left to neighbours: what the manifest of a capture proves (`evidence`), the questions (`queries/`).

mod cells;
mod header;
mod manifest;
mod names;
mod preamble;
mod quotes;
mod rows;
mod states;

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use candle_graph_record::parquet_sink::write_table;

pub use manifest::{
    Artifact, CAPTURE_SCHEMA, CaptureManifest, Correlation, Hardware, Run, Tool, parse as parse_manifest,
};
pub use names::{MANIFEST, is_raw};

use self::rows::{Counted, Failure};
use super::bundle::FileEntry;
use super::{Trace, bundle, directory};
use crate::error::{Error, Result};
use crate::tables::nsight::{REPORTS, Report, STATES, states, tables};

/// Bytes read at once.
const BUFFER: usize = 256 << 10;
/// How much of a file that names no report is looked at.
const BEGINNING: u64 = 16 << 10;

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Read whole.
    Available,
    /// Not supplied.
    Unavailable,
    /// Supplied and not readable.
    Failed,
}

impl State {
    /// The state's word in tables and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Available => "available",
            State::Unavailable => "unavailable",
            State::Failed => "failed",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [State::Available, State::Unavailable, State::Failed].into_iter().find(|s| s.as_str() == text)
    }
}

/// One report: whether it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportState {
    /// As `nsys stats --report` takes it.
    pub report: &'static str,
    pub table: &'static str,
    pub state: State,
    pub file: Option<String>,
    /// `None` unless it is available: unknown, not zero.
    pub rows: Option<u64>,
    pub time_step_ns: Option<i64>,
    /// Why it is not available.
    pub reason: Option<String>,
    pub notes: Vec<String>,
}

impl ReportState {
    fn of(report: &'static Report, state: State) -> Self {
        let Report { report, table, .. } = report;
        Self { report, table, state, file: None, rows: None, time_step_ns: None, reason: None, notes: Vec::new() }
    }
}

/// A file that is kept and not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    pub file: String,
    /// What it looks like, where that is worth saying.
    pub remark: Option<String>,
}

/// What became of every file of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// One for each report there is, in the order of the tables.
    pub reports: Vec<ReportState>,
    pub retained: Vec<Retained>,
}

/// What was supplied with a trace.
#[derive(Clone, Debug)]
pub struct Supplied {
    /// Where they are, unless a bundle holds them.
    pub dir: Option<PathBuf>,
    /// Every file, by its name.
    pub files: Vec<FileEntry>,
    /// One for each report there is, in the order of the tables.
    pub reports: Vec<ReportState>,
    /// Files that are kept and not read.
    pub retained: Vec<Retained>,
    /// What the capture manifest says, or why it says nothing; `None` without one.
    pub manifest: Option<Result<CaptureManifest, String>>,
    /// Whether the files were changed by a redaction since the capture.
    pub redacted: bool,
}

impl Supplied {
    /// The report whose rows are in `table`.
    pub fn report(&self, table: &str) -> Option<&ReportState> {
        self.reports.iter().find(|r| r.table == table)
    }
}

/// The files of a directory of Nsight reports, by name: flat, regular files alone.
///
/// # Errors
/// Anything else in it, a name that no bundle can hold, an empty directory.
pub fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !dir.is_dir() {
        return Err(Error::input(dir, "is no directory; --nsight-dir takes one that holds Nsight reports"));
    }
    for entry in std::fs::read_dir(dir).map_err(Error::io("read directory", dir))? {
        let path = entry.map_err(Error::io("read directory", dir))?.path();
        let metadata = std::fs::symlink_metadata(&path).map_err(Error::io("read", &path))?;
        if !metadata.is_file() {
            let what = match metadata.file_type() {
                t if t.is_symlink() => "a symbolic link",
                t if t.is_dir() => "a directory",
                _ => "no regular file",
            };
            return Err(Error::input(
                path,
                format!("is {what}; a directory of Nsight reports holds regular files alone"),
            ));
        }
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if !bundle::is_bundle_path(&format!("{}/{name}", bundle::layout::NSIGHT)) {
            return Err(Error::input(
                path,
                "has a name that no bundle can hold (hidden, not UTF-8, or with control characters)",
            ));
        }
        files.push(path);
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::input(dir, "holds no Nsight report"));
    }
    Ok(files)
}

/// Whether a file's own bytes are read: the rest is kept, and its hash is known.
pub fn is_read(name: &str) -> bool {
    name == MANIFEST || names::is_text(name)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

/// A file, and what it is.
struct Named<'a> {
    path: &'a Path,
    report: Option<&'static Report>,
    remark: Option<String>,
}

/// What a file is: by the end of its name, or by a report's name anywhere in it where the header agrees.
fn identify(path: &Path) -> Result<Named<'_>> {
    let name = name_of(path);
    let report = names::report_of(name);
    if report.is_some() || !names::is_text(name) {
        return Ok(Named { path, report, remark: None });
    }
    let mut beginning = Vec::new();
    let file = bundle::open_regular(path)?;
    file.take(BEGINNING).read_to_end(&mut beginning).map_err(Error::io("read", path))?;
    Ok(match preamble::look(&beginning) {
        preamble::Look::Header(found) if names::mentions(name, found) => {
            Named { path, report: Some(found), remark: None }
        }
        preamble::Look::Header(found) => {
            let remark = format!(
                "has the columns of {0}, and its name does not say so; name it NAME_{0}.csv to have it read",
                found.report
            );
            Named { path, report: None, remark: Some(remark) }
        }
        preamble::Look::Remark(remark) => Named { path, report: None, remark: Some(remark) },
        preamble::Look::Other => Named { path, report: None, remark: None },
    })
}

/// Reads every report among `files` into a table of `out`, and writes what became of each beside them. A report that
/// cannot be read fails alone. Of a file that [`is_read`] says nothing of, only the name is looked at.
///
/// # Errors
/// Two files of one report, a file that cannot be opened, a table that cannot be written.
pub fn import(files: &[PathBuf], run_id: &str, out: &Path) -> Result<Imported> {
    let named = files.iter().map(|path| identify(path)).collect::<Result<Vec<_>>>()?;
    let of = |report: &'static Report| named.iter().filter(|n| n.report.is_some_and(|r| std::ptr::eq(r, report)));
    for report in REPORTS {
        let mut found = of(report);
        if let (Some(first), Some(second)) = (found.next(), found.next()) {
            let problem = format!("is the report {}, and so is {}; keep one", report.report, name_of(second.path));
            return Err(Error::input(first.path, problem));
        }
    }
    let mut reports = Vec::new();
    for report in REPORTS {
        reports.push(match of(report).next() {
            None => ReportState {
                reason: Some(format!("no file of {} was supplied; its rows are unknown, not zero", report.report)),
                ..ReportState::of(report, State::Unavailable)
            },
            Some(found) => import_one(found.path, report, run_id, out)?,
        });
    }
    let retained = named.into_iter().filter(|n| n.report.is_none());
    let retained = retained.map(|n| Retained { file: name_of(n.path).to_owned(), remark: n.remark }).collect();
    let imported = Imported { reports, retained };
    let spec = states();
    write_table(&out.join(format!("{}.parquet", spec.name)), &spec, &[states::to_batch(run_id, &imported)])?;
    Ok(imported)
}

fn import_one(path: &Path, report: &'static Report, run_id: &str, out: &Path) -> Result<ReportState> {
    let named = ReportState { file: Some(name_of(path).to_owned()), ..ReportState::of(report, State::Failed) };
    let spec = report.spec();
    let target = out.join(format!("{}.parquet", report.table));
    let available = |rows: u64, notes: Vec<String>| ReportState {
        state: State::Available,
        rows: Some(rows),
        notes,
        ..named.clone()
    };
    let failed =
        |problem: String| ReportState { reason: Some(format!("{}: {problem}", name_of(path))), ..named.clone() };
    let mut input = BufReader::with_capacity(BUFFER, bundle::open_regular(path)?);
    let start = preamble::read(&mut input, report).map_err(Error::io("read", path))?;
    let (cells, line) = match start {
        Err(problem) => return Ok(failed(problem)),
        Ok(preamble::Start::Empty(why)) => return Ok(available(0, vec![why])),
        Ok(preamble::Start::Header { cells, line }) => (cells, line),
    };
    let plan = match header::Plan::new(report, &cells) {
        Ok(plan) => plan,
        Err(problem) => return Ok(failed(format!("line {line}: {problem}"))),
    };
    match rows::Table::new(&plan, &spec, run_id, &target).read(&mut input, path, line + 1) {
        Ok(counted) => {
            let mut notes = plan.notes.clone();
            notes.extend(remarks(&counted));
            Ok(ReportState { time_step_ns: Some(counted.time_step_ns), ..available(counted.rows, notes) })
        }
        Err(Failure::Report(problem)) => Ok(failed(problem)),
        Err(Failure::Here(error)) => Err(error),
    }
}

/// What is to be known of a report that was read.
fn remarks(counted: &Counted) -> Vec<String> {
    let mut notes = Vec::new();
    if counted.time_step_ns > 1 {
        notes.push(format!("times are rounded to {} ns, as the report prints them", counted.time_step_ns));
    }
    if counted.size_step_bytes > 1 {
        notes.push(format!("sizes are rounded to {} bytes, as the report prints them", counted.size_step_bytes));
    }
    if counted.rows > 0 && !counted.ended {
        notes.push("the last line has no end, so its last field may be cut off".to_owned());
    }
    notes
}

/// Most bytes of a capture manifest.
const LARGEST_MANIFEST: u64 = 16 << 20;

/// Opens what was imported for a trace: the tables, which are open already, what `nsight_reports` says of them, and the
/// manifest of the capture.
///
/// # Errors
/// A table of states that no importer wrote.
pub(super) fn open(trace: &mut Trace, files: Vec<FileEntry>, manifest: Option<&Path>, redacted: bool) -> Result<()> {
    let states = trace.scan(STATES, &states().columns.iter().map(|c| c.name).collect::<Vec<_>>());
    let batches = states.collect::<Result<Vec<_>>>()?;
    let path = || trace.files.get(STATES).and_then(|f| f.first()).cloned().unwrap_or_default();
    let imported = states::from_batches(&batches).map_err(|problem| Error::Table {
        path: path(),
        table: STATES.to_owned(),
        problem,
    })?;
    for report in &imported.reports {
        let rows = trace.count(report.table);
        // The rows themselves are what there is.
        if report.state != State::Available && rows > 0 || report.rows.is_some_and(|stated| stated != rows) {
            let problem = format!("says that {} has other rows than it has", report.table);
            return Err(Error::Table { path: path(), table: STATES.to_owned(), problem });
        }
    }
    let manifest = manifest.map(|path| match bundle::read_small(path, LARGEST_MANIFEST) {
        Ok(bytes) => parse_manifest(&bytes),
        Err(Error::Input { problem, .. }) => Err(problem),
        Err(other) => Err(other.to_string()),
    });
    trace.nsight =
        Some(Supplied { dir: None, files, reports: imported.reports, retained: imported.retained, manifest, redacted });
    Ok(())
}

/// Reads a directory of Nsight reports as belonging to `trace`.
///
/// # Errors
/// A trace that has Nsight reports already, a directory that is no such one, two files of one report, the file system's
/// failures.
pub fn attach(trace: &mut Trace, dir: &Path) -> Result<()> {
    if trace.nsight.is_some() {
        let problem = "carries Nsight reports already; publish its trace with others, or leave out --nsight-dir";
        return Err(Error::input(&trace.requested, problem));
    }
    let files = list(dir)?;
    let names: Vec<String> = files.iter().map(|f| name_of(f).to_owned()).collect();
    let hashed = bundle::hash_all(dir, &names)?;
    let out = directory::scratch_dir()?;
    import(&files, &trace.run.run_id, out.path())?;
    for spec in tables().into_iter().chain([states()]) {
        let path = out.path().join(format!("{}.parquet", spec.name));
        if path.is_file() {
            directory::add(trace, &spec, path, false)?;
        }
    }
    let manifest = files.iter().find(|f| name_of(f) == MANIFEST);
    open(trace, hashed, manifest.map(PathBuf::as_path), false)?;
    trace._nsight = Some(out);
    if let Some(supplied) = &mut trace.nsight {
        supplied.dir = Some(dir.to_owned());
    }
    Ok(())
}
