//! JSON Schema of every emitted document and every table, and the generated pages of docs/.
//! In: the document types, the table list, the query headers. Out: file names and contents.
//! Left to neighbours: writing them (a test does, on request) and printing one (`cli`).

use arrow::datatypes::DataType;
use candle_graph_record::table::{ColumnSpec, TABLES_SCHEMA, TableSpec};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::documents::Provenance;
use super::redact::{REDACTION_SCHEMA, RedactionRecord};
use super::{bounds, bundle, campaign, cohort, compare, overview, protocol, query, series, sql, summary};
use crate::evidence::FINDING_QUERIES;
use crate::load::bundle::{BUNDLE_SCHEMA, Manifest, RUN_SCHEMA};
use crate::load::nsight::{CAPTURE_SCHEMA, CaptureManifest};
use crate::query::{Header, QUERIES, parse};
use crate::session::VIEWS;
use crate::tables;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

fn generated<T: JsonSchema>(id: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$id".to_owned(), json!(id));
        if let Some(version) = fields.get_mut("properties").and_then(|p| p.get_mut("schema")) {
            *version = json!({"const": id});
        }
    }
    schema
}

/// Schema of one row of a query, from its header.
fn row_schema(name: &str) -> Value {
    let header = header(name);
    let properties: Map<String, Value> = header
        .columns
        .iter()
        .map(|c| {
            let kind = match c.type_name.as_str() {
                "Int64" => json!(["integer", "null"]),
                "Float64" => json!(["number", "null"]),
                "Boolean" => json!(["boolean", "null"]),
                t if t.starts_with("List") => json!(["array", "null"]),
                _ => json!(["string", "null"]),
            };
            let mut property = json!({"type": kind, "description": format!("{} [{}]", c.meaning, c.unit)});
            match c.type_name.as_str() {
                "List<Int64>" => property["items"] = json!({"type": "integer"}),
                "List<Utf8>" => property["items"] = json!({"type": "string"}),
                _ => {}
            }
            (c.name.clone(), property)
        })
        .collect();
    let names: Vec<&str> = header.columns.iter().map(|c| c.name.as_str()).collect();
    let mut properties = properties;
    let cut = "Full lengths of the lists that were cut, by column, in a response that was not asked for whole.";
    properties.insert(
        bounds::CUT.to_owned(),
        json!({"type": "object", "description": cut, "additionalProperties": {"type": "integer"}}),
    );
    json!({
        "type": "object",
        "description": header.row,
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

fn header(name: &str) -> Header {
    let text = QUERIES.iter().chain(VIEWS).find(|(n, _)| *n == name).map_or("", |(_, text)| *text);
    parse(text).unwrap_or_default()
}

fn query_schema() -> Value {
    let mut schema = generated::<query::QueryDocument>(query::SCHEMA);
    // One generator for all, so that a definition has one name; definitions live at the root.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut definitions = Map::new();
    let mut part = |mut part: Value| {
        if let Some(fields) = part.as_object_mut() {
            fields.remove("$schema");
            fields.remove("title");
            if let Some(Value::Object(found)) = fields.remove("$defs") {
                definitions.extend(found);
            }
        }
        part
    };
    let kinds: Vec<Value> = query::KINDS
        .iter()
        .map(|kind| {
            let result = match kind.shape {
                query::Shape::Collection(name) => {
                    let mut result = match kind.name {
                        "spans" => part(generator.root_schema_for::<query::Spans>().to_value()),
                        _ => part(generator.root_schema_for::<query::Collection>().to_value()),
                    };
                    result["properties"]["rows"] = json!({"type": ["array", "null"], "items": row_schema(name)});
                    result
                }
                query::Shape::Ranking(name, field) => {
                    let mut result = part(generator.root_schema_for::<query::Ranking>().to_value());
                    result["properties"][field] = json!({"type": ["array", "null"], "items": row_schema(name)});
                    if let Some(required) = result["required"].as_array_mut() {
                        required.push(json!(field));
                    }
                    result
                }
                query::Shape::Capabilities => json!({"$ref": "#/properties/capabilities"}),
                query::Shape::Activations => part(generator.root_schema_for::<query::Activations>().to_value()),
                query::Shape::Heaviest => part(generator.root_schema_for::<query::Heaviest>().to_value()),
                query::Shape::Memory => part(generator.root_schema_for::<query::MemoryResult>().to_value()),
                query::Shape::FirstNonFinite => part(generator.root_schema_for::<query::FirstNonFinite>().to_value()),
                query::Shape::Gpu(question) => part(match question {
                    query::Gpu::Status => generator.root_schema_for::<query::gpu::GpuStatus>().to_value(),
                    query::Gpu::Correlation => generator.root_schema_for::<query::gpu::GpuCorrelation>().to_value(),
                    query::Gpu::Phases => generator.root_schema_for::<query::gpu::GpuPhases>().to_value(),
                    query::Gpu::Kernels => generator.root_schema_for::<query::gpu::GpuKernels>().to_value(),
                    query::Gpu::Gaps => generator.root_schema_for::<query::gpu::GpuGaps>().to_value(),
                }),
            };
            json!({"if": {"properties": {"kind": {"const": kind.name}}}, "then": {"properties": {"result": result}}})
        })
        .collect();
    if let Some(known) = schema["$defs"].as_object_mut() {
        known.extend(definitions);
    }
    schema["properties"]["kind"] = json!({"enum": query::KINDS.iter().map(|k| k.name).collect::<Vec<_>>()});
    schema["allOf"] = json!(kinds);
    schema
}

/// What the documentation of a field begins with whose rows are a query's, and one whose value is one row.
const ROWS_OF: &str = "Rows of query `";
const ROW_OF: &str = "Row of query `";

/// Gives every list of rows the schema of the query that its documentation names.
fn with_rows(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        let described = fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        let named = |begin: &str| Some(row_schema(described.strip_prefix(begin)?.split('`').next()?));
        if let Some(row) = named(ROW_OF) {
            fields.retain(|name, _| name == "description");
            fields.insert("anyOf".to_owned(), json!([row, {"type": "null"}]));
            return;
        }
        if let Some(row) = named(ROWS_OF) {
            let rows = json!({"rows": {"items": row}});
            if fields.contains_key("$ref") {
                // A bounded list: the shared part, and what its rows are.
                fields.insert("properties".to_owned(), rows);
            } else if let Some(list) = fields.get_mut("anyOf").and_then(|a| a.get_mut(0)) {
                // The same, or null.
                list["properties"] = rows;
            } else {
                fields.insert("items".to_owned(), row);
            }
            return;
        }
        fields.values_mut().for_each(with_rows);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(with_rows);
    }
}

/// The overview's schema under another name.
pub(super) fn overview_schema(id: &str) -> Value {
    generated::<overview::Overview>(id)
}

/// The schema of run.json: provenance in which what is not known is left out.
fn run_schema() -> Value {
    let mut schema = generated::<Provenance>(RUN_SCHEMA);
    schema["title"] = json!("Run");
    schema["properties"]["schema"] = json!({"const": RUN_SCHEMA});
    schema["properties"]["tables"] = json!({"type": "string", "description": "Layout of the tables of the run."});
    schema["properties"]["started_at_us"] =
        json!({"type": "integer", "description": "Microseconds since 1970; only where `timestamp` cannot say them."});
    let optional = [
        "comparison_identity",
        "candle_graph_version",
        "candle_version",
        "os",
        "host_name",
        "cpu_model",
        "logical_cores",
        "toolchain",
        "build_profile",
        "git_revision",
    ];
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| !optional.iter().any(|o| name == o));
        required.push(json!("schema"));
    }
    schema
}

