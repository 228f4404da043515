//! `ops`: executed operations.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`OPS`].
pub struct Op;

/// One executed operation.
pub struct OpRow<'a> {
    pub span_id: i64,
    pub op_index: i64,
    pub name: &'a str,
    pub inputs: &'a [String],
    pub output: Option<&'a str>,
    pub shape: &'a [i64],
    pub dtype: &'a str,
    pub device: &'a str,
    pub timestamp_ns: i64,
    pub duration_ns: i64,
    pub cpu_ns: Option<i64>,
    pub thread_id: Option<i64>,
    pub output_dense_bytes: Option<i64>,
    pub input_dense_bytes: i64,
}

impl Row for Op {
    type Of<'a> = OpRow<'a>;
}

pub static OPS: Table<Op> = Table {
    name: "ops",
    doc: "One executed operation, with the host time the program measured for it.",
    columns: &[
        Column {
            name: "span_id",
            unit: Unit::Id,
            repeats: true,
            doc: "The span the operation ran in.",
            get: Get::Int(|r| r.span_id),
        },
        Column {
            name: "op_index",
            unit: Unit::Id,
            repeats: false,
            doc: "Position among the operations of its span, from 0, in order of recording.",
            get: Get::Int(|r| r.op_index),
        },
        Column { name: "name", unit: Unit::None, repeats: true, doc: "Operation name.", get: Get::Text(|r| r.name) },
        Column {
            name: "inputs",
            unit: Unit::Id,
            repeats: false,
            doc: "tensor_id of each input, in order.",
            get: Get::TextList(|r| r.inputs),
        },
        Column {
            name: "output",
            unit: Unit::Id,
            repeats: false,
            doc: "tensor_id of the output, where there is one.",
            get: Get::OptText(|r| r.output),
        },
        Column {
            name: "shape",
            unit: Unit::Count,
            repeats: true,
            doc: "Shape of the output; empty for a scalar.",
            get: Get::IntList(|r| r.shape),
        },
        Column {
            name: "dtype",
            unit: Unit::None,
            repeats: true,
            doc: "Element type of the output.",
            get: Get::Text(|r| r.dtype),
        },
        Column {
            name: "device",
            unit: Unit::None,
            repeats: true,
            doc: "Device of the output.",
            get: Get::Text(|r| r.device),
        },
        Column {
            name: "timestamp_ns",
            unit: Unit::SessionNs,
            repeats: false,
            doc: "When the operation started (the moment of the call, where the program gave none).",
            get: Get::Int(|r| r.timestamp_ns),
        },
        Column {
            name: "duration_ns",
            unit: Unit::Ns,
            repeats: false,
            doc: "Host time as the program measured it: launch time for an asynchronous device, never device time.",
            get: Get::Int(|r| r.duration_ns),
        },
        Column {
            name: "cpu_ns",
            unit: Unit::Ns,
            repeats: false,
            doc: "CPU time of the calling thread over the operation, where measured.",
            get: Get::OptInt(|r| r.cpu_ns),
        },
        Column {
            name: "thread_id",
            unit: Unit::Id,
            repeats: true,
            doc: "Thread that recorded the operation; NULL where a trace does not say.",
            get: Get::OptInt(|r| r.thread_id),
        },
        Column {
            name: "output_dense_bytes",
            unit: Unit::Bytes,
            repeats: true,
            doc: "Elements x element size of the output: a footprint, not an allocation.",
            get: Get::OptInt(|r| r.output_dense_bytes),
        },
        Column {
            name: "input_dense_bytes",
            unit: Unit::Bytes,
            repeats: true,
            doc: "Sum of the inputs' dense footprints.",
            get: Get::Int(|r| r.input_dense_bytes),
        },
    ],
};
