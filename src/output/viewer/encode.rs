//! Rows as a block of the page: an Arrow IPC stream, compressed, as text that HTML can hold.
//! In: one batch of a query's rows. Out: base64 of gzip of an Arrow stream, the same bytes for the same rows. Left to
//! neighbours: which rows (`levels`), where the text goes (`page`).
//!
//! Three things make a block small and its decoding fast. Text is a dictionary. An identity such as `s12` is the number,
//! with the letter beside the column. A column of whole numbers that rises, as times do, is stored as differences.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Int32Type, Int64Type, Schema};
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, Result};
use crate::output::rows::text_value;

/// Differences are stored; the value before the first row.
pub(super) const BASE: &str = "cg.base";
/// The letter before each number.
pub(super) const PREFIX: &str = "cg.prefix";

/// The rows as text.
pub(super) fn encode(name: &str, rows: &RecordBatch) -> Result<String> {
    let wrong = |e: ArrowError| Error::Sql { problem: format!("block {name} of the page: {e}") };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, array) in rows.schema().fields().iter().zip(rows.columns()) {
        let (field, array) = column(field, array)?;
        fields.push(field);
        columns.push(array);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(wrong)?;
    let io = |e: std::io::Error| wrong(ArrowError::IoError(e.to_string(), e));
    let mut stream =
        StreamWriter::try_new(GzEncoder::new(Vec::new(), Compression::default()), &batch.schema()).map_err(wrong)?;
    stream.write(&batch).map_err(wrong)?;
    let mut zipped = stream.into_inner().map_err(wrong)?;
    zipped.flush().map_err(io)?;
    Ok(base64::engine::general_purpose::STANDARD.encode(zipped.finish().map_err(io)?))
}

/// A column in the form that the page takes.
fn column(field: &FieldRef, array: &ArrayRef) -> Result<(Field, ArrayRef)> {
    let plain = |array: ArrayRef| (Field::new(field.name(), array.data_type().clone(), true), array);
    let with = |(field, array): (Field, ArrayRef), key: &str, value: String| {
        let mut metadata = field.metadata().clone();
        metadata.insert(key.to_owned(), value);
        (field.with_metadata(metadata), array)
    };
    let whole = |array: ArrayRef| -> (Field, ArrayRef) {
        let values = array.as_primitive::<Int64Type>();
        if let Some((base, differences)) = differences(values) {
            return with(plain(Arc::new(differences)), BASE, base.to_string());
        }
        let narrow = |v: Option<i64>| v.map(i32::try_from).transpose();
        let narrowed: Result<Int32Array, _> = values.iter().map(narrow).collect::<Result<_, _>>();
        plain(narrowed.map_or(array.clone(), |narrow| Arc::new(narrow)))
    };
    match array.data_type() {
        DataType::Int64 => Ok(whole(array.clone())),
        DataType::Float64 | DataType::Boolean => Ok(plain(array.clone())),
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            match numbers(texts) {
                Some((letter, numbers)) => Ok(with(whole(Arc::new(numbers)), PREFIX, letter.to_string())),
                None => Ok(plain(Arc::new(dictionary(texts.iter())))),
            }
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            texts(array, |row| list(field.name(), &lists.value(row))).map(plain)
        }
        _ => texts(array, |row| text_value(array, row)).map(plain),
    }
}

/// Each value less the one before, where most do not fall and all differences are small, and the value before the first.
fn differences(values: &arrow::array::Int64Array) -> Option<(i64, Int32Array)> {
    if values.null_count() > 0 || values.len() < 2 {
        return None;
    }
    let rising = values.values().windows(2).filter(|w| w[1] >= w[0]).count();
    if rising * 10 < (values.len() - 1) * 9 {
        return None;
    }
    let base = values.value(0);
    let mut before = base;
    let differences: Option<Vec<i32>> = values
        .values()
        .iter()
        .map(|v| {
            let difference = v.checked_sub(before).and_then(|d| i32::try_from(d).ok());
            before = *v;
            difference
        })
        .collect();
    Some((base, differences?.into()))
}

/// Texts that are all one letter and a number, as `s12`; and written as the number would be.
fn numbers(texts: &StringArray) -> Option<(char, arrow::array::Int64Array)> {
    let letter = texts.iter().flatten().next()?.chars().next().filter(char::is_ascii_lowercase)?;
    let number = |text: &str| {
        let digits = text.strip_prefix(letter)?;
        let canonical = digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
        digits.parse::<i64>().ok().filter(|_| canonical)
    };
    let mut numbers = Vec::with_capacity(texts.len());
    for text in texts {
        numbers.push(match text {
            Some(text) => Some(number(text)?),
            None => None,
        });
    }
    Some((letter, numbers.into()))
}

/// Texts as a dictionary, in the order in which they first occur.
fn dictionary<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> DictionaryArray<Int32Type> {
    let mut known: HashMap<&str, i32> = HashMap::new();
    let mut values: Vec<&str> = Vec::new();
    let keys: Int32Array = texts
        .map(|text| {
            text.map(|text| {
                *known.entry(text).or_insert_with(|| {
                    values.push(text);
                    (values.len() - 1) as i32
                })
            })
        })
        .collect();
    DictionaryArray::new(keys, Arc::new(StringArray::from(values)))
}

/// Each row that is known as `of` writes it.
fn texts(array: &ArrayRef, of: impl Fn(usize) -> Result<String>) -> Result<ArrayRef> {
    let text = |row: usize| array.is_valid(row).then(|| of(row)).transpose();
    let texts: Vec<Option<String>> = (0..array.len()).map(text).collect::<Result<_>>()?;
    Ok(Arc::new(dictionary(texts.iter().map(Option::as_deref))))
}

/// A list as text: sizes as `8×64`, anything else with commas.
fn list(column: &str, items: &ArrayRef) -> Result<String> {
    if let Some(sizes) = items.as_primitive_opt::<Int64Type>() {
        let sizes: Vec<String> = sizes.iter().map(|size| size.map_or("?".to_owned(), |n| n.to_string())).collect();
        return Ok(match sizes.is_empty() && column == "shape" {
            true => "scalar".to_owned(),
            false => sizes.join("×"),
        });
    }
    let texts: Vec<String> = (0..items.len()).map(|row| text_value(items, row)).collect::<Result<_>>()?;
    Ok(texts.join(", "))
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn times_become_differences_and_others_do_not() {
        let (base, rest) = differences(&Int64Array::from(vec![5_000_000_000, 5_000_000_010, 5_000_000_010])).unwrap();
        assert_eq!((base, rest.values().to_vec()), (5_000_000_000, vec![0, 10, 0]));
        for values in [vec![3, 2, 1], vec![0, i64::from(i32::MAX) + 1], vec![i64::MIN, i64::MAX], vec![7]] {
            assert!(differences(&Int64Array::from(values.clone())).is_none(), "{values:?}");
        }
        assert!(differences(&Int64Array::from(vec![Some(1), None, Some(2)])).is_none());
    }

    #[test]
    fn only_identities_become_numbers() {
        let of = |texts: &[Option<&str>]| numbers(&StringArray::from(texts.to_vec()));
        let (letter, ids) = of(&[Some("s0"), None, Some("s12")]).unwrap();
        assert_eq!((letter, ids), ('s', Int64Array::from(vec![Some(0), None, Some(12)])));
        for texts in [["s1", "t1"], ["s1", "s01"], ["s1", "s"], ["s1", "s-1"], ["s1", "s99999999999999999999"]] {
            assert!(of(&texts.map(Some)).is_none(), "{texts:?}");
        }
        assert!(of(&[None]).is_none());
    }
}
