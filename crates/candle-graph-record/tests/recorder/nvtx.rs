//! NVTX ranges: what a profiler is told when spans open and close in every order, and that nothing changes without one.
//! In: this binary again as a child, with a profiler's library in small (nvtx/injection.c). Out: checks of each call.
//!
//! Calls are compared as `THREAD push NAME`, `THREAD pop`, `THREAD start #N NAME`, `THREAD end #N`: threads are numbered
//! in the order of their first calls, start/end ranges in the order in which they begin. The first is always the root.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::world::{Table, Trace, dir};

mod scenarios;

use scenarios::{SCENARIOS, hostile};

const DIR: &str = "CANDLE_GRAPH_TEST_NVTX_DIR";
const SCENARIO: &str = "CANDLE_GRAPH_TEST_NVTX_SCENARIO";
const LOG: &str = "CANDLE_GRAPH_TEST_NVTX_LOG";
const TAKE: &str = "CANDLE_GRAPH_TEST_NVTX_TAKE";
const LIBRARY: &str = if size_of::<usize>() == 4 { "NVTX_INJECTION32_PATH" } else { "NVTX_INJECTION64_PATH" };

/// Says that the profiler is there, and what it found: NVTX 3, all modules with as many slots as NVTX gives them.
const HELLO: &str = "version 3, tables 1:16 2:9 3:15 4:7 5:16 6:7, others 0";

/// The child: it does nothing unless a parent has named a scenario.
#[test]
#[ignore = "started by the other tests of this module in a process of its own"]
fn child() {
    let Ok(scenario) = std::env::var(SCENARIO) else { return };
    let (_, record) = SCENARIOS.iter().find(|(name, _)| *name == scenario).expect("a known scenario");
    record(Path::new(&std::env::var_os(DIR).expect("a directory")));
}

/// The injection library, compiled once.
fn library() -> PathBuf {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = BUILT.get_or_init(|| {
        let dir = dir();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorder/nvtx/injection.c");
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-shared", "-fPIC", "-pthread", "-o"]).arg(dir.path().join("injection.so")).arg(source);
        assert!(cc.status().expect("a C compiler, which the crate needs anyway").success());
        dir
    });
    dir.path().join("injection.so")
}

/// Runs a scenario in a child with `library` as its profiler; the lines that this has written, if any.
fn record(dir: &Path, scenario: &str, library: Option<&Path>, take: &str) -> Option<Vec<String>> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "nvtx::child", "--ignored", "--nocapture"]).env(DIR, dir).env(SCENARIO, scenario);
    child.env(LOG, dir.join("log")).env(TAKE, take).env_remove(LIBRARY);
    if let Some(library) = library {
        child.env(LIBRARY, library);
    }
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{scenario}: {said}");
    let log = std::fs::read_to_string(dir.join("log")).ok()?;
    Some(log.lines().map(String::from).collect())
}

/// The calls of a scenario in which the profiler takes all of them.
fn calls(scenario: &str) -> Vec<String> {
    let dir = dir();
    let lines = record(dir.path(), scenario, Some(&library()), "all").expect("a log");
    assert_eq!(lines[0], HELLO);
    readable(&lines[1..])
}

fn readable(lines: &[String]) -> Vec<String> {
    let text = |hex: &str| {
        let bytes =
            hex.as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap());
        String::from_utf8(bytes.collect()).expect("a name in UTF-8")
    };
    let number = |id: &str| id.parse::<u64>().unwrap() - 0x7_0000_0000;
    let call = |line: &String| match line.split(' ').collect::<Vec<_>>()[..] {
        [thread, "push", name] => format!("{thread} push {}", text(name)),
        [thread, "start", id, name] => format!("{thread} start #{} {}", number(id), text(name)),
        [thread, "end", id] => format!("{thread} end #{}", number(id)),
        _ => line.clone(),
    };
    lines.iter().map(call).collect()
}

#[test]
fn spans_that_nest_are_ranges_that_nest() {
    let told = calls("in order");
    let nested =
        ["push update", "push forward", "push layer", "pop", "push layer", "pop", "pop", "push backward", "pop", "pop"];
    let mut expected = vec!["1 start #1 train".to_owned()];
    expected.extend(nested.map(|call| format!("1 {call}")));
    // The writer thread ends the root.
    expected.push("2 end #1".to_owned());
    assert_eq!(told, expected);
}

