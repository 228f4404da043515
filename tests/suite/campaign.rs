//! Campaigns and series: every state of a planned capture, every reason not to make a series, its numbers and its page.

use std::path::{Path, PathBuf};

use candle_graph::load::bundle::{FileEntry, Manifest, layout, run_bytes, sha256, table_path};
use candle_graph::load::{self, Options};
use serde_json::{Value, json};

use crate::world::{Lines, Ran, World};

/// A trace of `train` at a step: one scalar, one tensor, one gradient, whose numbers follow from the step.
fn capture(step: i64) -> Lines {
    let mut lines = Lines::sound();
    let meta = lines.meta();
    meta["run_id"] = json!(format!("run-{step}"));
    meta["capture_step"] = json!(step);
    meta["warmup_steps"] = json!(step - 1);
    // 800 ns at step 3.
    lines.line("span_end", "id", "s1")["duration_ns"] = json!(797 + step);
    lines.line("tensor_stats", "label", "hidden")["rms"] = json!(step as f64 / 4.0);
    lines.line("gradient", "key", "w")["norm"] = json!(step as f64);
    lines.add(scalar("loss", Some(10.0 / step as f64)));
    lines
}

fn scalar(label: &str, value: Option<f64>) -> Value {
    json!({"kind": "tensor_stats", "span_id": "s3", "label": label, "shape": [], "dtype": "f64", "elements": 1,
           "non_finite": i64::from(value.is_none()), "rms": value.unwrap_or(0.0).abs(), "abs_max": value.unwrap_or(0.0).abs(),
           "mean": value.unwrap_or(0.0), "nan": i64::from(value.is_none()), "pos_inf": 0, "neg_inf": 0})
}

/// Publishes a trace as the bundle `name` with nothing but its run and its tables, and returns the bundle's identity.
pub fn publish(world: &World, name: &str, lines: &Lines) -> String {
    let trace = world.write("lines.jsonl", lines.text());
    let trace = load::open(&trace, Options { salvage: true, ..Options::default() }).expect("a readable trace");
    let dir = world.path(name);
    std::fs::create_dir_all(dir.join(layout::TABLES)).expect("a directory");
    let mut files = Vec::new();
    let mut add = |path: String, bytes: Vec<u8>| {
        std::fs::write(dir.join(&path), &bytes).expect("a written file");
        files.push(FileEntry { path, bytes: bytes.len() as u64, sha256: sha256(&bytes) });
    };
    add(layout::RUN.to_owned(), run_bytes(&trace.run));
    for (table, paths) in &trace.files {
        assert_eq!(paths.len(), 1, "{table}");
        add(table_path(table), std::fs::read(&paths[0]).expect("a table"));
    }
    let manifest = Manifest::new(trace.run.run_id.clone(), files).to_bytes();
    std::fs::write(dir.join(layout::MANIFEST), &manifest).expect("a written file");
    sha256(&manifest)
}

fn campaign(planned: &[(i64, &str)]) -> Value {
    let planned: Vec<Value> =
        planned.iter().map(|(step, bundle)| json!({"capture_step": step, "bundle": bundle})).collect();
    json!({"schema": "candle-graph/campaign/1", "campaign_id": "c", "entrypoint": "train", "planned": planned})
}

fn plan(world: &World, planned: &[(i64, &str)]) -> PathBuf {
    world.write("campaign.json", campaign(planned).to_string())
}

fn status(world: &World, manifest: &Path) -> Value {
    world.run(&[Path::new("campaign-status"), Path::new("--manifest"), manifest]).json()
}

