//! Trains a small network on handwritten digits and records one of its updates.
//!
//! `cargo run --example digits --features candle -- [TRACE_PATH] [--updates N] [--capture N] [--rate R]`
//!
//! Update 40 of 60 is recorded into `digits.trace` unless told otherwise; every other update runs without a recorder.
//! Read `main` for the training loop, `Update::run` for one update, `record` for what a capture declares.

use std::cell::RefCell;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use candle_core::{D, DType, Device, Tensor, Var};
use candle_graph::candle::{self, CandleCapture, GradientCapturePlan};
use candle_graph::{
    CaptureContract, CaptureSelector, CoverageLevel, ExecutionStep, GradientFamilyContract, MeasurementScope,
    ProfileRun, SpanId, SpanKind, TraceSession,
};
use candle_nn::{AdamW, Optimizer, ParamsAdamW};

const PIXELS: usize = 64;
const DIGITS: usize = 10;
const BATCH: usize = 64;
const LEARNING_RATE: f64 = 0.005;
const SEED: u64 = 42;

fn main() -> ExitCode {
    match Options::parse().and_then(|options| train(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn train(options: &Options) -> Result<()> {
    let (train, test) = load_digits()?;
    let model = Mlp::new(&[PIXELS, 128, 64, DIGITS])?;
    let params = ParamsAdamW { lr: options.rate, ..Default::default() };
    let mut optimizer = AdamW::new(model.vars().map(|(_, var)| var).collect(), params)?;

    let selector = CaptureSelector::new(options.capture)?;
    for update in 1..=options.updates {
        let (images, labels) = train.batch(update)?;
        let loss = if selector.is_selected(update) {
            record(options, &model, &mut optimizer, &images, &labels)?
        } else {
            let loss = model.loss(&images, &labels, None)?;
            optimizer.step(&loss.backward()?)?;
            loss.to_scalar()?
        };
        if update == 1 || update % 10 == 0 {
            println!("update {update:3}  loss {loss:.4}");
        }
    }
    println!("test accuracy {:.1} % of {} digits", 100.0 * model.accuracy(&test)?, test.rows);
    Ok(())
}

/// Opens a session, runs one update under it and ends it: as complete, or as failed with the reason.
fn record(options: &Options, model: &Mlp, optimizer: &mut AdamW, images: &Tensor, labels: &Tensor) -> Result<f32> {
    let plan = GradientCapturePlan::from_named_vars(
        "model",
        model.vars(),
        |name| if name.ends_with("bias") { "biases" } else { "weights" },
        vec![GradientFamilyContract::active("biases", 3), GradientFamilyContract::active("weights", 3)],
    )?;
    // A promise about the whole update: only what the calls below keep. Backward and the optimizer run inside candle,
    // where their operations and temporaries are out of sight, so those planes are partial.
    let contract = CaptureContract {
        measurement_scope: MeasurementScope::ProfiledWork,
        operations: CoverageLevel::Partial,
        activations: CoverageLevel::Partial,
        tensors: CoverageLevel::Partial,
        gradients: CoverageLevel::Complete,
        gradient_contract: Some(plan.contract().clone()),
        logical_memory: CoverageLevel::Partial,
        physical_memory: CoverageLevel::Partial,
        required_semantic_labels: ["forward", "backward", "optimizer"].map(|s| format!("digits/{s}")).into(),
        ..CaptureContract::default()
    };
    let run = ProfileRun::training("digits::update", options.capture, "cpu")
        .tag("model", "mlp-64-128-64-10")
        .tag("optimizer", "adamw")
        .tag("batch", BATCH.to_string())
        .tag("seed", SEED.to_string())
        .capture_contract(contract);
    let session = TraceSession::open(&options.trace, run)?;
    let update = Update { session: &session, plan: &plan, live: RefCell::default(), layers: RefCell::default() };
    match update.run(model, optimizer, images, labels) {
        Ok(loss) => {
            println!("recorded update {} in {}", options.capture, session.finish()?.display());
            Ok(loss)
        }
        Err(error) => {
            session.finish_failed(format!("{error:#}"))?;
            Err(error)
        }
    }
}

/// The update that is being recorded.
struct Update<'a> {
    session: &'a TraceSession,
    plan: &'a GradientCapturePlan,
    /// Storages that operations have made and that the graph of the loss keeps until it is dropped.
    live: RefCell<Vec<CandleCapture>>,
    /// Outputs of the layers, for a look at their values after the update.
    layers: RefCell<Vec<(String, Tensor)>>,
}

impl Update<'_> {
    fn run(&self, model: &Mlp, optimizer: &mut AdamW, images: &Tensor, labels: &Tensor) -> Result<f32> {
        let session = self.session;
        session.record_process_memory()?;
        let measured = session.begin_measurement("digits/update");
        for (name, var) in model.vars() {
            candle::record_tensor_with_label(session, measured.id(), name, &var, None)?;
        }
        candle::record_tensor_with_label(session, measured.id(), "images", images, None)?;
        candle::record_tensor_with_label(session, measured.id(), "labels", labels, None)?;

        let loss = {
            let _forward = session.begin_step_span("digits/forward", ExecutionStep::Forward, SpanKind::Function);
            model.loss(images, labels, Some(self))?
        };
        session.record_process_memory()?;

        let mut gradients = Vec::new();
        let grads = {
            let span = session.begin_step_span("digits/backward", ExecutionStep::Backward, SpanKind::Function);
            let grads = loss.backward()?;
            for (name, var) in model.vars() {
                let Some(grad) = grads.get(&var) else { continue };
                let grad = CandleCapture::from_tensor(grad, Some(ExecutionStep::Backward))
                    .with_label(format!("gradient/{name}"));
                candle::record_tensor(session, span.id(), &grad)?;
                candle::record_alloc(session, span.id(), &grad, Some("backward"))?;
                gradients.push(grad);
            }
            grads
        };
        session.record_process_memory()?;
        let missing = self.plan.missing(&grads);
        if !missing.is_empty() {
            bail!("no gradient for {}: an operation without a backward pass?", missing.join(", "));
        }

        {
            let _optimizer = session.begin_step_span("digits/optimizer", ExecutionStep::Optimizer, SpanKind::Function);
            optimizer.step(&grads)?;
        }
        session.record_process_memory()?;
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

    /// Runs and records one operation of the forward pass, and the storage it makes.
    fn op(
        &self,
        span: SpanId,
        name: &str,
        inputs: &[&Tensor],
        op: impl FnOnce() -> candle_core::Result<Tensor>,
    ) -> Result<Tensor> {
        let output = candle::run_op(self.session, span, name, inputs, Some(ExecutionStep::Forward), op)?;
        let capture = CandleCapture::from_tensor(&output, Some(ExecutionStep::Forward));
        candle::record_alloc(self.session, span, &capture, Some(name))?;
        self.live.borrow_mut().push(capture);
        Ok(output)
    }
}

/// One operation: recorded in an update that is, else only run.
fn op(
    update: Option<(&Update<'_>, SpanId)>,
    name: &str,
    inputs: &[&Tensor],
    op: impl FnOnce() -> candle_core::Result<Tensor>,
) -> Result<Tensor> {
    match update {
        Some((update, span)) => update.op(span, name, inputs, op),
        None => Ok(op()?),
    }
}

/// One fully connected layer.
struct Layer {
    name: String,
    weight: Var,
    bias: Var,
}

/// Fully connected layers with a rectifier between them.
struct Mlp {
    layers: Vec<Layer>,
}

impl Mlp {
    /// Weights from a fixed seed, uniform in +-sqrt(6 / inputs) (He); candle's generator has no seed on the CPU.
    fn new(widths: &[usize]) -> Result<Self> {
        let mut random = Random(SEED);
        let mut layers = Vec::new();
        for (index, pair) in widths.windows(2).enumerate() {
            let (inputs, outputs) = (pair[0], pair[1]);
            let bound = (6.0 / inputs as f32).sqrt();
            let weight: Vec<f32> = (0..inputs * outputs).map(|_| random.uniform(bound)).collect();
            let weight = Tensor::from_vec(weight, (inputs, outputs), &Device::Cpu)?;
            layers.push(Layer {
                name: format!("fc{}", index + 1),
                weight: Var::from_tensor(&weight)?,
                bias: Var::zeros(outputs, DType::F32, &Device::Cpu)?,
            });
        }
        Ok(Self { layers })
    }

    /// Every parameter under its name; a clone of a `Var` is another handle of the same parameter.
    fn vars(&self) -> impl Iterator<Item = (String, Var)> {
        self.layers.iter().flat_map(|layer| {
            [("weight", &layer.weight), ("bias", &layer.bias)]
                .map(|(part, var)| (format!("{}.{part}", layer.name), var.clone()))
        })
    }

    fn logits(&self, images: &Tensor, update: Option<&Update<'_>>) -> Result<Tensor> {
        let mut x = images.clone();
        for (index, layer) in self.layers.iter().enumerate() {
            let span = update.map(|u| u.session.begin_span(&layer.name, SpanKind::Module));
            let at = update.zip(span.as_ref().map(|span| span.id()));
            x = op(at, "matmul", &[&x, &layer.weight], || x.matmul(&layer.weight))?;
            x = op(at, "broadcast_add", &[&x, &layer.bias], || x.broadcast_add(&layer.bias))?;
            if index + 1 < self.layers.len() {
                x = op(at, "relu", &[&x], || x.relu())?;
            }
            if let Some(update) = update {
                update.layers.borrow_mut().push((format!("{}/output", layer.name), x.clone()));
            }
        }
        Ok(x)
    }

    /// Mean cross entropy of the batch.
    fn loss(&self, images: &Tensor, labels: &Tensor, update: Option<&Update<'_>>) -> Result<Tensor> {
        let logits = self.logits(images, update)?;
        let span = update.map(|u| u.session.begin_span("cross_entropy", SpanKind::Module));
        let at = update.zip(span.as_ref().map(|span| span.id()));
        // Not the fused softmax: candle-nn has no backward pass for it.
        let log_probs = op(at, "log_softmax", &[&logits], || candle_nn::ops::log_softmax(&logits, D::Minus1))?;
        op(at, "nll", &[&log_probs, labels], || candle_nn::loss::nll(&log_probs, labels))
    }

    fn accuracy(&self, digits: &Digits) -> Result<f64> {
        let guesses = self.logits(&digits.images, None)?.argmax(D::Minus1)?;
        let right = guesses.eq(&digits.labels)?.to_dtype(DType::U32)?.sum_all()?.to_scalar::<u32>()?;
        Ok(f64::from(right) / digits.rows as f64)
    }
}

/// Images and their labels.
struct Digits {
    /// `(rows, 64)`, pixels from 0 to 1.
    images: Tensor,
    labels: Tensor,
    rows: usize,
}

impl Digits {
    fn new(rows: Vec<([f32; PIXELS], u32)>) -> Result<Self> {
        let count = rows.len();
        let (images, labels): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let images = Tensor::from_vec(images.concat(), (count, PIXELS), &Device::Cpu)?;
        Ok(Self { images, labels: Tensor::from_vec(labels, count, &Device::Cpu)?, rows: count })
    }

    /// The batch of an update, counted from 1: the rows in order, over and over, whole batches only.
    fn batch(&self, update: u64) -> Result<(Tensor, Tensor)> {
        let batches = (self.rows / BATCH) as u64;
        let start = ((update - 1) % batches) as usize * BATCH;
        Ok((self.images.narrow(0, start, BATCH)?, self.labels.narrow(0, start, BATCH)?))
    }
}

/// Training rows, and every fifth row for the test.
fn load_digits() -> Result<(Digits, Digits)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.csv.gz");
    let file = std::fs::File::open(path).with_context(|| path)?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).with_context(|| path)?;
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let numbers: Vec<u32> = line.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let Some((label, pixels)) = numbers.split_last().filter(|(_, pixels)| pixels.len() == PIXELS) else {
            bail!("{path}, line {}: not 65 numbers", index + 1);
        };
        let mut image = [0.0; PIXELS];
        image.iter_mut().zip(pixels).for_each(|(to, &pixel)| *to = pixel as f32 / 16.0);
        (if index % 5 == 4 { &mut test } else { &mut train }).push((image, *label));
    }
    Ok((Digits::new(train)?, Digits::new(test)?))
}

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    /// Uniform in `-bound..bound`.
    fn uniform(&mut self, bound: f32) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32;
        (2.0 * unit - 1.0) * bound
    }
}

