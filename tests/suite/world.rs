//! What the tests share: the repository, directories of their own, the built program, traces as JSON lines.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candle_graph::load::{self, Options, Trace};
use serde_json::{Value, json};

/// The repository's root.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder of the repository, as `/`-separated paths from its root, sorted.
pub fn files_below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![repository().join(folder)];
    while let Some(dir) = folders.pop() {
        for entry in std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // Packages of others, where they were installed to build the viewer.
                if path.file_name().is_none_or(|name| name != "node_modules") {
                    folders.push(path);
                }
            } else {
                let parts = path.strip_prefix(repository()).expect("below the root").components();
                let parts: Vec<_> = parts.map(|c| c.as_os_str().to_str().expect("UTF-8")).collect();
                found.push(parts.join("/"));
            }
        }
    }
    found.sort();
    found
}

/// A file of tests/fixtures/.
pub fn fixture(name: &str) -> PathBuf {
    repository().join("tests/fixtures").join(name)
}

/// Opens a fixture. `x.jsonl` with a directory `x` beside it carries the Nsight reports in there.
pub fn trace(name: &str) -> Trace {
    let mut trace = load::open(&fixture(name), Options::default()).expect("a readable fixture");
    let reports = fixture(name.trim_end_matches(".jsonl"));
    if reports.is_dir() {
        load::nsight::attach(&mut trace, &reports).expect("readable reports");
    }
    trace
}

/// A trace as JSON lines: a sound one, of which each test changes one thing.
pub struct Lines(pub Vec<Value>);

impl Lines {
    /// Every plane declared and recorded, nothing wrong, nothing absent.
    pub fn sound() -> Self {
        let span = |id: &str, parent: Option<&str>, name: &str, start_ns: u64| {
            json!({"kind": "span_start", "id": id, "parent_id": parent, "name": name, "start_ns": start_ns,
                   "span_kind": "function", "measured": name == "update"})
        };
        let step = |id: &str, name: &str, start_ns: u64| {
            let mut line = span(id, Some("s1"), name, start_ns);
            line["step"] = json!(name);
            line
        };
        let end = |id: &str, duration_ns: u64| json!({"kind": "span_end", "id": id, "duration_ns": duration_ns});
        let memory = |action: &str, span: &str, timestamp_ns: u64| {
            json!({"kind": "memory", "timestamp_ns": timestamp_ns, "storage_id": "A", "tensor_id": "T2", "span_id": span,
                   "device": "cpu", "bytes": 16, "action": action, "shape": [4], "dtype": "f32", "category": "activation"})
        };
        Self(vec![
            json!({"kind": "meta", "schema": "candle-graph/trace/10", "run_id": "run-1", "correlation_id": "train/update-3",
            "entrypoint": "train", "phase": "train", "timestamp": "2026-01-02T03:04:05Z", "capture_step": 3,
            "warmup_steps": 2, "device": "cpu", "capture_contract": {
                "measurement_scope": "production_equivalent", "operations": "complete", "activations": "complete",
                "tensors": "complete", "gradients": "complete", "logical_memory": "complete",
                "physical_memory": "complete", "device_timing": "complete",
                "required_semantic_labels": ["forward", "backward"],
                "gpu_expected_semantic_labels": ["forward"], "cpu_only_semantic_labels": ["backward"],
                "gradient_contract": {
                    "expected": [
                        {"root": "p", "key": "w", "family": "trainable"},
                        {"root": "p", "key": "b", "family": "trainable"},
                        {"root": "p", "key": "frozen", "family": "frozen"},
                        {"root": "p", "key": "e1", "family": "expert"},
                        {"root": "p", "key": "e2", "family": "expert"},
                    ],
                    "families": [
                        {"family": "trainable", "expectation": "active", "min_present": 2},
                        {"family": "frozen", "expectation": "inactive", "min_present": 0},
                        {"family": "expert", "expectation": "data_conditional", "min_present": 2},
                    ]}}}),
            span("s0", None, "train", 0),
            span("s1", Some("s0"), "update", 100),
            step("s2", "forward", 200),
            memory("alloc", "s2", 210),
            json!({"kind": "op", "span_id": "s2", "op_name": "relu", "inputs": ["T1"], "output": "T2", "shape": [4],
                   "dtype": "f32", "device": "cpu", "duration_ns": 10, "timestamp_ns": 220, "input_dense_bytes": 16}),
            json!({"kind": "tensor", "span_id": "s2", "tensor_id": "T2", "label": "hidden", "shape": [4], "dtype": "f32",
                   "device": "cpu", "requires_grad": false, "dense_bytes": 16, "category": "activation"}),
            json!({"kind": "tensor_stats", "span_id": "s2", "label": "hidden", "shape": [4], "dtype": "f32", "elements": 4,
                   "non_finite": 0, "rms": 1.0, "abs_max": 1.0, "mean": 1.0}),
            json!({"kind": "edge", "edge_kind": "data", "from_tensor": "T1", "to_tensor": "T2"}),
            json!({"kind": "device_interval", "span_id": "s2", "device": "cuda:0", "stream_id": "7", "clock_id": "gpu",
                   "backend": "cuda", "start_ns": 5, "duration_ns": 20}),
            end("s2", 100),
            json!({"kind": "edge", "edge_kind": "call", "from_span": "s1", "to_span": "s2", "host_duration_ns": 100}),
            step("s3", "backward", 400),
            json!({"kind": "gradient", "event_id": "g1", "root": "p", "key": "w", "state": "present", "norm": 1.0}),
            json!({"kind": "gradient", "event_id": "g2", "root": "p", "key": "b", "state": "present", "norm": 2.0}),
            json!({"kind": "gradient", "event_id": "g3", "root": "p", "key": "frozen", "state": "missing"}),
            json!({"kind": "gradient", "event_id": "g4", "root": "p", "key": "e1", "state": "zero", "norm": 0.0}),
            json!({"kind": "gradient", "event_id": "g5", "root": "p", "key": "e2", "state": "missing"}),
            memory("free", "s3", 450),
            end("s3", 100),
            step("s4", "optimizer", 600),
            end("s4", 100),
            json!({"kind": "device_memory", "timestamp_ns": 700, "device": "cpu", "used_bytes": 1000}),
            end("s1", 800),
            end("s0", 1000),
            json!({"kind": "terminal", "outcome": "complete", "timestamp_ns": 1000}),
        ])
    }

