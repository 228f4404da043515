//! JSON Schema of every emitted document and every table, and the generated pages of docs/.
//! In: the document types, the table list, the query headers. Out: file names and contents.
//! Left to neighbours: writing them (a test does, on request) and printing one (`cli`).

use arrow::datatypes::DataType;
use candle_graph_record::table::{ColumnSpec, TABLES_SCHEMA, TableSpec};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{overview, protocol, query, sql, summary};
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
    let collection = SchemaGenerator::new(SchemaSettings::draft2020_12().for_serialize())
        .into_root_schema_for::<query::Collection>()
        .to_value();
    let kinds: Vec<Value> = query::KINDS
        .iter()
        .map(|kind| {
            let rows = json!({"type": "array", "items": row_schema(kind.query)});
            let result = match kind.shape {
                query::Shape::Collection => {
                    let mut result = collection.clone();
                    result["properties"]["rows"] = rows;
                    if kind.name == "spans" {
                        result["properties"]["edges"] =
                            json!({"anyOf": [{"type": "null"}, {"type": "array", "items": row_schema("call_edges")}]});
                        result["properties"]["edges_reason"] = json!({"type": ["string", "null"]});
                        if let Some(required) = result["required"].as_array_mut() {
                            required.extend([json!("edges"), json!("edges_reason")]);
                        }
                    }
                    if let Some(fields) = result.as_object_mut() {
                        fields.remove("$schema");
                        fields.remove("title");
                    }
                    result
                }
                query::Shape::Ranking(field) => json!({
                    "type": "object",
                    "required": ["entrypoint", "outer_wall_time_ns", "total", "displayed", "truncated", field],
                    "properties": {
                        "entrypoint": {"type": "string"},
                        "outer_wall_time_ns": {"type": ["integer", "null"]},
                        "total": {"type": "integer"},
                        "displayed": {"type": "integer", "maximum": 50},
                        "truncated": {"type": "boolean"},
                        field: rows,
                    },
                }),
            };
            json!({"if": {"properties": {"kind": {"const": kind.name}}}, "then": {"properties": {"result": result}}})
        })
        .collect();
    schema["properties"]["kind"] = json!({"enum": query::KINDS.iter().map(|k| k.name).collect::<Vec<_>>()});
    schema["allOf"] = json!(kinds);
    schema
}

/// What the documentation of a field begins with whose rows are a query's.
const ROWS_OF: &str = "Rows of query `";

/// Gives every list of rows the schema of the query that its documentation names.
fn with_rows(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        let query = fields.get("description").and_then(Value::as_str).and_then(|d| d.strip_prefix(ROWS_OF));
        if let Some(row) = query.and_then(|d| d.split('`').next()).map(row_schema) {
            if fields.contains_key("$ref") {
                // A bounded list: the shared part, and what its rows are.
                fields.insert("properties".to_owned(), json!({"rows": {"items": row}}));
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
        ("evidence".to_owned(), evidence),
        ("overview".to_owned(), generated::<overview::Overview>(overview::SCHEMA)),
        ("protocol".to_owned(), generated::<protocol::Protocol>(protocol::SCHEMA)),
        ("query".to_owned(), query_schema()),
        ("sql".to_owned(), sql_schema()),
        ("summary".to_owned(), generated::<summary::Summary>(summary::SCHEMA)),
    ];
    for (_, schema) in &mut documents {
        with_rows(schema);
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