/// The command line.
struct Options {
    trace: PathBuf,
    updates: u64,
    capture: u64,
    /// Learning rate; one far too large makes the loss NaN, which is something to look for in a trace.
    rate: f64,
}

impl Options {
    fn parse() -> Result<Self> {
        let mut options = Self { trace: "digits.trace".into(), updates: 60, capture: 40, rate: LEARNING_RATE };
        let mut args = std::env::args_os().skip(1);
        while let Some(arg) = args.next() {
            let number = match arg.to_str() {
                Some("--updates") => &mut options.updates,
                Some("--capture") => &mut options.capture,
                Some("--rate") => {
                    let value = args.next().and_then(|value| value.to_str()?.parse().ok());
                    options.rate = value.context("--rate needs a number")?;
                    continue;
                }
                Some(flag) if flag.starts_with('-') => {
                    bail!("{flag}: unknown; usage: digits [TRACE_PATH] [--updates N] [--capture N] [--rate R]")
                }
                _ => {
                    options.trace = arg.into();
                    continue;
                }
            };
            let value = args.next().and_then(|value| value.to_str()?.parse().ok());
            *number = value.with_context(|| format!("{} needs a number", arg.display()))?;
        }
        if options.capture > options.updates {
            bail!("update {} cannot be recorded: there are {}", options.capture, options.updates);
        }
        Ok(options)
    }
}
