//! Facts: what a program records inside its spans, checked at the call by the rules of every reader.
//! In: records. Out: rows, or an error that changes nothing but a count. Left to neighbours: the records (`records`),
//! identities of storages (`storage`), tensors (`candle`).

use std::sync::atomic::Ordering;

use crate::error::{Error, Result};
use crate::names::{GradientState, MemoryCategory};
use crate::records::{
    DeviceIntervalRecord, DeviceMemoryRecord, MemoryRecord, OpRecord, Shape, TensorRecord, TensorStats, dtype, int,
    non_empty, opt_int,
};
use crate::registry::Registry;
use crate::session::TraceSession;
use crate::span::SpanId;
use crate::storage::{Allocation, FreeProblem, Storage};
use crate::tables::device_intervals::DeviceIntervalRow;
use crate::tables::device_memory::DeviceMemoryRow;
use crate::tables::edges::EdgeRow;
use crate::tables::gradients::GradientRow;
use crate::tables::memory::MemoryRow;
use crate::tables::ops::OpRow;
use crate::tables::tensor_stats::TensorStatRow;
use crate::tables::tensors::TensorRow;

/// `timestamp`, checked to lie between the start of its span and now.
fn within(what: &'static str, timestamp: i64, span_start: i64, now: i64) -> Result<i64> {
    if timestamp > now {
        Err(Error::fact(what, "timestamp_ns", format!("is {timestamp}, after now ({now}) on the session's clock")))
    } else if timestamp < span_start {
        Err(Error::fact(what, "timestamp_ns", format!("is {timestamp}, before its span opened ({span_start})")))
    } else {
        Ok(timestamp)
    }
}

impl TraceSession {
    /// Records one executed operation in an open span.
    ///
    /// # Errors
    /// An empty name or device, an unknown dtype, a closed or foreign span, a time outside the span, a number beyond
    /// Int64.
    #[inline]
    pub fn record_op(&self, span: SpanId, op: OpRecord<'_>) -> Result<()> {
        self.record_op_with_cpu(span, op, None)
    }

