//! Statistics of two cohorts: values from SciPy 1.17 and from counting by hand, laws for all cohorts, and the
//! interval's word kept in simulation (`benches/intervals` has the long version, and runs this file too).

use candle_graph::analysis::statistics::{
    Comparison, LARGEST, LevelKind, Method, Order, PMethod, Resampler, RowComparer, Side, Statistic, Verdict,
    ascending, benjamini_hochberg, compare, compare_paired, design, drift, holm, mad, mann_whitney_counts, median,
    outliers, pairs_needed, quantile, runs_needed, schedule, summarize,
};
use proptest::prelude::*;

#[path = "../../benches/intervals/src/shapes.rs"]
mod shapes;

use shapes::{Noise, SHAPES, Shape};

#[track_caller]
fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-10 * theirs.abs(), "{ours:?} is not {theirs:?}");
}

#[track_caller]
fn pair(baseline: &[f64], candidate: &[f64]) -> Comparison {
    compare(baseline, candidate).expect("finite samples")
}

const A: [f64; 6] = [12.1, 11.8, 12.6, 12.0, 13.9, 12.4];
const B: [f64; 5] = [11.2, 11.9, 11.5, 11.1, 12.3];
const TIED_A: [f64; 7] = [3.0, 5.0, 5.0, 7.0, 8.0, 8.0, 9.0];
const TIED_B: [f64; 8] = [5.0, 6.0, 8.0, 8.0, 8.0, 10.0, 12.0, 13.0];

#[test]
fn summaries_are_those_of_numpy() {
    let samples = [2565490.0, 2317555.0, 26812487.0, 16205898.0, 2441909.0];
    let summary = summarize(&samples).expect("finite");
    assert_eq!((summary.samples, summary.median, summary.mad), (5, 2565490.0, 247935.0));
    assert_eq!(summary.p95, 24691169.199999996);
    assert_eq!(outliers(&samples), [2, 3], "two slow runs of five do not hide each other");
    assert_eq!((median(&[4.0, 1.0, 3.0, 2.0]), mad(&[7.0])), (Some(2.5), Some(0.0)));
    assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.25), Some(1.5));
    assert_eq!(quantile(&[1.0, 2.0], f64::NAN), None);
    // Most are equal: the MAD says nothing.
    assert_eq!(outliers(&[10.0, 10.0, 10.0, 10.0, 1000.0, 10.0]), [4]);
    assert!(outliers(&[10.0; 6]).is_empty());
}

#[test]
fn what_is_no_number_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
        let cohort = [1.0, 2.0, bad, 3.0, 4.0];
        assert_eq!((summarize(&cohort), median(&cohort), quantile(&cohort, 0.5)), (None, None, None));
        assert!(compare(&cohort, &A).is_none() && compare(&A, &cohort).is_none());
        assert!(compare_paired(&cohort, &B).is_none() && compare_paired(&B, &cohort).is_none());
        assert!(outliers(&cohort).is_empty());
        assert!(drift(&cohort.map(|x| (Side::Baseline, x))).is_none());
        assert!(runs_needed(bad, 1.0).is_none() && pairs_needed(1.0, bad).is_none_or(|n| n == 6));
        assert!(holm(&[0.5, bad]).is_none() && benjamini_hochberg(&[bad]).is_none());
    }
    assert!(compare(&[], &A).is_none() && compare(&A, &[]).is_none() && compare_paired(&[], &[]).is_none());
    assert!(compare_paired(&A, &B).is_none(), "six samples and five are no pairs");
    assert!(design(&[]).is_none() && design(&[Side::Candidate; 3]).is_none() && drift(&[]).is_none());
    // The least cohorts and the largest numbers have a result, and no overflow.
    assert!(pair(&[1.0], &[2.0]).contrast.interval.level < 0.95);
    assert!(pair(&[LARGEST, -LARGEST], &[LARGEST; 2]).contrast.interval.upper.is_finite());
    assert!(compare_paired(&[LARGEST, -LARGEST], &[-LARGEST, LARGEST]).is_none(), "a delta beyond the range");
}

