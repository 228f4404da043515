//! A read-only SQL context over one or many traces.
//! In: opened traces. Out: a `SessionContext` with the recorded tables, `run`, `coverage`, `schema` and the views of
//! queries/views/, and a runtime to drive it. Left to neighbours: the text of queries (`query`), levels of coverage
//! (`evidence`, which hands its rows in).

mod kept;
mod views;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{GreedyMemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{DataFrame, SQLOptions, SessionConfig, SessionContext};
use futures::StreamExt;

use crate::error::{Error, Result};
use crate::load::Trace;
use crate::tables;

pub use views::VIEWS;

/// How much a session may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes the engine may hold before it spills to disk.
    pub memory_bytes: usize,
    /// How many parts of a table are read at once; `None`: as many as there are cores. With one, rows are summed in the
    /// order in which they are stored, so that a sum of floats has the same last bit on every machine.
    pub partitions: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, partitions: None }
    }
}

/// Below this many events one partition is fastest: starting more costs more than they save.
pub const SMALL: u64 = 100_000;

/// Rows of `run` shown as one batch per trace; the engine needs no more than that.
fn run_batches(traces: &[Trace]) -> Vec<RecordBatch> {
    traces.iter().map(|t| t.run.to_batch()).collect()
}

/// No statement may define, write or set anything.
fn read_only() -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false)
}

/// A statement that only reads, its text parameters, and which of its rows are wanted.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    pub text: &'static str,
    /// By name, without the `$`; `None` binds NULL.
    pub parameters: HashMap<String, Option<String>>,
    /// Rows to skip and rows to keep (`None`: to the end).
    pub limit: Option<(usize, Option<usize>)>,
}

impl Statement {
    async fn plan(self, context: &SessionContext) -> datafusion::error::Result<DataFrame> {
        let frame = context.sql_with_options(self.text, read_only()).await?;
        if self.parameters.is_empty() {
            return Ok(frame);
        }
        let values = self.parameters.into_iter().map(|(name, value)| (name, ScalarValue::Utf8(value).into()));
        frame.with_param_values(ParamValues::Map(values.collect()))
    }
}

/// A SQL context over traces; it cannot write, and reads no file but theirs.
pub struct Session {
    context: SessionContext,
    /// The same for statements that read kept views.
    written: SessionContext,
    /// Whether there are so many rows that questions of kept views are answered one by one.
    large: bool,
    runtime: tokio::runtime::Runtime,
    /// What the tables read.
    files: Vec<PathBuf>,
    /// Views that exist already.
    made: Mutex<HashSet<&'static str>>,
    /// Removed with the session.
    scratch: Mutex<Scratch>,
}

