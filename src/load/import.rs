//! The lines of one JSON-lines trace becoming rows of the tables.
//! In: one line after the other. Out: rows, and the run record. Left to neighbours: where lines come from (`jsonl`),
//! their shape (`wire`), their files (`spill`).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use candle_graph_record::table::TABLES_SCHEMA;
use candle_graph_record::tables::device_intervals::{DEVICE_INTERVALS, DeviceInterval, DeviceIntervalRow};
use candle_graph_record::tables::device_memory::{DEVICE_MEMORY, DeviceMemory, DeviceMemoryRow};
use candle_graph_record::tables::edges::{EDGES, Edge, EdgeRow};
use candle_graph_record::tables::gradients::{GRADIENTS, Gradient, GradientRow};
use candle_graph_record::tables::memory::{MEMORY, Memory, MemoryRow};
use candle_graph_record::tables::ops::{OPS, Op, OpRow};
use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::tables::spans::{SPANS, Span, SpanRow};
use candle_graph_record::tables::tensor_stats::{TENSOR_STATS, TensorStat, TensorStatRow};
use candle_graph_record::tables::tensors::{TENSORS, Tensor, TensorRow};
use candle_graph_record::{
    CaptureContract, CoverageLevel, DTYPES, ExecutionStep, GradientContract, Host, MeasurementScope, Outcome,
    is_quantized,
};

use super::lives::Identities;
use super::numbers::Numbers;
use super::spill::Output;
use super::{Form, Trace, directory, wire};
use crate::error::{Error, Result};

/// A span whose end has not been read.
struct Pending {
    parent: Option<i64>,
    name: String,
    kind: &'static str,
    step: Option<&'static str>,
    measured: bool,
    thread_id: i64,
    start_ns: i64,
}

impl Pending {
    fn row(&self, span_id: i64, duration_ns: Option<i64>, cpu_ns: Option<i64>) -> SpanRow<'_> {
        SpanRow {
            span_id,
            parent_id: self.parent,
            name: &self.name,
            kind: self.kind,
            step: self.step,
            measured: self.measured,
            thread_id: self.thread_id,
            start_ns: self.start_ns,
            duration_ns,
            cpu_ns,
        }
    }
}

/// What a line can be refused for; the caller adds path and line number.
pub(super) type LineResult<T> = std::result::Result<T, Problem>;

pub(super) enum Problem {
    Line(String),
    Other(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem::Other(error)
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Problem::Line(text)
    }
}

/// One import in progress.
pub(super) struct Import {
    path: PathBuf,
    scratch: tempfile::TempDir,
    run: Option<RunRecord>,
    run_id: String,
    schema: String,
    ended: bool,
    numbers: Numbers,
    pending: BTreeMap<i64, Pending>,
    /// Spans whose start says that they never closed, by the number of their row: it waits for its place.
    unclosed: BTreeMap<i64, (i64, Pending)>,
    op_counts: HashMap<i64, i64>,
    storages: Identities,
    spans: Output<Span>,
    ops: Output<Op>,
    tensors: Output<Tensor>,
    tensor_stats: Output<TensorStat>,
    gradients: Output<Gradient>,
    memory: Output<Memory>,
    device_memory: Output<DeviceMemory>,
    device_intervals: Output<DeviceInterval>,
    edges: Output<Edge>,
}