fn refused(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    assert!(ran.stdout.is_empty(), "{}", ran.text());
    if code == 1 {
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    for word in words {
        assert!(ran.stderr.contains(word), "{word:?} in {}", ran.stderr);
    }
}

#[test]
fn a_status_tells_each_state() {
    let world = World::new();
    let published = publish(&world, "good", &capture(3));
    let mut lines = capture(4);
    lines.terminal()["outcome"] = json!("failed");
    lines.terminal()["reason"] = json!("out of memory");
    let failed = publish(&world, "failed", &lines);
    let mut lines = capture(5);
    lines.meta()["entrypoint"] = json!("other");
    publish(&world, "other", &lines);
    publish(&world, "late", &capture(7));
    publish(&world, "changed", &capture(8));
    let run = world.path("changed/run.json");
    let text = std::fs::read_to_string(&run).expect("a run").replace("\"cpu\"", "\"gpu\"");
    std::fs::write(&run, text).expect("a written file");
    publish(&world, "more", &capture(9));
    std::fs::write(world.path("more/stray"), "").expect("a written file");
    world.write("plain", "text");
    std::fs::create_dir(world.path("empty")).expect("a directory");
    // Cut before its end: interrupted, and so a failed run.
    let mut lines = capture(13);
    lines.0.pop();
    publish(&world, "cut", &lines);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("good", world.path("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", world.path("dangling")).expect("a link");
    }
    let manifest = plan(
        &world,
        &[
            (13, "cut"),
            (12, "dangling"),
            (11, "empty"),
            (10, "plain"),
            (9, "more"),
            (8, "changed"),
            (6, "late"),
            (5, "other"),
            (4, "failed"),
            (3, "good"),
            (2, "good/below"),
            (1, "nothing"),
            (14, "link"),
        ],
    );
    let found = status(&world, &manifest);
    assert_eq!(
        [&found["planned"], &found["published"], &found["missing"], &found["failed"]].map(|n| n.as_u64()),
        [13, 1, 2, 10].map(Some)
    );
    let captures = found["captures"].as_array().expect("captures");
    let steps: Vec<i64> = captures.iter().map(|c| c["capture_step"].as_i64().expect("a step")).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14], "sorted by step");
    let state = |step: i64| {
        let capture = captures.iter().find(|c| c["capture_step"] == step).expect("this step");
        capture["state"].clone()
    };
    assert_eq!(state(3), json!({"state": "published", "run_id": "run-3", "manifest_sha256": published}));
    assert_eq!(state(1), json!({"state": "missing", "reason": "nothing is there"}));
    assert_eq!(state(2), json!({"state": "missing", "reason": "nothing is there"}));
    assert_eq!(
        state(4),
        json!({"state": "failed_run", "run_id": "run-4", "manifest_sha256": failed,
               "reason": "the run is failed: out of memory"})
    );
    let expect = |step: i64, name: &str, words: &str| {
        let state = state(step);
        assert_eq!(state["state"], name, "{state}");
        assert!(state["reason"].as_str().is_some_and(|r| r.contains(words)), "{words:?} in {state}");
    };
    expect(5, "identity_mismatch", "is of entrypoint \"other\", and \"train\" is planned");
    expect(6, "identity_mismatch", "is of capture step 7, and 6 is planned");
    expect(8, "verification_failed", "run.json: was changed after publication");
    expect(9, "verification_failed", "stray: is in the bundle, but not in its manifest");
    expect(10, "verification_failed", "is no directory");
    expect(11, "verification_failed", "is a directory without bundle.json");
    expect(12, "verification_failed", "is a symbolic link to nothing");
    expect(13, "failed_run", "the run is interrupted");
    // A link is followed: the bundle of step 3 is there.
    expect(14, "identity_mismatch", "is of capture step 3, and 14 is planned");

    // No state is remembered, and none depends on where the campaign lies or on the order of the plan.
    let first = world.run(&["campaign-status", "--manifest", "campaign.json"]);
    assert_eq!(first.stdout, world.run(&["campaign-status", "--manifest", "./campaign.json"]).stdout);
    let mut turned = campaign(&[]);
    let mut planned: Vec<Value> = serde_json::from_slice::<Value>(&std::fs::read(&manifest).expect("a manifest"))
        .expect("JSON")["planned"]
        .as_array()
        .expect("a plan")
        .clone();
    planned.reverse();
    turned["planned"] = json!(planned);
    world.write("turned.json", turned.to_string());
    assert_eq!(first.stdout, world.run(&["campaign-status", "--manifest", "turned.json"]).stdout);

    let text = world.run(&["campaign-status", "--manifest", "campaign.json", "--format", "text"]).text();
    assert!(text.contains("13 planned: 1 published, 2 missing, 10 failed"), "{text}");
    let column = |word: &str| text.lines().find_map(|l| l.find(word)).unwrap_or_else(|| panic!("{word} in {text}"));
    assert_eq!(column("missing  "), column("identity_mismatch"), "{text}");
}

