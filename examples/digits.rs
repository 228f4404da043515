//! Trains a small network on handwritten digits and records one of its updates.
//!
//! `cargo run --example digits --features candle -- [TRACE_PATH] [--updates N] [--capture N] [--rate R]`
//!
//! Update 40 of 60 is recorded into `digits.trace` unless told otherwise; every other update runs without a recorder.
//! Read `main` for the training loop, `Update::run` for one update, `record` for what a capture declares.
//!
//! `--bundle DIR`, or `candle-graph cohort`, makes it a run to compare: what takes time is recorded outside the
//! measured region or not at all, and the bundle says what it is compared by. `--batch N` and `--width N` make the
//! update longer; `--slow OPERATION=PERCENT` makes an operation of the forward pass slower by that part of its own
//! time, in every update.

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use candle_core::Tensor;
use candle_graph::candle::{self, CandleCapture, GradientCapturePlan};
use candle_graph::{
    CaptureBegin, CaptureContract, CaptureRun, CaptureSelector, ComparisonIdentity, CoverageLevel, ExecutionStep,
    GradientFamilyContract, MeasurementScope, ProfileRun, SpanId, SpanKind, TraceSession,
};
use candle_nn::{AdamW, Optimizer, ParamsAdamW};

#[path = "digits/data.rs"]
mod data;
#[path = "digits/model.rs"]
mod model;
#[path = "digits/options.rs"]
mod options;
#[path = "shared/random.rs"]
mod random;
#[path = "shared/slow.rs"]
mod slow;

use model::{Mlp, SEED};
use options::{Destination, Options};

fn main() -> ExitCode {
    match Options::parse().and_then(train) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn train(mut options: Options) -> Result<()> {
    let (train, test) = data::load()?;
    let model = Mlp::new(&options.widths(), options.slow.take())?;
    let params = ParamsAdamW { lr: options.rate, ..Default::default() };
    let mut optimizer = AdamW::new(model.vars().map(|(_, var)| var).collect(), params)?;

    let selector = CaptureSelector::new(options.capture)?;
    for update in 1..=options.updates {
        let (images, labels) = train.batch(update, options.batch)?;
        let recorded = match selector.is_selected(update) {
            true => record(&options, &model, &mut optimizer, &images, &labels)?,
            false => None,
        };
        let loss = match recorded {
            Some(loss) => loss,
            None => {
                let loss = model.loss(&images, &labels, None)?;
                optimizer.step(&loss.backward()?)?;
                loss.to_scalar()?
            }
        };
        if update == 1 || update % 10 == 0 {
            println!("update {update:3}  loss {loss:.4}");
        }
    }
    println!("test accuracy {:.1} % of {} digits", 100.0 * model.accuracy(&test)?, test.rows);
    Ok(())
}

/// Opens a session, runs one update under it and ends it: as complete, or as failed with the reason. Returns the loss;
/// none if the update was recorded and published before.
fn record(
    options: &Options,
    model: &Mlp,
    optimizer: &mut AdamW,
    images: &Tensor,
    labels: &Tensor,
) -> Result<Option<f32>> {
    let plan = GradientCapturePlan::from_named_vars(
        "model",
        model.vars(),
        |name| if name.ends_with("bias") { "biases" } else { "weights" },
        vec![GradientFamilyContract::active("biases", 3), GradientFamilyContract::active("weights", 3)],
    )?;
    let update = |session: &TraceSession, detail: bool| {
        let update = Update { session, plan: &plan, detail, live: RefCell::default(), layers: RefCell::default() };
        update.run(model, optimizer, images, labels)
    };
    match &options.destination {
        Destination::Trace(path) => record_trace(path, declare(options, &plan, true), options.capture, update),
        Destination::Bundle(dir) => record_bundle(dir, declare(options, &plan, false), options.capture, update),
    }
}

/// What the capture promises about the whole update: only what the calls below keep. Backward and the optimizer run
/// inside candle, where their operations and temporaries are out of sight, so those planes are partial.
fn declare(options: &Options, plan: &GradientCapturePlan, detail: bool) -> ProfileRun {
    let only_detail = if detail { CoverageLevel::Partial } else { CoverageLevel::None };
    let contract = CaptureContract {
        measurement_scope: match detail {
            true => MeasurementScope::ProfiledWork,
            false => MeasurementScope::ProductionEquivalent,
        },
        operations: CoverageLevel::Partial,
        activations: CoverageLevel::Partial,
        tensors: CoverageLevel::Partial,
        gradients: CoverageLevel::Complete,
        gradient_contract: Some(plan.contract().clone()),
        logical_memory: only_detail,
        physical_memory: only_detail,
        required_semantic_labels: ["forward", "backward", "optimizer"].map(|s| format!("digits/{s}")).into(),
        ..CaptureContract::default()
    };
    let run = ProfileRun::training("digits::update", options.capture, "cpu")
        .tag("model", options.model())
        .tag("optimizer", "adamw")
        .tag("batch", options.batch.to_string())
        .tag("seed", SEED.to_string())
        .capture_contract(contract);
    if detail {
        return run;
    }
    // As RAYON_NUM_THREADS says, or all cores.
    let threads = candle_core::utils::get_num_threads();
    run.comparison_identity(ComparisonIdentity {
        implementation_id: Some(options.implementation.clone()),
        workload_id: "digits::update".to_owned(),
        model_id: options.model(),
        config_id: format!("adamw, rate {}", options.rate),
        data_id: "data/digits.csv.gz, rows in order".to_owned(),
        seed_policy: format!("fixed, {SEED}"),
        physical_batch: options.batch as u64,
        accumulation_steps: 1,
        precision: "f32".to_owned(),
        device_state: format!("cpu, {threads} threads"),
        pair_id: options.pair_id.clone(),
    })
}

/// Records the update into a trace.
fn record_trace(
    path: &Path,
    run: ProfileRun,
    number: u64,
    update: impl FnOnce(&TraceSession, bool) -> Result<f32>,
) -> Result<Option<f32>> {
    let session = TraceSession::open(path, run)?;
    match update(&session, true) {
        Ok(loss) => {
            println!("recorded update {number} in {}", session.finish()?.display());
            Ok(Some(loss))
        }
        Err(error) => {
            session.finish_failed(format!("{error:#}"))?;
            Err(error)
        }
    }
}

/// Records the update and publishes it.
fn record_bundle(
    dir: &Path,
    run: ProfileRun,
    number: u64,
    update: impl FnOnce(&TraceSession, bool) -> Result<f32>,
) -> Result<Option<f32>> {
    let capture = match CaptureRun::begin(dir, run)? {
        CaptureBegin::Active(capture) => capture,
        CaptureBegin::AlreadyPublished(receipt) => {
            println!("update {number} is already published at {}", receipt.bundle_path);
            return Ok(None);
        }
    };
    match update(capture.session(), false) {
        Ok(loss) => {
            println!("published update {number} at {}", capture.publish()?.bundle_path);
            Ok(Some(loss))
        }
        Err(error) => {
            capture.publish_failed(format!("{error:#}"))?;
            Err(error)
        }
    }
}

/// The update that is being recorded.
pub struct Update<'a> {
    session: &'a TraceSession,
    plan: &'a GradientCapturePlan,
    /// Whether all that may be asked of the update is recorded, or only what costs next to nothing while it runs.
    detail: bool,
    /// Storages that operations have made and that the graph of the loss keeps until it is dropped.
    live: RefCell<Vec<CandleCapture>>,
    /// Outputs of the layers, for a look at their values after the update.
    layers: RefCell<Vec<(String, Tensor)>>,
}

