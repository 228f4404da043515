//! `spans`: the host call hierarchy.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`SPANS`].
pub struct Span;

/// One span, as recorded when it closes (or, never closed, when the trace ends).
pub struct SpanRow<'a> {
    pub span_id: i64,
    pub parent_id: Option<i64>,
    pub name: &'a str,
    pub kind: &'a str,
    pub step: Option<&'a str>,
    pub measured: bool,
    pub thread_id: i64,
    pub start_ns: i64,
    pub duration_ns: Option<i64>,
    pub cpu_ns: Option<i64>,
}

impl Row for Span {
    type Of<'a> = SpanRow<'a>;
}

pub static SPANS: Table<Span> = Table {
    name: "spans",
    doc: "One host span: an interval of wall time with a name, on one thread, under a parent.",
    columns: &[
        Column {
            name: "span_id",
            unit: Unit::Id,
            repeats: false,
            doc: "Identity of the span within the run; ids rise in the order of opening.",
            get: Get::Int(|r| r.span_id),
        },
        Column {
            name: "parent_id",
            unit: Unit::Id,
            repeats: true,
            doc: "The span this one was opened under; NULL for the root.",
            get: Get::OptInt(|r| r.parent_id),
        },
        Column {
            name: "name",
            unit: Unit::None,
            repeats: true,
            doc: "The label given by the program.",
            get: Get::Text(|r| r.name),
        },
        Column {
            name: "kind",
            unit: Unit::None,
            repeats: true,
            doc: "function, op or module.",
            get: Get::Text(|r| r.kind),
        },
        Column {
            name: "step",
            unit: Unit::None,
            repeats: true,
            doc: "forward, backward or optimizer, where the program said so.",
            get: Get::OptText(|r| r.step),
        },
        Column {
            name: "measured",
            unit: Unit::None,
            repeats: true,
            doc: "Whether this span is the measured region.",
            get: Get::Bool(|r| r.measured),
        },
        Column {
            name: "thread_id",
            unit: Unit::Id,
            repeats: true,
            doc: "Thread that opened the span, numbered by first use of the session; 0 where a trace does not say.",
            get: Get::Int(|r| r.thread_id),
        },
        Column {
            name: "start_ns",
            unit: Unit::SessionNs,
            repeats: false,
            doc: "When the span opened.",
            get: Get::Int(|r| r.start_ns),
        },
        Column {
            name: "duration_ns",
            unit: Unit::Ns,
            repeats: false,
            doc: "Wall time from open to close; NULL: the span never closed.",
            get: Get::OptInt(|r| r.duration_ns),
        },
        Column {
            name: "cpu_ns",
            unit: Unit::Ns,
            repeats: false,
            doc: "CPU time of the opening thread between open and close, exact to 5 us at either end; NULL where the platform has no such clock or the span closed on another thread.",
            get: Get::OptInt(|r| r.cpu_ns),
        },
    ],
};
