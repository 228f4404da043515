//! The rows of a report on their way into a table.
//! In: bytes behind a header, a plan. Out: one Parquet file, row group by row group, whatever the size of the report.
//! Left to neighbours: the header (`header`), which file it is (`import`).

use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, Int64Array, Int64Builder, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::SchemaRef;
use candle_graph_record::parquet_sink::writer_properties;
use candle_graph_record::table::{Kind, TableSpec};
use csv_core::ReadRecordResult;
use parquet::arrow::ArrowWriter;

use super::cells::{self, Factor, Problem};
use super::header::{Plan, Source};
use super::quotes::Quotes;
use crate::error::{Error, one_line};
use crate::tables::nsight::{Cell, Need};
use crate::text::shorten;

/// Rows of a batch, and bytes of one: rows of the longest names make shorter batches.
const BATCH: usize = 64 * 1024;
const BATCH_BYTES: usize = 32 << 20;
/// Bytes that a row group may hold in memory, whatever its rows are.
const GROUP_BYTES: usize = 128 << 20;
/// Most bytes of one record: names of kernels reach thousands, and what is never closed must not fill the memory.
const RECORD: usize = 1 << 20;

/// Why a report was not imported.
#[derive(Debug)]
pub(super) enum Failure {
    /// It is no such report: its state, which concerns no other.
    Report(String),
    /// Nothing could be read or written here.
    Here(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Here(error)
    }
}

/// What was imported.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub rows: u64,
    /// What the last printed digit of a time stands for, the coarsest.
    pub time_step_ns: i64,
    /// What the last printed digit of a size stands for, the coarsest.
    pub size_step_bytes: i64,
    /// Whether the last line ended as every line does.
    pub ended: bool,
}

/// The values of one column.
enum Values {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

impl Values {
    fn of(cell: Cell) -> Self {
        match cell.kind() {
            Kind::Float => Values::Float(Float64Builder::new()),
            Kind::Text => Values::Text(StringBuilder::new()),
            _ => Values::Int(Int64Builder::new()),
        }
    }

    fn null(&mut self) {
        match self {
            Values::Int(b) => b.append_null(),
            Values::Float(b) => b.append_null(),
            Values::Text(b) => b.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::Int(b) => Arc::new(b.finish()),
            Values::Float(b) => Arc::new(b.finish()),
            Values::Text(b) => Arc::new(b.finish()),
        }
    }

    /// Appends what a cell holds; of a size, gives what its last digit stands for.
    #[inline]
    fn push(&mut self, source: &Source, cell: &[u8]) -> Result<i64, Problem> {
        let (kind, factor) = (source.column.cell, source.factor);
        match self {
            Values::Text(b) => {
                let text = std::str::from_utf8(cell).map_err(|_| Problem::NotUtf8)?;
                if memchr::memchr(0, cell).is_some() {
                    return Err(Problem::Nul);
                }
                match kind {
                    Cell::OperationKind => b.append_value(cells::operation_kind(text)),
                    Cell::CopyDirection => b.append_option(cells::copy_direction(text)),
                    Cell::Label => b.append_value(cells::label(text)),
                    _ => b.append_value(text),
                }
            }
            Values::Float(b) => {
                let value = cells::float(cell, factor)?;
                if value < 0.0 {
                    return Err(Problem::Negative);
                }
                b.append_value(value);
            }
            Values::Int(b) => {
                let mut step = 1;
                let value = match kind {
                    Cell::Moment | Cell::Duration => cells::nanoseconds(cell, factor)?,
                    Cell::Size => {
                        let (value, of) = cells::bytes(cell, factor)?;
                        step = of;
                        value
                    }
                    Cell::SizeStep => cells::bytes(cell, factor)?.1,
                    Cell::Dimension(nth) => cells::dimension(cell, nth)?,
                    _ => cells::whole(cell)?,
                };
                if value < 0 && !matches!(kind, Cell::Moment | Cell::Id) {
                    return Err(Problem::Negative);
                }
                b.append_value(value);
                return Ok(step);
            }
        }
        Ok(1)
    }
}

/// One report's table being written.
pub(super) struct Table<'a> {
    plan: &'a Plan,
    values: Vec<Values>,
    schema: SchemaRef,
    spec: &'a TableSpec,
    run_id: &'a str,
    path: PathBuf,
    writer: Option<ArrowWriter<File>>,
    held: usize,
    held_bytes: usize,
    counted: Counted,
}

