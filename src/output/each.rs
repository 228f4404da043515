//! Several things done side by side.
//! In: items, how many threads. Out: what was made of each, or the first failure. Left to neighbours: what is done.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;

/// What `of` makes of each, in their order, with so many threads. Or the first failure, in their order too: all before
/// it were begun before it.
pub(super) fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    of: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let one = of(item);
                    failed.fetch_or(one.is_err(), Ordering::Relaxed);
                    done.lock().unwrap_or_else(|e| e.into_inner()).push((at, one));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}
