//! The native form of a trace: a directory of Parquet files.
//! In: cuts. Out: `run.parquet` (synced at open, replaced at the end), `parts/` while recording, `tables/` once ended:
//! one file per table that has rows. Left to neighbours: the columns (`tables`), the moment of a cut (`flush`).
//!
//! A cut counts once its number stands in `parts/last_cut`; the previous list of open spans goes after that. So a reader
//! of a killed run finds whole cuts, each one moment of the session, and every span that a fact names.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowColumnWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::error::{Error, Result};
use crate::sink::{Cut, Sink, sync_dir};
use crate::table::{META_UNIT, TableSpec};
use crate::tables::run::RunRecord;
use crate::tables::{self, run};

/// Names inside a trace directory.
pub mod layout {
    /// The run record.
    pub const RUN: &str = "run.parquet";
    /// One file per table of an ended trace.
    pub const TABLES: &str = "tables";
    /// Part files of a trace that is recording or was cut off: `<cut>-<table>.parquet`.
    pub const PARTS: &str = "parts";
    /// In `parts/`, the number of the last cut that is whole on disk: part files of a later one are torn.
    pub const LAST_CUT: &str = "last_cut";
    /// Held locked while a session records here.
    pub const LOCK: &str = "recording.lock";
    /// In a part file's name, the table of spans open at the cut.
    pub const OPEN_SPANS: &str = "open_spans";
}

/// Row groups of at least this many rows are copied as they are when the parts become one file; smaller ones are
/// decoded and encoded together, so that a slow trickle of cuts does not end as thousands of tiny row groups.
const COPY_ROWS: i64 = 8 * 1024;

/// Files of fewer rows are not compressed: a compressor for each column costs 0.3 ms, for bytes that nobody misses.
const TINY_ROWS: usize = 64;

/// Rows of a row group made of small parts.
const GROUP_ROWS: usize = 256 * 1024;

/// The one way this project writes Parquet: zstd 1, chunk statistics, dictionaries where values repeat, plain values
/// elsewhere (a reader without DELTA or BYTE_STREAM_SPLIT opens it), no clock and no path in the bytes.
pub fn writer_properties(table: &TableSpec, schema: &SchemaRef) -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a zstd level"));
    properties(table, schema, zstd)
}

fn properties(table: &TableSpec, schema: &SchemaRef, compression: Compression) -> WriterProperties {
    let mut metadata: Vec<KeyValue> =
        schema.metadata().iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
    metadata.sort_by(|a, b| a.key.cmp(&b.key));
    metadata.extend(
        table.columns.iter().map(|c| KeyValue::new(format!("{META_UNIT}.{}", c.name), c.unit.as_str().to_owned())),
    );
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("candle-graph ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(1024 * 1024))
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(metadata));
    for column in table.columns.iter().filter(|c| !c.repeats) {
        let mut path = vec![column.name.to_owned()];
        if matches!(column.data_type, DataType::List(_)) {
            path.extend(["list".to_owned(), "item".to_owned()]);
        }
        properties = properties.set_column_dictionary_enabled(ColumnPath::new(path), false);
    }
    properties.build()
}

/// Writes `batches` of `table` as one Parquet file, first under a temporary name, so that `path` is whole or absent.
///
/// # Errors
/// The file system's or the encoder's failure, with the path.
pub fn write_table(path: &Path, table: &TableSpec, batches: &[RecordBatch]) -> Result<()> {
    write_rows(path, table, batches, TINY_ROWS)
}

/// As [`write_table`], compressed from `compress_from` rows on.
fn write_rows(path: &Path, table: &TableSpec, batches: &[RecordBatch], compress_from: usize) -> Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    let schema = first.schema();
    let temporary = path.with_extension("tmp");
    let written = (|| {
        let file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
        let properties = if batches.iter().map(RecordBatch::num_rows).sum::<usize>() < compress_from {
            properties(table, &schema, Compression::UNCOMPRESSED)
        } else {
            writer_properties(table, &schema)
        };
        let mut writer =
            ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(Error::parquet(&temporary))?;
        for batch in batches {
            writer.write(batch).map_err(Error::parquet(&temporary))?;
        }
        writer.into_inner().map_err(Error::parquet(&temporary))
    })();
    finish_file(written, &temporary, path).map(drop)
}

/// Gives a wholly written temporary file its name, or removes it.
fn finish_file(written: Result<File>, temporary: &Path, path: &Path) -> Result<File> {
    let named = written.and_then(|file| {
        std::fs::rename(temporary, path).map_err(Error::io("rename to its final name", path)).map(|()| file)
    });
    if named.is_err() {
        // Best effort: the first failure is the one to report.
        let _ = std::fs::remove_file(temporary);
    }
    named
}

