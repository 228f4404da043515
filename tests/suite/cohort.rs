//! `cohort`: real processes in a planned order; every way a run can fail; going on after any end.
//!
//! The program under the driver is a shell command that copies a bundle made beforehand to where it is told to publish,
//! and notes that it ran.

use std::path::Path;
use std::time::{Duration, Instant};

use candle_graph::load::bundle::sha256;
use serde_json::{Value, json};

use crate::campaign::publish;
use crate::world::{Lines, Ran, World};

/// Notes the run and publishes what was made for it.
const RUN: &str = "echo \"$CANDLE_GRAPH_COHORT ${CANDLE_GRAPH_PAIR_ID#pair-}\" >> order; \
                   cp -r \"made/$CANDLE_GRAPH_COHORT-${CANDLE_GRAPH_PAIR_ID#pair-}\" \"$CANDLE_GRAPH_BUNDLE\"";

/// A capture as the n-th run of a cohort.
fn capture(cohort: &str, number: usize) -> Lines {
    let mut lines = Lines::sound();
    let meta = lines.meta();
    meta["run_id"] = json!(format!("run-{cohort}-{number}"));
    // After the process that publishes it began, whenever that is.
    meta["timestamp"] = json!("2126-01-02T03:04:05Z");
    meta["comparison_identity"] = json!({
        "implementation_id": cohort, "workload_id": "w", "model_id": "m", "config_id": "c", "data_id": "d",
        "seed_policy": "fixed", "physical_batch": 1, "accumulation_steps": 1, "precision": "f32",
        "device_state": "cpu", "pair_id": format!("pair-{number:03}")});
    lines
}

/// A world with a bundle for each of five runs of both cohorts.
fn world() -> World {
    let world = World::new();
    for cohort in ["baseline", "candidate"] {
        for number in 1..=5 {
            publish(&world, &format!("made/{cohort}-{number:03}"), &capture(cohort, number));
        }
    }
    world
}

fn cohort(world: &World, command: &str) -> Ran {
    with(world, command, &[])
}

/// Five runs of the same command on both sides.
fn with(world: &World, command: &str, more: &[&str]) -> Ran {
    let arguments = ["cohort", "--baseline", command, "--candidate", command, "--runs", "5", "--out", "out"];
    world.run(&[&arguments, more].concat())
}

/// The runs that were run, in order.
fn order(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("order")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn plan(world: &World) -> Value {
    serde_json::from_slice(&std::fs::read(world.path("out/cohort.json")).expect("a plan")).expect("JSON")
}

/// Runs as the plan orders them, each `cohort number`.
fn planned(world: &World) -> Vec<String> {
    let mut numbers = std::collections::BTreeMap::new();
    let plan = plan(world);
    let cohorts = plan["order"].as_array().expect("an order").iter().map(|c| c.as_str().expect("a cohort").to_owned());
    cohorts
        .map(|cohort| {
            let number: &mut usize = numbers.entry(cohort.clone()).or_default();
            *number += 1;
            format!("{cohort} {number:03}")
        })
        .collect()
}

/// Stopped, with the error in the last line, of this many lines.
fn stopped(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.is_empty(), "{}", ran.text());
    let last = ran.stderr.lines().last().expect("an error");
    assert!(last.starts_with("error: "), "{}", ran.stderr);
    for word in words {
        assert!(last.contains(word), "{word:?} in {}", ran.stderr);
    }
}

