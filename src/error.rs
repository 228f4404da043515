//! Every way reading and explaining a trace can fail, with what, where and what to do.
//! In: the facts of a failure. Out: one error whose text is one line. Left to neighbours: exit codes (`cli`).

use std::path::PathBuf;

/// A reader's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong while reading or explaining a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    /// The input is not what a command takes.
    #[error("{}: {problem}", path.display())]
    Input { path: PathBuf, problem: String },
    #[error("{}: table {table}: {problem}", path.display())]
    Table { path: PathBuf, table: String, problem: String },
    #[error("{}: line {line}: {problem}", path.display())]
    Line { path: PathBuf, line: u64, problem: String },
    #[error("query {query}: {problem}")]
    Query { query: String, problem: String },
    #[error("SQL: {problem}")]
    Sql { problem: String },
    /// A question whose answer this capture cannot carry.
    #[error(
        "{kind} needs a complete, structurally valid capture, and this one has {reason}; `candle-graph sql` reads the rows \
         that were recorded, e.g. 'SELECT * FROM spans'"
    )]
    Refused { kind: String, reason: String },
    /// Cohorts of which no verdict may be given.
    #[error("the cohorts are not comparable ({code}): {problem}; the comparison that was written has every reason")]
    Ineligible { code: &'static str, problem: String },
    /// A publication that failed; what was recorded is still there.
    #[error("{problem}; the trace is kept at {}: `candle-graph report` publishes it", trace.display())]
    Kept { problem: String, trace: PathBuf },
    #[error("{problem}")]
    Usage { problem: String },
    #[error(transparent)]
    Record(#[from] candle_graph_record::Error),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }

    /// The same failure told of another path: a reader knows the bundle, not the copy or the stage it was met in.
    pub(crate) fn of_path(self, named: impl FnOnce(PathBuf) -> PathBuf) -> Self {
        match self {
            Error::Io { action, path, source } => Error::Io { action, path: named(path), source },
            Error::Input { path, problem } => Error::Input { path: named(path), problem },
            Error::Table { path, table, problem } => Error::Table { path: named(path), table, problem },
            other => other,
        }
    }

    pub(crate) fn input(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Error::Input { path: path.into(), problem: problem.into() }
    }

    /// An engine's failure as one line; its messages can span several.
    pub(crate) fn sql(error: &datafusion::error::DataFusionError) -> Self {
        let message = one_line(&error.strip_backtrace());
        let hint = match error.find_root() {
            datafusion::error::DataFusionError::ResourcesExhausted(_) => "; a larger `sql --memory-limit` may do",
            // What the engine says of a statement that would do more than read.
            _ if ["DDL", "DML", "Statement"].iter().any(|kind| message.contains(&format!("{kind} not supported"))) => {
                "; this SQL only reads: give one SELECT"
            }
            _ if message.contains("table '") && message.contains("not found") => {
                "; `SHOW TABLES` lists the tables and views"
            }
            _ => "",
        };
        Error::Sql { problem: format!("{message}{hint}") }
    }
}

/// `text` without line breaks.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
