//! What the tests share: a directory, a session, facts with ordinary values, and tables read back.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::{
    DeviceIntervalRecord, DeviceMemoryRecord, MemoryCategory, MemoryRecord, OpRecord, ProfileRun, TensorRecord,
    TraceSession,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A temporary directory that is removed with the test.
pub fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A run whose every field is sound.
pub fn run() -> ProfileRun {
    ProfileRun::training("train", 3, "cpu")
}

/// A session that records into `<dir>/trace`.
pub fn session(dir: &tempfile::TempDir) -> TraceSession {
    TraceSession::open(dir.path().join("trace"), run()).expect("an open session")
}

/// An op with ordinary values; tests change the field they are about.
pub fn op<'a>() -> OpRecord<'a> {
    OpRecord {
        op_name: "matmul",
        inputs: &[],
        output: None,
        shape: &[2, 3],
        dtype: "f32",
        device: "cpu",
        duration_ns: 5,
        timestamp_ns: 0,
        output_dense_bytes: Some(24),
        input_dense_bytes: 48,
    }
}

/// A tensor with ordinary values.
pub fn tensor<'a>() -> TensorRecord<'a> {
    TensorRecord {
        tensor_id: "TensorId(7)",
        label: None,
        shape: &[4],
        dtype: "f32",
        device: "cpu",
        requires_grad: false,
        dense_bytes: Some(16),
        category: MemoryCategory::Activation,
    }
}

/// A storage with ordinary values.
pub fn memory<'a>() -> MemoryRecord<'a> {
    MemoryRecord {
        storage_id: "0x10",
        tensor_id: "TensorId(7)",
        device: "cpu",
        bytes: 16,
        dtype: "f32",
        category: MemoryCategory::Activation,
        timestamp_ns: None,
        op_name: Some("matmul"),
        shape: &[4],
    }
}

/// A device interval with ordinary values.
pub fn interval<'a>() -> DeviceIntervalRecord<'a> {
    DeviceIntervalRecord {
        device: "cuda:0",
        stream_id: "7",
        clock_id: "globaltimer",
        backend: "cuda",
        start_ns: 1_000,
        duration_ns: 20,
    }
}

/// A physical memory checkpoint with ordinary values.
pub fn checkpoint<'a>() -> DeviceMemoryRecord<'a> {
    DeviceMemoryRecord {
        device: "cuda:0",
        used_bytes: Some(100),
        free_bytes: None,
        reserved_bytes: Some(200),
        capacity_bytes: None,
        timestamp_ns: None,
    }
}

/// One table read back.
#[derive(Clone)]
pub struct Table(pub RecordBatch);

impl Table {
    /// Reads one Parquet file whole.
    pub fn read(path: &Path) -> Self {
        let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let schema = builder.schema().clone();
        let batches: Vec<RecordBatch> =
            builder.build().unwrap().collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self(arrow_select::concat::concat_batches(&schema, &batches).unwrap())
    }

    pub fn len(&self) -> usize {
        self.0.num_rows()
    }

    pub fn ints(&self, column: &str) -> Vec<Option<i64>> {
        self.0[column].as_primitive::<Int64Type>().iter().collect()
    }

    /// A column that must hold no NULL.
    pub fn all_ints(&self, column: &str) -> Vec<i64> {
        self.ints(column).into_iter().map(|v| v.unwrap_or_else(|| panic!("{column} holds a NULL"))).collect()
    }

    pub fn floats(&self, column: &str) -> Vec<Option<f64>> {
        self.0[column].as_primitive::<Float64Type>().iter().collect()
    }

    pub fn texts(&self, column: &str) -> Vec<Option<&str>> {
        self.0[column].as_string::<i32>().iter().collect()
    }

    pub fn bools(&self, column: &str) -> Vec<bool> {
        self.0[column].as_boolean().iter().map(|v| v.expect("a flag is never NULL")).collect()
    }

    pub fn int_lists(&self, column: &str) -> Vec<Vec<i64>> {
        let lists = self.0[column].as_list::<i32>();
        lists.iter().map(|l| l.expect("a list is never NULL").as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    pub fn text_lists(&self, column: &str) -> Vec<Vec<String>> {
        let lists = self.0[column].as_list::<i32>();
        lists
            .iter()
            .map(|l| l.expect("a list is never NULL").as_string::<i32>().iter().flatten().map(str::to_owned).collect())
            .collect()
    }

    /// The row that `column` names `text`.
    pub fn row_of(&self, column: &str, text: &str) -> usize {
        let found: Vec<usize> =
            self.texts(column).iter().enumerate().filter(|(_, t)| **t == Some(text)).map(|(i, _)| i).collect();
        assert_eq!(found.len(), 1, "exactly one row with {column} = {text:?}");
        found[0]
    }
}

/// An ended trace read back.
pub struct Trace {
    pub dir: PathBuf,
    pub run: RunRecord,
}

impl Trace {
    pub fn read(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref().to_owned();
        let batch = Table::read(&dir.join("run.parquet")).0;
        Self { run: RunRecord::from_batch(&batch).expect("a run record"), dir }
    }

    /// The table's file, if it was written.
    pub fn table(&self, name: &str) -> Option<Table> {
        let path = self.dir.join("tables").join(format!("{name}.parquet"));
        path.exists().then(|| Table::read(&path))
    }

    /// A table that must be there.
    pub fn some(&self, name: &str) -> Table {
        self.table(name).unwrap_or_else(|| panic!("no table {name} in {}", self.dir.display()))
    }

    /// The span of that name as a record; there must be one.
    pub fn span(&self, name: &str) -> Span {
        let spans = self.some("spans");
        let row = spans.row_of("name", name);
        Span {
            id: spans.all_ints("span_id")[row],
            parent: spans.ints("parent_id")[row],
            start_ns: spans.all_ints("start_ns")[row],
            duration_ns: spans.ints("duration_ns")[row],
            cpu_ns: spans.ints("cpu_ns")[row],
            thread_id: spans.all_ints("thread_id")[row],
        }
    }
}

/// One row of `spans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub id: i64,
    pub parent: Option<i64>,
    pub start_ns: i64,
    pub duration_ns: Option<i64>,
    pub cpu_ns: Option<i64>,
    pub thread_id: i64,
}

impl Span {
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.duration_ns.expect("a closed span")
    }
}

/// The part files of a trace's whole cuts, in order: what a reader takes.
pub fn parts(trace: &Path) -> Vec<String> {
    let parts = trace.join("parts");
    let Ok(last) = std::fs::read_to_string(parts.join("last_cut")) else { return Vec::new() };
    let last: u64 = last.parse().expect("the number of a cut");
    let of_a_whole_cut =
        |name: &String| name.split_once('-').is_some_and(|(cut, _)| cut.parse::<u64>().unwrap() <= last);
    names(&parts).into_iter().filter(|n| n.ends_with(".parquet")).filter(of_a_whole_cut).collect()
}

/// Names in a directory, sorted.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The refused call's message.
pub fn refusal<T>(result: candle_graph_record::Result<T>) -> String {
    match result {
        Ok(_) => panic!("the call was accepted"),
        Err(error) => error.to_string(),
    }
}

/// A number of repetitions that an environment variable may raise.
pub fn repetitions(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().map_or(default, |v| v.parse().expect("a number"))
}

/// Held by tests that load every core: together they would starve the writer threads that one of them is about.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}
