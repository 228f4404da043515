//! Selecting and opening: what is refused, and that a refusal leaves nothing on disk.

use candle_graph_record::{
    CaptureContract, CaptureSelector, ComparisonIdentity, CoverageLevel, Error, ExecutionPhase, ExpectedGradient,
    GradientContract, GradientFamilyContract, MeasurementScope, Outcome, ProfileRun, TimingMode, TraceSession,
};

use crate::world::{Trace, dir, names, refusal, run, session};

#[test]
fn a_selector_counts_from_one_and_selects_one_invocation() {
    assert!(matches!(CaptureSelector::new(0), Err(Error::SelectorZero)));
    let third = CaptureSelector::new(3).unwrap();
    assert_eq!(third.selected_invocation(), 3);
    let selected: Vec<u64> = (0..10).filter(|&i| third.is_selected(i)).collect();
    assert_eq!(selected, [3]);
}

fn identity() -> ComparisonIdentity {
    ComparisonIdentity {
        implementation_id: Some("baseline".into()),
        workload_id: "w".into(),
        model_id: "m".into(),
        config_id: "c".into(),
        data_id: "d".into(),
        seed_policy: "fixed".into(),
        physical_batch: 1,
        accumulation_steps: 1,
        precision: "f32".into(),
        device_state: "idle".into(),
        pair_id: Some("p1".into()),
    }
}

fn with_identity(change: impl FnOnce(&mut ComparisonIdentity)) -> ProfileRun {
    let mut identity = identity();
    change(&mut identity);
    run().comparison_identity(identity)
}

fn with_contract(change: impl FnOnce(&mut CaptureContract)) -> ProfileRun {
    let mut contract = CaptureContract::default();
    change(&mut contract);
    run().capture_contract(contract)
}

fn gradients() -> GradientContract {
    GradientContract::new(
        vec![ExpectedGradient::new("model", "w", "dense")],
        vec![GradientFamilyContract::active("dense", 1)],
    )
    .unwrap()
}

/// Each run has one fault; the error must name its field, and the directory must stay as it was.
#[test]
fn each_fault_of_a_run_is_refused_before_anything_is_created() {
    let labels = |of: &[&str]| of.iter().map(|&l| l.to_owned()).collect::<Vec<_>>();
    let faults: Vec<(&str, ProfileRun)> = vec![
        ("entrypoint", ProfileRun::training("", 1, "cpu").correlation_id("c")),
        ("entrypoint", ProfileRun::inference(" \t", 1, "cpu").correlation_id("c")),
        ("device", ProfileRun::training("train", 1, "")),
        ("correlation_id", run().correlation_id("")),
        ("capture_step", ProfileRun::training("train", 0, "cpu")),
        ("capture_step", ProfileRun::training("train", u64::MAX, "cpu")),
        ("warmup_steps", run().warmup_steps(3)),
        ("implementation_id", with_identity(|i| i.implementation_id = Some(String::new()))),
        ("workload_id", with_identity(|i| i.workload_id.clear())),
        ("model_id", with_identity(|i| i.model_id.clear())),
        ("config_id", with_identity(|i| i.config_id.clear())),
        ("data_id", with_identity(|i| i.data_id.clear())),
        ("seed_policy", with_identity(|i| i.seed_policy.clear())),
        ("precision", with_identity(|i| i.precision.clear())),
        ("device_state", with_identity(|i| i.device_state.clear())),
        ("pair_id", with_identity(|i| i.pair_id = Some(" ".into()))),
        ("physical_batch", with_identity(|i| i.physical_batch = 0)),
        ("accumulation_steps", with_identity(|i| i.accumulation_steps = 0)),
        ("activations", with_contract(|c| c.activations = CoverageLevel::Complete)),
        (
            "activations",
            with_contract(|c| {
                c.activations = CoverageLevel::Complete;
                c.operations = CoverageLevel::Complete;
            }),
        ),
        ("required_semantic_labels", with_contract(|c| c.required_semantic_labels = labels(&[""]))),
        ("required_semantic_labels", with_contract(|c| c.required_semantic_labels = labels(&["a", "a"]))),
        (
            "gpu_expected_semantic_labels",
            with_contract(|c| {
                c.required_semantic_labels = labels(&["a", "b"]);
                c.gpu_expected_semantic_labels = labels(&["a"]);
            }),
        ),
        ("cpu_only_semantic_labels", with_contract(|c| c.cpu_only_semantic_labels = labels(&["a"]))),
        (
            "cpu_only_semantic_labels",
            with_contract(|c| {
                c.required_semantic_labels = labels(&["a"]);
                c.gpu_expected_semantic_labels = labels(&["a"]);
                c.cpu_only_semantic_labels = labels(&["a"]);
            }),
        ),
        ("gradients", with_contract(|c| c.gradients = CoverageLevel::Complete)),
        ("gradient_contract", with_contract(|c| c.gradient_contract = Some(gradients()))),
    ];
    let dir = dir();
    for (field, run) in faults {
        let message = refusal(TraceSession::open(dir.path().join("new/trace"), run.clone()));
        assert!(message.contains(field), "{field} is not named in: {message}");
        let message = refusal(TraceSession::open(dir.path().join("trace.jsonl"), run));
        assert!(message.contains(field), "{field} is not named in: {message}");
        assert_eq!(names(dir.path()), [""; 0], "after the fault in {field}");
    }
}

