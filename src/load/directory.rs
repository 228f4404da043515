//! A trace directory: ended, or cut off while recording.
//! In: the directory. Out: its run record and the files of each table. Left to neighbours: their schema (`files`).
//!
//! An ended trace has `tables/`. A trace whose process was killed has `parts/` and lists of the spans open at the last
//! cuts; spans that no later part closes go into one more file, in a scratch directory, with no duration.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{FieldRef, Int64Type, SchemaRef};
use arrow::error::ArrowError;
use candle_graph_record::Outcome;
use candle_graph_record::parquet_sink::{layout, write_table};
use candle_graph_record::table::{TABLES_SCHEMA, TableSpec};
use candle_graph_record::tables::run::{self, RunRecord};

use super::{Form, Trace, files};
use crate::error::{Error, Result, one_line};
use crate::tables;

pub(super) fn read(dir: &Path) -> Result<Trace> {
    let run = read_run(&dir.join(layout::RUN))?;
    let tables_dir = dir.join(layout::TABLES);
    let specs = tables::events();
    let mut trace = Trace {
        requested: dir.to_owned(),
        form: Form::Directory,
        schema: TABLES_SCHEMA.to_owned(),
        run,
        files: BTreeMap::new(),
        rows: BTreeMap::new(),
        bundle: None,
        nsight: None,
        _scratch: None,
        _nsight: None,
    };
    // The record is replaced after tables/ is whole and before parts/ goes: while parts/ is there and the record has no
    // end, the parts are the trace.
    if trace.run.ended_ns.is_some() {
        if !tables_dir.is_dir() {
            return Err(Error::input(
                dir,
                format!("has an ended run and no {}/; the trace is damaged", layout::TABLES),
            ));
        }
        for spec in &specs {
            let path = tables_dir.join(format!("{}.parquet", spec.name));
            match std::fs::symlink_metadata(&path) {
                Ok(_) => add(&mut trace, spec, path, false)?,
                // A table without rows has no file.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io("open", path)(e)),
            }
        }
        return Ok(trace);
    }
    let parts = dir.join(layout::PARTS);
    if !parts.is_dir() {
        return Err(Error::input(
            dir,
            format!("has an unfinished run and no {}/; the trace is damaged", layout::PARTS),
        ));
    }
    for spec in &specs {
        for path in part_files(&parts, spec.name)? {
            add(&mut trace, spec, path, false)?;
        }
    }
    add_open_spans(&mut trace, &parts)?;
    trace.run.outcome = Outcome::Interrupted;
    let live = is_live(dir);
    trace.run.reason.get_or_insert_with(|| {
        let reason =
            if live { "the session is still recording" } else { "the process ended without finishing the session" };
        reason.to_owned()
    });
    Ok(trace)
}

/// Whether a session holds the directory's lock. Its file is locked before the run record is written, so a reader that got
/// this far takes no lock that a session is about to want.
fn is_live(dir: &Path) -> bool {
    let lock = File::open(dir.join(layout::LOCK));
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn read_run(path: &Path) -> Result<RunRecord> {
    let spec = run::spec();
    let problem = |problem: String| Error::Table { path: path.to_owned(), table: spec.name.to_owned(), problem };
    let reader = files::open(path, &spec, false)?;
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = files::decode(path, || {
        let batches = reader.build().and_then(|r| r.collect::<std::result::Result<_, _>>().map_err(Into::into));
        batches.map_err(|e| problem(one_line(&e.to_string())))
    })?;
    let batch = concat_batches(&schema, &batches).map_err(|e| problem(one_line(&e.to_string())))?;
    files::decode(path, || RunRecord::from_batch(&batch).map_err(problem))
}

pub(super) fn add(trace: &mut Trace, spec: &TableSpec, path: PathBuf, from_outside: bool) -> Result<()> {
    let file = files::open(&path, spec, from_outside)?;
    files::same_run(&file, &trace.run.run_id, &path, spec)?;
    let rows = files::rows(&file);
    if rows > 0 {
        trace.files.entry(spec.name).or_default().push(path);
        *trace.rows.entry(spec.name).or_default() += rows;
    }
    Ok(())
}

/// The part files of a table that belong to whole cuts, in the order of the cuts.
fn part_files(parts: &Path, table: &str) -> Result<Vec<PathBuf>> {
    let suffix = format!("-{table}.parquet");
    let last_cut = last_cut(parts)?;
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(parts).map_err(Error::io("read directory", parts))? {
        let path = entry.map_err(Error::io("read directory", parts))?.path();
        let cut = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(&suffix));
        if cut.and_then(|c| c.parse::<u64>().ok()).is_some_and(|cut| Some(cut) <= last_cut) {
            found.insert(path);
        }
    }
    Ok(found.into_iter().collect())
}

