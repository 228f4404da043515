//! What is there of a planned run: nothing, a bundle fit to be that run, or a reason to stop.
//! In: a planned run and its place. Out: what the bundle says of itself, verified. Left to neighbours: what a
//! comparison asks of runs beside each other, running what is not there (the module above).

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use candle_graph_record::Outcome;

use super::plan::Slot;
use crate::error::{Error, Result, one_line};
use crate::load::{self, Options, Trace};
use crate::output::campaign::{State, nothing_to_verify};
use crate::text::{shorten, shorten_to};

/// A run that is there.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    pub run_id: String,
    /// Wall time of its measured region.
    pub region_ns: i64,
    /// When the run was declared, in microseconds of UTC.
    pub started_at_us: i64,
}

/// Reads the bundle of a run; `None` where there is nothing at its place.
///
/// # Errors
/// Something that is no bundle, a bundle that does not verify, or one that cannot be this run.
pub(super) fn find(slot: &Slot, place: &Path, paired: bool) -> Result<Option<Finished>> {
    if place.is_symlink() {
        return Err(Error::input(place, "is a link; a run publishes its own bundle, at this place"));
    }
    match nothing_to_verify(place) {
        Some(State::Missing { .. }) => return Ok(None),
        Some(state) => return Err(Error::input(place, state.reason().unwrap_or_default())),
        None => {}
    }
    let trace = load::open(place, Options::default())?;
    if let Some(problem) = unfit(slot, &trace, paired) {
        return Err(Error::input(place, problem));
    }
    let (run_id, started_at_us) = (trace.run.run_id.clone(), trace.run.started_at_us);
    Ok(Some(Finished { run_id, region_ns: region(&trace, place)?, started_at_us }))
}

/// Why the capture cannot be this run. What runs must have in common is the comparison's to say.
fn unfit(slot: &Slot, trace: &Trace, paired: bool) -> Option<String> {
    let run = &trace.run;
    if run.outcome != Outcome::Complete {
        let why = run.reason.as_deref().unwrap_or("no reason was recorded");
        return Some(format!("is a capture that is {}: {}", run.outcome.as_str(), one_line(&shorten_to(why, 480))));
    }
    let found = run.identity.as_ref().and_then(|identity| identity.pair_id.as_deref());
    let wanted = paired.then(|| slot.pair_id());
    if found == wanted.as_deref() {
        return None;
    }
    let told = |id: Option<&str>| id.map_or("none".to_owned(), |id| format!("{:?}", shorten(id)));
    let hint = if paired {
        "the program takes it from CANDLE_GRAPH_PAIR_ID (`CohortRun::from_env`) into its comparison identity; \
         --unpaired does without"
    } else {
        "with --unpaired no run has one"
    };
    Some(format!("has pair id {}, and was told {}: {hint}", told(found), told(wanted.as_deref())))
}

/// The wall time of the one measured region.
fn region(trace: &Trace, place: &Path) -> Result<i64> {
    let mut regions = Vec::new();
    for batch in trace.scan("spans", &["measured", "duration_ns"]) {
        let batch = batch.map_err(|e| trace.of_input(e))?;
        let (Some(measured), Some(durations)) = (batch.column_by_name("measured"), batch.column_by_name("duration_ns"))
        else {
            continue;
        };
        let spans = measured.as_boolean().iter().zip(durations.as_primitive::<Int64Type>());
        regions.extend(spans.filter(|(measured, _)| *measured == Some(true)).map(|(_, duration)| duration));
    }
    match regions.as_slice() {
        [Some(duration)] => Ok(*duration),
        [None] => Err(Error::input(place, "has a measured region that never ended; a run has one that did")),
        several => Err(Error::input(place, format!("has {} measured regions; a run has exactly one", several.len()))),
    }
}