struct Part {
    path: PathBuf,
    rows: usize,
}

/// A trace directory being recorded.
pub(crate) struct ParquetSink {
    dir: PathBuf,
    run_id: String,
    /// Locked while this sink lives.
    lock: File,
    cuts: u64,
    parts: BTreeMap<&'static str, Vec<Part>>,
    open_spans: Option<(RecordBatch, PathBuf)>,
    specs: Vec<TableSpec>,
}

impl ParquetSink {
    pub(crate) fn open(dir: &Path, run: &RunRecord) -> Result<Self> {
        let lock = claim(dir)?;
        let parts = dir.join(layout::PARTS);
        std::fs::create_dir(&parts).map_err(Error::io("create directory", &parts))?;
        let sink = Self {
            dir: dir.to_owned(),
            run_id: run.run_id.clone(),
            lock,
            cuts: 0,
            parts: BTreeMap::new(),
            open_spans: None,
            specs: tables::events(),
        };
        sink.write_run(run)?;
        Ok(sink)
    }

    fn write_run(&self, run: &RunRecord) -> Result<()> {
        let path = self.dir.join(layout::RUN);
        write_table(&path, &run::spec(), &[run.to_batch()])?;
        File::open(&path).and_then(|f| f.sync_all()).map_err(Error::io("sync", &path))?;
        sync_dir(&self.dir)
    }

    fn spec(&self, table: &str) -> &TableSpec {
        self.specs.iter().find(|s| s.name == table).expect("cuts hold the tables of tables::events()")
    }

    fn part(&self, table: &str) -> PathBuf {
        self.dir.join(layout::PARTS).join(format!("{:010}-{table}.parquet", self.cuts))
    }

    /// Says that everything up to this cut is on disk.
    fn commit(&self) -> Result<()> {
        let path = self.dir.join(layout::PARTS).join(layout::LAST_CUT);
        let temporary = path.with_extension("tmp");
        let written = std::fs::write(&temporary, self.cuts.to_string()).map_err(Error::io("write", &temporary));
        let file = written.and_then(|()| File::open(&temporary).map_err(Error::io("open", &temporary)));
        finish_file(file, &temporary, &path).map(drop)
    }

    /// Makes one file of a table's parts: each is copied or recoded whole, in order.
    fn merge(&self, table: &str, parts: &[Part]) -> Result<()> {
        let tables = self.dir.join(layout::TABLES);
        let target = tables.join(format!("{table}.parquet"));
        if let [only] = parts
            && !(TINY_ROWS..COPY_ROWS as usize).contains(&only.rows)
        {
            return std::fs::rename(&only.path, &target).map_err(Error::io("move into place", &target));
        }
        let spec = self.spec(table);
        let schema = spec.schema(Some(&self.run_id));
        let temporary = target.with_extension("tmp");
        let written = merge_parts(&temporary, spec, &schema, parts);
        finish_file(written, &temporary, &target).map(drop)
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, cut: &Cut) -> Result<()> {
        let mut outdated = None;
        if self.open_spans.as_ref().is_none_or(|(batch, _)| *batch != cut.open) {
            let path = self.part(layout::OPEN_SPANS);
            if cut.open.num_rows() > 0 {
                write_rows(&path, self.spec("spans"), std::slice::from_ref(&cut.open), COPY_ROWS as usize)?;
            }
            outdated = self.open_spans.replace((cut.open.clone(), path)).map(|(_, path)| path);
        }
        for (table, batch) in &cut.batches {
            let path = self.part(table);
            // A part that will be encoded again is not worth compressing.
            write_rows(&path, self.spec(table), std::slice::from_ref(batch), COPY_ROWS as usize)?;
            self.parts.entry(table).or_default().push(Part { path, rows: batch.num_rows() });
        }
        self.commit()?;
        if let Some(path) = outdated {
            // It only says again what the newer list and the closed spans say.
            let _ = std::fs::remove_file(path);
        }
        self.cuts += 1;
        Ok(())
    }

    fn finish(&mut self, run: &RunRecord) -> Result<PathBuf> {
        let tables = self.dir.join(layout::TABLES);
        std::fs::create_dir(&tables).map_err(Error::io("create directory", &tables))?;
        for (table, parts) in &self.parts {
            self.merge(table, parts)?;
        }
        // Until this replaces it, the record says `interrupted` and readers use the parts.
        self.write_run(run)?;
        let parts = self.dir.join(layout::PARTS);
        std::fs::remove_dir_all(&parts).map_err(Error::io("remove", &parts))?;
        let lock = self.dir.join(layout::LOCK);
        self.lock.unlock().and_then(|()| std::fs::remove_file(&lock)).map_err(Error::io("release", &lock))?;
        Ok(self.dir.clone())
    }
}

