//! `candle-graph/trace/10`: a trace of any form as JSON lines, which read back to the same tables, cell for cell.
//! In: an opened trace. Out: meta, then everything in order of `seq` across tables, then terminal. Left to neighbours: the
//! lines themselves (the recorder's `jsonl`), the file (`write`).
//!
//! A span is a row of the moment it closed, and its start is a line of its own: just before the first line that needs it,
//! after its parent's. So spans are held, as columns; of every other table one batch at a time.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use candle_graph_record::jsonl::{FactRows, SpanRows, Unwritten, Writer};
use candle_graph_record::table::TableSpec;

use crate::error::{Error, Result};
use crate::load::{Scan, Trace};
use crate::tables;

/// Writes the trace to `out`, which messages call `name`.
///
/// # Errors
/// A table that cannot be read, a row that the form cannot hold (each with path and table), or a failure to write.
pub fn jsonl(trace: &Trace, out: &mut (dyn Write + Send), name: &Path) -> Result<()> {
    let mut export = Export {
        trace,
        out,
        name,
        lines: Writer::default(),
        spans: Spans::read(trace)?,
        next_span: 0,
        last_open: None,
    };
    let written = export.lines.meta(export.out, &trace.run);
    export.held(written, || ("run", "the run".to_owned()))?;
    let mut facts = Vec::new();
    for spec in tables::events().into_iter().filter(|spec| spec.name != "spans") {
        let mut table = Facts::new(trace, spec);
        if table.advance(trace)? {
            facts.push(table);
        }
    }
    loop {
        // The table whose next row comes first; each table keeps its own order whatever its numbers are.
        let first = facts.iter().enumerate().map(|(index, table)| (table.seq, index)).min();
        let span = export.spans.seq(export.next_span);
        match (span, first) {
            (None, None) => break,
            (Some(span), first) if first.is_none_or(|(seq, _)| span <= seq) => export.span()?,
            (_, Some((_, index))) => {
                export.fact(&facts[index])?;
                if !facts[index].advance(trace)? {
                    facts.remove(index);
                }
            }
            (Some(_), None) => {}
        }
    }
    let written = export.lines.terminal(export.out, &trace.run);
    export.held(written, || ("run", "the run".to_owned()))
}

struct Export<'a> {
    trace: &'a Trace,
    out: &'a mut (dyn Write + Send),
    name: &'a Path,
    lines: Writer,
    spans: Spans,
    /// The next row of `spans` whose moment has not come.
    next_span: usize,
    /// The number of the last row of a span that never closed.
    last_open: Option<i64>,
}

impl Export<'_> {
    /// A refusal as an error that names file or row.
    fn held(
        &self,
        written: std::result::Result<(), Unwritten>,
        row: impl FnOnce() -> (&'static str, String),
    ) -> Result<()> {
        written.map_err(|unwritten| match unwritten {
            Unwritten::Io(source) => Error::io("write", self.name)(source),
            Unwritten::Unheld(problem) => {
                let (table, row) = row();
                unheld(self.trace, table, &format!("{row} {problem}"))
            }
        })
    }

    /// Writes the next row of `spans`.
    fn span(&mut self) -> Result<()> {
        let row = self.next_span;
        self.next_span += 1;
        let seq = self.spans.seq(row).unwrap_or_default();
        let (batch, at) = self.spans.locate(row);
        // Their reader puts spans that never closed into their place by number alone.
        let out_of_place = match self.spans.batches[batch].is_closed(at) {
            true => self.last_open.is_some_and(|open| seq <= open),
            false => self.spans.highest[..row].last().is_some_and(|before| seq <= *before),
        };
        if out_of_place {
            let problem = format!("{} stands behind a larger number, and a span never closed", position(row, seq));
            return Err(unheld(self.trace, "spans", &problem));
        }
        self.start_row(row)?;
        if self.spans.batches[batch].is_closed(at) {
            let written = self.lines.span_end(self.out, &self.spans.batches[batch], at);
            self.held(written, || ("spans", position(row, seq)))
        } else {
            self.last_open = Some(seq);
            Ok(())
        }
    }

    /// Opens the span in `row` if it is not, and first the spans around it.
    fn start_row(&mut self, row: usize) -> Result<()> {
        let mut stack = Vec::new();
        let mut next = Some(row);
        while let Some(row) = next.take().filter(|row| !std::mem::replace(&mut self.spans.started[*row], true)) {
            let (batch, at) = self.spans.locate(row);
            next = self.spans.batches[batch].parent(at).and_then(|parent| self.spans.first.get(&parent).copied());
            stack.push(row);
        }
        while let Some(row) = stack.pop() {
            let (batch, at) = self.spans.locate(row);
            let spans = &self.spans.batches[batch];
            let seq = (!spans.is_closed(at)).then(|| spans.seq(at));
            let written = self.lines.span_start(self.out, spans, at, seq);
            self.held(written, || ("spans", position(row, spans.seq(at))))?;
        }
        Ok(())
    }

    fn fact(&mut self, facts: &Facts) -> Result<()> {
        let Some(rows) = &facts.rows else { return Ok(()) };
        for span in rows.spans(facts.at) {
            if let Some(row) = self.spans.first.get(&span).copied().filter(|row| !self.spans.started[*row]) {
                self.start_row(row)?;
            }
        }
        let written = self.lines.fact(self.out, rows, facts.at);
        self.held(written, || (facts.spec.name, position(facts.before + facts.at, facts.seq)))
    }
}

