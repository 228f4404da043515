//! Every file of queries/ against its header, and its rows against numbers worked out by hand.
//!
//! The fixtures are small enough for mental arithmetic; each expected row has its sum beside it.

use std::collections::BTreeSet;
use std::fmt::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use candle_graph::load::{self, Options, Trace};
use candle_graph::output::rows::json_rows;
use candle_graph::output::schemas;
use candle_graph::query::{self, Filter, Header, Page, QUERIES};
use candle_graph::session::{Limits, Session, VIEWS};
use candle_graph::tables;
use datafusion::common::ParamValues;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::DataFrame;
use serde_json::{Value, json};

use crate::world::{files_below, repository, trace};

mod activations;
mod cohort;
mod gpu_ranges;
mod gpu_time;
mod memory;
mod numerics;
mod recorded;
mod series;
mod time;
mod timeline;
mod work;

/// A session with the traces it reads, whose files go when they are dropped.
struct Open {
    session: Session,
    _traces: Vec<Trace>,
}

impl std::ops::Deref for Open {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

fn session(traces: Vec<Trace>) -> Open {
    Open { session: Session::open(&traces, Limits::default()).expect("an open session"), _traces: traces }
}

/// A file of queries/: its name, text and whether it is a view.
fn files() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let views = VIEWS.iter().map(|(name, text)| (*name, *text, true));
    views.chain(QUERIES.iter().map(|(name, text)| (*name, *text, false)))
}

/// The text below the header.
fn body(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with("--")).collect::<Vec<_>>().join("\n")
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) => format!("List<{}>", type_name(item.data_type())),
        other => other.to_string(),
    }
}