#[test]
fn rank_sum_is_scipys() {
    let test = pair(&A, &B).contrast.rank_test;
    assert_eq!((test.statistic, test.method), (4.0, PMethod::Exact));
    close(test.p, 24.0 / 462.0);
    // With ties SciPy's "exact" counts as if there were none (0.15198); the conditional count by enumeration is 927.
    let test = pair(&TIED_A, &TIED_B).contrast.rank_test;
    assert_eq!((test.statistic, test.method), (41.0, PMethod::Exact));
    close(test.p, 927.0 / 6435.0);
    assert_eq!(pair(&[5.0; 5], &[5.0; 6]).contrast.rank_test.p, 1.0, "all tied");

    let long = |n: usize, f: fn(f64) -> f64| -> Vec<f64> { (0..n).map(|i| f(i as f64)).collect() };
    let (x, y) = (long(60, |i| (i * 1.3).sin() * 3.0 + 10.0), long(55, |i| (i * 2.1).cos() * 3.0 + 11.0));
    let test = pair(&x, &y).contrast.rank_test;
    assert_eq!((test.statistic, test.method), (2083.0, PMethod::NormalApproximation));
    close(test.p, 0.015455107995004764);
    let round = |v: &[f64]| -> Vec<f64> { v.iter().map(|x| x.round()).collect() };
    let test = pair(&round(&x), &round(&y)).contrast.rank_test;
    assert_eq!(test.statistic, 2085.0);
    close(test.p, 0.013663584946941847);
}

#[test]
fn counts_are_those_of_the_triangle() {
    assert_eq!(mann_whitney_counts(2, 3), [1, 1, 2, 2, 2, 1, 1]);
    assert_eq!(mann_whitney_counts(0, 4), [1]);
    // C(100, 50), to the last digit.
    assert_eq!(mann_whitney_counts(50, 50).iter().sum::<i128>(), 100_891_344_545_564_193_334_812_497_256);
}

#[test]
fn pairs_are_scipys() {
    let zero = [0.0; 8];
    let deltas = [1.5, -0.3, 2.2, 0.8, 1.1, -0.9, 3.0, 0.4];
    let comparison = compare_paired(&zero, &deltas).expect("finite");
    let test = comparison.contrast.rank_test;
    assert_eq!((test.statistic, test.p, test.method), (31.0, 0.078125, PMethod::Exact));
    assert_eq!((comparison.permutation.p, comparison.permutation.arrangements), (0.078125, 256));
    assert_eq!(comparison.contrast.percent, None, "no percent of a median of zero");
    // Ties and zeros, by enumeration of 2⁸ signs: 26.
    let tied = [1.0, -1.0, 2.0, 2.0, 3.0, 0.0, -2.0, 4.0, 5.0];
    let test = compare_paired(&[0.0; 9], &tied).expect("finite").contrast.rank_test;
    assert_eq!((test.statistic, test.p), (30.5, 26.0 / 256.0));
    assert_eq!(compare_paired(&tied, &tied).expect("finite").contrast.rank_test.p, 1.0, "no delta takes a side");
    let long: Vec<f64> = (0..120).map(|i| (f64::from(i) * 1.3).sin() * 3.0 + 0.6).collect();
    let test = compare_paired(&[0.0; 120], &long).expect("finite").contrast.rank_test;
    assert_eq!(test.method, PMethod::NormalApproximation);
    close(test.p, 0.0017743049954093292);
}

#[test]
fn permutation_and_welch_are_scipys() {
    let comparison = pair(&A, &B);
    let permutation = comparison.permutation;
    close(permutation.difference_of_means, -0.8666666666666671);
    // Counted one by one; SciPy's two-sided p is twice the smaller tail, the same only where the counts are symmetric.
    close(permutation.p, 20.0 / 462.0);
    assert_eq!((permutation.method, permutation.arrangements, permutation.seed), (PMethod::Exact, 462, None));
    let welch = comparison.welch.expect("logarithms");
    close(welch.t, -2.3204288495652916);
    close(welch.degrees_of_freedom, 8.885507432922585);
    close(welch.p, 0.04580565470352111);
    let comparison = pair(&TIED_A, &TIED_B);
    close(comparison.permutation.p, 682.0 / 6435.0);
    close(comparison.welch.expect("logarithms").p, 0.11020022983965255);
    assert!(pair(&[0.0, 1.0], &[1.0, 2.0]).welch.is_none(), "no logarithm of zero");
    assert!(pair(&[1.0, 1.0], &[1.0, 1.0]).welch.is_none(), "no spread at all");
    // 11 against 11 are 705,432 arrangements: drawn.
    let x: Vec<f64> = (0..11).map(|i| 10.0 + (f64::from(i) * 1.7).sin()).collect();
    let y: Vec<f64> = (0..11).map(|i| 10.6 + (f64::from(i) * 2.3).cos()).collect();
    let drawn = pair(&x, &y).permutation;
    assert_eq!((drawn.method, drawn.arrangements, drawn.seed), (PMethod::Sampled, 10_000, Some(1_414_213_562)));
    // 0.0734 of all; three standard errors of 10,000 draws are 0.008.
    assert!((drawn.p - 0.073438687215777).abs() < 0.008, "{}", drawn.p);
}

