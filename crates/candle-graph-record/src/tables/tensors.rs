//! `tensors`: metadata of tensors at the moment the program recorded them.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`TENSORS`].
pub struct Tensor;

/// Metadata of one tensor.
pub struct TensorRow<'a> {
    pub span_id: i64,
    pub tensor_id: &'a str,
    pub storage_id: Option<&'a str>,
    pub label: Option<&'a str>,
    pub shape: &'a [i64],
    pub dtype: &'a str,
    pub device: &'a str,
    pub requires_grad: bool,
    pub dense_bytes: Option<i64>,
    pub category: &'a str,
}

impl Row for Tensor {
    type Of<'a> = TensorRow<'a>;
}

pub static TENSORS: Table<Tensor> = Table {
    name: "tensors",
    doc: "Metadata of one tensor at the moment the program recorded it.",
    columns: &[
        Column {
            name: "span_id",
            unit: Unit::Id,
            repeats: true,
            doc: "The span it was recorded in.",
            get: Get::Int(|r| r.span_id),
        },
        Column {
            name: "tensor_id",
            unit: Unit::Id,
            repeats: false,
            doc: "The backend's identity of the tensor.",
            get: Get::Text(|r| r.tensor_id),
        },
        Column {
            name: "storage_id",
            unit: Unit::Id,
            repeats: false,
            doc: "Identity of its storage, unique for one lifetime: an address and a birth number.",
            get: Get::OptText(|r| r.storage_id),
        },
        Column {
            name: "label",
            unit: Unit::None,
            repeats: true,
            doc: "The label given by the program, if any.",
            get: Get::OptText(|r| r.label),
        },
        Column {
            name: "shape",
            unit: Unit::Count,
            repeats: true,
            doc: "Shape; empty for a scalar.",
            get: Get::IntList(|r| r.shape),
        },
        Column { name: "dtype", unit: Unit::None, repeats: true, doc: "Element type.", get: Get::Text(|r| r.dtype) },
        Column { name: "device", unit: Unit::None, repeats: true, doc: "Device.", get: Get::Text(|r| r.device) },
        Column {
            name: "requires_grad",
            unit: Unit::None,
            repeats: true,
            doc: "Whether the backend tracks it for gradients.",
            get: Get::Bool(|r| r.requires_grad),
        },
        Column {
            name: "dense_bytes",
            unit: Unit::Bytes,
            repeats: true,
            doc: "Elements x element size: a footprint, not an allocation.",
            get: Get::OptInt(|r| r.dense_bytes),
        },
        Column {
            name: "category",
            unit: Unit::None,
            repeats: true,
            doc: "parameter, activation, gradient, optimizer or other, as the program said.",
            get: Get::Text(|r| r.category),
        },
    ],
};
