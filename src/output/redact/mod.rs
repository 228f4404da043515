//! Redaction: what names a person, a machine or an environment goes before anything is published.
//! In: a trace and its Nsight files. Out: the same run record, tables and files without it, and a record of what went,
//! which never says what it was. Left to neighbours: publication (`bundle`).
//!
//! It depends on the trace and its files alone, never on this process, its user, its host or its locale.

mod columns;
mod homes;
mod names;
mod replace;
mod rewrite;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use candle_graph_record::table::TableSpec;
use candle_graph_record::tables::run::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::load::Trace;
use names::{Kind, Search};
use replace::Replacer;

/// The version of the record of a redaction.
pub const REDACTION_SCHEMA: &str = "candle-graph/redaction/1";

/// What is always removed, for people.
const RULES: [&str; 5] = [
    "The host's name, in full and up to its first dot, and the names in tags called host, hostname, host_name, node or \
     nodename, in any case, as words of any text: [host].",
    "Home paths (/home/NAME, /Users/NAME and what is mounted before them, C:\\Users\\NAME, /root, ~NAME/) where a path \
     begins: [home].",
    "User names (of home paths, of tags called user, username, user_name, logname, owner, author or email, before an @ and \
     the host's name), in any case, as words of any text: [user]. The word root, single characters and numbers go in home \
     paths alone.",
    "Tags of an environment, key and value: keys in upper case, keys that begin with env and one of . _ : / -, and keys \
     with a word such as secret, token, password, credential, authorization, api_key or private_key in them.",
    "Each text becomes the same everywhere, and two texts never become one: a second user is [user-2]. Words of the format \
     (kinds, steps, states, dtypes, devices) and the names of known operations stay.",
];

const NOTE: &str = "These rules were applied to the run record, to every text in the tables and to the Nsight files, and \
    to nothing else: a person, a project or a customer that a label names in other words or another encoding is still \
    named. Numbers, times and the run id are as they were.";

/// `redaction.json`: what was taken out of a bundle before its publication, by which rules. Never the text itself, and no
/// hash of it: a name can be guessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactionRecord {
    pub schema: String,
    /// What is always removed.
    pub rules: Vec<String>,
    /// How much of each kind there was.
    pub removed: Vec<Removed>,
    /// Keys of the tags that were removed, in order, redacted themselves.
    pub tags: Vec<String>,
    /// What a reader should know besides.
    pub note: String,
}

impl RedactionRecord {
    /// Whether this is what the rules leave of such a run: nobody can say so of a trace that they were never applied to.
    pub fn is_of(&self, run: &RunRecord) -> bool {
        let rules = self.rules.iter().map(String::as_str).eq(RULES);
        let tags = run.tags.iter().any(|(key, value)| names::is_removed(key, value));
        self.schema == REDACTION_SCHEMA && rules && self.note == NOTE && run.host.host_name.is_none() && !tags
    }

    /// The record of a bundle that had been redacted before.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        for removed in &mut self.removed {
            let earlier = before.removed.iter().filter(|b| b.what == removed.what).map(|b| b.places);
            removed.places = earlier.fold(removed.places, u64::saturating_add);
        }
        self.tags.extend(before.tags.iter().cloned());
        self.tags.sort();
        self.tags.dedup();
        self
    }
}

/// One kind of private text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removed {
    /// `host name`, `user name`, `home path` or `tag`.
    pub what: String,
    /// Places it was removed from: a cell that holds a name twice is two.
    pub places: u64,
}

/// A redaction in progress: the run record, then each table, then each file, in an order that is always the same.
pub struct Redaction {
    replacer: Replacer,
    /// Host names removed whole.
    hosts: u64,
    tags: BTreeSet<String>,
}

impl Redaction {
    /// Looks through a trace's run record, the text of its tables and the Nsight files for what is private.
    ///
    /// # Errors
    /// A table or a file that cannot be read, a file that is no UTF-8 text, more names than can be kept apart.
    pub fn of(trace: &Trace, nsight: &[PathBuf]) -> Result<Self> {
        let mut search = Search::of(&trace.run);
        rewrite::search_tables(&mut search, trace)?;
        nsight.iter().try_for_each(|path| rewrite::search_file(&mut search, path))?;
        Ok(Self { replacer: Replacer::new(search.private), hosts: 0, tags: BTreeSet::new() })
    }

    /// Any text that goes with the trace, such as the name of a file, without what is private.
    pub fn text(&mut self, text: &str) -> String {
        self.replacer.replace(text).map_or_else(|| text.to_owned(), |replaced| replaced.to_string())
    }

    /// The run record without its host's name, its environment's tags and what else is private in its texts. Its id stays,
    /// and a gradient manifest's digest that was right is right again.
    pub fn run(&mut self, run: &RunRecord) -> RunRecord {
        let mut public = run.clone();
        self.hosts += u64::from(public.host.host_name.take().is_some());
        run::each_text(&mut public, &mut |text| {
            if let Some(replaced) = self.replacer.replace(text) {
                *text = replaced.to_string();
            }
        });
        public.tags = BTreeMap::new();
        for (key, value) in &run.tags {
            let public_key = self.text(key);
            if names::is_removed(key, value) {
                self.tags.insert(public_key);
            } else {
                public.tags.insert(public_key, self.text(value));
            }
        }
        public
    }

    /// Rewrites one recorded table (its files in order) into one Parquet file at `target`, batch by batch.
    ///
    /// # Errors
    /// Files that cannot be read or hold rows of another run, a target that cannot be written; it is then absent.
    pub fn table(&mut self, files: &[PathBuf], spec: &TableSpec, run_id: &str, target: &Path) -> Result<()> {
        rewrite::table(&mut self.replacer, files, spec, run_id, target)
    }

    /// Rewrites one Nsight file at `target`, byte for byte but for what is private.
    ///
    /// # Errors
    /// Anything but UTF-8 text (.nsys-rep, .sqlite, UTF-16): nobody can see what is private in it, and it must be left out
    /// or published without redaction. A file that cannot be read, a target that cannot be written; it is then absent.
    pub fn file(&mut self, source: &Path, target: &Path) -> Result<()> {
        rewrite::file(&mut self.replacer, source, target)
    }

    /// What has gone so far.
    pub fn record(&self) -> RedactionRecord {
        let places = |kind: Kind| self.replacer.places[kind as usize];
        let removed = [
            ("host name", places(Kind::Host) + self.hosts),
            ("user name", places(Kind::User)),
            ("home path", places(Kind::Home)),
            ("tag", self.tags.len() as u64),
        ];
        RedactionRecord {
            schema: REDACTION_SCHEMA.to_owned(),
            rules: RULES.map(str::to_owned).to_vec(),
            removed: removed.map(|(what, places)| Removed { what: what.to_owned(), places }).to_vec(),
            tags: self.tags.iter().cloned().collect(),
            note: NOTE.to_owned(),
        }
    }
}
