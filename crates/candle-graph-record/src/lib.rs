//! The recorder of candle-graph: what a training program links to record one selected update or invocation.
//!
//! It depends on Arrow and Parquet and on no query engine. Events go into buffers of the recording thread; a writer
//! thread cuts them every 100 ms into Parquet part files, and the end of the session makes one file per table of them.
//! No Arrow type shows in this interface except under [`table`] and [`tables`], which readers of traces use.
//!
//! # Feature `nvtx`
//! Every span is also an NVTX range of the default domain, so that Nsight Systems can tell which kernels a span
//! launched. Nothing in a program changes: `nsys profile` names its library in `NVTX_INJECTION64_PATH`, and the first
//! session of the process loads it; without that variable a span costs one look at a flag more.
//! - A guard is a push/pop range of the thread that opened it. NVTX pops only the newest range of the calling thread, so
//!   a guard dropped out of order is popped once those above it have closed, and one dropped on another thread when its
//!   own thread next opens or drops a guard. Until then its range covers what that thread launches, and the guards
//!   that this thread opens meanwhile are start/end ranges, so that it waits no longer than for those already open.
//! - An [`OwnedSpan`] and the root are start/end ranges: they end where and when the span closes.
//! - Ranges that are open when their session ends are ended with it: start/end ranges and those of the calling thread at
//!   once, those of other threads when these next open or drop a guard.
//! - A name arrives as it is, but for NUL, which NVTX cannot carry: it is shown as U+2400.
//! - Completed host work ([`TraceSession::record_completed_host_span`]) has no range: it is over when it is recorded.
//! - A program that pushes ranges of the default domain itself nests them with its guards, as NVTX wants it anyway.
//!
//! Unix only; elsewhere the feature does nothing.

mod buffer;
#[cfg(feature = "candle")]
pub mod candle;
mod clock;
mod cohort;
mod columns;
mod contract;
mod error;
mod facts;
mod flush;
#[cfg(feature = "jsonl")]
pub mod jsonl;
#[cfg(feature = "jsonl")]
mod jsonl_sink;
mod names;
#[cfg(feature = "nvtx")]
mod nvtx;
pub mod parquet_sink;
mod provenance;
mod records;
mod registry;
mod run;
mod selector;
mod session;
mod shared;
mod sink;
mod span;
mod storage;
pub mod table;
pub mod tables;

pub use clock::{ProcessMemory, process_memory, thread_cpu_ns};
pub use cohort::CohortRun;
pub use contract::{
    CaptureContract, ComparisonIdentity, ContractProblem, ExpectedGradient, GradientContract, GradientFamilyContract,
};
pub use error::{Error, Result};
pub use facts::gradient_problem;
pub use names::{
    Cohort, CoverageLevel, ExecutionPhase, ExecutionStep, FamilyExpectation, GradientState, MeasurementScope,
    MemoryCategory, Outcome, SpanKind, TimingMode,
};
pub use provenance::Host;
pub use records::{
    DTYPES, DeviceIntervalRecord, DeviceMemoryRecord, MemoryRecord, OpRecord, TensorRecord, TensorStats, is_quantized,
};
pub use run::ProfileRun;
pub use selector::CaptureSelector;
pub use session::TraceSession;
pub use span::{OwnedSpan, SpanGuard, SpanId};
