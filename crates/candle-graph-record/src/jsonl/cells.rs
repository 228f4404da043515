//! The cells of one column as fields of JSON lines.
//! In: a column's definition and a batch. Out: a field a row, or why the form has none for its value.
//! Left to neighbours: which fields make a line (`rows`).

use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use serde::Serialize;

use crate::names::{ExecutionStep, GradientState, MemoryCategory, SpanKind};
use crate::records::{DTYPES, is_quantized};
use crate::table::ColumnSpec;

/// Why a line was not written.
#[derive(Debug)]
pub enum Unwritten {
    /// The file system refused.
    Io(io::Error),
    /// The form has no way to say it; the text goes on after a name of the row.
    Unheld(String),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::Io(error)
    }
}

/// The field of a column; most have its name.
fn field<'a>(table: &str, column: &'a str) -> &'a str {
    match (table, column) {
        ("ops", "name") => "op_name",
        ("edges", "kind") => "edge_kind",
        ("spans", "span_id") => "id",
        ("spans", "kind") => "span_kind",
        _ => column,
    }
}

/// The closed vocabulary of a column of text: a reader refuses any other word.
fn vocabulary(table: &str, column: &str) -> Option<fn(&str) -> bool> {
    Some(match (table, column) {
        ("spans", "kind") => |word| SpanKind::parse(word).is_some(),
        ("spans", "step") => |word| ExecutionStep::parse(word).is_some(),
        ("gradients", "state") => |word| GradientState::parse(word).is_some(),
        ("edges", "kind") => |word| matches!(word, "call" | "data"),
        ("memory", "action") => |word| matches!(word, "alloc" | "free" | "end_unobserved"),
        (_, "category") => |word| MemoryCategory::parse(word).is_some(),
        (_, "dtype") => |word| DTYPES.contains(&word) || is_quantized(word),
        _ => return None,
    })
}

/// What a column holds, and how it is written.
pub(super) enum Values {
    /// Span ids: `s<number>`.
    Id(Int64Array),
    /// Numbers that may be negative.
    Int(Int64Array),
    /// Numbers that never are.
    Count(Int64Array),
    Text(StringArray, Option<fn(&str) -> bool>),
    Bool(BooleanArray),
    Float(Float64Array),
    Counts(OffsetBuffer<i32>, Int64Array),
    Texts(OffsetBuffer<i32>, StringArray),
}

pub(super) struct Column {
    pub(super) name: &'static str,
    /// `,"<field>":`
    pub(super) key: Vec<u8>,
    nulls: Option<NullBuffer>,
    nullable: bool,
    pub(super) values: Values,
}

pub(super) fn of_type<T>(name: &str, found: Option<T>) -> Result<T, String> {
    found.ok_or_else(|| format!("column {name} is missing or of another type"))
}

