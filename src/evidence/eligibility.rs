//! Whether runs may be compared at all, and which of them are pairs.
//! In: the runs of two cohorts, each with what its examination found, and their receipts. Out: every reason why not, each
//! with a stable code. Left to neighbours: the numbers (`analysis::statistics`), opening the inputs (`output::compare`).

use std::collections::{BTreeMap, BTreeSet};

use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::{ComparisonIdentity, MeasurementScope};

use crate::text::shorten;

/// Fewest independent runs of a cohort: below five the exact interval of two cohorts spans all their differences.
pub const FEWEST_RUNS: usize = 5;
/// Runs that a message names.
const NAMED: usize = 3;

/// One process run, examined.
#[derive(Clone, Debug)]
pub struct Replicate {
    pub run: RunRecord,
    /// Why the capture is not complete and valid, if it is not.
    pub unsound: Option<String>,
    /// Spans that are the measured region.
    pub measured_regions: u64,
}

/// What a bundle was verified to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub run_id: String,
    /// SHA-256 of the manifest, 64 hexadecimal digits.
    pub manifest_sha256: String,
}

/// How the inputs were verified.
#[derive(Clone, Debug)]
pub enum Verification {
    /// Raw traces: nothing proves that they are as they were recorded.
    UnverifiedTraces,
    /// One receipt for each run, in the order of the runs.
    VerifiedBundles { baseline: Vec<Receipt>, candidate: Vec<Receipt> },
}

/// One reason why two cohorts are not comparable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: &'static str,
    pub message: String,
}

/// Every code, in the order in which reasons are listed.
pub const CODES: [&str; 21] = [
    "unverified_inputs",
    "receipt_count_mismatch",
    "receipt_run_id_mismatch",
    "receipt_digest_invalid",
    "no_runs",
    "insufficient_runs",
    "duplicate_run_ids",
    "incomplete_capture",
    "not_production_equivalent",
    "measured_region_count_invalid",
    "unsynchronized_device_region",
    "capture_semantics_mismatch",
    "identity_missing",
    "identity_invalid",
    "identity_conditions_differ",
    "implementation_id_missing",
    "implementation_id_empty",
    "implementation_id_inconsistent",
    "pairing_incomplete",
    "pair_ids_duplicated",
    "pair_sets_mismatch",
];

/// The verdict on two cohorts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eligibility {
    /// None: the cohorts are comparable.
    pub reasons: Vec<Reason>,
    /// Of each pair the positions of its runs, by pair id; empty unless both cohorts have the same ids, each once.
    pub pairs: Vec<(usize, usize)>,
}

/// Examines two cohorts.
pub fn examine(baseline: &[Replicate], candidate: &[Replicate], verification: &Verification) -> Eligibility {
    let mut reasons = Vec::new();
    let mut add = |code: &'static str, message: String| reasons.push(Reason { code, message });
    verified(baseline, candidate, verification, &mut add);
    counted(baseline, candidate, &mut add);
    let all: Vec<&Replicate> = baseline.iter().chain(candidate).collect();
    each(&all, &mut add);
    alike(&all, &mut add);
    identities(&all, &mut add);
    implementations(&[("baseline", baseline), ("candidate", candidate)], &mut add);
    let pairs = pairs(baseline, candidate, &mut add);
    Eligibility { reasons, pairs }
}

/// Fewest runs of one cohort that is held against itself: each of its halves is a cohort then.
pub const FEWEST_OF_ONE: usize = 2 * FEWEST_RUNS;

/// Examines one cohort of one implementation; receipts are those of its baseline. Pairs play no part.
pub fn examine_one(runs: &[Replicate], verification: &Verification) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut add = |code: &'static str, message: String| reasons.push(Reason { code, message });
    verified(runs, &[], verification, &mut add);
    let ids: BTreeSet<&str> = runs.iter().map(|r| r.run.run_id.as_str()).collect();
    if ids.len() < FEWEST_OF_ONE {
        add(
            "insufficient_runs",
            format!(
                "{} runs are independent; halves of {FEWEST_RUNS} need at least {FEWEST_OF_ONE} of one cohort",
                ids.len()
            ),
        );
    }
    repeated(runs.iter(), &mut add);
    let all: Vec<&Replicate> = runs.iter().collect();
    each(&all, &mut add);
    alike(&all, &mut add);
    identities(&all, &mut add);
    implementations(&[("cohort", runs)], &mut add);
    reasons
}

