//! Noise as machines make it, with its true median known.
//! In: a stream of random bits. Out: samples. Left to neighbours: what is computed from them.

use candle_graph::analysis::statistics::Stream;

/// Draws one after another.
pub struct Noise {
    stream: Stream,
    counter: u64,
}

/// The distribution of one sample; a spread of about 1 on top of 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Normal,
    /// exp of a normal with a standard deviation of 0.5: the slow half reaches twice as far as the quick one.
    Lognormal,
    /// A floor and an exponential tail.
    Exponential,
    /// Normal, and one in ten is slower by 5 to 15 spreads.
    Spikes,
    /// Two modes, six spreads apart, each as likely.
    Bimodal,
    /// A floor and a gamma of shape 2, as step times have it.
    Timing,
}

pub const SHAPES: [Shape; 6] =
    [Shape::Normal, Shape::Lognormal, Shape::Exponential, Shape::Spikes, Shape::Bimodal, Shape::Timing];

impl Noise {
    pub fn new(seed: u64, stream: u64) -> Self {
        Noise { stream: Stream::new(seed, stream), counter: 0 }
    }

    /// Uniform, above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        self.counter += 1;
        ((self.stream.bits(self.counter) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Box & Muller 1958.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn sample(&mut self, shape: Shape) -> f64 {
        let excess = match shape {
            Shape::Normal => self.normal(),
            Shape::Lognormal => 2.0 * (0.5 * self.normal()).exp(),
            Shape::Exponential => -self.uniform().ln(),
            Shape::Spikes => {
                let spike = if self.uniform() < 0.1 { 5.0 + 10.0 * self.uniform() } else { 0.0 };
                self.normal() + spike
            }
            Shape::Bimodal => {
                let mode = if self.uniform() < 0.5 { -1.5 } else { 1.5 };
                mode + 0.5 * self.normal()
            }
            Shape::Timing => -(self.uniform() * self.uniform()).ln(),
        };
        100.0 + excess
    }

    pub fn cohort(&mut self, shape: Shape, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.sample(shape)).collect()
    }
}
