//! The captures of a series: opened, and fit to be one.
//! In: a campaign's manifest, or paths of bundles. Out: complete traces by step, of which only what a series reads is kept.
//! Left to neighbours: their rows (the module above), what a planned capture is (`campaign`).
//!
//! A series is one claim about all its captures, so one that cannot carry it stops the whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Series, collect};
use crate::error::{Error, Result};
use crate::evidence;
use crate::load::{self, Options, Trace};
use crate::output::campaign::{self, Campaign, State};
use crate::text::shorten;

/// Tables that a series reads.
const TABLES: [&str; 3] = ["spans", "tensor_stats", "gradients"];
/// Captures that an error names.
const NAMED: usize = 5;

/// A capture, and why it is not valid, if it is not.
type Capture = (Trace, Option<String>);

/// Which captures, and what of them.
#[derive(Debug, Default)]
pub struct Request {
    /// All captures of this campaign.
    pub manifest: Option<PathBuf>,
    /// Or these bundles.
    pub bundles: Vec<PathBuf>,
    pub label_prefix: Option<String>,
}

impl Request {
    /// Every path that is read.
    ///
    /// # Errors
    /// A manifest that cannot be read.
    pub fn reads(&self) -> Result<Vec<PathBuf>> {
        let Some(manifest) = &self.manifest else { return Ok(self.bundles.clone()) };
        let campaign = Campaign::read(manifest)?;
        Ok(campaign.manifest.planned.iter().map(|p| campaign.place(p)).chain([manifest.clone()]).collect())
    }

    /// Verifies, checks and reads the captures.
    ///
    /// # Errors
    /// A capture that is not published, failed or interrupted; captures of several entrypoints or phases; one
    /// step or run twice.
    pub fn build(&self) -> Result<Series> {
        let mut traces = match &self.manifest {
            Some(manifest) => open_campaign(manifest)?,
            None => self.bundles.iter().map(|path| complete(open_bundle(path)?)).collect::<Result<Vec<_>>>()?,
        };
        // In order of steps whatever order they were given in, so that the engine meets the same files in the same order.
        traces.sort_by(|(a, _), (b, _)| (a.run.capture_step, &a.run.run_id).cmp(&(b.run.capture_step, &b.run.run_id)));
        let (traces, invalid): (Vec<Trace>, Vec<Option<String>>) = traces.into_iter().unzip();
        same_program(&traces)?;
        collect(&traces, &invalid, self.label_prefix.clone())
    }
}

/// Opens a bundle, and nothing but a bundle.
fn open_bundle(path: &Path) -> Result<Trace> {
    match campaign::nothing_to_verify(path) {
        None => load::open(path, Options::default()),
        Some(State::Missing { .. }) => Err(Error::input(path, "does not exist; give a published bundle")),
        Some(state) => Err(Error::input(path, format!("{}; give a published bundle", state.reason().unwrap_or("")))),
    }
}

/// Opens every planned capture.
fn open_campaign(path: &Path) -> Result<Vec<Capture>> {
    let campaign = Campaign::read(path)?;
    let mut traces = Vec::new();
    let mut unpublished = Vec::new();
    for planned in &campaign.manifest.planned {
        let place = campaign.place(planned);
        let state = match campaign::nothing_to_verify(&place) {
            Some(state) => state,
            None => match load::open(&place, Options::default()) {
                Err(error) => campaign::refused(error, &place)?,
                Ok(trace) => {
                    let judge = |bundle| campaign.judge(planned, bundle, &trace.run);
                    match trace.bundle.as_ref().map(judge) {
                        Some(State::Published { .. }) => {
                            // Nothing is claimed once one is unpublished: no need to look further into the others.
                            if unpublished.is_empty() {
                                traces.push(complete(trace)?);
                            }
                            continue;
                        }
                        Some(state) => state,
                        None => {
                            return Err(Error::input(&place, "was replaced while it was read; run the command again"));
                        }
                    }
                }
            },
        };
        unpublished.push(format!("step {} ({}) {}", planned.capture_step, shorten(&planned.bundle), state.name()));
    }
    if unpublished.is_empty() {
        return Ok(traces);
    }
    let more = unpublished.len().saturating_sub(NAMED);
    let problem = format!(
        "{} of {} captures not published: {}{}; `candle-graph campaign-status` says why, and a series needs them all",
        unpublished.len(),
        campaign.manifest.planned.len(),
        unpublished[..unpublished.len() - more].join(", "),
        if more > 0 { format!(" and {more} more") } else { String::new() },
    );
    Err(Error::input(path, problem))
}

/// Refuses a capture that failed or was cut off; of another only what a series reads stays. One that is not valid keeps
/// what it recorded, because a training that diverges breaks its gradient contract just where a series is wanted; its wall
/// time is not claimed.
fn complete(mut trace: Trace) -> Result<Capture> {
    let health = evidence::check(&trace)?;
    let reason = health.unsound_reason();
    if let (false, Some(reason)) = (health.capture_complete, &reason) {
        let problem = format!("is no complete capture ({reason}), so it is no part of a series; leave it out");
        return Err(Error::input(&trace.requested, problem));
    }
    trace.keep_only(&TABLES);
    Ok((trace, reason))
}

/// Refuses captures that are no series: they come by step.
fn same_program(traces: &[Trace]) -> Result<()> {
    let Some(first) = traces.first() else {
        return Err(Error::Usage { problem: "a series needs at least one bundle".to_owned() });
    };
    let differs = |trace: &Trace, what: &str, of: &dyn Fn(&Trace) -> String| {
        let (here, there) = (of(trace), of(first));
        let there = format!("{} of {}", first.requested.display(), shorten(&there));
        Error::input(&trace.requested, format!("is of {what} {}, and {there}; a series has one", shorten(&here)))
    };
    for trace in traces {
        if trace.run.entrypoint != first.run.entrypoint {
            return Err(differs(trace, "entrypoint", &|t| format!("{:?}", t.run.entrypoint)));
        }
        if trace.run.phase != first.run.phase {
            return Err(differs(trace, "phase", &|t| t.run.phase.as_str().to_owned()));
        }
    }
    let mut runs = BTreeMap::new();
    for trace in traces {
        if let Some(other) = runs.insert(&trace.run.run_id, trace) {
            let (run_id, other) = (shorten(&trace.run.run_id), other.requested.display());
            return Err(Error::input(
                &trace.requested,
                format!("is the same run as {other} ({run_id}); give each run once"),
            ));
        }
    }
    match traces.windows(2).find(|pair| pair[0].run.capture_step == pair[1].run.capture_step) {
        None => Ok(()),
        Some([one, other]) => {
            let (one, step) = (one.requested.display(), other.run.capture_step);
            let problem = format!("is of capture step {step}, as {one} is; a series has one capture of each step");
            Err(Error::input(&other.requested, problem))
        }
        Some(_) => Ok(()),
    }
}
