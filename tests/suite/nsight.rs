//! The importer of Nsight reports: laws that hold for every report that means something, and for any bytes at all.
//! In: made-up reports in any units and order, cut and changed ones, the corpus that the fuzzer kept. Out: exact rows, or a
//! state with its reason; never a panic.

#[path = "../fuzz/src/laws.rs"]
mod laws;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use candle_graph::load::nsight::{self, ReportState, State};
use candle_graph::tables::nsight::{self as reports, Cell, Need, REPORTS, Report};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::world::{files_below, repository};

/// Most time for one input of the corpus; the slowest takes some milliseconds.
const LONGEST: Duration = Duration::from_secs(10);

#[test]
fn every_input_that_the_fuzzer_kept_keeps_the_laws() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = 0;
    for file in files_below("tests/fuzz/corpus") {
        let bytes = std::fs::read(repository().join(&file)).expect("an input");
        let bytes = if file.contains("/rows/") { laws::rows(&bytes).unwrap_or_default() } else { bytes };
        let begun = Instant::now();
        laws::import(folder.path(), &bytes);
        assert!(begun.elapsed() < LONGEST, "{file} takes {:?}", begun.elapsed());
        kept += 1;
    }
    assert!(kept > 100, "{kept} inputs");
}

/// Imports text as a report; its state, and a column of its table.
fn told(report: &str, text: &str, column: &str) -> (ReportState, Vec<Value>) {
    let report = REPORTS.iter().find(|r| r.report == report).expect("a report");
    let (state, rows) = imported(report, text.as_bytes());
    let at = report.columns.iter().position(|c| c.name == column).expect("a column");
    (state, rows.into_iter().map(|row| row[at].clone()).collect())
}

/// Reports of 2020 and 2021 round the start to microseconds, and give sizes as bytes without saying so.
#[test]
fn sizes_without_a_unit_are_bytes() {
    let text = "Start(sec),Duration(nsec),CorrId,StcSMem,DymSMem,Bytes,Thru(MB/s),Strm,Name\n\
                0.355442,5120,57,,,1,0.195,7,[CUDA memcpy DtoH]\n\
                0.357341,1400294,63,49152,0,,,7,k\n";
    let (state, bytes) = told("cuda_gpu_trace", text, "bytes");
    assert_eq!((state.state, state.rows, state.time_step_ns), (State::Available, Some(2), Some(1000)), "{state:?}");
    assert_eq!(bytes, [Value::Int(1), Value::Null]);
    assert_eq!(told("cuda_gpu_trace", text, "bytes_step").1, [Value::Int(1), Value::Null]);
    assert_eq!(told("cuda_gpu_trace", text, "static_shared_bytes").1, [Value::Null, Value::Int(49_152)]);
    assert_eq!(told("cuda_gpu_trace", text, "start_ns").1, [Value::Int(355_442_000), Value::Int(357_341_000)]);
    let (state, _) = told("cuda_gpu_trace", &text.replace(",1,0.195", ",0.004,0.195"), "bytes");
    assert_eq!(state.state, State::Failed, "a fraction of a byte is in a unit that nobody named");
}

/// No rows are claimed of what was not read to its end, and none because a name holds the word.
#[test]
fn only_nsys_itself_says_that_a_report_was_skipped() {
    let state = |text: &str| told("cuda_api_sum", text, "name").0;
    let said = "SKIPPED: x.sqlite does not contain CUDA trace data.\n";
    assert_eq!(state(said).rows, Some(0));
    assert_eq!(state(&format!("# {said}\n")).rows, Some(0));
    assert_eq!(state("who,knows\n1,SKIPPED: nothing\n").state, State::Failed);
    assert_eq!(state(&format!("{said}{}", "1,2,3\n".repeat(100))).state, State::Failed);
    assert_eq!(state(&"\n".repeat(60)).rows, Some(0));
    assert_eq!(state(&format!("{}1,2,3\n", "\n".repeat(100))).state, State::Failed);
}

/// What a cell of a table is to hold.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
}

/// One field of a report, which one or more columns of its table come from.
#[derive(Clone, Debug)]
struct FieldOf {
    name: &'static str,
    unit: Option<&'static str>,
    cell: Cell,
    need: Need,
}

/// Units of time and the power of ten that each is of nanoseconds.
const TIMES: [(&str, u32); 9] =
    [("ns", 0), ("nsec", 0), ("us", 3), ("μs", 3), ("usec", 3), ("ms", 6), ("s", 9), ("sec", 9), ("msec", 6)];