/// The last cut that is whole on disk; none when the recording ended before its first.
fn last_cut(parts: &Path) -> Result<Option<u64>> {
    let path = parts.join(layout::LAST_CUT);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            text.trim().parse().map(Some).map_err(|_| {
                Error::input(&path, "holds no number of a cut; the trace was damaged after it was written")
            })
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", &path)(e)),
    }
}

/// Adds the spans that were open when the trace was cut off.
fn add_open_spans(trace: &mut Trace, parts: &Path) -> Result<()> {
    let spec = tables::events().into_iter().find(|s| s.name == "spans").expect("spans is an event table");
    let ints = |batch: &RecordBatch, column: &str| batch[column].as_primitive::<Int64Type>().clone();
    let mut seen: HashSet<i64> = HashSet::new();
    let mut last_seq = -1;
    for spec in tables::events() {
        let columns: &[&str] = if spec.name == "spans" { &["seq", "span_id"] } else { &["seq"] };
        for batch in trace.scan(spec.name, columns) {
            let batch = batch?;
            last_seq = arrow::compute::max(&ints(&batch, "seq")).unwrap_or(-1).max(last_seq);
            if spec.name == "spans" {
                seen.extend(ints(&batch, "span_id").values());
            }
        }
    }
    let mut open = Vec::new();
    // A batch that was read has lost the metadata of its file.
    let schema = spec.schema(Some(&trace.run.run_id));
    for path in part_files(parts, layout::OPEN_SPANS)? {
        let reader =
            files::open(&path, &spec, false)?.build().map_err(|e| Error::input(&path, one_line(&e.to_string())))?;
        for batch in reader {
            let batch = batch.map_err(|e| Error::input(&path, one_line(&e.to_string())))?;
            let fresh: BooleanArray =
                ints(&batch, "span_id").values().iter().map(|id| Some(seen.insert(*id))).collect();
            let batch = filter_record_batch(&batch, &fresh).map_err(|e| Error::input(&path, e.to_string()))?;
            open.push(renumber(&batch, &mut last_seq, &schema).map_err(|e| Error::input(&path, e.to_string()))?);
        }
    }
    if open.iter().all(|b| b.num_rows() == 0) {
        return Ok(());
    }
    let scratch = scratch_dir()?;
    let path = scratch.path().join("open_spans.parquet");
    write_table(&path, &spec, &open)?;
    trace._scratch = Some(scratch);
    add(trace, &spec, path, false)
}

/// Spans that were never recorded follow everything that was.
fn renumber(batch: &RecordBatch, last_seq: &mut i64, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let seq = Int64Array::from_iter_values((0..batch.num_rows()).map(|_| {
        *last_seq += 1;
        *last_seq
    }));
    let seq: ArrayRef = Arc::new(seq);
    let column = |field: &FieldRef| if field.name() == "seq" { seq.clone() } else { batch[field.name()].clone() };
    RecordBatch::try_new(schema.clone(), schema.fields().iter().map(column).collect())
}

/// A directory that is removed when the trace is dropped.
pub(crate) fn scratch_dir() -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("candle-graph-")
        .tempdir()
        .map_err(Error::io("create a scratch directory here", std::env::temp_dir()))
}