impl Import {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let scratch = directory::scratch_dir()?;
        let dir = scratch.path();
        Ok(Self {
            path: path.to_owned(),
            run: None,
            run_id: String::new(),
            schema: String::new(),
            ended: false,
            numbers: Numbers::default(),
            pending: BTreeMap::new(),
            unclosed: BTreeMap::new(),
            op_counts: HashMap::new(),
            storages: Identities::default(),
            spans: Output::new(&SPANS, dir),
            ops: Output::new(&OPS, dir),
            tensors: Output::new(&TENSORS, dir),
            tensor_stats: Output::new(&TENSOR_STATS, dir),
            gradients: Output::new(&GRADIENTS, dir),
            memory: Output::new(&MEMORY, dir),
            device_memory: Output::new(&DEVICE_MEMORY, dir),
            device_intervals: Output::new(&DEVICE_INTERVALS, dir),
            edges: Output::new(&EDGES, dir),
            scratch,
        })
    }

    /// Whether the meta line has been read.
    pub(super) fn has_run(&self) -> bool {
        self.run.is_some()
    }

    /// Whether the terminal line has been read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Says that the capture was cut off, and why.
    pub(super) fn interrupt(&mut self, reason: String) {
        if let Some(run) = &mut self.run {
            run.outcome = Outcome::Interrupted;
            run.reason = Some(reason);
        }
    }

    /// The trace of all lines read.
    pub(super) fn finish(mut self) -> Result<Trace> {
        let Some(run) = self.run.take() else {
            return Err(Error::input(&self.path, "has no meta line"));
        };
        self.put_unclosed(None)?;
        for (id, span) in std::mem::take(&mut self.pending) {
            let seq = self.numbers.last();
            self.spans.push(&self.run_id, seq, &span.row(id, None, None))?;
        }
        let mut trace = Trace {
            requested: self.path,
            form: Form::JsonLines,
            schema: self.schema,
            run,
            files: BTreeMap::new(),
            rows: BTreeMap::new(),
            bundle: None,
            nsight: None,
            _scratch: None,
            _nsight: None,
        };
        let run_id = &self.run_id;
        self.spans.finish(run_id, &mut trace)?;
        self.ops.finish(run_id, &mut trace)?;
        self.tensors.finish(run_id, &mut trace)?;
        self.tensor_stats.finish(run_id, &mut trace)?;
        self.gradients.finish(run_id, &mut trace)?;
        self.memory.finish(run_id, &mut trace)?;
        self.device_memory.finish(run_id, &mut trace)?;
        self.device_intervals.finish(run_id, &mut trace)?;
        self.edges.finish(run_id, &mut trace)?;
        trace._scratch = Some(self.scratch);
        Ok(trace)
    }

    /// Puts spans that never closed into their table, up to the place of row `seq`.
    fn put_unclosed(&mut self, seq: Option<i64>) -> Result<()> {
        while let Some(first) = self.unclosed.first_entry()
            && seq.is_none_or(|seq| *first.key() < seq)
        {
            let (own, (id, span)) = first.remove_entry();
            self.spans.push(&self.run_id, own, &span.row(id, None, None))?;
        }
        Ok(())
    }

    fn put_span(&mut self, seq: i64, id: i64, span: &Pending, duration: Option<i64>, cpu: Option<i64>) -> Result<()> {
        self.put_unclosed(Some(seq))?;
        self.spans.push(&self.run_id, seq, &span.row(id, duration, cpu))
    }

    pub(super) fn line(&mut self, line: &[u8]) -> LineResult<()> {
        if line.is_empty() {
            return Err("is empty".to_owned().into());
        }
        let text = std::str::from_utf8(line).map_err(|e| format!("is not UTF-8 at byte {}", e.valid_up_to() + 1))?;
        let wire::Kind { kind } = json(text)?;
        if self.run.is_none() {
            if kind != "meta" {
                return Err(format!("has kind {kind:?}; a trace begins with a meta line").into());
            }
            return self.meta(json(text)?);
        }
        if self.ended {
            return Err("follows the terminal line".to_owned().into());
        }
        match kind.as_ref() {
            "span_start" => self.span_start(&json(text)?),
            "span_end" => self.span_end(&json(text)?),
            "op" => self.op(&json(text)?),
            "tensor" => self.tensor(&json(text)?),
            "tensor_stats" => self.tensor_stats(&json(text)?),
            "memory" => self.memory(&json(text)?),
            "device_memory" => self.device_memory(&json(text)?),
            "device_interval" => self.device_interval(&json(text)?),
            "gradient" => self.gradient(&json(text)?),
            "edge" => self.edge(&json(text)?),
            "terminal" => self.terminal(json(text)?),
            "meta" => Err("is a second meta line".to_owned().into()),
            other => Err(format!("has the unknown kind {other:?}").into()),
        }
    }

    fn meta(&mut self, meta: wire::Meta) -> LineResult<()> {
        if !wire::READ.contains(&meta.schema.as_str()) {
            return Err(format!("has schema {:?}; this version reads {}", meta.schema, wire::READ.join(" and ")).into());
        }
        if let Some(layout) = meta.tables.as_ref().filter(|layout| *layout != TABLES_SCHEMA) {
            return Err(format!("has rows of layout {layout:?}; this version reads {TABLES_SCHEMA:?}").into());
        }
        if meta.tables.is_some() {
            self.numbers = Numbers::exact();
        }
        self.run_id.clone_from(&meta.run_id);
        self.schema.clone_from(&meta.schema);
        self.run = Some(run_record(meta)?);
        Ok(())
    }

    fn span_start(&mut self, span: &wire::SpanStart<'_>) -> LineResult<()> {
        let id = self.numbers.span(&span.id)?;
        let parent = span.parent_id.as_ref().map(|p| self.numbers.span(p)).transpose()?;
        let pending = Pending {
            parent,
            name: span.name.clone().into_owned(),
            kind: span.span_kind.as_str(),
            step: span.step.map(ExecutionStep::as_str),
            measured: span.measured,
            thread_id: span.thread_id,
            start_ns: int("start_ns", span.start_ns)?,
        };
        if let Some(seq) = span.seq.filter(|_| self.numbers.is_exact()) {
            self.numbers.saw(seq);
            return match self.unclosed.insert(seq, (id, pending)) {
                None => Ok(()),
                Some(_) => Err(format!("has seq {seq}, as another span that never closed").into()),
            };
        }
        if let Some(first) = self.pending.insert(id, pending) {
            // The same id twice: both rows are kept, and the health check names them.
            let seq = self.numbers.row(None);
            self.put_span(seq, id, &first, None, None)?;
        }
        Ok(())
    }

    fn span_end(&mut self, end: &wire::SpanEnd<'_>) -> LineResult<()> {
        let id = self.numbers.span(&end.id)?;
        let Some(span) = self.pending.remove(&id) else {
            return Err(format!("ends span {:?}, which is not open", end.id).into());
        };
        let duration = int("duration_ns", end.duration_ns)?;
        let seq = self.numbers.row(end.seq);
        Ok(self.put_span(seq, id, &span, Some(duration), end.cpu_ns)?)
    }

    fn op(&mut self, op: &wire::Op<'_>) -> LineResult<()> {
        let span_id = self.numbers.span(&op.span_id)?;
        let count = self.op_counts.entry(span_id).or_insert(0);
        let op_index = match op.op_index {
            None => *count,
            Some(index) => int("op_index", index)?,
        };
        *count = op_index.saturating_add(1);
        let seq = self.numbers.row(op.seq);
        let row = OpRow {
            span_id,
            op_index,
            name: &op.op_name,
            inputs: &op.inputs,
            output: op.output.as_deref(),
            shape: &shape(&op.shape)?,
            dtype: dtype(&op.dtype)?,
            device: &op.device,
            timestamp_ns: int("timestamp_ns", op.timestamp_ns)?,
            duration_ns: int("duration_ns", op.duration_ns)?,
            cpu_ns: op.cpu_ns,
            thread_id: op.thread_id,
            output_dense_bytes: opt_int("output_dense_bytes", op.output_dense_bytes)?,
            input_dense_bytes: int("input_dense_bytes", op.input_dense_bytes)?,
        };
        Ok(self.ops.push(&self.run_id, seq, &row)?)
    }

    fn tensor(&mut self, tensor: &wire::Tensor<'_>) -> LineResult<()> {
        let storage_id = tensor.storage_id.as_deref().map(|id| match self.numbers.is_exact() {
            true => Cow::Borrowed(id),
            false => self.storages.current(&tensor.device, id),
        });
        let row = TensorRow {
            span_id: self.numbers.span(&tensor.span_id)?,
            tensor_id: &tensor.tensor_id,
            storage_id: storage_id.as_deref(),
            label: tensor.label.as_deref(),
            shape: &shape(&tensor.shape)?,
            dtype: dtype(&tensor.dtype)?,
            device: &tensor.device,
            requires_grad: tensor.requires_grad,
            dense_bytes: opt_int("dense_bytes", tensor.dense_bytes)?,
            category: tensor.category.as_str(),
        };
        let seq = self.numbers.row(tensor.seq);
        Ok(self.tensors.push(&self.run_id, seq, &row)?)
    }

    fn tensor_stats(&mut self, stats: &wire::TensorStats<'_>) -> LineResult<()> {
        if stats.non_finite > stats.elements {
            return Err(format!("counts {} non-finite of {} elements", stats.non_finite, stats.elements).into());
        }
        let exact = self.numbers.is_exact();
        let cells = stats.cells.as_ref().filter(|_| exact);
        let cell = |name: &str| wire::cell(cells, name);
        // Of a tensor with non-finite elements the form holds zeros, which mean nothing.
        let means = stats.non_finite == 0 && stats.elements > 0;
        let whole = |name, value| -> LineResult<Option<f64>> {
            Ok(cell(name)?.unwrap_or(wire::float(value)?.filter(|_| means)))
        };
        // Of a wholly finite tensor the finite part is the whole, where another recorder leaves it out.
        let finite = |name, given, of_all| -> LineResult<Option<f64>> {
            let of_all = if exact { None } else { wire::float(of_all)?.filter(|_| means) };
            Ok(cell(name)?.unwrap_or(wire::float(given)?.or(of_all)))
        };
        let parts = [stats.nan, stats.pos_inf, stats.neg_inf];
        let sum = parts.iter().flatten().fold(0_u64, |sum, part| sum.saturating_add(*part));
        if sum > stats.non_finite || (parts.iter().all(Option::is_some) && sum != stats.non_finite) {
            return Err(format!("counts {sum} NaN and infinite elements, but {} non-finite", stats.non_finite).into());
        }
        // Each is at most non_finite, which fits.
        let count = |given: Option<u64>| given.map(|n| n as i64).or((!exact && stats.non_finite == 0).then_some(0));
        let row = TensorStatRow {
            span_id: self.numbers.span(&stats.span_id)?,
            label: &stats.label,
            shape: &shape(&stats.shape)?,
            dtype: dtype(&stats.dtype)?,
            elements: int("elements", stats.elements)?,
            non_finite: int("non_finite", stats.non_finite)?,
            nan: count(stats.nan),
            pos_inf: count(stats.pos_inf),
            neg_inf: count(stats.neg_inf),
            rms: whole("rms", stats.rms)?,
            abs_max: whole("abs_max", stats.abs_max)?,
            mean: whole("mean", stats.mean)?,
            finite_rms: finite("finite_rms", stats.finite_rms, stats.rms)?,
            finite_abs_max: finite("finite_abs_max", stats.finite_abs_max, stats.abs_max)?,
            finite_mean: finite("finite_mean", stats.finite_mean, stats.mean)?,
        };
        let seq = self.numbers.row(stats.seq);
        Ok(self.tensor_stats.push(&self.run_id, seq, &row)?)
    }

    fn memory(&mut self, memory: &wire::Memory<'_>) -> LineResult<()> {
        let storage_id = match memory.action {
            // The recorder has told the storages of one address apart.
            _ if self.numbers.is_exact() => Cow::Borrowed(&*memory.storage_id),
            wire::Action::Alloc => self.storages.alloc(&memory.device, &memory.storage_id),
            wire::Action::Free => self.storages.end(&memory.device, &memory.storage_id),
        };
        let row = MemoryRow {
            timestamp_ns: int("timestamp_ns", memory.timestamp_ns)?,
            action: match memory.action {
                wire::Action::Alloc => "alloc",
                wire::Action::Free if memory.end_unobserved => "end_unobserved",
                wire::Action::Free => "free",
            },
            storage_id: &storage_id,
            tensor_id: &memory.tensor_id,
            span_id: self.numbers.span(&memory.span_id)?,
            op_name: memory.op_name.as_deref(),
            device: &memory.device,
            bytes: int("bytes", memory.bytes)?,
            shape: &shape(&memory.shape)?,
            dtype: dtype(&memory.dtype)?,
            category: memory.category.as_str(),
        };
        let seq = self.numbers.row(memory.seq);
        Ok(self.memory.push(&self.run_id, seq, &row)?)
    }

    fn device_memory(&mut self, memory: &wire::DeviceMemory<'_>) -> LineResult<()> {
        let row = DeviceMemoryRow {
            timestamp_ns: int("timestamp_ns", memory.timestamp_ns)?,
            device: &memory.device,
            used_bytes: opt_int("used_bytes", memory.used_bytes)?,
            free_bytes: opt_int("free_bytes", memory.free_bytes)?,
            reserved_bytes: opt_int("reserved_bytes", memory.reserved_bytes)?,
            capacity_bytes: opt_int("capacity_bytes", memory.capacity_bytes)?,
        };
        let seq = self.numbers.row(memory.seq);
        Ok(self.device_memory.push(&self.run_id, seq, &row)?)
    }

    fn device_interval(&mut self, interval: &wire::DeviceInterval<'_>) -> LineResult<()> {
        let row = DeviceIntervalRow {
            span_id: self.numbers.span(&interval.span_id)?,
            device: &interval.device,
            stream_id: &interval.stream_id,
            clock_id: &interval.clock_id,
            backend: &interval.backend,
            start_ns: int("start_ns", interval.start_ns)?,
            duration_ns: int("duration_ns", interval.duration_ns)?,
        };
        let seq = self.numbers.row(interval.seq);
        Ok(self.device_intervals.push(&self.run_id, seq, &row)?)
    }

    fn gradient(&mut self, gradient: &wire::Gradient<'_>) -> LineResult<()> {
        let cells = gradient.cells.as_ref().filter(|_| self.numbers.is_exact());
        let row = GradientRow {
            event_id: &gradient.event_id,
            root: &gradient.root,
            key: &gradient.key,
            state: gradient.state.as_str(),
            norm: wire::cell(cells, "norm")?.unwrap_or(wire::float(gradient.norm)?),
        };
        let seq = self.numbers.row(gradient.seq);
        Ok(self.gradients.push(&self.run_id, seq, &row)?)
    }

    fn edge(&mut self, edge: &wire::Edge<'_>) -> LineResult<()> {
        let row = EdgeRow {
            kind: if edge.edge_kind == wire::EdgeKind::Call { "call" } else { "data" },
            from_span: edge.from_span.as_ref().map(|id| self.numbers.span(id)).transpose()?,
            to_span: edge.to_span.as_ref().map(|id| self.numbers.span(id)).transpose()?,
            host_duration_ns: opt_int("host_duration_ns", edge.host_duration_ns)?,
            from_tensor: edge.from_tensor.as_deref(),
            to_tensor: edge.to_tensor.as_deref(),
        };
        let seq = self.numbers.row(edge.seq);
        Ok(self.edges.push(&self.run_id, seq, &row)?)
    }

    fn terminal(&mut self, terminal: wire::Terminal) -> LineResult<()> {
        let ended_ns = int("timestamp_ns", terminal.timestamp_ns)?;
        if let Some(run) = &mut self.run {
            run.outcome = match terminal.outcome {
                wire::TerminalOutcome::Complete => Outcome::Complete,
                wire::TerminalOutcome::Failed if terminal.interrupted => Outcome::Interrupted,
                wire::TerminalOutcome::Failed => Outcome::Failed,
            };
            // What is said only because other readers want it.
            let exact = self.numbers.is_exact();
            run.reason = terminal.reason.filter(|_| !(exact && terminal.no_reason));
            run.ended_ns = Some(ended_ns).filter(|_| !(exact && terminal.no_end));
            run.events_lost = terminal.events_lost;
        }
        self.ended = true;
        Ok(())
    }
}

