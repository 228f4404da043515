//! The network: fully connected layers, each operation recorded where an update is.
//! In: a batch. Out: its loss. Left to neighbours: what a recorded update keeps (`Update`).

use anyhow::Result;
use candle_core::{D, DType, Device, Tensor, Var};
use candle_graph::{SpanId, SpanKind};

use crate::Update;
use crate::data::Digits;
use crate::random::Random;
use crate::slow::Slow;

pub const SEED: u64 = 42;

/// Operations of the forward pass, by name.
pub const OPERATIONS: [&str; 5] = ["matmul", "broadcast_add", "relu", "log_softmax", "nll"];

/// One fully connected layer.
struct Layer {
    name: String,
    weight: Var,
    bias: Var,
}

/// Fully connected layers with a rectifier between them.
pub struct Mlp {
    layers: Vec<Layer>,
    slow: Option<Slow>,
}

impl Mlp {
    /// Weights from a fixed seed, uniform in +-sqrt(6 / inputs) (He); candle's generator has no seed on the CPU.
    pub fn new(widths: &[usize], slow: Option<Slow>) -> Result<Self> {
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
        Ok(Self { layers, slow })
    }

    /// Every parameter under its name; a clone of a `Var` is another handle of the same parameter.
    pub fn vars(&self) -> impl Iterator<Item = (String, Var)> {
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
            x = self.op(at, "matmul", &[&x, &layer.weight], || x.matmul(&layer.weight))?;
            x = self.op(at, "broadcast_add", &[&x, &layer.bias], || x.broadcast_add(&layer.bias))?;
            if index + 1 < self.layers.len() {
                x = self.op(at, "relu", &[&x], || x.relu())?;
            }
            if let Some(update) = update {
                update.layers.borrow_mut().push((format!("{}/output", layer.name), x.clone()));
            }
        }
        Ok(x)
    }

    /// Mean cross entropy of the batch.
    pub fn loss(&self, images: &Tensor, labels: &Tensor, update: Option<&Update<'_>>) -> Result<Tensor> {
        let logits = self.logits(images, update)?;
        let span = update.map(|u| u.session.begin_span("cross_entropy", SpanKind::Module));
        let at = update.zip(span.as_ref().map(|span| span.id()));
        // Not the fused softmax: candle-nn has no backward pass for it.
        let log_probs = self.op(at, "log_softmax", &[&logits], || candle_nn::ops::log_softmax(&logits, D::Minus1))?;
        self.op(at, "nll", &[&log_probs, labels], || candle_nn::loss::nll(&log_probs, labels))
    }

    pub fn accuracy(&self, digits: &Digits) -> Result<f64> {
        let guesses = self.logits(&digits.images, None)?.argmax(D::Minus1)?;
        let right = guesses.eq(&digits.labels)?.to_dtype(DType::U32)?.sum_all()?.to_scalar::<u32>()?;
        Ok(f64::from(right) / digits.rows as f64)
    }

    /// One operation: recorded in an update that is, else only run.
    fn op(
        &self,
        update: Option<(&Update<'_>, SpanId)>,
        name: &str,
        inputs: &[&Tensor],
        op: impl FnOnce() -> candle_core::Result<Tensor>,
    ) -> Result<Tensor> {
        let op = || match &self.slow {
            Some(slow) => slow.run(name, op),
            None => op(),
        };
        match update {
            Some((update, span)) => update.op(span, name, inputs, op),
            None => Ok(op()?),
        }
    }
}
