//! The page of a bundle: the right numbers with the commands that give them again, hostile text inert, bounded, the same
//! bytes for the same trace.

use std::collections::BTreeSet;
use std::path::Path;

use candle_graph::evidence::Evidence;
use candle_graph::load::{self, Options};
use candle_graph::output::query as kinds;
use candle_graph::output::report::{self, Extra, MOST};
use candle_graph::query::{self, Filter, Page};
use candle_graph::session::Limits;
use serde_json::{Value, json};

use crate::world::{Lines, World, fixture};

fn evidence(path: &Path) -> Evidence {
    gathered(load::open(path, Options::default()).expect("a readable trace"))
}

fn gathered(trace: load::Trace) -> Evidence {
    let headlines = report::headlines(&trace);
    Evidence::gather(trace, Limits::default(), &headlines).expect("evidence")
}

fn page(path: &Path) -> String {
    let page = report::markdown(&evidence(path), &Extra::default()).expect("a page");
    assert!(page.len() <= MOST, "{} bytes", page.len());
    page
}

fn page_of(lines: &Lines) -> String {
    let world = World::new();
    page(&world.write("trace.jsonl", lines.text()))
}

/// The rows of the table under the first line that begins with `above`: cells without padding.
fn table(page: &str, above: &str) -> Vec<Vec<String>> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with(above));
    assert!(lines.next().is_some(), "no line begins with {above:?}:\n{page}");
    let rows = lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Whether a row of that table has these cells, in this order.
fn has_row(page: &str, above: &str, cells: &[&str]) {
    let rows = table(page, above);
    assert!(rows.iter().any(|row| row == cells), "{above}: no row {cells:?} in {rows:#?}");
}

#[test]
fn a_page_says_what_happened_in_numbers_that_can_be_worked_out() {
    let page = page(&fixture("golden.jsonl"));
    assert!(page.starts_with("# `train` · training update 2\n"), "{page}");
    assert!(page.contains("Its measured region took **800 ns** of host wall time."), "{page}");
    // forward from 200 until backward begins at 300, backward to 500, optimizer from 600 to 900, else nothing.
    has_row(&page, "**By step.**", &["forward", "100 ns", "12.5 %", "▇▇▇"]);
    has_row(&page, "**By step.**", &["backward", "200 ns", "25.0 %", "▇▇▇▇▇"]);
    has_row(&page, "**By step.**", &["optimizer", "300 ns", "37.5 %", "▇▇▇▇▇▇▇▇"]);
    has_row(&page, "**By step.**", &["untracked", "200 ns", "25.0 %", "▇▇▇▇▇"]);
    let optimizer = ["`optimizer`", "300 ns", "37.5 %", "▇▇▇▇▇▇▇▇", "300 ns", "290 ns", "measured_subtree"];
    has_row(&page, "**Slowest spans**", &optimizer);
    // Of data, 50 to 250, all but the 40 of decode is its own, 150 of it in the region; it ran beside.
    has_row(&page, "**Slowest spans**", &["`data`", "130 ns", "–", "", "200 ns", "–", "concurrent_overlap"]);
    has_row(&page, "**By name**", &["`matmul`", "3", "100 ns", "50.0 %", "▇▇▇▇▇▇▇▇▇▇", "30 ns"]);
    has_row(&page, "**By shape**", &["`matmul`", "2 × 3", "f32", "cpu", "2", "100 ns", "50 ns", "60 ns"]);
    has_row(&page, "**By shape**", &["`matmul`", "scalar", "f16", "cpu", "1", "0 ns", "0 ns", "0 ns"]);
    // A 100 at 210, B 50 at 220: 150, reached again at 320 and 400; E stays.
    has_row(&page, "**By device**", &["cpu", "150 B", "220 ns", "300 B", "4", "3", "50 B"]);
    has_row(&page, "**Checkpoints**", &["cuda:0", "2", "10 B", "30 B", "64 B", "80 B"]);
    // A free size alone: what was used is not known.
    has_row(&page, "**Checkpoints**", &["cpu", "1", "–", "–", "–", "–"]);
    has_row(&page, "**By state.**", &["present", "2", "1.500", "3.000"]);
    // The root of 3 and 1.5.
    has_row(&page, "**By family**", &["root `parameters`", "nothing", "4", "2", "1", "1", "0", "0", "3.354"]);
    has_row(&page, "**Not present.**", &["`embedding`", "`table`", "non_finite"]);
    assert!(page.contains("**2** of 3 statistics met elements that are not finite."), "{page}");
    assert!(page.contains("First seen in **`hidden`**, recorded in `forward`."), "{page}");
    has_row(&page, "**Not finite**", &["`hidden`", "`forward`", "4", "2", "1", "1", "0"]);
    has_row(&page, "**In order of recording.**", &["`hidden`", "4", "f32", "4", "4.000 †", "5.000 †", "7.000 †"]);
    has_row(&page, "**In order of recording.**", &["`loss`", "scalar", "f64", "1", "-2.500", "", ""]);
    assert!(page.contains("Not recorded: device timing neither declared nor recorded."), "{page}");
    has_row(
        &page,
        "What may be claimed",
        &["`operation_coverage`", "● complete", "operations declared complete; 4 recorded"],
    );
    assert!(!page.contains("left out"), "{page}");
}

