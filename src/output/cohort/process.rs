//! One run: a fresh process of the shell, its output in a log of its own.
//! In: a command, what its process is told, a log. Out: how it ended, and the end of its log. Left to neighbours:
//! what it had to leave behind (`state`), which run comes next (the module above).

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::plan::Slot;
use crate::error::{Error, Result};
use crate::text::{printable, shorten_to};

/// Lines of a log that a failure shows.
pub(super) const SHOWN: usize = 20;
/// The end of a log that they are looked for in.
const TAIL: u64 = 64 << 10;
/// Bytes of a line.
const LINE: usize = 512;

/// What a process is told of its run; `CohortRun::from_env` reads it.
pub(super) struct Orders<'a> {
    pub slot: &'a Slot,
    pub command: &'a str,
    pub bundle: &'a Path,
    pub log: &'a Path,
    pub paired: bool,
}

/// Runs the command to its end.
///
/// # Errors
/// A process of an earlier start that still writes the log; no shell; the file system's failures.
pub(super) fn run(orders: &Orders<'_>) -> Result<ExitStatus> {
    let Orders { slot, command, bundle, log, paired } = orders;
    let (output, errors) = open_log(log)?;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(output).stderr(errors);
    shell.env("CANDLE_GRAPH_BUNDLE", bundle).env("CANDLE_GRAPH_COHORT", slot.cohort.as_str());
    match paired {
        true => shell.env("CANDLE_GRAPH_PAIR_ID", slot.pair_id()),
        false => shell.env_remove("CANDLE_GRAPH_PAIR_ID"),
    };
    // Until it ends this process sleeps: nothing here wakes while a run is being measured.
    let status = shell.status().map_err(Error::io("start the shell", "sh"))?;
    drop(shell);
    Ok(status)
}

/// An empty log, twice for both outputs of a process. It is locked through them: as long as a process has either open,
/// a later start knows that the run still goes on, although its driver is gone.
fn open_log(path: &Path) -> Result<(File, File)> {
    let open = File::options().create(true).truncate(false).write(true).open(path);
    let file = open.map_err(Error::io("open", path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let problem = "is still written by a process of an earlier start; wait until it ends, or end it";
            return Err(Error::input(path, problem));
        }
        // Without locks in the file system nobody can be seen.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    file.set_len(0).map_err(Error::io("empty", path))?;
    let twin = file.try_clone().map_err(Error::io("open", path))?;
    Ok((file, twin))
}

/// How a process ended that did not end well.
pub(super) fn ending(status: ExitStatus) -> Option<String> {
    if status.success() {
        return None;
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Some(format!("was ended by signal {signal}"));
    }
    Some(status.code().map_or("ended badly".to_owned(), |code| format!("ended with exit code {code}")))
}

/// The last lines of a log, tame for a terminal; none where it cannot be read.
pub(super) fn tail(log: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    let Ok(mut file) = File::open(log) else { return Vec::new() };
    let size = file.metadata().map_or(0, |m| m.len());
    let from = size.saturating_sub(TAIL);
    if file.seek(SeekFrom::Start(from)).and_then(|_| file.take(TAIL).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<&str> = text.lines().collect();
    if from > 0 && lines.len() > 1 {
        // Cut somewhere within.
        lines.remove(0);
    }
    let shown = lines.len().saturating_sub(SHOWN);
    lines[shown..].iter().map(|line| printable(&shorten_to(line, LINE))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_short_and_tame() {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        assert_eq!(tail(&log), Vec::<String>::new());
        let lines: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&log, format!("{}{lines}\x1b[2Jred\n{}", "x".repeat(200_000), "y".repeat(5000))).expect("a log");
        let found = tail(&log);
        assert_eq!(found.len(), SHOWN);
        assert_eq!((found[0].as_str(), found[17].as_str()), ("line 4983", "line 5000"));
        assert_eq!(found[18], "\\u{1b}[2Jred");
        assert!(found[19].len() < 600 && found[19].contains("5000 bytes"), "{}", found[19]);
    }
}