#[test]
fn a_range_below_another_waits_for_its_turn() {
    assert_eq!(
        calls("out of order"),
        [
            "1 start #1 train",
            "1 push a",
            "1 push b",
            "1 push c",
            "1 start #2 a closed",
            "1 end #2",
            "1 pop",
            "1 start #3 c closed",
            "1 end #3",
            // Not pushed: what opens above a would let it wait longer.
            "1 start #4 d",
            "1 pop",
            "1 pop",
            "1 start #5 b closed",
            "1 end #5",
            "1 end #4",
            "2 end #1",
        ]
    );
}

#[test]
fn a_range_waits_no_longer_for_what_opens_meanwhile() {
    let told = calls("handed over");
    let beginning = [
        "1 start #1 train",
        "1 push 0",
        "1 push 1",
        // 0 has closed and waits for 1.
        "1 start #2 2",
        "1 pop",
        "1 pop",
        "1 push 3",
        "1 end #2",
        "1 push 4",
        "1 start #3 5",
        "1 pop",
        "1 pop",
    ];
    assert_eq!(told[..beginning.len()], beginning);
    // 1,000 spans and the root, and nothing is left.
    assert_eq!(told.len(), 2 * 1_001);
    assert_eq!(told[told.len() - 2..], ["1 pop", "2 end #1"]);
}

#[test]
fn an_owned_span_is_a_range_that_any_thread_ends() {
    assert_eq!(
        calls("owned"),
        [
            "1 start #1 train",
            "1 push guard",
            "1 start #2 here",
            "1 start #3 there",
            "1 pop",
            "1 push inner",
            "2 end #3",
            "1 end #2",
            "1 pop",
            "3 end #1",
        ]
    );
}

#[test]
fn a_guard_that_closes_elsewhere_is_popped_by_its_own_thread() {
    assert_eq!(
        calls("elsewhere"),
        [
            "1 start #1 train",
            "1 push a",
            "1 push b",
            "1 push c",
            "2 push own",
            "2 start #2 a and c closed",
            "2 end #2",
            "2 pop",
            // c is on top, a waits for b.
            "1 pop",
            "1 start #3 back",
            "1 end #3",
            "1 pop",
            "1 pop",
            "1 push d",
            "1 pop",
            "3 end #1",
        ]
    );
}

#[test]
fn no_range_outlives_its_session() {
    assert_eq!(
        calls("open at the end"),
        [
            "1 start #1 train",
            "1 push a",
            "1 push b",
            "1 push forgotten",
            "1 start #2 owned",
            "2 push there",
            "3 end #1",
            "3 end #2",
            "1 pop",
            "1 pop",
            "1 pop",
            "2 pop",
            "1 start #3 train",
            "1 push c",
            "1 pop",
            "4 end #3",
        ]
    );
}

#[test]
fn a_session_that_is_dropped_leaves_no_range() {
    let told = calls("dropped");
    let expected = ["1 start #1 train", "1 push forgotten", "1 start #2 owned", "2 end #1", "2 end #2", "1 pop"];
    assert_eq!(told, expected);
}

#[test]
fn sessions_share_a_threads_ranges() {
    assert_eq!(
        calls("two sessions"),
        [
            "1 start #1 train",
            "1 start #2 train",
            "1 push a",
            "1 push b",
            "2 end #1",
            "1 pop",
            "1 pop",
            "1 start #3 train",
            "1 push below",
            "1 push above",
            "1 pop",
            "1 start #4 above closed",
            "1 end #4",
            "1 pop",
            "3 end #2",
            "4 end #3"
        ]
    );
}

#[test]
fn every_thread_has_ranges_of_its_own() {
    let told = calls("two threads");
    let of = |thread: &str| -> Vec<&str> { told.iter().filter_map(|call| call.strip_prefix(thread)).collect() };
    assert_eq!(of("1 "), ["start #1 train", "push main", "pop"]);
    let spans = |thread: u8| {
        (0..200)
            .flat_map(move |i| {
                [format!("push {thread}.{i}"), format!("push {thread}.{i}.inner"), "pop".to_owned(), "pop".to_owned()]
            })
            .collect::<Vec<_>>()
    };
    let mut both = [of("2 "), of("3 ")];
    both.sort();
    assert_eq!(both.map(|calls| calls.into_iter().map(String::from).collect::<Vec<_>>()), [spans(0), spans(1)]);
    assert_eq!(told.last().unwrap(), "4 end #1");
}

