//! Whether runs may be compared: each reason from the one thing that is wrong.

use candle_graph::evidence::eligibility::{CODES, Eligibility, Receipt, Replicate, Verification, examine};
use candle_graph::{CaptureContract, ComparisonIdentity, ExecutionPhase, MeasurementScope, ProfileRun, TimingMode};
use candle_graph_record::tables::run::RunRecord;

/// A run as it should be.
fn replicate(cohort: &str, number: usize) -> Replicate {
    let run = ProfileRun::inference("encode", 3, "cpu")
        .capture_contract(CaptureContract {
            measurement_scope: MeasurementScope::ProductionEquivalent,
            ..CaptureContract::default()
        })
        .comparison_identity(ComparisonIdentity {
            implementation_id: Some(cohort.to_owned()),
            workload_id: "w".to_owned(),
            model_id: "m".to_owned(),
            config_id: "c".to_owned(),
            data_id: "d".to_owned(),
            seed_policy: "fixed".to_owned(),
            physical_batch: 1,
            accumulation_steps: 1,
            precision: "f32".to_owned(),
            device_state: "idle".to_owned(),
            pair_id: None,
        });
    let mut run = RunRecord::declared(&run).expect("a run that could be recorded");
    run.run_id = format!("{cohort}-{number}");
    Replicate { run, unsound: None, measured_regions: 1 }
}

struct World {
    baseline: Vec<Replicate>,
    candidate: Vec<Replicate>,
    verification: Verification,
}

fn receipts(runs: &[Replicate]) -> Vec<Receipt> {
    let receipt = |r: &Replicate| Receipt { run_id: r.run.run_id.clone(), manifest_sha256: "0a".repeat(32) };
    runs.iter().map(receipt).collect()
}

fn world() -> World {
    let cohort = |name: &str| (0..5).map(|n| replicate(name, n)).collect::<Vec<_>>();
    let (baseline, candidate) = (cohort("old"), cohort("new"));
    let verification = Verification::VerifiedBundles { baseline: receipts(&baseline), candidate: receipts(&candidate) };
    World { baseline, candidate, verification }
}

impl World {
    fn examine(&self) -> Eligibility {
        examine(&self.baseline, &self.candidate, &self.verification)
    }

    fn identity(&mut self, run: usize) -> &mut ComparisonIdentity {
        self.candidate[run].run.identity.as_mut().expect("an identity")
    }

    fn receipts(&mut self) -> &mut Vec<Receipt> {
        match &mut self.verification {
            Verification::VerifiedBundles { baseline, .. } => baseline,
            Verification::UnverifiedTraces => unreachable!("the world is of bundles"),
        }
    }

    /// All runs with a pair id.
    fn pair(&mut self) {
        for runs in [&mut self.baseline, &mut self.candidate] {
            for (number, replicate) in runs.iter_mut().enumerate() {
                // The candidate's pairs are in another order.
                let number = if replicate.run.run_id.starts_with("new") { 4 - number } else { number };
                if let Some(identity) = &mut replicate.run.identity {
                    identity.pair_id = Some(format!("p{number}"));
                }
            }
        }
    }
}

/// The codes that a change of the world gives.
fn codes(change: impl FnOnce(&mut World)) -> Vec<&'static str> {
    let mut world = world();
    change(&mut world);
    world.examine().reasons.iter().map(|r| r.code).collect()
}

#[test]
fn runs_as_they_should_be_are_comparable() {
    assert_eq!(world().examine(), Eligibility { reasons: Vec::new(), pairs: Vec::new() });
}

#[test]
fn each_reason_has_its_code() {
    let found = [
        codes(|w| w.verification = Verification::UnverifiedTraces),
        codes(|w| drop(w.receipts().pop())),
        codes(|w| w.receipts()[1].run_id = "other".to_owned()),
        codes(|w| w.receipts()[1].manifest_sha256 = "0A".repeat(32)),
        codes(|w| w.candidate[2].unsound = Some("health code span_open: a span".to_owned())),
        codes(|w| {
            for r in w.baseline.iter_mut().chain(&mut w.candidate) {
                r.run.contract.measurement_scope = MeasurementScope::ProfiledWork;
            }
        }),
        codes(|w| w.candidate[4].measured_regions = 2),
        codes(|w| w.candidate[0].run.warmup_steps += 1),
        codes(|w| w.candidate[0].run.identity = None),
        codes(|w| w.identity(0).model_id = "other".to_owned()),
        codes(|w| w.identity(3).implementation_id = None),
        codes(|w| w.identity(3).implementation_id = Some("newer".to_owned())),
    ];
    let expected = [
        "unverified_inputs",
        "receipt_count_mismatch",
        "receipt_run_id_mismatch",
        "receipt_digest_invalid",
        "incomplete_capture",
        "not_production_equivalent",
        "measured_region_count_invalid",
        "capture_semantics_mismatch",
        "identity_missing",
        "identity_conditions_differ",
        "implementation_id_missing",
        "implementation_id_inconsistent",
    ];
    assert_eq!(found, expected.map(|code| vec![code]));
    // What brings another with it.
    assert_eq!(
        codes(|w| w.identity(3).implementation_id = Some(" ".to_owned())),
        ["implementation_id_empty", "implementation_id_inconsistent"]
    );
    assert_eq!(codes(|w| w.identity(0).physical_batch = 0), ["identity_invalid", "identity_conditions_differ"]);
    let short = codes(|w| {
        w.candidate.clear();
        w.verification = Verification::VerifiedBundles { baseline: receipts(&w.baseline), candidate: Vec::new() };
    });
    assert_eq!(short, ["no_runs", "insufficient_runs"]);
    assert_eq!(
        codes(|w| w.candidate[0].run.run_id = "old-0".to_owned()),
        ["receipt_run_id_mismatch", "duplicate_run_ids"]
    );
}

