//! Rows of a result as JSON, and bounds on text.
//! In: record batches, strings. Out: JSON objects with every column (absent facts as null), strings of bounded length.
//! Left to neighbours: which rows.

use arrow::array::RecordBatch;
use arrow::json::WriterBuilder;
use arrow::json::writer::JsonArray;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A row: column name to value.
pub type Row = Map<String, Value>;

/// Every row of `batches`.
///
/// # Errors
/// A column type that JSON has no form for.
pub fn json_rows(batches: &[RecordBatch]) -> Result<Vec<Row>> {
    let wrong = |e: &dyn std::fmt::Display| Error::Sql { problem: format!("rows as JSON: {e}") };
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    for batch in batches {
        writer.write(batch).map_err(|e| wrong(&e))?;
    }
    writer.finish().map_err(|e| wrong(&e))?;
    let bytes = writer.into_inner();
    if bytes.is_empty() { Ok(Vec::new()) } else { serde_json::from_slice(&bytes).map_err(|e| wrong(&e)) }
}

/// Longest text a bounded document shows whole, in bytes.
pub const MAX_TEXT: usize = 160;

/// `text`, or its two ends with its full length and a hash that tells it from others: never more than about 180 bytes.
pub fn shorten(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(64)];
    let tail = &text[text.ceil_char_boundary(text.len() - 48)..];
    let digest = Sha256::digest(text.as_bytes());
    let hash: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
    format!("{head}…[{} bytes, sha256 {hash}]…{tail}", text.len())
}

/// Shortens every string inside `value`.
pub fn shorten_all(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => *text = shorten(text),
        Value::Array(items) => items.iter_mut().for_each(shorten_all),
        Value::Object(fields) => fields.values_mut().for_each(shorten_all),
        _ => {}
    }
}

/// `text` for a terminal: control characters and direction overrides escaped, because a label is data.
pub fn printable(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.chars().any(hostile) {
        return text.to_owned();
    }
    text.chars().map(|c| if hostile(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}
