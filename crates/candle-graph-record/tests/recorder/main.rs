//! The recorder seen from outside: programs record, the Parquet files are read back, values are compared.
//! In: the public interface and the `parquet` crate. Out: one test binary, because linking is what costs.
//! Left to neighbours: the analysis of traces (the root crate), tensor helpers (feature `candle`).

mod ending;
mod facts;
mod files;
mod full_disk;
#[cfg(feature = "jsonl")]
mod jsonl;
mod kills;
#[cfg(all(unix, feature = "nvtx"))]
mod nvtx;
mod open;
mod short_captures;
mod spans;
mod threads;
mod world;
