//! The importer under the fuzzer: the very files of src/, without the query engine.
//! In: bytes. Out: nothing, or a panic. Left to neighbours: what a right answer is (`laws`).

#![allow(dead_code, unused_imports)]

pub use candle_graph_record::*;

#[path = "../../../src/error.rs"]
pub mod error;
pub mod laws;
#[path = "../../../src/load/mod.rs"]
pub mod load;
#[path = "../../../src/tables/mod.rs"]
pub mod tables;
#[path = "../../../src/text.rs"]
pub mod text;

use load::nsight;
use tables::nsight as reports;
