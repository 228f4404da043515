//! Records one selected Candle training update or inference invocation and turns that trace into evidence.
//!
//! The recorder is re-exported from `candle-graph-record`: `candle_graph::TraceSession` and what it takes. The rest of
//! this crate reads traces: [`load`] opens one, [`session`] makes it a read-only SQL context, [`query`] runs the files
//! of `queries/`, [`analysis`] and [`evidence`] say what may be claimed, [`output`] prints it and [`cli`] is the
//! command line. Each uses only those before it.

pub use candle_graph_record::*;

/// The vocabulary of traces under the path that programs written for candle-graph 0.10 use.
pub mod trace {
    pub use candle_graph_record::{ExecutionPhase, ExecutionStep, GradientState, MemoryCategory, SpanKind, TimingMode};
}

pub use output::bundle::{CaptureBegin, CaptureRun, PublicationReceipt};

pub mod analysis;
pub mod cli;
pub mod error;
pub mod evidence;
pub mod load;
pub mod output;
pub mod query;
pub mod session;
pub mod tables;
pub mod text;

/// The Rust of README.md and docs/, compiled and run with the tests.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/guide.md")]
    mod guide {}
    #[doc = include_str!("../docs/bundles.md")]
    mod bundles {}
    #[doc = include_str!("../docs/comparing.md")]
    mod comparing {}
}