impl Column {
    pub(super) fn new(table: &str, spec: &ColumnSpec, batch: &RecordBatch) -> Result<Self, String> {
        let name = spec.name;
        let array = of_type(name, batch.column_by_name(name))?;
        let ints = |array: &dyn Array| of_type(name, array.as_primitive_opt::<Int64Type>().cloned());
        let texts = |array: &dyn Array| of_type(name, array.as_string_opt::<i32>().cloned());
        let values = match &spec.data_type {
            DataType::Int64 if matches!(name, "span_id" | "parent_id" | "from_span" | "to_span") => {
                Values::Id(ints(array)?)
            }
            DataType::Int64 if matches!(name, "cpu_ns" | "thread_id") => Values::Int(ints(array)?),
            DataType::Int64 => Values::Count(ints(array)?),
            DataType::Utf8 => Values::Text(texts(array)?, vocabulary(table, name)),
            DataType::Boolean => Values::Bool(of_type(name, array.as_boolean_opt().cloned())?),
            DataType::Float64 => Values::Float(of_type(name, array.as_primitive_opt::<Float64Type>().cloned())?),
            DataType::List(item) => {
                let list = of_type(name, array.as_list_opt::<i32>())?;
                if list.values().null_count() > 0 {
                    return Err(format!("column {name} holds a NULL in a list, which it never does"));
                }
                match item.data_type() {
                    DataType::Int64 => Values::Counts(list.offsets().clone(), ints(list.values())?),
                    _ => Values::Texts(list.offsets().clone(), texts(list.values())?),
                }
            }
            other => return Err(format!("column {name} has type {other}")),
        };
        let key = format!(",\"{}\":", field(table, name)).into_bytes();
        Ok(Self { name, key, nulls: array.nulls().cloned(), nullable: spec.nullable, values })
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    fn unheld(&self, value: impl std::fmt::Display) -> Unwritten {
        Unwritten::Unheld(format!("column {} holds {value}", self.name))
    }

    /// A count, which the form holds from 0 on.
    fn count(&self, value: i64) -> Result<i64, Unwritten> {
        if value < 0 { Err(self.unheld(value)) } else { Ok(value) }
    }

    /// Writes the column's field; nothing for NULL. A float that is no JSON number goes to `cells`.
    pub(super) fn write(&self, line: &mut Vec<u8>, cells: &mut Cells, row: usize) -> Result<(), Unwritten> {
        if self.is_null(row) {
            // A reader would take an absent list or number for an empty or a default one.
            return if self.nullable { Ok(()) } else { Err(self.unheld("NULL, which it never does")) };
        }
        let before = line.len();
        line.extend_from_slice(&self.key);
        match &self.values {
            Values::Id(array) => {
                line.extend_from_slice(b"\"s");
                json(line, &array.value(row))?;
                line.push(b'"');
            }
            Values::Int(array) => json(line, &array.value(row))?,
            Values::Count(array) => json(line, &self.count(array.value(row))?)?,
            Values::Text(array, vocabulary) => {
                let text = array.value(row);
                if vocabulary.is_some_and(|known| !known(text)) {
                    return Err(self.unheld(format_args!("the unknown word {text:?}")));
                }
                json(line, text)?;
            }
            Values::Bool(array) => json(line, &array.value(row))?,
            Values::Float(array) if array.value(row).is_finite() => json(line, &array.value(row))?,
            Values::Float(array) => {
                line.truncate(before);
                cells.add(self.name, &Cell::Value(array.value(row)))?;
            }
            Values::Counts(offsets, items) => {
                let items = &items.values()[offsets[row] as usize..offsets[row + 1] as usize];
                items.iter().try_for_each(|item| self.count(*item).map(drop))?;
                json(line, items)?;
            }
            Values::Texts(offsets, items) => {
                line.push(b'[');
                for item in offsets[row] as usize..offsets[row + 1] as usize {
                    if item > offsets[row] as usize {
                        line.push(b',');
                    }
                    json(line, items.value(item))?;
                }
                line.push(b']');
            }
        }
        Ok(())
    }
}

pub(super) fn json<T: Serialize + ?Sized>(line: &mut Vec<u8>, value: &T) -> Result<(), Unwritten> {
    serde_json::to_writer(line, value).map_err(|e| Unwritten::Io(e.into()))
}

/// A value of a nullable column of floats.
pub(super) enum Cell {
    Null,
    Value(f64),
}

/// The field `cells` of a line: the values of columns, by name, that its other fields cannot say.
#[derive(Default)]
pub(super) struct Cells(pub(super) Vec<u8>);

impl Cells {
    pub(super) fn add(&mut self, column: &str, cell: &Cell) -> Result<(), Unwritten> {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        json(&mut self.0, column)?;
        self.0.push(b':');
        match cell {
            Cell::Null => json(&mut self.0, &()),
            Cell::Value(value) if value.is_finite() => json(&mut self.0, value),
            Cell::Value(value) => json(&mut self.0, &non_number(*value)),
        }
    }

    pub(super) fn write(&mut self, line: &mut Vec<u8>) {
        if !self.0.is_empty() {
            line.extend_from_slice(b",\"cells\":");
            line.append(&mut self.0);
            line.push(b'}');
        }
    }
}

/// A float that JSON has no number for, as text: `inf`, `-inf`, `NaN`, or `NaN:` and its bits where they are unusual.
pub fn non_number(value: f64) -> String {
    if value.is_nan() && value.to_bits() != f64::NAN.to_bits() {
        return format!("NaN:{:016x}", value.to_bits());
    }
    value.to_string()
}

/// The float that [`non_number`] wrote.
pub fn parse_non_number(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        bits => {
            let bits = u64::from_str_radix(bits.strip_prefix("NaN:")?, 16).ok()?;
            Some(f64::from_bits(bits)).filter(|value| value.is_nan())
        }
    }
}
