//! Operations as facts of a session.
//! In: an operation as a closure, or what the program measured of one. Out: rows of `ops`, and of `tensors` for outputs.
//! Left to neighbours: the output's metadata and lifetime (`capture`).

use candle_core::Tensor;

use super::{CandleCapture, inputs_dense_bytes, record_tensor, tensor_id};
use crate::clock::thread_cpu_ns;
use crate::error::Result;
use crate::names::ExecutionStep;
use crate::records::OpRecord;
use crate::session::TraceSession;
use crate::span::SpanId;

/// One executed operation and what its output was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandleOpCapture {
    pub op_name: String,
    /// tensor_id of each input.
    pub inputs: Vec<String>,
    pub output: CandleCapture,
    /// Dense footprint of the inputs in bytes.
    pub input_tensor_bytes: u64,
    /// Host time.
    pub duration_ns: u64,
    /// Start on the session's clock; 0: when it is recorded.
    pub timestamp_ns: u64,
    /// CPU time of the thread that ran it, where known.
    pub cpu_ns: Option<u64>,
}

impl CandleOpCapture {
    /// An operation that took `duration_ns` of host time from `timestamp_ns` on the session's clock (0: when it is
    /// recorded); `inputs` are tensor ids, `input_bytes` their dense footprint.
    pub fn new(
        op_name: impl Into<String>,
        inputs: Vec<String>,
        output: &Tensor,
        input_bytes: u64,
        duration_ns: u64,
        timestamp_ns: u64,
        step: Option<ExecutionStep>,
    ) -> Self {
        Self {
            op_name: op_name.into(),
            inputs,
            output: CandleCapture::from_tensor(output, step),
            input_tensor_bytes: input_bytes,
            duration_ns,
            timestamp_ns,
            cpu_ns: None,
        }
    }

    /// Adds the CPU time of the thread that ran it (see [`thread_cpu_ns`]).
    #[must_use]
    pub fn with_cpu_ns(mut self, cpu_ns: u64) -> Self {
        self.cpu_ns = Some(cpu_ns);
        self
    }
}

/// Records an executed operation and its output tensor in an open span.
///
/// # Errors
/// As [`TraceSession::record_op`] and [`TraceSession::record_tensor`].
pub fn record_op(session: &TraceSession, span: SpanId, capture: &CandleOpCapture) -> Result<()> {
    let output = &capture.output;
    let record = OpRecord {
        op_name: &capture.op_name,
        inputs: &capture.inputs,
        output: Some(output.tensor_id()),
        shape: &output.shape,
        dtype: &output.dtype,
        device: &output.device,
        duration_ns: capture.duration_ns,
        timestamp_ns: capture.timestamp_ns,
        output_dense_bytes: Some(output.tensor_bytes),
        input_dense_bytes: capture.input_tensor_bytes,
    };
    session.record_op_with_cpu(span, record, capture.cpu_ns)?;
    record_tensor(session, span, output)
}

/// Runs one operation of the program and records it: start, host time and thread CPU time of `op` alone, inputs,
/// output. The result is the program's own, whatever becomes of the record: one that is refused is counted in the
/// session as lost, and an `op` that fails leaves no record. Asynchronous devices: host time is launch time.
///
/// # Errors
/// The error of `op`, unchanged.
pub fn run_op(
    session: &TraceSession,
    span: SpanId,
    op_name: &str,
    inputs: &[&Tensor],
    step: Option<ExecutionStep>,
    op: impl FnOnce() -> candle_core::Result<Tensor>,
) -> candle_core::Result<Tensor> {
    let cpu_start = thread_cpu_ns();
    // 0 would mean "now"; a session is more than a nanosecond old when it has an open span.
    let start = session.elapsed_ns().max(1);
    let output = op()?;
    let duration = session.elapsed_ns().saturating_sub(start);
    // The CPU clock is read outside the wall clock, which so measures `op` alone; the excess is those reads.
    let cpu_ns = thread_cpu_ns().zip(cpu_start).map(|(end, start)| end.saturating_sub(start).min(duration));
    let ids = inputs.iter().map(|t| tensor_id(t)).collect();
    let mut capture = CandleOpCapture::new(op_name, ids, &output, inputs_dense_bytes(inputs), duration, start, step);
    capture.cpu_ns = cpu_ns;
    // The session has counted the loss; the program's result comes first.
    let _ = record_op(session, span, &capture);
    Ok(output)
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::super::testing::trace;
    use super::*;

    const FORWARD: Option<ExecutionStep> = Some(ExecutionStep::Forward);

    fn ones(shape: (usize, usize)) -> Tensor {
        Tensor::ones(shape, DType::F32, &Device::Cpu).expect("a tensor")
    }

    #[test]
    fn run_op_records_what_ran_and_returns_it() {
        let (a, b) = (ones((2, 3)), ones((3, 4)));
        let mut output = None;
        let trace = trace(|session, span| {
            let before = session.elapsed_ns();
            let product = run_op(session, span, "matmul", &[&a, &b], FORWARD, || a.matmul(&b)).expect("a product");
            assert_eq!(product.to_vec2::<f32>().expect("rows"), [[3.0; 4]; 2]);
            output = Some((tensor_id(&product), before, session.elapsed_ns()));
        });
        let (id, before, after) = output.expect("the closure ran");
        let columns = ["name", "output", "dtype", "device", "output_dense_bytes", "input_dense_bytes", "op_index"];
        assert_eq!(trace.rows("ops", &columns), [format!("matmul {id} f32 cpu 32 72 0")]);
        assert_eq!(trace.rows("tensors", &["tensor_id", "category"]), [format!("{id} activation")]);
        let number = |column| trace.column("ops", column)[0].parse::<u64>().expect("a number");
        let (start, duration) = (number("timestamp_ns"), number("duration_ns"));
        assert!(before <= start && start + duration <= after, "{before} {start} {duration} {after}");
        if cfg!(unix) {
            assert!(number("cpu_ns") <= duration);
        }
    }

    #[test]
    fn run_op_never_replaces_the_programs_result() {
        let (a, b) = (ones((2, 3)), ones((2, 3)));
        let trace = trace(|session, span| {
            let error = run_op(session, span, "matmul", &[&a, &b], FORWARD, || a.matmul(&b)).expect_err("shapes");
            assert!(matches!(
                error,
                candle_core::Error::WithBacktrace { .. } | candle_core::Error::ShapeMismatchBinaryOp { .. }
            ));
            assert!(error.to_string().starts_with("shape mismatch in matmul"), "{error}");
            // A record that is refused: an empty name.
            let sum = run_op(session, span, "", &[&a, &b], FORWARD, || a.add(&b)).expect("a sum");
            assert_eq!(sum.dims(), [2, 3]);
        });
        assert!(trace.column("ops", "name").is_empty());
    }

    #[test]
    fn an_operation_can_be_recorded_afterwards() {
        let (a, output) = (ones((2, 2)), ones((2, 2)));
        let trace = trace(|session, span| {
            let start = session.elapsed_ns();
            let capture = CandleOpCapture::new("relu", vec![tensor_id(&a)], &output, 16, 5, start, FORWARD);
            while session.elapsed_ns() < start + 5 {}
            record_op(session, span, &capture.with_cpu_ns(4)).expect("two rows");
        });
        assert_eq!(trace.rows("ops", &["name", "duration_ns", "cpu_ns", "input_dense_bytes"]), ["relu 5 4 16"]);
        assert_eq!(trace.column("tensors", "category"), ["activation"]);
    }
}