type Add<'a> = dyn FnMut(&'static str, String) + 'a;

fn verified(baseline: &[Replicate], candidate: &[Replicate], verification: &Verification, add: &mut Add<'_>) {
    let Verification::VerifiedBundles { baseline: receipts_b, candidate: receipts_c } = verification else {
        let message = "raw traces are diagnostic: nothing proves that they are as they were recorded; publish each run as \
                       a bundle (`candle-graph report TRACE --bundle DIR`) and compare those";
        return add("unverified_inputs", message.to_owned());
    };
    for (side, runs, receipts) in [("baseline", baseline, receipts_b), ("candidate", candidate, receipts_c)] {
        if runs.len() != receipts.len() {
            add(
                "receipt_count_mismatch",
                format!("the {side} has {} runs and {} receipts", runs.len(), receipts.len()),
            );
            continue;
        }
        let other = runs.iter().zip(receipts).find(|(run, receipt)| run.run.run_id != receipt.run_id);
        if let Some((run, receipt)) = other {
            let (run, receipt) = (shorten(&run.run.run_id), shorten(&receipt.run_id));
            add(
                "receipt_run_id_mismatch",
                format!("a receipt of the {side} is of run {receipt}, and its bundle holds run {run}"),
            );
        }
    }
    let digest = |r: &&Receipt| {
        let digits = r.manifest_sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        !(digits && r.manifest_sha256.len() == 64)
    };
    if let Some(receipt) = receipts_b.iter().chain(receipts_c).find(digest) {
        add("receipt_digest_invalid", format!("the receipt of run {} has no SHA-256", shorten(&receipt.run_id)));
    }
}

fn counted(baseline: &[Replicate], candidate: &[Replicate], add: &mut Add<'_>) {
    let ids = |runs: &[Replicate]| runs.iter().map(|r| r.run.run_id.clone()).collect::<BTreeSet<String>>();
    let (b, c) = (ids(baseline), ids(candidate));
    if b.is_empty() || c.is_empty() {
        add("no_runs", format!("the {} has no runs", if b.is_empty() { "baseline" } else { "candidate" }));
    }
    if b.len() < FEWEST_RUNS || c.len() < FEWEST_RUNS {
        add(
            "insufficient_runs",
            format!(
                "{} baseline and {} candidate runs are independent; a verdict needs at least {FEWEST_RUNS} of each",
                b.len(),
                c.len()
            ),
        );
    }
    repeated(baseline.iter().chain(candidate), add);
}

fn repeated<'a>(all: impl Iterator<Item = &'a Replicate>, add: &mut Add<'_>) {
    let mut seen = BTreeSet::new();
    let repeated: BTreeSet<&str> = all.map(|r| r.run.run_id.as_str()).filter(|id| !seen.insert(*id)).collect();
    if !repeated.is_empty() {
        add(
            "duplicate_run_ids",
            format!("each run counts once, and {} came more than once", named(repeated.into_iter())),
        );
    }
}

/// What must hold of each run.
fn each(all: &[&Replicate], add: &mut Add<'_>) {
    let unsound: Vec<&Replicate> = all.iter().copied().filter(|r| r.unsound.is_some()).collect();
    if let Some(first) = unsound.first() {
        let why = first.unsound.as_deref().unwrap_or_default();
        add(
            "incomplete_capture",
            format!("{} not complete and valid; of the first: {}", runs(&unsound, "is", "are"), shorten(why)),
        );
    }
    let scoped = |r: &&Replicate| r.run.contract.measurement_scope != MeasurementScope::ProductionEquivalent;
    let other: Vec<&Replicate> = all.iter().copied().filter(scoped).collect();
    if !other.is_empty() {
        add(
            "not_production_equivalent",
            format!(
                "{} of another scope than production_equivalent: what was recorded may have cost time",
                runs(&other, "is", "are")
            ),
        );
    }
    let several: Vec<&Replicate> = all.iter().copied().filter(|r| r.measured_regions != 1).collect();
    if let Some(first) = several.first() {
        let had = first.measured_regions;
        add(
            "measured_region_count_invalid",
            format!(
                "{} exactly one measured region; the first has {had}",
                runs(&several, "does not have", "do not have")
            ),
        );
    }
    let asynchronous = |r: &&Replicate| !on_cpu(&r.run.device) && !r.run.measured_region_device_synchronized;
    let loose: Vec<&Replicate> = all.iter().copied().filter(asynchronous).collect();
    if !loose.is_empty() {
        add(
            "unsynchronized_device_region",
            format!(
                "{} measured on {} without synchronizing it: the time is that of launching, not of the work",
                runs(&loose, "was", "were"),
                shorten(&loose[0].run.device)
            ),
        );
    }
}

