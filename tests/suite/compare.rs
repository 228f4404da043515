//! `compare`: verdicts, rows and reasons of small cohorts, by the built program from published bundles.
//!
//! A run is the sound trace: `update` (its wall time is chosen) around `forward`, `backward` and `optimizer` of 100 ns
//! each, one `relu` of 10 ns. Runs start ten seconds apart in the order ABBA.

use serde_json::{Value, json};

use crate::campaign::publish;
use crate::world::{Lines, Ran, World};

const BASELINE: [i64; 5] = [1020, 1000, 1040, 1010, 1030];
const FASTER: [i64; 5] = [824, 848, 800, 836, 812];

/// A run of a cohort (`a` or `b`), the n-th from 0, whose region takes so long.
fn run(cohort: &str, n: usize, wall: i64) -> Lines {
    let mut lines = Lines::sound();
    let place = 2 * n + usize::from(n.is_multiple_of(2) == (cohort == "b"));
    let meta = lines.meta();
    meta["run_id"] = json!(format!("{cohort}{n}"));
    meta["timestamp"] = json!(format!("2026-01-02T03:{:02}:{:02}Z", place / 6, place % 6 * 10));
    meta["host_name"] = json!("desk");
    meta["comparison_identity"] = json!({
        "implementation_id": format!("impl {cohort}"), "workload_id": "w", "model_id": "m", "config_id": "c",
        "data_id": "d", "seed_policy": "fixed", "physical_batch": 1, "accumulation_steps": 1, "precision": "f32",
        "device_state": "idle"});
    lines.line("span_end", "id", "s1")["duration_ns"] = json!(wall);
    lines.line("span_end", "id", "s0")["duration_ns"] = json!(wall + 200);
    lines.terminal()["timestamp_ns"] = json!(wall + 200);
    lines
}

/// Two cohorts as bundles.
struct Cohorts {
    world: World,
    a: Vec<String>,
    b: Vec<String>,
}

impl Cohorts {
    /// Of runs with these wall times, each changed.
    fn of(a: &[i64], b: &[i64], change: impl Fn(&str, usize, &mut Lines)) -> Self {
        let world = World::new();
        let publish_all = |cohort: &str, walls: &[i64]| -> Vec<String> {
            let one = |(n, wall): (usize, &i64)| {
                let mut lines = run(cohort, n, *wall);
                change(cohort, n, &mut lines);
                let name = format!("{cohort}{n}");
                publish(&world, &name, &lines);
                name
            };
            walls.iter().enumerate().map(one).collect()
        };
        let (a, b) = (publish_all("a", a), publish_all("b", b));
        Self { world, a, b }
    }

    fn arguments(a: &[String], b: &[String], more: &[&str]) -> Vec<String> {
        let mut arguments = vec!["compare".to_owned(), "--baseline".to_owned()];
        arguments.extend_from_slice(a);
        arguments.push("--candidate".to_owned());
        arguments.extend_from_slice(b);
        arguments.extend(more.iter().map(|m| (*m).to_owned()));
        arguments
    }

    fn run(&self, more: &[&str]) -> Ran {
        self.world.run(&Self::arguments(&self.a, &self.b, more))
    }

    fn compare(&self) -> Value {
        self.run(&["--all"]).json()
    }

    /// `b` against `a`.
    fn turned(&self) -> Value {
        self.world.run(&Self::arguments(&self.b, &self.a, &["--all"])).json()
    }
}

fn compared(a: &[i64], b: &[i64]) -> Value {
    Cohorts::of(a, b, |_, _, _| {}).compare()
}

/// The codes of a list of reasons or cautions.
fn codes(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|r| r["code"].as_str().expect("a code")).collect()
}

/// The row of a list whose `key` is `value`.
fn row<'a>(list: &'a Value, key: &str, value: &str) -> &'a Value {
    let rows = list["rows"].as_array().expect("rows");
    rows.iter().find(|r| r[key] == value).unwrap_or_else(|| panic!("{value} in {list}"))
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let rows = list["rows"].as_array().expect("rows");
    rows.iter().map(|r| r[key].as_str().expect("a name").to_owned()).collect()
}

fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} is no number"));
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found}, and {expected} is expected");
}

/// A column of numbers in a list of JSON objects.
fn column(rows: &Value, key: &str) -> Vec<Value> {
    rows.as_array().expect("rows").iter().map(|r| r[key].clone()).collect()
}

