//! Rows of the event tables as fields of JSON lines.
//! In: batches of one table. Out: by a row's number, the fields of its line. Left to neighbours: a column's field
//! (`cells`), the line (`writer`).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch};

use super::cells::{Cell, Cells, Column, Unwritten, Values, json, of_type};
use crate::table::TableSpec;
use crate::tables::spans::SPANS;

/// The kind of a fact's line, by table.
fn kind(table: &str) -> Option<&'static str> {
    Some(match table {
        "ops" => "op",
        "tensors" => "tensor",
        "tensor_stats" => "tensor_stats",
        "gradients" => "gradient",
        "memory" => "memory",
        "device_memory" => "device_memory",
        "device_intervals" => "device_interval",
        "edges" => "edge",
        _ => return None,
    })
}

/// The counts of `tensor_stats`, which decide what its summaries mean.
struct StatCounts {
    elements: Int64Array,
    non_finite: Int64Array,
    parts: [Int64Array; 3],
}

impl StatCounts {
    fn of(batch: &RecordBatch) -> Result<Self, String> {
        let ints = |name| ints(batch, name);
        let parts = [ints("nan")?, ints("pos_inf")?, ints("neg_inf")?];
        Ok(Self { elements: ints("elements")?, non_finite: ints("non_finite")?, parts })
    }

    /// Whether the summaries over all elements mean anything to a reader.
    fn is_whole(&self, row: usize) -> bool {
        self.non_finite.value(row) == 0 && self.elements.value(row) > 0
    }

    fn check(&self, row: usize) -> Result<(), Unwritten> {
        let (elements, non_finite) = (self.elements.value(row), self.non_finite.value(row));
        let given: Vec<i64> = self.parts.iter().filter(|p| p.is_valid(row)).map(|p| p.value(row)).collect();
        let sum = given.iter().fold(0_i64, |sum, part| sum.saturating_add(*part));
        if non_finite <= elements && sum <= non_finite && (given.len() < 3 || sum == non_finite) {
            return Ok(());
        }
        Err(Unwritten::Unheld(format!("counts {sum} NaN and infinite, {non_finite} non-finite of {elements} elements")))
    }
}

/// A batch of an event table other than `spans`, ready to be written row by row.
pub struct FactRows {
    kind: &'static str,
    columns: Vec<Column>,
    seq: Int64Array,
    /// When each row happened on the session's clock, where its table says.
    pub(super) timestamps: Option<Int64Array>,
    counts: Option<StatCounts>,
}

fn ints(batch: &RecordBatch, name: &str) -> Result<Int64Array, String> {
    of_type(name, batch.column_by_name(name).and_then(|a| a.as_primitive_opt::<Int64Type>().cloned()))
}

impl FactRows {
    /// # Errors
    /// A batch that is not of the table, in words.
    pub fn new(table: &TableSpec, batch: &RecordBatch) -> Result<Self, String> {
        let kind = kind(table.name).ok_or_else(|| format!("table {} is no table of facts", table.name))?;
        // run_id and seq: the meta line and the order of lines say them.
        let columns = table.columns[2..].iter().map(|c| Column::new(table.name, c, batch)).collect::<Result<_, _>>()?;
        let has_timestamps = table.columns.iter().any(|c| c.name == "timestamp_ns");
        let timestamps = has_timestamps.then(|| ints(batch, "timestamp_ns")).transpose()?;
        let counts = if table.name == "tensor_stats" { Some(StatCounts::of(batch)?) } else { None };
        Ok(Self { kind, columns, seq: ints(batch, "seq")?, timestamps, counts })
    }

    /// Rows of the batch.
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.seq.is_empty()
    }

    /// The row's number.
    pub fn seq(&self, row: usize) -> i64 {
        self.seq.value(row)
    }

    /// The spans that the row names.
    pub fn spans(&self, row: usize) -> impl Iterator<Item = i64> {
        self.columns.iter().filter_map(move |column| match &column.values {
            Values::Id(ids) if ids.is_valid(row) => Some(ids.value(row)),
            _ => None,
        })
    }

    pub(super) fn write(&self, line: &mut Vec<u8>, cells: &mut Cells, row: usize) -> Result<(), Unwritten> {
        line.extend_from_slice(b"{\"kind\":\"");
        line.extend_from_slice(self.kind.as_bytes());
        line.push(b'"');
        if let Some(counts) = &self.counts {
            counts.check(row)?;
        }
        for column in &self.columns {
            match (&column.values, &self.counts) {
                (Values::Float(array), Some(counts)) if matches!(column.name, "rms" | "abs_max" | "mean") => {
                    // Existing readers want the three numbers; the counts beside them say whether they mean anything.
                    let value = array.is_valid(row).then(|| array.value(row));
                    line.extend_from_slice(&column.key);
                    json(line, &value.filter(|v| v.is_finite()).unwrap_or(0.0))?;
                    match value {
                        None if counts.is_whole(row) => cells.add(column.name, &Cell::Null)?,
                        Some(value) if !value.is_finite() || !counts.is_whole(row) => {
                            cells.add(column.name, &Cell::Value(value))?;
                        }
                        _ => {}
                    }
                }
                (Values::Text(array, _), _)
                    if self.kind == "memory" && column.name == "action" && array.value(row) == "end_unobserved" =>
                {
                    line.extend_from_slice(b",\"action\":\"free\",\"end_unobserved\":true");
                }
                _ => column.write(line, cells, row)?,
            }
        }
        Ok(())
    }
}

/// A batch of `spans`, ready to be written row by row: a line that opens each, and one that closes it.
pub struct SpanRows {
    pub(super) start: Vec<Column>,
    pub(super) end: Vec<Column>,
    seq: Int64Array,
    ids: Int64Array,
    parents: Int64Array,
    pub(super) start_ns: Int64Array,
    pub(super) duration_ns: Int64Array,
    pub(super) cpu_ns: Int64Array,
}

impl SpanRows {
    /// # Errors
    /// A batch that is not of `spans`, in words.
    pub fn new(batch: &RecordBatch) -> Result<Self, String> {
        let spec = SPANS.spec();
        let columns = |names: &[&str]| -> Result<Vec<Column>, String> {
            let columns = spec.columns.iter().filter(|c| names.contains(&c.name));
            columns.map(|c| Column::new("spans", c, batch)).collect()
        };
        let ints = |name| ints(batch, name);
        Ok(Self {
            start: columns(&["span_id", "parent_id", "name", "kind", "step", "measured", "thread_id", "start_ns"])?,
            end: columns(&["span_id", "duration_ns", "cpu_ns"])?,
            seq: ints("seq")?,
            ids: ints("span_id")?,
            parents: ints("parent_id")?,
            start_ns: ints("start_ns")?,
            duration_ns: ints("duration_ns")?,
            cpu_ns: ints("cpu_ns")?,
        })
    }

    /// Rows of the batch.
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.seq.is_empty()
    }

    /// The row's number.
    pub fn seq(&self, row: usize) -> i64 {
        self.seq.value(row)
    }

    /// The span.
    pub fn id(&self, row: usize) -> i64 {
        self.ids.value(row)
    }

    /// The span it was opened under.
    pub fn parent(&self, row: usize) -> Option<i64> {
        self.parents.is_valid(row).then(|| self.parents.value(row))
    }

    /// Whether the span ever closed.
    pub fn is_closed(&self, row: usize) -> bool {
        self.duration_ns.is_valid(row)
    }
}
