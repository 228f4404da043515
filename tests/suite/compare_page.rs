//! What people see of a comparison: the pages of `--report`, the noise of one cohort, the plan of runs; and every way to ask
//! for them wrongly.
//!
//! Cohorts of bundles whose wall times are chosen: medians and deltas can be worked out by hand.

use std::path::Path;

use serde_json::{Value, json};

use crate::campaign::publish;
use crate::world::{Lines, Ran, World};

/// A run of an implementation: its place in time, in seconds, and the wall time of its region.
fn capture(implementation: &str, run: &str, second: usize, wall_ns: i64, pair: Option<&str>) -> Lines {
    let mut lines = Lines::sound();
    let meta = lines.meta();
    meta["run_id"] = json!(run);
    meta["timestamp"] = json!(format!("2026-01-02T03:{:02}:{:02}Z", second / 60, second % 60));
    meta["comparison_identity"] = json!({
        "implementation_id": implementation, "workload_id": "w", "model_id": "m", "config_id": "c", "data_id": "d",
        "seed_policy": "fixed", "physical_batch": 1, "accumulation_steps": 1, "precision": "f32",
        "device_state": "cpu", "pair_id": pair});
    lines.line("span_end", "id", "s1")["duration_ns"] = json!(wall_ns);
    lines.line("span_end", "id", "s0")["duration_ns"] = json!(wall_ns + 1_000);
    lines.terminal()["timestamp_ns"] = json!(wall_ns + 1_000);
    lines
}

/// Wall times of five baselines and five candidates, in ABBA order.
const SLOW: [i64; 5] = [1_000_000, 1_020_000, 1_010_000, 1_030_000, 1_040_000];
const FAST: [i64; 5] = [800_000, 820_000, 810_000, 830_000, 840_000];

/// A world with `b1` … and `c1` …; baselines start at even seconds, candidates at odd ones.
fn cohorts(baseline: &[i64], candidate: &[i64], ids: (&str, &str), paired: bool) -> World {
    let world = World::new();
    for (side, walls, id, odd) in [("b", baseline, ids.0, 0), ("c", candidate, ids.1, 1)] {
        for (at, wall) in walls.iter().enumerate() {
            let (name, pair) = (format!("{side}{}", at + 1), format!("pair-{}", at + 1));
            let lines = capture(id, &format!("run-{name}"), 2 * at + odd, *wall, paired.then_some(pair.as_str()));
            publish(&world, &name, &lines);
        }
    }
    world
}

fn names(side: &str, runs: usize) -> Vec<String> {
    (1..=runs).map(|at| format!("{side}{at}")).collect()
}

/// `compare` of the first runs of both sides.
fn compare(world: &World, runs: usize, more: &[&str]) -> Ran {
    let mut arguments = vec!["compare".to_owned(), "--baseline".to_owned()];
    arguments.extend(names("b", runs));
    arguments.push("--candidate".to_owned());
    arguments.extend(names("c", runs));
    arguments.extend(more.iter().map(|a| (*a).to_owned()));
    world.run(&arguments)
}