/// Tables and views that a plan names itself: a view's own reads are the view's.
fn reads(plan: &LogicalPlan) -> BTreeSet<String> {
    let is_view = |name: &str| VIEWS.iter().any(|(view, _)| *view == name);
    let mut tables = BTreeSet::new();
    let mut recursive = BTreeSet::new();
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::SubqueryAlias(alias) if is_view(alias.alias.table()) => {
                tables.insert(alias.alias.table().to_owned());
                return Ok(TreeNodeRecursion::Jump);
            }
            LogicalPlan::TableScan(scan) => {
                tables.insert(scan.table_name.table().to_owned());
            }
            LogicalPlan::RecursiveQuery(query) => {
                recursive.insert(query.name.clone());
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .expect("a walk that never fails");
    // A recursive query scans its own last step under its own name.
    tables.difference(&recursive).cloned().collect()
}

/// `$name`s of a text.
fn parameters(sql: &str) -> BTreeSet<String> {
    sql.split('$').skip(1).map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

/// Units that no table has: of products and ratios.
const DERIVED_UNITS: [&str; 4] = ["byte ns", "FLOP", "FLOP/s", "FLOP/byte"];

/// What one file gets wrong.
fn problems(session: &Session, name: &str, text: &str, is_view: bool, documentation: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let header: Header = match query::parse(text) {
        Ok(header) => header,
        Err(e) => return vec![format!("{name}: {e}")],
    };
    let mut expect = |what: &str, stated: &dyn std::fmt::Debug, found: &dyn std::fmt::Debug| {
        let (stated, found) = (format!("{stated:?}"), format!("{found:?}"));
        if stated != found {
            wrong.push(format!("{name}: {what}: the header states {stated}, the file has {found}"));
        }
    };
    expect("name", &header.name.as_str(), &name);
    let body = body(text);
    let stated: BTreeSet<String> = header.parameters.iter().map(|p| p.name.clone()).collect();
    expect("parameters", &stated, &parameters(&body));
    for parameter in &header.parameters {
        expect("type of a parameter", &parameter.type_name.as_str(), &"Utf8");
    }
    expect("parameters listed once", &header.parameters.len(), &stated.len());
    let frame = match session.sql(text) {
        Ok(frame) => bound(frame, &header),
        Err(e) => return vec![format!("{name}: {e}")],
    };
    let fields = frame.schema().as_arrow().fields().clone();
    let stated: Vec<_> = header.columns.iter().map(|c| format!("{} {}", c.name, c.type_name)).collect();
    let found: Vec<_> = fields.iter().map(|f| format!("{} {}", f.name(), type_name(f.data_type()))).collect();
    expect("columns", &stated, &found);
    let read: Vec<String> = reads(frame.logical_plan()).into_iter().collect();
    expect("tables and views read", &header.reads, &read);
    if !is_view {
        let sorted = match frame.logical_plan() {
            LogicalPlan::Sort(_) => true,
            // Sorted by something that is not selected.
            LogicalPlan::Projection(p) => matches!(p.input.as_ref(), LogicalPlan::Sort(_)),
            _ => false,
        };
        expect("outermost is an ORDER BY", &true, &sorted);
    }
    let descending = body.match_indices("DESC").filter(|(at, _)| !body[at + 4..].starts_with(" NULLS LAST")).count();
    expect("DESC without NULLS LAST", &0, &descending);
    expect("documented", &true, &documentation.contains(&format!("\n### {name}\n\n{}", header.summary)));
    for unit in header.columns.iter().map(|c| c.unit.as_str()) {
        // A column's unit is one of those the tables use.
        let known = tables::all().iter().any(|t| t.columns.iter().any(|c| c.unit.as_str() == unit))
            || DERIVED_UNITS.contains(&unit);
        expect(&format!("unit {unit:?} known"), &true, &known);
    }
    wrong
}

/// Binds every parameter to NULL: all rows.
fn bound(frame: DataFrame, header: &Header) -> DataFrame {
    if header.parameters.is_empty() {
        return frame;
    }
    let nulls = header.parameters.iter().map(|p| (p.name.clone(), ScalarValue::Utf8(None).into())).collect();
    frame.with_param_values(ParamValues::Map(nulls)).expect("parameters of the header")
}

#[test]
fn every_file_keeps_its_header() {
    let session = session(vec![trace("golden.jsonl")]);
    let documentation = schemas::files().into_iter().find(|(name, _)| name == "docs/queries.md").expect("the page").1;
    let wrong: Vec<String> =
        files().flat_map(|(name, text, is_view)| problems(&session, name, text, is_view, &documentation)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_is_listed() {
    let listed: BTreeSet<String> =
        files().map(|(name, _, view)| format!("queries/{}{name}.sql", if view { "views/" } else { "" })).collect();
    assert_eq!(files_below("queries").into_iter().collect::<BTreeSet<_>>(), listed);
    for (name, text, view) in files() {
        let path = repository().join("queries").join(if view { "views" } else { "" }).join(format!("{name}.sql"));
        assert_eq!(std::fs::read_to_string(path).expect("a listed file"), text, "{name} embeds its own file");
    }
    assert_eq!(files().map(|(name, _, _)| name).collect::<BTreeSet<_>>().len(), files().count(), "no name twice");
}

/// Rows of a query on `partitions`, in batches so small that every exchange between partitions happens.
fn rows_on(session: &Session, text: &str, partitions: usize) -> Vec<RecordBatch> {
    let frame = bound(session.sql(text).expect("a plan"), &query::parse(text).expect("a header"));
    let (state, plan) = frame.into_parts();
    let config = state.config().clone().with_target_partitions(partitions).with_batch_size(7);
    // Building a state would put an empty catalog in place of the session's.
    let mut config = config.with_create_default_catalog_and_schema(false);
    config.options_mut().optimizer.repartition_file_min_size = 1;
    let state = SessionStateBuilder::new_from_existing(state).with_config(config).build();
    session.collect(DataFrame::new(state, plan)).expect("rows")
}

/// A trace of many equal spans, ops and records, so that a missing tie-break shows.
fn ties(dir: &tempfile::TempDir, run_id: &str) -> Trace {
    let mut text = std::fs::read_to_string(crate::world::fixture("golden.jsonl")).expect("a fixture");
    text = text.replace("\"golden\"", &format!("{run_id:?}"));
    let terminal = text.trim_end().rfind('\n').expect("several lines") + 1;
    let mut more = String::new();
    for i in 100..300 {
        let (span, name) = (format!("s{i}"), format!("n{}", i % 3));
        for line in [
            json!({"kind": "span_start", "id": span, "parent_id": "s1", "name": name, "start_ns": 600 + i % 5, "span_kind": "op", "measured": false}),
            json!({"kind": "op", "span_id": span, "op_name": name, "shape": [i % 4], "dtype": "f32", "device": "cpu", "duration_ns": 3, "timestamp_ns": 601, "inputs": [], "output": format!("X{i}"), "output_dense_bytes": 8}),
            json!({"kind": "tensor", "span_id": span, "tensor_id": format!("X{i}"), "label": name, "shape": [], "dtype": "f32", "device": "cpu", "category": "activation"}),
            json!({"kind": "gradient", "event_id": span, "root": "r", "key": name, "state": "present", "norm": 1.0}),
            json!({"kind": "memory", "timestamp_ns": 601, "storage_id": span, "tensor_id": format!("X{i}"), "span_id": span, "device": name, "bytes": 8, "action": "alloc", "shape": [2], "dtype": "f32", "category": "activation"}),
            json!({"kind": "device_memory", "timestamp_ns": 601, "device": name, "used_bytes": i}),
            json!({"kind": "device_interval", "span_id": span, "device": name, "stream_id": "7", "clock_id": "c", "backend": "cuda", "start_ns": 20 * (i / 6), "duration_ns": 10}),
            json!({"kind": "span_end", "id": span, "duration_ns": 10}),
        ] {
            writeln!(more, "{line}").expect("text");
        }
    }
    text.insert_str(terminal, &more);
    let path = dir.path().join(format!("{run_id}.jsonl"));
    std::fs::write(&path, text).expect("a written trace");
    let mut trace = load::open(&path, Options::default()).expect("a readable trace");
    load::nsight::attach(&mut trace, &tied_reports(dir, run_id)).expect("readable reports");
    trace
}

/// Reports of many equal operations, calls, ranges and totals.
fn tied_reports(dir: &tempfile::TempDir, run_id: &str) -> std::path::PathBuf {
    let folder = dir.path().join(run_id);
    std::fs::create_dir(&folder).expect("a directory");
    let report = |name: &str, head: &str, rows: usize, row: &dyn Fn(usize) -> String| {
        let text: String = (0..rows).map(|i| row(i) + "\n").collect();
        std::fs::write(folder.join(format!("x_{name}.csv")), format!("{head}\n{text}")).expect("a written report");
    };
    let name =
        |i: usize| if i.is_multiple_of(5) { "[CUDA memcpy Host-to-Device]".to_owned() } else { format!("n{}", i % 3) };
    let head = "Start (ns),Duration (ns),CorrId,GrdX,Bytes (B),Device,Ctx,Strm,Name";
    report("cuda_gpu_trace", head, 200, &|i| {
        format!("{},10,{i},{},8,d{},1,{},{}", 20 * (i / 6), i % 4, i % 3, i % 2, name(i))
    });
    report("cuda_gpu_kern_sum", "Total Time (ns),Instances,Name", 40, &|i| format!("9,3,n{}", i % 3));
    report("cuda_api_sum", "Total Time (ns),Num Calls,Name", 40, &|i| format!("9,3,n{}", i % 3));
    // A call every 10 ns, on two threads in turn; a range for every four calls, which the last of them is not in.
    report("cuda_api_trace", "Start (ns),Duration (ns),Name,CorrID,Pid,Tid", 200, &|i| {
        format!("{},3,n{},{i},1,{}", 10 * i, i % 3, i % 2)
    });
    let head = "Start (ns),Duration (ns),Name,PID,TID,Lvl,RangeId";
    report("nvtx_pushpop_trace", head, 50, &|i| format!("{},30,:n{},1,{},0,{i}", 40 * i, i % 3, i % 2));
    let head = "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,\
                NumGPUOps,Lvl";
    report("nvtx_gpu_proj_trace", head, 50, &|i| {
        format!(":n{},{},30,{},30,PushPop,1,{},{},0", i % 3, 20 * (i / 6), 40 * i, i % 2, 2 - i % 2)
    });
    folder
}

#[test]
fn rows_come_in_one_order_however_many_partitions() {
    let dir = tempfile::tempdir().expect("a directory");
    let session = session(vec![ties(&dir, "one"), ties(&dir, "two")]);
    for (name, text, _) in files().filter(|(_, _, view)| !view) {
        let [one, four] = [1, 4].map(|n| json_rows(&rows_on(&session, text, n)).expect("rows as JSON"));
        assert_eq!(one, four, "{name}");
        assert!(!one.is_empty(), "{name}");
    }
}

/// Rows as arrays of values, in the order of the columns.
fn values(batches: &[RecordBatch]) -> Vec<Vec<Value>> {
    let rows = json_rows(batches).expect("rows as JSON");
    let columns: Vec<String> =
        batches.first().map_or(Vec::new(), |b| b.schema().fields().iter().map(|f| f.name().clone()).collect());
    rows.iter().map(|row| columns.iter().map(|c| row[c].clone()).collect()).collect()
}

fn compare(what: &str, found: &[Vec<Value>], expected: Value) {
    let lines = |rows: &[Value]| rows.iter().map(|r| format!("  {r}")).collect::<Vec<_>>().join("\n");
    let found: Vec<Value> = found.iter().map(|r| json!(r)).collect();
    let expected = expected.as_array().expect("an array of rows").clone();
    assert!(found == expected, "{what}\nfound:\n{}\nexpected:\n{}", lines(&found), lines(&expected));
}

/// Compares a query's rows over a fixture with those worked out by hand.
fn golden(fixture: &str, name: &str, expected: Value) {
    let session = session(vec![trace(fixture)]);
    let rows = query::rows(&session, name, &Filter::default(), Page::ALL).expect("rows");
    compare(name, &values(&rows), expected);
}

/// As [`golden`], for free SQL over the views.
fn golden_sql(fixture: &str, sql: &str, expected: Value) {
    let session = session(vec![trace(fixture)]);
    let rows = session.collect(session.sql(sql).expect("a plan")).expect("rows");
    compare(sql, &values(&rows), expected);
}

#[test]
fn every_query_has_golden_rows() {
    let read = |file: &String| std::fs::read_to_string(repository().join(file)).expect("a source file");
    let source: String = files_below("tests/suite/sql").iter().map(read).collect();
    let source: String = source.split_whitespace().collect();
    for (name, _) in QUERIES {
        assert!(source.contains(&format!(".jsonl\",\"{name}\",")), "no golden rows for {name}");
    }
    for (name, _) in VIEWS.iter().filter(|(name, _)| *name != "span_scopes") {
        assert!(source.contains(&format!("FROM{name}")), "no golden rows for {name}");
    }
}
