//! Parquet files of one table: checked against its definition, and read column by column.
//! In: paths. Out: row counts, or batches in the order of the files. Left to neighbours: which files make a trace.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use candle_graph_record::table::{ColumnSpec, META_RUN_ID, META_SCHEMA, TABLES_SCHEMA, TableSpec};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaDataWriter;

use super::{bundle, guard};
use crate::error::{Error, Result, one_line};
use crate::tables::same_type;

/// Runs a decoder. Some damage makes the Parquet library panic where it should report (a page that claims no rows divides by
/// zero); to a user both are a damaged file.
pub(super) fn decode<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Error::input(path, "is damaged: what it holds is no possible Parquet data")))
}

/// Opens one Parquet file of `table` and checks that it is whole, of a known version, and has every column; one that came
/// `from_outside`, that it does not grow without measure.
pub(super) fn open(
    path: &Path,
    table: &TableSpec,
    from_outside: bool,
) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    decode(path, || open_unguarded(path, table, from_outside))
}

fn open_unguarded(path: &Path, table: &TableSpec, from_outside: bool) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let problem = |problem: String| Error::Table { path: path.to_owned(), table: table.name.to_owned(), problem };
    let file = match from_outside {
        true => bundle::open_regular(path)?,
        false => File::open(path).map_err(Error::io("open", path))?,
    };
    if file.metadata().map_err(Error::io("read", path))?.len() == 0 {
        return Err(problem("the file is empty; the trace was damaged after it was written".to_owned()));
    }
    guard::footer(&file).map_err(problem)?;
    let again = file.try_clone().map_err(Error::io("open", path))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(again, reading()).map_err(|e| {
        problem(format!("is no readable Parquet file, truncated or damaged ({})", one_line(&e.to_string())))
    })?;
    guard::pages(&reader, &file, from_outside).map_err(problem)?;
    match stated(&reader, META_SCHEMA) {
        None => return Err(problem(format!("carries no {META_SCHEMA}, so no candle-graph recorder wrote it"))),
        Some(version) if version != TABLES_SCHEMA => {
            return Err(problem(format!(
                "has layout {version:?}; this version reads {TABLES_SCHEMA:?}: use the candle-graph that wrote it"
            )));
        }
        Some(_) => {}
    }
    if from_outside && !exact(reader.schema(), table) {
        return Err(problem(
            "has other columns than the recorder writes; the file was changed after recording".to_owned(),
        ));
    }
    for column in &table.columns {
        match reader.schema().field_with_name(column.name) {
            Err(_) => {
                return Err(problem(format!("has no column {}; the file was changed after recording", column.name)));
            }
            Ok(field) if !same_type(field.data_type(), &column.data_type) => {
                return Err(problem(format!(
                    "column {} has type {} instead of {}",
                    column.name,
                    field.data_type(),
                    column.type_name
                )));
            }
            // A tool that rewrites a file may make every column nullable; a NULL in a required one would read as 0.
            Ok(field) if field.is_nullable() && !column.nullable && holds_null(&reader, column.name) => {
                return Err(problem(format!(
                    "column {} holds NULL, which it never does; the file was changed after recording",
                    column.name
                )));
            }
            Ok(_) => {}
        }
    }
    Ok(reader)
}

/// Whether a file has the columns of a table, no others, in their order, and NULL only where the table has it.
fn exact(found: &Schema, table: &TableSpec) -> bool {
    fn same(found: &DataType, wanted: &DataType) -> bool {
        match (found, wanted) {
            (DataType::List(f), DataType::List(w)) => {
                f.is_nullable() == w.is_nullable() && same(f.data_type(), w.data_type())
            }
            _ => same_type(found, wanted),
        }
    }
    let column = |(field, column): (&Arc<Field>, &ColumnSpec)| {
        field.name() == column.name
            && field.is_nullable() == column.nullable
            && same(field.data_type(), &column.data_type)
    };
    found.fields().len() == table.columns.len() && found.fields().iter().zip(&table.columns).all(column)
}

/// As [`exact`], of a file.
pub(super) fn is_exact(path: &Path, table: &TableSpec) -> Result<bool> {
    Ok(exact(open(path, table, false)?.schema(), table))
}

