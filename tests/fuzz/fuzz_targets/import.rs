//! Any bytes as any report, as a file of no report, as the manifest of a capture.
//! In: bytes, the first of which says which file they are. Out: a panic where a law is broken.

#![no_main]

use std::sync::LazyLock;

use candle_graph_fuzz::laws;
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| laws::import(FOLDER.path(), bytes));
