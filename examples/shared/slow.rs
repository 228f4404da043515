//! One operation made really slower, to show that a comparison finds it: `--slow OPERATION=PERCENT`.
//! In: an operation. Out: its result, later. Left to neighbours: where operations run.

use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Which operation, and by how much.
pub struct Slow {
    pub operation: String,
    /// How much longer it takes, in percent of its own time.
    pub percent: f64,
}

impl Slow {
    /// `OPERATION=PERCENT`, of one of these operations.
    pub fn parse(text: Option<&str>, operations: &[&str]) -> Result<Self> {
        let (operation, percent) =
            text.and_then(|text| text.split_once('=')).context("--slow needs OPERATION=PERCENT")?;
        if !operations.contains(&operation) {
            bail!("--slow: {operation} is none of {}", operations.join(", "));
        }
        let percent: f64 = percent.parse().ok().context("--slow needs a number of percent")?;
        if !(0.0..=10_000.0).contains(&percent) {
            bail!("--slow: {percent} is not between 0 and 10000 percent");
        }
        Ok(Self { operation: operation.to_owned(), percent })
    }

    /// Runs an operation, and if it is the slow one spins until it has taken so much longer.
    pub fn run<T>(&self, name: &str, op: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = op();
        if name == self.operation {
            let until = began.elapsed().mul_f64(1.0 + self.percent / 100.0);
            while began.elapsed() < until {
                std::hint::spin_loop();
            }
        }
        result
    }

    /// What an implementation is called that has it: `matmul 20 % slower`.
    pub fn name(&self) -> String {
        format!("{} {} % slower", self.operation, self.percent)
    }
}
