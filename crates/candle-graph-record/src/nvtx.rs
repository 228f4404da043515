//! NVTX ranges: each span as a range of the default domain, named after it, for Nsight Systems and its kin.
//! In: spans as they open and close. Out: calls into the library that a profiler names in the environment; where no
//! profiler does, one look at a flag. Left to neighbours: the spans (`shared`), what becomes of ranges (the importer).
//!
//! Guards become push/pop ranges, because those carry the thread that attribution needs. NVTX pops only the calling
//! thread's newest range, so each thread keeps its pushed ranges in order, those of all sessions together, and a range is
//! popped when its span has closed AND it is on top: at the close of a span that closes in order, at the close of the one
//! above it otherwise. While one waits for that, new guards get start/end ranges, so that it waits no longer. A guard that
//! closes on another thread cannot be popped from there: its own thread does it when it next opens or closes a span, or
//! ends a session; the same goes for guards that are still open when their session ends.
//! Spans that belong to no thread's stack (`OwnedSpan`, the root) become start/end ranges, which any thread may end.
//!
//! The profiler's side of the protocol is the one that NVTX 3 headers compile into programs: a library exports
//! `InitializeInjectionNvtx2`, is given a way to ask for tables of slots, and writes its functions into them. No crate
//! does this for us: `nvtx` 1.3 cuts 64-bit range ids to 32 bits, panics at a NUL and allocates with nobody listening;
//! `nvtx` 2.0 needs libclang to build.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Once};

use crate::buffer::Slot;

/// See [`listening`]; settled before the first session has a span.
static LISTENING: AtomicBool = AtomicBool::new(false);

/// What a profiler has written for the calls that we make.
static RANGE_START: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static RANGE_END: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static RANGE_PUSH: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static RANGE_POP: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// What it has written for all others.
static UNUSED: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Looks for a profiler, once in a process: its library may start threads and read files, so not at a span.
pub(crate) fn attach() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| LISTENING.store(protocol::load(), Ordering::Release));
}

/// Whether a profiler takes ranges. All else here is cold: without one, this look is what a span costs.
#[inline]
pub(crate) fn listening() -> bool {
    LISTENING.load(Ordering::Relaxed)
}

/// The range of a span.
#[derive(Debug)]
pub(crate) enum Range {
    None,
    /// On the calling thread's stack.
    Pushed,
    /// Of no thread's stack: it ends when this is dropped, whichever thread does that.
    Started(u64),
}

impl Drop for Range {
    #[inline]
    fn drop(&mut self) {
        if let Self::Started(id) = *self {
            protocol::end(id);
        }
    }
}

/// A pushed range of this thread.
struct Pushed {
    slot: Arc<Slot>,
    span: u64,
    closed: bool,
}

/// The pushed ranges of one thread.
struct Stack {
    /// Oldest first.
    ranges: Vec<Pushed>,
    /// How many of them have closed.
    waiting: usize,
}

thread_local! {
    /// This thread's stack. It has no destructor that pops: the profiler's own thread-local state may be gone by then,
    /// and a thread that has ended launches nothing more.
    static PUSHED: RefCell<Stack> = const { RefCell::new(Stack { ranges: Vec::new(), waiting: 0 }) };
}

/// Opens a range of this name: on this thread's stack, or bound to no thread.
#[cold]
pub(crate) fn open(name: &str, on_stack: bool) -> Range {
    if settle() && on_stack {
        if protocol::push(name) { Range::Pushed } else { Range::None }
    } else {
        protocol::start(name).map_or(Range::None, Range::Started)
    }
}

impl Range {
    /// Notes whose range it is that this thread has just opened.
    #[cold]
    pub(crate) fn of(self, slot: &Arc<Slot>, span: u64) {
        match self {
            Self::None => {}
            Self::Pushed => {
                let pushed = Pushed { slot: Arc::clone(slot), span, closed: false };
                let _ = PUSHED.try_with(|stack| stack.borrow_mut().ranges.push(pushed));
            }
            // Where the span is gone again, with its session, this is dropped at once.
            Self::Started(_) => {
                if let Some(open) = slot.lock().open_mut(span) {
                    open.range = self;
                }
            }
        }
    }
}

