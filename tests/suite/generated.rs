//! Generated files are checked in; each equals what the program would write now.
//! In: `output::schemas::files()`. Out: the files, when `CANDLE_GRAPH_UPDATE=1` asks for them.

use std::collections::BTreeSet;

use candle_graph::output::schemas;
use candle_graph::query::QUERIES;
use serde_json::Value;

use crate::world::{files_below, repository};

const FIX: &str = "CANDLE_GRAPH_UPDATE=1 cargo test --test suite generated";

#[test]
fn generated_files_are_fresh() {
    let update = std::env::var_os("CANDLE_GRAPH_UPDATE").is_some_and(|v| v == "1");
    let mut stale = Vec::new();
    for (name, content) in schemas::files() {
        let path = repository().join(&name);
        if std::fs::read_to_string(&path).is_ok_and(|found| found == content) {
            continue;
        }
        if update {
            std::fs::create_dir_all(path.parent().expect("every generated file is in a folder")).expect("a folder");
            std::fs::write(&path, content).expect("a written file");
        } else {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "not what the program generates: {}; fix it with\n  {FIX}", stale.join(", "));
}

#[test]
fn schemas_holds_nothing_else() {
    let generated: BTreeSet<String> = schemas::files().into_iter().map(|(name, _)| name).collect();
    let stray: Vec<String> = files_below("schemas").into_iter().filter(|f| !generated.contains(f)).collect();
    assert!(stray.is_empty(), "nothing generates {}; remove them", stray.join(", "));
}

#[test]
fn every_emitted_document_has_a_schema() {
    let with_schema: BTreeSet<String> = schemas::documents().into_iter().map(|(name, _)| name).collect();
    for (name, id) in candle_graph::output::protocol::DOCUMENTS {
        assert!(with_schema.contains(*name), "no schema for {name}");
        let (_, schema) = schemas::documents().into_iter().find(|(n, _)| n == name).expect("listed above");
        assert_eq!(schema["$id"], *id, "{name}");
    }
    let listed: BTreeSet<String> =
        candle_graph::output::protocol::DOCUMENTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(with_schema, listed, "`protocol` lists every document that has a schema");
}

/// A list of rows says in its documentation which query's they are, and its schema then lists that query's columns.
#[test]
fn rows_have_the_schema_of_their_query() {
    let mut places = Vec::new();
    for (name, schema) in schemas::documents() {
        rows_of(&name, &schema, &mut places);
    }
    assert!(places.len() > 15, "{places:?}");
    for (place, query, items) in places {
        let text = QUERIES.iter().find(|(n, _)| *n == query).unwrap_or_else(|| panic!("{place}: no query {query}")).1;
        let mut columns: BTreeSet<String> =
            candle_graph::query::parse(text).expect("a header").columns.into_iter().map(|c| c.name).collect();
        // And what says how long a list was before it was cut.
        columns.insert(candle_graph::output::bounds::CUT.to_owned());
        let listed: BTreeSet<String> =
            items["properties"].as_object().unwrap_or_else(|| panic!("{place}: {items}")).keys().cloned().collect();
        assert_eq!(listed, columns, "{place}");
    }
}

/// Every field documented as rows of a query: where, which query, the schema of a row.
fn rows_of(place: &str, schema: &Value, found: &mut Vec<(String, String, Value)>) {
    if let Some(rest) = schema["description"].as_str().and_then(|d| d.strip_prefix("Rows of query `")) {
        let items = match (schema.get("$ref"), schema.get("anyOf")) {
            (Some(_), _) => &schema["properties"]["rows"]["items"],
            (None, Some(either)) => &either[0]["properties"]["rows"]["items"],
            (None, None) => &schema["items"],
        };
        found.push((place.to_owned(), rest.split('`').next().unwrap_or_default().to_owned(), items.clone()));
    }
    match schema {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| rows_of(&format!("{place}/{key}"), value, found))
        }
        Value::Array(items) => items.iter().for_each(|value| rows_of(place, value, found)),
        _ => {}
    }
}
