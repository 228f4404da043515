//! `candle-graph/nsight-capture/1`: what a capture's maker says belongs together.
//! In: the bytes of capture-manifest.json. Out: the manifest, or why it is none. Left to neighbours: whether it is true.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::shorten;

/// The document's schema.
pub const CAPTURE_SCHEMA: &str = "candle-graph/nsight-capture/1";

/// A capture manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CaptureManifest {
    pub schema: String,
    pub run: Run,
    pub correlation: Correlation,
    #[serde(default)]
    pub tool: Tool,
    /// Command lines that made the files.
    #[serde(default)]
    pub commands: Vec<String>,
    #[serde(default)]
    pub hardware: Hardware,
    /// Revision of each source, by its name.
    #[serde(default)]
    pub source_revisions: BTreeMap<String, String>,
    /// As in the contract of the trace.
    #[serde(default)]
    pub required_semantic_labels: Vec<String>,
    #[serde(default)]
    pub gpu_expected_semantic_labels: Vec<String>,
    #[serde(default)]
    pub cpu_only_semantic_labels: Vec<String>,
    /// Every file of the capture but the manifest.
    pub artifacts: Vec<Artifact>,
}

/// The run that was captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Run {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
}

/// What several captures of one step share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Correlation {
    pub id: String,
}

/// The profiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tool {
    pub name: String,
    /// Absent: nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Where it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hardware {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default)]
    pub devices: Vec<String>,
}

/// One file of the capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Artifact {
    /// Its name: a capture is flat.
    pub path: String,
    pub size_bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// The manifest that `bytes` are.
///
/// # Errors
/// What is wrong with them, as one line.
pub fn parse(bytes: &[u8]) -> Result<CaptureManifest, String> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| format!("is no JSON ({e})"))?;
    match value["schema"].as_str() {
        Some(CAPTURE_SCHEMA) => {}
        Some(other) => return Err(format!("has schema {:?}; this version reads {CAPTURE_SCHEMA}", shorten(other))),
        None => return Err(format!("has no schema; a capture manifest is a {CAPTURE_SCHEMA}")),
    }
    serde_json::from_value(value).map_err(|e| format!("is no {CAPTURE_SCHEMA} ({})", shorten(&e.to_string())))
}
