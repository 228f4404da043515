//! `memory`: storage lifetimes as the program observed them.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`MEMORY`].
pub struct Memory;

/// One end of a storage's lifetime.
pub struct MemoryRow<'a> {
    pub timestamp_ns: i64,
    pub action: &'a str,
    pub storage_id: &'a str,
    pub tensor_id: &'a str,
    pub span_id: i64,
    pub op_name: Option<&'a str>,
    pub device: &'a str,
    pub bytes: i64,
    pub shape: &'a [i64],
    pub dtype: &'a str,
    pub category: &'a str,
}

impl Row for Memory {
    type Of<'a> = MemoryRow<'a>;
}

pub static MEMORY: Table<Memory> = Table {
    name: "memory",
    doc: "One end of a storage's lifetime: logical memory, as the program observed it.",
    columns: &[
        Column {
            name: "timestamp_ns",
            unit: Unit::SessionNs,
            repeats: false,
            doc: "When it happened.",
            get: Get::Int(|r| r.timestamp_ns),
        },
        Column {
            name: "action",
            unit: Unit::None,
            repeats: true,
            doc: "alloc, free, or end_unobserved: the storage's address was seen under another storage, so it had ended at some moment before this one.",
            get: Get::Text(|r| r.action),
        },
        Column {
            name: "storage_id",
            unit: Unit::Id,
            repeats: false,
            doc: "Identity of the storage, unique for one lifetime.",
            get: Get::Text(|r| r.storage_id),
        },
        Column {
            name: "tensor_id",
            unit: Unit::Id,
            repeats: false,
            doc: "The tensor it was observed through.",
            get: Get::Text(|r| r.tensor_id),
        },
        Column {
            name: "span_id",
            unit: Unit::Id,
            repeats: true,
            doc: "The span it happened in.",
            get: Get::Int(|r| r.span_id),
        },
        Column {
            name: "op_name",
            unit: Unit::None,
            repeats: true,
            doc: "The operation that made it, where known.",
            get: Get::OptText(|r| r.op_name),
        },
        Column {
            name: "device",
            unit: Unit::None,
            repeats: true,
            doc: "Device that holds the storage.",
            get: Get::Text(|r| r.device),
        },
        Column {
            name: "bytes",
            unit: Unit::Bytes,
            repeats: true,
            doc: "Size of the storage.",
            get: Get::Int(|r| r.bytes),
        },
        Column {
            name: "shape",
            unit: Unit::Count,
            repeats: true,
            doc: "Shape of the tensor it was observed through.",
            get: Get::IntList(|r| r.shape),
        },
        Column { name: "dtype", unit: Unit::None, repeats: true, doc: "Element type.", get: Get::Text(|r| r.dtype) },
        Column {
            name: "category",
            unit: Unit::None,
            repeats: true,
            doc: "parameter, activation, gradient, optimizer or other, as the program said.",
            get: Get::Text(|r| r.category),
        },
    ],
};