impl Session {
    /// Makes the context.
    ///
    /// # Errors
    /// A path that is no UTF-8 URL can be made of, or an engine that refuses its set-up.
    pub fn open(traces: &[Trace], limits: Limits) -> Result<Self> {
        let events: u64 = traces.iter().map(Trace::stored_rows).sum();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let partitions = limits.partitions.unwrap_or(if events < SMALL { 1 } else { cores });
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            .with_target_partitions(partitions)
            .with_parquet_page_index_pruning(false)
            .with_parquet_bloom_filter_pruning(false);
        // Plain Utf8 in, plain Utf8 out: what a query returns has the types its header and the stored files have.
        config.options_mut().execution.parquet.schema_force_view_types = false;
        config.options_mut().sql_parser.map_string_types_to_utf8view = false;
        config.options_mut().execution.parquet.skip_metadata = true;
        if events < SMALL {
            // Planning is most of the work here, and a second pass of the optimizer changes no plan that is worth it.
            config.options_mut().optimizer.max_passes = 1;
        }
        let sql = |e: &datafusion::error::DataFusionError| Error::sql(e);
        // Not the fair pool: under it a plan that joins, sorts and spills stopped for ever at 20 million rows.
        let pool = GreedyMemoryPool::new(limits.memory_bytes);
        let top = std::num::NonZero::<usize>::MIN;
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, top)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(DiskManagerMode::OsTmpDirectory))
            .build_arc()
            .map_err(|e| sql(&e))?;
        let context = SessionContext::new_with_config_rt(config, environment);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(cores).build().map_err(|source| {
            Error::Io { action: "start threads for", path: PathBuf::from("the query engine"), source }
        })?;
        let files = traces.iter().flat_map(|t| t.files.values().flatten().cloned()).collect();
        let large = events > kept::LARGE;
        let written = kept::as_written(&context, large);
        let session =
            Self { context, written, large, runtime, files, made: Mutex::default(), scratch: Mutex::default() };
        for spec in tables::stored() {
            let files: Vec<PathBuf> =
                traces.iter().flat_map(|t| t.files.get(spec.name).cloned().unwrap_or_default()).collect();
            let table = parquet_table(files, plain(&spec.schema(None)), &session.scratch)?;
            session.register(spec.name, table)?;
        }
        let runs = run_batches(traces);
        session.register_batches("run", plain(&candle_graph_record::tables::run::spec().schema(None)), runs)?;
        session.register_batches("schema", plain(&tables::schema().schema(None)), vec![schema_batch()])?;
        Ok(session)
    }

    fn register(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<()> {
        self.context.register_table(name, table).map(drop).map_err(|e| Error::sql(&e))
    }

    /// Adds a table that was made in memory.
    ///
    /// # Errors
    /// Batches whose columns are not those of `schema`.
    pub fn register_batches(&self, name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<()> {
        let wrong = |e: arrow::error::ArrowError| Error::Sql { problem: format!("table {name}: {e}") };
        let batches: Vec<RecordBatch> = batches
            .into_iter()
            .map(|b| RecordBatch::try_new(schema.clone(), b.columns().to_vec()).map_err(wrong))
            .collect::<Result<_>>()?;
        let table = MemTable::try_new(schema, vec![batches]).map_err(|e| Error::sql(&e))?;
        self.register(name, Arc::new(table))
    }

    /// The schema a derived table has in a session.
    pub fn plain_schema(spec: &candle_graph_record::table::TableSpec) -> SchemaRef {
        plain(&spec.schema(None))
    }

    /// Makes the views that a statement may name, and those that they read. Planning all of them would cost more than
    /// most questions do.
    fn make_views(&self, statement: &str) -> Result<()> {
        let statement = code_of(statement);
        // What lists the tables must find them all.
        let lists = |word: &&str| statement.trim_start().starts_with(*word);
        let all = statement.contains("information_schema") || ["show", "desc"].iter().any(lists);
        let mut wanted: Vec<String> = vec![statement];
        let mut named = vec![all; VIEWS.len()];
        while let Some(text) = wanted.pop() {
            for (index, (name, view)) in VIEWS.iter().enumerate() {
                if !named[index] && text.contains(name) {
                    named[index] = true;
                    wanted.push(code_of(view));
                }
            }
        }
        let mut made = self.made.lock().unwrap_or_else(|e| e.into_inner());
        for ((name, text), _) in VIEWS.iter().zip(named).filter(|(_, named)| *named) {
            // Each stands after those it reads.
            if !made.contains(name) {
                let wrong = |e| Error::Query { query: (*name).to_owned(), problem: Error::sql(&e).to_string() };
                // What lists all tables reads none of them.
                let table = if kept::KEPT.contains(name) && !all {
                    let frame = self.wait(self.written.sql_with_options(text, read_only())).map_err(wrong)?;
                    self.wait(kept::keep(frame, name, &self.scratch))?
                } else {
                    self.wait(self.context.sql_with_options(text, read_only())).map_err(wrong)?.into_view()
                };
                self.register(name, table)?;
                made.insert(name);
            }
        }
        Ok(())
    }

    fn context_of(&self, statement: &str) -> &SessionContext {
        if kept::reads(&code_of(statement)) { &self.written } else { &self.context }
    }

    /// Plans one statement that only reads. Nothing runs yet.
    ///
    /// # Errors
    /// What the engine cannot plan, and every statement that would write, define or set something.
    pub fn sql(&self, text: &str) -> Result<DataFrame> {
        self.make_views(text)?;
        self.wait(self.context_of(text).sql_with_options(text, read_only())).map_err(|e| Error::sql(&e))
    }

    /// As [`Session::sql`], with text for its parameters; those without are NULL.
    ///
    /// # Errors
    /// As [`Session::sql`], and a parameter that the statement does not have.
    pub fn sql_with(&self, text: &str, parameters: &HashMap<String, String>) -> Result<DataFrame> {
        let frame = self.sql(text)?;
        let names = frame.logical_plan().get_parameter_names().map_err(|e| Error::sql(&e))?;
        let names: Vec<&str> = names.iter().map(|n| n.trim_start_matches('$')).collect();
        if let Some(unknown) = parameters.keys().find(|p| !names.contains(&p.as_str())) {
            return Err(Error::Usage { problem: format!("the statement has no parameter ${unknown}") });
        }
        if names.is_empty() {
            return Ok(frame);
        }
        let value = |name: &&str| ((*name).to_owned(), ScalarValue::Utf8(parameters.get(*name).cloned()).into());
        frame.with_param_values(ParamValues::Map(names.iter().map(value).collect())).map_err(|e| Error::sql(&e))
    }

    /// Runs a future of the engine to its end.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Runs a plan and collects its rows.
    ///
    /// # Errors
    /// What the engine reports while running.
    pub fn collect(&self, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        let rows = self.wait(frame.collect()).map_err(|e| Error::sql(&e))?;
        self.all_there()?;
        Ok(rows)
    }

    /// Runs a plan and hands its rows on as they arrive; gives their number.
    ///
    /// # Errors
    /// What the engine reports while running, and the first failure of `of`.
    pub fn each_batch(&self, frame: DataFrame, mut of: impl FnMut(RecordBatch) -> Result<()>) -> Result<usize> {
        let mut stream = self.wait(frame.execute_stream()).map_err(|e| Error::sql(&e))?;
        let mut rows = 0;
        while let Some(batch) = self.wait(stream.next()).transpose().map_err(|e| Error::sql(&e))? {
            rows += batch.num_rows();
            of(batch)?;
        }
        self.all_there()?;
        Ok(rows)
    }

    /// Checks, after rows were read, that no file of the trace has gone: the engine takes an absent file for an empty
    /// one, and a recording that ends while it is read moves its files.
    ///
    /// # Errors
    /// The file that is gone.
    pub fn all_there(&self) -> Result<()> {
        match self.files.iter().find(|f| !f.exists()) {
            None => Ok(()),
            Some(gone) => Err(Error::input(gone, "went away while it was read; run the command again")),
        }
    }

    /// Plans and runs several statements at once, each on a thread of its own while there are any, and collects the
    /// rows of each, in their order. Planning counts: for a small trace it is most of the work.
    ///
    /// # Errors
    /// The first failure the engine reports.
    pub fn run_all(&self, statements: Vec<Statement>) -> Result<Vec<Vec<RecordBatch>>> {
        statements.iter().try_for_each(|s| self.make_views(s.text))?;
        let results = self.wait(async {
            let run = |statement: Statement| {
                let context = self.context_of(statement.text).clone();
                tokio::spawn(async move {
                    let limit = statement.limit;
                    let frame = statement.plan(&context).await?;
                    match limit {
                        Some((skip, fetch)) => frame.limit(skip, fetch)?.collect().await,
                        None => frame.collect().await,
                    }
                })
            };
            // Sorts of very many rows side by side leave each other no memory.
            let alone = self.large && statements.iter().any(|s| kept::reads(&code_of(s.text)));
            let running: Vec<_> = match alone {
                true => Vec::new(),
                false => statements.iter().cloned().map(run).collect(),
            };
            let mut running = running.into_iter();
            let mut results = Vec::with_capacity(statements.len());
            for statement in statements {
                let result = running.next().unwrap_or_else(|| run(statement));
                let rows = result.await.map_err(|e| Error::Sql { problem: format!("a query was stopped: {e}") })?;
                results.push(rows.map_err(|e| Error::sql(&e))?);
            }
            Ok::<_, Error>(results)
        })?;
        self.all_there()?;
        Ok(results)
    }

    /// How many rows a statement has.
    ///
    /// # Errors
    /// The engine's own failures.
    pub fn count(&self, statement: Statement) -> Result<usize> {
        self.make_views(statement.text)?;
        let context = self.context_of(statement.text);
        let rows = self.wait(async { statement.plan(context).await?.count().await });
        let rows = rows.map_err(|e| Error::sql(&e))?;
        self.all_there()?;
        Ok(rows)
    }

    /// Whether `name` is a view.
    pub fn is_view(&self, name: &str) -> bool {
        VIEWS.iter().any(|(view, _)| *view == name)
    }
}

/// A statement in lower case and without the lines that are comments: a view that only they name is not read.
fn code_of(statement: &str) -> String {
    let code = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    code.collect::<Vec<_>>().join("\n").to_ascii_lowercase()
}

/// The schema without metadata: files of many runs differ in it.
fn plain(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|f| f.as_ref().clone().with_metadata(Default::default())).collect();
    Arc::new(arrow::datatypes::Schema::new(fields))
}