fn done(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// The shell words that are true in one run only.
fn only(run: &str) -> String {
    let (cohort, number) = run.split_once(' ').expect("cohort and number");
    format!("[ \"$CANDLE_GRAPH_COHORT $CANDLE_GRAPH_PAIR_ID\" = '{cohort} pair-{number}' ]")
}

#[test]
fn runs_alternate_in_the_order_of_the_plan() {
    let world = world();
    let ran = cohort(&world, RUN);
    done(&ran);
    assert_eq!(order(&world), planned(&world), "what ran is what was planned");
    let letters: String = order(&world).iter().map(|run| if run.starts_with("baseline") { 'A' } else { 'B' }).collect();
    for (at, block) in letters.as_bytes().chunks(4).enumerate() {
        let blocks: &[&[u8]] = if at < 2 { &[b"ABBA", b"BAAB"] } else { &[b"AB", b"BA"] };
        assert!(blocks.contains(&block), "{letters}");
    }
    let plan = plan(&world);
    assert_eq!(
        (&plan["schema"], &plan["baseline"], &plan["candidate"], &plan["runs"], &plan["seed"], &plan["paired"]),
        (&json!("candle-graph/cohort/1"), &json!(RUN), &json!(RUN), &json!(5), &json!(0), &json!(true))
    );
    let mut logs: Vec<String> = std::fs::read_dir(world.path("out/logs"))
        .expect("logs")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    logs.sort();
    let told: Vec<String> = logs.iter().map(|log| log[4..].trim_end_matches(".log").to_owned()).collect();
    let ran_cohorts: Vec<String> = order(&world).iter().map(|run| run[..run.len() - 4].to_owned()).collect();
    assert_eq!(told, ran_cohorts, "logs are in order of time: {logs:?}");
    // A line a run where no terminal reads, with the 800 ns of the region.
    assert_eq!(ran.stderr.lines().count(), 10, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("run 1 of 10  ") && ran.stderr.contains("  800 ns\n"), "{}", ran.stderr);
    // All of it is compared: equal programs, so no verdict.
    let comparison = ran.json();
    assert_eq!(comparison["schema"], candle_graph::output::compare::SCHEMA);
    assert_eq!((&comparison["paired"], &comparison["reasons"]), (&json!(true), &json!([])));
    assert_eq!(comparison["verdict"], "inconclusive");
    for side in ["baseline", "candidate"] {
        let runs = comparison["inputs"][side].as_array().expect("runs");
        let mut ids: Vec<&str> = runs.iter().filter_map(|run| run["run_id"].as_str()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3, 4, 5].map(|number| format!("run-{side}-{number}")));
    }

    // Once more: everything is there, nothing runs, the answer is the same.
    let again = cohort(&world, RUN);
    assert_eq!((again.code, &again.stdout, again.stderr.as_str()), (Some(0), &ran.stdout, ""));
    assert_eq!(order(&world).len(), 10);
}

#[test]
fn the_seed_is_the_order() {
    let world = World::new();
    // Each stops at its first run, with the plan written.
    let orders: Vec<Value> = (0..8)
        .map(|seed| {
            let (out, seed) = (format!("out-{seed}"), seed.to_string());
            let arguments =
                ["--baseline", "false", "--candidate", "false", "--runs", "6", "--seed", &seed, "--out", &out];
            stopped(&world.run(&[&["cohort"], &arguments[..]].concat()), &["ended with exit code 1"]);
            let plan = std::fs::read(world.path(out).join("cohort.json")).expect("a plan");
            serde_json::from_slice::<Value>(&plan).expect("JSON")["order"].clone()
        })
        .collect();
    let different: std::collections::BTreeSet<String> = orders.iter().map(Value::to_string).collect();
    assert!(different.len() > 2, "{different:?}");
}

#[test]
fn a_process_is_told_its_run() {
    let world = world();
    let told = "echo \"$CANDLE_GRAPH_BUNDLE|$CANDLE_GRAPH_PAIR_ID|$CANDLE_GRAPH_COHORT\" >> told; cat; ";
    done(&cohort(&world, &format!("{told}{RUN}")));
    let told = std::fs::read_to_string(world.path("told")).expect("lines");
    let root = world.path("out").canonicalize().expect("a directory");
    for (line, run) in told.lines().zip(planned(&world)) {
        let (cohort, number) = run.split_once(' ').expect("two words");
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[1..], [&format!("pair-{number}"), cohort]);
        let bundle = Path::new(fields[0]);
        assert!(bundle.is_absolute(), "{line}");
        assert_eq!(bundle.canonicalize().expect("published"), root.join(cohort).join(number));
    }
}

