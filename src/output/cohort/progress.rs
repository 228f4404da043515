//! What whoever waits for many runs is told: which run it is, and how long it will take.
//! In: the plan's runs as they begin and end. Out: one line on standard error that is rewritten, or a line for each run
//! where no terminal reads it. Left to neighbours: running (the module above), results (documents).
//!
//! Lines are written between runs only, and no thread wakes to update them: a clock that ticks would be measured too.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use candle_graph_record::Cohort;

use super::plan::Slot;
use super::state::Finished;
use crate::text::{duration, printable};

/// The teller.
pub struct Progress {
    terminal: bool,
    began: Instant,
    /// Runs that are planned.
    total: usize,
    /// Time and number of the runs of each cohort that were run just now.
    spent: [(Duration, u32); 2],
    /// Wall time of the last run's measured region.
    last_ns: Option<i64>,
}

impl Progress {
    pub(super) fn new(total: usize) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { terminal, began: Instant::now(), total, spent: Default::default(), last_ns: None }
    }

    /// A run begins; `left` are those that are still to be run, it among them.
    pub(super) fn started(&self, slot: &Slot, left: &[Slot]) {
        if self.terminal {
            write(&format!("\r\x1b[2K{}", self.line(slot, left, self.began.elapsed())));
        }
    }

    fn line(&self, slot: &Slot, left: &[Slot], elapsed: Duration) -> String {
        let mut line =
            format!("run {} of {}  {}  {:.0} s so far", slot.position, self.total, slot.name(), elapsed.as_secs_f64());
        if let Some(left) = self.expected(left) {
            line.push_str(&format!(", about {:.0} s left", left.as_secs_f64().ceil()));
        }
        if let Some(ns) = self.last_ns {
            line.push_str(&format!("; the last run's region took {}", duration(ns as f64)));
        }
        line
    }

    /// How long runs will take: what those of their cohort took, or of the other while there is none.
    fn expected(&self, left: &[Slot]) -> Option<Duration> {
        let mean = |(time, runs): (Duration, u32)| (runs > 0).then(|| time / runs);
        let [baseline, candidate] = self.spent.map(mean);
        let each = |slot: &Slot| match slot.cohort {
            Cohort::Baseline => baseline.or(candidate),
            Cohort::Candidate => candidate.or(baseline),
        };
        left.iter().map(each).sum()
    }

    /// A run ended well.
    pub(super) fn finished(&mut self, slot: &Slot, took: Duration, run: &Finished) {
        let (time, runs) = &mut self.spent[usize::from(slot.cohort == Cohort::Candidate)];
        *time += took;
        *runs += 1;
        self.last_ns = Some(run.region_ns);
        if !self.terminal {
            let region = duration(run.region_ns as f64);
            write(&format!("run {} of {}  {}  {region}\n", slot.position, self.total, slot.name()));
        }
    }

    /// A run did not end well: the end of its log.
    pub(super) fn failed(&self, log: &Path, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let title = printable(&format!("the end of {}:", log.display()));
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        write(&format!("{}{title}\n{lines}", if self.terminal { "\r\x1b[2K" } else { "" }));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            write("\r\x1b[2K");
        }
    }
}

fn write(text: &str) {
    // Who closed standard error wants none of it.
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_where_it_is_and_how_long_it_takes() {
        let slot = |position, cohort, number| Slot { position, cohort, number };
        let left = [slot(3, Cohort::Candidate, 2), slot(4, Cohort::Baseline, 2), slot(5, Cohort::Candidate, 3)];
        let mut progress = Progress { terminal: true, ..Progress::new(10) };
        let line = |p: &Progress| p.line(&left[0], &left, Duration::from_secs(9));
        assert_eq!(line(&progress), "run 3 of 10  candidate/002  9 s so far");
        let run = Finished { run_id: "r".to_owned(), region_ns: 21_300_000, started_at_us: 0 };
        progress.finished(&slot(1, Cohort::Baseline, 1), Duration::from_secs(2), &run);
        // Three more as long as the one that is known.
        assert_eq!(
            line(&progress),
            "run 3 of 10  candidate/002  9 s so far, about 6 s left; the last run's region took 21.300 ms"
        );
        progress.finished(&slot(2, Cohort::Candidate, 1), Duration::from_secs(5), &run);
        assert!(line(&progress).contains("about 12 s left"), "{}", line(&progress));
        progress.terminal = false;
    }
}
