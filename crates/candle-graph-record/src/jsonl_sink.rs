//! A trace as one stream of JSON lines, written as it is recorded.
//! In: cuts. Out: the meta line (synced at open), then per cut its span starts, its facts in order of `seq`, its span
//! ends; at the end the terminal line. Left to neighbours: the lines themselves (`jsonl`).

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::jsonl::{self, int_at};
use crate::sink::{Cut, Sink, sync_dir};
use crate::tables::run::RunRecord;

pub(crate) struct JsonlSink {
    path: PathBuf,
    /// Locked while this sink lives.
    out: BufWriter<File>,
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
        let mut sink = Self { path: path.to_owned(), out: BufWriter::new(file), started: HashSet::new() };
        sink.io(|out, _| jsonl::write_meta(out, run))?;
        sink.sync()?;
        if let Some(parent) = path.parent() {
            sync_dir(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        Ok(sink)
    }

    /// Writes and hands over to the operating system, so that a killed process loses nothing of it.
    fn io(&mut self, write: impl FnOnce(&mut BufWriter<File>, &mut HashSet<i64>) -> std::io::Result<()>) -> Result<()> {
        write(&mut self.out, &mut self.started)
            .and_then(|()| self.out.flush())
            .map_err(Error::io("write", self.path.clone()))
    }

    fn sync(&self) -> Result<()> {
        self.out.get_ref().sync_all().map_err(Error::io("sync", self.path.clone()))
    }
}

impl Sink for JsonlSink {
    fn write(&mut self, cut: &Cut) -> Result<()> {
        let closed = cut.batches.iter().find(|(table, _)| *table == "spans").map(|(_, batch)| batch);
        // Parents have smaller ids than their children.
        let mut starts: Vec<(i64, bool, usize)> = (0..cut.open.num_rows())
            .map(|row| (int_at(&cut.open, "span_id", row), false, row))
            .chain(closed.into_iter().flat_map(|b| (0..b.num_rows()).map(|row| (int_at(b, "span_id", row), true, row))))
            .collect();
        starts.sort_unstable();
        // (seq, table, row): facts keep the order of recording across tables.
        let mut facts: Vec<(i64, usize, usize)> = Vec::new();
        for (index, (table, batch)) in cut.batches.iter().enumerate() {
            if *table != "spans" {
                facts.extend((0..batch.num_rows()).map(|row| (int_at(batch, "seq", row), index, row)));
            }
        }
        facts.sort_unstable();
        self.io(|out, started| {
            for (id, is_closed, row) in starts {
                if started.insert(id) {
                    let batch = if is_closed { closed.unwrap_or(&cut.open) } else { &cut.open };
                    jsonl::write_span_start(out, batch, row)?;
                }
            }
            for (_, index, row) in facts {
                let (table, batch) = &cut.batches[index];
                jsonl::write_row(out, table, batch, row)?;
            }
            if let Some(closed) = closed {
                for row in 0..closed.num_rows() {
                    jsonl::write_span_end(out, closed, row)?;
                    started.remove(&int_at(closed, "span_id", row));
                }
            }
            Ok(())
        })
    }

    fn finish(&mut self, run: &RunRecord) -> Result<PathBuf> {
        self.io(|out, _| jsonl::write_terminal(out, run))?;
        self.sync()?;
        Ok(self.path.clone())
    }
}
