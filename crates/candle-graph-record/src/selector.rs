//! The gate: which invocation is recorded.
//! In: a one-based invocation number. Out: one integer compare. Left to neighbours: everything else.

use crate::error::{Error, Result};

/// Selects one invocation, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureSelector {
    selected: u64,
}

impl CaptureSelector {
    /// Selects the `n`-th invocation.
    ///
    /// # Errors
    /// [`Error::SelectorZero`] when `n` is 0.
    pub fn new(n: u64) -> Result<Self> {
        if n == 0 { Err(Error::SelectorZero) } else { Ok(Self { selected: n }) }
    }

    /// Whether `invocation` is the selected one. Nothing is opened, allocated or locked.
    #[inline]
    pub const fn is_selected(&self, invocation: u64) -> bool {
        invocation == self.selected
    }

    /// The selected invocation.
    pub const fn selected_invocation(&self) -> u64 {
        self.selected
    }
}
