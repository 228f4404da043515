//! Redaction: what is private is gone from every byte, two texts stay two, and the trace means what it meant.
//!
//! Most worlds are a handful of texts, as the required labels of a run whose host is `node1.cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use candle_graph::evidence::Evidence;
use candle_graph::load::{self, Options, Trace, bundle};
use candle_graph::output::redact::{Redaction, RedactionRecord};
use candle_graph::session::Limits;
use candle_graph::tables;
use candle_graph::{ExpectedGradient, GradientContract};
use proptest::prelude::*;
use serde_json::json;

use crate::world::{Lines, World};

/// The sound trace, from a host of this name.
fn on_host(lines: &Lines, host: &str) -> Trace {
    let world = World::new();
    let path = world.write("trace.jsonl", lines.text());
    let mut trace = load::open(&path, Options::default()).expect("a readable trace");
    trace.run.host.host_name = Some(host.to_owned());
    trace
}

/// What texts become in a run with these tags.
fn texts_with(tags: &[(&str, &str)], texts: &[&str]) -> (Vec<String>, BTreeMap<String, String>, RedactionRecord) {
    let mut trace = on_host(&Lines::sound(), "node1.cluster");
    trace.run.tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    trace.run.contract.required_semantic_labels = texts.iter().map(|t| (*t).to_owned()).collect();
    let mut redaction = Redaction::of(&trace, &[]).expect("a redaction");
    let run = redaction.run(&trace.run);
    assert_eq!((run.run_id.as_str(), run.host.host_name), ("run-1", None));
    (run.contract.required_semantic_labels, run.tags, redaction.record())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts_with(&[], texts).0
}

#[test]
fn host_names_go_in_any_case() {
    let found = texts(&[
        "on node1.cluster:22",
        "node1-gpu",
        "NODE1/x",
        "node12 mynode1",
        "node1.cluster.local",
        "ssh://node1_a",
    ]);
    let expected = ["on [host]:22", "[host-2]-gpu", "[host-3]/x", "node12 mynode1", "[host].local", "ssh://[host-2]_a"];
    assert_eq!(found, expected);
    let (found, tags, _) =
        texts_with(&[("node", "worker7:29500, 10.0.0.7"), ("layer", "worker7")], &["worker7", "10.0.0.7", "10 s"]);
    assert_eq!(found, ["[host-3]", "[host-4]", "10 s"], "the number 10 is no host");
    assert_eq!(tags["node"], "[host-3]:29500, [host-4]");
    assert_eq!(tags["layer"], "[host-3]");
}

#[test]
fn homes_and_their_users_go() {
    let found = texts(&[
        "/home/bob/x",
        "/home/bob",
        "/Users/bob/x",
        "C:\\Users\\Carol Smith\\x",
        "{\"C:\\\\Users\\\\carol\\\\x\"}",
        "bob's, Bob bobby",
        "Carol Smith",
        "/root/x, root",
        "/home/q/x, q",
        "/home/1000/x, 1000 ns",
        "model/home/kitchen",
    ]);
    let expected = [
        "[home-3]/x",
        "[home-3]",
        "[home]/x",
        "[home-6]\\x",
        "{\"[home-7]\\\\x\"}",
        "[user-2]'s, [user-4] bobby",
        "[user]",
        "[home-5]/x, root",
        "[home-4]/x, q",
        "[home-2]/x, 1000 ns",
        "model/home/kitchen",
    ];
    assert_eq!(
        found, expected,
        "homes and users are numbered in the order of their names, other spellings as they come"
    );
    assert_eq!(texts(&["~dave/models/a", "dave"]), ["[home]/models/a", "[user]"]);
}

#[test]
fn users_of_tags_and_of_the_host_go() {
    let tags = [("author", "Eve Adams <eve@example.org>"), ("Owner", "CORP\\frank; grace")];
    let (found, tags, record) = texts_with(
        &tags,
        &["eve.py", "Eve Adams", "by eve@example.org", "frank_2", "grace", "heidi@node1:/x", "heidi"],
    );
    assert_eq!(tags["author"], "[user-2] <[user-4]>");
    assert_eq!(tags["Owner"], "[user]; [user-6]");
    let expected =
        ["[user-3].py", "[user-2]", "by [user-4]", "[user-5]_2", "[user-6]", "[user-7]@[host-2]:/x", "[user-7]"];
    assert_eq!(found, expected);
    let places: Vec<_> = record.removed.iter().map(|r| (r.what.as_str(), r.places)).collect();
    assert_eq!(
        places,
        [("host name", 2), ("user name", 11), ("home path", 0), ("tag", 0)],
        "the host's own field is one"
    );
}