#[test]
fn five_against_five_by_hand() {
    let found = compared(&BASELINE, &FASTER);
    assert_eq!(
        (&found["verdict"], &found["comparable"], &found["paired"], &found["pairs"]),
        (&json!("candidate_faster"), &json!(true), &json!(false), &Value::Null)
    );
    assert_eq!((codes(&found["reasons"]), codes(&found["cautions"])), (vec![], vec![]));
    assert_eq!(found["baseline_implementation_id"], "impl a");
    assert_eq!(found["candidate_implementation_id"], "impl b");
    for (cohort, samples, median, p95, mad) in
        [("baseline", BASELINE, 1020.0, 1038.0, 10.0), ("candidate", FASTER, 824.0, 845.6, 12.0)]
    {
        let of = &found[cohort];
        assert_eq!(of["samples_ns"], json!(samples), "{cohort}");
        near(&of["median_ns"], median);
        near(&of["p95_ns"], p95);
        near(&of["mad_ns"], mad);
    }
    near(&found["median_delta_ns"], -196.0);
    near(&found["median_delta_percent"], 100.0 * -196.0 / 1020.0);
    // The third smallest and the third largest of the 25 differences: -240, -230, -228 … -164, -162, -152.
    let interval = &found["confidence_interval"];
    assert_eq!((&interval["lower_delta_ns"], &interval["upper_delta_ns"]), (&json!(-228.0), &json!(-164.0)));
    near(&interval["lower_delta_percent"], 100.0 * -228.0 / 1020.0);
    assert_eq!(
        [&interval["statistic"], &interval["method"], &interval["resamples"], &interval["seed"]],
        [&json!("difference_of_medians"), &json!("exact_enumeration"), &json!(126 * 126), &Value::Null]
    );
    near(&interval["true_level"], 1.0 - 2.0 * 4.0 / 252.0);
    assert_eq!((&interval["level"], &interval["true_level_kind"]), (&json!(0.95), &json!("exact")));
    assert_eq!(interval["runs_needed_for_level"], Value::Null);
    // No run of one cohort lies among the other's: 2 of 252 orders are so.
    let tests = &found["tests"];
    near(&tests["rank_p"], 2.0 / 252.0);
    near(&tests["permutation_p"], 2.0 / 252.0);
    assert_eq!((&tests["rank_test"], &tests["permutation_arrangements"]), (&json!("mann_whitney"), &json!(252)));
    near(&tests["shift_ns"], -196.0);
    near(&found["sensitivity"]["smallest_change_ns"], 32.0);
    let design = &found["design"];
    assert_eq!((&design["sequence"], &design["order"]), (&json!("ABBAABBAAB"), &json!("interleaved")));
    assert_eq!(design["hosts"].as_array().map(Vec::len), Some(1));
    assert_eq!(design["hosts"][0]["baseline_runs"], 5);
    // All of the change is own time of `update`; nothing else changed.
    let labels = &found["labels"];
    assert_eq!(names(labels, "label"), ["update", "backward", "forward", "optimizer"]);
    let update = row(labels, "label", "update");
    assert_eq!((&update["baseline"]["median"], &update["candidate"]["median"]), (&json!(720.0), &json!(524.0)));
    assert_eq!((&update["share_of_change"], &update["p_holm"]), (&json!(1.0), &json!(8.0 / 252.0)));
    let bounds = &update["confidence_interval"];
    assert_eq!((&bounds["lower_delta"], &bounds["upper_delta"]), (&json!(-228.0), &json!(-164.0)));
    let relu = row(&found["operations"], "name", "relu");
    assert_eq!((&relu["shape"], &relu["dtype"], &relu["p"]), (&json!([4]), &json!("f32"), &json!(1.0)));
    assert_eq!(relu["baseline"], json!({"runs": 5, "median_count": 1.0, "median": 10.0}));
    let peak = row(&found["memory"], "label", "peak_live_bytes");
    assert_eq!((&peak["candidate"]["median"], &peak["share_of_change"]), (&json!(16.0), &Value::Null));
    assert_eq!(names(&found["gradients"], "label"), ["p/b", "p/e1", "p/e2", "p/frozen", "p/w"]);
    assert_eq!(row(&found["gradients"], "label", "p/b")["baseline"]["median"], 2.0);
    assert_eq!(row(&found["gradients"], "label", "p/frozen")["without_interval"], "not_in_every_run");
}

#[test]
fn a_slower_candidate_and_one_that_cannot_be_told() {
    let slower = compared(&FASTER, &BASELINE);
    assert_eq!(slower["verdict"], "candidate_slower");
    assert!(slower["headline"].as_str().is_some_and(|h| h.starts_with("The candidate is slower: +196 ns (+23.8 %)")));
    // Two of five runs each way.
    let alike = compared(&BASELINE, &[1005, 995, 1025, 1035, 1001]);
    assert_eq!((&alike["verdict"], &alike["comparable"]), (&json!("inconclusive"), &json!(true)));
    let (lower, upper) =
        (&alike["confidence_interval"]["lower_delta_ns"], &alike["confidence_interval"]["upper_delta_ns"]);
    assert!(lower.as_f64() < Some(0.0) && upper.as_f64() > Some(0.0), "{lower} to {upper}");
    assert_eq!(row(&alike["labels"], "label", "update")["share_of_change"], Value::Null, "of no certain change");
    // The very same times: a difference of zero is none.
    let same = compared(&BASELINE, &BASELINE);
    assert_eq!((&same["verdict"], &same["median_delta_ns"]), (&json!("inconclusive"), &json!(0.0)));
}

#[test]
fn a_threshold_makes_no_difference_a_result() {
    let near_by: Vec<i64> = BASELINE.iter().map(|w| w + 3).collect();
    let cohorts = Cohorts::of(&BASELINE, &near_by, |_, _, _| {});
    let verdict = |threshold: &str| cohorts.run(&["--threshold", threshold]).json()["verdict"].clone();
    // Differences lie 3 ± 10, 20, 30, 40 apart: the interval is -27 to 33, 3.2 % of 1,020 at most.
    assert_eq!((verdict("3.3"), verdict("3.2")), (json!("equivalent"), json!("inconclusive")));
    let found = cohorts.run(&["--threshold", "4"]).json();
    assert_eq!(found["threshold_percent"], 4.0);
    assert!(found["headline"].as_str().is_some_and(|h| h.contains("within the threshold of 4 %")));
    for wrong in ["0", "NaN", "inf", "1e999"] {
        let ran = cohorts.run(&["--threshold", wrong]);
        assert!(ran.code != Some(0) && ran.stdout.is_empty(), "{wrong}: {}", ran.text());
        assert!(ran.stderr.contains("threshold"), "{wrong}: {}", ran.stderr);
    }
}

