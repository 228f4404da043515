//! Metadata and lifetimes of tensors as facts of a session.
//! In: a tensor at one moment. Out: rows of `tensors` and `memory`.
//! Left to neighbours: the operation that made it (`ops`), its values (`stats`), identities and sizes (`mod`), which
//! storage an address means (`storage`).

use candle_core::Tensor;

use super::{device_label, dtype_label, storage_bytes, storage_name, tensor_dense_bytes, tensor_id};
use crate::error::Result;
use crate::names::{ExecutionStep, MemoryCategory};
use crate::records::{MemoryRecord, TensorRecord};
use crate::session::TraceSession;
use crate::span::SpanId;

/// What a tensor was at one moment: its metadata, never the tensor, so that keeping a capture keeps no memory alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandleCapture {
    storage_id: String,
    storage_bytes: Option<u64>,
    tensor_id: String,
    pub label: Option<String>,
    pub shape: Vec<usize>,
    pub dtype: String,
    pub device: String,
    /// Dense footprint in bytes: see [`tensor_dense_bytes`].
    pub tensor_bytes: u64,
    /// Whether candle tracks the tensor for gradients: a variable, or made of one.
    pub requires_grad: bool,
    pub category: MemoryCategory,
}

impl CandleCapture {
    /// Captures `tensor`. Its category is `Parameter` for a variable, else what `step` makes: `Activation` in forward,
    /// `Gradient` in backward, `Optimizer` in the optimizer, `Other` outside a step.
    pub fn from_tensor(tensor: &Tensor, step: Option<ExecutionStep>) -> Self {
        let category = match step {
            _ if tensor.is_variable() => MemoryCategory::Parameter,
            Some(ExecutionStep::Forward) => MemoryCategory::Activation,
            Some(ExecutionStep::Backward) => MemoryCategory::Gradient,
            Some(ExecutionStep::Optimizer) => MemoryCategory::Optimizer,
            None => MemoryCategory::Other,
        };
        let (storage, _) = tensor.storage_and_layout();
        Self {
            storage_id: storage_name(&storage),
            storage_bytes: storage_bytes(&storage),
            tensor_id: tensor_id(tensor),
            label: None,
            shape: tensor.dims().to_vec(),
            dtype: dtype_label(tensor.dtype()),
            device: device_label(tensor.device()),
            tensor_bytes: tensor_dense_bytes(tensor),
            requires_grad: tensor.track_op(),
            category,
        }
    }

    /// Names the tensor.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Replaces the category that the step gave.
    #[must_use]
    pub fn with_category(mut self, category: MemoryCategory) -> Self {
        self.category = category;
        self
    }

    /// The address of the storage, as [`super::storage_id`].
    pub fn storage_id(&self) -> &str {
        &self.storage_id
    }

    /// Bytes of the whole storage, which a view shares; `None` off the CPU, where candle does not tell.
    pub fn storage_bytes(&self) -> Option<u64> {
        self.storage_bytes
    }

    /// The tensor's identity, as [`tensor_id`].
    pub fn tensor_id(&self) -> &str {
        &self.tensor_id
    }

    fn memory<'a>(&'a self, op_name: Option<&'a str>) -> MemoryRecord<'a> {
        MemoryRecord {
            storage_id: &self.storage_id,
            tensor_id: &self.tensor_id,
            device: &self.device,
            bytes: self.storage_bytes.unwrap_or(self.tensor_bytes),
            dtype: &self.dtype,
            category: self.category,
            timestamp_ns: None,
            op_name,
            shape: &self.shape,
        }
    }
}

/// Records a tensor's metadata, and which storage it lies in, in an open span.
///
/// # Errors
/// As [`TraceSession::record_tensor`].
pub fn record_tensor(session: &TraceSession, span: SpanId, capture: &CandleCapture) -> Result<()> {
    let record = TensorRecord {
        tensor_id: &capture.tensor_id,
        label: capture.label.as_deref(),
        shape: &capture.shape,
        dtype: &capture.dtype,
        device: &capture.device,
        requires_grad: capture.requires_grad,
        dense_bytes: Some(capture.tensor_bytes),
        category: capture.category,
    };
    session.record_tensor_with_storage(span, record, &capture.storage_id, capture.storage_bytes)
}

/// Records a tensor's metadata under a label.
///
/// # Errors
/// As [`TraceSession::record_tensor`].
pub fn record_tensor_with_label(
    session: &TraceSession,
    span: SpanId,
    label: impl Into<String>,
    tensor: &Tensor,
    step: Option<ExecutionStep>,
) -> Result<()> {
    record_tensor(session, span, &CandleCapture::from_tensor(tensor, step).with_label(label))
}

/// Records that a tensor's storage came to life, now. Call it for each storage the program makes, once, with the
/// tensor that was made of it and not with a view; off the CPU its dense footprint stands for the storage's size.
///
/// # Errors
/// As [`TraceSession::record_memory_alloc`].
pub fn record_alloc(
    session: &TraceSession,
    span: SpanId,
    capture: &CandleCapture,
    op_name: Option<&str>,
) -> Result<()> {
    session.record_memory_alloc(span, capture.memory(op_name))
}