#[test]
fn tags_of_an_environment_go_whole() {
    let gone = [
        "PATH",
        "X1_",
        "env.lang",
        "ENV:SHELL",
        "Env/x",
        "hf_token",
        "my-api-key",
        "Password",
        "AWS_SECRET",
        "credentials_file",
    ];
    let kept = ["Path", "environment", "envelope", "1X", "batch", "precision", "", "user"];
    let tags: Vec<(&str, &str)> = gone.into_iter().chain(kept).map(|key| (key, "value of ivan")).collect();
    let mut all = tags.clone();
    all.extend([("LOGNAME", "ivan"), ("env.host", "box9"), ("author", "one\nline")]);
    let (found, left, record) = texts_with(&all, &["ivan on box9"]);
    assert_eq!(left.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(kept));
    assert_eq!(found, ["[user] on [host-3]"], "a tag that goes still says whose name it is");
    assert!(
        record.tags.contains(&"PATH".to_owned()) && record.tags.contains(&"author".to_owned()),
        "{:?}",
        record.tags
    );
    assert_eq!(record.tags.len(), gone.len() + 3);
    assert_eq!(record.removed[3].places, record.tags.len() as u64);
}

#[test]
fn placeholders_that_a_text_holds_are_passed_over() {
    let found = texts(&["/home/judy/[home]", "[home-2]", "judy [user-2] [user", "[user]", "[host-x]"]);
    assert_eq!(found, ["[home-3]/[home]", "[home-2]", "[user-3] [user-2] [user", "[user]", "[host-x]"]);
    let (found, _, _) = texts_with(&[("user", "user"), ("host", "home")], &["user", "[user]", "[home]"]);
    assert_eq!(found, ["[user-2]", "[[user-2]]", "[[host-3]]"], "a user called user");
}

#[test]
fn hostile_names_and_texts_are_quick() {
    let begun = Instant::now();
    let found =
        texts_with(&[("user", "a.*b"), ("host", "(x+)+$"), ("owner", "[user]")], &["a.*b aXXb", "(x+)+$ xxxx", ""]).0;
    assert_eq!(found, ["[user-2] aXXb", "[host-3] xxxx", ""], "a name is no pattern");
    let long = |text: &str| text.repeat((1 << 20) / text.len());
    let big: Vec<String> =
        ["[", "[user", "@node1", "node1 ", "/home/", "~a/", "C:\\Users\\", "é@", "\0"].map(long).to_vec();
    let big: Vec<&str> = big.iter().map(String::as_str).collect();
    texts(&big);
    let names: String = (0..40_000).map(|n| format!("/home/u{n} ")).collect();
    assert_eq!(texts(&[&names, "u39999,u40000"])[1].split(',').next_back(), Some("u40000"));
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());

    // Long names, as many as are taken.
    let names: String = (0..10_000).map(|n| format!("/home/{n:_>255} ")).collect();
    assert!(!texts(&[&names])[0].contains("/home/"));
    let mut trace = on_host(&Lines::sound(), "node1");
    let names: String = (0..200_000).map(|n| format!("/home/u{n} ")).collect();
    trace.run.contract.required_semantic_labels = vec![names];
    let error = Redaction::of(&trace, &[]).err().expect("too many").to_string();
    assert!(error.contains("more names") && !error.contains("u199"), "{error}");
}

/// Every cell of a table as text.
fn cells(files: &[PathBuf], table: &'static str) -> Vec<String> {
    let spec = tables::events().into_iter().find(|t| t.name == table).expect("a table");
    let mut found = Vec::new();
    for file in files {
        let file = std::fs::File::open(file).expect("a file");
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
        assert_eq!(reader.schema().fields().len(), spec.columns.len());
        for batch in reader.build().expect("a reader") {
            let batch = batch.expect("a batch");
            for column in batch.columns() {
                let printed =
                    arrow::util::display::ArrayFormatter::try_new(column, &Default::default()).expect("printable");
                found.extend((0..column.len()).map(|row| printed.value(row).to_string()));
                found.extend(texts_of(column));
            }
        }
    }
    found
}