impl Update<'_> {
    fn run(&self, model: &Mlp, optimizer: &mut AdamW, images: &Tensor, labels: &Tensor) -> Result<f32> {
        let session = self.session;
        self.memory()?;
        let measured = session.begin_measurement("digits/update");
        if self.detail {
            for (name, var) in model.vars() {
                candle::record_tensor_with_label(session, measured.id(), name, &var, None)?;
            }
            candle::record_tensor_with_label(session, measured.id(), "images", images, None)?;
            candle::record_tensor_with_label(session, measured.id(), "labels", labels, None)?;
        }

        let loss = {
            let _forward = session.begin_step_span("digits/forward", ExecutionStep::Forward, SpanKind::Function);
            model.loss(images, labels, Some(self))?
        };
        self.memory()?;

        let mut gradients = Vec::new();
        let grads = {
            let span = session.begin_step_span("digits/backward", ExecutionStep::Backward, SpanKind::Function);
            let grads = loss.backward()?;
            for (name, var) in model.vars().filter(|_| self.detail) {
                let Some(grad) = grads.get(&var) else { continue };
                let grad = CandleCapture::from_tensor(grad, Some(ExecutionStep::Backward))
                    .with_label(format!("gradient/{name}"));
                candle::record_tensor(session, span.id(), &grad)?;
                candle::record_alloc(session, span.id(), &grad, Some("backward"))?;
                gradients.push(grad);
            }
            grads
        };
        self.memory()?;
        let missing = self.plan.missing(&grads);
        if !missing.is_empty() {
            bail!("no gradient for {}: an operation without a backward pass?", missing.join(", "));
        }

        {
            let _optimizer = session.begin_step_span("digits/optimizer", ExecutionStep::Optimizer, SpanKind::Function);
            optimizer.step(&grads)?;
        }
        self.memory()?;
        drop(measured);

        // Reading values takes time of its own, so it comes after the measured region.
        let look = session.begin_span("digits/look at values", SpanKind::Function);
        for (name, output) in self.layers.borrow_mut().drain(..) {
            candle::record_tensor_with_label(session, look.id(), &name, &output, Some(ExecutionStep::Forward))?;
            session.record_tensor_stats(look.id(), &name, &output)?;
        }
        let value: f32 = loss.to_scalar()?;
        session.record_scalar(look.id(), "loss", value.into())?;
        self.plan.record(session, &grads)?;
        self.plan.record_stats(session, look.id(), &grads)?;

        // The graph of the loss holds every activation. A free is recorded before the memory is given back: afterwards
        // its address may already be another storage's.
        for capture in self.live.take().iter().chain(&gradients) {
            candle::record_free(session, look.id(), capture, None)?;
        }
        drop((loss, grads));
        Ok(value)
    }

    /// What the process holds at this moment: a system call, so only where time is not compared.
    fn memory(&self) -> Result<()> {
        if self.detail {
            self.session.record_process_memory()?;
        }
        Ok(())
    }

    /// Runs and records one operation of the forward pass, and the storage it makes.
    fn op(
        &self,
        span: SpanId,
        name: &str,
        inputs: &[&Tensor],
        op: impl FnOnce() -> candle_core::Result<Tensor>,
    ) -> Result<Tensor> {
        let output = candle::run_op(self.session, span, name, inputs, Some(ExecutionStep::Forward), op)?;
        if !self.detail {
            return Ok(output);
        }
        let capture = CandleCapture::from_tensor(&output, Some(ExecutionStep::Forward));
        candle::record_alloc(self.session, span, &capture, Some(name))?;
        self.live.borrow_mut().push(capture);
        Ok(output)
    }
}
