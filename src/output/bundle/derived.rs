//! Everything in a bundle that follows from its run record, its recorded tables and its Nsight files.
//! In: the examined trace of a bundle that is being made, or was. Out: the derived files, the same bytes every time.
//! Left to neighbours: the recorded files (`publish`), comparing (`semantic`).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use candle_graph_record::parquet_sink::write_table;
use candle_graph_record::table::{META_RUN_ID, META_SCHEMA, META_TABLE, META_UNIT, TABLES_SCHEMA};
use candle_graph_record::tables::run;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde_json::{Value, json};

use crate::error::{Error, Result, one_line};
use crate::evidence::{Evidence, gpu, is_large};
use crate::load::Trace;
use crate::load::bundle::{layout, table_path};
use crate::output::each::each;
use crate::output::redact::RedactionRecord;
use crate::output::{overview, report, schemas};
use crate::query;
use crate::session::{self, Limits};
use crate::tables;

/// The schema of evidence.json.
pub const EVIDENCE_SCHEMA: &str = "candle-graph/bundle-evidence/1";

/// One derived table.
struct Derived {
    /// Its name, and that of the query or view whose rows it holds; only the totals of operations have another one,
    /// because the recorded operations have theirs.
    table: &'static str,
    rows: Rows,
    /// Whether it needs a complete, valid capture.
    sound: bool,
    /// Whether it takes seconds, or as much room as the trace, where events are many: then it is left to be asked for.
    deep: bool,
}

/// Whose rows.
enum Rows {
    /// Of a query in queries/.
    Query(&'static str),
    /// Of a view in queries/views/, read by this statement in one order.
    View(&'static str),
}

const fn query(table: &'static str) -> Derived {
    Derived { table, rows: Rows::Query(table), sound: false, deep: false }
}

const fn view(table: &'static str, statement: &'static str) -> Derived {
    Derived { table, rows: Rows::View(statement), sound: false, deep: false }
}

const fn sound(d: Derived) -> Derived {
    Derived { sound: true, ..d }
}

const fn deep(d: Derived) -> Derived {
    Derived { deep: true, ..d }
}

/// Every derived table. A notebook reads them without an engine.
const DERIVED: &[Derived] = &[
    sound(view("measured_region", "SELECT * FROM measured_region ORDER BY run_id")),
    sound(view("span_times", "SELECT * FROM span_times ORDER BY run_id, start_ns NULLS LAST, span_id")),
    sound(query("step_split")),
    sound(query("host_hotspots")),
    sound(query("critical_path")),
    query("labels"),
    Derived { table: "op_totals", rows: Rows::Query("ops"), sound: false, deep: false },
    deep(query("op_work_by_name")),
    query("device_busy"),
    sound(query("slowest_device")),
    deep(query("activations_by_dense_output")),
    query("memory_totals"),
    deep(query("memory_timeline")),
    deep(query("memory_peak")),
    deep(query("peak_composition")),
    deep(query("peak_storages_ranked")),
    deep(view("storage_lifetimes", "SELECT * FROM storage_lifetimes ORDER BY run_id, alloc_seq, device, storage_id")),
    query("gradient_families"),
    query("first_non_finite"),
    query("gpu_correlation"),
    query("gpu_phases"),
    query("gpu_phase_kernels"),
    query("gpu_phase_copies"),
    query("gpu_attribution_totals"),
    query("gpu_attribution_gaps"),
    query("gpu_launches"),
    query("gpu_busy"),
    query("gpu_hotspots"),
    query("gpu_memory_operations"),
];

impl Derived {
    /// The query or view whose rows it holds.
    fn source(&self) -> &'static str {
        match self.rows {
            Rows::Query(name) => name,
            Rows::View(_) => self.table,
        }
    }

    /// What its columns mean.
    fn columns(&self) -> Result<Vec<query::NamedType>> {
        let mut columns = match self.rows {
            Rows::Query(name) => query::header(name)?.columns,
            Rows::View(_) => query::view_header(self.table)?.columns,
        };
        if columns.iter().all(|c| c.name != "run_id") {
            // Tables of many runs read as one.
            let column = |text: &str| text.to_owned();
            let (name, meaning) = (column("run_id"), column("The run."));
            columns.insert(0, query::NamedType { name, type_name: column("Utf8"), unit: column("id"), meaning });
        }
        Ok(columns)
    }

    /// Its rows, with the run in each.
    fn rows(&self, evidence: &Evidence) -> Result<Vec<RecordBatch>> {
        let rows = match self.rows {
            Rows::Query(name) => evidence.whole(name)?,
            Rows::View(statement) => evidence.session.collect(evidence.session.sql(statement)?)?,
        };
        let run_id = &evidence.trace.run.run_id;
        let with_run = |batch: RecordBatch| {
            if batch.column_by_name("run_id").is_some() {
                return Ok(batch);
            }
            let mut fields = vec![Arc::new(Field::new("run_id", DataType::Utf8, false))];
            fields.extend(batch.schema().fields().iter().cloned());
            let mut columns: Vec<ArrayRef> =
                vec![Arc::new(StringArray::from_iter_values(std::iter::repeat_n(run_id, batch.num_rows())))];
            columns.extend(batch.columns().iter().cloned());
            RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
                .map_err(|e| Error::Sql { problem: format!("table {}: {e}", self.table) })
        };
        rows.into_iter().map(with_run).collect()
    }
}

/// Where a derived file goes, of a bundle at `dir`.
fn target(dir: &Path, table: &str) -> PathBuf {
    dir.join(table_path(table))
}

/// Examines the trace of a bundle as every machine examines it: rows are read in one order, whatever its cores.
pub fn examine(trace: Trace) -> Result<Evidence> {
    let headlines = report::headlines(&trace);
    Evidence::gather(trace, Limits { partitions: Some(1), ..Limits::default() }, &headlines)
}

/// Writes every derived file into the bundle at `dir`, whose folder of tables exists.
///
/// `viewer`: with the page for a browser.
pub(super) fn write(evidence: &Evidence, redaction: Option<&RedactionRecord>, viewer: bool, dir: &Path) -> Result<()> {
    let run = &evidence.trace.run;
    write_table(&target(dir, "run"), &run::spec(), &[run.to_batch()])?;
    let coverage = evidence.coverage();
    for (spec, batch) in [(tables::coverage(), coverage), (tables::schema(), schema_rows()?)] {
        let columns = batch.columns().to_vec();
        let batch = RecordBatch::try_new(spec.schema(Some(&run.run_id)), columns)
            .map_err(|e| Error::Sql { problem: format!("table {}: {e}", spec.name) })?;
        write_table(&target(dir, spec.name), &spec, &[batch])?;
    }
    let wanted: Vec<&Derived> = DERIVED
        .iter()
        .filter(|d| !d.sound || evidence.health.is_sound())
        .filter(|d| !d.deep || !is_large(&evidence.trace))
        .filter(|d| gpu::lacking_for(&evidence.trace, d.table).is_none())
        .collect();
    // Each query reads in one order; two at a time keep two cores busy, and more would hold more rows in memory.
    each(&wanted, 2, |derived| write_rows(evidence, derived, derived.rows(evidence)?, &target(dir, derived.table)))?;
    let put = |name: &str, bytes: Vec<u8>| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).map_err(Error::io("write", &path))
    };
    put(layout::EVIDENCE, json_bytes(&evidence_document(evidence, redaction)?))?;
    let page = report::Extra {
        removed: redaction.iter().flat_map(|r| &r.removed).map(|r| (r.what.clone(), r.places as usize)).collect(),
    };
    put(layout::REPORT, report::markdown(evidence, &page)?.into_bytes())?;
    if viewer { put(layout::VIEWER, viewer_page(evidence)?) } else { Ok(()) }
}