#[test]
fn a_run_that_fails_is_named_and_repeated() {
    let world = world();
    let broken = format!(
        "if {} && [ ! -e fixed ]; then seq 1 30; printf '\\033[2J\\033]0;title\\007 gone\\n' >&2; exit 3; fi; {RUN}",
        only("candidate 002")
    );
    let ran = cohort(&world, &broken);
    let planned = planned(&world);
    let at = planned.iter().position(|run| run == "candidate 002").expect("it is planned");
    let log = format!("out/logs/{:03}-candidate.log", at + 1);
    let run = format!("run {} of 10 (candidate/002) ended with exit code 3", at + 1);
    stopped(&ran, &[&log, &run, "the same command goes on"]);
    assert_eq!(order(&world), planned[..at], "nothing runs after it");
    // The end of its log: 20 lines of 31, and nothing that a terminal obeys.
    let shown: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!((shown.len(), shown[0]), (20, "  12"), "{}", ran.stderr);
    assert_eq!(shown[19], "  \\u{1b}[2J\\u{1b}]0;title\\u{7} gone");
    assert!(ran.stderr.contains(&format!("the end of {log}:\n")), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\u{7}'));
    assert!(std::fs::read(world.path(&log)).expect("a log").contains(&0x1b), "the log holds what was printed");

    world.write("fixed", "");
    done(&cohort(&world, &broken));
    assert_eq!(order(&world), planned, "no run ran twice");
}

#[test]
fn each_way_to_fail_is_told() {
    let first = planned_first();
    let (cohort_name, number) = first.split_once(' ').expect("two words");
    let bundle = format!("out/{cohort_name}/{number}");
    let copy = |made: &str| format!("if {}; then cp -r {made} \"$CANDLE_GRAPH_BUNDLE\"; else {RUN}; fi", only(&first));
    type Change<'a> = &'a dyn Fn(&mut Lines);
    let other_pair: Change<'_> = &|l| l.meta()["comparison_identity"]["pair_id"] = json!("pair-\u{1b}9");
    let no_identity: Change<'_> = &|l| drop(l.meta().as_object_mut().expect("a map").remove("comparison_identity"));
    let failed: Change<'_> = &|l| {
        l.terminal()["outcome"] = json!("failed");
        l.terminal()["reason"] = json!("out of\nmemory");
    };
    let old: Change<'_> = &|l| l.meta()["timestamp"] = json!("2026-01-02T03:04:05Z");
    let no_region: Change<'_> = &|l| l.line("span_start", "id", "s1")["measured"] = json!(false);
    for (change, words) in [
        (other_pair, "has pair id \"pair-\\u{1b}9\", and was told \"pair-001\": the program takes it from"),
        (no_identity, "has pair id none, and was told \"pair-001\""),
        (failed, "is a capture that is failed: out of memory"),
        (no_region, "has 0 measured regions"),
    ] {
        let world = world();
        let mut lines = capture(cohort_name, 1);
        change(&mut lines);
        publish(&world, "other", &lines);
        let ran = cohort(&world, &copy("other"));
        let aside = format!("what it published is kept at out/failed/001-{cohort_name}");
        stopped(
            &ran,
            &[&format!("run 1 of 10 ({cohort_name}/{number}) published no bundle of this run"), &bundle, words, &aside],
        );
        assert!(
            !world.path(&bundle).exists() && world.path(format!("out/failed/001-{cohort_name}/bundle.json")).is_file()
        );
        assert_eq!(order(&world), Vec::<String>::new());
    }
    let world = world();
    for (command, words) in [
        ("true".to_owned(), "ended well, and published nothing at CANDLE_GRAPH_BUNDLE (/"),
        ("kill -TERM $$".to_owned(), "was ended by signal 15"),
        ("no-such-program".to_owned(), "ended with exit code 127"),
        ("mkdir \"$CANDLE_GRAPH_BUNDLE\"".to_owned(), "is a directory without bundle.json"),
        (format!("{RUN}; exit 3"), "ended with exit code 3; what it published is kept at out/failed/001-"),
        (
            format!(
                "{RUN}; sed 's/\"cpu\"/\"gpu\"/' \"made/{cohort_name}-001/run.json\" > \"$CANDLE_GRAPH_BUNDLE/run.json\""
            ),
            "run.json: was changed after publication",
        ),
    ] {
        if world.path("out").exists() {
            std::fs::remove_dir_all(world.path("out")).expect("removed");
        }
        stopped(&cohort(&world, &command), &["run 1 of 10", words]);
        assert!(!world.path(&bundle).exists(), "{command}: the place is free for the next start");
    }
    publish(&world, "old", &{
        let mut lines = capture(cohort_name, 1);
        old(&mut lines);
        lines
    });
    for (command, words) in [
        (copy("old"), "published a capture that was recorded before this process began"),
        ("ln -s \"$PWD/old\" \"$CANDLE_GRAPH_BUNDLE\"".to_owned(), "is a link; a run publishes its own bundle"),
    ] {
        std::fs::remove_dir_all(world.path("out")).expect("removed");
        stopped(&cohort(&world, &command), &["run 1 of 10", words]);
    }
    // Two processes cannot be one run.
    std::fs::remove_dir_all(world.path("out")).expect("removed");
    let id = std::fs::read(world.path("made/candidate-001/bundle.json")).expect("a bundle");
    assert!(String::from_utf8_lossy(&id).contains("run-candidate-1"));
    let mut twin = capture("baseline", 1);
    twin.meta()["run_id"] = json!("run-candidate-1");
    publish(&world, "twin", &twin);
    let same = format!("if {}; then cp -r twin \"$CANDLE_GRAPH_BUNDLE\"; else {RUN}; fi", only("baseline 001"));
    stopped(&cohort(&world, &same), &["run 2 of 10", "is the same run as "]);
}