/// Records that the storage of an earlier [`record_alloc`] ends, now. Call it just before the last handle (a tensor, a
/// view, the graph of a loss) is dropped: afterwards another storage may already have its address.
///
/// # Errors
/// As [`TraceSession::record_memory_free`].
pub fn record_free(session: &TraceSession, span: SpanId, capture: &CandleCapture, op_name: Option<&str>) -> Result<()> {
    session.record_memory_free(span, capture.memory(op_name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use candle_core::{DType, Device, Result as CandleResult, Var};

    use super::super::testing::trace;
    use super::*;

    const FORWARD: Option<ExecutionStep> = Some(ExecutionStep::Forward);

    fn ones(shape: (usize, usize)) -> Tensor {
        Tensor::ones(shape, DType::F32, &Device::Cpu).expect("a tensor")
    }

    #[test]
    fn the_category_follows_the_step_except_for_a_variable() -> CandleResult<()> {
        let t = ones((2, 3));
        let category = |step| CandleCapture::from_tensor(&t, step).category;
        assert_eq!(category(FORWARD), MemoryCategory::Activation);
        assert_eq!(category(Some(ExecutionStep::Backward)), MemoryCategory::Gradient);
        assert_eq!(category(Some(ExecutionStep::Optimizer)), MemoryCategory::Optimizer);
        assert_eq!(category(None), MemoryCategory::Other);
        let var = Var::from_tensor(&t)?;
        assert_eq!(CandleCapture::from_tensor(&var, FORWARD).category, MemoryCategory::Parameter);
        // Made of a variable: tracked, but no parameter.
        let made = CandleCapture::from_tensor(&var.sqr()?, FORWARD);
        assert!(made.requires_grad && made.category == MemoryCategory::Activation);
        assert!(!CandleCapture::from_tensor(&t, FORWARD).requires_grad);
        Ok(())
    }

    #[test]
    fn a_view_and_its_tensor_are_one_storage_of_one_size() -> CandleResult<()> {
        let t = ones((4, 6));
        let view = t.narrow(1, 2, 2)?.t()?;
        let (whole, part) = (CandleCapture::from_tensor(&t, FORWARD), CandleCapture::from_tensor(&view, FORWARD));
        assert_eq!((whole.storage_bytes(), part.storage_bytes()), (Some(96), Some(96)));
        assert_eq!((whole.tensor_bytes, part.tensor_bytes), (96, 32));
        let trace = trace(|session, span| {
            record_alloc(session, span, &whole, Some("ones")).expect("a row");
            record_tensor(session, span, &part.clone().with_label("part")).expect("a row");
            record_tensor_with_label(session, span, "whole", &t, FORWARD).expect("a row");
            record_free(session, span, &part, None).expect("a view frees what was allocated");
        });
        let ids: HashSet<_> = trace.column("tensors", "storage_id").into_iter().collect();
        assert_eq!(ids.len(), 1);
        assert!(ids.contains(&trace.column("memory", "storage_id")[0]));
        assert_eq!(
            trace.rows("tensors", &["label", "dense_bytes", "category"]),
            ["part 32 activation", "whole 96 activation"]
        );
        assert_eq!(trace.rows("memory", &["action", "bytes", "op_name"]), ["alloc 96 ones", "free 96 -"]);
        Ok(())
    }

    #[test]
    fn an_address_used_a_thousand_times_is_a_thousand_storages() {
        let mut addresses = HashSet::new();
        let trace = trace(|session, span| {
            for _ in 0..1000 {
                let t = ones((64, 64));
                let capture = CandleCapture::from_tensor(&t, FORWARD);
                addresses.insert(capture.storage_id().to_owned());
                record_alloc(session, span, &capture, Some("ones")).expect("an alloc");
                record_tensor(session, span, &capture).expect("a tensor");
                record_free(session, span, &capture, None).expect("a free");
                drop(t);
            }
        });
        assert!(addresses.len() < 1000, "the allocator reused no address: this test proves nothing");
        let rows = trace.rows("memory", &["action", "storage_id"]);
        let ids = |action: &str| -> HashSet<String> {
            rows.iter().filter_map(|row| row.strip_prefix(action)).map(|id| id.trim().to_owned()).collect()
        };
        assert_eq!((rows.len(), ids("alloc").len()), (2000, 1000));
        assert_eq!(ids("alloc"), ids("free"));
        // Each tensor lies in the storage that was live when it was recorded.
        assert_eq!(trace.column("tensors", "storage_id").into_iter().collect::<HashSet<_>>(), ids("alloc"));
    }

    #[test]
    fn a_capture_keeps_no_tensor_alive() {
        // candle gives no weak handle; the address of a storage that is free again comes back.
        let mut addresses = HashSet::new();
        let captures: Vec<_> = (0..1000).map(|_| CandleCapture::from_tensor(&ones((64, 64)), FORWARD)).collect();
        addresses.extend(captures.iter().map(CandleCapture::storage_id));
        assert!(addresses.len() < 100, "{} storages live for 1000 captures", addresses.len());
    }
}
