//! The page of a trace as a file: its blocks hold the rows of the queries, hostile text stays in its element, it is never
//! larger than asked for, and the same trace gives the same bytes. What a browser makes of it: tests/python/test_viewer.py.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use arrow::ipc::reader::StreamReader;
use base64::Engine;
use candle_graph::output::rows::json_rows;
use candle_graph::query::{self, Filter, Page};
use candle_graph::session::{Limits, Session};
use serde_json::{Value, json};

use crate::world::{Lines, World, fixture, trace};

/// A page, taken apart.
struct Shown {
    meta: Value,
    blocks: BTreeMap<String, RecordBatch>,
    text: String,
}

/// What stands between two texts, from `at` on.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let start = text.find(before).unwrap_or_else(|| panic!("no {before}")) + before.len();
    let length = text[start..].find(after).unwrap_or_else(|| panic!("no {after}"));
    &text[start..start + length]
}

fn read(path: &Path) -> Shown {
    let text = std::fs::read_to_string(path).expect("a page in UTF-8");
    let meta = between(&text, "<script type=\"application/json\" id=\"cg-meta\">", "</script>");
    let meta = serde_json::from_str(meta).expect("JSON");
    let mut blocks = BTreeMap::new();
    for part in text.split("class=\"cg-block\" data-name=\"").skip(1) {
        let (name, rest) = part.split_once("\">").expect("a name");
        let zipped = base64::engine::general_purpose::STANDARD.decode(between(rest, "", "</script>")).expect("base64");
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&zipped[..]).read_to_end(&mut plain).expect("gzip");
        let batches: Vec<_> =
            StreamReader::try_new(&plain[..], None).expect("Arrow").collect::<Result<_, _>>().unwrap();
        assert_eq!(batches.len(), 1, "{name} is one batch");
        blocks.insert(name.to_owned(), batches[0].clone());
    }
    Shown { meta, blocks, text }
}

/// The page of `input`, written by the program.
fn page(world: &World, input: &Path, more: &[&str]) -> Shown {
    let target = world.path("page.html");
    let mut arguments = vec!["view".as_ref(), input.as_os_str(), "-o".as_ref(), target.as_os_str()];
    arguments.extend(more.iter().map(|a| std::ffi::OsStr::new(*a)));
    let ran = world.run(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.len()), (Some(0), "", 0));
    read(&target)
}

/// The rows of a block as the page's script reads them.
fn rows(block: &RecordBatch) -> Vec<Vec<Value>> {
    let columns: Vec<Vec<Value>> = block
        .schema()
        .fields()
        .iter()
        .zip(block.columns())
        .map(|(field, array)| {
            let array = match array.data_type() {
                DataType::Dictionary(_, _) => cast(array, &DataType::Utf8).expect("text"),
                DataType::Int32 => cast(array, &DataType::Int64).expect("numbers"),
                _ => array.clone(),
            };
            let mut before: Option<i64> = field.metadata().get("cg.base").map(|base| base.parse().expect("a number"));
            let prefix = field.metadata().get("cg.prefix");
            let plain = RecordBatch::try_from_iter([("c", array.clone())]).expect("a column");
            let plain = json_rows(&[plain]).expect("JSON").into_iter().map(|row| row["c"].clone());
            plain
                .enumerate()
                .map(|(row, value)| {
                    let value = match &mut before {
                        Some(sum) => {
                            *sum += array.as_primitive::<Int64Type>().value(row);
                            json!(*sum)
                        }
                        None => value,
                    };
                    match prefix.filter(|_| !value.is_null()) {
                        Some(prefix) => json!(format!("{prefix}{value}")),
                        None => value,
                    }
                })
                .collect()
        })
        .collect();
    (0..block.num_rows()).map(|row| columns.iter().map(|c| c[row].clone()).collect()).collect()
}

/// A cell as a block has it: lists are text.
fn shown(name: &str, value: &Value) -> Value {
    let Some(items) = value.as_array() else { return value.clone() };
    let texts: Vec<String> = items.iter().map(|i| i.as_str().map_or(i.to_string(), str::to_owned)).collect();
    let sizes = items.iter().all(Value::is_number);
    match (items.is_empty(), name) {
        (true, "shape") => json!("scalar"),
        _ => json!(texts.join(if sizes && !items.is_empty() { "×" } else { ", " })),
    }
}

