//! `tensor_stats`: summaries of tensor values and scalars.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`TENSOR_STATS`].
pub struct TensorStat;

/// A summary of one tensor's values, or one scalar.
pub struct TensorStatRow<'a> {
    pub span_id: i64,
    pub label: &'a str,
    pub shape: &'a [i64],
    pub dtype: &'a str,
    pub elements: i64,
    pub non_finite: i64,
    pub nan: Option<i64>,
    pub pos_inf: Option<i64>,
    pub neg_inf: Option<i64>,
    pub rms: Option<f64>,
    pub abs_max: Option<f64>,
    pub mean: Option<f64>,
    pub finite_rms: Option<f64>,
    pub finite_abs_max: Option<f64>,
    pub finite_mean: Option<f64>,
}

impl Row for TensorStat {
    type Of<'a> = TensorStatRow<'a>;
}

pub static TENSOR_STATS: Table<TensorStat> = Table {
    name: "tensor_stats",
    doc: "A summary of one tensor's values under a label; a recorded scalar is a tensor of one element and empty shape.",
    columns: &[
        Column {
            name: "span_id",
            unit: Unit::Id,
            repeats: true,
            doc: "The span it was recorded in.",
            get: Get::Int(|r| r.span_id),
        },
        Column {
            name: "label",
            unit: Unit::None,
            repeats: true,
            doc: "The label given by the program.",
            get: Get::Text(|r| r.label),
        },
        Column {
            name: "shape",
            unit: Unit::Count,
            repeats: true,
            doc: "Shape; empty for a scalar.",
            get: Get::IntList(|r| r.shape),
        },
        Column { name: "dtype", unit: Unit::None, repeats: true, doc: "Element type.", get: Get::Text(|r| r.dtype) },
        Column {
            name: "elements",
            unit: Unit::Count,
            repeats: true,
            doc: "Number of elements.",
            get: Get::Int(|r| r.elements),
        },
        Column {
            name: "non_finite",
            unit: Unit::Count,
            repeats: true,
            doc: "Elements that are NaN or infinite.",
            get: Get::Int(|r| r.non_finite),
        },
        Column {
            name: "nan",
            unit: Unit::Count,
            repeats: true,
            doc: "Elements that are NaN; NULL where a trace does not say.",
            get: Get::OptInt(|r| r.nan),
        },
        Column {
            name: "pos_inf",
            unit: Unit::Count,
            repeats: true,
            doc: "Elements that are +infinity; NULL where a trace does not say.",
            get: Get::OptInt(|r| r.pos_inf),
        },
        Column {
            name: "neg_inf",
            unit: Unit::Count,
            repeats: true,
            doc: "Elements that are -infinity; NULL where a trace does not say.",
            get: Get::OptInt(|r| r.neg_inf),
        },
        Column {
            name: "rms",
            unit: Unit::Value,
            repeats: false,
            doc: "Root mean square of all elements; NULL when any is not finite or there are none.",
            get: Get::OptFloat(|r| r.rms),
        },
        Column {
            name: "abs_max",
            unit: Unit::Value,
            repeats: false,
            doc: "Largest absolute value of all elements; NULL when any is not finite or there are none.",
            get: Get::OptFloat(|r| r.abs_max),
        },
        Column {
            name: "mean",
            unit: Unit::Value,
            repeats: false,
            doc: "Arithmetic mean of all elements; NULL when any is not finite or there are none.",
            get: Get::OptFloat(|r| r.mean),
        },
        Column {
            name: "finite_rms",
            unit: Unit::Value,
            repeats: false,
            doc: "Root mean square of the finite elements; NULL when there are none or a trace does not say.",
            get: Get::OptFloat(|r| r.finite_rms),
        },
        Column {
            name: "finite_abs_max",
            unit: Unit::Value,
            repeats: false,
            doc: "Largest absolute value of the finite elements; NULL as finite_rms.",
            get: Get::OptFloat(|r| r.finite_abs_max),
        },
        Column {
            name: "finite_mean",
            unit: Unit::Value,
            repeats: false,
            doc: "Arithmetic mean of the finite elements; NULL as finite_rms.",
            get: Get::OptFloat(|r| r.finite_mean),
        },
    ],
};
