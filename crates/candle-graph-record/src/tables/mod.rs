//! The recorded tables, one a file, and the list of them.
//! In: nothing. Out: `all()`, the recorded tables with their row types erased, in the order of docs/tables.md.
//! Left to neighbours: imported and derived tables (the analysing crate), rows (`buffer`).

pub mod device_intervals;
pub mod device_memory;
pub mod edges;
pub mod gradients;
pub mod memory;
pub mod ops;
pub mod run;
pub mod spans;
pub mod tensor_stats;
pub mod tensors;

use crate::table::TableSpec;

/// Every event table: what the part files of a trace hold.
pub fn events() -> Vec<TableSpec> {
    vec![
        spans::SPANS.spec(),
        ops::OPS.spec(),
        tensors::TENSORS.spec(),
        tensor_stats::TENSOR_STATS.spec(),
        gradients::GRADIENTS.spec(),
        memory::MEMORY.spec(),
        device_memory::DEVICE_MEMORY.spec(),
        device_intervals::DEVICE_INTERVALS.spec(),
        edges::EDGES.spec(),
    ]
}

/// Every recorded table: the event tables and `run`.
pub fn all() -> Vec<TableSpec> {
    let mut tables = events();
    tables.push(run::spec());
    tables
}