#[test]
fn many_rows_are_corrected_for_their_number() {
    // Of the ranks of `forward`, 19 of 25 pairs say that the candidate is slower: 56 of 252 orders are as far from even.
    let (of_a, of_b) = ([100, 102, 104, 106, 108], [103, 105, 107, 109, 111]);
    let found = Cohorts::of(&BASELINE, &FASTER, |cohort, n, lines| {
        let forward = if cohort == "a" { of_a[n] } else { of_b[n] };
        lines.line("span_end", "id", "s2")["duration_ns"] = json!(forward);
        lines.line("edge", "to_span", "s2")["host_duration_ns"] = json!(forward);
    })
    .compare();
    let expected = [
        // Label, p, Holm: times 4, 3, 2, 1 and ascending; Benjamini and Hochberg: times 4/1, 4/2, 4/3, 4/4 and descending.
        ("update", 2.0 / 252.0, 8.0 / 252.0, 8.0 / 252.0),
        ("forward", 56.0 / 252.0, 168.0 / 252.0, 112.0 / 252.0),
        ("backward", 1.0, 1.0, 1.0),
        ("optimizer", 1.0, 1.0, 1.0),
    ];
    for (label, p, holm, q) in expected {
        let row = row(&found["labels"], "label", label);
        near(&row["p"], p);
        near(&row["p_holm"], holm);
        near(&row["q_benjamini_hochberg"], q);
    }
    assert_eq!(names(&found["labels"], "label"), ["update", "forward", "backward", "optimizer"]);
    // The wall time is one question, whatever the number of rows.
    near(&found["tests"]["rank_p"], 2.0 / 252.0);
}

#[test]
fn pairs_are_compared_pair_by_pair() {
    // The pairs drift far apart from each other; within each the candidate is 20 to 25 faster.
    let a = [1000, 2000, 3000, 4000, 5000, 6000];
    let b: Vec<i64> = a.iter().zip([20, 21, 22, 23, 24, 25]).map(|(a, d)| a - d).collect();
    let pair = |_: &str, n: usize, lines: &mut Lines| {
        lines.meta()["comparison_identity"]["pair_id"] = json!(format!("pair {n}"));
    };
    let six = Cohorts::of(&a, &b, pair);
    let found = six.compare();
    assert_eq!((&found["verdict"], &found["paired"]), (&json!("candidate_faster"), &json!(true)));
    assert_eq!(found["median_delta_ns"], -22.5);
    let interval = &found["confidence_interval"];
    // All 6 deltas of one sign: 2 of 64 patterns. The averages of two reach from -25 to -20.
    assert_eq!((&interval["lower_delta_ns"], &interval["upper_delta_ns"]), (&json!(-25.0), &json!(-20.0)));
    near(&interval["true_level"], 1.0 - 2.0 / 64.0);
    assert_eq!(interval["statistic"], "median_of_paired_deltas");
    near(&found["tests"]["rank_p"], 2.0 / 64.0);
    assert_eq!(found["tests"]["rank_test"], "wilcoxon_signed_rank");
    assert_eq!(column(&found["pairs"], "delta_ns"), [-20, -21, -22, -23, -24, -25].map(|d| json!(d)));
    assert_eq!(found["pairs"][2]["pair_id"], "pair 2");
    let update = row(&found["labels"], "label", "update");
    assert_eq!((&update["median_delta"], &update["share_of_change"]), (&json!(-22.5), &json!(1.0)));
    assert!(!codes(&found["cautions"]).contains(&"level_not_reached"));
    // Without pairs they cannot be told: all the spread is between them.
    assert_eq!(compared(&a, &b)["verdict"], "inconclusive");

    let five = Cohorts::of(&a[..5], &b[..5], pair).compare();
    assert_eq!(five["verdict"], "candidate_faster");
    near(&five["confidence_interval"]["true_level"], 0.9375);
    assert_eq!(five["confidence_interval"]["runs_needed_for_level"], 6);
    assert!(codes(&five["cautions"]).contains(&"level_not_reached"), "{}", five["cautions"]);
}

/// Some of everything that has rows, different in each run.
fn varied(cohort: &str, n: usize, lines: &mut Lines) {
    let wave = |k: usize| ((n * 7 + k * 5 + usize::from(cohort == "b") * 3) % 11) as i64;
    let forward = 90 + wave(1);
    lines.line("span_end", "id", "s2")["duration_ns"] = json!(forward);
    lines.line("edge", "to_span", "s2")["host_duration_ns"] = json!(forward);
    lines.line("span_end", "id", "s3")["duration_ns"] = json!(100 + wave(2));
    lines.line("op", "op_name", "relu")["duration_ns"] = json!(10 + wave(3));
    for k in 0..7 {
        lines.again("op", "op_name", "relu", |op| {
            op["op_name"] = json!(format!("op {}", k % 5));
            op["shape"] = json!([k % 2]);
            op["duration_ns"] = json!(wave(k));
            op.as_object_mut().expect("an object").remove("output");
        });
        let value = (1 + wave(k)) as f64 / 3.0;
        lines.again("tensor_stats", "label", "hidden", |stat| {
            stat["label"] = json!(format!("t{}", k % 3));
            stat["rms"] = json!(value);
            stat["abs_max"] = json!(2.0 * value);
            stat["mean"] = json!(0.1);
        });
    }
    lines.line("gradient", "key", "w")["norm"] = json!(1.0 / (1 + wave(4)) as f64);
}

