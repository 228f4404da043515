//! Runs multi-head attention in one of two ways and publishes a recorded invocation, to compare the two.
//!
//! `cargo run --example attention --features candle -- --implementation naive|fused --bundle DIR [--warmup N]
//! [--sequence N] [--layers N] [--slow OPERATION=PERCENT]`
//!
//! Under `candle-graph cohort` the bundle's place comes from the driver. Both ways are computed first and must agree; then
//! the chosen one runs `--warmup` times unrecorded and once recorded; `--slow` makes one of its operations slower by that
//! part of its own time. Read `run` for the order of things, `declare` for
//! what makes runs comparable, attention/model.rs for the two ways.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use candle_graph::candle;
use candle_graph::{
    CaptureBegin, CaptureContract, CaptureRun, CohortRun, ComparisonIdentity, CoverageLevel, MeasurementScope,
    ProfileRun, SpanKind,
};

#[path = "attention/model.rs"]
mod model;
#[path = "shared/random.rs"]
mod random;
#[path = "shared/slow.rs"]
mod slow;

use model::{At, HEADS, Implementation, Model, SEED, SLOWABLE, WIDTH};
use slow::Slow;

/// Largest difference between the two ways: rounding, at hidden states of a size of some units.
const TOLERANCE: f32 = 1e-4;

fn main() -> ExitCode {
    match Options::parse().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("attention: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let capture = match CaptureRun::begin(&options.bundle, declare(options))? {
        CaptureBegin::Active(capture) => capture,
        CaptureBegin::AlreadyPublished(receipt) => {
            println!("already published at {}", receipt.bundle_path);
            return Ok(());
        }
    };
    let model = Model::new(options.layers)?;
    let tokens = Model::tokens(options.sequence)?;
    let plain = At::new(None, None);
    let [naive, fused] = Implementation::ALL.map(|how| model.forward(&tokens, how, plain));
    let differences: Vec<f32> = (naive? - fused?)?.abs()?.flatten_all()?.to_vec1()?;
    let difference = differences.iter().copied().fold(0.0, f32::max);
    // Each by itself: a difference that is no number is not the largest, and is none that may be.
    if !differences.iter().all(|d| *d <= TOLERANCE) {
        let problem = format!("naive and fused differ by {difference}, more than {TOLERANCE}");
        capture.publish_failed(&problem)?;
        bail!(problem);
    }
    println!("naive and fused differ by {difference:.1e}");
    let slow = options.slow.as_ref();
    for _ in 0..options.warmup {
        model.forward(&tokens, options.implementation, At::new(None, slow))?;
    }
    let session = capture.session();
    let hidden = {
        let _measured = session.begin_measurement("attention/forward");
        model.forward(&tokens, options.implementation, At::new(Some(session), slow))?
    };
    // Reading values takes time of its own, so it comes after the measured region.
    {
        let look = session.begin_span("attention/look at values", SpanKind::Function);
        candle::record_tensor_with_label(session, look.id(), "hidden", &hidden, None)?;
        session.record_tensor_stats(look.id(), "hidden", &hidden)?;
    }
    println!("{} published at {}", options.name(), capture.publish()?.bundle_path);
    Ok(())
}

/// What is recorded, and what runs must have in common to be compared: all but the implementation and the pair.
fn declare(options: &Options) -> ProfileRun {
    let layers = (1..=options.layers).flat_map(|n| [format!("layer.{n}"), format!("attention.{n}")]);
    let contract = CaptureContract {
        measurement_scope: MeasurementScope::ProductionEquivalent,
        operations: CoverageLevel::Partial,
        tensors: CoverageLevel::Partial,
        required_semantic_labels: std::iter::once("embed".to_owned()).chain(layers).collect(),
        ..CaptureContract::default()
    };
    // As RAYON_NUM_THREADS says, or all cores.
    let threads = candle_core::utils::get_num_threads();
    ProfileRun::inference("attention::forward", options.warmup + 1, "cpu")
        .tag("implementation", options.name())
        .capture_contract(contract)
        .comparison_identity(ComparisonIdentity {
            implementation_id: Some(options.name()),
            workload_id: "attention::forward".to_owned(),
            model_id: format!("attention, {} layers, width {WIDTH}, {HEADS} heads", options.layers),
            config_id: format!("sequence {}", options.sequence),
            data_id: format!("tokens of seed {}", SEED + 1),
            seed_policy: format!("fixed, {SEED}"),
            physical_batch: 1,
            accumulation_steps: 1,
            precision: "f32".to_owned(),
            device_state: format!("cpu, {threads} threads"),
            pair_id: options.pair_id.clone(),
        })
}

/// The command line, and what the driver says beside it.
struct Options {
    implementation: Implementation,
    bundle: PathBuf,
    pair_id: Option<String>,
    warmup: u64,
    sequence: usize,
    layers: usize,
    slow: Option<Slow>,
}

const USAGE: &str = "usage: attention --implementation naive|fused --bundle DIR [--warmup N] [--sequence N] [--layers N] [--slow OPERATION=PERCENT]; \
                     `candle-graph cohort` gives the bundle";

impl Options {
    fn parse() -> Result<Self> {
        let cohort = CohortRun::from_env()?;
        let (mut implementation, mut bundle) = (None, None);
        let mut slow = None;
        let (mut warmup, mut sequence, mut layers) = (5, 256, 4);
        let mut args = std::env::args_os().skip(1);
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{} needs a value; {USAGE}", flag.display()))?;
            let text = value.to_str().unwrap_or_default();
            let number = |most: usize| {
                let number = text.parse().ok().filter(|n| (1..=most).contains(n));
                number.with_context(|| format!("{} needs a number from 1 to {most}", flag.display()))
            };
            match flag.to_str() {
                Some("--implementation") => implementation = Some(Implementation::parse(text)?),
                Some("--bundle") => bundle = Some(PathBuf::from(value)),
                Some("--warmup") => warmup = number(100_000)?,
                Some("--sequence") => sequence = number(4096)?,
                Some("--layers") => layers = number(64)?,
                Some("--slow") => slow = Some(Slow::parse(Some(text), &SLOWABLE)?),
                _ => bail!("{}: unknown; {USAGE}", flag.display()),
            }
        }
        let told = cohort.as_ref().map(|cohort| cohort.bundle.clone());
        Ok(Self {
            implementation: implementation.context(USAGE)?,
            bundle: bundle.or(told).context(USAGE)?,
            pair_id: cohort.and_then(|cohort| cohort.pair_id),
            warmup: warmup as u64,
            sequence,
            layers,
            slow,
        })
    }

    /// What the implementation is called: `naive`, or `naive, matmul 20 % slower`.
    fn name(&self) -> String {
        let how = self.implementation.as_str();
        self.slow.as_ref().map_or(how.to_owned(), |slow| format!("{how}, {}", slow.name()))
    }
}
