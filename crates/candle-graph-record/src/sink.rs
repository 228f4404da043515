//! Where cuts go: the one interface between the writer thread and a trace's form on disk.
//! In: cuts, then the final run record. Out: a trace. Left to neighbours: Parquet (`parquet_sink`), JSON lines
//! (`jsonl_sink`), and when cuts happen (`flush`).

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;

use crate::error::{Error, Result};
use crate::tables::run::RunRecord;

/// Everything recorded since the last cut, taken from all threads at one moment.
pub(crate) struct Cut {
    /// Non-empty batches by table name, each in order of `seq`; every table at most once.
    pub(crate) batches: Vec<(&'static str, RecordBatch)>,
    /// The spans open at that moment, in the schema of `spans`, durations NULL.
    pub(crate) open: RecordBatch,
}

/// A form of trace.
pub(crate) trait Sink: Send {
    /// Writes one cut so that a reader finds all of it or none of each part.
    fn write(&mut self, cut: &Cut) -> Result<()>;

    /// Ends the trace with its final record.
    fn finish(&mut self, run: &RunRecord) -> Result<PathBuf>;
}

/// Creates the trace's form for `path` and writes the run record, synced, before anything is recorded.
pub(crate) fn open(path: &Path, run: &RunRecord) -> Result<Box<dyn Sink>> {
    if path.extension().is_some_and(|e| e == "jsonl") {
        #[cfg(feature = "jsonl")]
        return Ok(Box::new(crate::jsonl_sink::JsonlSink::open(path, run)?));
        #[cfg(not(feature = "jsonl"))]
        return Err(Error::JsonlFeature { path: path.to_owned() });
    }
    Ok(Box::new(crate::parquet_sink::ParquetSink::open(path, run)?))
}

/// Syncs a directory, so that the names in it survive a crash of the machine.
pub(crate) fn sync_dir(path: &Path) -> Result<()> {
    // Windows has no such operation and needs none.
    if cfg!(unix) {
        std::fs::File::open(path).and_then(|d| d.sync_all()).map_err(Error::io("sync directory", path))?;
    }
    Ok(())
}