fn parquet_table(files: Vec<PathBuf>, schema: SchemaRef, scratch: &Mutex<Scratch>) -> Result<Arc<dyn TableProvider>> {
    if files.is_empty() {
        return Ok(Arc::new(EmptyTable::new(schema)));
    }
    let mut scratch = scratch.lock().unwrap_or_else(|e| e.into_inner());
    let urls = files.iter().map(|f| file_url(&scratch.name(f)?)).collect::<Result<Vec<_>>>()?;
    let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
    let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options).with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config).map_err(|e| Error::sql(&e))?))
}

/// Whether the engine can name a path: it keeps names as UTF-8 text without control characters.
fn nameable(path: &Path) -> bool {
    path.to_str().is_some_and(|text| !text.chars().any(char::is_control))
}

/// A path as the engine takes it: every character a name, never a pattern.
fn file_url(path: &Path) -> Result<ListingTableUrl> {
    let url = url::Url::from_file_path(path)
        .map_err(|()| Error::input(path, "cannot be given to the query engine as a file URL"))?;
    ListingTableUrl::try_new(url, None).map_err(|e| Error::sql(&e))
}

/// A directory of the session: rows of kept views, and other names (symbolic links) for files whose own the engine
/// cannot keep. Removed with the session, made when it is needed.
#[derive(Default)]
struct Scratch {
    directory: Option<tempfile::TempDir>,
    links: usize,
}