#[test]
fn the_order_of_the_inputs_changes_no_byte() {
    // More than one group of runs, that all start twice in one second.
    let walls = |first: i64| -> Vec<i64> { (0..20).map(|n| first + n * 37 % 50).collect() };
    let cohorts = Cohorts::of(&walls(1000), &walls(980), |cohort, n, lines| {
        varied(cohort, n, lines);
        lines.meta()["timestamp"] = json!(format!("2026-01-02T03:04:{:02}Z", n / 2));
    });
    let first = cohorts.run(&["--all"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let (mut a, mut b) = (cohorts.a.clone(), cohorts.b.clone());
    for turn in 1..4 {
        a.rotate_left(7);
        b.reverse();
        b.rotate_left(turn);
        let again = cohorts.world.run(&Cohorts::arguments(&a, &b, &["--all"]));
        assert!(again.stdout == first.stdout, "order {turn} differs");
    }
    let mut command = std::process::Command::new("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_candle-graph")]);
    command.args(Cohorts::arguments(&cohorts.a, &cohorts.b, &["--all"])).current_dir(cohorts.world.path(""));
    // Where there is such a program.
    if let Ok(output) = command.output() {
        assert!(output.stdout == first.stdout, "one core says something else");
    }
    let found = first.json();
    assert_eq!(found["design"]["sequence"].as_str().map(str::len), Some(40));
    assert_eq!(found["confidence_interval"]["method"], "sampled");
}

/// The negative of a number, or null.
fn negative(value: &Value) -> Value {
    value.as_f64().map_or(Value::Null, |x| json!(0.0 - x))
}

/// The bounds of `value` as seen from the other side.
fn turned_bounds(value: &Value, lower: &str, upper: &str) -> [Value; 2] {
    [negative(&value[upper]), negative(&value[lower])]
}

#[test]
fn the_other_way_round_is_the_mirror_image() {
    let pair = |_: &str, n: usize, lines: &mut Lines| {
        lines.meta()["comparison_identity"]["pair_id"] = json!(format!("pair {n}"));
    };
    let slow: Vec<i64> = (0..6).map(|n| 1100 + n * n * 7).collect();
    let fast: Vec<i64> = (0..6).map(|n| 1000 + n * 11).collect();
    let many: Vec<i64> = (0..9).map(|n| 990 + n * 29 % 40).collect();
    for (a, b, paired) in [(&slow, &fast, false), (&slow, &fast, true), (&many, &fast, false)] {
        let cohorts = Cohorts::of(a, b, |cohort, n, lines| {
            varied(cohort, n, lines);
            if paired {
                pair(cohort, n, lines);
            }
            if cohort == "b" {
                lines.again("op", "op_name", "relu", |op| op["op_name"] = json!("alone"));
            } else {
                // Zero on this side alone.
                lines.again("tensor_stats", "label", "hidden", |stat| {
                    for key in ["rms", "abs_max", "mean"] {
                        stat[key] = json!(0.0);
                    }
                    stat["label"] = json!("zero");
                });
            }
            if cohort == "b" {
                lines.again("tensor_stats", "label", "hidden", |stat| stat["label"] = json!("zero"));
            }
        });
        let (one, other) = (cohorts.compare(), cohorts.turned());
        assert_eq!(one["paired"], paired);
        let turned = match one["verdict"].as_str() {
            Some("candidate_faster") => "candidate_slower",
            Some("candidate_slower") => "candidate_faster",
            other => other.expect("a verdict"),
        };
        assert_eq!(other["verdict"], turned);
        assert_eq!((&one["baseline"], &one["candidate"]), (&other["candidate"], &other["baseline"]));
        assert_eq!(one["inputs"]["baseline"], other["inputs"]["candidate"]);
        assert_eq!(negative(&one["median_delta_ns"]), other["median_delta_ns"]);
        let (x, y) = (&one["confidence_interval"], &other["confidence_interval"]);
        let (lower, upper) = ("lower_delta_ns", "upper_delta_ns");
        assert_eq!(turned_bounds(x, lower, upper), [y[lower].clone(), y[upper].clone()]);
        assert_eq!((&x["true_level"], &x["method"]), (&y["true_level"], &y["method"]));
        let (x, y) = (&one["tests"], &other["tests"]);
        let (lower, upper) = ("shift_lower_ns", "shift_upper_ns");
        assert_eq!(turned_bounds(x, lower, upper), [y[lower].clone(), y[upper].clone()]);
        for same in ["rank_p", "permutation_p", "shift_level"] {
            assert_eq!(x[same], y[same], "{same}");
        }
        assert_eq!(x["welch_log"]["p"], y["welch_log"]["p"]);
        assert_eq!(one["sensitivity"]["smallest_change_ns"], other["sensitivity"]["smallest_change_ns"]);
        assert_eq!(one["design"]["drift"], other["design"]["drift"]);
        assert_eq!(negative(&one["design"]["place_gap"]), other["design"]["place_gap"]);
        for list in ["labels", "operations", "memory", "gradients"] {
            let (x, y) = (one[list]["rows"].as_array().expect("rows"), other[list]["rows"].as_array().expect("rows"));
            assert_eq!(x.len(), y.len());
            for (x, y) in x.iter().zip(y) {
                for same in
                    ["label", "name", "shape", "dtype", "p", "p_holm", "q_benjamini_hochberg", "share_of_change"]
                {
                    assert_eq!(x[same], y[same], "{list}: {x} and {y}");
                }
                assert_eq!((&x["baseline"], &x["candidate"]), (&y["candidate"], &y["baseline"]));
                assert_eq!(negative(&x["median_delta"]), y["median_delta"]);
                if let (Value::Object(_), bounds) = (&x["confidence_interval"], &y["confidence_interval"]) {
                    let found = turned_bounds(&x["confidence_interval"], "lower_delta", "upper_delta");
                    assert_eq!(found, [bounds["lower_delta"].clone(), bounds["upper_delta"].clone()]);
                } else {
                    let why =
                        x["without_interval"].as_str().expect("why").replace("only_in_candidate", "only_in_baseline");
                    let other =
                        y["without_interval"].as_str().expect("why").replace("only_in_candidate", "only_in_baseline");
                    assert_eq!(why, other);
                }
            }
        }
        let (x, y) = (&one["tensor_stats"], &other["tensor_stats"]);
        assert_eq!(column(&x["matched"], "label"), column(&y["matched"], "label"));
        assert_eq!(column(&x["matched"], "label")[0], "zero", "from zero to something is the largest change");
        assert_eq!(column(&x["matched"], "rms_a"), column(&y["matched"], "rms_b"));
        assert_eq!((&x["unmatched_a"], &x["unmatched_b"]), (&y["unmatched_b"], &y["unmatched_a"]));
    }
}