/// Whether a device computes while its caller waits.
fn on_cpu(device: &str) -> bool {
    device == "cpu" || device.starts_with("cpu:")
}

/// What must be the same in all runs.
fn alike(all: &[&Replicate], add: &mut Add<'_>) {
    let Some(first) = all.first() else { return };
    let differ = |same: &dyn Fn(&RunRecord, &RunRecord) -> bool| all.iter().any(|r| !same(&r.run, &first.run));
    let facts: [(&str, bool); 8] = [
        ("entrypoint", differ(&|a, b| a.entrypoint == b.entrypoint)),
        ("phase", differ(&|a, b| a.phase == b.phase)),
        ("device", differ(&|a, b| a.device == b.device)),
        ("timing mode", differ(&|a, b| a.timing_mode == b.timing_mode)),
        (
            "synchronization",
            differ(&|a, b| a.measured_region_device_synchronized == b.measured_region_device_synchronized),
        ),
        ("warm-up", differ(&|a, b| a.warmup_steps == b.warmup_steps)),
        ("captured step", differ(&|a, b| a.capture_step == b.capture_step)),
        ("contract", differ(&|a, b| a.contract == b.contract)),
    ];
    let different: Vec<&str> = facts.iter().filter(|(_, differs)| *differs).map(|(fact, _)| *fact).collect();
    if !different.is_empty() {
        add("capture_semantics_mismatch", format!("the runs differ in {}", different.join(", ")));
    }
}

/// A condition of the identity, by name.
type Condition = (&'static str, fn(&ComparisonIdentity) -> String);

/// The conditions that all runs share; what may differ is the implementation, and the pair.
const CONDITIONS: [Condition; 9] = [
    ("workload_id", |i| i.workload_id.clone()),
    ("model_id", |i| i.model_id.clone()),
    ("config_id", |i| i.config_id.clone()),
    ("data_id", |i| i.data_id.clone()),
    ("seed_policy", |i| i.seed_policy.clone()),
    ("physical_batch", |i| i.physical_batch.to_string()),
    ("accumulation_steps", |i| i.accumulation_steps.to_string()),
    ("precision", |i| i.precision.clone()),
    ("device_state", |i| i.device_state.clone()),
];

fn identities(all: &[&Replicate], add: &mut Add<'_>) {
    let missing: Vec<&Replicate> = all.iter().copied().filter(|r| r.run.identity.is_none()).collect();
    if !missing.is_empty() {
        add("identity_missing", format!("{} no comparison identity", runs(&missing, "declares", "declare")));
    }
    let known: Vec<&ComparisonIdentity> = all.iter().filter_map(|r| r.run.identity.as_ref()).collect();
    // The implementation has codes of its own, and must not hide what is wrong behind it.
    let problem = |i: &&ComparisonIdentity| ComparisonIdentity { implementation_id: None, ..(*i).clone() }.problem();
    if let Some((field, problem)) = known.iter().find_map(problem) {
        add("identity_invalid", format!("the identity's {field} {problem}"));
    }
    let Some(first) = known.first() else { return };
    let different: Vec<String> = CONDITIONS
        .iter()
        .filter_map(|(name, value)| {
            let of_first = value(first);
            let other = known.iter().map(|i| value(i)).find(|v| *v != of_first)?;
            Some(format!("{name} ({} and {})", shorten(&of_first), shorten(&other)))
        })
        .collect();
    if !different.is_empty() {
        add("identity_conditions_differ", format!("the runs differ in {}", different.join(", ")));
    }
}

/// The implementation that all runs of a cohort name, if they name one.
pub fn implementation<'a>(runs: impl IntoIterator<Item = &'a Replicate>) -> Option<&'a str> {
    let mut ids = runs.into_iter().map(|r| r.run.identity.as_ref().and_then(|i| i.implementation_id.as_deref()));
    let first = ids.next()??;
    ids.all(|id| id == Some(first)).then_some(first)
}