/// The commands in a page, each with its words.
fn commands(page: &str) -> BTreeSet<Vec<&str>> {
    let code = page.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("candle-graph "));
    code.map(|code| code.splitn(4, ' ').collect()).collect()
}

#[test]
fn every_command_of_a_page_answers() {
    let mut invalid = Lines::sound();
    invalid.line("gradient", "event_id", "g1")["state"] = json!("non_finite");
    invalid.line("gradient", "event_id", "g1")["norm"] = Value::Null;
    let world = World::new();
    let paths = [
        (fixture("golden.jsonl"), 20),
        (world.write("sound.jsonl", Lines::sound().text()), 20),
        (world.write("invalid.jsonl", invalid.text()), 10),
    ];
    for (path, least) in paths {
        let evidence = evidence(&path);
        let page = report::markdown(&evidence, &Extra::default()).expect("a page");
        let found = commands(&page);
        assert!(found.len() >= least, "{}: {} of {found:?}", path.display(), found.len());
        for command in found {
            let answered = match command[..] {
                ["query", "BUNDLE", "--kind", name] => {
                    let kind = kinds::kind(name).unwrap_or_else(|| panic!("no kind {name}"));
                    kinds::build(&evidence, kind, &kinds::Request::default()).map(drop)
                }
                ["sql", "BUNDLE", "--query", name] => {
                    query::rows(&evidence.session, name, &Filter::default(), Page::first(1)).map(drop)
                }
                ["sql", "BUNDLE", "'SELECT", "* FROM run'"]
                | ["sql", "BUNDLE", "'SELECT", "* FROM spans ORDER BY start_ns'"]
                | ["overview", "BUNDLE"]
                | ["verify", "BUNDLE", "--semantic"] => Ok(()),
                _ => panic!("no such command: {command:?}"),
            };
            answered.unwrap_or_else(|e| panic!("{}: {command:?}: {e}", path.display()));
        }
    }
}

#[test]
fn a_capture_that_failed_says_so_first_and_ranks_nothing() {
    let mut lines = Lines::sound();
    *lines.terminal() =
        json!({"kind": "terminal", "outcome": "failed", "timestamp_ns": 1000, "reason": "loss <diverged>"});
    let failed = page_of(&lines);
    let caution = "# `train` · training update 3\n\n> [!CAUTION]\n> **The program ended this capture as failed**: loss \
                   &lt;diverged&gt;.\n";
    assert!(failed.starts_with(caution), "{failed}");
    for ranking in ["**By step.**", "**Slowest spans**", "**By name**", "**Largest activations**", "took **"] {
        assert!(!failed.contains(ranking), "{ranking}:\n{failed}");
    }
    has_row(&failed, "**By device**", &["cpu", "16 B", "210 ns", "16 B", "1", "1", "0 B"]);
    assert!(failed.contains("Not derived: this capture is not complete and valid, as said at the top."), "{failed}");

    let mut lines = Lines::sound();
    lines.drop("span_end", "id", "s1");
    let invalid = page_of(&lines);
    assert!(invalid.contains("> **This capture is not valid**: 1 structural error, first `open_span`: "), "{invalid}");
    has_row(&invalid, "1 structural error", &["**error**", "`open_span`", "a span never closed: s1 \"update\""]);
}