#[test]
fn a_block_has_every_row_of_its_query() {
    for name in ["golden", "open", "time", "numerics", "memory", "nsight/golden", "nsight/joined", "nsight/busy"] {
        let (world, trace) = (World::new(), trace(&format!("{name}.jsonl")));
        let reports = fixture(name);
        let more = if reports.is_dir() { vec!["--nsight-dir", reports.to_str().unwrap()] } else { Vec::new() };
        let page = page(&world, &fixture(&format!("{name}.jsonl")), &more);
        let sound = page.meta["sound"].as_bool().expect("a verdict");
        let session = Session::open(std::slice::from_ref(&trace), Limits::default()).expect("a session");
        let mut compared = 0;
        for block in page.meta["blocks"].as_array().expect("blocks") {
            let name = block["name"].as_str().expect("a name");
            let expected = query::rows(&session, name, &Filter::default(), Page::ALL).expect("rows");
            let count: usize = expected.iter().map(RecordBatch::num_rows).sum();
            let Some(found) = page.blocks.get(name) else {
                let why = block["unavailable"].as_str().expect("a reason");
                assert!(!why.is_empty() && block["rows"] == 0, "{block}");
                let refused = why.contains("needs a complete, valid capture");
                assert!(count == 0 || (refused && !sound) || trace.nsight.is_some(), "{name}: {why}, and {count} rows");
                continue;
            };
            assert_eq!((&block["rows"], &block["total"]), (&json!(count), &json!(count)), "{name}");
            let names: Vec<String> = expected[0].schema().fields().iter().map(|f| f.name().clone()).collect();
            let expected: Vec<Vec<Value>> = json_rows(&expected)
                .expect("JSON")
                .iter()
                .map(|row| names.iter().map(|n| shown(n, &row[n])).collect())
                .collect();
            let found: Vec<Vec<Value>> =
                rows(found).into_iter().map(|row| row.into_iter().take(names.len()).collect()).collect();
            assert_eq!(found, expected, "{name}");
            assert!(block["columns"].as_array().expect("columns").len() >= names.len());
            assert!(page.meta["queries"][name]["sql"].as_str().expect("SQL").contains("SELECT"), "{name}");
            compared += 1;
        }
        assert!(compared >= if sound { 6 } else { 1 }, "{name}: {compared} blocks");
    }
}

#[test]
fn what_a_page_says_first_is_the_overview() {
    let (world, input) = (World::new(), fixture("golden.jsonl"));
    let page = page(&world, &input, &[]);
    let mut overview =
        world.run(&["overview".as_ref(), input.as_os_str(), "--format".as_ref(), "json".as_ref()]).json();
    for name in ["input", "next_queries"] {
        overview.as_object_mut().expect("an object").remove(name);
    }
    assert_eq!(page.meta["evidence"], overview);
    assert_eq!((&page.meta["kind"], &page.meta["title"]), (&json!("trace"), &json!("train")));
    assert_eq!((&page.meta["sound"], &page.meta["unsound_reason"]), (&json!(true), &Value::Null));
    let planes = page.meta["coverage"].as_array().expect("planes");
    assert!(planes.iter().any(|p| p["plane"] == "operation_coverage" && p["level"] == "complete"), "{planes:?}");
}

#[test]
fn a_failed_capture_says_why_blocks_are_absent() {
    let world = World::new();
    let mut lines = Lines::sound();
    *lines.terminal() = json!({"kind": "terminal", "outcome": "failed", "reason": "loss is NaN", "timestamp_ns": 1000});
    let page = page(&world, &world.write("failed.jsonl", lines.text()), &[]);
    assert_eq!(page.meta["sound"], false);
    let block = |name: &str| {
        let blocks = page.meta["blocks"].as_array().expect("blocks");
        blocks.iter().find(|b| b["name"] == name).expect("a block").clone()
    };
    let why = block("host_hotspots")["unavailable"].as_str().expect("a reason").to_owned();
    assert!(why.contains("complete, valid capture") && why.contains("failed"), "{why}");
    assert_eq!(block("gpu_busy")["unavailable"], "no Nsight reports were supplied");
    assert_eq!(block("spans")["rows"], 5, "what was recorded is there");
}

/// Text that would end an element, or begin one, in every place that takes text.
#[test]
fn hostile_text_stays_in_its_element() {
    let hostile = "</script><script>alert(1)</script><!--\u{202e}\u{0}]]>&lt;";
    let world = World::new();
    let mut lines = Lines::sound();
    lines.meta()["entrypoint"] = json!(hostile);
    lines.meta()["tags"] = json!({ hostile: hostile });
    lines.line("span_start", "id", "s0")["name"] = json!(hostile);
    lines.line("span_start", "id", "s2")["name"] = json!(hostile);
    lines.line("op", "op_name", "relu")["op_name"] = json!(hostile);
    lines.line("tensor", "tensor_id", "T2")["label"] = json!(hostile);
    let page = page(&world, &world.write("hostile.jsonl", lines.text()), &[]);
    // The script and the data are elements of the page, and nothing else is.
    assert_eq!(page.text.matches("<script").count(), 2 + page.blocks.len());
    assert_eq!(page.text.matches("</script").count(), 2 + page.blocks.len());
    assert!(!page.text.contains("<!--") && !page.text.contains("alert(1)<"));
    assert_eq!(page.meta["title"], hostile, "and all of it is there");
    let names = rows(&page.blocks["spans"]);
    assert!(names.iter().any(|row| row[2] == hostile), "{names:?}");
}

