//! `candle-graph/nsight-capture/1`, written: which files belong to which run, so that nobody copies a hash by hand.
//! In: a trace, a directory of its Nsight reports, what its maker knows. Out: capture-manifest.json beside them.
//! Left to neighbours: reading one (`load::nsight`), judging it (`evidence`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::AsArray;
use candle_graph_record::jsonl::utc_text;

use super::write;
use crate::error::{Error, Result};
use crate::evidence::{BindingState, binding};
use crate::load::nsight::{
    self, Artifact, CAPTURE_SCHEMA, CaptureManifest, Correlation, Hardware, MANIFEST, ReportState, Run, State, Tool,
};
use crate::load::{Trace, bundle};
use crate::session::{Limits, Session};

/// What the maker of a capture knows and no file says.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    pub tool_version: Option<String>,
    /// The command lines that made the files.
    pub commands: Vec<String>,
    /// Revision of each source beside the program's own, by its name.
    pub source_revisions: BTreeMap<String, String>,
    /// Whether a manifest that is there already is replaced.
    pub replace: bool,
}

/// What was written.
pub struct Written {
    pub path: PathBuf,
    pub manifest: CaptureManifest,
    /// Reports that were supplied and cannot be read.
    pub failed: Vec<ReportState>,
    /// Why the reports would not be bound to the trace even so.
    pub unbound: Vec<String>,
}

/// Writes the manifest of the capture in `dir`, which belongs to `trace`.
///
/// # Errors
/// A directory that holds anything but regular files, or a manifest already; two files of one report; the file system's
/// failures. The directory is then as it was.
pub fn write_manifest(mut trace: Trace, dir: &Path, stated: &Stated) -> Result<Written> {
    let path = dir.join(MANIFEST);
    if let Some(bundle) = bundle::around(dir) {
        let problem = format!("lies in the bundle {}; a bundle never changes", bundle.display());
        return Err(Error::input(dir, problem));
    }
    let exists = std::fs::symlink_metadata(&path).is_ok();
    if exists && !stated.replace {
        return Err(Error::input(path, "exists already; --replace writes it anew"));
    }
    if trace.nsight.is_some() {
        return Err(Error::input(
            &trace.requested,
            "is a bundle with Nsight reports of its own; give the trace it was made of",
        ));
    }
    nsight::attach(&mut trace, dir)?;
    let Some(supplied) = trace.nsight.take() else { return Err(Error::input(dir, "holds no Nsight report")) };
    let run = &trace.run;
    let source_revisions = run.host.git_revision.iter().map(|revision| ("program".to_owned(), revision.clone()));
    let manifest = CaptureManifest {
        schema: CAPTURE_SCHEMA.to_owned(),
        run: Run { id: run.run_id.clone(), started_at: Some(utc_text(run.started_at_us)) },
        correlation: Correlation { id: run.correlation_id.clone() },
        tool: Tool { name: "nsys".to_owned(), version: stated.tool_version.clone() },
        commands: stated.commands.clone(),
        hardware: Hardware { host: run.host.host_name.clone(), devices: devices(&trace)? },
        source_revisions: source_revisions.chain(stated.source_revisions.clone()).collect(),
        required_semantic_labels: run.contract.required_semantic_labels.clone(),
        gpu_expected_semantic_labels: run.contract.gpu_expected_semantic_labels.clone(),
        cpu_only_semantic_labels: run.contract.cpu_only_semantic_labels.clone(),
        artifacts: supplied
            .files
            .iter()
            .filter(|f| f.path != MANIFEST)
            .map(|f| Artifact { path: f.path.clone(), size_bytes: f.bytes, sha256: f.sha256.clone() })
            .collect(),
    };
    if manifest.artifacts.is_empty() {
        return Err(Error::input(dir, "holds no Nsight report"));
    }
    let failed = supplied.reports.iter().filter(|r| r.state == State::Failed).cloned().collect();
    // By the rules of whoever reads it.
    trace.nsight = Some(nsight::Supplied { manifest: Some(Ok(manifest.clone())), ..supplied });
    let judged = binding(&trace);
    let unbound = judged.filter(|b| b.state != BindingState::Bound).map(|b| b.reasons).unwrap_or_default();
    write::json(Some(&path), &manifest)?;
    Ok(Written { path, manifest, failed, unbound })
}

/// The devices that the timeline names.
fn devices(trace: &Trace) -> Result<Vec<String>> {
    if trace.count("gpu_trace") == 0 {
        return Ok(Vec::new());
    }
    let session = Session::open(std::slice::from_ref(trace), Limits::default())?;
    let rows = session
        .collect(session.sql("SELECT DISTINCT device FROM gpu_trace WHERE device IS NOT NULL ORDER BY device")?)?;
    Ok(rows.iter().flat_map(|b| b.column(0).as_string::<i32>().iter().flatten().map(str::to_owned)).collect())
}
