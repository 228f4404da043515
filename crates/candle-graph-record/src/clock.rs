//! The clocks and counters of the process.
//! In: the operating system. Out: thread CPU time and resident memory, `None` where the platform has none.
//! Left to neighbours: wall time (`std::time::Instant`, one per session).

/// CPU time of the calling thread in nanoseconds.
#[cfg(unix)]
pub fn thread_cpu_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill, and the clock id is a constant of this platform.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (rc == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// CPU time of the calling thread in nanoseconds.
#[cfg(not(unix))]
pub fn thread_cpu_ns() -> Option<u64> {
    None
}

/// How old a reading of the thread's CPU clock may be to be continued with wall time. The clock is a system call (150 to
/// 300 ns, more than the rest of a span); a thread that recorded less than this ago has run since, but for at most this.
const FRESH_NS: i64 = 5_000;

/// The CPU clock of one thread, read at most every 5 microseconds, and never running backwards.
#[derive(Default)]
pub(crate) struct CpuClock {
    /// The last reading: session clock and CPU time.
    read: Option<(i64, u64)>,
    last: u64,
}

impl CpuClock {
    /// CPU time of the calling thread at `now_ns` of the session's clock, exact to `FRESH_NS`.
    #[inline]
    pub(crate) fn at(&mut self, now_ns: i64) -> Option<u64> {
        let cpu_ns = match self.read {
            Some((wall_ns, cpu_ns)) if now_ns - wall_ns < FRESH_NS => cpu_ns + (now_ns - wall_ns).max(0) as u64,
            _ => {
                let cpu_ns = thread_cpu_ns()?;
                self.read = Some((now_ns, cpu_ns));
                cpu_ns
            }
        };
        self.last = self.last.max(cpu_ns);
        Some(self.last)
    }
}

/// Physical memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident set.
    pub resident_bytes: u64,
    /// Address space.
    pub virtual_bytes: u64,
}

/// Reads /proc/self/statm: a few microseconds, where /proc/self/status costs 42 and smaps a millisecond.
pub fn process_memory() -> Option<ProcessMemory> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().map(|n| n.parse::<u64>().ok());
    let (size, resident) = (pages.next()??, pages.next()??);
    let page = page_bytes()?;
    Some(ProcessMemory { resident_bytes: resident * page, virtual_bytes: size * page })
}

#[cfg(unix)]
fn page_bytes() -> Option<u64> {
    // SAFETY: sysconf with a constant name reads no memory of ours.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
}

#[cfg(not(unix))]
fn page_bytes() -> Option<u64> {
    None
}