/// Makes the directory ours, or says who has it.
fn claim(dir: &Path) -> Result<File> {
    let lock_path = dir.join(layout::LOCK);
    match std::fs::symlink_metadata(dir) {
        Ok(found) => {
            let empty =
                found.is_dir() && std::fs::read_dir(dir).map_err(Error::io("read directory", dir))?.next().is_none();
            if !empty {
                // A live session holds its lock; anything else that is here is somebody's data.
                let held = File::open(&lock_path).is_ok_and(|f| matches!(f.try_lock(), Err(TryLockError::WouldBlock)));
                let path = dir.to_owned();
                return Err(if held { Error::Live { path } } else { Error::Exists { path } });
            }
        }
        Err(_) => std::fs::create_dir_all(dir).map_err(Error::io("create directory", dir))?,
    }
    // `create_new` lets exactly one of two racing sessions through.
    let lock = OpenOptions::new().write(true).create_new(true).open(&lock_path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::AlreadyExists {
            Error::Live { path: dir.to_owned() }
        } else {
            Error::Io { action: "create", path: lock_path.clone(), source }
        }
    })?;
    lock.try_lock().map_err(|e| match e {
        TryLockError::WouldBlock => Error::Live { path: dir.to_owned() },
        TryLockError::Error(source) => Error::Io { action: "lock", path: lock_path, source },
    })?;
    Ok(lock)
}

fn merge_parts(path: &Path, spec: &TableSpec, schema: &SchemaRef, parts: &[Part]) -> Result<File> {
    let parquet = || Error::parquet(path);
    let file = File::create(path).map_err(Error::io("create", path))?;
    let writer = ArrowWriter::try_new(file, schema.clone(), Some(writer_properties(spec, schema))).map_err(parquet())?;
    let (mut writer, groups) = writer.into_serialized_writer().map_err(parquet())?;
    let mut group = 0;
    let mut pending: Vec<RecordBatch> = Vec::new();
    let mut pending_rows = 0;
    let flush = |pending: &mut Vec<RecordBatch>, writer: &mut SerializedFileWriter<File>, group: &mut usize| {
        if pending.is_empty() {
            return Ok(());
        }
        let mut columns = groups.create_column_writers(*group)?;
        for batch in pending.drain(..) {
            encode(&mut columns, schema, &batch)?;
        }
        let mut out = writer.next_row_group()?;
        for column in columns {
            column.close()?.append_to_row_group(&mut out)?;
        }
        out.close()?;
        *group += 1;
        Ok::<_, parquet::errors::ParquetError>(())
    };
    for part in parts {
        let input = || Error::parquet(&part.path);
        let open = || File::open(&part.path).map_err(Error::io("open", &part.path));
        if part.rows as i64 >= COPY_ROWS {
            flush(&mut pending, &mut writer, &mut group).map_err(parquet())?;
            pending_rows = 0;
            let file = open()?;
            let reader = SerializedFileReader::new(open()?).map_err(input())?;
            for row_group in reader.metadata().row_groups() {
                let mut out = writer.next_row_group().map_err(parquet())?;
                for column in row_group.columns() {
                    let close = ColumnCloseResult {
                        bytes_written: column.compressed_size() as u64,
                        rows_written: row_group.num_rows() as u64,
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: None,
                        offset_index: None,
                    };
                    out.append_column(&file, close).map_err(parquet())?;
                }
                out.close().map_err(parquet())?;
                group += 1;
            }
        } else {
            let batches = ParquetRecordBatchReaderBuilder::try_new(open()?)
                .and_then(|b| b.with_batch_size(GROUP_ROWS).build())
                .map_err(input())?;
            for batch in batches {
                let batch = batch.map_err(|e| Error::parquet(&part.path)(e.into()))?;
                pending_rows += batch.num_rows();
                pending.push(batch);
            }
            if pending_rows >= GROUP_ROWS {
                flush(&mut pending, &mut writer, &mut group).map_err(parquet())?;
                pending_rows = 0;
            }
        }
    }
    flush(&mut pending, &mut writer, &mut group).map_err(parquet())?;
    writer.into_inner().map_err(parquet())
}

fn encode(
    columns: &mut [ArrowColumnWriter],
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<(), parquet::errors::ParquetError> {
    let mut writers = columns.iter_mut();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        for leaf in parquet::arrow::arrow_writer::compute_leaves(field, &Arc::clone(array))? {
            if let Some(writer) = writers.next() {
                writer.write(&leaf)?;
            }
        }
    }
    Ok(())
}
