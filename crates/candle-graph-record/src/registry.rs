//! Which spans exist, whether each is still open, when it began and how many operations it holds: without a lock.
//! In: span ids, which the session hands out in order. Out: checks that a call makes against a span of any thread.
//! Left to neighbours: a span's name, parent and thread (`buffer`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const OPEN: u64 = 1 << 62;
const CLOSED: u64 = 1 << 63;
const COUNT: u64 = OPEN - 1;

/// Cells of the first chunk; each next chunk holds twice as many, so a cell never moves and 32 chunks are enough.
const FIRST: u64 = 1024;

#[derive(Default)]
struct Cell {
    /// `OPEN`, `CLOSED` or neither (unknown), and the number of operations recorded in the span.
    state: AtomicU64,
    start_ns: AtomicI64,
}

/// What a call found about its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Unknown,
    Closed,
    Open { start_ns: i64, op_index: i64 },
}

/// The states of all spans of a session.
#[derive(Default)]
pub(crate) struct Registry {
    chunks: [OnceLock<Box<[Cell]>>; 32],
}

/// Chunk and cell of a span. Spans opened one after the other, often by different threads, get cells on different cache
/// lines: four cells share one, so consecutive numbers are four cells apart.
fn place(id: u64) -> (usize, usize) {
    let bucket = (id + FIRST).ilog2() - FIRST.ilog2();
    let length = FIRST << bucket;
    let number = id + FIRST - length;
    let quarter = length / 4;
    (bucket as usize, (number % quarter * 4 + number / quarter) as usize)
}

impl Registry {
    fn cell(&self, id: u64) -> Option<&Cell> {
        let (chunk, index) = place(id);
        self.chunks.get(chunk)?.get()?.get(index)
    }

    pub(crate) fn open(&self, id: u64, start_ns: i64) {
        let (chunk, index) = place(id);
        let cells = self.chunks[chunk].get_or_init(|| (0..FIRST << chunk).map(|_| Cell::default()).collect());
        cells[index].start_ns.store(start_ns, Ordering::Relaxed);
        cells[index].state.store(OPEN, Ordering::Release);
    }

    /// Marks the span closed. Call it before reading the clock that ends the span: a call that saw it open has read
    /// its own time earlier, so no fact can lie after the end of its span.
    pub(crate) fn close(&self, id: u64) {
        if let Some(cell) = self.cell(id) {
            cell.state.fetch_or(CLOSED, Ordering::AcqRel);
        }
    }

    /// What is known of a span.
    #[inline]
    pub(crate) fn see(&self, id: u64) -> Seen {
        self.cell(id).map_or(Seen::Unknown, |cell| Self::read(cell, cell.state.load(Ordering::Acquire)))
    }

    /// As [`Registry::see`], and takes the next operation index of an open span.
    #[inline]
    pub(crate) fn next_op(&self, id: u64) -> Seen {
        self.cell(id).map_or(Seen::Unknown, |cell| Self::read(cell, cell.state.fetch_add(1, Ordering::AcqRel)))
    }

    fn read(cell: &Cell, state: u64) -> Seen {
        if state & CLOSED != 0 {
            Seen::Closed
        } else if state & OPEN != 0 {
            Seen::Open { start_ns: cell.start_ns.load(Ordering::Relaxed), op_index: (state & COUNT) as i64 }
        } else {
            Seen::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_span_has_a_cell_of_its_own() {
        let mut places: Vec<_> = (0..7 * FIRST).map(place).collect();
        places.sort_unstable();
        let cells = (0..3).flat_map(|chunk| (0..(FIRST << chunk) as usize).map(move |cell| (chunk, cell)));
        assert!(places.into_iter().eq(cells));
    }

    #[test]
    fn a_span_is_unknown_then_open_then_closed_in_every_chunk() {
        let registry = Registry::default();
        for id in [0, 1, FIRST - 1, FIRST, 3 * FIRST - 1, 3 * FIRST, 100_000] {
            assert_eq!(registry.see(id), Seen::Unknown);
            registry.open(id, 7);
            assert_eq!(registry.next_op(id), Seen::Open { start_ns: 7, op_index: 0 });
            assert_eq!(registry.next_op(id), Seen::Open { start_ns: 7, op_index: 1 });
            registry.close(id);
            assert_eq!(registry.see(id), Seen::Closed);
        }
        assert_eq!(registry.see(2), Seen::Unknown);
    }
}