#[test]
fn a_cohort_against_itself_is_never_a_verdict() {
    let cohorts = Cohorts::of(&BASELINE, &FASTER, |_, _, _| {});
    let same = cohorts.world.run(&Cohorts::arguments(&cohorts.a, &cohorts.a, &[])).json();
    assert_eq!((&same["verdict"], codes(&same["reasons"])), (&json!("ineligible"), vec!["duplicate_run_ids"]));
    assert_eq!((&same["confidence_interval"], &same["tests"]), (&Value::Null, &Value::Null));
    assert_eq!((&same["median_delta_ns"], &same["baseline"]), (&json!(0.0), &same["candidate"]));
    assert_eq!(row(&same["labels"], "label", "update")["without_interval"], "ineligible");
    // One run five times is one run, and its time is told five times.
    let one: Vec<String> = vec![cohorts.a[0].clone(); 5];
    let found = cohorts.world.run(&Cohorts::arguments(&one, &cohorts.b, &[])).json();
    assert_eq!(codes(&found["reasons"]), ["insufficient_runs", "duplicate_run_ids"]);
    assert_eq!(found["baseline"]["samples_ns"], json!([1020, 1020, 1020, 1020, 1020]));
    assert_eq!(row(&found["labels"], "label", "forward")["baseline"]["runs"], 5);
}

#[test]
fn every_reason_that_bundles_can_give() {
    type Change = fn(&str, usize, &mut Lines);
    fn identity(lines: &mut Lines) -> &mut Value {
        &mut lines.meta()["comparison_identity"]
    }
    let cases: [(&[&str], Change); 17] = [
        (&["incomplete_capture"], |c, n, l| {
            if (c, n) == ("b", 3) {
                l.terminal()["outcome"] = json!("failed");
                l.terminal()["reason"] = json!("out of memory");
            }
        }),
        (&["not_production_equivalent"], |_, _, l| l.contract()["measurement_scope"] = json!("profiled_work")),
        // Its wall time is not known, and what it did there cannot be told from what it did elsewhere.
        (&["incomplete_capture", "measured_region_count_invalid"], |c, n, l| {
            if (c, n) == ("a", 0) {
                l.line("span_start", "id", "s1")["measured"] = json!(false);
            }
        }),
        (&["unsynchronized_device_region"], |_, _, l| l.meta()["device"] = json!("cuda:0")),
        (&["capture_semantics_mismatch"], |c, _, l| {
            if c == "b" {
                l.meta()["entrypoint"] = json!("other");
            }
        }),
        (&["capture_semantics_mismatch"], |c, n, l| {
            if (c, n) == ("b", 4) {
                l.contract()["tensors"] = json!("partial");
            }
        }),
        (&["identity_missing"], |c, n, l| {
            if (c, n) == ("a", 2) {
                l.meta().as_object_mut().expect("an object").remove("comparison_identity");
            }
        }),
        (&["identity_conditions_differ"], |c, _, l| {
            if c == "b" {
                identity(l)["physical_batch"] = json!(2);
            }
        }),
        (&["implementation_id_missing"], |_, n, l| {
            if n == 1 {
                identity(l).as_object_mut().expect("an object").remove("implementation_id");
            }
        }),
        // What has no name is not complete either.
        (&["incomplete_capture", "identity_invalid", "implementation_id_empty"], |_, _, l| {
            identity(l)["implementation_id"] = json!("");
            identity(l)["model_id"] = json!(" ");
        }),
        (&["incomplete_capture", "identity_invalid"], |_, n, l| {
            identity(l)["pair_id"] = json!(if n == 0 { String::new() } else { format!("p{n}") });
        }),
        (&["implementation_id_inconsistent"], |c, n, l| {
            if (c, n) == ("a", 1) {
                identity(l)["implementation_id"] = json!("impl a2");
            }
        }),
        (&["pairing_incomplete"], |c, n, l| {
            if (c, n) != ("a", 1) {
                identity(l)["pair_id"] = json!(format!("p{n}"));
            }
        }),
        (&["pair_ids_duplicated"], |_, n, l| identity(l)["pair_id"] = json!(format!("p{}", n / 2))),
        (&["pair_sets_mismatch"], |c, n, l| identity(l)["pair_id"] = json!(format!("p{}", n + usize::from(c == "b")))),
        (&["duplicate_run_ids"], |c, n, l| {
            if (c, n) == ("b", 0) {
                l.meta()["run_id"] = json!("a0");
            }
        }),
        // All at once, in the order in which they are always told.
        (&["incomplete_capture", "not_production_equivalent", "identity_missing"], |_, _, l| {
            l.terminal()["outcome"] = json!("failed");
            l.terminal()["reason"] = json!("out of memory");
            l.contract()["measurement_scope"] = json!("profiled_work");
            l.meta().as_object_mut().expect("an object").remove("comparison_identity");
        }),
    ];
    let six = [1000, 1001, 1002, 1003, 1004, 1005];
    let mut cohorts = Cohorts::of(&six, &six, |_, _, _| {});
    for (expected, change) in cases {
        for (names, cohort, walls) in [(&mut cohorts.a, "a", six), (&mut cohorts.b, "b", six)] {
            for (n, name) in names.iter_mut().enumerate() {
                let mut lines = run(cohort, n, walls[n]);
                let before = lines.text();
                change(cohort, n, &mut lines);
                *name = format!("{cohort}{n}");
                if lines.text() != before {
                    name.push_str(" changed");
                    publish(&cohorts.world, name, &lines);
                }
            }
        }
        let found = cohorts.compare();
        assert_eq!(codes(&found["reasons"]), expected, "{}", found["reasons"]);
        assert_eq!((&found["verdict"], &found["comparable"]), (&json!("ineligible"), &json!(false)), "{expected:?}");
        let nothing = ["confidence_interval", "tests", "sensitivity"].map(|key| found[key].clone());
        assert_eq!(nothing, [Value::Null, Value::Null, Value::Null], "{expected:?}");
        assert!(found["headline"].as_str().is_some_and(|h| h.starts_with("No verdict: ")), "{}", found["headline"]);
    }
    let few = compared(&BASELINE[..4], &FASTER);
    assert_eq!(codes(&few["reasons"]), ["insufficient_runs"]);
    assert_eq!(few["median_delta_ns"], 824.0 - 1015.0, "what there is is still told");
}

