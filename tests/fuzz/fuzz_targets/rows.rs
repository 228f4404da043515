//! Rows under the headers that Nsight Systems writes: bytes stand for whole cells, so that most inputs have the right form.
//! In: bytes, the first of which picks a header. Out: a panic where a law is broken.

#![no_main]

use std::sync::LazyLock;

use candle_graph_fuzz::laws;
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    if let Some(input) = laws::rows(bytes) {
        laws::import(FOLDER.path(), &input);
    }
});