/// What Markdown, HTML, a terminal or a bidirectional reader might obey.
const HOSTILE: [&str; 4] = [
    "x](http://evil.example/) ![i](https://evil.example/i.png) www.evil.example a@evil.example [ref]: x \\",
    "<script>alert(1)</script> <img src=x onerror=alert(1)> <!-- &lt; `code` ``two`` ` | cell | a\\|b",
    "**bold** _em_ ~~gone~~ # h $m$\n# heading\n| a | b |\r\n| - | - |\n\t- item\n> [!NOTE]\n```",
    "- 1. + x\u{2028}1. one\u{202e}rtl\u{1b}[31mred\u{200b}\u{feff}\u{7f}\u{85}\u{e0041} ` `` ",
];

/// A sound trace in which every free text is `text`, with `many` of everything that a table lists.
fn said_everywhere(text: &str, many: usize) -> Lines {
    let mut lines = Lines::sound();
    let name = |what: &str, n: usize| format!("{what}{n}{text}");
    lines.meta()["entrypoint"] = json!(text);
    lines.line("span_start", "id", "s0")["name"] = json!(text);
    for field in ["run_id", "correlation_id", "device"] {
        lines.meta()[field] = json!(text);
    }
    lines.meta()["tags"] =
        (0..many).map(|n| (name("key", n), json!(name("tag", n)))).collect::<serde_json::Map<_, _>>().into();
    lines.contract().as_object_mut().expect("a contract").remove("gradient_contract");
    lines.contract()["gradients"] = json!("partial");
    let mut copy = |kind: &str, change: &dyn Fn(&mut Value)| {
        let mut line = lines.0.iter().find(|line| line["kind"] == kind).expect("a line of that kind").clone();
        change(&mut line);
        lines.add(line);
    };
    for n in 0..many {
        copy("op", &|op| {
            op["op_name"] = json!(name("op", n));
            op["output"] = json!(name("tensor", n));
            op["device"] = json!(name("device", n));
        });
        copy("tensor_stats", &|stats| {
            stats["label"] = json!(name("stats", n));
            stats["non_finite"] = json!(n % 2);
        });
        copy("gradient", &|gradient| {
            gradient["event_id"] = json!(name("event", n));
            gradient["root"] = json!(name("root", n));
            gradient["key"] = json!(name("key", n));
            gradient["state"] = json!("missing");
            gradient["norm"] = Value::Null;
        });
        copy("device_interval", &|interval| {
            interval["clock_id"] = json!(name("clock", n));
            interval["device"] = json!(name("gpu", n));
        });
        copy("device_memory", &|sample| sample["device"] = json!(name("memory", n)));
        for action in ["alloc", "free"] {
            copy("memory", &|memory| {
                memory["storage_id"] = json!(name("storage", n));
                memory["tensor_id"] = json!(name("tensor", n));
                memory["device"] = json!(name("device", n));
                memory["op_name"] = json!(name("op", n));
                memory["action"] = json!(action);
            });
        }
    }
    lines
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    let honest = page_of(&said_everywhere("plain", 12));
    for shown in ["**Slowest spans**", "**Largest activations**", "**By clock**", "**Not finite**", "**Not present.**"]
    {
        assert!(honest.contains(shown), "{shown}:\n{honest}");
    }
    for text in HOSTILE {
        let hostile = page_of(&said_everywhere(text, 12));
        inert(&hostile, &honest);
    }
}

