//! The command line, and what a driver of comparisons says beside it.
//! In: arguments, the environment. Out: options. Left to neighbours: what they do.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use candle_graph::CohortRun;

use crate::data::PIXELS;
use crate::model::OPERATIONS;
use crate::slow::Slow;

const USAGE: &str = "usage: digits [TRACE_PATH | --bundle DIR] [--updates N] [--capture N] [--rate R] [--batch N] [--width N] \
                     [--implementation ID] [--slow OPERATION=PERCENT]";
const DIGITS: usize = 10;

/// Where the recorded update goes.
pub enum Destination {
    /// A trace with everything that can be asked of the update.
    Trace(PathBuf),
    /// A bundle of an update that takes the time it always takes, for comparisons.
    Bundle(PathBuf),
}

pub struct Options {
    pub destination: Destination,
    pub updates: u64,
    pub capture: u64,
    /// Learning rate; one far too large makes the loss NaN, which is something to look for in a trace.
    pub rate: f64,
    pub batch: usize,
    /// Width of the first hidden layer; the second has half of it.
    pub width: usize,
    pub slow: Option<Slow>,
    /// What is compared with what.
    pub implementation: String,
    /// The pair that this run belongs to.
    pub pair_id: Option<String>,
}

impl Options {
    pub fn parse() -> Result<Self> {
        let cohort = CohortRun::from_env()?;
        let mut destination = None;
        let mut implementation = None;
        let mut options = Self {
            destination: Destination::Trace("digits.trace".into()),
            updates: 60,
            capture: 40,
            rate: 0.005,
            batch: 64,
            width: 128,
            slow: None,
            implementation: String::new(),
            pair_id: cohort.as_ref().and_then(|cohort| cohort.pair_id.clone()),
        };
        let mut args = std::env::args_os().skip(1);
        while let Some(arg) = args.next() {
            let flag = arg.to_str().filter(|flag| flag.starts_with('-'));
            let Some(flag) = flag else {
                destination = Some(Destination::Trace(arg.into()));
                continue;
            };
            let value = args.next();
            let text = value.as_ref().and_then(|value| value.to_str());
            match flag {
                "--updates" => options.updates = number(flag, text)?,
                "--capture" => options.capture = number(flag, text)?,
                "--rate" => options.rate = number(flag, text)?,
                "--batch" => options.batch = number(flag, text)?,
                "--width" => options.width = number(flag, text)?,
                "--slow" => options.slow = Some(Slow::parse(text, &OPERATIONS)?),
                "--implementation" => implementation = Some(text.context("--implementation needs a name")?.to_owned()),
                "--bundle" => destination = Some(Destination::Bundle(value.context("--bundle needs a path")?.into())),
                _ => bail!("{flag}: unknown; {USAGE}"),
            }
        }
        if options.capture > options.updates {
            bail!("update {} cannot be recorded: there are {}", options.capture, options.updates);
        }
        if options.batch == 0 || options.width < 2 {
            bail!("--batch is at least 1, --width at least 2");
        }
        let told = cohort.map(|cohort| Destination::Bundle(cohort.bundle));
        options.destination = destination.or(told).unwrap_or(options.destination);
        options.implementation = implementation.unwrap_or_else(|| match &options.slow {
            None => "plain".to_owned(),
            Some(slow) => slow.name(),
        });
        Ok(options)
    }

    /// Widths of the layers.
    pub fn widths(&self) -> [usize; 4] {
        [PIXELS, self.width, self.width / 2, DIGITS]
    }

    /// `mlp-64-128-64-10`.
    pub fn model(&self) -> String {
        format!("mlp-{}", self.widths().map(|w| w.to_string()).join("-"))
    }
}

fn number<T: std::str::FromStr>(flag: &str, text: Option<&str>) -> Result<T> {
    text.and_then(|text| text.parse().ok()).with_context(|| format!("{flag} needs a number"))
}