/// The schema of what a redaction took out, as a part of another, and the definitions that it refers to.
pub(super) fn redaction_schema() -> (Value, Value) {
    let mut schema = generated::<RedactionRecord>(REDACTION_SCHEMA);
    let Some(fields) = schema.as_object_mut() else { return (schema, Value::Null) };
    ["$schema", "$id", "title"].iter().for_each(|name| drop(fields.remove(*name)));
    let definitions = fields.remove("$defs").unwrap_or_default();
    (schema, definitions)
}

fn sql_schema() -> Value {
    json!({
        "$schema": DRAFT,
        "$id": sql::SCHEMA,
        "title": "Sql",
        "description": "The result of free SQL.",
        "type": "object",
        "required": ["schema", "tool", "columns", "rows"],
        "properties": {
            "schema": {"const": sql::SCHEMA},
            "tool": {
                "type": "object",
                "required": ["package", "version"],
                "properties": {"package": {"type": "string"}, "version": {"type": "string"}},
            },
            "columns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "type", "nullable"],
                    "properties": {
                        "name": {"type": "string"},
                        "type": {"type": "string", "description": "Arrow type"},
                        "nullable": {"type": "boolean"},
                    },
                },
            },
            "rows": {"type": "array", "items": {"type": "object"}},
        },
    })
}