#[test]
fn five_against_five_is_the_third_of_25_differences() {
    let baseline = [10.0, 11.0, 12.5, 14.0, 17.0];
    let candidate = [9.1, 9.2, 9.4, 9.9, 10.6];
    let mut differences: Vec<f64> = candidate.iter().flat_map(|c| baseline.map(|b| c - b)).collect();
    differences.sort_by(f64::total_cmp);
    let contrast = pair(&baseline, &candidate).contrast;
    let interval = contrast.interval;
    assert_eq!((interval.lower, interval.upper), (differences[2], differences[22]));
    assert_eq!((interval.method, interval.resamples, interval.seed), (Method::ExactEnumeration, 126 * 126, None));
    assert_eq!((interval.statistic, interval.level_kind), (Statistic::DifferenceOfMedians, LevelKind::Exact));
    close(interval.level, 1.0 - 8.0 / 252.0);
    assert_eq!((contrast.difference, contrast.shift.estimate), (9.4 - 12.5, differences[12]));
    assert_eq!(contrast.verdict(None), Verdict::CandidateFaster);
    assert_eq!(interval.runs_needed_for_95, None);
    assert_eq!(
        contrast.smallest_change(),
        (contrast.difference - differences[2]).max(differences[22] - contrast.difference)
    );
    let three = pair(&baseline[..3], &candidate[..3]).contrast.interval;
    assert_eq!((three.level, three.runs_needed_for_95), (0.9, Some(4)));
}

#[test]
fn enumeration_is_the_bootstrap_drawn_in_full() {
    // Every one of the 4⁴ × 3³ ordered draws, one by one.
    let (baseline, candidate) = ([1.0, 2.5, 7.0], [1.5, 3.0, 4.0, 9.0]);
    let mut all = Vec::new();
    for draw in 0..256 * 27 {
        let pick = |base: usize, from: &[f64], mut digits: usize, n: usize| -> Vec<f64> {
            (0..n).map(|_| (from[digits % base], digits /= base).0).collect()
        };
        let c = median(&pick(4, &candidate, draw % 256, 4)).expect("finite");
        all.push(c - median(&pick(3, &baseline, draw / 256, 3)).expect("finite"));
    }
    all.sort_by(f64::total_cmp);
    let tail = all.len().div_ceil(40);
    let quantiles = Resampler::new().quantiles(&baseline, &candidate).expect("not empty");
    assert_eq!((quantiles.lower, quantiles.upper), (all[tail - 1], all[all.len() - tail]));
    assert_eq!(quantiles.resamples, 10 * 35);
}

#[test]
fn a_sampled_bootstrap_says_so_and_can_be_repeated() {
    let mut noise = Noise::new(5, 5);
    let (x, y) = (noise.cohort(Shape::Timing, 20), noise.cohort(Shape::Timing, 12));
    let interval = pair(&x, &y).contrast.interval;
    assert_eq!((interval.method, interval.resamples, interval.seed), (Method::Sampled, 10_000, Some(1_414_213_562)));
    assert_eq!(interval.level_kind, LevelKind::AtLeast);
    assert!(interval.level >= 0.95 && interval.level < 0.96);
    assert_eq!(pair(&x, &y).contrast.interval, interval);
    // Ranks 1 … 12 against nothing but zeros: the bounds are the bootstrap quantiles of a median rank.
    let ranks: Vec<f64> = (1..=12).map(f64::from).collect();
    let quantiles = Resampler::new().quantiles(&[0.0; 20], &ranks).expect("not empty");
    assert_eq!((quantiles.lower, quantiles.upper), (3.5, 9.5));
    // Beyond 50 against 50 the rank is by the normal distribution; at the border both must agree.
    let many = |n: usize| -> Vec<f64> { (0..n).map(|i| i as f64).collect() };
    let (counted, normal) = (pair(&many(50), &many(50)).contrast.shift, pair(&many(51), &many(50)).contrast.shift);
    assert_eq!((counted.level_kind, normal.level_kind), (LevelKind::Exact, LevelKind::Approximate));
    assert!((counted.level - normal.level).abs() < 2e-3 && (counted.upper - normal.upper).abs() <= 1.0);
}