#[test]
fn a_status_changes_with_the_bundles() {
    let world = World::new();
    let manifest = plan(&world, &[(3, "runs/step 3")]);
    assert_eq!(status(&world, &manifest)["missing"], 1);
    std::fs::create_dir(world.path("runs")).expect("a directory");
    publish(&world, "runs/step 3", &capture(3));
    assert_eq!(status(&world, &manifest)["published"], 1);
    std::fs::remove_file(world.path("runs/step 3/tables/spans.parquet")).expect("a removed file");
    let found = status(&world, &manifest);
    assert_eq!(
        found["captures"][0]["state"],
        json!({"state": "verification_failed", "reason": "tables/spans.parquet: is missing"})
    );
}

#[test]
fn a_wrong_manifest_is_refused_with_its_place() {
    let world = World::new();
    let mut cases: Vec<(String, &str)> = vec![
        ("{".to_owned(), "is no campaign manifest"),
        ("[]".to_owned(), "is no campaign manifest"),
        (format!("{}1", "[".repeat(100_000)), "is no campaign manifest"),
        (" ".repeat((4 << 20) + 1), "larger than 4 MiB"),
    ];
    type Change<'a> = (&'a dyn Fn(&mut Value), &'a str);
    let changes: Vec<Change<'_>> = vec![
        (
            &|m| m["schema"] = json!("candle-graph/campaign/2"),
            "has schema \"candle-graph/campaign/2\"; this version reads",
        ),
        (&|m| m["note"] = json!("x"), "unknown field `note`"),
        (&|m| m["planned"][0]["note"] = json!("x"), "unknown field `note`"),
        (&|m| m["campaign_id"] = json!(""), "campaign_id is empty"),
        (&|m| m["entrypoint"] = json!(" "), "entrypoint is empty"),
        (&|m| m["campaign_id"] = json!("a\u{1b}"), "campaign_id has a control character"),
        (&|m| m["planned"] = json!([]), "planned is empty"),
        (&|m| m["planned"][0]["capture_step"] = json!(0), "planned[0].capture_step is 0; steps are counted from 1"),
        (&|m| m["planned"][0]["capture_step"] = json!(1.5), "expected i64"),
        (&|m| m["planned"][1]["capture_step"] = json!(1), "planned[0] and planned[1] are both of capture_step 1"),
        (&|m| m["planned"][1]["bundle"] = json!("a"), "planned[0] and planned[1] have the same bundle \"a\""),
        (&|m| m["planned"][1]["bundle"] = json!(""), "planned[1].bundle \"\" is empty"),
        (&|m| m["planned"][1]["bundle"] = json!("/a"), "planned[1].bundle \"/a\" is absolute"),
        (&|m| m["planned"][1]["bundle"] = json!("b/../../a"), "leaves the manifest's folder"),
        (&|m| m["planned"][1]["bundle"] = json!("b\\a"), "has a backslash"),
        (&|m| m["planned"][1]["bundle"] = json!("b\n"), "has a control character"),
        (&|m| m["planned"][1]["bundle"] = json!("./a"), "an empty name or `.`"),
    ];
    for (change, words) in changes {
        let mut manifest = campaign(&[(1, "a"), (2, "b")]);
        change(&mut manifest);
        cases.push((manifest.to_string(), words));
    }
    for (text, words) in cases {
        world.write("campaign.json", text);
        for command in ["campaign-status", "series"] {
            refused(&world.run(&[command, "--manifest", "campaign.json"]), 1, &["campaign.json: ", words]);
        }
    }
    refused(&world.run(&["campaign-status", "--manifest", "none.json"]), 1, &["none.json: does not exist"]);
    refused(&world.run(&["campaign-status", "--manifest", "tmp"]), 1, &["tmp: is no regular file"]);
    refused(&world.run(&["campaign-status"]), 2, &["--manifest"]);
}

/// Three captures of one program: what is recorded of steps 1, 2 and 4.
fn three(world: &World) -> [String; 3] {
    let mut lines = capture(2);
    lines.add(scalar("loss", None));
    lines.drop("tensor_stats", "label", "hidden");
    let second = publish(world, "two", &lines);
    [publish(world, "one", &capture(1)), second, publish(world, "four", &capture(4))]
}

