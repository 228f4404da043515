//! The lines of one trace, cell for cell.
//! In: the run record, and rows by number. Out: one line a call, or why the form cannot hold it. Left to neighbours: the
//! order of lines (`jsonl_sink`, exports), reading them (the analysing crate's `load`).
//!
//! A line says everything that its row holds. What existing readers know stands under the name they know; `cells` holds
//! the values for which they have no place, and `seq` the number of a row that does not follow the one before it.

use std::io::Write;

use arrow_array::Array;

use super::MAX_LINE;
use super::cells::{Cells, Column, Unwritten, json};
use super::rows::{FactRows, SpanRows};
use crate::tables::run::RunRecord;

/// Writes the lines of one trace. It numbers rows as their reader will, so that only a jump needs a word.
#[derive(Default)]
pub struct Writer {
    line: Vec<u8>,
    cells: Cells,
    next_seq: i64,
    latest_ns: i64,
}

impl Writer {
    /// The first line.
    ///
    /// # Errors
    /// A number that the form does not hold, or the file system's failure.
    pub fn meta(&mut self, out: &mut (impl Write + ?Sized), run: &RunRecord) -> Result<(), Unwritten> {
        for (name, value) in [("capture_step", run.capture_step), ("warmup_steps", run.warmup_steps)] {
            if value < 0 {
                return Err(Unwritten::Unheld(format!("column {name} holds {value}")));
            }
        }
        json(&mut self.line, &super::meta(run))?;
        self.end(out)
    }

    /// One fact.
    ///
    /// # Errors
    /// What the form does not hold (a negative time, an unknown word, a line over 64 MiB), or the file system's failure.
    pub fn fact(&mut self, out: &mut (impl Write + ?Sized), rows: &FactRows, row: usize) -> Result<(), Unwritten> {
        self.line.clear();
        self.cells.0.clear();
        rows.write(&mut self.line, &mut self.cells, row)?;
        self.cells.write(&mut self.line);
        self.number(rows.seq(row))?;
        if let Some(timestamps) = &rows.timestamps {
            self.latest_ns = self.latest_ns.max(timestamps.value(row));
        }
        self.line.push(b'}');
        self.end(out)
    }

    /// The line that opens a span. Of one that never closed no other line will come, so this one may carry its number.
    ///
    /// # Errors
    /// As [`Writer::fact`].
    pub fn span_start(
        &mut self,
        out: &mut (impl Write + ?Sized),
        spans: &SpanRows,
        row: usize,
        seq: Option<i64>,
    ) -> Result<(), Unwritten> {
        self.span(b"{\"kind\":\"span_start\"", &spans.start, row)?;
        if !spans.is_closed(row) && spans.cpu_ns.is_valid(row) {
            let cpu_ns = spans.cpu_ns.value(row);
            return Err(Unwritten::Unheld(format!("column cpu_ns holds {cpu_ns} of a span that never closed")));
        }
        if let Some(seq) = seq {
            self.line.extend_from_slice(b",\"seq\":");
            json(&mut self.line, &seq)?;
        }
        self.latest_ns = self.latest_ns.max(spans.start_ns.value(row));
        self.line.push(b'}');
        self.end(out)
    }

    /// The line that closes a span, which has closed.
    ///
    /// # Errors
    /// As [`Writer::fact`].
    pub fn span_end(&mut self, out: &mut (impl Write + ?Sized), spans: &SpanRows, row: usize) -> Result<(), Unwritten> {
        self.span(b"{\"kind\":\"span_end\"", &spans.end, row)?;
        self.number(spans.seq(row))?;
        let end_ns = spans.start_ns.value(row).saturating_add(spans.duration_ns.value(row));
        self.latest_ns = self.latest_ns.max(end_ns);
        self.line.push(b'}');
        self.end(out)
    }

    fn span(&mut self, head: &[u8], columns: &[Column], row: usize) -> Result<(), Unwritten> {
        self.line.clear();
        self.line.extend_from_slice(head);
        columns.iter().try_for_each(|column| column.write(&mut self.line, &mut self.cells, row))
    }

    /// The last line.
    ///
    /// # Errors
    /// A negative end, or the file system's failure.
    pub fn terminal(&mut self, out: &mut (impl Write + ?Sized), run: &RunRecord) -> Result<(), Unwritten> {
        if let Some(ended_ns) = run.ended_ns.filter(|ns| *ns < 0) {
            return Err(Unwritten::Unheld(format!("column ended_ns holds {ended_ns}")));
        }
        self.line.clear();
        json(&mut self.line, &super::terminal(run, self.latest_ns))?;
        self.end(out)
    }

    /// Says the row's number where it is not the next one.
    fn number(&mut self, seq: i64) -> Result<(), Unwritten> {
        if seq != self.next_seq {
            self.line.extend_from_slice(b",\"seq\":");
            json(&mut self.line, &seq)?;
        }
        self.next_seq = seq.saturating_add(1);
        Ok(())
    }

    fn end(&mut self, out: &mut (impl Write + ?Sized)) -> Result<(), Unwritten> {
        self.line.push(b'\n');
        if self.line.len() as u64 > MAX_LINE {
            return Err(Unwritten::Unheld(format!(
                "is a line of {} bytes, and {MAX_LINE} is the most",
                self.line.len()
            )));
        }
        let written = out.write_all(&self.line);
        self.line.clear();
        Ok(written?)
    }
}
