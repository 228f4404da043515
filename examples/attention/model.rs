//! Layers of multi-head attention, computed in two ways from the same weights.
//! In: tokens. Out: the hidden states of the last layer. Left to neighbours: which way is measured, what is recorded
//! beside operations (the program).

use anyhow::{Result, bail};
use candle_core::{D, Device, Tensor};
use candle_graph::candle;
use candle_graph::{ExecutionStep, SpanId, SpanKind, TraceSession};

use crate::random::Random;
use crate::slow::Slow;

pub const SEED: u64 = 42;

/// Operations that take most of the time, one way or the other.
pub const SLOWABLE: [&str; 4] = ["matmul", "exp", "broadcast_sub", "softmax_last_dim"];

const TOKENS: usize = 1000;
pub const WIDTH: usize = 256;
pub const HEADS: usize = 8;
const HEAD: usize = WIDTH / HEADS;

/// How attention is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Head after head: its own projections, and a softmax of elementary operations.
    Naive,
    /// All heads at once: one projection, batched products, candle's softmax in one pass.
    Fused,
}

impl Implementation {
    pub const ALL: [Self; 2] = [Self::Naive, Self::Fused];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Fused => "fused",
        }
    }

    pub fn parse(text: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|i| i.as_str() == text) {
            Some(found) => Ok(found),
            None => bail!("--implementation: {text} is neither naive nor fused"),
        }
    }
}

/// One layer. Each way has the weights in the form that it multiplies with.
struct Layer {
    /// Scales of the norm.
    norm: Tensor,
    /// `(WIDTH, 3 * WIDTH)`: queries, keys and values of all heads.
    projection: Tensor,
    /// The same for each head: three of `(WIDTH, HEAD)`.
    heads: Vec<[Tensor; 3]>,
    /// `(WIDTH, WIDTH)`.
    output: Tensor,
}

pub struct Model {
    embedding: Tensor,
    layers: Vec<Layer>,
}

/// Where operations are recorded, if anywhere.
#[derive(Clone, Copy)]
pub struct At<'a> {
    session: Option<&'a TraceSession>,
    span: Option<SpanId>,
    slow: Option<&'a Slow>,
}

impl<'a> At<'a> {
    /// In the innermost open span of `session`; nowhere without one.
    pub fn new(session: Option<&'a TraceSession>, slow: Option<&'a Slow>) -> Self {
        Self { session, span: None, slow }
    }

    /// Runs a part of the computation, in a span of its own where it is recorded.
    fn part<T>(self, name: &str, part: impl FnOnce(At<'a>) -> Result<T>) -> Result<T> {
        let span = self.session.map(|session| session.begin_step_span(name, ExecutionStep::Forward, SpanKind::Module));
        part(At { span: span.as_ref().map(|span| span.id()), ..self })
    }

    fn op(self, name: &str, inputs: &[&Tensor], op: impl FnOnce() -> candle_core::Result<Tensor>) -> Result<Tensor> {
        let op = || match self.slow {
            Some(slow) => slow.run(name, op),
            None => op(),
        };
        match self.session.zip(self.span) {
            None => Ok(op()?),
            Some((session, span)) => Ok(candle::run_op(session, span, name, inputs, Some(ExecutionStep::Forward), op)?),
        }
    }
}

impl Model {
    /// Weights from a fixed seed, the same for both ways.
    pub fn new(layers: usize) -> Result<Self> {
        let mut random = Random(SEED);
        let mut matrix = |rows: usize, columns: usize| -> Result<Tensor> {
            let bound = (3.0 / rows as f32).sqrt();
            let numbers: Vec<f32> = (0..rows * columns).map(|_| random.uniform(bound)).collect();
            Ok(Tensor::from_vec(numbers, (rows, columns), &Device::Cpu)?)
        };
        let embedding = matrix(TOKENS, WIDTH)?.affine((TOKENS as f64 / 3.0).sqrt(), 0.0)?;
        let mut layer = || -> Result<Layer> {
            let projection = matrix(WIDTH, 3 * WIDTH)?;
            let of = |head: usize, which: usize| projection.narrow(1, which * WIDTH + head * HEAD, HEAD)?.contiguous();
            let heads = (0..HEADS).map(|head| Ok([of(head, 0)?, of(head, 1)?, of(head, 2)?]));
            let heads = heads.collect::<candle_core::Result<Vec<_>>>()?;
            let norm = Tensor::ones(WIDTH, candle_core::DType::F32, &Device::Cpu)?;
            Ok(Layer { norm, heads, projection, output: matrix(WIDTH, WIDTH)? })
        };
        let layers = (0..layers).map(|_| layer()).collect::<Result<Vec<_>>>()?;
        Ok(Self { embedding, layers })
    }

