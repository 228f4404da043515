//! `candle-graph/verify/1`: whether a bundle is unchanged, who signed it, and whether its derived files follow from it.
//! In: a bundle. Out: a receipt, or the first thing that is wrong. Left to neighbours: hashing (`load::bundle`).

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::Verification;
use super::derived;
use super::sign::{self, SignatureOut};
use crate::error::{Error, Result};
use crate::load::bundle::{self, layout};
use crate::load::{self, Options};
use crate::output::documents::{TOOL, Tool};
use crate::output::redact::RedactionRecord;

/// The document's schema.
pub const VERIFY_SCHEMA: &str = "candle-graph/verify/1";

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyDocument {
    pub schema: &'static str,
    pub tool: Tool,
    pub receipt: Verification,
    pub signature: SignatureOut,
    pub semantic: Semantic,
}

/// Whether derived files follow from the rest.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Semantic {
    /// `rederived_match`: each was derived again and is the same; `not_requested`.
    pub status: &'static str,
    /// How many were derived again.
    pub files: u64,
}

/// What to check beyond the hashes.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions<'a> {
    /// Derive every derived file again.
    pub semantic: bool,
    /// A public key that must have signed.
    pub required_key: Option<&'a Path>,
}

/// Verifies the bundle at `dir`.
///
/// # Errors
/// The first path that is not what the manifest says, a missing or foreign signature, the first derived file that does
/// not follow.
pub fn verify(dir: &Path, options: &VerifyOptions<'_>) -> Result<VerifyDocument> {
    if !bundle::is_bundle(dir) {
        return Err(match std::fs::metadata(dir) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Error::input(dir, "does not exist"),
            Ok(m) if m.is_file() && dir.file_name().is_some_and(|n| n == layout::MANIFEST) => {
                Error::input(dir, "is the manifest of a bundle; give the directory it is in")
            }
            Ok(m) if m.is_file() => Error::input(dir, "is a file; a bundle is a directory"),
            _ if dir.join(candle_graph_record::parquet_sink::layout::RUN).is_file() => {
                Error::input(dir, "is a trace and no bundle; `candle-graph report` publishes it as one")
            }
            _ => Error::input(dir, format!("is no bundle: it has no {}", layout::MANIFEST)),
        });
    }
    let (verified, semantic) = if options.semantic {
        let trace = load::open(dir, Options { reports: true, ..Options::default() })?;
        let Some(verified) = trace.bundle.clone() else { return Err(Error::input(dir, "is no bundle")) };
        (verified, Semantic { status: "rederived_match", files: rederive(dir, trace)? })
    } else {
        (bundle::inspect(dir)?.0, Semantic { status: "not_requested", files: 0 })
    };
    let signature = sign::check(dir, &verified, options.required_key)?;
    Ok(VerifyDocument { schema: VERIFY_SCHEMA, tool: TOOL, receipt: Verification::of(&verified), signature, semantic })
}

/// Derives every derived file again and compares; gives their number.
fn rederive(dir: &Path, trace: load::Trace) -> Result<u64> {
    let Some(verified) = trace.bundle.clone() else { return Ok(0) };
    let redaction = match verified.manifest.entry(layout::REDACTION) {
        None => None,
        Some(_) => Some(read_redaction(&trace.kept(layout::REDACTION)?, &dir.join(layout::REDACTION))?),
    };
    if redaction.as_ref().is_some_and(|record| !record.is_of(&trace.run)) {
        let problem =
            "says that rules were applied which this version's are not, or which the run record does not obey";
        return Err(Error::input(dir.join(layout::REDACTION), problem));
    }
    let scratch = crate::load::scratch_dir()?;
    let folder = scratch.path().join(layout::TABLES);
    std::fs::create_dir(&folder).map_err(Error::io("create directory", &folder))?;
    let supplied = trace.kept_nsight();
    if !supplied.is_empty() {
        crate::load::nsight::import(&supplied, &trace.run.run_id, &folder).map_err(|e| trace.of_input(e))?;
    }
    // Whether there is one says the program that published: it need not have had a viewer.
    let viewer = verified.manifest.entry(layout::VIEWER).is_some();
    if viewer && !cfg!(feature = "visualizer") {
        let problem = "cannot be derived again: this build has no viewer, its feature visualizer is off";
        return Err(Error::input(dir.join(layout::VIEWER), problem));
    }
    derived::write(&derived::examine(trace)?, redaction.as_ref(), viewer, scratch.path())?;

    let again = bundle::hash_all(scratch.path(), &super::publish::file_paths(scratch.path())?)?;
    let source = |path: &str| {
        [layout::RUN, layout::REDACTION].contains(&path)
            || bundle::nsight_name(path).is_some()
            || crate::tables::events().iter().any(|t| bundle::table_path(t.name) == path)
    };
    let by = |path: &str| {
        let version = written_by(dir).filter(|v| *v != TOOL.version);
        let hint = version.map_or(String::new(), |v| {
            format!(": the bundle was published by version {v}, and this is {}; verify it with that one", TOOL.version)
        });
        Error::input(dir.join(path), format!("does not follow from the recorded tables{hint}"))
    };
    for entry in verified.manifest.files.iter().filter(|f| !source(&f.path)) {
        if !again.iter().any(|a| a == entry) {
            return Err(by(&entry.path));
        }
    }
    if let Some(absent) = again.iter().find(|a| verified.manifest.entry(&a.path).is_none()) {
        return Err(Error::input(dir.join(&absent.path), "is missing, and follows from the recorded tables"));
    }
    Ok(again.len() as u64)
}

/// The record of what was taken out, from the copy that was verified.
pub(super) fn read_redaction(copy: &Path, path: &Path) -> Result<RedactionRecord> {
    let bytes = bundle::read_small(copy, 4 << 20)?;
    let record: RedactionRecord =
        serde_json::from_slice(&bytes).map_err(|e| Error::input(path, format!("is no record of a redaction ({e})")))?;
    if derived::json_bytes(&record) != bytes {
        return Err(Error::input(path, "was changed: its bytes are not those that the same record always has"));
    }
    Ok(record)
}

/// The version of the tool that derived the files, as evidence.json says.
fn written_by(dir: &Path) -> Option<String> {
    let bytes = bundle::read_small(&dir.join(layout::EVIDENCE), 4 << 20).ok()?;
    let document: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    Some(crate::text::shorten(document["tool"]["version"].as_str()?))
}