impl Scratch {
    fn path(&mut self) -> Result<PathBuf> {
        let directory = match &self.directory {
            Some(directory) => directory,
            None => self.directory.insert(crate::load::scratch_dir()?),
        };
        directory.path().canonicalize().map_err(Error::io("open", directory.path()))
    }

    /// The absolute path of a file, or of a link to it.
    fn name(&mut self, path: &Path) -> Result<PathBuf> {
        // Resolved, because the engine takes `..` for an attack.
        let absolute = path.canonicalize().map_err(Error::io("open", path))?;
        if nameable(&absolute) {
            return Ok(absolute);
        }
        self.links += 1;
        let link = self.path()?.join(format!("link-{}.parquet", self.links));
        symlink(&absolute, &link).map_err(Error::io("link to", path))?;
        Ok(link)
    }
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "the query engine cannot name this path"))
}

/// The rows of `schema`: every column of the recorded tables, of `coverage` and of `schema` itself.
pub fn schema_batch() -> RecordBatch {
    use arrow::array::{BooleanArray, StringArray};
    let specs = tables::all();
    let rows: Vec<_> = specs.iter().flat_map(|t| t.columns.iter().map(move |c| (t.name, c))).collect();
    let text = |get: &dyn Fn(&(&'static str, &candle_graph_record::table::ColumnSpec)) -> String| {
        Arc::new(StringArray::from_iter_values(rows.iter().map(get)))
    };
    RecordBatch::try_new(
        plain(&tables::schema().schema(None)),
        vec![
            text(&|(table, _)| (*table).to_owned()),
            text(&|(_, c)| c.name.to_owned()),
            text(&|(_, c)| c.type_name.clone()),
            Arc::new(BooleanArray::from_iter(rows.iter().map(|(_, c)| Some(c.nullable)))),
            text(&|(_, c)| c.unit.as_str().to_owned()),
            text(&|(_, c)| c.doc.to_owned()),
            text(&|_| candle_graph_record::table::TABLES_SCHEMA.to_owned()),
        ],
    )
    .expect("columns follow tables::schema()")
}
