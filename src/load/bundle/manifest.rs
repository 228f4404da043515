//! `bundle.json`: what a bundle holds, in the only bytes that say it.
//! In: entries, or bytes. Out: bytes, or entries whose paths are safe and unique. Left to neighbours: whether the files
//! are what it says (`verify`).

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The version of bundles that this version writes and reads.
pub const BUNDLE_SCHEMA: &str = "candle-graph/bundle/2";

/// Names inside a bundle.
pub mod layout {
    /// The manifest, whose SHA-256 is the bundle's identity.
    pub const MANIFEST: &str = "bundle.json";
    /// A signature over that identity; the only file that the manifest does not list, because it signs the manifest.
    pub const SIGNATURE: &str = "signature.json";
    /// The run record.
    pub const RUN: &str = "run.json";
    /// What was taken out before publication, and by which rules.
    pub const REDACTION: &str = "redaction.json";
    /// What may be claimed, bounded.
    pub const EVIDENCE: &str = "evidence.json";
    /// The page for a person.
    pub const REPORT: &str = "report.md";
    /// The page for a browser, where the program that published had one.
    pub const VIEWER: &str = "viewer.html";
    /// Parquet files, one per table.
    pub const TABLES: &str = "tables";
    /// Nsight files as they were supplied.
    pub const NSIGHT: &str = "nsight";
}

/// Largest manifest that is read: one of 100 files has 16 KiB.
pub(super) const LARGEST: u64 = 4 << 20;

/// Largest run record that is read: the gradient manifest of a large model has 1 MB.
pub(super) const LARGEST_RUN: u64 = 16 << 20;

/// Most bytes of a file that is read whole; tables and Nsight files have no bound, because they are streamed.
pub(super) fn most(path: &str) -> Option<u64> {
    match path {
        layout::RUN => Some(LARGEST_RUN),
        layout::EVIDENCE | layout::REPORT | layout::REDACTION => Some(4 << 20),
        _ => None,
    }
}

/// The manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: String,
    pub run_id: String,
    /// In order of their paths.
    pub files: Vec<FileEntry>,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Relative, with `/` between folder and name.
    pub path: String,
    pub bytes: u64,
    /// In lower-case hexadecimal.
    pub sha256: String,
}

/// Whether a bundle may hold a file of this path: the files at its top, one folder of tables, one of Nsight files.
pub fn is_bundle_path(path: &str) -> bool {
    let plain = |name: &str| {
        !name.is_empty()
            && name.len() <= 255
            && !name.starts_with('.')
            && !name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\'))
    };
    match path.split_once('/') {
        None => [layout::RUN, layout::REDACTION, layout::EVIDENCE, layout::REPORT, layout::VIEWER].contains(&path),
        Some((layout::TABLES, name)) => {
            let table = name.strip_suffix(".parquet").unwrap_or_default();
            !table.is_empty() && table.len() <= 64 && table.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        }
        Some((layout::NSIGHT, name)) => plain(name),
        Some(_) => false,
    }
}

impl Manifest {
    /// The manifest of these files.
    pub fn new(run_id: String, mut files: Vec<FileEntry>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { schema: BUNDLE_SCHEMA.to_owned(), run_id, files }
    }

    /// Its canonical bytes: the same manifest has no others.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// The entry of a path.
    pub fn entry(&self, path: &str) -> Option<&FileEntry> {
        self.files.iter().find(|f| f.path == path)
    }

    /// Reads the bytes of a manifest.
    ///
    /// # Errors
    /// Another schema, bytes that are not canonical, a path that no bundle has or that stands twice.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let problem = |text: String| Error::input(path, text);
        #[derive(Deserialize)]
        struct Version {
            schema: String,
        }
        let no_manifest = |e: serde_json::Error| problem(format!("is no manifest of a bundle ({e})"));
        let Version { schema } = serde_json::from_slice(bytes).map_err(no_manifest)?;
        if schema != BUNDLE_SCHEMA {
            let older = if schema == "candle-graph/bundle/1" {
                "; such a bundle holds its trace as trace.jsonl: give that file, or publish it anew with `report`"
            } else {
                ""
            };
            return Err(problem(format!("has schema {schema:?}; this version reads {BUNDLE_SCHEMA}{older}")));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(no_manifest)?;
        if let Some(file) = manifest.files.iter().find(|f| !is_bundle_path(&f.path)) {
            return Err(problem(format!("lists {:?}, a path that no bundle has", crate::text::shorten(&file.path))));
        }
        if let Some(pair) = manifest.files.windows(2).find(|pair| pair[0].path >= pair[1].path) {
            let how = if pair[0].path == pair[1].path { "twice" } else { "out of order" };
            return Err(problem(format!("lists {:?} {how}", pair[1].path)));
        }
        let digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if let Some(file) = manifest.files.iter().find(|f| !digest(&f.sha256)) {
            return Err(problem(format!("states no SHA-256 for {:?}", file.path)));
        }
        if let Some(file) = manifest.files.iter().find(|f| most(&f.path).is_some_and(|most| f.bytes > most)) {
            return Err(problem(format!("states {} bytes for {}, more than it ever has", file.bytes, file.path)));
        }
        if manifest.to_bytes() != bytes {
            return Err(problem("was changed: its bytes are not those that the same manifest always has".to_owned()));
        }
        Ok(manifest)
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_a_bundle_has() {
        for path in ["run.json", "tables/ops.parquet", "nsight/my run_cuda_gpu_trace.csv", "nsight/è.csv"] {
            assert!(is_bundle_path(path), "{path}");
        }
        for path in [
            "",
            ".",
            "..",
            "/run.json",
            "bundle.json",
            "signature.json",
            "other.json",
            "tables",
            "tables/",
            "tables/../run.json",
            "tables/ops.csv",
            "tables/.parquet",
            "tables/a/b.parquet",
            "tables/A.parquet",
            "nsight/..",
            "nsight/.hidden",
            "nsight/a/b",
            "nsight/a\\b",
            "nsight/a\nb",
            "nsight/",
            "./run.json",
            "tables//ops.parquet",
            "NSIGHT/a",
            "run.json/",
        ] {
            assert!(!is_bundle_path(path), "{path}");
        }
    }

    #[test]
    fn one_manifest_has_one_form() {
        let entry = |path: &str| FileEntry { path: path.to_owned(), bytes: 3, sha256: sha256(b"abc") };
        let manifest = Manifest::new("run-1".to_owned(), vec![entry("tables/ops.parquet"), entry("run.json")]);
        let bytes = manifest.to_bytes();
        let parse = |bytes: &[u8]| Manifest::parse(bytes, Path::new("bundle.json"));
        assert_eq!(parse(&bytes).expect("its own bytes"), manifest);
        assert_eq!(manifest.files[0].path, "run.json");
        assert_eq!(
            manifest.files[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "FIPS 180-2, appendix B.1"
        );
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                assert!(parse(&other).map_or(true, |found| found != manifest), "byte {at}, bit {bit}");
            }
        }
        let twice = Manifest { files: vec![entry("run.json"), entry("run.json")], ..manifest.clone() };
        assert!(parse(&twice.to_bytes()).expect_err("a path twice").to_string().contains("twice"));
        let outside = Manifest { files: vec![entry("../run.json")], ..manifest };
        assert!(parse(&outside.to_bytes()).expect_err("a path outside").to_string().contains("no bundle has"));
    }
}
