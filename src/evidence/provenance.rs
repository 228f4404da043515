//! Whether Nsight reports belong to the trace they were supplied with.
//! In: a trace and what was supplied with it. Out: bound, partial or mismatch, with every reason. Left to neighbours: the
//! rows, which a poor binding never suppresses.

use std::collections::BTreeSet;

use crate::load::Trace;
use crate::load::nsight::{self, CaptureManifest, State, Supplied};
use crate::text::shorten;

/// How well Nsight reports are bound to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingState {
    /// The capture's manifest names this run, these labels and these very files, and the raw capture is among them.
    Bound,
    /// Nothing says that they belong together, and nothing that they do not.
    Partial,
    /// Something contradicts it.
    Mismatch,
}

impl BindingState {
    /// The state's word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            BindingState::Bound => "bound",
            BindingState::Partial => "partial",
            BindingState::Mismatch => "mismatch",
        }
    }
}

/// The state and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub state: BindingState,
    /// Why it is not bound, each contradiction once; empty when it is.
    pub reasons: Vec<String>,
}

/// Semantic labels that a contract or a manifest expects on a GPU, and those that it says stay on the CPU. Where it tells
/// of neither, every required label is expected.
fn label_sets<'a>(required: &'a [String], gpu: &'a [String], cpu: &'a [String]) -> [BTreeSet<&'a str>; 3] {
    let set = |labels: &'a [String]| labels.iter().map(String::as_str).collect::<BTreeSet<_>>();
    let expected = if gpu.is_empty() && cpu.is_empty() { required } else { gpu };
    [set(required), set(expected), set(cpu)]
}

/// How the Nsight reports of a trace are bound to it; `None` where there are none.
pub fn binding(trace: &Trace) -> Option<Binding> {
    let supplied = trace.nsight.as_ref()?;
    Some(match &supplied.manifest {
        None => Binding {
            state: BindingState::Partial,
            reasons: vec![format!(
                "there is no {}, so nothing says that the reports are of this run; `candle-graph nsight-manifest` writes one \
                 beside them",
                nsight::MANIFEST
            )],
        },
        Some(Err(problem)) => {
            Binding { state: BindingState::Mismatch, reasons: vec![format!("{} {problem}", nsight::MANIFEST)] }
        }
        Some(Ok(manifest)) => {
            let reasons = contradictions(trace, supplied, manifest);
            let state = if reasons.is_empty() { BindingState::Bound } else { BindingState::Mismatch };
            Binding { state, reasons }
        }
    })
}

fn contradictions(trace: &Trace, supplied: &Supplied, manifest: &CaptureManifest) -> Vec<String> {
    let mut reasons = Vec::new();
    let run = &trace.run;
    let mut differs = |what: &str, stated: &str, found: &str| {
        if stated != found {
            reasons.push(format!("the manifest is of {what} {}, and the trace of {}", shorten(stated), shorten(found)));
        }
    };
    differs("run", &manifest.run.id, &run.run_id);
    differs("correlation id", &manifest.correlation.id, &run.correlation_id);
    let contract = &run.contract;
    let stated = label_sets(
        &manifest.required_semantic_labels,
        &manifest.gpu_expected_semantic_labels,
        &manifest.cpu_only_semantic_labels,
    );
    let wanted = label_sets(
        &contract.required_semantic_labels,
        &contract.gpu_expected_semantic_labels,
        &contract.cpu_only_semantic_labels,
    );
    let sets = ["required_semantic_labels", "gpu_expected_semantic_labels", "cpu_only_semantic_labels"];
    for (name, (stated, wanted)) in sets.iter().zip(stated.iter().zip(&wanted)) {
        if let Some(label) = stated.difference(wanted).next() {
            reasons.push(format!("{name} of the manifest has {:?}, and the trace's contract has not", shorten(label)));
        }
        if let Some(label) = wanted.difference(stated).next() {
            reasons.push(format!("{name} of the trace's contract has {:?}, and the manifest has not", shorten(label)));
        }
    }
    files(supplied, manifest, &mut reasons);
    reasons
}

/// What the manifest says of files, beside the files.
fn files(supplied: &Supplied, manifest: &CaptureManifest, reasons: &mut Vec<String>) {
    let changed = if supplied.redacted { " (a redaction has changed the files since)" } else { "" };
    let mut declared = BTreeSet::new();
    for artifact in &manifest.artifacts {
        let name = shorten(&artifact.path);
        if !declared.insert(artifact.path.as_str()) {
            reasons.push(format!("the manifest declares {name} twice"));
            continue;
        }
        match supplied.files.iter().find(|f| f.path == artifact.path) {
            None => reasons.push(format!("the manifest declares {name}, which was not supplied{changed}")),
            Some(file) if file.bytes != artifact.size_bytes => reasons.push(format!(
                "{name} has {} bytes, and the manifest says {}{changed}",
                file.bytes, artifact.size_bytes
            )),
            Some(file) if !file.sha256.eq_ignore_ascii_case(&artifact.sha256) => {
                reasons.push(format!("{name} has another SHA-256 than the manifest says{changed}"));
            }
            Some(_) => {}
        }
    }
    for report in supplied.reports.iter().filter(|r| r.state != State::Unavailable) {
        let Some(file) = &report.file else { continue };
        if !declared.contains(file.as_str()) {
            reasons.push(format!("{} is read, and the manifest does not declare it", shorten(file)));
        }
    }
    let raw: Vec<&str> = supplied.files.iter().map(|f| f.path.as_str()).filter(|name| nsight::is_raw(name)).collect();
    match raw.first() {
        None => reasons.push("the raw capture (.nsys-rep) is not among the files".to_owned()),
        Some(first) if !raw.iter().any(|name| declared.contains(name)) => {
            reasons.push(format!("the manifest does not declare the raw capture {}", shorten(first)));
        }
        Some(_) => {}
    }
}
