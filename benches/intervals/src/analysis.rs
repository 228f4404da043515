//! The one module of the project's folder that is needed here.

#[path = "../../../src/analysis/statistics/mod.rs"]
pub mod statistics;
