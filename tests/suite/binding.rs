//! Nsight reports and the trace they are supplied with: whether they belong together, and what a bundle makes of both.
//! In: the golden capture, and copies of it in which one thing is wrong. Out: a state and one reason for each.

use std::path::Path;

use candle_graph::evidence::{Binding, BindingState, binding};
use candle_graph::load::{self, Options, nsight};
use serde_json::{Value, json};

use crate::world::{World, fixture};

/// Copies the golden capture into a folder of the world.
fn capture(world: &World, name: &str) -> std::path::PathBuf {
    let dir = world.path(name);
    std::fs::create_dir_all(&dir).expect("a folder");
    for entry in std::fs::read_dir(fixture("nsight/golden")).expect("the capture") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, dir.join(path.file_name().expect("a name"))).expect("a copy");
    }
    dir
}

fn judged(dir: &Path) -> Binding {
    let mut trace = load::open(&fixture("nsight/golden.jsonl"), Options::default()).expect("a trace");
    nsight::attach(&mut trace, dir).expect("a capture");
    binding(&trace).expect("reports")
}

/// Rewrites the manifest of a capture.
fn edit(dir: &Path, change: impl FnOnce(&mut Value)) {
    let path = dir.join("capture-manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).expect("a manifest")).expect("JSON");
    change(&mut manifest);
    std::fs::write(path, serde_json::to_vec(&manifest).expect("JSON")).expect("written");
}

#[test]
fn a_whole_capture_of_this_run_is_bound() {
    let world = World::new();
    assert_eq!(judged(&capture(&world, "n")), Binding { state: BindingState::Bound, reasons: Vec::new() });
}

#[test]
fn without_a_manifest_nothing_is_proved_and_nothing_denied() {
    let world = World::new();
    let dir = capture(&world, "n");
    std::fs::remove_file(dir.join("capture-manifest.json")).expect("removed");
    let found = judged(&dir);
    assert_eq!(found.state, BindingState::Partial);
    assert!(found.reasons.len() == 1 && found.reasons[0].contains("nsight-manifest"), "{found:?}");
}

#[test]
fn each_contradiction_has_its_own_reason() {
    type Case = (&'static str, fn(&Path), &'static str);
    let cases: &[Case] = &[
        ("run", |d| edit(d, |m| m["run"]["id"] = json!("other")), "of run other"),
        ("correlation", |d| edit(d, |m| m["correlation"]["id"] = json!("other")), "correlation id other"),
        (
            "required",
            |d| {
                edit(d, |m| {
                    m["required_semantic_labels"] = json!(["trainer/forward", "trainer/backward", "trainer/host-io"])
                })
            },
            "required_semantic_labels of the trace's contract has \"trainer/never\"",
        ),
        (
            "expected",
            |d| edit(d, |m| m["gpu_expected_semantic_labels"].as_array_mut().expect("a list").push(json!("x"))),
            "gpu_expected_semantic_labels of the manifest has \"x\"",
        ),
        ("cpu", |d| edit(d, |m| m["cpu_only_semantic_labels"] = json!([])), "cpu_only_semantic_labels of the trace's"),
        ("schema", |d| edit(d, |m| m["schema"] = json!("candle-graph/nsight-capture/9")), "has schema"),
        ("no JSON", |d| std::fs::write(d.join("capture-manifest.json"), "{").expect("written"), "is no JSON"),
        ("no manifest", |d| edit(d, |m| m["artifacts"] = json!(7)), "is no candle-graph/nsight-capture/1"),
        ("size", |d| edit(d, |m| m["artifacts"][0]["size_bytes"] = json!(5)), "has 4 bytes, and the manifest says 5"),
        ("hash", |d| edit(d, |m| m["artifacts"][0]["sha256"] = json!("00")), "has another SHA-256"),
        (
            "absent",
            |d| std::fs::remove_file(d.join("capture_cuda_api_sum.csv")).expect("removed"),
            "declares capture_cuda_api_sum.csv, which was not supplied",
        ),
        (
            "undeclared",
            |d| edit(d, |m| drop(m["artifacts"].as_array_mut().expect("a list").remove(1))),
            "capture_cuda_api_sum.csv is read, and the manifest does not declare it",
        ),
        (
            "twice",
            |d| {
                edit(d, |m| {
                    let first = m["artifacts"][0].clone();
                    m["artifacts"].as_array_mut().expect("a list").push(first);
                });
            },
            "declares capture.nsys-rep twice",
        ),
        (
            "no raw capture",
            |d| {
                std::fs::remove_file(d.join("capture.nsys-rep")).expect("removed");
                edit(d, |m| drop(m["artifacts"].as_array_mut().expect("a list").remove(0)));
            },
            "the raw capture (.nsys-rep) is not among the files",
        ),
        (
            "raw capture undeclared",
            |d| edit(d, |m| drop(m["artifacts"].as_array_mut().expect("a list").remove(0))),
            "does not declare the raw capture",
        ),
    ];
    let world = World::new();
    for (name, change, reason) in cases {
        let dir = capture(&world, name);
        change(&dir);
        let found = judged(&dir);
        assert_eq!(found.state, BindingState::Mismatch, "{name}");
        assert!(found.reasons.len() == 1 && found.reasons[0].contains(reason), "{name}: {found:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_directory_is_flat_and_holds_regular_files_alone() {
    let world = World::new();
    type Case = (&'static str, fn(&Path), &'static str);
    let cases: [Case; 3] = [
        ("folder", |d| std::fs::create_dir(d.join("more")).expect("a folder"), "is a directory"),
        (
            "link",
            |d| std::os::unix::fs::symlink("capture.nsys-rep", d.join("l.csv")).expect("a link"),
            "is a symbolic link",
        ),
        (
            "hidden",
            |d| std::fs::write(d.join(".hidden.csv"), "").expect("written"),
            "has a name that no bundle can hold",
        ),
    ];
    for (name, change, reason) in cases {
        let dir = capture(&world, name);
        change(&dir);
        let trace = fixture("nsight/golden.jsonl");
        let ran = world.run(&["overview".as_ref(), trace.as_os_str(), "--nsight-dir".as_ref(), dir.as_os_str()]);
        assert!(ran.code == Some(1) && ran.stderr.contains(reason), "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_poor_binding_suppresses_no_row() {
    let world = World::new();
    let dir = capture(&world, "n");
    edit(&dir, |m| m["run"]["id"] = json!("other"));
    let trace = fixture("nsight/golden.jsonl");
    let ran = world.run(&[
        "query".as_ref(),
        trace.as_os_str(),
        "--nsight-dir".as_ref(),
        dir.as_os_str(),
        "--kind".as_ref(),
        "gpu-kernels".as_ref(),
    ]);
    let document = ran.json();
    assert_eq!(document["result"]["provenance_binding"], "mismatch");
    assert_eq!(document["result"]["status"], "available");
    assert_eq!(document["result"]["kernels"]["total"], 5);
    assert_eq!(document["capabilities"]["provenance_binding"]["level"], "invalid");
}

#[test]
fn a_manifest_that_is_written_binds() {
    let world = World::new();
    let dir = capture(&world, "n");
    std::fs::remove_file(dir.join("capture-manifest.json")).expect("removed");
    let trace = fixture("nsight/golden.jsonl");
    let write = |more: &[&str]| {
        let mut arguments = vec!["nsight-manifest".as_ref(), "--trace".as_ref(), trace.as_os_str(), "--dir".as_ref()];
        arguments.push(dir.as_os_str());
        arguments.extend(more.iter().map(|a| std::ffi::OsStr::new(*a)));
        world.run(&arguments)
    };
    let ran = write(&["--nsys-version", "2025.1", "--command", "nsys profile x", "--source", "model=abc"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(judged(&dir).state, BindingState::Bound);
    let text = std::fs::read(dir.join("capture-manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(manifest["tool"], json!({"name": "nsys", "version": "2025.1"}));
    assert_eq!(manifest["commands"], json!(["nsys profile x"]));
    assert_eq!(manifest["hardware"]["devices"], json!(["NVIDIA H200 (0)", "NVIDIA H200 (1)"]));
    assert_eq!(manifest["source_revisions"]["model"], "abc");
    // Never over another one, unless asked to.
    let again = write(&[]);
    assert!(again.code == Some(1) && again.stderr.contains("exists already; --replace"), "{}", again.stderr);
    assert_eq!(std::fs::read(dir.join("capture-manifest.json")).expect("a manifest"), text);
    assert_eq!(write(&["--replace"]).code, Some(0));
    assert_eq!(judged(&dir).state, BindingState::Bound);
    // What cannot be read is said while it can still be mended.
    std::fs::write(dir.join("capture_cuda_api_sum.csv"), "name,time\n").expect("written");
    let warned = write(&["--replace"]);
    assert!(warned.code == Some(0) && warned.stderr.contains("has no header of cuda_api_sum"), "{}", warned.stderr);
}

#[test]
fn a_bundle_answers_as_the_capture_did_and_is_checked_against_it() {
    let world = World::new();
    let dir = capture(&world, "n");
    let trace = fixture("nsight/golden.jsonl");
    let published = world.run(&[
        "report".as_ref(),
        trace.as_os_str(),
        "--nsight-dir".as_ref(),
        dir.as_os_str(),
        "--bundle".as_ref(),
        "b".as_ref(),
    ]);
    assert_eq!(published.code, Some(0), "{}", published.stderr);
    assert_eq!(world.run(&["verify", "b", "--semantic"]).code, Some(0));
    for kind in ["gpu-status", "gpu-correlation", "gpu-phases", "gpu-kernels", "gpu-attribution-gaps"] {
        let direct = world.run(&[
            "query".as_ref(),
            trace.as_os_str(),
            "--nsight-dir".as_ref(),
            dir.as_os_str(),
            "--kind".as_ref(),
            kind.as_ref(),
        ]);
        let bundled = world.run(&["query", "b", "--kind", kind]);
        assert_eq!(direct.json()["result"], bundled.json()["result"], "{kind}");
        assert_eq!(bundled.json()["result"]["provenance_binding"], "bound", "{kind}");
    }
    // Published anew, it is the same bundle.
    assert_eq!(world.run(&["report", "b", "--bundle", "c"]).code, Some(0));
    assert_eq!(std::fs::read(world.path("b/bundle.json")).ok(), std::fs::read(world.path("c/bundle.json")).ok());
    // A table that does not follow from the raw report is found by deriving it again.
    let manifest = world.path("b/bundle.json");
    let raw = world.path("b/nsight/capture_cuda_gpu_kern_sum.csv");
    let honest = std::fs::read_to_string(&raw).expect("a report");
    let forged = honest.replace("1500", "1501");
    std::fs::write(&raw, &forged).expect("written");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let hash = |text: &str| candle_graph::load::bundle::sha256(text.as_bytes());
    std::fs::write(&manifest, text.replace(&hash(&honest), &hash(&forged))).expect("written");
    let ran = world.run(&["verify", "b", "--semantic"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("does not follow"), "{}", ran.stderr);
}

#[test]
fn a_redacted_capture_says_why_it_is_bound_no_more() {
    let world = World::new();
    let dir = capture(&world, "n");
    // The raw capture is no text: nobody can see what is private in it.
    std::fs::remove_file(dir.join("capture.nsys-rep")).expect("removed");
    let trace = fixture("nsight/golden.jsonl");
    let ran = world.run(&[
        "report".as_ref(),
        trace.as_os_str(),
        "--nsight-dir".as_ref(),
        dir.as_os_str(),
        "--redact".as_ref(),
        "--bundle".as_ref(),
        "b".as_ref(),
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(world.run(&["verify", "b", "--semantic"]).code, Some(0));
    let status = world.run(&["query", "b", "--kind", "gpu-status"]).json();
    assert_eq!(status["result"]["provenance_binding"], "mismatch");
    let reasons = status["result"]["diagnostics"]["rows"].to_string();
    assert!(reasons.contains("a redaction has changed the files since"), "{reasons}");
}