#[test]
fn required_is_an_exit_code_after_the_document() {
    let cohorts = Cohorts::of(&BASELINE[..4], &FASTER[..4], |_, _, _| {});
    let without = cohorts.run(&[]);
    assert_eq!((without.code, without.stderr.as_str()), (Some(0), ""));
    let with = cohorts.run(&["--require-eligible"]);
    assert_eq!((with.code, &with.stdout), (Some(1), &without.stdout));
    assert!(with.stderr.starts_with("error: ") && with.stderr.contains("insufficient_runs"), "{}", with.stderr);
    assert_eq!(with.stderr.lines().count(), 1, "{}", with.stderr);
    let file = cohorts.run(&["--require-eligible", "-o", "comparison.json"]);
    assert_eq!((file.code, file.stdout.len()), (Some(1), 0));
    assert_eq!(std::fs::read(cohorts.world.path("comparison.json")).expect("written all the same"), without.stdout);
    let text = cohorts.run(&["--require-eligible", "--format", "text"]);
    assert!(text.code == Some(1) && text.text().starts_with("ineligible") || text.text().contains("No verdict"));

    let sound = Cohorts::of(&BASELINE, &BASELINE, |_, _, _| {});
    let ran = sound.run(&["--require-eligible"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "inconclusive is an answer");
}

#[test]
fn traces_are_a_diagnosis_when_asked_for() {
    let cohorts = Cohorts::of(&BASELINE, &FASTER, |_, _, _| {});
    let trace = |cohort: &str, n: usize, wall: i64| {
        let name = format!("{cohort}{n}.jsonl");
        cohorts.world.write(&name, run(cohort, n, wall).text());
        name
    };
    let a: Vec<String> = BASELINE.iter().enumerate().map(|(n, wall)| trace("a", n, *wall)).collect();
    let b: Vec<String> = FASTER.iter().enumerate().map(|(n, wall)| trace("b", n, *wall)).collect();
    let refused = cohorts.world.run(&Cohorts::arguments(&cohorts.a, &b, &[]));
    assert_eq!((refused.code, refused.stdout.len(), refused.stderr.lines().count()), (Some(1), 0, 1));
    for word in ["b0.jsonl", "is no bundle", "--bundle", "--unverified-traces"] {
        assert!(refused.stderr.contains(word), "{word} in {}", refused.stderr);
    }
    let found = cohorts.world.run(&Cohorts::arguments(&a, &b, &["--unverified-traces", "--all"])).json();
    assert_eq!((&found["verdict"], codes(&found["reasons"])), (&json!("ineligible"), vec!["unverified_inputs"]));
    assert_eq!(found["inputs"]["verification"], "unverified_traces");
    assert_eq!(found["inputs"]["baseline"][0]["manifest_sha256"], Value::Null);
    let sound = cohorts.compare();
    for same in ["baseline", "candidate", "median_delta_ns", "median_delta_percent", "tensor_stats"] {
        assert_eq!(found[same], sound[same], "{same}");
    }
    // Bundles among them are still verified, and still no verdict.
    let mixed = cohorts.world.run(&Cohorts::arguments(&cohorts.a, &b, &["--unverified-traces"])).json();
    assert_eq!(codes(&mixed["reasons"]), ["unverified_inputs"]);
    assert_eq!(mixed["inputs"]["baseline"], sound["inputs"]["baseline"]);
}

#[test]
fn what_is_no_sound_bundle_is_refused() {
    let cohorts = Cohorts::of(&BASELINE, &FASTER, |_, _, _| {});
    let file = cohorts.world.path("b3/tables/spans.parquet");
    let mut bytes = std::fs::read(&file).expect("a table");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("a written file");
    let refused = |ran: &Ran, words: &[&str]| {
        assert_eq!((ran.code, ran.stdout.len(), ran.stderr.lines().count()), (Some(1), 0, 1), "{}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word} in {}", ran.stderr);
        }
    };
    refused(&cohorts.run(&[]), &["b3", "spans.parquet"]);
    refused(&cohorts.run(&["--unverified-traces"]), &["b3", "spans.parquet"]);
    let with = |b: &str| {
        let mut given = cohorts.b.clone();
        given[3] = b.to_owned();
        cohorts.world.run(&Cohorts::arguments(&cohorts.a, &given, &[]))
    };
    refused(&with("nowhere"), &["nowhere"]);
    std::fs::create_dir(cohorts.world.path("empty")).expect("a directory");
    refused(&with("empty"), &["empty"]);
    // Of several the first is told, whichever thread met its own first.
    let mut given = cohorts.a.clone();
    given[1] = "nowhere".to_owned();
    refused(&cohorts.world.run(&Cohorts::arguments(&given, &cohorts.b, &[])), &["nowhere"]);
    let output = cohorts.world.run(&Cohorts::arguments(&cohorts.a, &cohorts.a, &["-o", "a0/comparison.json"]));
    assert!(output.code == Some(1) && !cohorts.world.path("a0/comparison.json").exists(), "{}", output.stderr);
}

