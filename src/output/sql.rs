//! Results of free SQL in five formats.
//! In: a stream of record batches. Out: a table for people, JSON, CSV, Parquet or an Arrow stream, batch by batch.
//! Left to neighbours: planning and limits (`session`).

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use parquet::arrow::ArrowWriter;
use serde_json::json;

use super::documents::TOOL;
use super::rows::json_rows;
use super::write::{self, Target};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::text::printable;

/// The schema of the JSON form.
pub const SCHEMA: &str = "candle-graph/sql/1";

/// A form of result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Table,
    Json,
    Csv,
    Parquet,
    Arrow,
}

/// Runs `statement` and writes its result.
///
/// # Errors
/// What cannot be planned, what would do more than read, what fails while running or writing.
pub fn run(
    session: &Session,
    statement: &str,
    parameters: &HashMap<String, String>,
    format: Format,
    target: Target<'_>,
) -> Result<()> {
    let frame = session.sql_with(statement, parameters)?;
    let schema: SchemaRef = Arc::new(frame.schema().as_arrow().clone());
    if let Some(name) = repeated_name(&schema).filter(|_| !matches!(format, Format::Table | Format::Csv)) {
        return Err(Error::Sql { problem: format!("two columns are called {name:?}; name one with AS") });
    }
    let mut stream = session.wait(frame.execute_stream()).map_err(|e| Error::sql(&e))?;
    let mut next = || -> Result<Option<RecordBatch>> {
        match session.wait(stream.next()).transpose().map_err(|e| Error::sql(&e))? {
            None => session.all_there().map(|()| None),
            batch => Ok(batch),
        }
    };
    write::write(target, |out| match format {
        Format::Table => table(out, &schema, &mut next),
        Format::Json => json_rows_out(out, &schema, &mut next),
        Format::Csv => csv(out, &schema, &mut next),
        Format::Parquet => {
            let failed = |e: parquet::errors::ParquetError| Error::Sql { problem: format!("writing Parquet: {e}") };
            let mut writer = ArrowWriter::try_new(Shim(out), schema.clone(), None).map_err(failed)?;
            while let Some(batch) = next()? {
                writer.write(&batch).map_err(failed)?;
            }
            writer.close().map(drop).map_err(failed)
        }
        Format::Arrow => {
            let mut writer = arrow::ipc::writer::StreamWriter::try_new(Shim(out), &schema).map_err(arrow_failed)?;
            while let Some(batch) = next()? {
                writer.write(&batch).map_err(arrow_failed)?;
            }
            writer.finish().map_err(arrow_failed)
        }
    })
}

/// A name that two columns share: a JSON object or a reader of Parquet would keep one of them.
fn repeated_name(schema: &SchemaRef) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    schema.fields().iter().find(|f| !seen.insert(f.name())).map(|f| f.name().clone())
}

/// A writer that the Parquet and Arrow writers can own.
struct Shim<'a>(&'a mut (dyn Write + Send));

impl Write for Shim<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn arrow_failed(e: arrow::error::ArrowError) -> Error {
    Error::Sql { problem: format!("writing the result: {e}") }
}

fn io(e: std::io::Error) -> Error {
    Error::io("write", "the result")(e)
}

type Next<'a> = &'a mut dyn FnMut() -> Result<Option<RecordBatch>>;

fn json_rows_out(out: &mut dyn Write, schema: &SchemaRef, next: Next<'_>) -> Result<()> {
    let columns: Vec<_> = schema
        .fields()
        .iter()
        .map(|f| json!({"name": f.name(), "type": f.data_type().to_string(), "nullable": f.is_nullable()}))
        .collect();
    write!(
        out,
        "{{\n  \"schema\": {},\n  \"tool\": {},\n  \"columns\": {},\n  \"rows\": [",
        json!(SCHEMA),
        json!(TOOL),
        json!(columns)
    )
    .map_err(io)?;
    let mut separator = "\n    ";
    while let Some(batch) = next()? {
        for row in json_rows(&[batch])? {
            write!(out, "{separator}{}", json!(row)).map_err(io)?;
            separator = ",\n    ";
        }
    }
    out.write_all(if separator.starts_with(',') { b"\n  ]\n}\n" } else { b"]\n}\n" }).map_err(io)
}

/// Every column as text; `clean` says what becomes of a text cell.
fn as_text(batch: &RecordBatch, nested_only: bool, clean: fn(&str) -> String) -> Result<RecordBatch> {
    let options = FormatOptions::new().with_null("").with_display_error(false);
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        if nested_only && !field.data_type().is_nested() {
            fields.push(field.as_ref().clone());
            columns.push(array.clone());
            continue;
        }
        let formatter = ArrayFormatter::try_new(array.as_ref(), &options).map_err(arrow_failed)?;
        let texts = (0..array.len())
            .map(|row| formatter.value(row).try_to_string().map(|text| clean(&text)).map_err(arrow_failed))
            .collect::<Result<Vec<String>>>()?;
        columns.push(Arc::new(StringArray::from(texts)));
        fields.push(Field::new(clean(field.name()), DataType::Utf8, true));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(arrow_failed)
}

/// Rows of a table: its columns are as wide as their widest cell, so they must all be held.
const TABLE_ROWS: usize = 10_000;

fn table(out: &mut dyn Write, schema: &SchemaRef, next: Next<'_>) -> Result<()> {
    let mut batches = vec![as_text(&RecordBatch::new_empty(schema.clone()), false, printable)?];
    let mut rows = 0;
    let mut more = false;
    while let Some(batch) = next()? {
        let taken = batch.num_rows().min(TABLE_ROWS - rows);
        more |= taken < batch.num_rows();
        batches.push(as_text(&batch.slice(0, taken), false, printable)?);
        rows += taken;
        if more {
            break;
        }
    }
    let text = arrow::util::pretty::pretty_format_batches(&batches).map_err(arrow_failed)?;
    let rest = if more { " shown, and there are more: take `--format csv`, or LIMIT and OFFSET" } else { "" };
    writeln!(out, "{text}\n{rows} row{}{rest}", if rows == 1 { "" } else { "s" }).map_err(io)
}

fn csv(out: &mut dyn Write, schema: &SchemaRef, next: Next<'_>) -> Result<()> {
    let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(out);
    writer.write(&as_text(&RecordBatch::new_empty(schema.clone()), true, str::to_owned)?).map_err(arrow_failed)?;
    while let Some(batch) = next()? {
        writer.write(&as_text(&batch, true, str::to_owned)?).map_err(arrow_failed)?;
    }
    Ok(())
}