/// The first run of the plan of seed 0.
fn planned_first() -> String {
    let world = World::new();
    stopped(&cohort(&world, "false"), &["run 1 of 10"]);
    planned(&world)[0].clone()
}

#[test]
fn it_goes_on_after_its_own_end() {
    let world = world();
    // In the middle of the fifth run somebody kills the driver; the process of that run goes on until it may end, or
    // until this test is over and its directory gone.
    let fifth = "if [ $(wc -l < order) = 4 ] && [ ! -e killed ]; then touch killed; kill -9 $PPID; \
                 while [ -e killed ] && [ ! -e go ]; do sleep 0.02; done; exit 1; fi";
    let command = format!("touch order; {fifth}; {RUN}");
    let killed = cohort(&world, &command);
    assert_eq!(killed.code, None, "{}", killed.stderr);
    let before = order(&world);
    assert_eq!(before, planned(&world)[..4]);
    let fifth = planned(&world)[4].replace(' ', "/");
    let log = format!("out/logs/005-{}.log", fifth.split('/').next().expect("a cohort"));
    stopped(&cohort(&world, &command), &[&log, "is still written by a process of an earlier start"]);
    world.write("go", "");
    // What a recording that was killed leaves beside its bundle.
    let (folder, name) = fifth.split_once('/').expect("two words");
    let stage = |word: &str, name: &str| {
        let stage = format!(".candle-graph-{word}-{}-x1", &sha256(name.as_bytes())[..16]);
        let stage = world.path("out").join(folder).join(stage);
        std::fs::create_dir_all(stage.join("trace/parts")).expect("a directory");
        stage
    };
    let ours = [stage("capture", name), stage("stage", name)];
    let other = stage("capture", "another");
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let ran = cohort(&world, &command);
        if ran.code == Some(0) {
            break;
        }
        stopped(&ran, &["is still written"]);
        assert!(Instant::now() < deadline, "the process ends once it may");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(order(&world), planned(&world), "the four are kept, the fifth is run again");
    assert!(ours.iter().all(|stage| !stage.exists()), "what the killed run left is gone");
    assert!(other.exists(), "what is not of these runs is left alone");
}