/// Units of size: what one is worth, times a power of ten.
const SIZES: [(&str, i64, u32); 7] = [
    ("B", 1, 0),
    ("KB", 1, 3),
    ("MB", 1, 6),
    ("GB", 1, 9),
    ("KiB", 1 << 10, 0),
    ("MiB", 1 << 20, 0),
    ("GiB", 1 << 30, 0),
];
const RATES: [(&str, i64, u32); 4] = [("B/s", 1, 0), ("MB/s", 1, 6), ("MiB/s", 1 << 20, 0), ("GB/s", 1, 9)];
/// More than any moment or length can be.
const END: i64 = i64::MAX / 2;

/// The fields of a report in the order of its columns, each in a unit that `pick` chooses.
fn fields_of(report: &Report, mut pick: impl FnMut(usize) -> usize) -> Vec<FieldOf> {
    let mut fields: Vec<FieldOf> = Vec::new();
    for column in report.columns {
        if fields.iter().any(|f| f.name == column.headers[0]) {
            continue;
        }
        let unit = match column.cell {
            Cell::Moment | Cell::Duration | Cell::MeanDuration => Some(TIMES[pick(TIMES.len())].0),
            Cell::Size => Some(SIZES[pick(SIZES.len())].0),
            Cell::Rate => Some(RATES[pick(RATES.len())].0),
            Cell::Percent => Some("%"),
            _ => None,
        };
        fields.push(FieldOf { name: column.headers[0], unit, cell: column.cell, need: column.need });
    }
    fields
}

fn time_tens(field: &FieldOf) -> u32 {
    TIMES.iter().find(|(unit, _)| Some(*unit) == field.unit).expect("a unit of time").1
}

