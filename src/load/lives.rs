//! Identities of storages that live once.
//! In: the identities of an imported trace in the order of its lines, where an address may come back after its storage
//! has ended. Out: the same, and a numbered one for every later life. Left to neighbours: whether allocations and ends
//! pair (`health` says).

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Lives of one identity.
#[derive(Clone, Copy, Default)]
struct Lives {
    begun: u32,
    live: bool,
}

/// What is known of every identity so far, by a hash of device and name: a trace may hold millions.
#[derive(Default)]
pub(super) struct Identities(HashMap<u64, Lives>);

fn key(device: &str, id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (device, id).hash(&mut hasher);
    hasher.finish()
}

/// The first life keeps the name, so that most traces are stored as they are written.
fn name(id: &str, life: u32) -> Cow<'_, str> {
    if life > 1 { format!("{id}#{life}").into() } else { id.into() }
}

impl Identities {
    /// The identity of a storage that is allocated now. Of one that still lives it is the same: the health check names it.
    pub(super) fn alloc<'a>(&mut self, device: &str, id: &'a str) -> Cow<'a, str> {
        let known = self.0.get(&key(device, id)).copied().unwrap_or_default();
        let mut life = known.begun.max(1);
        if known.begun > 0 && !known.live {
            life += 1;
            // A name that the trace itself gives to another storage is taken.
            while self.0.contains_key(&key(device, &name(id, life))) {
                life += 1;
            }
            // And from now on this one is taken too.
            self.0.insert(key(device, &name(id, life)), Lives { begun: 1, live: false });
        }
        self.0.insert(key(device, id), Lives { begun: life, live: true });
        name(id, life)
    }

    /// The identity of a storage that ends now.
    pub(super) fn end<'a>(&mut self, device: &str, id: &'a str) -> Cow<'a, str> {
        let lives = self.0.entry(key(device, id)).or_default();
        lives.live = false;
        name(id, lives.begun)
    }

    /// The identity that a tensor names now.
    pub(super) fn current<'a>(&self, device: &str, id: &'a str) -> Cow<'a, str> {
        name(id, self.0.get(&key(device, id)).map_or(0, |l| l.begun))
    }
}

#[cfg(test)]
mod tests {
    use super::Identities;

    #[test]
    fn a_second_life_has_a_name_of_its_own() {
        let mut ids = Identities::default();
        assert_eq!(ids.current("cpu", "A"), "A");
        assert_eq!(ids.alloc("cpu", "A"), "A");
        assert_eq!(ids.alloc("cuda:0", "A"), "A", "another device's A is another storage");
        assert_eq!(ids.alloc("cpu", "A"), "A", "still live: allocated twice, which the health check reports");
        assert_eq!(ids.end("cpu", "A"), "A");
        assert_eq!(ids.end("cpu", "A"), "A", "ended twice");
        assert_eq!(ids.alloc("cpu", "A#2"), "A#2", "the trace's own name");
        assert_eq!(ids.alloc("cpu", "A"), "A#3", "which a second life of A leaves alone");
        assert_eq!(ids.current("cpu", "A"), "A#3");
        assert_eq!(ids.current("cuda:0", "A"), "A");
        assert_eq!(ids.end("cpu", "A"), "A#3");
        assert_eq!(ids.alloc("cpu", "A"), "A#4");
        assert_eq!(ids.alloc("cpu", "A#4"), "A#4#2", "a name that was given to a life of A");
        assert_eq!(ids.end("cpu", "never"), "never", "ended without a beginning");
    }
}
