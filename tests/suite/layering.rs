//! The folders of src/ are the data's path: each uses those to its left and none to its right.
//! The recorder stays light: what a training program links holds no query engine.

use std::collections::BTreeSet;
use std::process::Command;

use crate::world::{files_below, repository};

/// From left to right; `error` and `text` are leaves that all may use.
const PATH: [&str; 10] =
    ["error", "text", "tables", "load", "session", "query", "analysis", "evidence", "output", "cli"];

/// What follows each `crate::` of a line, and each `super::super::…` that climbs to the crate's root.
fn uses(line: &str, depth: usize) -> Vec<String> {
    let name = |rest: &str| -> String { rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    // The word may not continue to the left: `my_crate::` is another crate.
    let starts = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let mut found: Vec<String> = line
        .match_indices("crate::")
        .filter(|(at, _)| starts(*at) && !line[..*at].ends_with("pub(in "))
        .map(|(at, path)| name(&line[at + path.len()..]))
        .collect();
    for (at, _) in line.match_indices("super::").filter(|(at, _)| starts(*at)) {
        let mut rest = &line[at..];
        let mut levels = 0;
        while let Some(shorter) = rest.strip_prefix("super::") {
            rest = shorter;
            levels += 1;
        }
        if levels >= depth {
            found.push(name(rest));
        }
    }
    found
}

#[test]
fn folders_use_only_what_is_to_their_left() {
    let mut wrong = Vec::new();
    let mut folders = BTreeSet::new();
    for file in files_below("src").into_iter().filter(|file| file.ends_with(".rs")) {
        let inside: Vec<&str> = file.trim_start_matches("src/").trim_end_matches(".rs").split('/').collect();
        let folder = inside[0];
        if ["lib", "main", "bin"].contains(&folder) {
            continue;
        }
        folders.insert(folder.to_owned());
        let rank = PATH.iter().position(|f| *f == folder);
        let Some(rank) = rank else {
            wrong.push(format!("{file}: {folder} has no place in {PATH:?}"));
            continue;
        };
        // src/error.rs and src/load/mod.rs are one module below the root, src/load/wire.rs two.
        let depth = inside.len() - usize::from(inside.last() == Some(&"mod"));
        let text = std::fs::read_to_string(repository().join(&file)).expect("a source file");
        for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
            for used in uses(line, depth) {
                // `error` may use nothing; every other folder may use `error`, itself and what is to its left.
                let allowed = PATH.iter().position(|f| *f == used).is_some_and(|u| u <= rank);
                if !allowed {
                    wrong.push(format!("{file}:{}: {folder} uses {used:?}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "against the data's path {}:\n{}", PATH.join(" → "), wrong.join("\n"));
    assert_eq!(folders, PATH.iter().map(|f| (*f).to_owned()).collect(), "every folder has its place");
}

#[test]
fn the_check_sees_each_form_of_use() {
    let none: [&str; 0] = [];
    assert_eq!(uses("use crate::load::Trace;", 2), ["load"]);
    assert_eq!(uses("let x = crate::output::rows::printable(&crate::query::QUERIES);", 2), ["output", "query"]);
    assert_eq!(uses("use super::super::cli;", 2), ["cli"]);
    assert_eq!(uses("use super::wire;", 2), none);
    assert_eq!(uses("use super::wire;", 1), ["wire"]);
    assert_eq!(uses("use other_crate::cli;", 2), none);
    assert_eq!(uses("use crate::{cli, load};", 2), [""], "a group is refused, because no folder is called so");
}

#[test]
fn the_recorder_links_no_engine() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "candle-graph-record", "-e", "normal", "--prefix", "none", "--offline", "--format", "{p}"])
        .current_dir(repository())
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("UTF-8");
    let crates: BTreeSet<&str> = tree.lines().filter_map(|l| l.split(' ').next()).filter(|c| !c.is_empty()).collect();
    assert!(crates.contains("parquet"), "this is the recorder's tree: {crates:?}");
    for heavy in ["datafusion", "tokio", "clap", "serde_json", "candle-core"] {
        let found: Vec<&&str> = crates.iter().filter(|c| **c == heavy || c.starts_with(&format!("{heavy}-"))).collect();
        assert!(found.is_empty(), "the recorder links {found:?}");
    }
}