/// `value / 10^tens` as its digits, and `more` zeros behind them.
fn shifted(value: i64, tens: u32, more: usize) -> String {
    let (sign, digits) = (if value < 0 { "-" } else { "" }, value.unsigned_abs().to_string());
    let tens = tens as usize;
    let padded = format!("{digits:0>width$}", width = tens + 1);
    let (whole, fraction) = padded.split_at(padded.len() - tens);
    let fraction = format!("{}{}", fraction.trim_end_matches('0'), "0".repeat(more));
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// What is written for a number, and what it is in the table.
fn number(field: &FieldOf, digits: i64, decimals: u32) -> (String, Value) {
    match field.cell {
        Cell::Moment | Cell::Duration => {
            let value = if field.cell == Cell::Moment { digits } else { digits.abs() } % END;
            (shifted(value, time_tens(field), decimals as usize), Value::Int(value))
        }
        Cell::Size => {
            let (_, times, tens) = SIZES.iter().find(|(unit, ..)| Some(*unit) == field.unit).expect("a unit of size");
            let value = digits.abs() % (1 << 31);
            (shifted(value, *tens, 0), Value::Int(value * times))
        }
        Cell::MeanDuration | Cell::Rate | Cell::Percent => {
            let (times, tens) = match field.cell {
                Cell::MeanDuration => (1, time_tens(field)),
                Cell::Rate => {
                    let found = RATES.iter().find(|(unit, ..)| Some(*unit) == field.unit).expect("a unit of speed");
                    (found.1, found.2)
                }
                _ => (1, 0),
            };
            let digits = i128::from(digits.abs());
            let exact = format!("{}e{}", digits * i128::from(times), i64::from(tens) - i64::from(decimals));
            let value = exact.parse().expect("a number");
            (shifted(digits as i64, decimals, 0), Value::Float(value))
        }
        Cell::Count => (digits.abs().to_string(), Value::Int(digits.abs())),
        Cell::Id => (digits.to_string(), Value::Int(digits)),
        _ => unreachable!("{:?} is no number", field.cell),
    }
}

/// The cell of a field for two numbers and a text: as it is written, and its value.
fn cell(field: &FieldOf, digits: i64, decimals: u32, text: &str) -> (String, Value) {
    let absent = field.need != Need::Always && decimals == 0 && digits % 3 == 0;
    match field.cell {
        _ if absent => ((if digits % 2 == 0 { "" } else { "None" }).to_owned(), Value::Null),
        Cell::Text if field.need != Need::Always && (text.is_empty() || text == "None") => {
            (text.to_owned(), Value::Null)
        }
        Cell::Text => (text.to_owned(), Value::Text(text.to_owned())),
        Cell::Dimension(_) => {
            let numbers = [digits.abs() % 5000, digits.abs() % 11, i64::from(decimals)];
            let [x, y, z] = numbers;
            (format!("{x:>4} {y:>4} {z:>4}"), Value::Text(format!("{x},{y},{z}")))
        }
        _ => number(field, digits, decimals),
    }
}

/// What a column holds that is made of a field's value.
fn derived(column: &reports::Column, field: &FieldOf, written: &str, value: &Value) -> Value {
    match (column.cell, value) {
        (Cell::OperationKind | Cell::CopyDirection, _) => Value::Null,
        (_, Value::Null) => Value::Null,
        (Cell::Dimension(nth), Value::Text(text)) => {
            Value::Int(text.split(',').nth(nth).and_then(|n| n.parse().ok()).expect("three numbers"))
        }
        (Cell::Label, Value::Text(text)) => Value::Text(text.strip_prefix(':').unwrap_or(text).to_owned()),
        (Cell::SizeStep, _) => {
            let (_, times, tens) = SIZES.iter().find(|(unit, ..)| Some(*unit) == field.unit).expect("a unit of size");
            let decimals = written.split_once('.').map_or(0, |(_, after)| after.len() as u32);
            Value::Int((times * 10_i64.pow(*tens) / 10_i64.pow(decimals)).max(1))
        }
        (_, value) => value.clone(),
    }
}

/// One field of CSV.
fn quoted(text: &str, always: bool) -> String {
    if always || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// How a report is written.
#[derive(Clone, Debug)]
struct Style {
    always_quoted: bool,
    crlf: bool,
    bom: bool,
    preamble: bool,
    unknown: bool,
    /// Where the first field of the table stands.
    turned: usize,
    blank_lines: usize,
}

/// A report with its rows.
#[derive(Clone, Debug)]
struct Made {
    report: &'static Report,
    fields: Vec<FieldOf>,
    /// Of each row and field: as it is written, and its value.
    rows: Vec<Vec<(String, Value)>>,
    style: Style,
}

impl Made {
    /// The report as bytes, and where each of its rows ends.
    fn bytes(&self) -> (Vec<u8>, Vec<usize>) {
        let style = &self.style;
        let end = if style.crlf { "\r\n" } else { "\n" };
        let mut text = if style.bom { "\u{feff}".to_owned() } else { String::new() };
        if style.preamble {
            text += &format!("Processing [/tmp/a,b.sqlite] with [/opt/nsys/r.py]... {end}{end}");
        }
        let line = |cells: Vec<String>| {
            let mut cells: Vec<String> = cells.iter().map(|c| quoted(c, style.always_quoted)).collect();
            cells.rotate_left(style.turned % self.fields.len());
            if style.unknown {
                cells.insert(cells.len() / 2, "Some thing".to_owned());
            }
            cells.join(",") + end
        };
        let header = |f: &FieldOf| f.unit.map_or(f.name.to_owned(), |unit| format!("{} ({unit})", f.name));
        text += &line(self.fields.iter().map(header).collect());
        let mut ends = Vec::new();
        for row in &self.rows {
            text += &line(row.iter().map(|(written, _)| written.clone()).collect());
            ends.push(text.len());
        }
        text += &end.repeat(style.blank_lines);
        (text.into_bytes(), ends)
    }

    /// The rows of its table; of a kind and a direction, nothing.
    fn expected(&self) -> Vec<Vec<Value>> {
        let row = |row: &Vec<(String, Value)>| {
            let of = |column: &'static reports::Column| {
                let at = self.fields.iter().position(|f| f.name == column.headers[0]).expect("a field");
                derived(column, &self.fields[at], &row[at].0, &row[at].1)
            };
            self.report.columns.iter().map(of).collect()
        };
        self.rows.iter().map(row).collect()
    }
}

/// What an importer makes of a file: its state and its rows.
fn imported(report: &'static Report, bytes: &[u8]) -> (ReportState, Vec<Vec<Value>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("x_{}.csv", report.report));
    std::fs::write(&path, bytes).expect("a file");
    let imported = nsight::import(&[path], "run", folder.path()).expect("an import");
    let state = imported.reports.into_iter().find(|r| r.table == report.table).expect("a state");
    let table = folder.path().join(format!("{}.parquet", report.table));
    let rows = if table.exists() { rows_of(&table, report) } else { Vec::new() };
    assert_eq!(state.rows.unwrap_or(0), rows.len() as u64, "{state:?}");
    (state, rows)
}

fn rows_of(path: &Path, report: &Report) -> Vec<Vec<Value>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a table")).expect("Parquet");
    let batches: Vec<RecordBatch> = reader.build().expect("a reader").map(|b| b.expect("rows")).collect();
    let value = |column: &dyn Array, row: usize, cell: Cell| match (column.data_type(), cell) {
        (_, Cell::OperationKind | Cell::CopyDirection) => Value::Null,
        _ if column.is_null(row) => Value::Null,
        (DataType::Int64, _) => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        (DataType::Float64, _) => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        _ => Value::Text(column.as_string::<i32>().value(row).to_owned()),
    };
    let mut rows = Vec::new();
    for batch in &batches {
        let numbers = batch["row"].as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            assert_eq!(numbers.value(row), rows.len() as i64, "rows are numbered from 0");
            let cells = report.columns.iter().map(|c| value(batch[c.name].as_ref(), row, c.cell));
            rows.push(cells.collect());
        }
    }
    rows
}