#[test]
fn a_series_holds_every_occurrence_by_step() {
    let world = World::new();
    let identities = three(&world);
    let ran = world.run(&["series", "--bundle", "four", "one", "two"]);
    let series = ran.json();
    assert_eq!(series["schema"], "candle-graph/series/1");
    assert_eq!((&series["entrypoint"], &series["phase"]), (&json!("train"), &json!("train")));
    assert_eq!((&series["coordinate"], &series["label_prefix"]), (&json!("capture_step"), &Value::Null));
    let cells = |rows: &Value, columns: &[&str]| -> Vec<Value> {
        let rows = rows.as_array().expect("rows");
        rows.iter().map(|row| columns.iter().map(|c| row[c].clone()).collect()).collect()
    };
    assert_eq!(
        cells(&series["inputs"], &["capture_step", "run_id", "bundle", "manifest_sha256"]),
        [
            json!([1, "run-1", "one", identities[0]]),
            json!([2, "run-2", "two", identities[1]]),
            json!([4, "run-4", "four", identities[2]]),
        ]
    );
    assert_eq!(
        cells(&series["outer_wall_time"], &["capture_step", "run_id", "outer_wall_time_ns"]),
        [json!([1, "run-1", 798]), json!([2, "run-2", 799]), json!([4, "run-4", 801])]
    );
    let stats = &series["tensor_stats"];
    assert_eq!(stats.as_object().expect("labels").keys().collect::<Vec<_>>(), ["hidden", "loss"]);
    // A quarter of the step; step 2 did not record it.
    assert_eq!(
        cells(&stats["hidden"], &["capture_step", "rms", "non_finite"]),
        [json!([1, 0.25, 0]), json!([4, 1.0, 0])]
    );
    // Ten over the step; step 2 recorded it twice, the second time as NaN.
    assert_eq!(
        cells(&stats["loss"], &["capture_step", "mean", "non_finite", "nan", "shape"]),
        [json!([1, 10.0, 0, 0, []]), json!([2, 5.0, 0, 0, []]), json!([2, null, 1, 1, []]), json!([4, 2.5, 0, 0, []]),]
    );
    let gradients = &series["gradients"];
    assert_eq!(
        gradients.as_object().expect("labels").keys().collect::<Vec<_>>(),
        ["p/b", "p/e1", "p/e2", "p/frozen", "p/w"]
    );
    let of = |label: &str| cells(&gradients[label], &["capture_step", "state", "norm"]);
    assert_eq!(of("p/w"), [json!([1, "present", 1.0]), json!([2, "present", 2.0]), json!([4, "present", 4.0])]);
    assert_eq!(of("p/e1"), [1, 2, 4].map(|step| json!([step, "zero", 0.0])));
    assert_eq!(of("p/frozen"), [1, 2, 4].map(|step| json!([step, "missing", null])));

    // The order of arguments is no part of the result, and neither is whether a manifest named the bundles.
    assert_eq!(ran.stdout, world.run(&["series", "--bundle", "one", "two", "four"]).stdout);
    plan(&world, &[(4, "four"), (1, "one"), (2, "two")]);
    assert_eq!(ran.stdout, world.run(&["series", "--manifest", "campaign.json"]).stdout);

    let some = world.run(&["series", "--bundle", "one", "four", "--label-prefix", "p/"]).json();
    assert_eq!(some["tensor_stats"], json!({}));
    assert_eq!(some["gradients"].as_object().expect("labels").len(), 5);
    assert_eq!(some["label_prefix"], "p/");
}

