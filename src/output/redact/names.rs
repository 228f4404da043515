//! What is private in a trace: its host's names, its users' names, their homes, tags of an environment.
//! In: the run record, and every text of the trace and its files. Out: [`Private`], the same for the same texts in any
//! order. Left to neighbours: reading the texts (`rewrite`), what stands in their place (`replace`).

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use aho_corasick::AhoCorasick;
use candle_graph_record::tables::run::RunRecord;

use super::homes::{self, LONGEST_NAME};
use super::run;

/// A kind of private text, in the order in which one text that is two of them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Home,
    Host,
    User,
}

impl Kind {
    pub const ALL: [Self; 3] = [Kind::Home, Kind::Host, Kind::User];

    /// The word in a placeholder.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Home => "home",
            Kind::Host => "host",
            Kind::User => "user",
        }
    }
}

/// What is private, and which placeholders are taken because a text holds them already.
#[derive(Default)]
pub(super) struct Private {
    /// The run's own host name first.
    pub hosts: Vec<String>,
    known_hosts: HashSet<String>,
    pub users: BTreeSet<String>,
    pub homes: BTreeSet<String>,
    /// `[user]` as `(User, 1)`, `[user-7]` as `(User, 7)`.
    pub taken: HashSet<(Kind, u64)>,
    /// About the bytes that all of it needs.
    size: usize,
}

/// The most that is kept of it: an automaton of these names takes 40 times as much.
const LARGEST: usize = 8 << 20;

impl Private {
    /// Whether a trace holds more than can be kept apart.
    pub fn is_too_much(&self) -> bool {
        self.size > LARGEST
    }

    /// Adds what another search has found.
    pub fn add(&mut self, other: Self) {
        other.users.iter().for_each(|user| self.user(user));
        other.homes.iter().for_each(|home| self.home(home));
        for placeholder in other.taken {
            let grown = self.taken.insert(placeholder);
            self.grow(grown, "");
        }
    }

    fn grow(&mut self, grown: bool, text: &str) {
        self.size += if grown { text.len() + 64 } else { 0 };
    }

    /// A host's name, and its part before the first dot.
    fn host(&mut self, name: &str) {
        for name in [name, name.split('.').next().unwrap_or_default()] {
            if is_searched_for(name) && self.known_hosts.insert(name.to_ascii_lowercase()) {
                self.hosts.push(name.to_owned());
                self.grow(true, name);
            }
        }
    }

    /// The placeholder whose word begins at `start`, if it is one.
    fn placeholder(&mut self, text: &str, start: usize) {
        let near = &text[start..text.floor_char_boundary(start + 32)];
        let Some((inside, _)) = near.split_once(']') else { return };
        let (word, digits) = inside.split_once('-').unwrap_or((inside, "1"));
        let Some(kind) = Kind::ALL.into_iter().find(|k| k.word() == word) else { return };
        // No placeholder ever has a number of more digits.
        if let Ok(number) = digits.parse() {
            let grown = self.taken.insert((kind, number));
            self.grow(grown, "");
        }
    }

    /// The user whose name ends at the `@` at `end`.
    fn user_at(&mut self, text: &str, end: usize) {
        let name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let length = text.as_bytes()[..end].iter().rev().take(LONGEST_NAME).take_while(|b| name(b)).count();
        self.user(text[end - length..end].trim_matches(['.', '-']));
    }

    fn home(&mut self, path: &str) {
        if !self.homes.contains(path) {
            self.homes.insert(path.to_owned());
            self.grow(true, path);
        }
    }

    fn user(&mut self, name: &str) {
        // Whose directories these are is no secret, and the words mean more than a user.
        let nobody = ["root", "shared", "public", "default"].iter().any(|n| n.eq_ignore_ascii_case(name));
        if is_searched_for(name) && !nobody && !self.users.contains(name) {
            self.users.insert(name.to_owned());
            self.grow(true, name);
        }
    }

    /// Users as a tag names them: several, with an address, with a domain.
    fn users_of(&mut self, value: &str) {
        for user in parts(value) {
            self.user(user.split('<').next().unwrap_or_default().trim());
            self.user(user.rsplit_once(['/', '\\']).map_or("", |(_, name)| name.trim()));
            for address in user.split_whitespace().filter(|word| word.contains('@')) {
                let address = address.trim_matches(['<', '>']);
                self.user(address);
                self.user(address.split('@').next().unwrap_or_default());
            }
        }
    }

    fn hosts_of(&mut self, value: &str) {
        for part in parts(value) {
            let (user, host) = part.split_once('@').unwrap_or(("", part));
            self.user(user);
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            self.host(if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host });
        }
    }
}

/// The names that a tag lists.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split([',', ';']).map(str::trim).filter(|part| !part.is_empty())
}