#[test]
fn a_run_that_others_still_record_is_not_begun() {
    let world = world();
    stopped(&cohort(&world, "false"), &[]);
    let first = planned(&world)[0].clone();
    let (folder, name) = first.split_once(' ').expect("two words");
    let stage = format!("out/{folder}/.candle-graph-capture-{}-x1", &sha256(name.as_bytes())[..16]);
    std::fs::create_dir(world.path(&stage)).expect("a directory");
    let lock = std::fs::File::open(world.path(&stage)).expect("a directory");
    lock.lock().expect("a lock");
    stopped(&cohort(&world, "false"), &[&stage, "is being recorded by another process"]);
    let lock = std::fs::File::open(world.path("out")).expect("a directory");
    lock.lock().expect("a lock");
    stopped(&cohort(&world, "false"), &["out: another `candle-graph cohort` is at work here"]);
}

#[test]
fn what_is_there_is_verified_before_anything_runs() {
    let world = world();
    let until = format!("[ $(wc -l < order) -lt 7 ] || exit 1; {RUN}");
    world.write("order", "");
    stopped(&cohort(&world, &until), &["run 8 of 10"]);
    let ran = order(&world);
    let third = format!("out/{}", ran[2].replace(' ', "/"));
    let saved = world.path("saved");
    std::fs::rename(world.path(&third), &saved).expect("moved");
    std::fs::create_dir(world.path(&third)).expect("a directory");
    std::fs::write(world.path(&third).join("note"), "mine").expect("a file");
    stopped(&cohort(&world, &until), &[&format!("{third}: is a directory without bundle.json")]);
    assert!(world.path(&third).join("note").exists(), "it is left alone");
    std::fs::remove_dir_all(world.path(&third)).expect("removed");
    std::fs::rename(&saved, world.path(&third)).expect("moved");
    let run = world.path(&third).join("run.json");
    let text = std::fs::read_to_string(&run).expect("a run");
    std::fs::write(&run, text.replace("\"cpu\"", "\"gpu\"")).expect("a file");
    stopped(&cohort(&world, &until), &[&format!("{third}/run.json: was changed after publication")]);
    std::fs::write(&run, text).expect("a file");
    assert_eq!(order(&world), ran, "nothing ran meanwhile");
}