impl<'a> Table<'a> {
    pub(super) fn new(plan: &'a Plan, spec: &'a TableSpec, run_id: &'a str, path: &Path) -> Self {
        Self {
            plan,
            values: plan.sources.iter().map(|s| Values::of(s.column.cell)).collect(),
            schema: spec.schema(Some(run_id)),
            spec,
            run_id,
            path: path.to_owned(),
            writer: None,
            held: 0,
            held_bytes: 0,
            counted: Counted { time_step_ns: 1, size_step_bytes: 1, ..Counted::default() },
        }
    }

    /// Reads every row of `input`, whose first line is number `line`. The file is there when there are any.
    pub(super) fn read(mut self, input: &mut impl BufRead, source: &Path, line: u64) -> Result<Counted, Failure> {
        let read = self.read_rows(input, source, line);
        if read.is_err() && self.writer.take().is_some() {
            // Half a table is worse than none.
            let _ = std::fs::remove_file(&self.path);
        }
        read
    }

    fn read_rows(&mut self, input: &mut impl BufRead, source: &Path, line: u64) -> Result<Counted, Failure> {
        let mut reader = csv_core::Reader::new();
        // Past what it takes for the beginning of a file: there it drops a byte-order mark, and here it is in a name.
        let _ = reader.read_record(b"\n", &mut [0], &mut [0]);
        reader.set_line(line);
        let width = self.plan.fields.len();
        let mut out = vec![0; 64 << 10];
        // Room for a few more fields than there should be, to tell a longer row from a right one.
        let mut ends = vec![0; width + 8];
        let (mut written, mut fields, mut begun) = (0, 0, line);
        let mut quotes = Quotes::default();
        loop {
            let chunk = input.fill_buf().map_err(Error::io("read", source))?;
            let last = chunk.is_empty();
            let fresh = written == 0 && fields == 0 && quotes.none();
            // Blank lines, and what is left of the line before, belong to no row.
            let between = chunk.iter().take_while(|b| fresh && matches!(b, b'\r' | b'\n')).count();
            if between > 0 {
                self.counted.ended = chunk[between - 1] == b'\n';
                begun += memchr::memchr_iter(b'\n', &chunk[..between]).count() as u64;
                reader.set_line(begun);
                input.consume(between);
                continue;
            }
            let (result, read, bytes, count) = reader.read_record(chunk, &mut out[written..], &mut ends[fields..]);
            quotes.feed(&chunk[..read]);
            if read > 0 {
                self.counted.ended = chunk[read - 1] == b'\n';
            }
            input.consume(read);
            written += bytes;
            fields += count;
            let at = |problem: &str| Failure::Report(format!("line {begun}: {problem}"));
            match result {
                ReadRecordResult::InputEmpty if !last => {}
                ReadRecordResult::OutputFull if out.len() < RECORD => out.resize(out.len() * 2, 0),
                ReadRecordResult::OutputFull if quotes.open() => {
                    return Err(at("has a quote that is never closed"));
                }
                ReadRecordResult::OutputFull => {
                    return Err(at(&format!("is longer than {RECORD} bytes, as no row of a report is")));
                }
                ReadRecordResult::OutputEndsFull => {
                    return Err(at(&format!("has more fields than the {width} of the header")));
                }
                ReadRecordResult::Record => {
                    // A quote that is missing takes in the rows up to the next one, and leaves their number odd.
                    if quotes.open() {
                        let cut = if last { "; the file was cut off" } else { "" };
                        return Err(at(&format!("has a quote that is never closed{cut}")));
                    }
                    if quotes.misplaced() {
                        return Err(at("has text behind a closing quote, so a quote is missing before it"));
                    }
                    self.record(&out[..written], &ends[..fields]).map_err(|problem| at(&problem))?;
                    self.held_bytes += written;
                    if self.held >= BATCH || self.held_bytes >= BATCH_BYTES {
                        self.flush()?;
                    }
                    (written, fields, quotes, begun) = (0, 0, Quotes::default(), reader.line());
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => break,
            }
        }
        self.flush()?;
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(|e| Error::input(&self.path, one_line(&e.to_string())))?;
        }
        Ok(std::mem::take(&mut self.counted))
    }

