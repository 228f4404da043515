//! A campaign: the captures that were planned of one program, against the bundles that are there.
//! In: a manifest `candle-graph/campaign/1`. Out: `candle-graph/campaign-status/1`, by captured step; text of it for a
//! terminal. Left to neighbours: what the captures hold (`series`).
//!
//! Nothing is remembered between two calls: what a bundle is, its own verified bytes say each time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use candle_graph_record::Outcome;
use candle_graph_record::parquet_sink::layout as trace_layout;
use candle_graph_record::tables::run::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::documents::{TOOL, Tool};
use crate::error::{Error, Result, one_line};
use crate::load::bundle::{self, Verified, layout};
use crate::text::{count, printable, shorten, shorten_to};

/// The manifest's schema.
pub const MANIFEST_SCHEMA: &str = "candle-graph/campaign/1";
/// The status document's schema.
pub const SCHEMA: &str = "candle-graph/campaign-status/1";

/// Largest manifest that is read: 40,000 captures and more.
const LARGEST: u64 = 4 << 20;
/// Longest reason, in bytes as JSON writes them: it may hold texts of a bundle.
const REASON: usize = 480;

/// What was planned.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Campaign")]
pub struct Manifest {
    pub schema: String,
    pub campaign_id: String,
    /// The program's entrypoint, which every capture must be of.
    pub entrypoint: String,
    pub planned: Vec<Planned>,
}

/// One planned capture.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The captured update or invocation, from 1; each at most once.
    #[schemars(range(min = 1))]
    pub capture_step: i64,
    /// Where its bundle is or will be: a path below the manifest's folder, with `/` between names; each at most once.
    pub bundle: String,
}

/// A manifest that was read and checked, its captures by step.
#[derive(Debug)]
pub struct Campaign {
    pub manifest: Manifest,
    /// Where the manifest lies.
    pub folder: PathBuf,
}

/// What became of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CampaignStatus {
    pub schema: &'static str,
    pub tool: Tool,
    pub campaign_id: String,
    pub entrypoint: String,
    /// Planned captures: published, missing and failed ones together.
    pub planned: usize,
    pub published: usize,
    pub missing: usize,
    /// Captures whose state is failed_run, verification_failed or identity_mismatch.
    pub failed: usize,
    /// By captured step.
    pub captures: Vec<CaptureStatus>,
}

/// What became of one planned capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaptureStatus {
    pub capture_step: i64,
    /// As the manifest has it.
    pub bundle: String,
    pub state: State,
}

/// What is at the place of a planned bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// A bundle that verifies, of the planned entrypoint and step, whose run is complete.
    Published { run_id: String, manifest_sha256: String },
    /// Nothing.
    Missing { reason: String },
    /// A bundle that verifies and is the planned one, of a run that failed or was interrupted.
    FailedRun { run_id: String, manifest_sha256: String, reason: String },
    /// A bundle that verifies, of another entrypoint or step.
    IdentityMismatch { run_id: String, manifest_sha256: String, reason: String },
    /// Something that is no bundle, or one that does not verify.
    VerificationFailed { reason: String },
}

impl State {
    /// As documents write it.
    pub fn name(&self) -> &'static str {
        match self {
            State::Published { .. } => "published",
            State::Missing { .. } => "missing",
            State::FailedRun { .. } => "failed_run",
            State::IdentityMismatch { .. } => "identity_mismatch",
            State::VerificationFailed { .. } => "verification_failed",
        }
    }

    /// Why it is not published.
    pub fn reason(&self) -> Option<&str> {
        match self {
            State::Published { .. } => None,
            State::Missing { reason }
            | State::FailedRun { reason, .. }
            | State::IdentityMismatch { reason, .. }
            | State::VerificationFailed { reason } => Some(reason),
        }
    }
}

