//! Views whose rows are kept: worked out once for a session, however many of its queries read them.
//! In: the plan of a view. Out: a table with its rows, in memory while they are few, else in a Parquet file of the
//! session. Left to neighbours: what a view says (`queries/views/`).

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::StreamExt;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{Scratch, parquet_table, plain};
use crate::error::{Error, Result, one_line};

/// Kept: the few steps that all questions about GPU work share. A view is otherwise worked out again by each query that
/// reads it, and a second time where a query reads it twice; of 1,000,000 calls in 50,000 ranges one pass takes seconds.
/// Each is worked out with the engine's memory to itself.
pub(super) const KEPT: &[&str] = &[
    "nvtx_ranges",
    "gpu_calls",
    "label_covers",
    "gpu_call_places",
    "gpu_call_causes",
    "range_calls",
    "label_operations",
    "label_attribution",
];

/// Rows that stay in memory; more go into a file, row group by row group.
const IN_MEMORY: usize = 64 * 1024;
/// Rows of a row group.
const GROUP_ROWS: usize = 128 * 1024;

/// Rows from which on one sort at a time is all that fits.
pub(super) const LARGE: u64 = 3_000_000;

/// Whether a statement, in lower case and without comments, reads a kept view.
pub(super) fn reads(statement: &str) -> bool {
    KEPT.iter().any(|name| statement.contains(name))
}

/// A context over the same tables in which a join holds its left side, as the views have it: statistics of what is joined
/// twice are guesses, those of a file are of its compressed bytes, and a wrong choice would hold millions of kernel names.
/// Where rows are very many (`large`) one part at a time is read: two sorts side by side leave each other no memory.
pub(super) fn as_written(context: &SessionContext, large: bool) -> SessionContext {
    let mut state = context.state();
    let options = state.config_mut().options_mut();
    options.optimizer.join_reordering = false;
    if large {
        options.execution.target_partitions = 1;
    }
    SessionContext::new_with_state(state)
}

/// The rows of `frame` as a table; `name` names its file.
pub(super) async fn keep(frame: DataFrame, name: &str, scratch: &Mutex<Scratch>) -> Result<Arc<dyn TableProvider>> {
    let schema = plain(&Arc::new(frame.schema().as_arrow().clone()));
    let sql = |e: datafusion::error::DataFusionError| Error::sql(&e);
    let mut stream = frame.execute_stream().await.map_err(sql)?;
    let mut held: Vec<RecordBatch> = Vec::new();
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(sql)?;
        rows += batch.num_rows();
        held.push(same(&batch, &schema)?);
        if rows > IN_MEMORY {
            let directory = scratch.lock().unwrap_or_else(|e| e.into_inner()).path()?;
            let path = directory.join(format!("{name}.parquet"));
            let mut file = Kept::create(&path, schema.clone())?;
            for batch in held {
                file.write(&batch)?;
            }
            while let Some(batch) = stream.next().await {
                file.write(&batch.map_err(sql)?)?;
            }
            file.close()?;
            return parquet_table(vec![path], schema, scratch);
        }
    }
    Ok(Arc::new(MemTable::try_new(schema, vec![held]).map_err(sql)?))
}

/// A batch under the schema of the whole: the engine may call a column nullable in one plan and not in another.
fn same(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
        .map_err(|e| Error::Sql { problem: one_line(&e.to_string()) })
}

/// The file of one view.
struct Kept<'a> {
    path: &'a Path,
    schema: SchemaRef,
    writer: ArrowWriter<File>,
}

impl<'a> Kept<'a> {
    fn create(path: &'a Path, schema: SchemaRef) -> Result<Self> {
        let properties = WriterProperties::builder()
            // Read back at once, a few times: quick to write matters more than small.
            .set_compression(Compression::UNCOMPRESSED)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let file = File::create(path).map_err(Error::io("create", path))?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(|e| Error::input(path, one_line(&e.to_string())))?;
        Ok(Self { path, schema, writer })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(&same(batch, &self.schema)?).map_err(|e| Error::input(self.path, one_line(&e.to_string())))
    }

    fn close(self) -> Result<()> {
        self.writer.close().map(drop).map_err(|e| Error::input(self.path, one_line(&e.to_string())))
    }
}
