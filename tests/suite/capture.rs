//! `CaptureRun`: recorded and published once, however often it is begun.

use std::path::{Path, PathBuf};

use candle_graph::{CaptureBegin, CaptureRun, ProfileRun, SpanKind};

use crate::world::World;

fn run(step: u64) -> ProfileRun {
    ProfileRun::training("train", step, "cpu")
}

fn begin(destination: &Path, step: u64) -> CaptureBegin {
    CaptureRun::begin(destination, run(step)).expect("a capture begins")
}

fn active(destination: &Path, step: u64) -> CaptureRun {
    match begin(destination, step) {
        CaptureBegin::Active(capture) => capture,
        CaptureBegin::AlreadyPublished(receipt) => panic!("published already: {receipt:?}"),
    }
}

fn record(capture: &CaptureRun) {
    let measured = capture.session().begin_measurement("update");
    drop(capture.session().begin_span("forward", SpanKind::Function));
    drop(measured);
}

/// What lies beside a destination and belongs to the program.
fn stages(world: &World) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.path("runs")).expect("a folder").map(|e| e.expect("an entry").path());
    let hidden = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(".candle-graph-"));
    let mut found: Vec<PathBuf> = entries.filter(hidden).collect();
    found.sort();
    found
}

#[test]
fn a_capture_is_published_once() {
    let world = World::new();
    let destination = world.path("runs/step-3");
    let capture = active(&destination, 3);
    record(&capture);
    let run_id = capture.session().run_id().to_owned();
    assert!(!destination.exists(), "nothing is there before it is whole");
    let receipt = capture.publish().expect("published");
    assert_eq!((receipt.status, receipt.run_id.as_str()), ("published", run_id.as_str()));
    assert_eq!(stages(&world), Vec::<PathBuf>::new());
    let CaptureBegin::AlreadyPublished(again) = begin(&destination, 3) else { panic!("it is there") };
    assert_eq!((again.status, again.run_id.as_str()), ("already_published", run_id.as_str()));
    assert_eq!(again.verification.manifest_sha256, receipt.verification.manifest_sha256);
    let ran = world.run(&["verify", "runs/step-3", "--semantic"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn anything_else_at_the_destination_is_a_conflict() {
    let world = World::new();
    let destination = world.path("runs/step-3");
    let capture = active(&destination, 3);
    record(&capture);
    capture.publish().expect("published");
    let conflict = |run: ProfileRun, path: &Path| match CaptureRun::begin(path, run) {
        Ok(_) => panic!("something else is there"),
        Err(e) => e.to_string(),
    };
    for other in [
        run(4),
        ProfileRun::training("test", 3, "cpu").correlation_id("train/update-3"),
        ProfileRun::inference("train", 3, "cpu").correlation_id("train/update-3"),
        ProfileRun::training("train", 3, "cuda:0"),
        run(3).correlation_id("another"),
    ] {
        assert!(conflict(other, &destination).contains("another capture"));
    }
    std::fs::write(world.path("runs/file"), "x").expect("a file");
    assert!(conflict(run(3), &world.path("runs/file")).contains("no bundle"));
    std::fs::create_dir(world.path("runs/empty")).expect("a folder");
    assert!(conflict(run(3), &world.path("runs/empty")).contains("no bundle"));
    std::fs::write(destination.join("report.md"), "forged").expect("a file");
    assert!(conflict(run(3), &destination).contains("does not verify"));
    assert!(conflict(ProfileRun::training("", 3, "cpu"), &world.path("runs/x")).contains("entrypoint"));
    assert!(!world.path("runs/x").exists());
}

#[test]
fn a_failed_capture_says_why() {
    let world = World::new();
    let destination = world.path("runs/step-3");
    let capture = active(&destination, 3);
    record(&capture);
    assert_eq!(capture.publish_failed("loss is NaN").expect("published").status, "published");
    let overview = world.run(&["overview", "runs/step-3"]).json();
    assert_eq!(
        (&overview["provenance"]["outcome"], &overview["provenance"]["reason"]),
        (&"failed".into(), &"loss is NaN".into())
    );
    let capture = active(&world.path("runs/step-4"), 4);
    record(&capture);
    let error = capture.publish_failed(" ").expect_err("no reason").to_string();
    assert!(error.contains("reason") && error.contains("is kept at"), "{error}");
}

#[test]
fn a_publication_that_fails_keeps_the_trace() {
    let world = World::new();
    let destination = world.path("runs/step-3");
    let capture = active(&destination, 3);
    record(&capture);
    // Somebody takes the name meanwhile.
    std::fs::write(&destination, "x").expect("a file");
    let error = capture.publish().expect_err("the name is taken").to_string();
    let kept = stages(&world);
    assert_eq!(kept.len(), 1, "{error}");
    assert!(error.contains(&format!("is kept at {}", kept[0].join("trace").display())), "{error}");
    std::fs::remove_file(&destination).expect("a file");
    // Begun again, it is published from what was kept.
    let CaptureBegin::AlreadyPublished(receipt) = begin(&destination, 3) else { panic!("the trace had ended") };
    assert_eq!(receipt.status, "already_published");
    assert_eq!(stages(&world), Vec::<PathBuf>::new());
    assert_eq!(world.run(&["verify", "runs/step-3", "--semantic"]).code, Some(0));
}

#[test]
fn what_was_cut_off_is_named_and_kept() {
    let world = World::new();
    let destination = world.path("runs/step-3");
    let capture = active(&destination, 3);
    record(&capture);
    drop(capture);
    let first = stages(&world);
    assert_eq!(first.len(), 1);
    let capture = active(&destination, 3);
    assert_eq!(capture.left_behind(), [first[0].join("trace")]);
    // Whoever lives is left alone, and so are the stages of other destinations.
    let other = active(&world.path("runs/step-4"), 4);
    assert_eq!(other.left_behind(), Vec::<PathBuf>::new());
    let third = active(&destination, 3);
    assert_eq!(third.left_behind(), [first[0].join("trace")]);
    record(&capture);
    record(&third);
    capture.publish().expect("published");
    let lost = third.publish().expect_err("another attempt was faster").to_string();
    assert!(lost.contains("another bundle") && lost.contains("is kept at"), "{lost}");
    assert!(first[0].join("trace").is_dir());
    let trace = first[0].join("trace");
    let ran = world.run(&["overview".as_ref(), trace.as_os_str()]);
    assert_eq!(ran.json()["provenance"]["outcome"], "interrupted");
}

#[test]
fn nsight_reports_are_published_even_when_a_retry_publishes() {
    let world = World::new();
    std::fs::create_dir(world.path("n")).expect("a folder");
    world.write("n/r_cuda_gpu_trace.csv", "Start (ns),Name\n");
    let destination = world.path("runs/step-3");
    let capture = active(&destination, 3).with_nsight_dir(world.path("n"));
    record(&capture);
    std::fs::write(&destination, "x").expect("a file");
    capture.publish().expect_err("the name is taken");
    std::fs::remove_file(&destination).expect("a file");
    assert!(matches!(begin(&destination, 3), CaptureBegin::AlreadyPublished(_)));
    assert!(destination.join("nsight/r_cuda_gpu_trace.csv").is_file());
}
