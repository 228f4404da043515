//! Identities of storages: an address and the number of its birth, because addresses are reused.
//! In: allocations, frees and captures by backend name (an address). Out: an id that is unique for one lifetime.
//! Left to neighbours: the rows that carry the ids (`session`).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shards, so that threads rarely meet on one lock.
const SHARDS: usize = 64;

/// One storage as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    /// `<backend name>#<birth>`.
    pub(crate) id: String,
    pub(crate) device: String,
    /// `None`: captured where the size cannot be known.
    pub(crate) bytes: Option<u64>,
    /// The facts of the recorded allocation; `None`: only captured, never allocated in this trace.
    pub(crate) allocated: Option<Allocation>,
}

/// What is needed to write the end of a storage whose free was never seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) tensor_id: String,
    pub(crate) dtype: String,
    pub(crate) category: &'static str,
    pub(crate) shape: Vec<i64>,
    pub(crate) op_name: Option<String>,
    /// When it was allocated, on the session's clock.
    pub(crate) timestamp_ns: i64,
}

/// What an allocation or a capture found.
pub(crate) struct Birth {
    pub(crate) id: String,
    /// An allocated storage that this one replaced at its address.
    pub(crate) replaced: Option<Storage>,
}

/// Why a free was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FreeProblem {
    Unpaired,
    OtherSize(u64),
    OtherDevice(String),
}

/// All live storages of a session.
pub(crate) struct Storages {
    hasher: RandomState,
    births: AtomicU64,
    shards: [Mutex<HashMap<String, Storage>>; SHARDS],
}

impl Default for Storages {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            births: AtomicU64::new(0),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl Storages {
    fn shard(&self, name: &str) -> std::sync::MutexGuard<'_, HashMap<String, Storage>> {
        let index = self.hasher.hash_one(name) as usize % SHARDS;
        // A panic while a shard is held leaves a whole map: every change to it is one insert or remove.
        self.shards[index].lock().unwrap_or_else(|e| e.into_inner())
    }

    fn new_id(&self, name: &str) -> String {
        format!("{name}#{}", self.births.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// An allocation begins a lifetime, unless a capture has already met this very storage and no allocation of it is
    /// known yet.
    pub(crate) fn allocate(&self, name: &str, device: &str, bytes: u64, allocation: Allocation) -> Birth {
        let mut shard = self.shard(name);
        if let Some(known) = shard.get_mut(name)
            && known.allocated.is_none()
            && known.device == device
            && known.bytes.is_none_or(|known| known == bytes)
        {
            known.bytes = Some(bytes);
            known.allocated = Some(allocation);
            return Birth { id: known.id.clone(), replaced: None };
        }
        let id = self.new_id(name);
        let storage =
            Storage { id: id.clone(), device: device.to_owned(), bytes: Some(bytes), allocated: Some(allocation) };
        let replaced = shard.insert(name.to_owned(), storage).filter(|s| s.allocated.is_some());
        Birth { id, replaced }
    }

    /// A capture sees the known storage, or begins the next when size or device say it cannot be the same.
    #[cfg_attr(not(feature = "candle"), allow(dead_code))]
    pub(crate) fn capture(&self, name: &str, device: &str, bytes: Option<u64>) -> Birth {
        let mut shard = self.shard(name);
        let same_size = |known: Option<u64>| known.zip(bytes).is_none_or(|(known, seen)| known == seen);
        if let Some(known) = shard.get(name)
            && known.device == device
            && same_size(known.bytes)
        {
            return Birth { id: known.id.clone(), replaced: None };
        }
        let id = self.new_id(name);
        let storage = Storage { id: id.clone(), device: device.to_owned(), bytes, allocated: None };
        let replaced = shard.insert(name.to_owned(), storage).filter(|s| s.allocated.is_some());
        Birth { id, replaced }
    }

    /// A free ends the lifetime of the storage allocated under `name`.
    pub(crate) fn free(&self, name: &str, device: &str, bytes: u64) -> Result<String, FreeProblem> {
        let mut shard = self.shard(name);
        if shard.get(name).is_some_and(|s| s.allocated.is_none()) {
            // Its birth was never recorded, so neither is its end; but what comes to this address next is another.
            shard.remove(name);
        }
        match shard.get(name) {
            Some(Storage { bytes: Some(allocated), .. }) if *allocated != bytes => {
                Err(FreeProblem::OtherSize(*allocated))
            }
            Some(s) if s.device != device => Err(FreeProblem::OtherDevice(s.device.clone())),
            Some(_) => Ok(shard.remove(name).map(|s| s.id).unwrap_or_default()),
            None => Err(FreeProblem::Unpaired),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation() -> Allocation {
        Allocation {
            tensor_id: "TensorId(1)".into(),
            dtype: "f32".into(),
            category: "activation",
            shape: vec![2],
            op_name: None,
            timestamp_ns: 0,
        }
    }

    #[test]
    fn one_address_many_lifetimes() {
        let storages = Storages::default();
        let first = storages.allocate("0x10", "cpu", 8, allocation());
        assert_eq!(storages.free("0x10", "cpu", 8), Ok(first.id.clone()));
        let second = storages.allocate("0x10", "cpu", 8, allocation());
        assert_ne!(first.id, second.id);
        assert!(second.replaced.is_none());
    }

    #[test]
    fn an_allocation_at_a_live_address_ends_the_old_storage_unobserved() {
        let storages = Storages::default();
        let first = storages.allocate("0x10", "cpu", 8, allocation());
        let second = storages.allocate("0x10", "cpu", 8, allocation());
        assert_eq!(second.replaced.map(|s| s.id), Some(first.id));
    }

    #[test]
    fn a_capture_of_another_size_or_device_begins_the_next_storage() {
        let storages = Storages::default();
        let first = storages.allocate("0x10", "cpu", 8, allocation());
        assert_eq!(storages.capture("0x10", "cpu", Some(8)).id, first.id);
        let other = storages.capture("0x10", "cpu", Some(16));
        assert_eq!(other.replaced.map(|s| s.id), Some(first.id));
        // An allocation of what was captured belongs to the captured storage.
        let same = storages.allocate("0x10", "cpu", 16, allocation());
        assert_eq!(same.id, other.id);
    }

    #[test]
    fn a_free_that_pairs_with_nothing_is_refused() {
        let storages = Storages::default();
        assert_eq!(storages.free("0x10", "cpu", 8), Err(FreeProblem::Unpaired));
        storages.allocate("0x10", "cpu", 8, allocation());
        assert_eq!(storages.free("0x10", "cpu", 9), Err(FreeProblem::OtherSize(8)));
        assert_eq!(storages.free("0x10", "cuda:0", 8), Err(FreeProblem::OtherDevice("cpu".into())));
    }
}