#[test]
fn a_gradient_contract_with_a_fault_is_refused() {
    let entry = |key| ExpectedGradient::new("model", key, "dense");
    let active = |n| vec![GradientFamilyContract::active("dense", n)];
    for (problem, expected, families) in [
        ("expects no gradient", vec![], vec![]),
        ("empty part", vec![entry("")], active(1)),
        ("more than once", vec![entry("w"), entry("w")], active(1)),
        ("min_present 0", vec![entry("w")], active(0)),
        ("min_present 2", vec![entry("w")], active(2)),
        ("no rule", vec![entry("w")], vec![]),
        ("two rules", vec![entry("w")], [active(1), active(1)].concat()),
        ("has no member", vec![entry("w")], [active(1), vec![GradientFamilyContract::inactive("other")]].concat()),
    ] {
        let message = refusal(GradientContract::new(expected, families));
        assert!(message.contains(problem), "{problem:?} is not in: {message}");
    }
}

#[test]
fn a_path_that_holds_something_is_refused_and_left_alone() {
    let dir = dir();
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let full = dir.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("notes"), "mine").unwrap();
    for path in [&file, &full] {
        assert!(matches!(TraceSession::open(path, run()), Err(Error::Exists { path: p }) if p == *path));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(names(&full), ["notes"]);
    // A trace that has ended is somebody's data, too.
    let ended = session(&dir).finish().unwrap();
    assert!(matches!(TraceSession::open(&ended, run()), Err(Error::Exists { .. })));
    // An empty directory holds nothing: it may become the trace.
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    TraceSession::open(&empty, run()).unwrap().finish().unwrap();
    assert_eq!(Trace::read(&empty).run.outcome, Outcome::Complete);
}

#[test]
fn a_path_that_is_being_recorded_to_is_refused_with_its_own_error() {
    let dir = dir();
    let first = session(&dir);
    let second = TraceSession::open(dir.path().join("trace"), run());
    assert!(matches!(second, Err(Error::Live { .. })), "{}", refusal(second));
    // The refused one has not hurt the first.
    drop(first.begin_span("work", candle_graph_record::SpanKind::Function));
    let trace = Trace::read(first.finish().unwrap());
    assert_eq!(trace.span("work").parent, Some(1));
}

#[test]
fn of_many_sessions_that_race_for_a_path_one_wins() {
    let dir = dir();
    let path = dir.path().join("trace");
    let barrier = std::sync::Barrier::new(8);
    let opened: Vec<Result<TraceSession, Error>> = std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    TraceSession::open(&path, run())
                })
            })
            .collect();
        openers.into_iter().map(|o| o.join().unwrap()).collect()
    });
    let winners = opened.iter().filter(|o| o.is_ok()).count();
    assert_eq!(winners, 1);
    assert!(opened.iter().all(|o| matches!(o, Ok(_) | Err(Error::Live { .. } | Error::Exists { .. }))));
}

#[test]
fn a_path_that_cannot_be_made_is_an_error_with_the_path() {
    let dir = dir();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let path = dir.path().join("file/trace");
    let message = refusal(TraceSession::open(&path, run()));
    assert!(message.contains("file/trace"), "{message}");
}

