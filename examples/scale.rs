//! Records a synthetic update of a given size: the trace that the speed budgets are measured on.
//!
//! `cargo run --release --example scale -- TRACE_PATH OPS`: for each operation a tensor, an allocation and a free, and a
//! span for every ten; shapes, names and times vary as those of a real network do.

use candle_graph::{
    CaptureContract, CoverageLevel, ExecutionStep, MeasurementScope, MemoryCategory, MemoryRecord, OpRecord,
    ProfileRun, SpanKind, TensorRecord, TraceSession,
};

const NAMES: [&str; 8] = ["matmul", "add", "mul", "softmax", "layer_norm", "gelu", "reshape", "transpose"];

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(path), Some(ops)) = (args.next(), args.next()) else {
        anyhow::bail!("usage: scale TRACE_PATH OPS");
    };
    let ops: u64 = ops.to_string_lossy().parse()?;
    let contract = CaptureContract {
        measurement_scope: MeasurementScope::ProductionEquivalent,
        operations: CoverageLevel::Complete,
        activations: CoverageLevel::Complete,
        tensors: CoverageLevel::Complete,
        logical_memory: CoverageLevel::Complete,
        ..CaptureContract::default()
    };
    let run = ProfileRun::training("scale::update", 1, "cpu").capture_contract(contract);
    let session = TraceSession::open(path, run)?;
    {
        let _measured = session.begin_measurement("scale/update");
        let _forward = session.begin_step_span("scale/forward", ExecutionStep::Forward, SpanKind::Function);
        let mut layer = None;
        let mut input = vec!["TensorId(0)".to_owned()];
        for op in 0..ops {
            if op % 10 == 0 {
                // The last layer closes before the next opens beside it.
                drop(layer.take());
                layer = Some(session.begin_span(format!("layer.{}", op / 10 % 200), SpanKind::Module));
            }
            let span = layer.as_ref().map_or_else(|| session.root(), |l| l.id());
            let tensor = format!("TensorId({})", op + 1);
            let storage = format!("storage:{:#x}", 0x7f00_0000_0000_u64 + op % 4096 * 64);
            let shape = [64 + (op % 7) as usize, 128];
            let bytes = (shape[0] * shape[1] * 4) as u64;
            let started = session.elapsed_ns();
            session.record_op(
                span,
                OpRecord {
                    op_name: NAMES[(op.wrapping_mul(2_654_435_761) >> 7) as usize % NAMES.len()],
                    inputs: &input,
                    output: Some(&tensor),
                    shape: &shape,
                    dtype: "f32",
                    device: "cpu",
                    duration_ns: session.elapsed_ns() - started,
                    timestamp_ns: started,
                    output_dense_bytes: Some(bytes),
                    input_dense_bytes: bytes,
                },
            )?;
            session.record_tensor(
                span,
                TensorRecord {
                    tensor_id: &tensor,
                    label: None,
                    shape: &shape,
                    dtype: "f32",
                    device: "cpu",
                    requires_grad: true,
                    dense_bytes: Some(bytes),
                    category: MemoryCategory::Activation,
                },
            )?;
            let memory = MemoryRecord {
                storage_id: &storage,
                tensor_id: &tensor,
                device: "cpu",
                bytes,
                dtype: "f32",
                category: MemoryCategory::Activation,
                timestamp_ns: None,
                op_name: None,
                shape: &shape,
            };
            session.record_memory_alloc(span, memory)?;
            session.record_memory_free(span, memory)?;
            input[0] = tensor;
        }
    }
    println!("{}", session.finish()?.display());
    Ok(())
}