    /// Tokens of a sequence: the same every time.
    pub fn tokens(length: usize) -> Result<Tensor> {
        let mut random = Random(SEED + 1);
        let half = TOKENS as f32 / 2.0;
        let token = |_| ((random.uniform(half) + half) as u32).min(TOKENS as u32 - 1);
        Ok(Tensor::from_vec((0..length).map(token).collect::<Vec<_>>(), length, &Device::Cpu)?)
    }

    /// The hidden states of the last layer, `(length, WIDTH)`.
    pub fn forward(&self, tokens: &Tensor, how: Implementation, at: At<'_>) -> Result<Tensor> {
        let mut x = at.part("embed", |at| {
            at.op("index_select", &[&self.embedding, tokens], || self.embedding.index_select(tokens, 0))
        })?;
        for (index, layer) in self.layers.iter().enumerate() {
            x = at.part(&format!("layer.{}", index + 1), |at| {
                let normed =
                    at.op("rms_norm", &[&x, &layer.norm], || candle_nn::ops::rms_norm(&x, &layer.norm, 1e-5))?;
                let mixed = at.part(&format!("attention.{}", index + 1), |at| match how {
                    Implementation::Naive => layer.naive(&normed, at),
                    Implementation::Fused => layer.fused(&normed, at),
                })?;
                let output = at.op("matmul", &[&mixed, &layer.output], || mixed.matmul(&layer.output))?;
                at.op("add", &[&x, &output], || &x + &output)
            })?;
        }
        Ok(x)
    }
}

/// What scores are multiplied with.
fn scale() -> f64 {
    1.0 / (HEAD as f64).sqrt()
}

impl Layer {
    fn naive(&self, x: &Tensor, at: At<'_>) -> Result<Tensor> {
        let mut heads = Vec::with_capacity(HEADS);
        for [query, key, value] in &self.heads {
            let [q, k, v] = [query, key, value].map(|weight| at.op("matmul", &[x, weight], || x.matmul(weight)));
            let (q, k, v) = (q?, k?, v?);
            let k = at.op("transpose", &[&k], || k.t())?;
            let scores = at.op("matmul", &[&q, &k], || q.matmul(&k))?;
            let scores = at.op("affine", &[&scores], || scores.affine(scale(), 0.0))?;
            // The largest score comes off first, so that no exponential overflows.
            let largest = at.op("max", &[&scores], || scores.max_keepdim(D::Minus1))?;
            let below = at.op("broadcast_sub", &[&scores, &largest], || scores.broadcast_sub(&largest))?;
            let powers = at.op("exp", &[&below], || below.exp())?;
            let sums = at.op("sum", &[&powers], || powers.sum_keepdim(D::Minus1))?;
            let weights = at.op("broadcast_div", &[&powers, &sums], || powers.broadcast_div(&sums))?;
            heads.push(at.op("matmul", &[&weights, &v], || weights.matmul(&v))?);
        }
        at.op("cat", &heads.iter().collect::<Vec<_>>(), || Tensor::cat(&heads, 1))
    }

    fn fused(&self, x: &Tensor, at: At<'_>) -> Result<Tensor> {
        let length = x.dim(0)?;
        let all = at.op("matmul", &[x, &self.projection], || x.matmul(&self.projection))?;
        // (3, heads, length, head), so that each head's rows lie together.
        let all = at
            .op("contiguous", &[&all], || all.reshape((length, 3, HEADS, HEAD))?.permute((1, 2, 0, 3))?.contiguous())?;
        let [q, k, v] = [0, 1, 2].map(|which| all.get(which));
        let (q, k, v) = (q?, k?, v?);
        let k = at.op("transpose", &[&k], || k.t())?;
        let q = at.op("affine", &[&q], || q.affine(scale(), 0.0))?;
        let scores = at.op("matmul", &[&q, &k], || q.matmul(&k))?;
        let weights = at.op("softmax_last_dim", &[&scores], || candle_nn::ops::softmax_last_dim(&scores))?;
        let mixed = at.op("matmul", &[&weights, &v], || weights.matmul(&v))?;
        at.op("contiguous", &[&mixed], || mixed.transpose(0, 1)?.contiguous()?.reshape((length, WIDTH)))
    }
}