fn style() -> impl Strategy<Value = Style> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (flags, 0..30_usize, 0..3_usize).prop_map(|((always_quoted, crlf, bom, preamble, unknown), turned, blank_lines)| {
        Style { always_quoted, crlf, bom, preamble, unknown, turned, blank_lines }
    })
}

/// Names as programs have them: of any characters but NUL, short and long.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[^\0]{0,40}",
        2 => "[ :,\"\n\r;'a\u{202e}é]{0,12}",
        1 => "None|:|::x|\\[CUDA memcpy HtoD\\]|=1\\+1|-1|1e5| x ",
        1 => "[a-z<>, ]{3000,4100}",
    ]
}

fn digits() -> impl Strategy<Value = i64> {
    prop_oneof![-9..1000_i64, -9_999_999_999_999_i64..9_999_999_999_999, -(END - 1)..END]
}

fn made() -> impl Strategy<Value = Made> {
    let row = (prop::collection::vec((digits(), 0..4_u32), 30), prop::collection::vec(name(), 6));
    let rows = prop::collection::vec(row, 0..6);
    (0..REPORTS.len(), prop::collection::vec(any::<prop::sample::Index>(), 30), rows, style()).prop_map(
        |(report, units, rows, style)| {
            let report = &REPORTS[report];
            let mut units = units.into_iter();
            let fields = fields_of(report, |of| units.next().map_or(0, |at| at.index(of)));
            let row = |(numbers, names): (Vec<(i64, u32)>, Vec<String>)| {
                let of = |(at, field): (usize, &FieldOf)| {
                    let (digits, decimals) = numbers[at % numbers.len()];
                    cell(field, digits, decimals, names[at % names.len()].as_str())
                };
                fields.iter().enumerate().map(of).collect()
            };
            let rows = rows.into_iter().map(row).collect();
            Made { report, fields, rows, style }
        },
    )
}

fn same(found: &[Vec<Value>], expected: &[Vec<Value>], report: &Report) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        for ((found, expected), column) in found.iter().zip(expected).zip(report.columns) {
            prop_assert_eq!(found, expected, "row {}, column {} of {}", number, column.name, report.table);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_in_any_unit_comes_back_exactly(made in made()) {
        let (bytes, _) = made.bytes();
        let (state, rows) = imported(made.report, &bytes);
        prop_assert_eq!(state.state, State::Available, "{:?}", state);
        let unread = state.notes.iter().filter(|n| n.contains("Some thing")).count();
        prop_assert_eq!(unread, usize::from(made.style.unknown));
        same(&rows, &made.expected(), made.report)?;
    }

    /// A file that was cut off says so, or has the rows that it still has, and says that its last line has no end.
    #[test]
    fn a_file_that_was_cut_off_has_no_other_rows(made in made(), at in any::<prop::sample::Index>()) {
        let (bytes, ends) = made.bytes();
        let at = at.index(bytes.len());
        let (state, rows) = imported(made.report, &bytes[..at]);
        let whole = ends.iter().filter(|end| **end <= at).count();
        let expected = made.expected();
        if state.state == State::Available {
            prop_assert!(rows.len() == whole || rows.len() == whole + 1, "{} rows of {whole}: {state:?}", rows.len());
            same(&rows[..whole], &expected[..whole], made.report)?;
            let open = state.notes.iter().any(|n| n.contains("no end"));
            prop_assert!(rows.len() == whole || open, "{:?}", state);
        } else {
            prop_assert_eq!(state.state, State::Failed);
            prop_assert!(rows.is_empty() && state.reason.is_some());
        }
    }

    /// One byte that is another: rows as they were but for that place, or a reason.
    #[test]
    fn a_byte_that_changed_is_a_state(made in made(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (mut bytes, _) = made.bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let report = REPORTS.iter().position(|r| std::ptr::eq(r, made.report)).expect("a report");
        let folder = tempfile::tempdir().expect("a folder");
        laws::import(folder.path(), &[&[report as u8], bytes.as_slice()].concat());
    }

    #[test]
    fn any_bytes_are_a_state(first in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let folder = tempfile::tempdir().expect("a folder");
        laws::import(folder.path(), &[&[first], bytes.as_slice()].concat());
    }

    #[test]
    fn any_cells_under_a_real_header_are_a_state(bytes in prop::collection::vec(any::<u8>(), 2..200)) {
        let folder = tempfile::tempdir().expect("a folder");
        laws::import(folder.path(), &laws::rows(&bytes).expect("a header"));
    }
}