impl Campaign {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// The file, the field and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self> {
        let problem = |text: String| Error::input(path, text);
        let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => problem("does not exist".to_owned()),
            _ => Error::Io { action: "open", path: path.to_owned(), source },
        })?;
        if !metadata.is_file() {
            return Err(problem("is no regular file; give the JSON file of a campaign".to_owned()));
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
        if bytes.len() as u64 > LARGEST {
            return Err(problem(
                "is larger than 4 MiB; split the campaign, or check that this is its manifest".to_owned(),
            ));
        }
        let mut manifest = parse(&bytes).map_err(problem)?;
        manifest.planned.sort_by_key(|p| p.capture_step);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { manifest, folder })
    }

    /// Where a planned bundle is, seen from where the manifest was named.
    pub fn place(&self, planned: &Planned) -> PathBuf {
        self.folder.join(&planned.bundle)
    }

    /// What a bundle that verifies is to the plan.
    pub fn judge(&self, planned: &Planned, bundle: &Verified, run: &RunRecord) -> State {
        let (run_id, manifest_sha256) = (run.run_id.clone(), bundle.identity.clone());
        let (wanted, found) = (&self.manifest.entrypoint, &run.entrypoint);
        if wanted != found {
            let reason = format!("is of entrypoint {:?}, and {:?} is planned", shorten(found), shorten(wanted));
            return State::IdentityMismatch { run_id, manifest_sha256, reason };
        }
        if planned.capture_step != run.capture_step {
            let reason = format!("is of capture step {}, and {} is planned", run.capture_step, planned.capture_step);
            return State::IdentityMismatch { run_id, manifest_sha256, reason };
        }
        if run.outcome == Outcome::Complete {
            return State::Published { run_id, manifest_sha256 };
        }
        let why = run.reason.as_deref().unwrap_or("no reason was recorded");
        let reason = format!("the run is {}: {}", run.outcome.as_str(), one_line(&shorten_to(why, REASON)));
        State::FailedRun { run_id, manifest_sha256, reason }
    }

    /// The state of every planned capture.
    ///
    /// # Errors
    /// A failure that is no bundle's: no room for scratch files, for example.
    pub fn status(&self) -> Result<CampaignStatus> {
        let captures = self.manifest.planned.iter().map(|planned| {
            let place = self.place(planned);
            let state = match nothing_to_verify(&place) {
                Some(state) => state,
                None => match bundle::read_run(&place) {
                    Ok((verified, run)) => self.judge(planned, &verified, &run),
                    Err(error) => refused(error, &place)?,
                },
            };
            Ok(CaptureStatus { capture_step: planned.capture_step, bundle: planned.bundle.clone(), state })
        });
        let captures = captures.collect::<Result<Vec<_>>>()?;
        let of = |name: &str| captures.iter().filter(|c| c.state.name() == name).count();
        let (published, missing) = (of("published"), of("missing"));
        Ok(CampaignStatus {
            schema: SCHEMA,
            tool: TOOL,
            campaign_id: self.manifest.campaign_id.clone(),
            entrypoint: self.manifest.entrypoint.clone(),
            planned: captures.len(),
            published,
            missing,
            failed: captures.len() - published - missing,
            captures,
        })
    }
}

/// The state of a place that holds no bundle; none where one is to be verified.
pub fn nothing_to_verify(place: &Path) -> Option<State> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let failed = |reason: &str| Some(State::VerificationFailed { reason: reason.to_owned() });
    let Err(error) = std::fs::symlink_metadata(place) else {
        return match std::fs::metadata(place) {
            Err(e) if e.kind() == NotFound => failed("is a symbolic link to nothing"),
            Err(e) => failed(&format!("cannot be read ({e})")),
            Ok(m) if !m.is_dir() => failed("is no directory, and a bundle is one"),
            Ok(_) if bundle::is_bundle(place) => None,
            Ok(_) if place.join(trace_layout::RUN).is_file() => {
                failed("is a trace directory and no bundle; `candle-graph report` publishes it as one")
            }
            Ok(_) => failed(&format!("is a directory without {}, so it is no bundle", layout::MANIFEST)),
        };
    };
    match error.kind() {
        NotFound | NotADirectory => Some(State::Missing { reason: "nothing is there".to_owned() }),
        _ => failed(&format!("cannot be read ({error})")),
    }
}

/// The state of a bundle that cannot be read.
///
/// # Errors
/// The error itself where it is not about the bundle.
pub fn refused(error: Error, place: &Path) -> Result<State> {
    let reason = match &error {
        Error::Io { action, path, source } => (path.strip_prefix(place), format!("cannot {action}: {source}")),
        Error::Input { path, problem } => (path.strip_prefix(place), problem.clone()),
        Error::Table { path, table, problem } => (path.strip_prefix(place), format!("table {table}: {problem}")),
        _ => return Ok(State::VerificationFailed { reason: bounded(&error.to_string()) }),
    };
    // Told from inside the bundle, so that a status does not depend on where the campaign lies.
    match reason {
        (Ok(inside), problem) if inside.as_os_str().is_empty() => {
            Ok(State::VerificationFailed { reason: bounded(&problem) })
        }
        (Ok(inside), problem) => {
            Ok(State::VerificationFailed { reason: bounded(&format!("{}: {problem}", inside.display())) })
        }
        (Err(_), _) => Err(error),
    }
}