#[test]
fn what_not_every_run_has_is_told_and_not_judged() {
    let found = Cohorts::of(&BASELINE, &FASTER, |cohort, n, lines| {
        let mut op = |name: &str, duration: i64| {
            lines.again("op", "op_name", "relu", |op| {
                op["op_name"] = json!(name);
                op["duration_ns"] = json!(duration);
                op.as_object_mut().expect("an object").remove("output");
            });
        };
        match (cohort, n) {
            ("a", 0..3) => op("some", 50),
            ("b", _) => op("new", 60 + n as i64),
            _ => {}
        }
        if cohort == "a" {
            op("old", 40);
            op("old", 2);
            op("some", 5);
        } else {
            op("some", 7);
        }
    })
    .compare();
    let operations = &found["operations"];
    // What one side alone has weighs as much as it takes; then what changed with an interval; then the rest.
    assert_eq!(names(operations, "name"), ["new", "old", "some", "relu"]);
    let new = row(operations, "name", "new");
    assert_eq!((&new["without_interval"], &new["p"]), (&json!("only_in_candidate"), &Value::Null));
    assert_eq!(new["candidate"], json!({"runs": 5, "median_count": 1.0, "median": 62.0}));
    assert_eq!(new["baseline"], json!({"runs": 0, "median_count": 0.0, "median": null}));
    assert_eq!((&new["median_delta"], &new["median_delta_percent"]), (&Value::Null, &Value::Null));
    let old = row(operations, "name", "old");
    assert_eq!(old["baseline"], json!({"runs": 5, "median_count": 2.0, "median": 42.0}));
    assert_eq!(old["without_interval"], "only_in_baseline");
    assert_eq!(operations["total"], 4);

    // A label in some runs of a cohort.
    let found = Cohorts::of(&BASELINE, &FASTER, |cohort, n, lines| {
        let rare = |l: &mut Lines| {
            l.line("span_start", "id", "s4")["name"] = json!("rare");
        };
        if (cohort, n) == ("b", 2) {
            rare(lines);
        }
    })
    .compare();
    let optimizer = row(&found["labels"], "label", "optimizer");
    assert_eq!(
        (&optimizer["candidate"]["runs"], &optimizer["without_interval"]),
        (&json!(4), &json!("not_in_every_run"))
    );
    assert_eq!(optimizer["median_delta"], 0.0);
    let rare = row(&found["labels"], "label", "rare");
    assert_eq!((&rare["candidate"]["runs"], &rare["without_interval"]), (&json!(1), &json!("only_in_candidate")));
}

#[test]
fn other_values_are_told_beside_the_time() {
    let nan = |stat: &mut Value, count: i64| {
        stat["non_finite"] = json!(count);
        for key in ["rms", "abs_max", "mean"] {
            stat.as_object_mut().expect("an object").remove(key);
        }
        stat["nan"] = json!(count);
        stat["pos_inf"] = json!(0);
        stat["neg_inf"] = json!(0);
    };
    let cohorts = Cohorts::of(&BASELINE, &FASTER, |cohort, n, lines| {
        let b = cohort == "b";
        let mut stat = |label: &str, change: &dyn Fn(&mut Value)| {
            lines.again("tensor_stats", "label", "hidden", |stat| {
                stat["label"] = json!(label);
                change(stat);
            });
        };
        // Twice a run, averaged: 3 of the baseline, 6 of the candidate.
        let rms = if b { [4.0, 8.0] } else { [2.0, 4.0] };
        for rms in rms {
            stat("doubled", &|stat| {
                stat["rms"] = json!(rms);
                stat["abs_max"] = json!(3.0 * rms);
            });
        }
        if b && n == 1 {
            stat("broken", &|stat| nan(stat, 2));
        } else {
            stat("broken", &|_| {});
        }
        // As many in both.
        if n == 0 {
            stat("always", &|stat| nan(stat, 1));
        }
        stat(if b { "new" } else { "old" }, &|_| {});
    });
    let found = cohorts.compare();
    let numerics = &found["tensor_stats"];
    assert_eq!(column(&numerics["matched"], "label"), ["broken", "doubled", "always", "hidden"].map(|l| json!(l)));
    let of = |at: usize, keys: [&str; 6]| keys.map(|key| numerics["matched"][at][key].clone());
    let keys = ["rms_a", "rms_b", "rms_ratio", "abs_max_ratio", "samples_a", "runs_b"];
    assert_eq!(
        of(1, keys),
        [3.0, 6.0, 2.0, 2.0, 10.0, 5.0].map(|n| if n >= 5.0 && n != 6.0 { json!(n as i64) } else { json!(n) })
    );
    let keys = ["non_finite_a", "non_finite_b", "non_finite_changed", "samples_b", "rms_b", "rms_ratio"];
    assert_eq!(of(0, keys), [json!(0), json!(2), json!(true), json!(5), json!(1.0), json!(1.0)]);
    assert_eq!(of(2, keys), [json!(1), json!(1), json!(false), json!(1), Value::Null, Value::Null]);
    assert_eq!(
        (&numerics["unmatched_a"]["rows"], &numerics["unmatched_b"]["rows"]),
        (&json!(["old"]), &json!(["new"]))
    );
    assert_eq!(codes(&found["cautions"])[0], "non_finite_changed");
    let headline = found["headline"].as_str().expect("a headline");
    assert!(headline.starts_with("The candidate is faster"), "{headline}");
    assert!(headline.ends_with("But the number of non-finite values changed in broken."), "{headline}");
    // Times that may not be compared leave the values as they are.
    let few = cohorts.world.run(&Cohorts::arguments(&cohorts.a[..2], &cohorts.b[..2], &[])).json();
    assert_eq!((&few["verdict"], codes(&few["cautions"])[0]), (&json!("ineligible"), "non_finite_changed"));
    assert_eq!(few["tensor_stats"]["matched"][0]["non_finite_b"], 2);
}