/// Pops the range of a guard that has closed, or marks it for its turn.
#[cold]
pub(crate) fn closed(slot: &Arc<Slot>, span: u64) {
    if !PUSHED.try_with(|stack| stack.borrow_mut().close(slot, span)).unwrap_or(false) {
        slot.closed_elsewhere.store(true, Ordering::Release);
    }
    settle();
}

/// Pops what is on top of this thread's stack and has closed, wherever it was closed; whether the next range may be
/// pushed. Not while closed ones wait below: a program that opens each span before it closes the last would let them
/// wait for ever, and ever more of them. Not on a thread whose local storage is gone: it could not tell when to pop.
#[cold]
pub(crate) fn settle() -> bool {
    let settled = PUSHED.try_with(|stack| {
        // Not borrowed while the profiler runs.
        while stack.borrow_mut().take_closed().is_some() {
            protocol::pop();
        }
        stack.borrow().waiting == 0
    });
    settled.unwrap_or(false)
}

impl Stack {
    /// Marks the range of this span; whether it is here.
    fn close(&mut self, slot: &Arc<Slot>, span: u64) -> bool {
        let own = self.ranges.iter_mut().rfind(|r| r.span == span && Arc::ptr_eq(&r.slot, slot));
        own.map(|range| self.waiting += range.close()).is_some()
    }

    /// Takes the newest range off, if its span has closed.
    fn take_closed(&mut self) -> Option<Pushed> {
        let top = self.ranges.last()?;
        // Set by the rare guard that closes on another thread, or that is open when its session ends.
        if !top.closed && top.slot.closed_elsewhere.load(Ordering::Acquire) {
            let slot = Arc::clone(&top.slot);
            // Before the look at the spans: one that closes after it sets this again.
            slot.closed_elsewhere.store(false, Ordering::Release);
            let mut held = slot.lock();
            for range in self.ranges.iter_mut().filter(|r| Arc::ptr_eq(&r.slot, &slot)) {
                if held.open_mut(range.span).is_none() {
                    self.waiting += range.close();
                }
            }
        }
        let taken = self.ranges.pop_if(|top| top.closed)?;
        self.waiting -= 1;
        Some(taken)
    }
}

impl Pushed {
    /// Marks it; how many have closed by that.
    fn close(&mut self) -> usize {
        usize::from(!std::mem::replace(&mut self.closed, true))
    }
}

/// The tables a profiler fills, and the calls through them.
mod protocol {
    use super::*;

    type Push = unsafe extern "C" fn(*const c_char) -> c_int;
    type Pop = unsafe extern "C" fn() -> c_int;
    type Start = unsafe extern "C" fn(*const c_char) -> u64;
    type End = unsafe extern "C" fn(u64);