/// viewer.html.
#[cfg(feature = "visualizer")]
fn viewer_page(evidence: &Evidence) -> Result<Vec<u8>> {
    crate::output::viewer::of_trace(evidence, crate::output::viewer::MOST)
}

#[cfg(not(feature = "visualizer"))]
fn viewer_page(_: &Evidence) -> Result<Vec<u8>> {
    Err(Error::Usage { problem: "this build has no viewer: its feature visualizer is off".to_owned() })
}

/// A document as the bytes it has in a bundle.
pub(super) fn json_bytes(document: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The rows of `schema` in a bundle: those of a session, and the columns of the derived tables.
fn schema_rows() -> Result<RecordBatch> {
    let recorded = session::schema_batch();
    let mut columns: Vec<(&str, query::NamedType)> = Vec::new();
    for derived in DERIVED {
        columns.extend(derived.columns()?.into_iter().map(|c| (derived.table, c)));
    }
    let text = |get: fn(&(&str, query::NamedType)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(columns.iter().map(get)))
    };
    let added = vec![
        text(|(table, _)| (*table).to_owned()),
        text(|(_, c)| c.name.clone()),
        text(|(_, c)| c.type_name.clone()),
        // What a query computes may be absent in any row.
        Arc::new(BooleanArray::from(vec![true; columns.len()])),
        text(|(_, c)| c.unit.clone()),
        text(|(_, c)| c.meaning.clone()),
        text(|_| TABLES_SCHEMA.to_owned()),
    ];
    let wrong = |e: arrow::error::ArrowError| Error::Sql { problem: format!("table schema: {e}") };
    let added = RecordBatch::try_new(recorded.schema(), added).map_err(wrong)?;
    concat_batches(&recorded.schema(), [&recorded, &added]).map_err(wrong)
}