/// What a meta line says of its run, whose end is not known yet.
pub(super) fn run_record(meta: wire::Meta) -> LineResult<RunRecord> {
    let c = meta.capture_contract;
    let level = |l: Option<CoverageLevel>| l.unwrap_or(CoverageLevel::None);
    Ok(RunRecord {
        run_id: meta.run_id,
        correlation_id: meta.correlation_id,
        entrypoint: meta.entrypoint,
        phase: meta.phase,
        started_at_us: match meta.started_at_us.filter(|_| meta.tables.is_some()) {
            Some(microseconds) => microseconds,
            None => utc_us(&meta.timestamp)?,
        },
        capture_step: int("capture_step", meta.capture_step)?,
        warmup_steps: int("warmup_steps", meta.warmup_steps)?,
        device: meta.device,
        measured_region_device_synchronized: meta.measured_region_device_synchronized,
        timing_mode: meta.timing_mode,
        contract: CaptureContract {
            measurement_scope: c.measurement_scope.unwrap_or(MeasurementScope::Unknown),
            operations: level(c.operations),
            activations: level(c.activations),
            tensors: level(c.tensors),
            gradients: level(c.gradients),
            gradient_contract: c.gradient_contract.map(gradient_contract),
            logical_memory: level(c.logical_memory),
            physical_memory: level(c.physical_memory),
            device_timing: level(c.device_timing),
            required_semantic_labels: c.required_semantic_labels,
            gpu_expected_semantic_labels: c.gpu_expected_semantic_labels,
            cpu_only_semantic_labels: c.cpu_only_semantic_labels,
        },
        identity: meta.comparison_identity,
        tags: meta.tags,
        outcome: Outcome::Interrupted,
        reason: None,
        ended_ns: None,
        events_lost: 0,
        candle_graph_version: meta.candle_graph_version,
        host: Host {
            os: meta.os,
            host_name: meta.host_name,
            cpu_model: meta.cpu_model,
            logical_cores: meta.logical_cores,
            toolchain: meta.toolchain,
            build_profile: meta.build_profile,
            candle_version: meta.candle_version,
            git_revision: meta.git_revision,
        },
    })
}