#[test]
fn five_pairs_do_not_reach_95() {
    let five = compare_paired(&[10.0; 5], &[9.0, 9.1, 9.2, 9.3, 9.4]).expect("finite").contrast;
    let interval = five.interval;
    assert_eq!((interval.level, interval.level_kind, interval.runs_needed_for_95), (0.9375, LevelKind::Exact, Some(6)));
    assert_eq!((interval.statistic, interval.method), (Statistic::MedianOfPairedDeltas, Method::OrderStatistics));
    assert_eq!((interval.lower, interval.upper, five.rank_test.p), (-1.0, 9.4 - 10.0, 0.0625));
    let six = compare_paired(&[10.0; 6], &[9.0, 9.1, 9.2, 9.3, 9.4, 9.5]).expect("finite").contrast;
    assert_eq!((six.interval.level, six.interval.runs_needed_for_95, six.rank_test.p), (0.96875, None, 0.03125));
    assert_eq!(six.verdict(None), Verdict::CandidateFaster);
    // Ten: the ninth of 55 averages, level 1 − 2 × 25 / 1024 (tables of Wilcoxon & Wilcox 1964: 8 is critical at 0.05).
    let deltas: Vec<f64> = (1..=10).map(|i| f64::from(i * i)).collect();
    let ten = compare_paired(&[1.0; 10], &deltas.iter().map(|d| d + 1.0).collect::<Vec<_>>()).expect("finite").contrast;
    let mut averages: Vec<f64> =
        (0..10).flat_map(|i| (i..10).map(move |j| (i, j))).map(|(i, j)| (deltas[i] + deltas[j]) / 2.0).collect();
    averages.sort_by(f64::total_cmp);
    assert_eq!((ten.shift.lower, ten.shift.upper, ten.shift.level), (averages[8], averages[46], 1.0 - 50.0 / 1024.0));
    assert_eq!(ten.shift.estimate, averages[27]);
}

#[test]
fn verdicts_follow_the_interval_and_the_threshold() {
    let quick = pair(&[100.0, 100.2, 100.4, 99.8, 99.6], &[99.0, 99.2, 99.1, 98.9, 98.8]).contrast;
    assert_eq!(quick.verdict(None), Verdict::CandidateFaster);
    assert_eq!(quick.verdict(Some(0.5)), Verdict::CandidateFaster, "it reaches beyond the threshold");
    assert_eq!(quick.verdict(Some(5.0)), Verdict::Equivalent, "real, and too small to matter");
    assert_eq!(quick.verdict(Some(0.0)), Verdict::CandidateFaster);
    assert_eq!(quick.verdict(Some(f64::NAN)), Verdict::CandidateFaster);
    let slow = pair(&[99.0, 99.2, 99.1, 98.9, 98.8], &[100.0, 100.2, 100.4, 99.8, 99.6]).contrast;
    assert_eq!(slow.verdict(None), Verdict::CandidateSlower);
    let same = pair(&[100.0, 100.2, 100.4, 99.8, 99.6], &[100.1, 100.3, 100.2, 99.7, 99.9]).contrast;
    assert_eq!((same.verdict(None), same.verdict(Some(1.0))), (Verdict::Inconclusive, Verdict::Equivalent));
    assert_eq!(same.verdict(Some(0.1)), Verdict::Inconclusive);
}

#[test]
fn order_tells_blocked_from_interleaved() {
    let order = |text: &str| -> Vec<Side> {
        text.chars().map(|c| if c == 'A' { Side::Baseline } else { Side::Candidate }).collect()
    };
    let blocked = design(&order("AAAAABBBBB")).expect("both cohorts");
    assert_eq!(
        (blocked.order, blocked.stretches, blocked.longest_stretch, blocked.place_gap),
        (Order::Blocked, 2, 5, 5.0)
    );
    close(blocked.p_so_few, 2.0 / 252.0);
    let abba = design(&order("ABBAABBAAB")).expect("both cohorts");
    assert_eq!((abba.order, abba.stretches, abba.longest_stretch), (Order::Interleaved, 6, 2));
    assert_eq!(design(&order("AABBBBBAAA")).expect("both").order, Order::Blocked);
    assert_eq!(design(&order("AABBABABAB")).expect("both").order, Order::Interleaved);
    assert_eq!(design(&order("AABB")).expect("both").order, Order::Blocked, "too few for a p, and plainly blocked");
    // By counting all C(7, 3) = 35 orders: 2, 5, 12, … have 2, 3, 4 stretches or fewer.
    close(design(&order("AABBBBA")).expect("both").p_so_few, 7.0 / 35.0);
    let long: String = "AB".repeat(200) + &"A".repeat(400) + &"B".repeat(400);
    assert_eq!(design(&order(&long)).expect("both").order, Order::Blocked);
    assert_eq!(design(&order(&"ABBA".repeat(400))).expect("both").order, Order::Interleaved);
}