#[test]
fn names_arrive_whole_with_nul_shown() {
    let shown = hostile().into_iter().enumerate().flat_map(|(i, name)| {
        let (name, id) = (name.replace('\0', "\u{2400}"), i + 2);
        [format!("1 push {name}"), "1 pop".to_owned(), format!("1 start #{id} {name}"), format!("1 end #{id}")]
    });
    let expected: Vec<String> =
        ["1 start #1 train".to_owned()].into_iter().chain(shown).chain(["2 end #1".to_owned()]).collect();
    // Not `assert_eq`: it would print megabytes.
    let told = calls("names");
    assert_eq!(told.len(), expected.len());
    for (told, expected) in told.iter().zip(&expected) {
        assert!(told == expected, "{told:.200} instead of {expected:.200}");
    }
}

#[test]
fn whatever_the_order_no_thread_pops_an_open_span() {
    let mut stacks: HashMap<String, Vec<String>> = HashMap::new();
    let mut closing = HashSet::new();
    let (mut open, mut spans, mut pushes, mut waited) = (HashSet::new(), 0, 0, 0);
    for call in calls("any order") {
        let words: Vec<&str> = call.splitn(4, ' ').collect();
        let stack = stacks.entry(words[0].to_owned()).or_default();
        match words[1..] {
            ["push", name] => {
                stack.push(name.to_owned());
                (spans, pushes) = (spans + 1, pushes + 1);
            }
            ["pop"] => {
                let top = stack.pop().expect("a range to pop");
                assert!(closing.contains(&top), "{top} was popped while it was open");
                waited += usize::from(stack.last().is_some_and(|next| closing.contains(next)));
            }
            ["start", id, name] => {
                assert!(open.insert(id.to_owned()));
                match name.strip_prefix("closing ") {
                    Some(name) => drop(closing.insert(name.to_owned())),
                    None => spans += 1,
                }
            }
            ["end", id] => assert!(open.remove(id), "{id} ended twice"),
            _ => panic!("an unknown call: {call}"),
        }
    }
    assert!(stacks.values().all(Vec::is_empty), "ranges that are open: {stacks:?}");
    assert!(open.is_empty(), "ranges that are open: {open:?}");
    assert!(spans > 300 && pushes > 50 && waited > 5, "{spans} spans, {pushes} pushed, {waited} late: not any order");
}

/// Every column but times: those of two runs differ.
fn facts(trace: &Path) -> Vec<String> {
    let spans: Table = Trace::read(trace).some("spans");
    let names = spans.texts("name");
    let (ids, parents, kinds) = (spans.all_ints("span_id"), spans.ints("parent_id"), spans.texts("kind"));
    let (threads, durations, measured) =
        (spans.all_ints("thread_id"), spans.ints("duration_ns"), spans.bools("measured"));
    let row = |i: usize| (ids[i], parents[i], names[i], kinds[i], threads[i], durations[i].is_some(), measured[i]);
    (0..spans.len()).map(|i| format!("{:?}", row(i))).collect()
}

#[test]
fn a_trace_is_the_same_with_a_profiler_and_without_one() {
    let no_library = dir();
    let text = no_library.path().join("text");
    std::fs::write(&text, "no library").unwrap();
    let missing = no_library.path().join("missing.so");
    // It exports no function of the name that NVTX asks for.
    let other = Path::new(if cfg!(target_os = "macos") { "libSystem.dylib" } else { "libc.so.6" });
    let library = library();
    for (scenario, rows) in
        [("in order", 7), ("out of order", 8), ("elsewhere", 8), ("open at the end", 6), ("dropped", 3)]
    {
        let with = dir();
        assert!(record(with.path(), scenario, Some(&library), "all").expect("a log").len() > 6);
        let expected = facts(&with.path().join("trace"));
        assert_eq!(expected.len(), rows, "{scenario}");
        let none = [None, Some(text.as_path()), Some(&missing), Some(other), Some(Path::new(""))];
        for library in none {
            let without = dir();
            assert_eq!(record(without.path(), scenario, library, "all"), None, "{library:?}");
            assert_eq!(facts(&without.path().join("trace")), expected, "{scenario} with {library:?}");
        }
        // It fills the tables and then declines: nothing is called.
        let refused = dir();
        assert_eq!(record(refused.path(), scenario, Some(&library), "nothing"), Some(vec![HELLO.to_owned()]));
        assert_eq!(facts(&refused.path().join("trace")), expected);
        // It takes no push and no pop.
        let half = dir();
        let lines = record(half.path(), scenario, Some(&library), "start and end").expect("a log");
        assert!(readable(&lines[1..]).iter().all(|call| call.contains(" start #") || call.contains(" end #")));
        assert_eq!(facts(&half.path().join("trace")), expected);
    }
}
