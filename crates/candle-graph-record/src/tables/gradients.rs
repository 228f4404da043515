//! `gradients`: the state and norm of each parameter's gradient.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`GRADIENTS`].
pub struct Gradient;

/// One parameter's gradient.
pub struct GradientRow<'a> {
    pub event_id: &'a str,
    pub root: &'a str,
    pub key: &'a str,
    pub state: &'a str,
    pub norm: Option<f64>,
}

impl Row for Gradient {
    type Of<'a> = GradientRow<'a>;
}

pub static GRADIENTS: Table<Gradient> = Table {
    name: "gradients",
    doc: "The gradient of one parameter after backward.",
    columns: &[
        Column {
            name: "event_id",
            unit: Unit::Id,
            repeats: false,
            doc: "Identity of the observation within the run.",
            get: Get::Text(|r| r.event_id),
        },
        Column {
            name: "root",
            unit: Unit::None,
            repeats: true,
            doc: "The collection the parameter belongs to.",
            get: Get::Text(|r| r.root),
        },
        Column {
            name: "key",
            unit: Unit::None,
            repeats: true,
            doc: "The parameter's name within root.",
            get: Get::Text(|r| r.key),
        },
        Column {
            name: "state",
            unit: Unit::None,
            repeats: true,
            doc: "present (finite norm > 0), zero (norm +0.0), missing (no gradient) or non_finite.",
            get: Get::Text(|r| r.state),
        },
        Column {
            name: "norm",
            unit: Unit::Value,
            repeats: false,
            doc: "L2 norm; NULL when missing or non_finite.",
            get: Get::OptFloat(|r| r.norm),
        },
    ],
};