fn bounded(text: &str) -> String {
    one_line(&shorten_to(text, REASON))
}

/// Reads the bytes of a manifest.
fn parse(bytes: &[u8]) -> std::result::Result<Manifest, String> {
    #[derive(Deserialize)]
    struct Version {
        schema: String,
    }
    let no_manifest = |e: serde_json::Error| format!("is no campaign manifest ({e})");
    let Version { schema } = serde_json::from_slice(bytes).map_err(no_manifest)?;
    if schema != MANIFEST_SCHEMA {
        return Err(format!("has schema {:?}; this version reads {MANIFEST_SCHEMA:?}", shorten(&schema)));
    }
    let manifest: Manifest = serde_json::from_slice(bytes).map_err(no_manifest)?;
    for (field, text) in [("campaign_id", &manifest.campaign_id), ("entrypoint", &manifest.entrypoint)] {
        if let Some(problem) = text_problem(text) {
            return Err(format!("{field} {problem}"));
        }
    }
    if manifest.planned.is_empty() {
        return Err("planned is empty; list at least one capture".to_owned());
    }
    let (mut steps, mut paths) = (BTreeMap::new(), BTreeMap::new());
    for (index, planned) in manifest.planned.iter().enumerate() {
        let Planned { capture_step, bundle } = planned;
        if *capture_step < 1 {
            return Err(format!("planned[{index}].capture_step is {capture_step}; steps are counted from 1"));
        }
        if let Some(problem) = path_problem(bundle) {
            return Err(format!("planned[{index}].bundle {:?} {problem}", shorten(bundle)));
        }
        if let Some(first) = steps.insert(*capture_step, index) {
            return Err(format!(
                "planned[{first}] and planned[{index}] are both of capture_step {capture_step}; plan each step once"
            ));
        }
        if let Some(first) = paths.insert(bundle.as_str(), index) {
            return Err(format!(
                "planned[{first}] and planned[{index}] have the same bundle {:?}; give each capture its own",
                shorten(bundle)
            ));
        }
    }
    Ok(manifest)
}

fn text_problem(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("is empty");
    }
    text.chars().any(char::is_control).then_some("has a control character")
}

/// What is wrong with the path of a bundle. Each has one spelling, so that none can be planned twice.
fn path_problem(path: &str) -> Option<&'static str> {
    if let Some(problem) = text_problem(path) {
        return Some(problem);
    }
    if path.contains('\\') {
        return Some("has a backslash; write `/` between names");
    }
    if matches!(Path::new(path).components().next(), Some(Component::RootDir | Component::Prefix(_))) {
        return Some("is absolute; give a path below the manifest's folder");
    }
    let mut names = path.split('/');
    if names.clone().any(|name| name == "..") {
        return Some("leaves the manifest's folder with `..`; give a path below it");
    }
    names.any(|name| name.is_empty() || name == ".").then_some("has an empty name or `.` in it; write a/b")
}

/// The status for a person: a line for each capture, columns aligned.
pub fn text(status: &CampaignStatus) -> String {
    let show = |text: &str| printable(&shorten(text));
    let mut rows = vec![["step", "state", "bundle", ""].map(str::to_owned)];
    for capture in &status.captures {
        let last = match &capture.state {
            State::Published { run_id, .. } => format!("run {}", show(run_id)),
            other => printable(other.reason().unwrap_or_default()),
        };
        rows.push([count(capture.capture_step as u64), capture.state.name().to_owned(), show(&capture.bundle), last]);
    }
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let (step, state, bundle) = (width(0), width(1), width(2).min(48));
    let mut out = format!(
        "{}  {}\n{} planned: {} published, {} missing, {} failed\n\n",
        show(&status.campaign_id),
        show(&status.entrypoint),
        count(status.planned as u64),
        count(status.published as u64),
        count(status.missing as u64),
        count(status.failed as u64),
    );
    for [number, name, path, last] in &rows {
        let line = format!("  {number:>step$}  {name:<state$}  {path:<bundle$}  {last}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_path_has_one_safe_spelling() {
        for path in ["step-1", "runs/step 1", "é", "a/b/c", "..a", "a..", "C:a"] {
            assert_eq!(path_problem(path), None, "{path:?}");
        }
        for path in ["", " ", "/a", "..", "../a", "a/..", "a/../b", "a\\b", ".", "./a", "a//b", "a/", "a\nb", "a\0"] {
            assert!(path_problem(path).is_some(), "{path:?}");
        }
    }
}