#[test]
fn other_arguments_are_refused() {
    let world = world();
    stopped(&cohort(&world, "false"), &[]);
    let call = |baseline: &str, candidate: &str, runs: &str, more: &[&str]| {
        let arguments = ["cohort", "--baseline", baseline, "--candidate", candidate, "--runs", runs, "--out", "out"];
        world.run(&[&arguments, more].concat())
    };
    stopped(
        &call("\u{1b}true", "false", "5", &[]),
        &["out/cohort.json: was begun with other runs: --baseline is \"\\u{1b}true\" now, and was \"false\""],
    );
    stopped(&call("false", "true", "5", &[]), &["--candidate is \"true\" now, and was \"false\""]);
    stopped(&call("false", "false", "6", &[]), &["--runs is 6 now, and was 5"]);
    stopped(&call("false", "false", "5", &["--seed", "1"]), &["--seed is 1 now, and was 0"]);
    stopped(&call("false", "false", "5", &["--unpaired"]), &["--unpaired is true now, and was false"]);
    let elsewhere = world.path("made");
    let arguments = ["cohort", "--baseline", "false", "--candidate", "false", "--runs", "5", "--out", "../out"];
    let arguments = arguments.map(std::ffi::OsStr::new);
    let output = world.command(&arguments).current_dir(&elsewhere).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("the working directory is "), "{stderr}");
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let world = world();
    std::fs::create_dir(world.path("out")).expect("a directory");
    world.write("out/notes.txt", "mine");
    stopped(&cohort(&world, RUN), &["out: holds \"notes.txt\" and no cohort.json; give a new directory"]);
    assert_eq!(std::fs::read_dir(world.path("out")).expect("a directory").count(), 1);
    std::fs::remove_file(world.path("out/notes.txt")).expect("removed");
    for (plan, words) in [
        ("{", "is no cohort plan"),
        ("{\"schema\": \"candle-graph/cohort/2\"}", "has schema \"candle-graph/cohort/2\"; this version reads"),
        ("{\"schema\": \"candle-graph/cohort/1\"}", "is no cohort plan (missing field"),
    ] {
        world.write("out/cohort.json", plan);
        stopped(&cohort(&world, RUN), &["out/cohort.json: ", words]);
    }
    std::fs::remove_file(world.path("out/cohort.json")).expect("removed");
    stopped(&cohort(&world, "false"), &["run 1 of 10"]);
    let mut short = plan(&world);
    short["order"].as_array_mut().expect("an order").pop();
    world.write("out/cohort.json", short.to_string());
    stopped(&cohort(&world, "false"), &["its order does not have 5 runs of each cohort"]);
    world.write("file", "");
    let out =
        |path: &str| world.run(&["cohort", "--baseline", "true", "--candidate", "true", "--runs", "5", "--out", path]);
    stopped(&out("file"), &["file: cannot create directory"]);
    stopped(&out("made/baseline-001/out"), &["lies in the bundle"]);
    assert_eq!(order(&world), Vec::<String>::new());
}

#[test]
fn wrong_usage_is_told() {
    let world = World::new();
    for (arguments, words) in [
        (vec!["--baseline", "a", "--candidate", "b", "--runs", "4", "--out", "out"], "--runs is 4; give 5 to 499"),
        (vec!["--baseline", "a", "--candidate", "b", "--runs", "500", "--out", "out"], "--runs is 500; give 5 to 499"),
        (vec!["--baseline", "a", "--candidate", " ", "--runs", "5", "--out", "out"], "--candidate is no command"),
        (vec!["--baseline", "a", "--candidate", "b", "--out", "out"], "--runs"),
    ] {
        let ran = world.run(&[&["cohort"], &arguments[..]].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{words:?} in {}", ran.stderr);
        assert!(!world.path("out").exists());
    }
    let help = world.run(&["cohort", "--help"]).text();
    assert!(help.contains("6 or more") && help.contains("0.0625"), "{help}");
}

#[test]
fn unpaired_runs_have_no_pair() {
    let world = world();
    let unpaired = "[ -z \"${CANDLE_GRAPH_PAIR_ID+set}\" ] || exit 9; name=$(basename \"$CANDLE_GRAPH_BUNDLE\"); \
                    cp -r \"made/$CANDLE_GRAPH_COHORT-$name\" \"$CANDLE_GRAPH_BUNDLE\"";
    stopped(
        &with(&world, unpaired, &["--unpaired"]),
        &["has pair id \"pair-001\", and was told none: with --unpaired"],
    );
    for cohort in ["baseline", "candidate"] {
        for number in 1..=5 {
            let name = format!("made/{cohort}-{number:03}");
            std::fs::remove_dir_all(world.path(&name)).expect("removed");
            let mut lines = capture(cohort, number);
            lines.meta()["comparison_identity"].as_object_mut().expect("a map").remove("pair_id");
            publish(&world, &name, &lines);
        }
    }
    done(&with(&world, unpaired, &["--unpaired"]));
    assert_eq!(plan(&world)["paired"], json!(false));
}