/// Name and schema of every emitted document.
pub fn documents() -> Vec<(String, Value)> {
    let mut evidence = generated::<summary::EvidencePacket>(summary::EVIDENCE_SCHEMA);
    evidence["$defs"]["Summary"]["properties"]["schema"] = json!({"const": summary::SCHEMA});
    let mut documents = vec![
        ("bundle".to_owned(), generated::<Manifest>(BUNDLE_SCHEMA)),
        ("bundle-evidence".to_owned(), bundle::evidence_schema()),
        ("bundle-verification".to_owned(), generated::<bundle::Verification>(bundle::VERIFICATION_SCHEMA)),
        ("campaign".to_owned(), generated::<campaign::Manifest>(campaign::MANIFEST_SCHEMA)),
        ("campaign-status".to_owned(), generated::<campaign::CampaignStatus>(campaign::SCHEMA)),
        ("cohort".to_owned(), generated::<cohort::Plan>(cohort::SCHEMA)),
        ("comparison".to_owned(), generated::<compare::Comparison>(compare::SCHEMA)),
        ("evidence".to_owned(), evidence),
        ("noise".to_owned(), generated::<compare::noise::Noise>(compare::noise::SCHEMA)),
        ("nsight-capture".to_owned(), generated::<CaptureManifest>(CAPTURE_SCHEMA)),
        ("overview".to_owned(), generated::<overview::Overview>(overview::SCHEMA)),
        ("protocol".to_owned(), generated::<protocol::Protocol>(protocol::SCHEMA)),
        ("publication".to_owned(), generated::<bundle::PublicationReceipt>(bundle::PUBLICATION_SCHEMA)),
        ("query".to_owned(), query_schema()),
        ("redaction".to_owned(), generated::<RedactionRecord>(REDACTION_SCHEMA)),
        ("run".to_owned(), run_schema()),
        ("schedule".to_owned(), generated::<compare::Schedule>(compare::SCHEDULE_SCHEMA)),
        ("series".to_owned(), generated::<series::Series>(series::SCHEMA)),
        ("sql".to_owned(), sql_schema()),
        ("verify".to_owned(), generated::<bundle::VerifyDocument>(bundle::VERIFY_SCHEMA)),
        ("summary".to_owned(), generated::<summary::Summary>(summary::SCHEMA)),
    ];
    for (_, schema) in &mut documents {
        with_rows(schema);
        if schema["$defs"].get("FindingEvidence").is_some() {
            // Which columns the rows have, the query's name beside them says.
            let either = |query: &&str| {
                let rows = json!({"type": "array", "items": row_schema(query)});
                json!({"properties": {"query": {"const": query}, "rows": rows}})
            };
            schema["$defs"]["FindingEvidence"]["oneOf"] = FINDING_QUERIES.iter().map(either).collect();
        }
    }
    documents
}

/// Schema of one row of a table as JSON: what a Parquet row holds.
pub fn table(spec: &TableSpec) -> Value {
    let properties: Map<String, Value> = spec
        .columns
        .iter()
        .map(|c| {
            let mut kind = json_type(&c.data_type);
            if c.nullable {
                kind = json!({"anyOf": [kind, {"type": "null"}]});
            }
            let mut property = json!({"description": c.doc, "unit": c.unit.as_str(), "parquet": c.type_name});
            if let (Some(property), Some(kind)) = (property.as_object_mut(), kind.as_object()) {
                property.extend(kind.clone());
            }
            (c.name.to_owned(), property)
        })
        .collect();
    json!({
        "$schema": DRAFT,
        "$id": format!("{TABLES_SCHEMA}/{}", spec.name),
        "title": spec.name,
        "description": spec.doc,
        "type": "object",
        "required": spec.columns.iter().map(|c| c.name).collect::<Vec<_>>(),
        "properties": properties,
        "additionalProperties": false,
    })
}