fn read(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn refused(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{}{}", ran.stderr, ran.text());
    assert!(ran.stdout.is_empty(), "{}", ran.text());
    for word in words {
        assert!(ran.stderr.contains(word), "{word:?} in {}", ran.stderr);
    }
}

#[test]
fn both_pages_are_written_whichever_is_named() {
    let world = cohorts(&SLOW, &FAST, ("naive", "fused"), false);
    let plain = compare(&world, 5, &[]).json();
    let ran = compare(&world, 5, &["--report", "page.html"]);
    assert_eq!(ran.json(), plain, "the result is the same with pages");
    let (html, markdown) = (read(&world, "page.html"), read(&world, "page.md"));
    std::fs::create_dir(world.path("other")).expect("a directory");
    assert_eq!(compare(&world, 5, &["--report", "other/page.md"]).code, Some(0));
    assert_eq!((read(&world, "other/page.html"), read(&world, "other/page.md")), (html.clone(), markdown.clone()));

    // First the verdict in words, then the picture, then everything else.
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} in {html}"));
    let order =
        ["<h1 class=\"candidate_faster\">The candidate is faster</h1>", "-200.00 µs (-19.6 %)", "<svg role=\"img\""];
    let order: Vec<usize> =
        order.into_iter().map(place).chain([place("id=\"labels\""), place("id=\"again\"")]).collect();
    assert!(order.is_sorted(), "{order:?}");
    // One dot a run, in the order in which they started: A B A B …
    let circles = html.matches("<title>run ").count();
    assert_eq!(circles, 10);
    for (place, side, wall) in
        [(1, "baseline", "1.000 ms"), (2, "candidate", "800.00 µs"), (10, "candidate", "840.00 µs")]
    {
        assert!(html.contains(&format!("<title>run {place}, {side}: {wall} (run-")), "run {place}");
    }
    assert!(html.contains("median naive") && html.contains("median fused"), "lines are named");
    assert!(html.contains("class=\"whole\"") && html.contains("class=\"zero\""), "the interval about zero");
    // Nothing is fetched and nothing runs.
    assert!(
        html.contains("default-src 'none'")
            && !html.contains("<script")
            && !html.contains("http:")
            && !html.contains("https"),
        "{html}"
    );
    assert!(html.contains("candle-graph compare --baseline b1 b2 b3 b4 b5 --candidate c1 c2 c3 c4 c5 --all"), "{html}");
    assert_eq!(html.matches("<th").count(), html.matches("<th scope=").count() + html.matches("<thead").count());

    assert!(markdown.starts_with("# The candidate is faster\n\n\\-200.00 µs (-19.6 %)"), "{markdown}");
    assert!(markdown.contains("baseline "), "{markdown}");
    assert!(markdown.contains("| baseline  | `naive` "), "{markdown}");
}

#[test]
fn pages_do_not_depend_on_the_order_of_the_input() {
    let world = cohorts(&SLOW, &FAST, ("naive", "fused"), true);
    let page = |baseline: &[&str], name: &str| {
        let candidate = ["--candidate", "c1", "c2", "c3", "c4", "c5", "--report", name];
        assert_eq!(world.run(&[&["compare", "--baseline"], baseline, &candidate].concat()).code, Some(0));
        let (html, _) =
            read(&world, name).split_once("id=\"again\"").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("end");
        html
    };
    let one = page(&["b1", "b2", "b3", "b4", "b5"], "one.html");
    assert_eq!(one, page(&["b4", "b2", "b5", "b1", "b3"], "two.html"));
    // Five lines join five pairs, and each has its delta.
    let path = one.split("class=\"pair\" d=\"").nth(1).expect("pairs are joined");
    assert_eq!(path.split('"').next().expect("a path").matches('M').count(), 5);
    assert_eq!(one.matches("<circle class=\"delta\"").count(), 5);
}

#[test]
fn pages_say_why_there_is_no_verdict_and_what_stands_apart() {
    let world = cohorts(&SLOW, &FAST, ("naive", "fused"), false);
    let ran = compare(&world, 4, &["--report", "page.html", "--require-eligible", "-o", "c.json"]);
    refused(&ran, 1, &["insufficient_runs"]);
    let html = read(&world, "page.html");
    assert!(html.contains("<h1 class=\"ineligible\">No verdict</h1>"), "{html}");
    assert!(html.contains("<dt><code>insufficient_runs</code></dt>"), "{html}");
    assert!(!html.contains("class=\"whole\"") && html.contains("no interval"), "no interval is drawn");
    assert!(read(&world, "page.md").contains("- `insufficient_runs`: 4 baseline and 4 candidate runs"));
    assert!(world.path("c.json").exists());

    let world = cohorts(&[1_000_000, 1_010_000, 9_000_000, 1_020_000, 1_030_000], &SLOW, ("x", "y"), false);
    let ran = compare(&world, 5, &["--report", "page.html", "--threshold", "50"]).json();
    assert_eq!(ran["design"]["baseline_outliers"], json!(["run-b3"]));
    let html = read(&world, "page.html");
    // The third baseline is the fifth run.
    assert!(html.contains("class=\"ring\"") && html.contains(">run 5</text>"), "{html}");
    assert!(html.contains("run 5 of the baseline (<code>run-b3</code>, 9.000 ms)"), "{html}");
    assert!(html.contains("threshold ±50 %"), "{html}");
}