#[test]
fn a_plan_is_balanced_and_repeatable() {
    for runs in 0..40 {
        let plan = schedule(runs, 7);
        let candidates = plan.iter().filter(|s| **s == Side::Candidate).count();
        assert_eq!((plan.len(), candidates), (2 * runs, runs));
        for block in plan.chunks_exact(4) {
            assert!(block[0] == block[3] && block[1] == block[2] && block[0] != block[1], "{block:?}");
        }
        assert_eq!(plan, schedule(runs, 7));
        if runs >= 5 {
            let planned = design(&plan).expect("both cohorts");
            assert_eq!(planned.order, Order::Interleaved, "{plan:?}");
            assert!(planned.place_gap.abs() < 1.0 / runs as f64 + 1e-9);
        }
    }
    let plans: std::collections::BTreeSet<String> = (0..64)
        .map(|seed| schedule(5, seed).iter().map(|s| s.as_str().chars().next().unwrap_or_default()).collect())
        .collect();
    assert_eq!(plans.len(), 8, "three coins");
}

#[test]
fn drift_is_scipys_within_a_cohort_and_blind_to_the_difference_between_them() {
    let x = [10.1, 10.3, 10.2, 10.6, 10.5, 10.9, 10.8, 11.2];
    let one = drift(&x.map(|x| (Side::Baseline, x))).expect("eight runs");
    close(one.slope, 0.15000000000000013);
    close(one.percent_per_run.expect("a median"), 15.0 / 10.55);
    assert_eq!((one.kendall_s, one.method), (22, PMethod::Exact));
    close(one.p, 0.005505952380952381);
    let long: Vec<(Side, f64)> =
        (0..60).map(|i| (Side::Candidate, (f64::from(i) * 1.7).sin() * 5.0 + f64::from(i) * 0.08)).collect();
    let asymptotic = drift(&long).expect("sixty runs");
    close(asymptotic.slope, 0.07271087953048712);
    assert_eq!((asymptotic.kendall_s, asymptotic.method), (436, PMethod::NormalApproximation));
    close(asymptotic.p, 0.0055303854816646245);

    // AAABBB, each cohort level, far apart: no drift.
    let level = [1.0, 1.0, 1.0, 9.0, 9.0, 9.0].iter().enumerate();
    let level: Vec<(Side, f64)> =
        level.map(|(i, x)| (if i < 3 { Side::Baseline } else { Side::Candidate }, *x)).collect();
    let none = drift(&level).expect("six runs");
    assert_eq!((none.slope, none.kendall_s, none.p), (0.0, 0, 1.0));
    // Both cohorts of three rise throughout: 2 of the 6 × 6 orders are so far out.
    let rising: Vec<(Side, f64)> =
        (0..6).map(|i| (if i % 2 == 0 { Side::Baseline } else { Side::Candidate }, 100.0 + f64::from(i))).collect();
    let rising = drift(&rising).expect("six runs");
    assert_eq!((rising.slope, rising.kendall_s), (1.0, 6));
    close(rising.p, 2.0 / 36.0);
    // Ties: of 1, 1, 2, 2 the six orders have S = 4, 2, 0, 0, −2, −4.
    let tied = drift(&[1.0, 2.0, 1.0, 2.0].map(|x| (Side::Baseline, x))).expect("four runs");
    assert_eq!(tied.kendall_s, 2);
    close(tied.p, 4.0 / 6.0);
}

#[test]
fn adjusted_p_are_those_of_the_papers() {
    // Holm's own steps by hand; q as SciPy's false_discovery_control has them.
    let p = [0.005, 0.04, 0.03, 0.04, 0.2, 0.9, 0.001];
    for (ours, theirs) in holm(&p).expect("probabilities").iter().zip([0.03, 0.16, 0.15, 0.16, 0.4, 0.9, 0.007]) {
        close(*ours, theirs);
    }
    let q = [0.0175, 0.056, 0.056, 0.056, 0.2 * 7.0 / 6.0, 0.9, 0.007];
    for (ours, theirs) in benjamini_hochberg(&p).expect("probabilities").iter().zip(q) {
        close(*ours, theirs);
    }
    assert_eq!((holm(&[]), benjamini_hochberg(&[])), (Some(vec![]), Some(vec![])));
}