fn position(row: usize, seq: i64) -> String {
    format!("row {row} (seq {seq}):")
}

fn unheld(trace: &Trace, table: &str, problem: &str) -> Error {
    let problem = format!("{problem}; JSON lines cannot hold that, and `candle-graph sql` reads the table as it is");
    Error::Table { path: trace.requested.clone(), table: table.to_owned(), problem }
}

/// Refuses rows of another run: lines have one run, so they would change theirs.
fn one_run(trace: &Trace, table: &str, batch: &RecordBatch) -> Result<()> {
    let ids = batch.column_by_name("run_id").and_then(|column| column.as_string_opt::<i32>());
    match ids.map(|ids| ids.iter().find(|id| *id != Some(trace.run.run_id.as_str()))) {
        Some(None) => Ok(()),
        Some(Some(other)) => Err(unheld(trace, table, &format!("holds a row of run {:?}", other.unwrap_or_default()))),
        None => Err(unheld(trace, table, "has no run_id")),
    }
}

fn names(spec: &TableSpec) -> Vec<&'static str> {
    spec.columns.iter().map(|column| column.name).collect()
}

/// Every row of `spans`.
struct Spans {
    batches: Vec<SpanRows>,
    /// Rows before each batch.
    starts: Vec<usize>,
    /// The largest number up to each row.
    highest: Vec<i64>,
    /// The first row of each span.
    first: HashMap<i64, usize>,
    /// Whether the line that opens it is written.
    started: Vec<bool>,
}

impl Spans {
    fn read(trace: &Trace) -> Result<Self> {
        let spec = candle_graph_record::tables::spans::SPANS.spec();
        let mut spans = Self {
            batches: Vec::new(),
            starts: Vec::new(),
            highest: Vec::new(),
            first: HashMap::new(),
            started: Vec::new(),
        };
        for batch in trace.scan("spans", &names(&spec)) {
            let batch = batch?;
            one_run(trace, "spans", &batch)?;
            let rows = SpanRows::new(&batch).map_err(|problem| unheld(trace, "spans", &problem))?;
            spans.starts.push(spans.highest.len());
            for row in 0..rows.len() {
                spans.first.entry(rows.id(row)).or_insert(spans.highest.len());
                let before = spans.highest.last().copied().unwrap_or(i64::MIN);
                spans.highest.push(before.max(rows.seq(row)));
            }
            spans.batches.push(rows);
        }
        spans.started = vec![false; spans.highest.len()];
        Ok(spans)
    }

    /// The batch that holds `row`, and its place there.
    fn locate(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|start| *start <= row) - 1;
        (batch, row - self.starts[batch])
    }

    /// The number of a row, if there is such a row.
    fn seq(&self, row: usize) -> Option<i64> {
        (row < self.highest.len()).then(|| {
            let (batch, at) = self.locate(row);
            self.batches[batch].seq(at)
        })
    }
}

/// One table of facts, at its next row.
struct Facts {
    spec: TableSpec,
    scan: Scan,
    rows: Option<FactRows>,
    /// Rows of the batches before this one.
    before: usize,
    at: usize,
    seq: i64,
}

impl Facts {
    /// The table before its first row.
    fn new(trace: &Trace, spec: TableSpec) -> Self {
        let scan = trace.scan(spec.name, &names(&spec));
        Self { spec, scan, rows: None, before: 0, at: 0, seq: 0 }
    }

    /// Goes to the next row; `false` when there is none.
    fn advance(&mut self, trace: &Trace) -> Result<bool> {
        if self.rows.is_some() {
            self.at += 1;
        }
        while self.rows.as_ref().is_none_or(|rows| self.at >= rows.len()) {
            let Some(batch) = self.scan.next().transpose()? else { return Ok(false) };
            one_run(trace, self.spec.name, &batch)?;
            self.before += self.rows.as_ref().map_or(0, FactRows::len);
            self.rows =
                Some(FactRows::new(&self.spec, &batch).map_err(|problem| unheld(trace, self.spec.name, &problem))?);
            self.at = 0;
        }
        self.seq = self.rows.as_ref().map_or(0, |rows| rows.seq(self.at));
        Ok(true)
    }
}