/// The contract with the digest it states, or else the one its entries give, as a trace directory holds it.
fn gradient_contract(wire: wire::Gradients) -> GradientContract {
    let stated = match wire.manifest_sha256 {
        Some(digest) => digest,
        None => GradientContract::unchecked(wire.expected.clone(), Vec::new(), None).digest(),
    };
    GradientContract::unchecked(wire.expected, wire.families, Some(stated))
}

fn json<'a, T: serde::Deserialize<'a>>(text: &'a str) -> LineResult<T> {
    serde_json::from_str(text).map_err(|e| format!("is no event of a trace ({e})").into())
}

fn int(field: &str, value: u64) -> LineResult<i64> {
    i64::try_from(value).map_err(|_| format!("has {field} {value}, more than an Int64 holds").into())
}

fn opt_int(field: &str, value: Option<u64>) -> LineResult<Option<i64>> {
    value.map(|v| int(field, v)).transpose()
}

fn shape(dims: &[u64]) -> LineResult<Vec<i64>> {
    dims.iter().map(|&d| int("shape", d)).collect()
}

fn dtype(dtype: &str) -> LineResult<&str> {
    if DTYPES.contains(&dtype) || is_quantized(dtype) {
        Ok(dtype)
    } else {
        Err(format!("has the unknown dtype {dtype:?}").into())
    }
}

/// RFC 3339 to microseconds since the epoch.
fn utc_us(text: &str) -> LineResult<i64> {
    candle_graph_record::jsonl::parse_utc(text)
        .ok_or_else(|| format!("has timestamp {text:?}, which is no RFC 3339 moment").into())
}
