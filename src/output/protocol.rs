//! `candle-graph/protocol/3`: what this tool speaks, for agents to read first.
//! In: the command list. Out: every schema, command and query kind. Left to neighbours: parsing (`cli`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::documents::{TOOL, Tool};
use super::redact::REDACTION_SCHEMA;
use super::{bundle, campaign, cohort, compare, overview, query, series, sql, summary};
use crate::load::bundle::{BUNDLE_SCHEMA, RUN_SCHEMA};
use crate::load::nsight::CAPTURE_SCHEMA;

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/protocol/3";

/// What the tool speaks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Protocol {
    pub schema: &'static str,
    pub tool: Tool,
    pub commands: Vec<Command>,
    /// Kinds of `query`.
    pub query_kinds: Vec<QueryKind>,
    pub schemas: Schemas,
}

/// One subcommand.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Command {
    pub name: String,
    pub about: String,
}

/// One kind of query.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueryKind {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it has pages: takes --limit and --offset.
    pub collection: bool,
    /// Whether it takes --label and --label-prefix.
    pub takes_filter: bool,
    /// Whether it takes --all.
    pub takes_all: bool,
    /// Whether it refuses a capture that is failed, interrupted or invalid.
    pub needs_complete_capture: bool,
    /// The SQL file in queries/ whose rows it shows; null where it shows several.
    pub sql: Option<String>,
}

/// Names and versions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Schemas {
    /// Documents by name: those that are emitted, and the plans of campaigns and cohorts, which are read.
    #[serde(flatten)]
    pub documents: BTreeMap<&'static str, &'static str>,
    /// Layout of recorded tables.
    pub tables: &'static str,
    /// Interchange versions read.
    pub trace_read: Vec<&'static str>,
    /// Interchange version written.
    pub trace_write: &'static str,
}

/// Every emitted document: its name and schema.
pub const DOCUMENTS: &[(&str, &str)] = &[
    ("bundle", BUNDLE_SCHEMA),
    ("bundle-evidence", bundle::EVIDENCE_SCHEMA),
    ("bundle-verification", bundle::VERIFICATION_SCHEMA),
    ("campaign", campaign::MANIFEST_SCHEMA),
    ("campaign-status", campaign::SCHEMA),
    ("cohort", cohort::SCHEMA),
    ("comparison", compare::SCHEMA),
    ("evidence", summary::EVIDENCE_SCHEMA),
    ("noise", compare::noise::SCHEMA),
    ("nsight-capture", CAPTURE_SCHEMA),
    ("overview", overview::SCHEMA),
    ("protocol", SCHEMA),
    ("publication", bundle::PUBLICATION_SCHEMA),
    ("query", query::SCHEMA),
    ("redaction", REDACTION_SCHEMA),
    ("run", RUN_SCHEMA),
    ("schedule", compare::SCHEDULE_SCHEMA),
    ("series", series::SCHEMA),
    ("sql", sql::SCHEMA),
    ("summary", summary::SCHEMA),
    ("verify", bundle::VERIFY_SCHEMA),
];

/// Builds the document from the parser's own list of commands.
pub fn build(commands: Vec<(String, String)>) -> Protocol {
    Protocol {
        schema: SCHEMA,
        tool: TOOL,
        commands: commands.into_iter().map(|(name, about)| Command { name, about }).collect(),
        query_kinds: query::KINDS
            .iter()
            .map(|k| QueryKind {
                name: k.name,
                about: k.about,
                collection: k.takes_page(),
                takes_filter: k.takes_filter(),
                takes_all: k.takes_all(),
                needs_complete_capture: k.needs_sound,
                sql: k.query().map(|query| format!("queries/{query}.sql")),
            })
            .collect(),
        schemas: Schemas {
            documents: DOCUMENTS.iter().copied().collect(),
            tables: candle_graph_record::table::TABLES_SCHEMA,
            trace_read: vec!["candle-graph/trace/9", "candle-graph/trace/10"],
            trace_write: candle_graph_record::jsonl::TRACE_SCHEMA,
        },
    }
}
