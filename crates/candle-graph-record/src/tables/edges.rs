//! `edges`: call and data edges the program stated itself.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`EDGES`].
pub struct Edge;

/// One edge.
pub struct EdgeRow<'a> {
    pub kind: &'a str,
    pub from_span: Option<i64>,
    pub to_span: Option<i64>,
    pub host_duration_ns: Option<i64>,
    pub from_tensor: Option<&'a str>,
    pub to_tensor: Option<&'a str>,
}

impl Row for Edge {
    type Of<'a> = EdgeRow<'a>;
}

pub static EDGES: Table<Edge> = Table {
    name: "edges",
    doc: "One edge the program stated: a call between spans, or data from one tensor to another.",
    columns: &[
        Column { name: "kind", unit: Unit::None, repeats: true, doc: "call or data.", get: Get::Text(|r| r.kind) },
        Column {
            name: "from_span",
            unit: Unit::Id,
            repeats: true,
            doc: "Caller of a call edge.",
            get: Get::OptInt(|r| r.from_span),
        },
        Column {
            name: "to_span",
            unit: Unit::Id,
            repeats: false,
            doc: "Callee of a call edge.",
            get: Get::OptInt(|r| r.to_span),
        },
        Column {
            name: "host_duration_ns",
            unit: Unit::Ns,
            repeats: false,
            doc: "Host time of a call edge.",
            get: Get::OptInt(|r| r.host_duration_ns),
        },
        Column {
            name: "from_tensor",
            unit: Unit::Id,
            repeats: false,
            doc: "Source of a data edge.",
            get: Get::OptText(|r| r.from_tensor),
        },
        Column {
            name: "to_tensor",
            unit: Unit::Id,
            repeats: false,
            doc: "Target of a data edge.",
            get: Get::OptText(|r| r.to_tensor),
        },
    ],
};