fn implementations(cohorts: &[(&str, &[Replicate])], add: &mut Add<'_>) {
    let ids = |runs: &[Replicate]| -> Vec<Option<String>> {
        runs.iter().filter_map(|r| r.run.identity.as_ref()).map(|i| i.implementation_id.clone()).collect()
    };
    let cohorts: Vec<(&str, Vec<Option<String>>)> = cohorts.iter().map(|(side, runs)| (*side, ids(runs))).collect();
    let all = || cohorts.iter().flat_map(|(_, ids)| ids);
    if all().any(Option::is_none) {
        add(
            "implementation_id_missing",
            "an identity names no implementation_id; the commit or the variant will do".to_owned(),
        );
    }
    if all().flatten().any(|id| id.trim().is_empty()) {
        add("implementation_id_empty", "an implementation_id is empty".to_owned());
    }
    for (side, ids) in &cohorts {
        let distinct: BTreeSet<&str> = ids.iter().flatten().map(String::as_str).collect();
        if distinct.len() > 1 {
            add(
                "implementation_id_inconsistent",
                format!("the {side} mixes implementations: {}", named(distinct.into_iter())),
            );
        }
    }
}

fn pairs(baseline: &[Replicate], candidate: &[Replicate], add: &mut Add<'_>) -> Vec<(usize, usize)> {
    let id = |r: &Replicate| r.run.identity.as_ref().and_then(|i| i.pair_id.clone());
    let all = || baseline.iter().chain(candidate);
    if all().all(|r| id(r).is_none()) {
        return Vec::new();
    }
    let without = all().filter(|r| id(r).is_none()).count();
    if without > 0 {
        add("pairing_incomplete", format!("{without} of {} runs have no pair id, and the others have", all().count()));
        return Vec::new();
    }
    let places = |runs: &[Replicate]| -> BTreeMap<String, usize> {
        runs.iter().enumerate().filter_map(|(at, r)| Some((id(r)?, at))).collect()
    };
    let (b, c) = (places(baseline), places(candidate));
    if b.len() < baseline.len() || c.len() < candidate.len() {
        let side = if b.len() < baseline.len() { "baseline" } else { "candidate" };
        add("pair_ids_duplicated", format!("the {side} has several runs of one pair"));
        return Vec::new();
    }
    let alone: Vec<&str> = b
        .keys()
        .filter(|id| !c.contains_key(*id))
        .chain(c.keys().filter(|id| !b.contains_key(*id)))
        .map(String::as_str)
        .collect();
    if !alone.is_empty() {
        add("pair_sets_mismatch", format!("pairs with one run alone: {}", named(alone.into_iter())));
        return Vec::new();
    }
    b.iter().filter_map(|(id, at)| Some((*at, *c.get(id)?))).collect()
}

/// The first few of some texts, and how many more there are.
fn named<'a>(texts: impl ExactSizeIterator<Item = &'a str>) -> String {
    let total = texts.len();
    let mut first: Vec<String> = texts.take(NAMED).map(shorten).collect();
    if total > NAMED {
        first.push(format!("{} more", total - NAMED));
    }
    first.join(", ")
}

/// The runs concerned as the subject of a sentence.
fn runs(concerned: &[&Replicate], one: &str, many: &str) -> String {
    let names = named(concerned.iter().map(|r| r.run.run_id.as_str()));
    format!(
        "{} {names} {}",
        if concerned.len() == 1 { "run" } else { "runs" },
        if concerned.len() == 1 { one } else { many }
    )
}