#[test]
fn the_defaults_of_a_run_follow_from_its_step() {
    let dir = dir();
    let open = |name: &str, run: ProfileRun| {
        Trace::read(TraceSession::open(dir.path().join(name), run).unwrap().finish().unwrap()).run
    };
    let training = open("a", ProfileRun::training("train", 3, "cpu"));
    assert_eq!(training.correlation_id, "train/update-3");
    assert_eq!((training.capture_step, training.warmup_steps), (3, 2));
    assert_eq!((training.phase, training.timing_mode), (ExecutionPhase::Train, TimingMode::Host));
    assert!(!training.measured_region_device_synchronized);
    assert_eq!((training.entrypoint.as_str(), training.device.as_str()), ("train", "cpu"));
    assert_eq!(training.contract, CaptureContract::default());
    assert_eq!(training.contract.measurement_scope, MeasurementScope::Unknown);
    let inference = open("b", ProfileRun::inference("serve", 1, "cuda:0"));
    assert_eq!(inference.correlation_id, "serve/inference-1");
    assert_eq!((inference.phase, inference.warmup_steps), (ExecutionPhase::Infer, 0));
    let synchronized = open("c", run().device_synchronized());
    assert_eq!(synchronized.timing_mode, TimingMode::DeviceSynchronized);
    assert!(synchronized.measured_region_device_synchronized);
    let region = open("d", run().measured_region_device_synchronized());
    assert_eq!((region.timing_mode, region.measured_region_device_synchronized), (TimingMode::Host, true));
    assert_ne!(training.run_id, inference.run_id);
}

#[test]
fn what_a_run_declares_comes_back_as_declared() {
    let dir = dir();
    let contract = CaptureContract {
        measurement_scope: MeasurementScope::ProductionEquivalent,
        operations: CoverageLevel::Complete,
        activations: CoverageLevel::Complete,
        tensors: CoverageLevel::Partial,
        gradients: CoverageLevel::Complete,
        gradient_contract: Some(gradients()),
        required_semantic_labels: vec!["a".into(), "b".into()],
        gpu_expected_semantic_labels: vec!["a".into()],
        cpu_only_semantic_labels: vec!["b".into()],
        ..CaptureContract::default()
    };
    let declared = run()
        .tag("sweep", "7")
        .tag("sweep", "8")
        .tag("note", "ä \"quoted\"\n")
        .correlation_id("job-1")
        .capture_contract(contract.clone())
        .comparison_identity(identity());
    let id = declared.run_id().to_owned();
    let read = Trace::read(TraceSession::open(dir.path().join("t"), declared).unwrap().finish().unwrap()).run;
    assert_eq!(read.run_id, id);
    assert_eq!(read.correlation_id, "job-1");
    let tags: Vec<(&str, &str)> = read.tags.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(tags, [("note", "ä \"quoted\"\n"), ("sweep", "8")]);
    assert_eq!(read.identity, Some(identity()));
    assert_eq!(
        read.contract.gradient_contract.as_ref().map(GradientContract::stated_digest),
        Some(gradients().digest())
    );
    assert_eq!(
        read.contract.gradient_contract.as_ref().map(|g| g.expected().to_vec()),
        Some(gradients().expected().to_vec())
    );
    assert_eq!(read.contract.required_semantic_labels, contract.required_semantic_labels);
    assert_eq!(read.contract.gpu_expected_semantic_labels, ["a"]);
    assert_eq!(read.contract.cpu_only_semantic_labels, ["b"]);
    assert_eq!(read.contract.activations, CoverageLevel::Complete);
    assert_eq!(read.contract.tensors, CoverageLevel::Partial);
    assert_eq!(read.contract.measurement_scope, MeasurementScope::ProductionEquivalent);
}

#[test]
fn the_run_record_is_there_from_the_start_and_says_interrupted() {
    let dir = dir();
    let session = session(&dir);
    let opened = Trace::read(session.path()).run;
    assert_eq!((opened.outcome, opened.reason, opened.ended_ns), (Outcome::Interrupted, None, None));
    assert_eq!(opened.run_id, session.run_id());
    assert_eq!(opened.host.logical_cores, std::thread::available_parallelism().ok().map(|n| n.get() as u64));
    session.finish().unwrap();
}
