//! Bundles: published once and whole, verified by anybody.
//! In: a trace, where to publish it, what to sign or take out. Out: a bundle and its receipt, or nothing. Left to
//! neighbours: reading one (`load::bundle`), the page for people (`report`), what is private (`redact`).

mod capture;
mod derived;
mod publish;
mod semantic;
mod sign;
mod stage;

use schemars::JsonSchema;
use serde::Serialize;

pub use capture::{CaptureBegin, CaptureRun};
#[cfg(feature = "visualizer")]
pub(crate) use derived::examine;
pub use derived::{EVIDENCE_SCHEMA, evidence_schema};
pub use publish::{Publication, publish};
pub use semantic::{VERIFY_SCHEMA, VerifyDocument, VerifyOptions, verify};
pub use sign::{SignatureOut, SigningKey};
pub(super) use stage::discard;

use super::documents::{TOOL, Tool};
use crate::load::bundle::{Verified, layout};

/// The receipt's schema.
pub const PUBLICATION_SCHEMA: &str = "candle-graph/publication/1";
/// The schema of what a verification found.
pub const VERIFICATION_SCHEMA: &str = "candle-graph/bundle-verification/1";

/// What publishing a trace gave.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PublicationReceipt {
    pub schema: &'static str,
    pub tool: Tool,
    /// `published`, or `already_published`: the same bundle was there.
    pub status: &'static str,
    pub bundle_path: String,
    pub run_id: String,
    /// SHA-256 of the public key that the signature names; null for a bundle without one.
    pub signed_by: Option<String>,
    pub verification: Verification,
}

/// What verifying a bundle gave.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Verification {
    pub schema: &'static str,
    pub bundle_schema: String,
    pub run_id: String,
    /// Within the bundle.
    pub manifest_path: &'static str,
    /// The bundle's identity.
    pub manifest_sha256: String,
    /// Files that the manifest lists.
    pub files_verified: u64,
    /// Bytes that they have.
    pub bytes_verified: u64,
}

impl Verification {
    /// Of a bundle that was verified.
    pub fn of(bundle: &Verified) -> Self {
        Self {
            schema: VERIFICATION_SCHEMA,
            bundle_schema: bundle.manifest.schema.clone(),
            run_id: bundle.manifest.run_id.clone(),
            manifest_path: layout::MANIFEST,
            manifest_sha256: bundle.identity.clone(),
            files_verified: bundle.files(),
            bytes_verified: bundle.bytes(),
        }
    }
}

impl PublicationReceipt {
    fn new(status: &'static str, path: &std::path::Path, bundle: &Verified) -> Self {
        Self {
            schema: PUBLICATION_SCHEMA,
            tool: TOOL,
            status,
            bundle_path: path.display().to_string(),
            run_id: bundle.manifest.run_id.clone(),
            signed_by: bundle.signature.as_ref().map(|s| s.keyid.clone()),
            verification: Verification::of(bundle),
        }
    }
}
