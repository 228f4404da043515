//! Every way recording can fail, with what, where and what to do.
//! In: the facts of a failure. Out: one `std::error::Error`, so `?` works under `anyhow` and `Box<dyn Error>`.
//! Left to neighbours: deciding whether a failure poisons the session (`session`).

use std::path::PathBuf;

/// A recorder's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong while selecting, opening, recording or finishing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("invocation numbers are one-based: 0 selects nothing; pass 1 for the first")]
    SelectorZero,
    #[error("run {field} {problem}")]
    Run { field: &'static str, problem: String },
    #[error("capture contract: {field} {problem}")]
    Contract { field: String, problem: String },
    #[error("comparison identity: {field} {problem}")]
    Identity { field: &'static str, problem: &'static str },
    #[error("{what}: {field} {problem}")]
    Fact { what: &'static str, field: &'static str, problem: String },
    #[error("{what}: span {span} {problem}")]
    Span { what: &'static str, span: String, problem: &'static str },
    #[error("environment variable {variable} {problem}")]
    Environment { variable: &'static str, problem: String },
    #[error("{}: another session is recording here; give this one its own path", path.display())]
    Live { path: PathBuf },
    #[error("{}: already exists and is never overwritten; choose another path or remove it first", path.display())]
    Exists { path: PathBuf },
    #[error("{}: this build of the recorder has no JSON-lines writer; enable feature `jsonl` or drop the .jsonl extension", path.display())]
    JsonlFeature { path: PathBuf },
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{}: cannot write Parquet: {source}", path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error("{}: the recorder's writer thread ended unexpectedly: {cause}", path.display())]
    Writer { path: PathBuf, cause: String },
    #[error("the session can no longer become complete, because an earlier write failed: {cause}")]
    Poisoned { cause: String },
    #[cfg(feature = "candle")]
    #[error("{what}: candle could not read the tensor: {source}")]
    Candle { what: &'static str, source: candle_core::Error },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }

    pub(crate) fn parquet(path: impl Into<PathBuf>) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        let path = path.into();
        move |source| Error::Parquet { path, source }
    }

    pub(crate) fn fact(what: &'static str, field: &'static str, problem: impl Into<String>) -> Self {
        Error::Fact { what, field, problem: problem.into() }
    }
}