/// The texts of a column as they are, and which are NULL.
fn texts_of(array: &ArrayRef) -> Vec<String> {
    let texts = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().values().clone(),
        _ => array.clone(),
    };
    let Some(texts) = texts.as_string_opt::<i32>() else { return Vec::new() };
    texts.iter().map(|t| t.map_or("NULL".to_owned(), |t| format!("={t}"))).collect()
}

/// Redacts a trace into a directory and opens what was made.
fn redacted(trace: &Trace, nsight: &[PathBuf], dir: &Path) -> (Trace, RedactionRecord) {
    let mut redaction = Redaction::of(trace, nsight).expect("a redaction");
    let run = redaction.run(&trace.run);
    std::fs::write(dir.join("run.json"), bundle::run_bytes(&run)).expect("written");
    for spec in tables::events() {
        if let Some(files) = trace.files.get(spec.name) {
            let target = dir.join(format!("{}.parquet", spec.name));
            redaction.table(files, &spec, &run.run_id, &target).unwrap_or_else(|e| panic!("{e}"));
        }
    }
    for source in nsight {
        let name = source.file_name().and_then(|n| n.to_str()).expect("UTF-8");
        let target = dir.join(redaction.text(name));
        redaction.file(source, &target).unwrap_or_else(|e| panic!("{e}"));
    }
    let table = |table: &str| Some(dir.join(format!("{table}.parquet"))).filter(|p| p.is_file());
    let made = bundle::open_tables(&dir.join("run.json"), &table).expect("a sound redaction");
    (made, redaction.record())
}

fn folder(world: &World, name: &str) -> PathBuf {
    let path = world.path(name);
    std::fs::create_dir(&path).expect("a directory");
    path
}

