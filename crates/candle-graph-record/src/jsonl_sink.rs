//! A trace as one stream of JSON lines, written as it is recorded.
//! In: cuts. Out: the meta line (synced at open), then per cut its span starts, and its facts and span ends in order of
//! `seq`; at the end the terminal line. Left to neighbours: the lines themselves (`jsonl`).

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::jsonl::{FactRows, SpanRows, Unwritten, Writer};
use crate::sink::{Cut, Sink, sync_dir};
use crate::table::TableSpec;
use crate::tables;
use crate::tables::run::RunRecord;

pub(crate) struct JsonlSink {
    path: PathBuf,
    /// Locked while this sink lives.
    out: BufWriter<File>,
    lines: Writer,
    specs: Vec<TableSpec>,
    /// Spans whose start is written and whose end is not.
    started: HashSet<i64>,
}

impl JsonlSink {
    pub(crate) fn open(path: &Path, run: &RunRecord) -> Result<Self> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(Error::io("create directory", parent))?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| {
            if source.kind() == std::io::ErrorKind::AlreadyExists {
                let held = File::open(path).is_ok_and(|f| matches!(f.try_lock(), Err(TryLockError::WouldBlock)));
                let path = path.to_owned();
                if held { Error::Live { path } } else { Error::Exists { path } }
            } else {
                Error::Io { action: "create", path: path.to_owned(), source }
            }
        })?;
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => Error::Live { path: path.to_owned() },
            TryLockError::Error(source) => Error::Io { action: "lock", path: path.to_owned(), source },
        })?;
        let mut sink = Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            lines: Writer::default(),
            specs: tables::events(),
            started: HashSet::new(),
        };
        sink.flushed(|sink| sink.lines.meta(&mut sink.out, run))?;
        sink.sync()?;
        if let Some(parent) = path.parent() {
            sync_dir(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        Ok(sink)
    }

    /// Writes and hands over to the operating system, so that a killed process loses nothing of it.
    fn flushed(&mut self, lines: impl FnOnce(&mut Self) -> std::result::Result<(), Unwritten>) -> Result<()> {
        let written = lines(self).and_then(|()| self.out.flush().map_err(Unwritten::Io));
        written.map_err(|unwritten| {
            let source = match unwritten {
                Unwritten::Io(source) => source,
                // The recorder checks its facts, so what is left is a text too long for a line.
                Unwritten::Unheld(problem) => {
                    let problem = format!("an event {problem} of JSON lines; a trace directory holds it");
                    std::io::Error::new(std::io::ErrorKind::InvalidData, problem)
                }
            };
            Error::Io { action: "write", path: self.path.clone(), source }
        })
    }

    fn cut(&mut self, cut: &Cut) -> std::result::Result<(), Unwritten> {
        let mut spans = None;
        let mut facts = Vec::new();
        for (table, batch) in &cut.batches {
            if *table == "spans" {
                spans = Some(batch);
            } else if let Some(spec) = self.specs.iter().find(|s| s.name == *table) {
                facts.push(FactRows::new(spec, batch).map_err(Unwritten::Unheld)?);
            }
        }
        let open = SpanRows::new(&cut.open).map_err(Unwritten::Unheld)?;
        let recorded = spans.map(SpanRows::new).transpose().map_err(Unwritten::Unheld)?;
        // Parents have smaller ids than their children.
        let mut starts: Vec<(i64, &SpanRows, usize)> = Vec::new();
        for (rows, count) in recorded.iter().map(|r| (r, r.len())).chain([(&open, open.len())]) {
            starts.extend((0..count).map(|row| (rows.id(row), rows, row)));
        }
        starts.sort_unstable_by_key(|(id, _, row)| (*id, *row));
        for (id, rows, row) in starts {
            if self.started.insert(id) {
                self.lines.span_start(&mut self.out, rows, row, None)?;
            }
        }
        // (seq, table, row): what was recorded keeps its order across tables; `None` stands for a span's end.
        let mut order: Vec<(i64, Option<usize>, usize)> = Vec::new();
        for (index, rows) in facts.iter().enumerate() {
            order.extend((0..rows.len()).map(|row| (rows.seq(row), Some(index), row)));
        }
        if let Some(rows) = &recorded {
            // A span that never closed has no line for its end; its reader puts it last.
            order.extend((0..rows.len()).filter(|row| rows.is_closed(*row)).map(|row| (rows.seq(row), None, row)));
        }
        order.sort_unstable();
        for (_, table, row) in order {
            match (table, &recorded) {
                (Some(index), _) => self.lines.fact(&mut self.out, &facts[index], row)?,
                (None, Some(rows)) => {
                    self.lines.span_end(&mut self.out, rows, row)?;
                    self.started.remove(&rows.id(row));
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.out.get_ref().sync_all().map_err(Error::io("sync", self.path.clone()))
    }
}

impl Sink for JsonlSink {
    fn write(&mut self, cut: &Cut) -> Result<()> {
        self.flushed(|sink| sink.cut(cut))
    }

    fn finish(&mut self, run: &RunRecord) -> Result<PathBuf> {
        self.flushed(|sink| sink.lines.terminal(&mut sink.out, run))?;
        self.sync()?;
        Ok(self.path.clone())
    }
}
