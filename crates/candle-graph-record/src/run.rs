//! One run: what the program declares before it opens a session.
//! In: entrypoint, step, device, contract, identity, tags. Out: a validated `ProfileRun`.
//! Left to neighbours: host facts (`provenance`), the run's row (`tables::run`).

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::SystemTime;

use crate::contract::{CaptureContract, ComparisonIdentity};
use crate::error::{Error, Result};
use crate::names::{ExecutionPhase, TimingMode};

/// The declaration of one captured invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRun {
    pub(crate) run_id: String,
    pub(crate) correlation_id: String,
    pub(crate) entrypoint: String,
    pub(crate) phase: ExecutionPhase,
    /// UTC, microseconds since the epoch.
    pub(crate) started_at_us: i64,
    pub(crate) capture_step: u64,
    pub(crate) warmup_steps: u64,
    pub(crate) device: String,
    pub(crate) measured_region_device_synchronized: bool,
    pub(crate) timing_mode: TimingMode,
    pub(crate) contract: CaptureContract,
    pub(crate) identity: Option<ComparisonIdentity>,
    pub(crate) tags: BTreeMap<String, String>,
}

impl ProfileRun {
    /// A training update of `entrypoint`; `capture_step` counts from 1.
    pub fn training(entrypoint: impl Into<String>, capture_step: u64, device: impl Into<String>) -> Self {
        Self::new(entrypoint.into(), ExecutionPhase::Train, capture_step, device.into())
    }

    /// An inference invocation of `entrypoint`; `capture_step` counts from 1.
    pub fn inference(entrypoint: impl Into<String>, capture_step: u64, device: impl Into<String>) -> Self {
        Self::new(entrypoint.into(), ExecutionPhase::Infer, capture_step, device.into())
    }

    fn new(entrypoint: String, phase: ExecutionPhase, capture_step: u64, device: String) -> Self {
        let unit = match phase {
            ExecutionPhase::Train => "update",
            ExecutionPhase::Infer => "inference",
        };
        let started_at_us = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX));
        Self {
            run_id: new_run_id(started_at_us),
            correlation_id: format!("{entrypoint}/{unit}-{capture_step}"),
            entrypoint,
            phase,
            started_at_us,
            capture_step,
            warmup_steps: capture_step.saturating_sub(1),
            device,
            measured_region_device_synchronized: false,
            timing_mode: TimingMode::Host,
            contract: CaptureContract::default(),
            identity: None,
            tags: BTreeMap::new(),
        }
    }

    /// Adds one tag; a repeated key keeps the last value.
    #[must_use]
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// Replaces the correlation id, which defaults to `<entrypoint>/update-<n>` or `<entrypoint>/inference-<n>`.
    #[must_use]
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.correlation_id = id.into();
        self
    }

    /// Replaces the number of invocations before the captured one, which defaults to `capture_step - 1`.
    #[must_use]
    pub fn warmup_steps(mut self, steps: u64) -> Self {
        self.warmup_steps = steps;
        self
    }

    /// Declares that the program synchronizes the device at both ends of every span, the measured region included.
    #[must_use]
    pub fn device_synchronized(mut self) -> Self {
        self.timing_mode = TimingMode::DeviceSynchronized;
        self.measured_region_device_synchronized = true;
        self
    }

    /// Declares that the program synchronizes the device right before and right after the measured region.
    #[must_use]
    pub fn measured_region_device_synchronized(mut self) -> Self {
        self.measured_region_device_synchronized = true;
        self
    }

    /// Declares what will be recorded.
    #[must_use]
    pub fn capture_contract(mut self, contract: CaptureContract) -> Self {
        self.contract = contract;
        self
    }

    /// Declares what must be equal between runs that are compared.
    #[must_use]
    pub fn comparison_identity(mut self, identity: ComparisonIdentity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The run's id: unique for each `ProfileRun` made.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Checks provenance, contract and identity, before anything is created.
    pub(crate) fn validate(&self) -> Result<()> {
        for (field, text) in [
            ("run_id", &self.run_id),
            ("correlation_id", &self.correlation_id),
            ("entrypoint", &self.entrypoint),
            ("device", &self.device),
        ] {
            if text.trim().is_empty() {
                return Err(Error::Run { field, problem: "is empty".to_owned() });
            }
        }
        let out_of_range = |field, problem: String| Err(Error::Run { field, problem });
        if self.capture_step == 0 {
            return out_of_range("capture_step", "is 0; invocations are counted from 1".to_owned());
        }
        if i64::try_from(self.capture_step).is_err() {
            return out_of_range("capture_step", format!("is {}, more than an Int64 holds", self.capture_step));
        }
        if self.warmup_steps >= self.capture_step {
            return out_of_range(
                "warmup_steps",
                format!("is {}, not below capture_step {}", self.warmup_steps, self.capture_step),
            );
        }
        self.contract.validate()?;
        if let Some((field, problem)) = self.identity.as_ref().and_then(ComparisonIdentity::problem) {
            return Err(Error::Identity { field, problem });
        }
        Ok(())
    }
}

/// `run-<microseconds>-<128 random bits>`: the process's hash seeds are random, so no random-number crate is needed.
fn new_run_id(started_at_us: i64) -> String {
    let random = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        hasher.finish()
    };
    format!("run-{started_at_us}-{:016x}{:016x}", random(), random())
}
