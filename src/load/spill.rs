//! One table of an import on its way into a Parquet file.
//! In: rows. Out: a file, row group by row group, so that memory is bounded. Left to neighbours: what the rows are.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use candle_graph_record::parquet_sink::writer_properties;
use candle_graph_record::table::{Row, Table, TableBuilder};
use parquet::arrow::ArrowWriter;

use super::Trace;
use crate::error::{Error, Result, one_line};

/// Rows held per table before they are encoded.
const GROUP_ROWS: usize = 64 * 1024;

/// One table on its way into a file.
pub(super) struct Output<R: Row + 'static> {
    table: &'static Table<R>,
    builder: TableBuilder<R>,
    schema: SchemaRef,
    path: PathBuf,
    writer: Option<ArrowWriter<File>>,
    rows: u64,
}

impl<R: Row> Output<R> {
    pub(super) fn new(table: &'static Table<R>, dir: &Path) -> Self {
        Self {
            table,
            builder: table.builder(),
            schema: table.spec().schema(None),
            path: dir.join(format!("{}.parquet", table.name)),
            writer: None,
            rows: 0,
        }
    }

    pub(super) fn push(&mut self, run_id: &str, seq: i64, row: &R::Of<'_>) -> Result<()> {
        self.builder.push(seq, row);
        if self.builder.len() >= GROUP_ROWS { self.flush(run_id) } else { Ok(()) }
    }

    fn flush(&mut self, run_id: &str) -> Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        let parquet = |e: parquet::errors::ParquetError| Error::input(&self.path, one_line(&e.to_string()));
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                self.schema = self.table.spec().schema(Some(run_id));
                let file = File::create(&self.path).map_err(Error::io("create", &self.path))?;
                let properties = writer_properties(&self.table.spec(), &self.schema);
                none.insert(ArrowWriter::try_new(file, self.schema.clone(), Some(properties)).map_err(parquet)?)
            }
        };
        let batch = self.builder.finish(run_id, &self.schema);
        self.rows += batch.num_rows() as u64;
        writer.write(&batch).map_err(parquet)
    }

    pub(super) fn finish(mut self, run_id: &str, trace: &mut Trace) -> Result<()> {
        self.flush(run_id)?;
        if let Some(writer) = self.writer {
            writer.close().map_err(|e| Error::input(&self.path, one_line(&e.to_string())))?;
            trace.files.insert(self.table.name, vec![self.path]);
            trace.rows.insert(self.table.name, self.rows);
        }
        Ok(())
    }
}