#[test]
fn one_run_twice_is_no_sixth_run() {
    let mut world = world();
    for runs in [&mut world.baseline, &mut world.candidate] {
        runs[4] = runs[0].clone();
    }
    world.verification =
        Verification::VerifiedBundles { baseline: receipts(&world.baseline), candidate: receipts(&world.candidate) };
    let codes: Vec<&str> = world.examine().reasons.iter().map(|r| r.code).collect();
    assert_eq!(codes, ["insufficient_runs", "duplicate_run_ids"]);
}

#[test]
fn a_device_that_computes_on_its_own_must_be_waited_for() {
    let on = |device: &str, synchronized: bool| {
        codes(|w| {
            for r in w.baseline.iter_mut().chain(&mut w.candidate) {
                r.run.device = device.to_owned();
                r.run.measured_region_device_synchronized = synchronized;
            }
        })
    };
    assert_eq!(on("cuda:0", false), ["unsynchronized_device_region"]);
    assert_eq!(on("metal", false), ["unsynchronized_device_region"]);
    assert_eq!(on("cuda:0", true), Vec::<&str>::new());
    assert_eq!(on("cpu", false), Vec::<&str>::new());
}

#[test]
fn every_fact_of_the_capture_must_be_the_same() {
    type Change = fn(&mut RunRecord);
    let changes: [(&str, Change); 7] = [
        ("entrypoint", |r| r.entrypoint = "decode".to_owned()),
        ("phase", |r| r.phase = ExecutionPhase::Train),
        ("timing mode", |r| r.timing_mode = TimingMode::DeviceSynchronized),
        ("synchronization", |r| r.measured_region_device_synchronized = true),
        ("warm-up", |r| r.warmup_steps = 1),
        ("captured step", |r| r.capture_step = 9),
        ("contract", |r| r.contract.required_semantic_labels = vec!["a".to_owned()]),
    ];
    for (fact, change) in changes {
        let mut world = world();
        change(&mut world.candidate[1].run);
        let reasons = world.examine().reasons;
        assert_eq!(reasons.len(), 1, "{fact}: {reasons:?}");
        assert_eq!(
            (reasons[0].code, reasons[0].message.as_str()),
            ("capture_semantics_mismatch", format!("the runs differ in {fact}").as_str())
        );
    }
}

#[test]
fn pairs_are_matched_by_their_ids() {
    let mut world = world();
    world.pair();
    let eligibility = world.examine();
    assert_eq!(eligibility.reasons, []);
    assert_eq!(eligibility.pairs, [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)]);

    let wrong = |change: fn(&mut World)| {
        codes(|w| {
            w.pair();
            change(w);
        })
    };
    assert_eq!(wrong(|w| w.identity(0).pair_id = None), ["pairing_incomplete"]);
    assert_eq!(wrong(|w| w.identity(0).pair_id = Some("p1".to_owned())), ["pair_ids_duplicated"]);
    assert_eq!(wrong(|w| w.identity(0).pair_id = Some("p9".to_owned())), ["pair_sets_mismatch"]);
}

#[test]
fn the_list_of_codes_is_whole() {
    let mut sorted = CODES.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), CODES.len());
    let text = std::fs::read_to_string(crate::world::repository().join("src/evidence/eligibility.rs")).expect("source");
    for code in CODES {
        assert!(text.matches(&format!("\"{code}\"")).count() >= 2, "{code} is never a reason");
    }
}

#[test]
fn hostile_names_stay_short() {
    let mut world = world();
    for r in world.baseline.iter_mut() {
        r.run.run_id = format!("\u{1b}[31m{}", "x".repeat(1 << 20));
    }
    let reasons = world.examine().reasons;
    assert!(reasons.iter().all(|r| r.message.len() < 4096), "{:?}", reasons.iter().map(|r| r.code).collect::<Vec<_>>());
}