    /// The only line of `kind` whose `field` is `value`.
    pub fn line(&mut self, kind: &str, field: &str, value: &str) -> &mut Value {
        let mut found: Vec<&mut Value> = self.0.iter_mut().filter(|l| l["kind"] == kind && l[field] == value).collect();
        assert_eq!(found.len(), 1, "lines of kind {kind} with {field} {value}");
        found.remove(0)
    }

    /// The meta line.
    pub fn meta(&mut self) -> &mut Value {
        &mut self.0[0]
    }

    /// The contract in the meta line.
    pub fn contract(&mut self) -> &mut Value {
        &mut self.0[0]["capture_contract"]
    }

    /// The last line.
    pub fn terminal(&mut self) -> &mut Value {
        self.0.last_mut().expect("a terminal line")
    }

    /// Removes every line of `kind`.
    pub fn without(&mut self, kind: &str) {
        self.0.retain(|l| l["kind"] != kind);
    }

    /// Removes the lines of `kind` whose `field` is `value`.
    pub fn drop(&mut self, kind: &str, field: &str, value: &str) {
        self.0.retain(|l| l["kind"] != kind || l[field] != value);
    }

    /// Adds a line before the last.
    pub fn add(&mut self, line: Value) {
        self.0.insert(self.0.len() - 1, line);
    }

    /// Adds a copy of a line, changed.
    pub fn again(&mut self, kind: &str, field: &str, value: &str, change: impl FnOnce(&mut Value)) {
        let mut copy = self.line(kind, field, value).clone();
        change(&mut copy);
        self.add(copy);
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        self.0.iter().map(|l| format!("{l}\n")).collect()
    }
}

/// A directory of a test's own, with a place for the program's temporary files.
pub struct World {
    dir: tempfile::TempDir,
}

/// What one run of the program gave.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON, of a run that succeeded.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("tmp")).expect("a directory");
        Self { dir }
    }

    /// A path in the directory.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// The program, with its temporary files here.
    pub fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candle-graph"));
        command.args(arguments).env("TMPDIR", self.path("tmp")).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program; whatever it does, it leaves no temporary file behind.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Ran {
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        let output = self.command(&arguments).output().expect("the built program runs");
        let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
        self.assert_clean();
        Ran { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// Nothing of the program's own is left, neither scratch directories nor half-written results.
    pub fn assert_clean(&self) {
        let names = |dir: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(dir).expect("a directory");
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(&self.path("tmp")), Vec::<String>::new(), "scratch files are gone");
        let left: Vec<String> =
            names(self.dir.path()).into_iter().filter(|n| n.starts_with(".candle-graph-")).collect();
        assert_eq!(left, Vec::<String>::new(), "half-written results are gone");
    }
}