    /// One record: `out` holds its fields one behind the other, each up to its place in `ends`.
    fn record(&mut self, out: &[u8], ends: &[usize]) -> Result<(), String> {
        let width = self.plan.fields.len();
        if ends.len() != width {
            if ends.len() == 1 && out.iter().all(u8::is_ascii_whitespace) {
                return Ok(());
            }
            let hint = if ends.len() == 1 { "; a file holds one report" } else { "; was it cut off or edited?" };
            let fields = if ends.len() == 1 { "field" } else { "fields" };
            return Err(format!("has {} {fields}, and its header {width}{hint}", ends.len()));
        }
        for (source, values) in self.plan.sources.iter().zip(&mut self.values) {
            let Some(field) = source.field else {
                values.null();
                continue;
            };
            let begin = field.checked_sub(1).map_or(0, |before| ends[before]);
            let text = &out[begin..ends[field]];
            // A name is kept as it stands, be it blank; numbers can be padded.
            let named = matches!(source.column.cell, Cell::Text | Cell::Label);
            let cell = if named { text } else { text.trim_ascii() };
            if cells::is_absent(cell) {
                match (source.column.need, source.column.cell) {
                    (Need::Always, Cell::Text | Cell::OperationKind) => {}
                    (Need::Always, _) => return Err(wrong(self.plan, field, cell, Problem::Missing)),
                    _ => {
                        values.null();
                        continue;
                    }
                }
            }
            let step = values.push(source, cell).map_err(|problem| wrong(self.plan, field, cell, problem))?;
            self.counted.note(source, cell, step);
        }
        self.held += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.held == 0 {
            return Ok(());
        }
        let parquet = |e: parquet::errors::ParquetError| Error::input(&self.path, one_line(&e.to_string()));
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let file = File::create(&self.path).map_err(Error::io("create", &self.path))?;
                let properties = writer_properties(self.spec, &self.schema);
                none.insert(ArrowWriter::try_new(file, self.schema.clone(), Some(properties)).map_err(parquet)?)
            }
        };
        let first = self.counted.rows as i64;
        let run_ids = StringArray::from_iter_values(std::iter::repeat_n(self.run_id, self.held));
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(run_ids), Arc::new(Int64Array::from_iter_values(first..first + self.held as i64))];
        columns.extend(self.values.iter_mut().map(Values::finish));
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| Error::input(&self.path, one_line(&e.to_string())))?;
        writer.write(&batch).map_err(parquet)?;
        if writer.in_progress_size() >= GROUP_BYTES {
            writer.flush().map_err(parquet)?;
        }
        self.counted.rows += self.held as u64;
        (self.held, self.held_bytes) = (0, 0);
        Ok(())
    }
}

/// What is wrong with a cell, in the words of its header.
fn wrong(plan: &Plan, field: usize, cell: &[u8], problem: Problem) -> String {
    let (column, cell) = (shorten(plan.fields[field].trim()), shorten(&String::from_utf8_lossy(cell)));
    match problem {
        Problem::Missing => format!("column {column} {problem}"),
        _ => format!("column {column}: {cell:?} {problem}"),
    }
}

impl Counted {
    /// Keeps the coarsest digits, where a unit is not the table's own.
    #[inline]
    fn note(&mut self, source: &Source, cell: &[u8], size_step: i64) {
        self.size_step_bytes = self.size_step_bytes.max(size_step);
        if source.factor != Factor::ONE && matches!(source.column.cell, Cell::Moment | Cell::Duration) {
            self.time_step_ns = self.time_step_ns.max(cells::time_step(cell, source.factor));
        }
    }
}