#[test]
fn the_same_trace_gives_the_same_bytes_wherever_it_lies() {
    let world = World::new();
    let (input, bundle) = (fixture("golden.jsonl"), world.path("bundle"));
    let alone = page(&world, &input, &[]).text;
    assert_eq!(page(&world, &input, &[]).text, alone);
    let ran = world.run(&["report".as_ref(), input.as_os_str(), "--bundle".as_ref(), bundle.as_os_str()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(bundle.join("viewer.html")).expect("a page"), alone);
    assert_eq!(page(&world, &bundle, &[]).text, alone);
    // A page that was changed is found, with or without its hash.
    let ran = world.run(&["verify".as_ref(), bundle.as_os_str(), "--semantic".as_ref()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// 3,000 operations on one thread, a microsecond each, in three spans.
fn many() -> Lines {
    let mut lines = Lines::sound();
    for n in 0..3000_u64 {
        lines.add(
            json!({"kind": "op", "span_id": "s2", "op_name": format!("op{}", n % 7), "inputs": [format!("t{n}")],
            "output": format!("t{}", n + 1), "shape": [n], "dtype": "f32", "device": "cpu", "duration_ns": 1000,
            "timestamp_ns": 200 + 1000 * n, "input_dense_bytes": 16, "thread_id": 1}),
        );
    }
    lines
}

#[test]
fn a_page_is_never_larger_than_asked_for_and_says_what_it_left_out() {
    let world = World::new();
    let input = world.write("many.jsonl", many().text());
    let whole = page(&world, &input, &[]);
    assert_eq!(whole.blocks["timeline_ops"].num_rows(), 3001);
    let empty = whole.text.len() - whole.blocks.keys().map(|name| block_length(&whole.text, name)).sum::<usize>();
    for share in [0.9, 0.5, 0.2] {
        let most = empty + ((whole.text.len() - empty) as f64 * share) as usize;
        let part = page(&world, &input, &["--max-size", &most.to_string()]);
        assert!(part.text.len() <= most, "{} > {most}", part.text.len());
        let blocks = part.meta["blocks"].as_array().expect("blocks");
        let mut cut = 0;
        for block in blocks.iter().filter(|b| b["total"].as_u64() > Some(0)) {
            let (rows, total) = (&block["rows"], &block["total"]);
            match part.blocks.get(block["name"].as_str().expect("a name")) {
                Some(found) => assert_eq!(rows, &json!(found.num_rows())),
                None => assert!(block["unavailable"].as_str().expect("a reason").contains("left out"), "{block}"),
            }
            cut += usize::from(rows != total);
            assert!(rows == total || block["note"].is_string() || block["unavailable"].is_string(), "{block}");
        }
        assert!(cut > 0);
        if let Some(ops) = part.blocks.get("timeline_ops") {
            let at = ops.schema().index_of("merged").expect("merged");
            let stood_for: i64 = rows(ops).iter().map(|row| row[at].as_i64().expect("a number")).sum();
            assert_eq!(stood_for, 3001, "no operation is lost");
        }
    }
    let target = world.path("none.html");
    let arguments = ["view".as_ref(), input.as_os_str(), "-o".as_ref(), target.as_os_str(), "--max-size".as_ref()];
    let ran = world.run(&[&arguments[..], &["1kB".as_ref()]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("a page without a single row has"), "{}", ran.stderr);
    assert!(!target.exists());
}

/// Bytes between the tags of a block.
fn block_length(text: &str, name: &str) -> usize {
    between(text, &format!("data-name=\"{name}\">"), "</script>").len()
}

#[test]
fn a_size_is_a_number_with_a_unit() {
    let world = World::new();
    let input = fixture("golden.jsonl");
    let run = |size: &str| {
        let target = world.path("page.html");
        let arguments = ["view".as_ref(), input.as_os_str(), "-o".as_ref(), target.as_os_str(), "--max-size".as_ref()];
        world.run(&[&arguments[..], &[size.as_ref()]].concat())
    };
    for size in ["40MB", "38.5 MiB", "9000kB", "50000000", "1GB"] {
        assert_eq!(run(size).code, Some(0), "{size}");
    }
    for size in ["", "MB", "-1MB", "4 parsecs", "NaN", "1.2.3MB"] {
        assert_eq!(run(size).code, Some(2), "{size}");
    }
}

#[test]
fn a_comparison_has_a_page_too_and_other_documents_have_none() {
    let world = World::new();
    let document =
        json!({"schema": "candle-graph/comparison/7", "identity": {"workload_id": "</script>w"}, "verdict": "x"});
    let input = world.write("comparison.json", serde_json::to_string_pretty(&document).unwrap());
    let shown = page(&world, &input, &[]);
    assert_eq!((&shown.meta["kind"], &shown.meta["comparison"]), (&json!("comparison"), &document));
    let refused = |text: &str, words: &str| {
        let target = world.path("none.html");
        let input = world.write("other.json", text);
        let ran = world.run(&["view".as_ref(), input.as_os_str(), "-o".as_ref(), target.as_os_str()]);
        assert_eq!(ran.code, Some(1), "{text}");
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert!(!target.exists());
    };
    refused(r#"{"schema": "candle-graph/comparison/3"}"#, "this version shows candle-graph/comparison/7");
    refused(r#"{"schema": "candle-graph/comparison/7", "verdict": "#, "is no document of `compare`");
    refused(r#"{"schema": "candle-graph/overview/4"}"#, "other.json");
}