fn json_type(data_type: &DataType) -> Value {
    match data_type {
        DataType::Int64 => json!({"type": "integer"}),
        DataType::Float64 => json!({"type": "number"}),
        DataType::Boolean => json!({"type": "boolean"}),
        DataType::List(item) => json!({"type": "array", "items": json_type(item.data_type())}),
        DataType::Struct(fields) => {
            let properties: Map<String, Value> = fields
                .iter()
                .map(|f| {
                    let kind = json_type(f.data_type());
                    let kind = if f.is_nullable() { json!({"anyOf": [kind, {"type": "null"}]}) } else { kind };
                    (f.name().clone(), kind)
                })
                .collect();
            json!({"type": "object", "properties": properties})
        }
        DataType::Map(_, _) => json!({"type": ["object", "array"]}),
        DataType::Timestamp(_, _) => json!({"type": "string", "format": "date-time"}),
        _ => json!({"type": "string"}),
    }
}

/// Every generated file: path from the repository's root, and content.
pub fn files() -> Vec<(String, String)> {
    let pretty = |value: &Value| format!("{value:#}\n");
    let mut files: Vec<(String, String)> =
        documents().iter().map(|(name, schema)| (format!("schemas/{name}.json"), pretty(schema))).collect();
    for spec in tables::all() {
        files.push((format!("schemas/tables/{}.json", spec.name), pretty(&table(&spec))));
    }
    files.push(("docs/tables.md".to_owned(), tables_page()));
    files.push(("docs/queries.md".to_owned(), queries_page()));
    files
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn tables_page() -> String {
    let mut page = format!(
        "# Tables\n\nGenerated from the table definitions; layout `{TABLES_SCHEMA}`. Times are Int64 nanoseconds, sizes Int64 \
         bytes. An absent fact is NULL, never 0 or an empty text. A finished trace holds one Parquet file for each table \
         that has rows, `tables/<table>.parquet`, and `run.parquet`; `coverage` and `schema` exist in SQL.\n"
    );
    for spec in tables::all() {
        page.push_str(&format!(
            "\n## {}\n\n{}\n\n| column | type | null | unit | meaning |\n| --- | --- | --- | --- | --- |\n",
            spec.name, spec.doc
        ));
        for c in &spec.columns {
            let ColumnSpec { name, type_name, nullable, unit, doc, .. } = c;
            let null = if *nullable { "yes" } else { "no" };
            page.push_str(&format!(
                "| `{name}` | {} | {null} | {} | {} |\n",
                cell(type_name),
                unit.as_str(),
                cell(doc)
            ));
        }
    }
    page
}

fn queries_page() -> String {
    let mut page = String::from(
        "# Queries\n\nGenerated from the headers of the files in `queries/`. Views can be used in `candle-graph sql` by name; \
         each query is what the command line runs, and runs unchanged in DuckDB over the same Parquet files once the views \
         are created.\n",
    );
    for (title, folder, list) in [("Views", "queries/views", VIEWS), ("Queries", "queries", QUERIES)] {
        page.push_str(&format!("\n## {title}\n"));
        for (name, text) in list {
            let header = parse(text).unwrap_or_default();
            page.push_str(&format!(
                "\n### {name}\n\n{} File: `{folder}/{name}.sql`. Reads: {}.\n\nRow: {}\n",
                header.summary,
                header.reads.join(", "),
                header.row
            ));
            if !header.parameters.is_empty() {
                page.push_str("\n| parameter | type | meaning |\n| --- | --- | --- |\n");
                for p in &header.parameters {
                    page.push_str(&format!("| `${}` | {} | {} |\n", p.name, p.type_name, cell(&p.meaning)));
                }
            }
            page.push_str("\n| column | type | unit | meaning |\n| --- | --- | --- | --- |\n");
            for c in &header.columns {
                page.push_str(&format!(
                    "| `{}` | {} | {} | {} |\n",
                    c.name,
                    cell(&c.type_name),
                    c.unit,
                    cell(&c.meaning)
                ));
            }
        }
    }
    page
}
