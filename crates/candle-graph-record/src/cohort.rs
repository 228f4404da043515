//! `CohortRun`: what `candle-graph cohort` tells each program that it starts.
//! In: three environment variables. Out: where to publish, and which run of which cohort this is; or the variable that
//! cannot be used. Left to neighbours: publishing (`CaptureRun`, in the root crate), what runs must have in common
//! (`ComparisonIdentity`).

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::names::Cohort;

/// The variables, as a driver sets them for a run.
const BUNDLE: &str = "CANDLE_GRAPH_BUNDLE";
const PAIR_ID: &str = "CANDLE_GRAPH_PAIR_ID";
const COHORT: &str = "CANDLE_GRAPH_COHORT";

/// One run of a comparison, as its driver ordered it.
///
/// `candle-graph cohort` starts a program many times and tells each process by its environment what to publish. The
/// program puts the pair into its identity and its bundle where it was told; without a driver it does what it always
/// does:
///
/// ```
/// use candle_graph_record::{CohortRun, ComparisonIdentity, ProfileRun};
///
/// fn declare(cohort: Option<&CohortRun>) -> ProfileRun {
///     let run = ProfileRun::inference("answer", 4, "cpu");
///     let Some(cohort) = cohort else { return run };
///     run.comparison_identity(ComparisonIdentity {
///         implementation_id: Some("fused".to_owned()),
///         workload_id: "answer".to_owned(),
///         model_id: "attention-4x256".to_owned(),
///         config_id: "sequence-256".to_owned(),
///         data_id: "tokens-seed-42".to_owned(),
///         seed_policy: "fixed".to_owned(),
///         physical_batch: 1,
///         accumulation_steps: 1,
///         precision: "f32".to_owned(),
///         device_state: "cpu".to_owned(),
///         pair_id: cohort.pair_id.clone(),
///     })
/// }
///
/// // Under a driver, `cohort.bundle` is where `CaptureRun::begin` publishes.
/// let cohort = CohortRun::from_env()?;
/// let run = declare(cohort.as_ref());
/// # let _ = run;
/// # Ok::<(), candle_graph_record::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CohortRun {
    /// Where this process must publish its bundle: absolute, and nothing is there yet.
    pub bundle: PathBuf,
    /// What the run's [`ComparisonIdentity::pair_id`](crate::ComparisonIdentity) must be; `None` where runs are not
    /// paired.
    pub pair_id: Option<String>,
    /// Which of the two commands this is.
    pub cohort: Cohort,
}

impl CohortRun {
    /// What the driver of this process told it; `None` without a driver.
    ///
    /// # Errors
    /// [`Error::Environment`]: a variable is set and cannot be used, or one is absent although another is there.
    pub fn from_env() -> Result<Option<Self>> {
        Self::of([BUNDLE, PAIR_ID, COHORT].map(std::env::var_os))
    }

    fn of([bundle, pair_id, cohort]: [Option<OsString>; 3]) -> Result<Option<Self>> {
        if bundle.is_none() && pair_id.is_none() && cohort.is_none() {
            return Ok(None);
        }
        let refuse = |variable, problem: &str| {
            let problem = format!("{problem}; let `candle-graph cohort` set it, or unset all that it sets");
            Err(Error::Environment { variable, problem })
        };
        let Some(bundle) = bundle.map(PathBuf::from) else {
            return refuse(BUNDLE, "is not set, although others of a cohort are");
        };
        if !bundle.is_absolute() {
            let empty = bundle.as_os_str().is_empty();
            return refuse(BUNDLE, if empty { "is empty" } else { "is no absolute path" });
        }
        let Some(cohort) = cohort else { return refuse(COHORT, "is not set, although others of a cohort are") };
        let Some(cohort) = cohort.to_str().and_then(Cohort::parse) else {
            return refuse(COHORT, "is neither `baseline` nor `candidate`");
        };
        let pair_id = match pair_id.map(OsString::into_string) {
            None => None,
            Some(Ok(id)) if id.trim().is_empty() => return refuse(PAIR_ID, "is empty"),
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => return refuse(PAIR_ID, "is not UTF-8"),
        };
        Ok(Some(Self { bundle, pair_id, cohort }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: [Option<&str>; 3]) -> Result<Option<CohortRun>> {
        CohortRun::of(variables.map(|v| v.map(OsString::from)))
    }

    #[test]
    fn a_driver_tells_all_or_is_not_there() {
        assert_eq!(of([None; 3]).expect("no driver"), None);
        let run = |pair_id: Option<&str>, cohort| CohortRun {
            bundle: PathBuf::from("/runs/candidate/003"),
            pair_id: pair_id.map(str::to_owned),
            cohort,
        };
        assert_eq!(
            of([Some("/runs/candidate/003"), Some("pair-003"), Some("candidate")]).expect("a run"),
            Some(run(Some("pair-003"), Cohort::Candidate))
        );
        assert_eq!(
            of([Some("/runs/candidate/003"), None, Some("baseline")]).expect("unpaired"),
            Some(run(None, Cohort::Baseline))
        );
    }

    #[test]
    fn what_is_set_and_cannot_be_used_is_named() {
        let place = Some("/runs/baseline/001");
        for (variables, variable, problem) in [
            ([Some(""), None, Some("baseline")], BUNDLE, "is empty"),
            ([Some("runs/001"), None, Some("baseline")], BUNDLE, "is no absolute path"),
            ([None, Some("pair-001"), Some("baseline")], BUNDLE, "is not set"),
            ([None, None, Some("baseline")], BUNDLE, "is not set"),
            ([place, Some("pair-001"), None], COHORT, "is not set"),
            ([place, None, Some("")], COHORT, "is neither"),
            ([place, None, Some("Baseline")], COHORT, "is neither"),
            ([place, Some(" "), Some("baseline")], PAIR_ID, "is empty"),
        ] {
            let error = of(variables).expect_err("unusable");
            assert!(matches!(&error, Error::Environment { variable: v, .. } if *v == variable), "{error}");
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