#[test]
fn a_series_fails_closed() {
    let world = World::new();
    three(&world);
    let change = |name: &str, step: i64, change: &dyn Fn(&mut Lines)| {
        let mut lines = capture(step);
        change(&mut lines);
        publish(&world, name, &lines);
    };
    change("failed", 5, &|l| {
        l.terminal()["outcome"] = json!("failed");
        l.terminal()["reason"] = json!("no");
    });
    change("cut", 5, &|l| drop(l.0.pop()));
    // A child that outlives its parent.
    change("invalid", 5, &|l| l.line("span_end", "id", "s4")["duration_ns"] = json!(5000));
    change("other", 5, &|l| l.meta()["entrypoint"] = json!("other"));
    change("inference", 5, &|l| l.meta()["phase"] = json!("infer"));
    change("same-step", 1, &|l| l.meta()["run_id"] = json!("another"));
    change("same-run", 5, &|l| l.meta()["run_id"] = json!("run-1"));
    let series = |bundles: &[&str]| world.run(&[&["series", "--bundle"], bundles].concat());
    refused(&series(&["one", "failed"]), 1, &["failed: is no complete capture", "capture_failed"]);
    refused(&series(&["cut"]), 1, &["cut: is no complete capture", "capture_interrupted"]);
    // What it recorded is shown; its time is not claimed.
    let told = series(&["invalid", "one"]).json();
    let times: Vec<bool> =
        told["outer_wall_time"].as_array().expect("a list").iter().map(|p| p["outer_wall_time_ns"].is_null()).collect();
    assert_eq!(times, [false, true]);
    assert!(told["inputs"][1]["invalid_reason"].as_str().expect("a reason").contains("child_outside_parent"));
    assert!(told["inputs"][0]["invalid_reason"].is_null());
    refused(&series(&["other", "one"]), 1, &["other: is of entrypoint \"other\", and one of \"train\""]);
    refused(&series(&["one", "inference"]), 1, &["inference: is of phase infer, and one of train"]);
    refused(&series(&["one", "same-step"]), 1, &["is of capture step 1, as", "a series has one capture of each step"]);
    refused(&series(&["one", "same-run"]), 1, &["same-run: is the same run as one (run-1)"]);
    refused(&series(&["one", "one"]), 1, &["is the same run as one (run-1)"]);
    refused(&series(&["one", "nothing"]), 1, &["nothing: does not exist; give a published bundle"]);
    refused(&series(&["tmp"]), 1, &["tmp: is a directory without bundle.json"]);
    refused(&series(&["lines.jsonl"]), 1, &["lines.jsonl: is no directory, and a bundle is one"]);
    std::fs::write(world.path("four/tables/stray.parquet"), "").expect("a written file");
    refused(&series(&["one", "four"]), 1, &["four/tables/stray.parquet: is in the bundle, but not in its manifest"]);
    refused(&world.run(&["series"]), 2, &["--manifest", "--bundle"]);
    refused(&world.run(&["series", "--bundle"]), 2, &["--bundle"]);
    refused(&world.run(&["series", "--bundle", "one", "--manifest", "x"]), 2, &["cannot be used with"]);

    plan(&world, &[(1, "one"), (2, "two"), (4, "four"), (5, "failed"), (6, "other"), (7, "none"), (8, "two/x")]);
    refused(
        &world.run(&["series", "--manifest", "campaign.json"]),
        1,
        &[
            "campaign.json: 5 of 7 captures not published: step 4 (four) verification_failed, step 5 (failed) failed_run, \
             step 6 (other) identity_mismatch, step 7 (none) missing, step 8 (two/x) missing; `candle-graph campaign-status`",
        ],
    );
}

#[test]
fn nothing_is_written_into_what_is_read() {
    let world = World::new();
    three(&world);
    plan(&world, &[(1, "one"), (2, "two")]);
    for option in ["-o", "--report"] {
        for place in ["one/x.html", "two/tables/../x.html"] {
            let ran = world.run(&["series", "--manifest", "campaign.json", option, place]);
            refused(&ran, 1, &["lies in"]);
        }
    }
    refused(&world.run(&["campaign-status", "--manifest", "campaign.json", "-o", "one/x"]), 1, &["lies in"]);
    refused(
        &world.run(&["campaign-status", "--manifest", "campaign.json", "-o", "campaign.json"]),
        1,
        &["campaign.json"],
    );
    refused(&world.run(&["series", "--bundle", "one", "--report", "page.md"]), 2, &["a name that ends in .html"]);
    refused(&world.run(&["series", "--bundle", "one", "--report", "a.html", "-o", "a.html"]), 2, &["each its own"]);
    // A series that cannot be made leaves no page.
    assert_eq!(world.run(&["series", "--bundle", "one", "nothing", "--report", "page.html"]).code, Some(1));
    assert!(!world.path("page.html").exists());
}

