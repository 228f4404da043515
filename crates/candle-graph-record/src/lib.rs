//! The recorder of candle-graph: what a training program links to record one selected update or invocation.
//!
//! It depends on Arrow and Parquet and on no query engine. Events go into buffers of the recording thread; a writer
//! thread cuts them every 100 ms into Parquet part files, and the end of the session makes one file per table of them.
//! No Arrow type shows in this interface except under [`table`] and [`tables`], which readers of traces use.

mod buffer;
#[cfg(feature = "candle")]
pub mod candle;
mod clock;
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
pub use contract::{
    CaptureContract, ComparisonIdentity, ContractProblem, ExpectedGradient, GradientContract, GradientFamilyContract,
};
pub use error::{Error, Result};
pub use facts::gradient_problem;
pub use names::{
    CoverageLevel, ExecutionPhase, ExecutionStep, FamilyExpectation, GradientState, MeasurementScope, MemoryCategory,
    Outcome, SpanKind, TimingMode,
};
pub use provenance::Host;
pub use records::{
    DTYPES, DeviceIntervalRecord, DeviceMemoryRecord, MemoryRecord, OpRecord, TensorRecord, TensorStats, is_quantized,
};
pub use run::ProfileRun;
pub use selector::CaptureSelector;
pub use session::TraceSession;
pub use span::{OwnedSpan, SpanGuard, SpanId};