/// Writes the rows of a query as one Parquet file; no file where there are none.
fn write_rows(evidence: &Evidence, derived: &Derived, rows: Vec<RecordBatch>, path: &Path) -> Result<()> {
    let Some(first) = rows.iter().find(|b| b.num_rows() > 0) else { return Ok(()) };
    let run_id = &evidence.trace.run.run_id;
    let described = derived.columns()?;
    let found = first.schema();
    let fields = found.fields().iter().zip(&described).map(|(field, column)| {
        let unit = [(META_UNIT.to_owned(), column.unit.clone())];
        Arc::new(field.as_ref().clone().with_metadata(unit.into_iter().collect()))
    });
    let mut stated = vec![
        (META_RUN_ID.to_owned(), run_id.clone()),
        (META_SCHEMA.to_owned(), TABLES_SCHEMA.to_owned()),
        (META_TABLE.to_owned(), derived.table.to_owned()),
        ("candle_graph.query".to_owned(), derived.source().to_owned()),
    ];
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()).with_metadata(stated.iter().cloned().collect()));
    stated.extend(described.iter().map(|c| (format!("{META_UNIT}.{}", c.name), c.unit.clone())));
    let zstd = ZstdLevel::try_new(1).map_err(|e| Error::input(path, one_line(&e.to_string())))?;
    let properties = WriterProperties::builder()
        .set_created_by(concat!("candle-graph ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(zstd))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(stated.into_iter().map(|(k, v)| KeyValue::new(k, v)).collect()))
        .build();
    // One batch: where pages end depends on how rows arrive, and the bytes must not.
    let arrow = |e: arrow::error::ArrowError| Error::input(path, one_line(&e.to_string()));
    let plain = concat_batches(&first.schema(), &rows).map_err(arrow)?;
    let batch = RecordBatch::try_new(schema.clone(), plain.columns().to_vec()).map_err(arrow)?;
    let parquet = |e: parquet::errors::ParquetError| Error::input(path, one_line(&e.to_string()));
    let file = File::create(path).map_err(Error::io("create", path))?;
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(parquet)?;
    writer.write(&batch).map_err(parquet)?;
    writer.close().map(drop).map_err(parquet)
}

/// evidence.json: the first look without what belongs to a command line, and what else the bundle holds.
fn evidence_document(evidence: &Evidence, redaction: Option<&RedactionRecord>) -> Result<Value> {
    let mut document = overview::to_json(&overview::build(evidence)?)?;
    let fields = document.as_object_mut().ok_or_else(|| Error::Sql { problem: "evidence is no object".to_owned() })?;
    for name in overview::FOREIGN {
        fields.remove(*name);
    }
    fields.insert("schema".to_owned(), json!(EVIDENCE_SCHEMA));
    fields.insert("tables_schema".to_owned(), json!(TABLES_SCHEMA));
    let recorded: serde_json::Map<String, Value> = {
        let events = tables::events();
        let recorded = events.iter().filter_map(|t| Some((t.name, evidence.trace.rows.get(t.name)?)));
        recorded.map(|(table, rows)| (table.to_owned(), json!(rows))).collect()
    };
    fields.insert("recorded_rows".to_owned(), Value::Object(recorded));
    let left_out = DERIVED.iter().filter(|d| d.deep && is_large(&evidence.trace));
    let left_out: Vec<Value> = left_out.map(|d| json!({"table": d.table, "query": d.source()})).collect();
    fields.insert("tables_left_out".to_owned(), Value::Array(left_out));
    let nsight = evidence.trace.nsight.iter().flat_map(|supplied| &supplied.files);
    let nsight: Vec<Value> = nsight.map(|file| json!({"name": file.path, "bytes": file.bytes})).collect();
    fields.insert("nsight_files".to_owned(), Value::Array(nsight));
    fields.insert("redaction".to_owned(), json!(redaction));
    Ok(document)
}

/// The JSON Schema of evidence.json, from that of the overview.
pub fn evidence_schema() -> Value {
    let mut schema = schemas::overview_schema(EVIDENCE_SCHEMA);
    let (redaction, definitions) = schemas::redaction_schema();
    if let (Some(known), Value::Object(more)) = (schema["$defs"].as_object_mut(), definitions) {
        known.extend(more);
    }
    schema["title"] = json!("BundleEvidence");
    let added = json!({
        "tables_schema": {"type": "string", "description": "Layout of the tables."},
        "recorded_rows": {"type": "object", "additionalProperties": {"type": "integer"},
                          "description": "Rows of each recorded table that has any."},
        "tables_left_out": {
            "type": "array", "description": "Derived tables that a large trace leaves to be asked for.",
            "items": {"type": "object", "properties": {"table": {"type": "string"}, "query": {"type": "string"}},
                      "required": ["table", "query"]}},
        "nsight_files": {
            "type": "array", "description": "Nsight files of the bundle, as they were supplied.",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "bytes": {"type": "integer"}},
                      "required": ["name", "bytes"]}},
        "redaction": {"anyOf": [redaction, {"type": "null"}],
                      "description": "What was taken out before publication; null: nothing was asked to be."},
    });
    if let (Some(properties), Some(added)) = (schema["properties"].as_object_mut(), added.as_object()) {
        for name in overview::FOREIGN {
            properties.remove(*name);
        }
        properties.extend(added.clone());
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| !overview::FOREIGN.iter().any(|f| name == f));
        required.extend(added.as_object().into_iter().flatten().map(|(name, _)| json!(name)));
    }
    schema
}