#[test]
fn a_page_draws_what_is_there_and_marks_what_is_not() {
    let world = World::new();
    three(&world);
    let ran = world.run(&["series", "--bundle", "one", "two", "four", "--report", "page.html"]);
    assert_eq!(ran.json()["schema"], "candle-graph/series/1", "the document comes too");
    let page = std::fs::read_to_string(world.path("page.html")).expect("a page");
    let figure = |label: &str| -> &str {
        let title = format!("<span class=\"label\">{label}</span><span class=\"what\">");
        let at = page.find(&title).unwrap_or_else(|| panic!("no plot of {label} in {page}"));
        page[at..].split("</figure>").next().expect("a part")
    };
    // Wall time, five gradients, one scalar, one tensor.
    assert_eq!(page.matches("<figure").count(), 8);
    let loss = figure("loss");
    // Numbers of steps 1, 2 and 4, and the NaN of step 2 as a mark.
    assert_eq!((loss.matches("<circle").count(), loss.matches("class=\"bad\"").count()), (3, 1), "{loss}");
    assert!(loss.contains("<title>update 2: not finite (1 NaN)</title>"), "{loss}");
    assert!(loss.contains("<dt>lowest</dt><dd>2.5<span>update 4</span>"), "{loss}");
    assert!(loss.contains("not finite at update 2; 4 values, several of one update in order of recording"), "{loss}");
    // The line ends at step 2 and begins anew at step 4.
    let path = loss.split("class=\"main\" d=\"").nth(1).and_then(|d| d.split('"').next()).expect("a line");
    assert_eq!((path.matches('M').count(), path.matches('L').count(), path.matches("h0").count()), (2, 1, 1), "{path}");
    let hidden = figure("hidden");
    assert!(hidden.contains("not recorded at update 2") && hidden.contains("class=\"gone\""), "{hidden}");
    let frozen = figure("p/frozen");
    assert!(
        frozen.contains("no finite number to draw") && frozen.contains("no gradient at updates 1, 2 and 4"),
        "{frozen}"
    );
    assert!(!frozen.contains("<circle"), "{frozen}");
    let zero = figure("p/e1");
    assert_eq!(zero.matches("<circle").count(), 3, "a zero gradient is a number: {zero}");
    assert!(page.contains("candle-graph series --bundle one two four -o series.json"), "{page}");
}

#[test]
fn a_page_runs_nothing_fetches_nothing_and_obeys_no_label() {
    let world = World::new();
    let evil = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'&\u{202e}\u{1b}[2J";
    for step in [1, 2] {
        let mut lines = capture(step);
        lines.meta()["entrypoint"] = json!(evil);
        lines.meta()["device"] = json!(evil);
        lines.line("tensor_stats", "label", "hidden")["dtype"] = json!("f32");
        lines.add(scalar(evil, Some(step as f64)));
        lines.add(scalar(&"long ".repeat(4096), Some(step as f64)));
        publish(&world, &format!("<b>{step}'"), &lines);
    }
    let bundles = ["<b>1'", "<b>2'"];
    let arguments = ["series", "--bundle", bundles[0], bundles[1], "--report", "page.html", "-o", "series.json"];
    let ran = world.run(&arguments);
    assert_eq!((ran.code, ran.stdout.len()), (Some(0), 0), "{}", ran.stderr);
    let page = std::fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'; img-src data:"));
    let lower = page.to_lowercase();
    for never in
        ["<script", "<img", "onerror=alert(1)>", "http://", "https://", "@import", "url(", "\u{202e}", "\u{1b}"]
    {
        assert!(!lower.contains(never), "{never:?}");
    }
    assert!(page.contains("&quot;&gt;&lt;script&gt;alert(1)"), "shown as text");
    assert!(
        page.contains("'&lt;b&gt;1'\\''") || page.contains("&#39;&lt;b&gt;1&#39;\\&#39;&#39;"),
        "quoted for a shell"
    );
    assert!(page.len() < 64 << 10, "a long label is shortened: {}", page.len());
    let before = std::fs::read(world.path("page.html")).expect("a page");
    world.run(&arguments);
    assert_eq!(before, std::fs::read(world.path("page.html")).expect("a page"), "made again it is the same");
}

#[test]
fn a_page_has_at_most_200_plots_and_says_what_is_left_out() {
    let world = World::new();
    let mut lines = capture(3);
    for label in 0..300 {
        lines.add(scalar(&format!("s{label:03}"), Some(1.0)));
    }
    publish(&world, "many", &lines);
    let ran = world.run(&["series", "--bundle", "many", "--report", "page.html"]);
    assert_eq!(ran.json()["tensor_stats"].as_object().expect("labels").len(), 302);
    let page = std::fs::read_to_string(world.path("page.html")).expect("a page");
    assert_eq!(page.matches("<figure").count(), 200);
    // 301 scalars; 199 plots less 5 gradients and 1 tensor.
    assert!(page.contains("Showing 193 of 301, in order of their labels."), "{page}");
}