/// Whether a name can be looked for as a word. One character is no name, a number is a measurement, and what an earlier
/// redaction left names nobody.
fn is_searched_for(name: &str) -> bool {
    let placeholder = Kind::ALL.iter().any(|kind| name.contains(&format!("[{}", kind.word())));
    let number = name.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && name.parse::<f64>().is_ok();
    name.chars().nth(1).is_some()
        && name.len() <= LONGEST_NAME
        && !number
        && !placeholder
        && !name.contains(char::is_control)
}

/// What the key of a tag says about its value.
struct Key {
    environment: bool,
    host: bool,
    user: bool,
}

fn key(key: &str) -> Key {
    // Parts of a key that are words: a tokenizer and a number of tokens are no secret.
    const SECRETS: [&str; 14] = [
        "secret",
        "secrets",
        "token",
        "passwd",
        "password",
        "passphrase",
        "credential",
        "credentials",
        "apikey",
        "authorization",
        "auth",
        "bearer",
        "cookie",
        "pat",
    ];
    const PAIRS: [&str; 5] = ["api_key", "private_key", "access_key", "ssh_key", "secret_key"];
    let plain = key.to_ascii_lowercase().replace('-', "_");
    let variable = plain.strip_prefix("env").and_then(|rest| rest.strip_prefix(['.', '_', ':', '/']));
    let shouted = key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let name = variable.unwrap_or(&plain);
    let mut words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let secret = words.any(|word| SECRETS.contains(&word)) || PAIRS.iter().any(|pair| plain.contains(pair));
    Key {
        environment: shouted || variable.is_some() || secret,
        host: ["host", "hostname", "host_name", "node", "nodename"].contains(&name),
        user: ["user", "username", "user_name", "logname", "owner", "author", "email"].contains(&name),
    }
}

/// Whether a tag goes whole: of an environment, or naming somebody in a way that cannot be looked for elsewhere.
pub(super) fn is_removed(tag: &str, value: &str) -> bool {
    let key = key(tag);
    key.environment || ((key.host || key.user) && (value.len() > LONGEST_NAME || value.contains(char::is_control)))
}

/// Looks for what is private, text after text.
pub(super) struct Search {
    pub private: Private,
    /// Finds what may be a home, a placeholder, or a user at a known host.
    pub finder: AhoCorasick,
}

impl Search {
    /// Begins with the run record: what it says of its host and its users, and all of its texts.
    pub fn of(run: &RunRecord) -> Self {
        let mut private = Private::default();
        private.host(run.host.host_name.as_deref().unwrap_or_default().trim());
        // A longer value goes whole.
        for (tag, value) in run.tags.iter().filter(|(_, value)| value.len() <= LONGEST_NAME) {
            let key = key(tag);
            if key.host {
                private.hosts_of(value);
            }
            if key.user {
                private.users_of(value);
            }
        }
        let mut needles: Vec<String> = homes::NEEDLES.iter().map(|n| (*n).to_owned()).collect();
        needles.extend(Kind::ALL.map(|kind| format!("[{}", kind.word())));
        needles.extend(private.hosts.iter().map(|host| format!("@{host}")));
        let mut search = Self { private, finder: finder(&needles) };
        run::each_text(&mut run.clone(), &mut |text| search.text(text));
        for (tag, value) in &run.tags {
            search.text(tag);
            search.text(value);
        }
        search
    }

    /// A search for the same that has found nothing yet.
    pub fn beside(&self) -> Self {
        Self { private: Private::default(), finder: self.finder.clone() }
    }

    /// Notes what is private in a text.
    pub fn text(&mut self, text: &str) {
        let Self { private, finder } = self;
        if private.is_too_much() {
            return;
        }
        let mut homes_seen = false;
        for found in finder.find_overlapping_iter(text) {
            match found.pattern().as_usize() {
                n if n < homes::NEEDLES.len() => homes_seen = true,
                n if n < homes::NEEDLES.len() + Kind::ALL.len() => private.placeholder(text, found.start() + 1),
                _ if is_word(text, found.start()..found.end()) => private.user_at(text, found.start()),
                _ => {}
            }
        }
        for home in if homes_seen { homes::find(text) } else { Vec::new() } {
            private.home(&text[home.range]);
            private.user(&text[home.name]);
        }
    }
}

/// Whether no letter or digit stands right before or after a match.
pub(super) fn is_word(text: &str, range: Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let letter = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    // The end of an address is found from its sign on.
    let begins = bytes.get(range.start) == Some(&b'@') || !letter(range.start.checked_sub(1));
    begins && !letter(Some(range.end))
}

/// Finds any of the needles, in any case of ASCII letters.
pub(super) fn finder<N: AsRef<[u8]>>(needles: &[N]) -> AhoCorasick {
    let built = AhoCorasick::builder().ascii_case_insensitive(true).build(needles);
    // It fails for more than 2^31 states: needles are bounded far below.
    built.expect("a few megabytes of needles make an automaton")
}
