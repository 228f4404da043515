//! A disk that fills up: the first cause is reported with its path, the program lives, what was flushed stays readable.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use candle_graph_record::{OpRecord, Outcome, TraceSession};

use crate::world::{Table, Trace, dir, names, op, refusal, run};

/// Records until the recorder refuses, and checks everything that is promised then.
fn record_until_full(path: &Path) {
    let session = TraceSession::open(path, run()).unwrap();
    let root = session.root();
    // Flushed while there is room.
    session.record_op(root, op()).unwrap();
    session.flush().unwrap();
    let mut accepted = 0u64;
    let refused = loop {
        // Text that does not compress: the disk is full after some ten thousand ops.
        let output = format!("{:016x}", accepted.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        match session.record_op(root, OpRecord { output: Some(&output), duration_ns: accepted, ..op() }) {
            Ok(()) => accepted += 1,
            Err(error) => break error.to_string(),
        }
        assert!(accepted < 20_000_000, "20 million ops fit");
    };
    assert!(refused.contains("parts"), "no path in: {refused}");
    assert_eq!(refusal(session.flush()), refused);
    assert_eq!(refusal(session.finish()), refused, "finish reports the first cause");
    assert_eq!(Trace::read(path).run.outcome, Outcome::Interrupted);
    let parts = path.join("parts");
    let mut ops: Vec<i64> = Vec::new();
    for name in names(&parts) {
        let whole = name.ends_with(".parquet") || name == "last_cut";
        assert!(whole, "a failed write leaves nothing behind, but there is {name}");
    }
    for name in crate::world::parts(path) {
        let rows = Table::read(&parts.join(&name));
        if name.ends_with("-ops.parquet") {
            ops.extend(rows.all_ints("duration_ns"));
        }
    }
    // The first op, then a whole prefix of the rest.
    assert_eq!(ops.remove(0), 5);
    assert_eq!(ops, (0..ops.len() as i64).collect::<Vec<_>>());
    assert!((ops.len() as u64) < accepted);
}

/// A mounted file system of 1 MiB, unmounted when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None` where mounting is not allowed.
    fn mount(at: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|o| o.status.success()).then(|| Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[test]
fn a_full_disk_is_reported_and_leaves_what_was_flushed() {
    let dir = dir();
    let Some(disk) = SmallDisk::mount(dir.path()) else {
        eprintln!("not allowed to mount a small disk; a_file_size_limit_... checks the same");
        return;
    };
    record_until_full(&disk.0.join("trace"));
}

const DIR: &str = "CANDLE_GRAPH_TEST_LIMIT_DIR";

/// The child: it does nothing unless a parent has named a directory. The limit is the whole process's.
#[test]
#[ignore = "started by `a_file_size_limit_is_reported_and_leaves_what_was_flushed` in a process of its own"]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let limit = libc::rlimit { rlim_cur: 64 * 1024, rlim_max: 64 * 1024 };
    // SAFETY: a valid rlimit is read, and a signal is set to be ignored, so that a write gets EFBIG instead.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    record_until_full(&Path::new(&dir).join("trace"));
}

#[test]
fn a_file_size_limit_is_reported_and_leaves_what_was_flushed() {
    let dir = dir();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::child", "--ignored"])
        .env(DIR, dir.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    // It was not skipped.
    assert_eq!(Trace::read(dir.path().join("trace")).run.outcome, Outcome::Interrupted);
}