/// Takes the statistics out of a Parquet file that is ours to change. An engine answers from them without reading a row,
/// and nothing but the rows themselves says that they are true.
pub(super) fn without_statistics(path: &Path, table: &TableSpec) -> Result<()> {
    let problem = |e: &dyn std::fmt::Display| Error::input(path, one_line(&e.to_string()));
    let reader = open(path, table, true)?;
    let metadata = reader.metadata().as_ref().clone();
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(|c| {
            let bare = c.clone().into_builder().clear_statistics();
            bare.set_bloom_filter_offset(None).set_bloom_filter_length(None).build()
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        group.clone().into_builder().set_sorting_columns(None).set_column_metadata(columns).build()
    });
    let groups = groups.collect::<Result<Vec<_>, _>>().map_err(|e| problem(&e))?;
    let metadata = metadata.into_builder().set_row_groups(groups).build();
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(Error::io("open", path))?;
    let mut tail = [0; 4];
    let end = file.seek(SeekFrom::End(-8)).and_then(|end| file.read_exact(&mut tail).map(|()| end));
    let end = end.map_err(Error::io("read", path))?;
    let begin = end.saturating_sub(u64::from(u32::from_le_bytes(tail)));
    file.set_len(begin).and_then(|()| file.seek(SeekFrom::Start(begin))).map_err(Error::io("write", path))?;
    let mut out = std::io::BufWriter::new(file);
    ParquetMetaDataWriter::new(&mut out, &metadata).finish().map_err(|e| problem(&e))?;
    out.flush().map_err(Error::io("write", path))
}

/// What a file states under a key of its metadata.
fn stated(reader: &ParquetRecordBatchReaderBuilder<File>, key: &str) -> Option<String> {
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|kv| kv.key == key)?.value.clone()
}

/// Refuses a file of another run: its rows would join with nothing, or with the wrong spans.
pub(super) fn same_run(
    reader: &ParquetRecordBatchReaderBuilder<File>,
    run_id: &str,
    path: &Path,
    table: &TableSpec,
) -> Result<()> {
    match stated(reader, META_RUN_ID) {
        Some(found) if found != run_id => Err(Error::Table {
            path: path.to_owned(),
            table: table.name.to_owned(),
            problem: format!("belongs to run {found}, and the trace is run {run_id}; the files were mixed"),
        }),
        _ => Ok(()),
    }
}

/// How files are read: by the types Parquet itself states. The Arrow schema that is stored beside them says the same, and
/// a damaged one makes its decoder panic.
fn reading() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_skip_arrow_metadata(true)
}

/// Whether the statistics of a column that is no list count a NULL.
fn holds_null(reader: &ParquetRecordBatchReaderBuilder<File>, column: &str) -> bool {
    let chunks = reader.metadata().row_groups().iter().flat_map(|g| g.columns());
    chunks
        .filter(|c| c.column_path().parts() == [column])
        .any(|c| c.statistics().and_then(|s| s.null_count_opt()).is_some_and(|n| n > 0))
}

/// Rows in a checked file.
pub(super) fn rows(reader: &ParquetRecordBatchReaderBuilder<File>) -> u64 {
    u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0)
}

/// Batches of some columns of one table, file after file.
pub struct Scan {
    files: std::vec::IntoIter<PathBuf>,
    columns: Vec<String>,
    current: Option<(PathBuf, ParquetRecordBatchReader)>,
}

/// Rows of a scanned batch: large enough to amortise decoding, small enough to stay in the cache.
const BATCH_ROWS: usize = 16 * 1024;

impl Scan {
    pub(crate) fn new(files: Vec<PathBuf>, columns: &[&str]) -> Self {
        Self { files: files.into_iter(), columns: columns.iter().map(|c| (*c).to_owned()).collect(), current: None }
    }

    fn open(&self, path: &Path) -> Result<ParquetRecordBatchReader> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new_with_options(file, reading()).map_err(|e| unreadable(path, &e))?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), self.columns.iter().map(String::as_str));
        builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(|e| unreadable(path, &e))
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::input(path, format!("cannot be read as Parquet ({})", one_line(&error.to_string())))
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((path, reader)) = &mut self.current {
                match decode(path, || reader.next().transpose().map_err(|e| unreadable(path, &e))) {
                    Ok(Some(batch)) => return Some(Ok(batch)),
                    Ok(None) => self.current = None,
                    Err(e) => {
                        // What a decoder left behind when it failed is not asked again.
                        self.current = None;
                        return Some(Err(e));
                    }
                }
            }
            let path = self.files.next()?;
            match decode(&path, || self.open(&path)) {
                Ok(reader) => self.current = Some((path, reader)),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}