fn inert(hostile: &str, honest: &str) {
    let headings = |page: &str| -> Vec<String> {
        page.lines().filter(|line| line.starts_with('#')).skip(1).map(str::to_owned).collect()
    };
    assert_eq!(headings(hostile), headings(honest), "a text begins no section");
    let tables = |page: &str| page.lines().filter(|line| line.starts_with("| :-")).count();
    assert_eq!(tables(hostile), tables(honest), "a text begins no table");
    let strange = |c: &char| {
        (c.is_control() && *c != '\n') || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
    };
    assert_eq!(hostile.chars().find(strange), None, "nothing that cannot be seen");
    let mut columns = 0;
    for line in hostile.lines() {
        let bars = line.matches('|').count();
        if !line.starts_with('|') {
            assert_eq!(bars, 0, "{line}");
        } else if columns > 0 {
            assert_eq!(bars, columns, "as many cells as the first row: {line}");
        }
        columns = if line.starts_with('|') { bars } else { 0 };
        assert_eq!(line.matches('`').count() % 2, 0, "code that ends: {line}");
        let outside: String = line.replace("[!CAUTION]", "").split('`').step_by(2).collect();
        let bare =
            outside.replace("\\[", "").replace("\\]", "").replace("\\*", "").replace("\\~", "").replace("\\_", "");
        for live in ["<", "[", "]", "](", "http:/", "https:/", "www.", "@e", "~", " _", "$", "**bold", "&l;"] {
            assert!(!bare.contains(live), "{live:?} in {line}");
        }
        assert!(!line.contains("``"), "{line}");
    }
}

#[test]
fn a_page_is_bounded_whatever_a_trace_holds() {
    let long = "|".repeat(10 << 20);
    let mut lines = Lines::sound();
    lines.meta()["entrypoint"] = json!(long);
    lines.line("span_start", "id", "s0")["name"] = json!(long);
    lines.line("op", "op_name", "relu")["op_name"] = json!(long);
    lines.meta()["tags"] = json!({"note": long});
    let page = page_of(&lines);
    assert!(page.contains("[10,485,760 bytes\\]"), "{page}");
    for text in ["|", "\u{202e}", "a`b@"] {
        page_of(&said_everywhere(&text.repeat(300), 40));
    }
}

#[test]
fn a_large_trace_has_a_page_that_says_what_it_leaves_out() {
    let mut lines = Lines::sound();
    let last = lines.0.len() - 3;
    let more = (0..100_000u32).flat_map(|n| {
        let start = json!({"kind": "span_start", "id": format!("n{n}"), "parent_id": "s4", "name": format!("<b>|{n}"),
                           "start_ns": 601, "span_kind": "function", "measured": false});
        [start, json!({"kind": "span_end", "id": format!("n{n}"), "duration_ns": 1})]
    });
    let tail = lines.0.split_off(last);
    lines.0.extend(more);
    lines.0.extend(tail);
    let page = page_of(&lines);
    assert!(page.contains(" Showing 5 of 100,004."), "{page}");
    for (part, kind) in [("work", "work"), ("activations", "activations"), ("memory held at the peak", "memory")] {
        let why = format!("the trace is large; `candle-graph query BUNDLE --kind {kind}`");
        has_row(&page, "What may be claimed", &[part, "○ left out", &why]);
    }
    assert!(page.contains("Left out of the page of a large trace."), "{page}");
}

#[test]
fn one_trace_has_one_page_wherever_it_lies() {
    let world = World::new();
    let first = fixture("golden.jsonl");
    std::fs::create_dir(world.path("other place")).expect("a directory");
    let second = world.write("other place/Trace <b>.jsonl", std::fs::read(&first).expect("a fixture"));
    let pages = [page(&first), page(&first), page(&second)];
    assert!(pages[0] == pages[1] && pages[0] == pages[2]);
    assert!(!pages[0].contains("golden.jsonl") && !pages[0].contains("fixtures"), "no path");
}

#[test]
fn a_page_says_what_a_bundle_carries_and_what_was_removed() {
    let world = World::new();
    std::fs::create_dir(world.path("n")).expect("a folder");
    world.write("n/cuda_gpu_trace.csv", [b' '; 2048]);
    world.write("n/<a>|b.csv", "x");
    let mut trace = load::open(&fixture("golden.jsonl"), Options::default()).expect("a readable trace");
    load::nsight::attach(&mut trace, &world.path("n")).expect("reports");
    let extra = Extra { removed: vec![("host name".to_owned(), 3)] };
    let page = report::markdown(&gathered(trace), &extra).expect("a page");
    has_row(&page, "**Nsight files**", &["`cuda_gpu_trace.csv`", "2.0 KiB"]);
    has_row(&page, "**Nsight files**", &["&lt;a&gt;&#124;b.csv", "1 B"]);
    has_row(&page, "**Removed before publication**", &["`host name`", "3"]);
}
