//! What stands in the place of private text.
//! In: what is private, then any text. Out: the text with placeholders, or that it stays. Left to neighbours: which
//! texts are looked at (`rewrite`).
//!
//! No two texts become one: each private text, as it is written, has a placeholder of its own, and none that a text of
//! the trace holds already. A placeholder has its brackets at its ends alone, so no other begins or ends inside it: what
//! is written can be taken apart again in one way only.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::homes;
use super::names::{Kind, Private, finder, is_word};

/// How often each kind was replaced, in the order of [`Kind::ALL`].
pub(super) type Places = [u64; Kind::ALL.len()];

/// A text after replacement, where it is another, and what that took.
type Replaced = Option<(Arc<str>, Places)>;

/// Texts whose replacement is remembered, and the longest of them: names repeat a million times.
const REMEMBERED: usize = 32 * 1024;
const LONGEST_REMEMBERED: usize = 1024;

/// Placeholders that are kept apart: one name of 20 letters can be written in a million ways.
const MOST_PLACEHOLDERS: usize = 1 << 20;

pub(super) struct Replacer {
    /// Finds what may be a home, then every name.
    pub finder: AhoCorasick,
    /// The kind of each name the finder looks for.
    kinds: Vec<Kind>,
    /// What each private text became, by kind.
    placeholders: [HashMap<String, Arc<str>>; Kind::ALL.len()],
    taken: HashSet<(Kind, u64)>,
    /// The last number given, by kind.
    last: Places,
    remembered: HashMap<Box<str>, Replaced>,
    pub places: Places,
}

impl Replacer {
    pub fn new(private: Private) -> Self {
        let names = private.hosts.iter().map(|host| (host, Kind::Host));
        let names: Vec<_> = names.chain(private.users.iter().map(|user| (user, Kind::User))).collect();
        // One needle for all ways to write a name; a name of a host and a user is the host's.
        let mut kind_of: HashMap<String, Kind> = HashMap::new();
        let (mut needles, mut kinds) = (homes::NEEDLES.map(str::to_owned).to_vec(), Vec::new());
        for (name, kind) in &names {
            let lower = name.to_ascii_lowercase();
            if !kind_of.contains_key(&lower) {
                kind_of.insert(lower.clone(), *kind);
                needles.push(lower);
                kinds.push(*kind);
            }
        }
        let mut replacer = Self {
            finder: finder(&needles),
            kinds,
            placeholders: Default::default(),
            taken: private.taken,
            last: Places::default(),
            remembered: HashMap::new(),
            places: Places::default(),
        };
        // Numbered in their own order, not in that of threads: two runs of one program name the same things alike.
        for home in &private.homes {
            replacer.placeholder(Kind::Home, home);
        }
        for (name, kind) in names {
            if kind_of.get(&name.to_ascii_lowercase()) == Some(&kind) {
                replacer.placeholder(kind, name);
            }
        }
        replacer
    }

    /// The text that stands in the place of `text`; `None`: it stays.
    pub fn replace(&mut self, text: &str) -> Option<Arc<str>> {
        if text.len() > LONGEST_REMEMBERED {
            let replaced = self.replaced(text);
            return self.count(replaced);
        }
        if let Some(known) = self.remembered.get(text) {
            let known = known.clone();
            return self.count(known);
        }
        let replaced = self.replaced(text);
        if self.remembered.len() >= REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(text.into(), replaced.clone());
        self.count(replaced)
    }

    /// Whether there are more placeholders than can be kept.
    pub fn is_too_much(&self) -> bool {
        self.placeholders.iter().map(HashMap::len).sum::<usize>() > MOST_PLACEHOLDERS
    }

    fn count(&mut self, replaced: Replaced) -> Option<Arc<str>> {
        let (text, places) = replaced?;
        self.places.iter_mut().zip(places).for_each(|(sum, n)| *sum += n);
        Some(text)
    }

    fn replaced(&mut self, text: &str) -> Replaced {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut places = Places::default();
        let mut end = 0;
        for (range, kind) in found {
            out.push_str(&text[end..range.start]);
            out.push_str(&self.placeholder(kind, &text[range.clone()]));
            places[kind as usize] += 1;
            end = range.end;
        }
        out.push_str(&text[end..]);
        Some((out.into(), places))
    }

    /// Everything private in a text: the longest of what begins first, then on from its end.
    fn find(&self, text: &str) -> Vec<(Range<usize>, Kind)> {
        let mut homes_seen = false;
        let mut found = Vec::new();
        for hit in self.finder.find_overlapping_iter(text) {
            match hit.pattern().as_usize().checked_sub(homes::NEEDLES.len()) {
                None => homes_seen = true,
                Some(name) if is_word(text, hit.range()) => found.push((hit.range(), self.kinds[name])),
                Some(_) => {}
            }
        }
        if homes_seen {
            found.extend(homes::find(text).into_iter().map(|home| (home.range, Kind::Home)));
        }
        found.sort_by_key(|(range, kind)| (range.start, Reverse(range.end), *kind));
        let mut end = 0;
        found.retain(|(range, _)| {
            let free = range.start >= end;
            end = if free { range.end } else { end };
            free
        });
        found
    }

    /// The placeholder of a private text as it is written there, which is its own from now on.
    fn placeholder(&mut self, kind: Kind, text: &str) -> Arc<str> {
        if let Some(known) = self.placeholders[kind as usize].get(text) {
            return known.clone();
        }
        let last = &mut self.last[kind as usize];
        *last += 1;
        while self.taken.contains(&(kind, *last)) {
            *last += 1;
        }
        let placeholder: Arc<str> = match *last {
            1 => format!("[{}]", kind.word()).into(),
            number => format!("[{}-{number}]", kind.word()).into(),
        };
        self.placeholders[kind as usize].insert(text.to_owned(), placeholder.clone());
        placeholder
    }
}
