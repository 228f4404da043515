//! A session in a temporary directory whose finished tables are read back as text.
//! In: recording closures. Out: columns of a table. Left to neighbours: what the columns should hold.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::names::SpanKind;
use crate::run::ProfileRun;
use crate::session::TraceSession;
use crate::span::SpanId;

/// A finished trace.
pub(super) struct Trace {
    path: PathBuf,
    _home: tempfile::TempDir,
}

/// Records what `record` does in one open span.
pub(super) fn trace(record: impl FnOnce(&TraceSession, SpanId)) -> Trace {
    let home = tempfile::tempdir().expect("a temporary directory");
    let run = ProfileRun::training("test::update", 1, "cpu");
    let session = TraceSession::open(home.path().join("t.trace"), run).expect("a session");
    {
        let _measured = session.begin_measurement("update");
        let span = session.begin_span("span", SpanKind::Function);
        record(&session, span.id());
    }
    Trace { path: session.finish().expect("a finished trace"), _home: home }
}

impl Trace {
    fn batches(&self, table: &str) -> Vec<RecordBatch> {
        let path = self.path.join("tables").join(format!("{table}.parquet"));
        let Ok(file) = File::open(path) else { return Vec::new() };
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|b| b.build()).expect("a table");
        reader.map(|batch| batch.expect("a batch")).collect()
    }

    /// The values of a column as text, `-` for NULL.
    pub(super) fn column(&self, table: &str, column: &str) -> Vec<String> {
        let mut values = Vec::new();
        for batch in self.batches(table) {
            let array = batch.column_by_name(column).unwrap_or_else(|| panic!("{table} has no {column}"));
            for row in 0..array.len() {
                values.push(match array.data_type() {
                    _ if array.is_null(row) => "-".to_owned(),
                    DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
                    DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
                    DataType::Boolean => array.as_boolean().value(row).to_string(),
                    DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
                    other => panic!("{column} is {other}"),
                });
            }
        }
        values
    }

    /// The values of several columns, one text per row, with blanks between.
    pub(super) fn rows(&self, table: &str, columns: &[&str]) -> Vec<String> {
        let columns: Vec<_> = columns.iter().map(|column| self.column(table, column)).collect();
        (0..columns[0].len()).map(|row| columns.iter().map(|c| c[row].as_str()).collect::<Vec<_>>().join(" ")).collect()
    }
}