#[test]
fn runs_needed_grow_as_the_effect_shrinks() {
    let needed: Vec<u64> = [4.0, 2.0, 1.0, 0.5, 0.1].map(|e| runs_needed(1.0, e).expect("not too many")).to_vec();
    assert!(needed.is_sorted() && needed[0] == 5, "{needed:?}");
    assert_eq!((runs_needed(0.0, 1.0), pairs_needed(0.0, 1.0)), (Some(5), Some(6)));
    assert_eq!((runs_needed(1.0, 0.0), runs_needed(1.0, 1e-9), runs_needed(f64::NAN, 1.0)), (None, None, None));
    let contrast = pair(&[100.0, 101.0, 99.0, 102.0, 98.0], &[100.0, 101.0, 99.0, 102.0, 98.0]).contrast;
    assert_eq!(contrast.runs_needed(2.0), runs_needed(1.4826 * 1.206, 2.0));
    assert_eq!(
        (contrast.runs_needed(0.0), contrast.runs_needed(-1.0), contrast.runs_needed(f64::NAN)),
        (None, None, None)
    );
}

/// 600 repetitions have a standard error of 0.9 points at 95 %: 3.2 of them, so that of 60 cells none fails by chance.
const REPETITIONS: usize = 600;

fn at_least(level: f64) -> usize {
    let n = REPETITIONS as f64;
    (n * level - 3.2 * (n * level * (1.0 - level)).sqrt()) as usize
}

#[test]
fn the_interval_keeps_its_word() {
    let mut comparer = RowComparer::new();
    for (at, shape) in SHAPES.into_iter().enumerate() {
        for n in [5, 6, 7, 10, 30] {
            let mut noise = Noise::new(1_000 + at as u64, n as u64);
            // A sampled bootstrap costs a thousand times as much; a third of the repetitions, and 6 shapes × 2 sizes,
            // do.
            let repetitions = if n > 7 { REPETITIONS / 3 } else { REPETITIONS };
            let covered = (0..repetitions)
                .filter(|_| {
                    let baseline = noise.cohort(shape, n);
                    let candidate: Vec<f64> = noise.cohort(shape, n).iter().map(|x| x + 0.75).collect();
                    let interval = comparer.compare(&baseline, &candidate).expect("finite").interval;
                    interval.lower <= 0.75 && 0.75 <= interval.upper
                })
                .count();
            let bar = if n > 7 { at_least(0.95) / 3 - 4 } else { at_least(0.95) };
            assert!(covered >= bar, "{shape:?}, {n} runs: {covered} of {repetitions} cover, {bar} must");
        }
        for (n, level) in [(5, 0.9375), (6, 0.95), (7, 0.95), (10, 0.95), (30, 0.95)] {
            let mut noise = Noise::new(2_000 + at as u64, n as u64);
            let covered = (0..REPETITIONS)
                .filter(|_| {
                    let (baseline, candidate) = (noise.cohort(shape, n), noise.cohort(shape, n));
                    comparer.compare_paired(&baseline, &candidate).expect("finite").verdict(None)
                        == Verdict::Inconclusive
                })
                .count();
            let bar = at_least(level);
            assert!(
                covered >= bar,
                "{shape:?}, {n} pairs: {covered} of {REPETITIONS} have no false verdict, {bar} must"
            );
        }
    }
}

#[test]
fn as_many_runs_as_are_needed_are_enough() {
    let mut comparer = RowComparer::new();
    for (shape, spread) in [(Shape::Normal, 1.0), (Shape::Lognormal, 1.0)] {
        for effect in [3.0, 2.0] {
            let n = runs_needed(spread, effect * spread).expect("few") as usize;
            let mut noise = Noise::new(3_000, n as u64);
            let right = (0..200)
                .filter(|_| {
                    let candidate: Vec<f64> = noise.cohort(shape, n).iter().map(|x| x + effect * spread).collect();
                    let contrast = comparer.compare(&noise.cohort(shape, n), &candidate).expect("finite");
                    contrast.verdict(None) == Verdict::CandidateSlower
                })
                .count();
            // 80 % less 3 standard errors of 2.8 points.
            assert!(right >= 143, "{shape:?}, effect {effect}, {n} runs: {right} of 200");
        }
    }
}