/// The sound trace with private text in every place that a program fills.
fn private_lines() -> Lines {
    let mut t = Lines::sound();
    let forward = "/home/mallory/net.rs forward";
    let manifest = t.contract()["gradient_contract"].clone();
    let renamed = manifest.to_string().replace("\"w\"", "\"mallory.w\"").replace("\"p\"", "\"/home/mallory\"");
    t.contract()["gradient_contract"] = serde_json::from_str(&renamed).expect("JSON");
    t.contract()["required_semantic_labels"] = json!([forward, "backward"]);
    t.contract()["gpu_expected_semantic_labels"] = json!([forward]);
    t.meta()["correlation_id"] = json!("mallory@gpubox/update-3");
    t.meta()["entrypoint"] = json!("/home/mallory/bin/train");
    t.meta()["device"] = json!("gpubox:0");
    t.meta()["tags"] = json!({"user": "trudy", "data": "/home/mallory/data", "HOME": "/home/mallory", "mallory": "GPUBOX",
                              "node": "gpubox.example"});
    let text = t.text();
    let mut text = text
        .replace("\"T1\"", "\"~trudy/T1\"")
        .replace("\"T2\"", "\"gpubox/T2\"")
        .replace("\"A\"", "\"/Users/trudy/A\"");
    for (from, to) in [
        ("\"key\":\"w\"", "\"key\":\"mallory.w\""),
        ("\"root\":\"p\"", "\"root\":\"/home/mallory\""),
        ("\"g1\"", "\"g1 of trudy\""),
        ("\"hidden\"", "\"C:\\\\Users\\\\Oscar Wilde\\\\hidden\""),
        ("\"stream_id\":\"7\"", "\"stream_id\":\"mallory 7\""),
        ("\"clock_id\":\"gpu\"", "\"clock_id\":\"gpubox.example\""),
        ("\"backend\":\"cuda\"", "\"backend\":\"trudy\""),
        ("\"op_name\":\"relu\"", "\"op_name\":\"mallory_relu\""),
        ("\"name\":\"forward\"", "\"name\":\"/home/mallory/net.rs forward\""),
        ("\"name\":\"optimizer\"", "\"name\":\"Trudy's optimizer\""),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    Lines(text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

const PRIVATE: [&str; 5] = ["mallory", "trudy", "oscar", "wilde", "gpubox"];

fn assert_public(text: &str, what: &str) {
    let lower = text.to_lowercase();
    let found: Vec<&&str> = PRIVATE.iter().filter(|name| lower.contains(**name)).collect();
    assert!(found.is_empty(), "{what} holds {found:?}: {text}");
}

#[test]
fn nothing_private_is_left_and_the_trace_means_the_same() {
    let world = World::new();
    let mut trace = on_host(&private_lines(), "gpubox.example");
    trace.run.reason = Some("thread 'main' panicked at /home/mallory/net.rs:3".to_owned());
    let csv = world.write(
        "mallory_kern_sum.csv",
        "\u{feff}Time (%),Name\r\n50.0,\"/home/mallory/net.rs forward\"\r\n1000,Trudy on GPUBOX.example\n12,C:\\Users\\Oscar Wilde\\x",
    );
    let (made, record) = redacted(&trace, std::slice::from_ref(&csv), &folder(&world, "out"));
    assert_public(&serde_json::to_string(&record).expect("JSON"), "the record");
    let run = std::fs::read_to_string(world.path("out/run.json")).expect("a record");
    assert_public(&run, "the run record");
    for (table, files) in &made.files {
        assert_eq!(made.count(table), trace.count(table));
        cells(files, table).iter().for_each(|cell| assert_public(cell, table));
        let bytes = std::fs::read(&files[0]).expect("a file");
        assert_public(&String::from_utf8_lossy(&bytes), "a table's file");
    }
    let csv = std::fs::read_to_string(world.path("out/[user-2]_kern_sum.csv")).expect("named without its user");
    let expected =
        "\u{feff}Time (%),Name\r\n50.0,\"[home-2]/net.rs forward\"\r\n1000,[user-4] on [host-4]\n12,[home-3]\\x";
    assert_eq!(csv, expected, "byte for byte but for the names");

    let health = |trace| Evidence::gather(trace, Limits::default(), &[]).expect("evidence").health;
    let contract = |trace: &Trace| trace.run.contract.problems();
    assert_eq!(contract(&made), contract(&trace));
    assert_eq!(made.run.contract.required_semantic_labels, ["[home-2]/net.rs forward", "backward"]);
    trace.run.reason = None;
    let (made, _) = redacted(&trace, &[], &folder(&world, "again"));
    let (before, after) = (health(trace), health(made));
    assert_eq!(after, before, "the same counts and no new issue");
    assert!(after.is_sound(), "{:?}", after.issues);
}

#[test]
fn nothing_to_remove_leaves_everything() {
    let world = World::new();
    let mut trace = on_host(&Lines::sound(), "x");
    trace.run.host.host_name = None;
    let (made, record) = redacted(&trace, &[], &folder(&world, "out"));
    assert_eq!(made.run, trace.run);
    assert_eq!(made.rows, trace.rows);
    for (table, files) in &trace.files {
        assert_eq!(cells(&made.files[table], table), cells(files, table), "{table}");
    }
    assert!(record.removed.iter().all(|r| r.places == 0) && record.tags.is_empty(), "{record:?}");
    // What was redacted has nothing left to remove.
    let trace = on_host(&private_lines(), "gpubox.example");
    let (once, _) = redacted(&trace, &[], &folder(&world, "once"));
    let (twice, record) = redacted(&once, &[], &folder(&world, "twice"));
    assert_eq!(twice.run, once.run);
    assert!(record.removed.iter().all(|r| r.places == 0), "{record:?}");
}

#[test]
fn a_digest_that_was_wrong_stays_wrong() {
    let mut trace = on_host(&Lines::sound(), "box9");
    let expected = vec![ExpectedGradient::new("p", "/home/peggy/w", "peggy")];
    for (stated, sound) in [(None, true), (Some("sha256:0 of peggy".to_owned()), false)] {
        let contract = GradientContract::unchecked(expected.clone(), Vec::new(), stated);
        trace.run.contract.gradient_contract = Some(contract);
        let run = Redaction::of(&trace, &[]).expect("a redaction").run(&trace.run);
        let public = run.contract.gradient_contract.expect("a manifest");
        assert_eq!(public.expected(), [ExpectedGradient::new("p", "[home]/w", "[user]")]);
        assert_eq!(public.stated_digest() == public.digest(), sound);
        assert!(!public.stated_digest().contains("peggy"));
    }
}

#[test]
fn only_text_can_be_looked_into() {
    let world = World::new();
    let trace = on_host(&Lines::sound(), "box9");
    let utf16: Vec<u8> = "Name\nbox9\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes, line) in [
        ("a.nsys-rep", b"NSYS\n\xff\xfe".to_vec(), 2),
        ("b.sqlite", b"SQLite format 3\0".to_vec(), 1),
        ("c.csv", utf16, 1),
    ] {
        let path = world.write(name, bytes);
        let error = Redaction::of(&trace, std::slice::from_ref(&path)).err().expect("refused").to_string();
        assert!(error.contains(name) && error.contains(&format!("line {line} is no UTF-8 text")), "{error}");
        assert!(error.contains("leave it out") && error.contains("without --redact") && error.lines().count() == 1);
        let target = world.path("target");
        assert!(Redaction::of(&trace, &[]).expect("a redaction").file(&path, &target).is_err());
        assert!(!target.exists(), "nothing half-written stays");
    }
    let empty = world.write("empty.csv", "");
    let target = world.path("target");
    Redaction::of(&trace, std::slice::from_ref(&empty)).expect("a redaction").file(&empty, &target).expect("written");
    assert_eq!(std::fs::read(target).expect("a file"), b"");
}

#[test]
fn rows_of_another_run_are_refused() {
    let world = World::new();
    let trace = on_host(&Lines::sound(), "box9");
    let spec = tables::events().remove(0);
    let mut redaction = Redaction::of(&trace, &[]).expect("a redaction");
    let target = world.path("spans.parquet");
    let error = redaction.table(&trace.files["spans"], &spec, "run-2", &target).expect_err("refused").to_string();
    assert!(error.contains("another run"), "{error}");
    assert!(!target.exists());
}

#[test]
fn the_same_trace_gives_the_same_bytes_for_everybody() {
    let world = World::new();
    let path = world.write("trace.jsonl", private_lines().text());
    let mut bundles = Vec::new();
    for (name, user) in [("one", "mallory"), ("two", "somebody")] {
        let place = world.path(name);
        let arguments = ["report", "--redact", "--bundle"].map(std::ffi::OsStr::new);
        let arguments = [&arguments[..], &[place.as_os_str(), path.as_os_str()]].concat();
        let mut command = world.command(&arguments);
        command.env("HOME", format!("/home/{user}")).env("USER", user).env("HOSTNAME", user).env("LANG", "tr_TR.UTF-8");
        let output = command.env("TZ", "Asia/Tokyo").output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        bundles.push(std::fs::read(place.join("bundle.json")).expect("a manifest"));
        for file in ["run.json", "redaction.json", "evidence.json", "report.md"] {
            assert_public(&std::fs::read_to_string(place.join(file)).expect("text"), file);
        }
    }
    assert_eq!(bundles[0], bundles[1]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Texts of pieces that invite confusion: none is lost in another, none keeps a name, all stay as they are the next time.
    #[test]
    fn different_texts_stay_different(
        texts in proptest::collection::vec(
            proptest::collection::vec(proptest::sample::select(vec![
                "/home/", "/Users/", "C:\\Users\\", "~", "peggy", "Peggy", "victor", "a", "/", "\\", " ", ".", "-", "2", "[",
                "]", "[user]", "[user-2]", "[home]", "[host-3]", "user", "node1", "node1.cluster", "NODE1", "@", "/root", "é",
            ]), 0..7).prop_map(|pieces| pieces.concat()),
            1..40,
        )
    ) {
        let distinct: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
        let all: Vec<&str> = distinct.iter().copied().chain(["/home/peggy"]).collect();
        let (public, _, _) = texts_with(&[("user", "victor")], &all);
        let images: BTreeSet<&str> = public.iter().take(distinct.len()).map(String::as_str).collect();
        prop_assert_eq!(images.len(), distinct.len(), "{:?} -> {:?}", all, public);
        for text in &public {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            let private = words.filter(|w| ["peggy", "victor", "node1"].contains(&w.to_ascii_lowercase().as_str())).count();
            prop_assert_eq!(private, 0, "{:?} -> {:?}", &all, text);
        }
    }
}