/// What may be in a label or an id and must stay text.
const HOSTILE: [&str; 12] = [
    "</title></style><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!-- -->]]><![CDATA[",
    "&lt;b&gt; &amp; &#60;",
    "a\u{202e}b\u{200b}c\u{feff}",
    "\u{1b}[31mred\u{7}\u{0}",
    "`code` | *b* _i_ [x](http://e.example) <http://e.example>",
    "line\nbreak\r\ttab",
    "</svg></desc><svg onload=alert(1)>",
    "${jndi:ldap://e.example}{{7*7}}",
    "javascript:alert(1)",
];

#[test]
fn hostile_text_stays_text() {
    let world = World::new();
    let long = "x<".repeat(4_000);
    for (side, walls, odd) in [("b", SLOW, 0), ("c", FAST, 1)] {
        for (at, wall) in walls.iter().enumerate() {
            let id = HOSTILE[usize::from(side == "c")];
            let run = format!("run-{side}{at}-{}", HOSTILE[at]);
            let mut lines = capture(id, &run, 2 * at + odd, *wall, Some(&format!("{}{at}", HOSTILE[2])));
            let meta = lines.meta();
            meta["comparison_identity"]["workload_id"] = json!(HOSTILE[0]);
            meta["comparison_identity"]["config_id"] = json!(long);
            meta["host_name"] = json!(HOSTILE[9]);
            for (index, text) in HOSTILE.iter().chain([&long.as_str()]).enumerate() {
                lines.add(json!({"kind": "tensor_stats", "span_id": "s2", "label": text, "shape": [4], "dtype": "f32",
                    "elements": 4, "non_finite": usize::from(side == "c"), "rms": 1.0, "abs_max": 1.0, "mean": 1.0}));
                lines.add(json!({"kind": "op", "span_id": "s2", "op_name": text, "inputs": ["T1"],
                    "output": format!("H{index}"), "shape": [4], "dtype": "f32", "device": "cpu", "duration_ns": 1,
                    "timestamp_ns": 230 + index}));
            }
            publish(&world, &format!("{side}{}", at + 1), &lines);
        }
    }
    let ran = compare(&world, 5, &["--report", "page.html", "--format", "text"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (html, markdown, text) = (read(&world, "page.html"), read(&world, "page.md"), ran.text());
    let lower = html.to_lowercase();
    for tag in ["<script", "<img", "<!--", "<![cdata", "<b>", "onload=alert(1)>", "onerror=alert(1)>"] {
        assert!(!lower.contains(tag), "{tag}");
    }
    for tag in ["title", "style", "svg", "desc", "main", "table"] {
        let (open, close) = (html.matches(&format!("<{tag}")).count(), html.matches(&format!("</{tag}>")).count());
        assert_eq!(open, close, "<{tag}> closes where it is opened");
    }
    // No quote of a text ends an attribute: outside tags' own, all are escaped.
    assert!(!html.contains("' onmouseover") && html.contains("&#39; onmouseover"), "quotes are escaped");
    for (what, page) in [("html", &html), ("markdown", &markdown), ("text", &text)] {
        let hidden = |c: char| (c.is_control() && c != '\n') || "\u{202e}".contains(c);
        assert_eq!(page.chars().find(|c| hidden(*c)), None, "{what}");
        assert!(page.len() < 200_000, "{what}: {} bytes", page.len());
    }
    assert!(!html.contains('\u{200b}') && html.contains("\\u{200b}"), "what nobody sees is shown");
    // What is escaped is no link.
    let alive = markdown.replace("\\]", "").replace("\\[", "");
    for tag in ["<script", "<img", "<svg", "](http", "<http"] {
        assert!(!alive.contains(tag), "{tag} in Markdown");
    }
    // A table's rows stay rows: as many cells in each line of a table as in the first.
    for block in markdown.split("\n\n").filter(|b| b.starts_with('|')) {
        let cells: Vec<usize> = block.lines().map(|line| line.matches('|').count()).collect();
        assert!(cells.iter().all(|n| n == &cells[0]), "{cells:?} in {block}");
    }
}

#[test]
fn a_page_has_its_own_place() {
    let world = cohorts(&SLOW, &FAST, ("naive", "fused"), false);
    refused(&compare(&world, 5, &["--report", "page.txt"]), 2, &["page.txt", ".html or .md"]);
    refused(&compare(&world, 5, &["--report", "b1/page.html"]), 1, &["lies in the bundle"]);
    refused(&compare(&world, 5, &["--report", "missing/page.html"]), 1, &["create it first"]);
    // The page that is not named is one, too.
    refused(&compare(&world, 5, &["--report", "page.md", "-o", "page.html"]), 2, &["--report", "--output"]);
    std::fs::create_dir(world.path("dir.md")).expect("a directory");
    refused(&compare(&world, 5, &["--report", "dir.html"]), 1, &["dir.md", "directory"]);
    let stray: Vec<_> = std::fs::read_dir(world.path("")).expect("entries").filter_map(Result::ok).collect();
    let pages: Vec<_> = stray.iter().filter(|e| e.path().extension().is_some_and(|e| e == "html")).collect();
    assert!(pages.is_empty(), "{pages:?}");
    // A page that is there is replaced as a whole.
    world.write("page.html", "old");
    assert_eq!(compare(&world, 5, &["--report", "page.html"]).code, Some(0));
    assert!(read(&world, "page.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn cohort_writes_the_pages_of_its_runs() {
    let world = World::new();
    for (side, walls) in [("baseline", SLOW), ("candidate", FAST)] {
        for (at, wall) in walls.iter().enumerate() {
            let pair = format!("pair-{:03}", at + 1);
            let run = format!("run-{side}-{at}");
            let mut lines = capture(side, &run, 2 * at, *wall, Some(&pair));
            // After the process that publishes it began, whenever that is.
            lines.meta()["timestamp"] = json!(format!("2126-01-02T03:{at:02}:05Z"));
            publish(&world, &format!("made-{side}-{pair}"), &lines);
        }
    }
    let command = "cp -r made-$CANDLE_GRAPH_COHORT-$CANDLE_GRAPH_PAIR_ID $CANDLE_GRAPH_BUNDLE";
    let cohort = |report: &str| {
        let sides = ["--baseline", command, "--candidate", command];
        world.run(&[&["cohort"], &sides[..], &["--runs", "5", "--out", "out", "--report", report]].concat())
    };
    // Before anything runs.
    refused(&cohort("out/baseline/001/page.html"), 1, &["page.html"]);
    refused(&cohort("missing/page.html"), 1, &["create it first"]);
    assert!(!world.path("out").exists(), "nothing ran");
    // The directory of the runs is there when the pages are.
    let ran = cohort("out/page.html");
    assert_eq!(ran.json()["paired"], json!(true), "{}", ran.stderr);
    assert!(read(&world, "out/page.html").contains("out/baseline/001"));
    assert!(read(&world, "out/page.md").starts_with("# "));
}

/// `--aa` of the first runs of a world's baseline.
fn aa(world: &World, runs: usize, more: &[&str]) -> Ran {
    let mut arguments = vec!["compare".to_owned(), "--aa".to_owned()];
    arguments.extend(names("b", runs));
    arguments.extend(more.iter().map(|a| (*a).to_owned()));
    world.run(&arguments)
}

#[test]
fn one_cohort_has_a_noise_floor_and_no_verdict() {
    // 100, 101, … 109 µs; the order mixes them.
    let walls = [103_000, 100_000, 108_000, 105_000, 101_000, 109_000, 102_000, 106_000, 104_000, 107_000];
    let world = cohorts(&walls, &[], ("x", "x"), true);
    let noise = aa(&world, 10, &[]).json();
    assert_eq!((&noise["schema"], &noise["verdict"]), (&json!("candle-graph/noise/1"), &json!("noise_floor")));
    assert_eq!((&noise["comparable"], &noise["implementation_id"]), (&json!(true), &json!("x")));
    // ABBAABBAAB: A has 103, 105, 101, 106, 104 and B the others.
    let halves = &noise["halves"];
    assert_eq!(halves["sequence"], json!("ABBAABBAAB"));
    assert_eq!(
        (&halves["first"]["median_ns"], &halves["second"]["median_ns"]),
        (&json!(104_000.0), &json!(107_000.0)),
        "{halves}"
    );
    assert_eq!((&halves["median_delta_ns"], &halves["differ"]), (&json!(3_000.0), &json!(false)));
    // Splits of ten equally spaced values, the middle 104.5: counted here one by one.
    let sorted: Vec<f64> = (100..110).map(f64::from).collect();
    let mut deltas: Vec<f64> = (0u32..1 << 10)
        .filter(|mask| mask.count_ones() == 5)
        .map(|mask| {
            let half = |chosen: bool| -> f64 {
                let of = |(at, _): &(usize, &f64)| (mask >> at & 1 == 1) == chosen;
                *sorted.iter().enumerate().filter(of).map(|(_, x)| x).nth(2).expect("the middle of five")
            };
            100.0 * (half(true) - half(false)).abs() / 104.5
        })
        .collect();
    deltas.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * 251.0;
        let (below, part) = (place as usize, place.fract());
        deltas[below] + part * (deltas[below + 1] - deltas[below])
    };
    let floor = &noise["noise"];
    assert_eq!((&floor["half"], &floor["splits"], &floor["method"]), (&json!(5), &json!(252), &json!("all_splits")));
    for (field, expected) in [("median_percent", at(0.5)), ("p95_percent", at(0.95)), ("max_percent", deltas[251])] {
        let found = floor[field].as_f64().expect("a number");
        assert!((found - expected).abs() < 1e-9, "{field}: {found}, {expected}");
    }
    let said = noise["headline"].as_str().expect("text");
    assert!(said.starts_with(&format!("The noise floor is {:.1} %", at(0.95))), "{said}");
    // The order of the input decides nothing.
    let mut reversed: Vec<String> = vec!["compare".into(), "--aa".into()];
    reversed.extend(names("b", 10).into_iter().rev());
    assert_eq!(world.run(&reversed).json(), noise);
    let text = aa(&world, 10, &["--format", "text"]).text();
    assert!(text.starts_with("The noise floor is") && text.contains("all 252 splits into halves"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!text.contains("faster") && !text.contains("slower"), "{text}");
}

#[test]
fn one_cohort_without_a_noise_floor() {
    let world = cohorts(&[1_000_000; 10], &[1_000_000], ("x", "y"), false);
    let codes = |noise: &Value| -> Vec<String> {
        let reasons = noise["reasons"].as_array().expect("reasons").iter();
        reasons.map(|r| r["code"].as_str().expect("a code").to_owned()).collect()
    };
    let nine = aa(&world, 9, &[]).json();
    assert_eq!(
        (codes(&nine), &nine["noise"], &nine["halves"]),
        (vec!["insufficient_runs".into()], &Value::Null, &Value::Null)
    );
    refused(&aa(&world, 9, &["--require-eligible", "-o", "n.json"]), 1, &["insufficient_runs"]);
    assert!(world.path("n.json").exists());
    // Another implementation is none of this cohort.
    assert_eq!(codes(&aa(&world, 10, &["c1"]).json()), ["implementation_id_inconsistent"]);
    // Nor is one run twice.
    assert_eq!(codes(&aa(&world, 10, &["b1"]).json()), ["duplicate_run_ids"]);
    let trace = world.write("raw.jsonl", capture("x", "raw", 59, 1_000_000, None).text());
    let trace = trace.to_str().expect("UTF-8");
    refused(&aa(&world, 10, &[trace]), 1, &["is no bundle"]);
    let raw = aa(&world, 10, &[trace, "--unverified-traces"]).json();
    assert_eq!((codes(&raw), &raw["verdict"]), (vec!["unverified_inputs".into()], &json!("ineligible")));
}

#[test]
fn halves_that_differ_are_no_verdict() {
    // Slow at the places of B: what an A/A must not call a difference of programs.
    let walls = [100, 200, 202, 101, 102, 203, 204, 103, 104, 205].map(|us| us * 1_000);
    let world = cohorts(&walls, &[], ("x", "x"), false);
    let noise = aa(&world, 10, &[]).json();
    assert_eq!((&noise["halves"]["differ"], &noise["verdict"]), (&json!(true), &json!("noise_floor")));
    assert_eq!(noise["cautions"][0]["code"], json!("halves_differ"));
    let text = aa(&world, 10, &["--format", "text"]).text();
    assert!(text.contains("  mind: the halves differ by +99.0 %, of one and the same program"), "{text}");
}

#[test]
fn a_plan_of_runs() {
    let world = World::new();
    let plan = world.run(&["compare", "--schedule", "6", "--seed", "3"]).json();
    assert_eq!(
        (&plan["schema"], &plan["runs"], &plan["seed"]),
        (&json!("candle-graph/schedule/1"), &json!(6), &json!(3))
    );
    let order: Vec<&str> =
        plan["order"].as_array().expect("an order").iter().map(|s| s.as_str().expect("a side")).collect();
    let letters: String = order.iter().map(|side| if *side == "baseline" { 'A' } else { 'B' }).collect();
    assert_eq!(letters.len(), 12);
    for block in letters.as_bytes().chunks(4) {
        assert!([&b"ABBA"[..], b"BAAB"].contains(&block), "{letters}");
    }
    let text = world.run(&["compare", "--schedule", "6", "--seed", "3", "--format", "text"]).text();
    let lines: Vec<String> = order.iter().enumerate().map(|(at, side)| format!("{} {side}\n", at + 1)).collect();
    assert_eq!(text, lines.concat());
    let others: std::collections::BTreeSet<String> = (0..8)
        .map(|seed| world.run(&["compare", "--schedule", "6", "--seed", &seed.to_string()]).json()["order"].to_string())
        .collect();
    assert!(others.len() > 2, "the seed is the order");
    // The plan is the one that `cohort` runs.
    let ran = world.run(&[
        "cohort",
        "--baseline",
        "false",
        "--candidate",
        "false",
        "--runs",
        "6",
        "--seed",
        "3",
        "--out",
        "o",
    ]);
    assert_eq!(ran.code, Some(1));
    let cohort: Value = serde_json::from_str(&read(&world, "o/cohort.json")).expect("JSON");
    assert_eq!(cohort["order"], plan["order"]);
}

#[test]
fn one_question_at_a_time() {
    let world = World::new();
    for arguments in [
        &["--schedule", "4"][..],
        &["--schedule", "10001"],
        &["--schedule", "x"],
        &["--schedule", "5", "--aa", "x"],
        &["--schedule", "5", "--baseline", "x"],
        &["--schedule", "5", "--threshold", "1"],
        &["--schedule", "5", "--report", "a.html"],
        &["--aa", "x", "--candidate", "y"],
        &["--aa", "x", "--report", "a.html"],
        &["--aa", "x", "--threshold", "1"],
        &["--aa", "x", "--seed", "1"],
        &["--baseline", "x"],
        &["--baseline", "x", "--candidate", "y", "--seed", "1"],
        &[],
    ] {
        refused(&world.run(&[&["compare"], arguments].concat()), 2, &[]);
    }
    assert!(!Path::new("a.html").exists());
}

#[test]
fn text_for_a_terminal() {
    let world = cohorts(&SLOW, &[810_000, 820_000, 830_000, 840_000, 9_000_000], ("naive", "fused"), false);
    let text = compare(&world, 5, &["--format", "text"]).text();
    assert!(text.contains("\n  mind: 1 of 10 runs stands apart; it was kept\n"), "{text}");
    assert!(!text.contains("partial"), "{text}");
    assert!(text.contains("\n  label ") && text.contains("\n  operation "), "columns have titles: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}