/// Cohorts as timings have them, now and then with ties.
fn cohort(size: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        3 => (1e3..1e9_f64).boxed(),
        1 => (1_u32..20).prop_map(f64::from).boxed(),
        1 => (-1e6..1e6_f64).boxed(),
    ];
    proptest::collection::vec(value, size)
}

fn two() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    // Enumerated, sampled and, now and then, beyond what is counted.
    prop_oneof![
        6 => (cohort(1..8), cohort(1..8)),
        3 => (cohort(1..14), cohort(6..30)),
        1 => (cohort(50..60), cohort(50..70)),
    ]
}

fn probabilities() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(prop_oneof![0.0..=1.0, Just(0.0), Just(0.05), Just(1.0)], 0..40)
}

/// Every bit pattern: NaN, infinities, subnormal numbers; and near the limits.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![3 => any::<f64>().boxed(), 1 => Just(LARGEST).boxed(), 1 => Just(-LARGEST).boxed()];
    proptest::collection::vec(value, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_mirror_image_is_exact((a, b) in two()) {
        let (there, back) = (pair(&a, &b), pair(&b, &a));
        let (x, y) = (there.contrast, back.contrast);
        prop_assert_eq!(x.difference, -y.difference);
        prop_assert_eq!((x.interval.lower, x.interval.upper), (-y.interval.upper, -y.interval.lower));
        prop_assert_eq!((x.interval.level, x.interval.resamples), (y.interval.level, y.interval.resamples));
        prop_assert_eq!((x.shift.lower, x.shift.upper), (-y.shift.upper, -y.shift.lower));
        prop_assert_eq!(x.shift.estimate, -y.shift.estimate);
        prop_assert_eq!(x.rank_test.p, y.rank_test.p);
        prop_assert_eq!(x.rank_test.statistic + y.rank_test.statistic, (a.len() * b.len()) as f64);
        prop_assert_eq!(there.permutation.p, back.permutation.p);
        prop_assert_eq!(there.permutation.difference_of_means, -back.permutation.difference_of_means);
        prop_assert_eq!(there.welch.map(|w| (w.t, w.p)), back.welch.map(|w| (-w.t, w.p)));
        let n = a.len().min(b.len());
        let there = compare_paired(&a[..n], &b[..n]).expect("finite");
        let back = compare_paired(&b[..n], &a[..n]).expect("finite");
        prop_assert_eq!(there.contrast.interval.lower, -back.contrast.interval.upper);
        prop_assert_eq!(there.contrast.shift.estimate, -back.contrast.shift.estimate);
        prop_assert_eq!(there.contrast.rank_test.p, back.contrast.rank_test.p);
        prop_assert_eq!(there.permutation.p, back.permutation.p);
    }

    #[test]
    fn the_order_of_samples_does_not_matter((a, b) in two(), by in 0_usize..50) {
        let there = pair(&a, &b);
        let (mut x, mut y) = (a.clone(), b.clone());
        x.rotate_left(by % a.len());
        y.reverse();
        let back = pair(&x, &y);
        prop_assert_eq!(there.contrast, back.contrast);
        prop_assert_eq!((there.permutation, there.welch), (back.permutation, back.welch));
        // And a comparer that has seen other rows says the same as a new one.
        let mut comparer = RowComparer::new();
        comparer.compare(&b, &a);
        comparer.compare(&a[..1], &b);
        prop_assert_eq!(comparer.compare(&a, &b), Some(there.contrast));
    }

    #[test]
    fn units_and_origins_do_not_matter((a, b) in two(), power in -30_i32..30, shift in -1000_i32..1000) {
        // Times a power of two, nothing is rounded: the same bits, scaled.
        let unit = 2.0_f64.powi(power);
        let scaled = |v: &[f64]| -> Vec<f64> { v.iter().map(|x| x * unit).collect() };
        let (plain, large) = (pair(&a, &b), pair(&scaled(&a), &scaled(&b)));
        let (x, y) = (plain.contrast, large.contrast);
        prop_assert_eq!((x.interval.lower * unit, x.interval.upper * unit), (y.interval.lower, y.interval.upper));
        prop_assert_eq!((x.percent, x.rank_test.p), (y.percent, y.rank_test.p));
        prop_assert_eq!(plain.permutation.p, large.permutation.p);
        prop_assert_eq!(plain.spread_ratio, large.spread_ratio);
        prop_assert_eq!(plain.baseline_outliers, large.baseline_outliers);
        // A slower candidate moves the interval and nothing else; whole numbers, so that nothing is rounded either.
        let whole: Vec<f64> = a.iter().map(|x| x.round()).collect();
        let base: Vec<f64> = b.iter().map(|x| x.round()).collect();
        let moved: Vec<f64> = whole.iter().map(|x| x + f64::from(shift)).collect();
        let (x, y) = (pair(&base, &whole).contrast, pair(&base, &moved).contrast);
        prop_assert_eq!(x.interval.lower + f64::from(shift), y.interval.lower);
        prop_assert_eq!(x.interval.upper + f64::from(shift), y.interval.upper);
        prop_assert_eq!(x.smallest_change(), y.smallest_change());
    }

    #[test]
    fn every_figure_is_in_its_range((a, b) in two()) {
        let all = pair(&a, &b);
        let c = all.contrast;
        for p in [c.rank_test.p, all.permutation.p, all.welch.map_or(0.5, |w| w.p), c.interval.level] {
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
        }
        prop_assert!(c.rank_test.p > 0.0 && all.permutation.p > 0.0);
        prop_assert!(c.interval.lower <= c.shift.lower && c.shift.upper <= c.interval.upper);
        prop_assert!(c.interval.lower <= c.difference && c.difference <= c.interval.upper);
        prop_assert!(c.shift.lower <= c.shift.estimate && c.shift.estimate <= c.shift.upper);
        // The k-th of the differences, listed.
        let (x, y) = (ascending(&a).expect("finite"), ascending(&b).expect("finite"));
        let mut differences: Vec<f64> = y.iter().flat_map(|y| x.iter().map(move |x| y - x)).collect();
        differences.sort_by(f64::total_cmp);
        let n = differences.len();
        prop_assert_eq!(c.shift.estimate, (differences[(n - 1) / 2] + differences[n / 2]) / 2.0);
        // Bounds are two of them, as far from either end.
        let below = differences.iter().filter(|d| **d < c.shift.lower).count();
        let through = differences.iter().filter(|d| **d <= c.shift.lower).count();
        let above = differences.iter().filter(|d| **d > c.shift.upper).count();
        let down_to = differences.iter().filter(|d| **d >= c.shift.upper).count();
        prop_assert!(below < through && above < down_to && below < down_to && above < through);
    }

    #[test]
    fn apart_p_is_two_in_all(n in 1_usize..30, m in 1_usize..30) {
        let low: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let high: Vec<f64> = (0..m).map(|i| 1000.0 + i as f64).collect();
        let all = (0..n).fold(1.0, |ways, i| ways * (n + m - i) as f64 / (i + 1) as f64);
        let test = pair(&low, &high).contrast.rank_test;
        prop_assert_eq!(test.statistic, (n * m) as f64);
        prop_assert!((test.p * all - 2.0).abs() < 1e-9 || n + m == 2, "{}", test.p * all);
    }

    #[test]
    fn adjusting_never_helps_and_keeps_the_order(p in probabilities()) {
        let (family, rate) = (holm(&p).expect("probabilities"), benjamini_hochberg(&p).expect("probabilities"));
        for i in 0..p.len() {
            let (raw, q, holm) = (p[i], rate[i], family[i]);
            prop_assert!(raw <= q && q <= holm && holm <= 1.0, "{raw} {q} {holm}");
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || (family[i] <= family[j] && rate[i] <= rate[j]));
            }
        }
    }

    #[test]
    fn nothing_panics(a in anything(), b in anything()) {
        let (_, _) = (compare(&a, &b), compare_paired(&a, &b));
        let _ = (holm(&a), benjamini_hochberg(&b), outliers(&a), quantile(&a, b.first().copied().unwrap_or(0.5)));
        let mut runs: Vec<(Side, f64)> = a.iter().map(|x| (Side::Baseline, *x)).collect();
        runs.extend(b.iter().map(|x| (Side::Candidate, *x)));
        let order: Vec<Side> = runs.iter().map(|(side, _)| *side).collect();
        let _ = (drift(&runs), design(&order));
        if let (Some(x), Some(y)) = (a.first(), b.first()) {
            let _ = (runs_needed(*x, *y), pairs_needed(*x, *y));
        }
    }
}
