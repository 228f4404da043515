//! Faults that a hostile hour with the built program found, each held by one test.
//! In: mixed, damaged and oddly named traces; results that no format can hold. Out: the right answer, or one line.

use std::path::{Path, PathBuf};

use candle_graph::parquet_sink::layout;
use candle_graph::{ProfileRun, SpanKind, TraceSession};
use serde_json::json;

use crate::world::{Lines, Ran, World};

/// A complete trace with a region and one span in it.
fn record(path: &Path) -> PathBuf {
    let session = TraceSession::open(path, ProfileRun::training("train", 1, "cpu")).expect("a session");
    {
        let region = session.begin_measurement("update");
        session.record_scalar(region.id(), "loss", 0.5).expect("a scalar");
        drop(session.begin_span("forward", SpanKind::Module));
    }
    session.finish().expect("a trace")
}

fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!((ran.code, ran.text()), (Some(1), String::new()), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{:?} does not say {word:?}", ran.stderr);
    }
}

fn file(trace: &Path, table: &str) -> PathBuf {
    trace.join(layout::TABLES).join(format!("{table}.parquet"))
}

#[test]
fn a_path_may_go_through_its_parent() {
    let world = World::new();
    record(&world.path("a.trace"));
    std::fs::create_dir(world.path("sub")).expect("a folder");
    let path = world.path("sub").join("..").join("a.trace");
    let path = path.to_str().expect("UTF-8");
    assert_eq!(world.run(&["query", path, "--kind", "spans"]).json()["result"]["total"], 3);
    assert_eq!(world.run(&["sql", path, "SELECT count(*) AS n FROM spans"]).json()["rows"], json!([{"n": 3}]));
}

#[test]
fn a_file_of_another_run_is_refused() {
    let world = World::new();
    let (a, b) = (record(&world.path("a.trace")), record(&world.path("b.trace")));
    std::fs::copy(file(&b, "spans"), file(&a, "spans")).expect("a copy");
    refused(&world.run(&["overview", a.to_str().expect("UTF-8")]), &["spans.parquet", "belongs to run", "mixed"]);
}

#[test]
fn an_ended_trace_without_its_tables_is_damaged() {
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    std::fs::remove_dir_all(trace.join(layout::TABLES)).expect("removed");
    refused(&world.run(&["overview", trace.to_str().expect("UTF-8")]), &["a.trace", "damaged"]);
}

#[cfg(unix)]
#[test]
fn a_table_that_leads_nowhere_is_no_empty_table() {
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    std::fs::remove_file(file(&trace, "spans")).expect("removed");
    std::os::unix::fs::symlink("nowhere", file(&trace, "spans")).expect("a link");
    refused(&world.run(&["overview", trace.to_str().expect("UTF-8")]), &["spans.parquet", "cannot open"]);
}

#[test]
fn every_byte_of_the_run_record_may_be_wrong_without_a_panic() {
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    let run = trace.join(layout::RUN);
    let sound = std::fs::read(&run).expect("the run record");
    // In process, because ten thousand starts would take minutes; every 7th byte, each bit pattern another.
    for at in (0..sound.len()).step_by(7) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&run, damaged).expect("written");
        // Either answer is right; a panic is not.
        let _ = candle_graph::load::open(&trace, candle_graph::load::Options::default());
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_as_output_is_written_to_and_stays_a_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    let pipe = world.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).expect("the pipe's text")
    });
    let ran = world.run(&["overview", trace.to_str().expect("UTF-8"), "-o", pipe.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Before the reader: of a pipe that was replaced it would wait for ever.
    assert!(std::fs::metadata(&pipe).expect("still there").file_type().is_fifo());
    let text = reader.join().expect("a reader");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "a whole document went through");
}

#[test]
fn two_columns_of_one_name_are_not_made_one() {
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    let path = trace.to_str().expect("UTF-8");
    let statement = "SELECT a.seq, b.seq FROM spans a, spans b LIMIT 1";
    refused(&world.run(&["sql", path, statement, "--format", "json"]), &["two columns", "seq", "AS"]);
    let csv = world.run(&["sql", path, statement, "--format", "csv"]);
    assert_eq!(csv.text().lines().next(), Some("seq,seq"));
}

#[test]
fn a_value_of_no_type_is_null_and_one_that_cannot_be_shown_is_an_error() {
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    let path = trace.to_str().expect("UTF-8");
    assert_eq!(world.run(&["sql", path, "SELECT NULL AS b"]).json()["rows"], json!([{"b": null}]));
    for format in ["json", "table", "csv"] {
        let ran = world.run(&["sql", path, "SELECT arrow_cast(2147483647, 'Date32') AS t", "--format", format]);
        assert_eq!(ran.code, Some(1), "{format}: {ran:?}");
    }
}

#[test]
fn a_table_shows_ten_thousand_rows_and_says_that_there_are_more() {
    let world = World::new();
    let trace = record(&world.path("a.trace"));
    let path = trace.to_str().expect("UTF-8");
    let table = |rows: &str| {
        let statement = format!("SELECT value FROM generate_series(1, {rows})");
        world.run(&["sql", path, &statement, "--format", "table"]).text()
    };
    assert!(table("10000").ends_with("\n10000 rows\n"));
    assert!(table("10001").contains("\n10000 rows shown, and there are more"));
}

#[test]
fn counts_that_contradict_each_other_name_their_line() {
    let world = World::new();
    for (field, value) in [("nan", json!(-5)), ("nan", json!(7)), ("op_index", json!(-1))] {
        let mut lines = Lines::sound();
        let kind = if field == "nan" { "tensor_stats" } else { "op" };
        lines.line(
            kind,
            if field == "nan" { "label" } else { "op_name" },
            if field == "nan" { "hidden" } else { "relu" },
        )[field] = value;
        let path = world.write("bad.jsonl", lines.text());
        refused(&world.run(&["overview", path.to_str().expect("UTF-8")]), &["bad.jsonl", "line"]);
    }
    // The largest index is accepted, and the next one does not overflow.
    let mut lines = Lines::sound();
    lines.line("op", "op_name", "relu")["op_index"] = json!(i64::MAX);
    let path = world.write("far.jsonl", lines.text());
    assert_eq!(world.run(&["query", path.to_str().expect("UTF-8"), "--kind", "ops"]).code, Some(0));
}