    /// Pointers to slots by number; nothing at 0 and behind the last, as NVTX has it.
    type Table = [Option<&'static AtomicPtr<c_void>>; 17];

    /// Module 1: the default domain.
    static CORE: Table = {
        let mut table = OTHERS;
        table[5] = Some(&RANGE_START);
        table[7] = Some(&RANGE_END);
        table[9] = Some(&RANGE_PUSH);
        table[11] = Some(&RANGE_POP);
        table
    };
    /// Any other module: a profiler may fill it, and we make none of its calls.
    static OTHER: Table = OTHERS;
    const OTHERS: Table = {
        let mut table = [Some(&UNUSED); 17];
        table[0] = None;
        table[16] = None;
        table
    };
    /// Slots of each module, slot 0 included: core, CUDA, OpenCL, CUDA runtime, domains, synchronisation.
    const SIZES: [c_uint; 6] = [16, 9, 15, 7, 16, 7];

    #[repr(C)]
    struct Callbacks {
        size: usize,
        table: unsafe extern "C" fn(c_int, *mut *const Table, *mut c_uint) -> c_int,
    }

    #[repr(C)]
    struct Version {
        size: usize,
        version: u32,
        reserved: u32,
        set_injection_version: unsafe extern "C" fn(u32),
    }

    static CALLBACKS: Callbacks = Callbacks { size: size_of::<Callbacks>(), table: module_table };
    static VERSION: Version =
        Version { size: size_of::<Version>(), version: 3, reserved: 0, set_injection_version: ignore_version };

    unsafe extern "C" fn ignore_version(_: u32) {}

    unsafe extern "C" fn module_table(module: c_int, table: *mut *const Table, size: *mut c_uint) -> c_int {
        let Some(&slots) = usize::try_from(module).ok().and_then(|m| SIZES.get(m.checked_sub(1)?)) else { return 0 };
        // SAFETY: the profiler passes null, or room for what it asks for.
        unsafe {
            if !table.is_null() {
                table.write(if module == 1 { &CORE } else { &OTHER });
            }
            if !size.is_null() {
                size.write(slots);
            }
        }
        1
    }

    unsafe extern "C" fn export_table(id: u32) -> *const c_void {
        match id {
            1 => (&raw const CALLBACKS).cast(),
            3 => (&raw const VERSION).cast(),
            _ => std::ptr::null(),
        }
    }

    /// Loads the library that the environment names and lets it fill the tables; whether it wants to.
    #[cfg(unix)]
    pub(super) fn load() -> bool {
        use std::os::unix::ffi::OsStringExt;
        const VARIABLE: &str = if size_of::<usize>() == 4 { "NVTX_INJECTION32_PATH" } else { "NVTX_INJECTION64_PATH" };
        let Some(path) = std::env::var_os(VARIABLE).filter(|p| !p.is_empty()) else { return false };
        let Ok(path) = CString::new(path.into_vec()) else { return false };
        // SAFETY: terminated strings; what the user's environment names is the user's to answer for. The library is
        // never unloaded, so what it has written stays callable.
        let initialize = unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
            if library.is_null() {
                return false;
            }
            libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr())
        };
        if initialize.is_null() {
            return false;
        }
        // SAFETY: the type that NVTX gives the function of this name.
        unsafe {
            let initialize: unsafe extern "C" fn(unsafe extern "C" fn(u32) -> *const c_void) -> c_int =
                std::mem::transmute(initialize);
            initialize(export_table) != 0
        }
    }

    /// Profilers of CUDA programs name libraries this way on Linux; elsewhere spans have no ranges.
    #[cfg(not(unix))]
    pub(super) fn load() -> bool {
        false
    }

    /// Calls `call` with what the profiler has written into `slot`, if anything.
    fn through<F: Copy, T>(slot: &AtomicPtr<c_void>, call: impl FnOnce(F) -> T) -> Option<T> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let function = slot.load(Ordering::Relaxed);
        // SAFETY: each slot is read with the one type that NVTX gives its number, and pointers have one size.
        (!function.is_null()).then(|| call(unsafe { std::mem::transmute_copy(&function) }))
    }

    /// Calls `call` with the name, terminated. A NUL, which would end it early and make it another label's, is shown.
    fn text<T>(name: &str, call: impl FnOnce(*const c_char) -> T) -> T {
        let mut short = [0u8; 128];
        if name.len() < short.len() && !name.as_bytes().contains(&0) {
            short[..name.len()].copy_from_slice(name.as_bytes());
            return call(short.as_ptr().cast());
        }
        call(CString::new(name.replace('\0', "\u{2400}")).unwrap_or_default().as_ptr())
    }

    pub(super) fn push(name: &str) -> bool {
        // SAFETY: a terminated string that outlives the call.
        through(&RANGE_PUSH, |push: Push| text(name, |name| unsafe { push(name) })).is_some()
    }

    pub(super) fn pop() {
        // SAFETY: no arguments.
        through(&RANGE_POP, |pop: Pop| unsafe { pop() });
    }

    pub(super) fn start(name: &str) -> Option<u64> {
        // SAFETY: a terminated string that outlives the call.
        through(&RANGE_START, |start: Start| text(name, |name| unsafe { start(name) }))
    }

    #[cold]
    pub(super) fn end(id: u64) {
        // SAFETY: an id that the same profiler gave.
        through(&RANGE_END, |end: End| unsafe { end(id) });
    }
}
