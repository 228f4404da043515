//! Rows of a result as JSON.
//! In: record batches. Out: JSON objects with every column, absent facts as null.
//! Left to neighbours: which rows.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Float64Type, Int64Type, UInt64Type};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::text::shorten;

/// A row: column name to value.
pub type Row = Map<String, Value>;

/// Every row of `batches`. Values are taken from the arrays, never through text, so a float keeps every bit.
///
/// # Errors
/// A column type that JSON has no form for.
pub fn json_rows(batches: &[RecordBatch]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        for index in 0..batch.num_rows() {
            let cell = |(field, array): (&FieldRef, &ArrayRef)| Ok((field.name().clone(), json_value(array, index)?));
            rows.push(schema.fields().iter().zip(batch.columns()).map(cell).collect::<Result<Row>>()?);
        }
    }
    Ok(rows)
}

/// One value: NULL and what JSON has no number for (NaN, infinities) are null.
fn json_value(array: &ArrayRef, row: usize) -> Result<Value> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::List(_) => list_value(&array.as_list::<i32>().value(row))?,
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let field = |(f, c): (&FieldRef, &ArrayRef)| Ok((f.name().clone(), json_value(c, row)?));
            Value::Object(fields.iter().zip(columns).map(field).collect::<Result<Row>>()?)
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0);
            let mut object = Row::new();
            for entry in 0..entries.len() {
                object.insert(text_value(keys, entry)?, json_value(entries.column(1), entry)?);
            }
            Value::Object(object)
        }
        // Everything else (other widths, decimals, times) as the engine prints it, numbers as numbers.
        other => {
            let text = text_value(array, row)?;
            match other.is_integer() || other.is_floating() {
                true => serde_json::from_str(&text).unwrap_or(Value::Null),
                false => text.into(),
            }
        }
    })
}

fn list_value(items: &ArrayRef) -> Result<Value> {
    Ok(Value::Array((0..items.len()).map(|i| json_value(items, i)).collect::<Result<_>>()?))
}

/// One value as the engine prints it.
pub(super) fn text_value(array: &ArrayRef, row: usize) -> Result<String> {
    let wrong = |e: ArrowError| Error::Sql { problem: format!("a value cannot be shown: {e}") };
    let options = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).map_err(wrong)?;
    formatter.value(row).try_to_string().map_err(wrong)
}

/// Shortens every string inside `value`.
pub fn shorten_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = shorten(text),
        Value::Array(items) => items.iter_mut().for_each(shorten_all),
        Value::Object(fields) => fields.values_mut().for_each(shorten_all),
        _ => {}
    }
}