    /// As [`TraceSession::record_op`], with the CPU time of the calling thread over the operation (see
    /// [`thread_cpu_ns`](crate::thread_cpu_ns)).
    pub fn record_op_with_cpu(&self, span: SpanId, op: OpRecord<'_>, cpu_ns: Option<u64>) -> Result<()> {
        const WHAT: &str = "record_op";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "op_name", op.op_name)?;
            non_empty(WHAT, "device", op.device)?;
            dtype(WHAT, op.dtype)?;
            let shape = Shape::new(WHAT, op.shape)?;
            let duration_ns = int(WHAT, "duration_ns", op.duration_ns)?;
            let output_dense_bytes = opt_int(WHAT, "output_dense_bytes", op.output_dense_bytes)?;
            let input_dense_bytes = int(WHAT, "input_dense_bytes", op.input_dense_bytes)?;
            let cpu_ns = opt_int(WHAT, "cpu_ns", cpu_ns)?;
            let given = int(WHAT, "timestamp_ns", op.timestamp_ns)?;
            // The clock before the span's state: see Registry::close.
            let now = shared.now();
            let timestamp_ns = match given {
                0 => now,
                // Before an index is taken: a refused op leaves no gap.
                given => within(WHAT, given, shared.open_span_only(WHAT, span)?, now)?,
            };
            let (_, op_index) = shared.span(WHAT, span, Registry::next_op)?;
            let inputs: usize = op.inputs.iter().map(String::len).sum();
            let text = op.op_name.len() + inputs + op.output.map_or(0, str::len) + 64;
            // Outside the closure, which then is two pointers that are passed on without a copy.
            let mut row = OpRow {
                span_id: span.id as i64,
                op_index,
                name: op.op_name,
                inputs: op.inputs,
                output: op.output,
                shape: shape.as_slice(),
                dtype: op.dtype,
                device: op.device,
                timestamp_ns,
                duration_ns,
                cpu_ns,
                thread_id: None,
                output_dense_bytes,
                input_dense_bytes,
            };
            shared.record(WHAT, text, |held, seq, thread| {
                row.thread_id = Some(thread);
                held.rows.ops.push(seq, &row);
            })
        })())
    }

    /// Records a tensor's metadata in an open span.
    ///
    /// # Errors
    /// An empty id, label or device, an unknown dtype, a closed or foreign span, a number beyond Int64.
    pub fn record_tensor(&self, span: SpanId, tensor: TensorRecord<'_>) -> Result<()> {
        self.record_tensor_of(span, tensor, None)
    }

    /// As [`TraceSession::record_tensor`], with the backend's name of its storage and the storage's size in bytes where
    /// that can be known (`None`: any storage of the same device under that name is taken for the same). A name that
    /// the backend reuses is told apart by recorded allocations and frees, or by another size or device: captures alone
    /// of equal storages at one address, one after the other, look like one storage.
    pub fn record_tensor_with_storage(
        &self,
        span: SpanId,
        tensor: TensorRecord<'_>,
        storage: &str,
        storage_bytes: Option<u64>,
    ) -> Result<()> {
        self.record_tensor_of(span, tensor, Some((storage, storage_bytes)))
    }

    fn record_tensor_of(
        &self,
        span: SpanId,
        tensor: TensorRecord<'_>,
        storage: Option<(&str, Option<u64>)>,
    ) -> Result<()> {
        const WHAT: &str = "record_tensor";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "tensor_id", tensor.tensor_id)?;
            non_empty(WHAT, "device", tensor.device)?;
            if let Some(label) = tensor.label {
                non_empty(WHAT, "label", label)?;
            }
            dtype(WHAT, tensor.dtype)?;
            let shape = Shape::new(WHAT, tensor.shape)?;
            let dense_bytes = opt_int(WHAT, "dense_bytes", tensor.dense_bytes)?;
            let now = shared.now();
            shared.open_span_only(WHAT, span)?;
            let birth = match storage {
                Some((name, bytes)) => {
                    non_empty(WHAT, "storage_id", name)?;
                    opt_int(WHAT, "storage bytes", bytes)?;
                    Some(shared.storages.capture(name, tensor.device, bytes))
                }
                None => None,
            };
            if let Some(replaced) = birth.as_ref().and_then(|b| b.replaced.as_ref()) {
                self.end_unobserved(span, replaced, now)?;
            }
            let text = tensor.tensor_id.len() * 2 + tensor.label.map_or(0, str::len) + 64;
            let row = TensorRow {
                span_id: span.id as i64,
                tensor_id: tensor.tensor_id,
                storage_id: birth.as_ref().map(|b| b.id.as_str()),
                label: tensor.label,
                shape: shape.as_slice(),
                dtype: tensor.dtype,
                device: tensor.device,
                requires_grad: tensor.requires_grad,
                dense_bytes,
                category: tensor.category.as_str(),
            };
            shared.record(WHAT, text, |held, seq, _| held.rows.tensors.push(seq, &row))
        })())
    }

    /// Records one scalar under a label; NaN and infinities are stored as what they are: counted, with no summary.
    ///
    /// # Errors
    /// An empty label, a closed or foreign span.
    pub fn record_scalar(&self, span: SpanId, label: impl AsRef<str>, value: f64) -> Result<()> {
        let finite = value.is_finite().then_some(value);
        let stats = TensorStats {
            elements: 1,
            nan: u64::from(value.is_nan()),
            pos_inf: u64::from(value == f64::INFINITY),
            neg_inf: u64::from(value == f64::NEG_INFINITY),
            rms: finite.map(f64::abs),
            abs_max: finite.map(f64::abs),
            mean: finite,
            finite_rms: finite.map(f64::abs),
            finite_abs_max: finite.map(f64::abs),
            finite_mean: finite,
        };
        self.record_stats(span, label.as_ref(), &[], "f64", &stats)
    }

    /// Records a summary of a tensor's values that the program computed itself.
    ///
    /// # Errors
    /// An empty label, an unknown dtype, a closed or foreign span, a number beyond Int64, or a summary that does not
    /// agree with its counts.
    pub fn record_stats(
        &self,
        span: SpanId,
        label: &str,
        shape: &[usize],
        dtype_name: &str,
        stats: &TensorStats,
    ) -> Result<()> {
        const WHAT: &str = "record_tensor_stats";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "label", label)?;
            dtype(WHAT, dtype_name)?;
            let shape = Shape::new(WHAT, shape)?;
            let non_finite = stats.nan.saturating_add(stats.pos_inf).saturating_add(stats.neg_inf);
            if non_finite > stats.elements {
                return Err(Error::fact(WHAT, "non_finite", format!("is {non_finite} of {} elements", stats.elements)));
            }
            let whole = [stats.rms, stats.abs_max, stats.mean];
            if non_finite > 0 && whole.iter().any(Option::is_some) {
                return Err(Error::fact(WHAT, "rms, abs_max, mean", "are given although elements are not finite"));
            }
            let finite = [stats.finite_rms, stats.finite_abs_max, stats.finite_mean];
            if whole.iter().chain(&finite).flatten().any(|v| !v.is_finite()) {
                return Err(Error::fact(WHAT, "summary", "holds a value that is not finite; leave it out"));
            }
            let count = |field, value| int(WHAT, field, value);
            let row = TensorStatRow {
                span_id: span.id as i64,
                label,
                shape: shape.as_slice(),
                dtype: dtype_name,
                elements: count("elements", stats.elements)?,
                non_finite: count("non_finite", non_finite)?,
                nan: Some(count("nan", stats.nan)?),
                pos_inf: Some(count("pos_inf", stats.pos_inf)?),
                neg_inf: Some(count("neg_inf", stats.neg_inf)?),
                rms: stats.rms,
                abs_max: stats.abs_max,
                mean: stats.mean,
                finite_rms: stats.finite_rms,
                finite_abs_max: stats.finite_abs_max,
                finite_mean: stats.finite_mean,
            };
            shared.open_span_only(WHAT, span)?;
            shared.record(WHAT, label.len() + 64, |held, seq, _| held.rows.tensor_stats.push(seq, &row))
        })())
    }

    /// Records that a storage came to life. At an address that still holds a live storage the old one has ended
    /// unobserved, and the trace says so.
    ///
    /// # Errors
    /// An empty id or device, an unknown dtype, a closed or foreign span, a time outside the span, a number beyond
    /// Int64.
    pub fn record_memory_alloc(&self, span: SpanId, memory: MemoryRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_memory_alloc";
        self.shared.counted((|| {
            let (shape, timestamp_ns, now) = self.check_memory(WHAT, span, &memory)?;
            let allocation = Allocation {
                tensor_id: memory.tensor_id.to_owned(),
                dtype: memory.dtype.to_owned(),
                category: memory.category.as_str(),
                shape: shape.as_slice().to_vec(),
                op_name: memory.op_name.map(str::to_owned),
                timestamp_ns,
            };
            let birth = self.shared.storages.allocate(memory.storage_id, memory.device, memory.bytes, allocation);
            if let Some(replaced) = &birth.replaced {
                self.end_unobserved(span, replaced, timestamp_ns.min(now))?;
            }
            self.push_memory(WHAT, span, "alloc", &birth.id, &memory, shape.as_slice(), timestamp_ns)
        })())
    }

    /// Records that a storage ended.
    ///
    /// # Errors
    /// As [`TraceSession::record_memory_alloc`], and a storage whose allocation was not recorded, or was of another
    /// size or on another device.
    pub fn record_memory_free(&self, span: SpanId, memory: MemoryRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_memory_free";
        self.shared.counted((|| {
            let (shape, timestamp_ns, _) = self.check_memory(WHAT, span, &memory)?;
            let freed = self.shared.storages.free(memory.storage_id, memory.device, memory.bytes);
            let id = freed.map_err(|problem| match problem {
                FreeProblem::Unpaired => Error::fact(
                    WHAT,
                    "storage_id",
                    format!("{:?} has no recorded allocation that is still live", memory.storage_id),
                ),
                FreeProblem::OtherSize(bytes) => {
                    Error::fact(WHAT, "bytes", format!("is {}, but {bytes} were allocated", memory.bytes))
                }
                FreeProblem::OtherDevice(device) => {
                    Error::fact(WHAT, "device", format!("is {:?}, but it was allocated on {device:?}", memory.device))
                }
            })?;
            self.push_memory(WHAT, span, "free", &id, &memory, shape.as_slice(), timestamp_ns)
        })())
    }

    fn check_memory<'a>(
        &self,
        what: &'static str,
        span: SpanId,
        memory: &MemoryRecord<'a>,
    ) -> Result<(Shape<'a>, i64, i64)> {
        non_empty(what, "storage_id", memory.storage_id)?;
        non_empty(what, "tensor_id", memory.tensor_id)?;
        non_empty(what, "device", memory.device)?;
        dtype(what, memory.dtype)?;
        int(what, "bytes", memory.bytes)?;
        let shape = Shape::new(what, memory.shape)?;
        let given = opt_int(what, "timestamp_ns", memory.timestamp_ns)?;
        let now = self.shared.now();
        let span_start = self.shared.open_span_only(what, span)?;
        let timestamp_ns = match given {
            None => now,
            Some(given) => within(what, given, span_start, now)?,
        };
        Ok((shape, timestamp_ns, now))
    }

    #[allow(clippy::too_many_arguments)] // One private row writer, called from three places.
    fn push_memory(
        &self,
        what: &'static str,
        span: SpanId,
        action: &'static str,
        storage_id: &str,
        memory: &MemoryRecord<'_>,
        shape: &[i64],
        timestamp_ns: i64,
    ) -> Result<()> {
        let text = storage_id.len() + memory.tensor_id.len() + 64;
        let row = MemoryRow {
            timestamp_ns,
            action,
            storage_id,
            tensor_id: memory.tensor_id,
            span_id: span.id as i64,
            op_name: memory.op_name,
            device: memory.device,
            // check_memory and the allocation have shown that it fits.
            bytes: memory.bytes as i64,
            shape,
            dtype: memory.dtype,
            category: memory.category.as_str(),
        };
        self.shared.record(what, text, |held, seq, _| held.rows.memory.push(seq, &row))
    }

    fn end_unobserved(&self, span: SpanId, storage: &Storage, timestamp_ns: i64) -> Result<()> {
        let Some(allocation) = &storage.allocated else { return Ok(()) };
        let memory = MemoryRecord {
            storage_id: &storage.id,
            tensor_id: &allocation.tensor_id,
            device: &storage.device,
            // An allocated storage has a size.
            bytes: storage.bytes.unwrap_or(0),
            dtype: &allocation.dtype,
            category: MemoryCategory::parse(allocation.category).unwrap_or(MemoryCategory::Other),
            timestamp_ns: None,
            op_name: allocation.op_name.as_deref(),
            shape: &[],
        };
        const WHAT: &str = "record_memory_alloc";
        // No storage ends before it began, whatever time the next allocation claims.
        let timestamp_ns = timestamp_ns.max(allocation.timestamp_ns);
        self.push_memory(WHAT, span, "end_unobserved", &storage.id, &memory, &allocation.shape, timestamp_ns)
    }

    /// Records a checkpoint of a device's or allocator's physical memory.
    ///
    /// # Errors
    /// An empty device, none of the four sizes, a time in the future, a number beyond Int64.
    pub fn record_device_memory(&self, memory: DeviceMemoryRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_device_memory";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "device", memory.device)?;
            let now = shared.now();
            let row = DeviceMemoryRow {
                timestamp_ns: match opt_int(WHAT, "timestamp_ns", memory.timestamp_ns)? {
                    None => now,
                    Some(given) => within(WHAT, given, 0, now)?,
                },
                device: memory.device,
                used_bytes: opt_int(WHAT, "used_bytes", memory.used_bytes)?,
                free_bytes: opt_int(WHAT, "free_bytes", memory.free_bytes)?,
                reserved_bytes: opt_int(WHAT, "reserved_bytes", memory.reserved_bytes)?,
                capacity_bytes: opt_int(WHAT, "capacity_bytes", memory.capacity_bytes)?,
            };
            let sizes = [row.used_bytes, row.free_bytes, row.reserved_bytes, row.capacity_bytes];
            if sizes.iter().all(Option::is_none) {
                return Err(Error::fact(WHAT, "used, free, reserved, capacity", "are all absent; give at least one"));
            }
            shared.record(WHAT, 32, |held, seq, _| held.rows.device_memory.push(seq, &row))
        })())
    }

    /// Records a checkpoint of this process's own memory under the device name `process`, where the platform tells it.
    /// Returns whether it does.
    ///
    /// # Errors
    /// A session that has ended or is poisoned.
    pub fn record_process_memory(&self) -> Result<bool> {
        let Some(memory) = crate::clock::process_memory() else { return Ok(false) };
        self.record_device_memory(DeviceMemoryRecord {
            device: "process",
            used_bytes: Some(memory.resident_bytes),
            free_bytes: None,
            reserved_bytes: Some(memory.virtual_bytes),
            capacity_bytes: None,
            timestamp_ns: None,
        })?;
        Ok(true)
    }

    /// Records one interval of device work that an open span launched, on the device's own clock.
    ///
    /// # Errors
    /// An empty text, a length of 0, a closed or foreign span, a number beyond Int64.
    pub fn record_device_interval(&self, span: SpanId, interval: DeviceIntervalRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_device_interval";
        let shared = &*self.shared;
        shared.counted((|| {
            for (field, text) in [
                ("device", interval.device),
                ("stream_id", interval.stream_id),
                ("clock_id", interval.clock_id),
                ("backend", interval.backend),
            ] {
                non_empty(WHAT, field, text)?;
            }
            let row = DeviceIntervalRow {
                span_id: span.id as i64,
                device: interval.device,
                stream_id: interval.stream_id,
                clock_id: interval.clock_id,
                backend: interval.backend,
                start_ns: int(WHAT, "start_ns", interval.start_ns)?,
                duration_ns: int(WHAT, "duration_ns", interval.duration_ns)?,
            };
            if row.duration_ns == 0 {
                return Err(Error::fact(WHAT, "duration_ns", "is 0"));
            }
            if row.start_ns.checked_add(row.duration_ns).is_none() {
                return Err(Error::fact(WHAT, "start_ns + duration_ns", "is more than an Int64 holds"));
            }
            shared.open_span_only(WHAT, span)?;
            shared.record(WHAT, 96, |held, seq, _| held.rows.device_intervals.push(seq, &row))
        })())
    }

    /// States a call between two spans and its host time, which must be the callee's duration.
    ///
    /// # Errors
    /// An unknown or foreign span, a number beyond Int64.
    pub fn record_call_edge(&self, from: SpanId, to: SpanId, host_duration_ns: u64) -> Result<()> {
        const WHAT: &str = "record_call_edge";
        let shared = &*self.shared;
        shared.counted((|| {
            shared.known_span(WHAT, from)?;
            shared.known_span(WHAT, to)?;
            let row = EdgeRow {
                kind: "call",
                from_span: Some(from.id as i64),
                to_span: Some(to.id as i64),
                host_duration_ns: Some(int(WHAT, "host_duration_ns", host_duration_ns)?),
                from_tensor: None,
                to_tensor: None,
            };
            shared.record(WHAT, 0, |held, seq, _| held.rows.edges.push(seq, &row))
        })())
    }

    /// States that one tensor was made from another.
    ///
    /// # Errors
    /// An empty tensor id.
    pub fn record_data_edge(&self, from_tensor: impl AsRef<str>, to_tensor: impl AsRef<str>) -> Result<()> {
        const WHAT: &str = "record_data_edge";
        let (from, to) = (from_tensor.as_ref(), to_tensor.as_ref());
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "from_tensor", from)?;
            non_empty(WHAT, "to_tensor", to)?;
            let row = EdgeRow {
                kind: "data",
                from_span: None,
                to_span: None,
                host_duration_ns: None,
                from_tensor: Some(from),
                to_tensor: Some(to),
            };
            shared.record(WHAT, from.len() + to.len(), |held, seq, _| held.rows.edges.push(seq, &row))
        })())
    }

    /// Records the gradient of one parameter.
    ///
    /// # Errors
    /// An empty root or key, or a norm that does not agree with the state: `present` has a finite norm > 0, `zero` has
    /// +0.0, `missing` and `non_finite` have none.
    pub fn record_gradient(
        &self,
        root: impl AsRef<str>,
        key: impl AsRef<str>,
        state: GradientState,
        norm: Option<f64>,
    ) -> Result<()> {
        const WHAT: &str = "record_gradient";
        let shared = &*self.shared;
        let (root, key) = (root.as_ref(), key.as_ref());
        shared.counted((|| {
            non_empty(WHAT, "root", root)?;
            non_empty(WHAT, "key", key)?;
            if let Some(problem) = gradient_problem(state, norm) {
                return Err(Error::fact(WHAT, "norm", format!("is {norm:?}, but {problem}")));
            }
            let event_id = format!("gradient-{}", shared.gradients.fetch_add(1, Ordering::Relaxed) + 1);
            let row = GradientRow { event_id: &event_id, root, key, state: state.as_str(), norm };
            shared.record(WHAT, root.len() + key.len() + 32, |held, seq, _| held.rows.gradients.push(seq, &row))
        })())
    }
}

/// Why a norm does not agree with its state, if it does not. `zero` is +0.0: a norm is a square root, never -0.0.
pub fn gradient_problem(state: GradientState, norm: Option<f64>) -> Option<&'static str> {
    let sound = match (state, norm) {
        (GradientState::Present, Some(norm)) => norm.is_finite() && norm > 0.0,
        (GradientState::Zero, Some(norm)) => norm.to_bits() == 0,
        (GradientState::Missing | GradientState::NonFinite, None) => true,
        _ => false,
    };
    (!sound).then_some(match state {
        GradientState::Present => "a present gradient has a finite norm > 0",
        GradientState::Zero => "a zero gradient has the norm +0.0",
        GradientState::Missing => "a missing gradient has no norm",
        GradientState::NonFinite => "a non-finite gradient has no norm",
    })
}