#[test]
fn a_gradient_that_breaks_is_told_in_the_headline() {
    let found = Cohorts::of(&BASELINE, &FASTER, |cohort, n, lines| {
        // Without the promise of families, which such a gradient breaks.
        lines.contract()["gradients"] = json!("partial");
        lines.contract().as_object_mut().expect("an object").remove("gradient_contract");
        if (cohort, n) == ("b", 4) {
            let gradient = lines.line("gradient", "key", "w");
            gradient["state"] = json!("non_finite");
            gradient.as_object_mut().expect("an object").remove("norm");
        }
    })
    .compare();
    let headline = found["headline"].as_str().expect("a headline");
    assert!(headline.contains("non-finite") && headline.contains("p/w"), "{headline} {}", found["reasons"]);
    assert_eq!(codes(&found["cautions"])[0], "non_finite_changed");
}

#[test]
fn the_design_is_evidence_too() {
    // One cohort after the other, on two machines, all of it slowing down by 10 ns, 1 %, a run.
    let rising = |first: i64| -> Vec<i64> { (0..5).map(|n| first + 10 * n).collect() };
    let found = Cohorts::of(&rising(1000), &rising(1050), |cohort, n, lines| {
        let meta = lines.meta();
        meta["timestamp"] = json!(format!("2026-01-02T03:{:02}:00Z", n + if cohort == "b" { 5 } else { 0 }));
        meta["host_name"] = json!(format!("desk {cohort}"));
    })
    .compare();
    assert_eq!(found["verdict"], "candidate_slower", "the runs cannot know better");
    let cautions = codes(&found["cautions"]);
    assert_eq!(cautions, ["blocked_order", "drift", "mixed_hosts"]);
    let design = &found["design"];
    assert_eq!((&design["sequence"], &design["order"]), (&json!("AAAAABBBBB"), &json!("blocked")));
    assert_eq!((&design["stretches"], &design["place_gap"]), (&json!(2), &json!(5.0)));
    near(&design["p_so_few_stretches"], 2.0 / 252.0);
    assert_eq!(design["drift"]["ns_per_run"], 10.0);
    // Two cohorts of five in rising order: 2 of 120 x 120 orders.
    near(&design["drift"]["p"], 2.0 / 14400.0);
    let hosts = column(&design["hosts"], "baseline_runs");
    assert_eq!(hosts, [json!(5), json!(0)]);
    assert!(found["cautions"][0]["message"].as_str().is_some_and(|m| m.contains("AAAAABBBBB") && m.contains("5.0 %")));

    // One run stands apart and is named and kept; the candidate's spread is another.
    let found = compared(&[1001, 1003, 5000, 1000, 1002], &[780, 700, 860, 740, 820]);
    assert_eq!(found["design"]["baseline_outliers"], json!(["a2"]));
    assert_eq!(found["baseline"]["samples_ns"][2], 5000);
    assert_eq!(codes(&found["cautions"]), ["outliers", "spreads_differ", "opinions_differ"]);
    assert_eq!(found["design"]["spread_ratio"], 40.0);
}

#[test]
fn texts_of_a_trace_stay_data() {
    let hostile = "a\u{1b}[31m\"<script>\u{202e}\n| b ` \u{7}";
    let long = "long ".repeat(2000);
    let cohorts = Cohorts::of(&BASELINE, &FASTER, |cohort, n, lines| {
        lines.line("span_start", "id", "s2")["name"] = json!("forward");
        lines.line("span_start", "id", "s4")["name"] = json!(hostile);
        let meta = lines.meta();
        meta["run_id"] = json!(format!("{cohort}{n}{hostile}"));
        meta["host_name"] = json!(format!("{hostile}{}", n % 2));
        meta["comparison_identity"]["implementation_id"] = json!(format!("{cohort}{hostile}"));
        meta["comparison_identity"]["model_id"] = json!(long);
        lines.line("op", "op_name", "relu")["op_name"] = json!(long);
        lines.line("tensor_stats", "label", "hidden")["label"] = json!(hostile);
    });
    let found = cohorts.compare();
    assert_eq!(found["verdict"], "candidate_faster", "{}", found["reasons"]);
    row(&found["labels"], "label", hostile);
    assert_eq!(found["tensor_stats"]["matched"][0]["label"], hostile);
    let op = found["operations"]["rows"][0]["name"].as_str().expect("a name");
    assert!(op.len() < 200 && op.contains("10000 bytes"), "{op}");
    assert!(found["identity"]["model_id"].as_str().is_some_and(|id| id.len() < 200));
    let text = cohorts.run(&["--format", "text"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    let text = text.text();
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    assert!(text.contains("\\u{1b}[31m"), "{text}");
}

#[test]
fn the_text_says_what_the_document_says() {
    let text = Cohorts::of(&BASELINE, &FASTER, |_, _, _| {}).run(&["--format", "text"]).text();
    for words in [
        "The candidate is faster: -196 ns (-19.2 %), between -22.4 % and -16.1 % (96.8 % interval).",
        "baseline (impl a)",
        "-228 … -164 ns; all 15,876 distinct resamples, true level 96.83 %, exact",
        "mann whitney p = 0.0079",
        "order ABBAABBAAB interleaved",
        "relu 4 f32",
    ] {
        assert!(text.contains(words), "{words:?} in {text}");
    }
    assert!(text.lines().all(|line| !line.contains("NaN") && !line.contains("-0 ")), "{text}");
}
