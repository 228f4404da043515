//! One cell of each table.
//! In: shape, size, repetitions, a seed. Out: shares and widths. Left to neighbours: the tables.

use candle_graph::analysis::statistics::{
    Contrast, Resampler, RowComparer, SPREADS_DIFFER, Stream, ascending, compare, mad, median, outliers, pairs_needed,
    runs_needed, spread, summarize,
};

use crate::shapes::{Noise, Shape};

/// The true difference where there is one.
const SHIFT: f64 = 0.75;

/// Resamples of the mean, and one in how many repetitions has them: they are shown, not shipped.
const MEAN_RESAMPLES: u64 = 1_000;
const MEAN_EVERY: usize = 4;

#[derive(Default)]
pub struct Independent {
    pub shipped: f64,
    pub false_verdicts: f64,
    pub bootstrap: f64,
    pub rank: f64,
    pub mean: f64,
    pub shipped_width: f64,
    pub bootstrap_width: f64,
    pub level: f64,
}

fn share(hits: usize, of: usize) -> f64 {
    hits as f64 / of as f64
}

fn shifted(samples: &[f64], by: f64) -> Vec<f64> {
    samples.iter().map(|x| x + by).collect()
}

fn within(bounds: (f64, f64), value: f64) -> bool {
    bounds.0 <= value && value <= bounds.1
}

fn interval(contrast: &Contrast) -> (f64, f64) {
    (contrast.interval.lower, contrast.interval.upper)
}

fn rank(contrast: &Contrast) -> (f64, f64) {
    (contrast.shift.lower, contrast.shift.upper)
}

fn width(bounds: (f64, f64)) -> f64 {
    bounds.1 - bounds.0
}

/// Percentile interval of the bootstrap of the mean of `cohorts[1]` less that of `cohorts[0]`, or of one.
fn bootstrap_of_mean(cohorts: &[&[f64]], seed: u64) -> (f64, f64) {
    let stream = Stream::new(seed, 9);
    let mut counter = 0;
    let mut means: Vec<f64> = (0..MEAN_RESAMPLES)
        .map(|_| {
            let drawn = |cohort: &[f64], counter: &mut u64| {
                let sum: f64 = (0..cohort.len())
                    .map(|_| {
                        *counter += 1;
                        cohort[stream.below(cohort.len(), *counter)]
                    })
                    .sum();
                sum / cohort.len() as f64
            };
            cohorts.iter().fold(0.0, |before, cohort| drawn(cohort, &mut counter) - before)
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    (means[24], means[974])
}

pub fn independent(shape: Shape, n: usize, repetitions: usize, seed: u64) -> Independent {
    let mut noise = Noise::new(seed, 1);
    let mut comparer = RowComparer::new();
    let mut resampler = Resampler::new();
    let (mut shipped, mut wrong, mut bootstrap, mut ranked, mut mean) = (0, 0, 0, 0, 0);
    let (mut widths, mut bootstrap_widths, mut rank_widths) = (Vec::new(), Vec::new(), Vec::new());
    let mut level = 0.0;
    for repetition in 0..repetitions {
        let baseline = noise.cohort(shape, n);
        let candidate = shifted(&noise.cohort(shape, n), SHIFT);
        let contrast = comparer.compare(&baseline, &candidate).expect("finite samples");
        let quantiles = resampler
            .quantiles(&ascending(&baseline).expect("finite"), &ascending(&candidate).expect("finite"))
            .expect("not empty");
        let medians = (quantiles.lower, quantiles.upper);
        shipped += usize::from(within(interval(&contrast), SHIFT));
        bootstrap += usize::from(within(medians, SHIFT));
        ranked += usize::from(within(rank(&contrast), SHIFT));
        widths.push(width(interval(&contrast)));
        bootstrap_widths.push(width(medians));
        rank_widths.push(width(rank(&contrast)));
        level = contrast.interval.level;
        if repetition % MEAN_EVERY == 0 {
            mean += usize::from(within(bootstrap_of_mean(&[&baseline, &candidate], repetition as u64), SHIFT));
        }
        let same = comparer.compare(&noise.cohort(shape, n), &noise.cohort(shape, n)).expect("finite samples");
        wrong += usize::from(!within(interval(&same), 0.0));
    }
    let typical = |widths: &[f64]| median(widths).expect("widths");
    Independent {
        shipped: share(shipped, repetitions),
        false_verdicts: share(wrong, repetitions),
        bootstrap: share(bootstrap, repetitions),
        rank: share(ranked, repetitions),
        mean: share(mean, repetitions.div_ceil(MEAN_EVERY)),
        shipped_width: typical(&widths) / typical(&rank_widths),
        bootstrap_width: typical(&bootstrap_widths) / typical(&rank_widths),
        level,
    }
}

/// Two distributions with a median of zero.
pub type Unequal = (&'static str, &'static str, fn(&mut Noise) -> f64, fn(&mut Noise) -> f64);

pub const UNEQUAL: [Unequal; 4] = [
    ("normal", "4 x wider", |n| n.normal(), |n| 4.0 * n.normal()),
    ("normal", "exp. tail", |n| n.normal(), |n| 2.0 * (-n.uniform().ln() - std::f64::consts::LN_2)),
    ("exp. tail", "mirrored", |n| -n.uniform().ln(), |n| 2.0 * std::f64::consts::LN_2 + n.uniform().ln()),
    (
        "normal",
        "spikes 3/10",
        |n| n.normal(),
        |n| {
            // Three in ten are far above: the median of the mixture is the quantile 0.5 / 0.7 of the normal.
            const MEDIAN: f64 = 0.565_948_821_932_863;
            if n.uniform() < 0.3 { 10.0 } else { n.normal() - MEDIAN }
        },
    ),
];

pub fn unequal(kind: Unequal, n: usize, m: usize, repetitions: usize, seed: u64) -> Independent {
    let mut noise = Noise::new(seed, 1);
    let mut comparer = RowComparer::new();
    let mut resampler = Resampler::new();
    let (mut shipped, mut bootstrap, mut ranked) = (0, 0, 0);
    // The third pair has its medians at ln 2 and 2 ln 2 − ln 2.
    for _ in 0..repetitions {
        let baseline: Vec<f64> = (0..n).map(|_| kind.2(&mut noise)).collect();
        let candidate: Vec<f64> = (0..m).map(|_| kind.3(&mut noise)).collect();
        let contrast = comparer.compare(&baseline, &candidate).expect("finite samples");
        let quantiles = resampler
            .quantiles(&ascending(&baseline).expect("finite"), &ascending(&candidate).expect("finite"))
            .expect("not empty");
        shipped += usize::from(within(interval(&contrast), 0.0));
        bootstrap += usize::from(within((quantiles.lower, quantiles.upper), 0.0));
        ranked += usize::from(within(rank(&contrast), 0.0));
    }
    Independent {
        shipped: share(shipped, repetitions),
        bootstrap: share(bootstrap, repetitions),
        rank: share(ranked, repetitions),
        ..Independent::default()
    }
}

pub struct Paired {
    pub shipped: f64,
    pub false_verdicts: f64,
    pub sign: f64,
    pub mean: f64,
    pub sign_width: f64,
    pub unlike: f64,
    pub level: f64,
}

/// Order statistics of ascending deltas, by the sign test (Thompson 1936): the narrowest with at least 95 %, or the
/// widest.
fn sign_interval(sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len();
    let choose = |k: usize| (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
    let mut k = 1;
    let mut tail = 1.0;
    while 2.0 * (tail + choose(k)) <= 0.05 * 2.0_f64.powi(n as i32) {
        tail += choose(k);
        k += 1;
    }
    (sorted[k - 1], sorted[n - k])
}

pub fn paired(shape: Shape, n: usize, repetitions: usize, seed: u64) -> Paired {
    let mut noise = Noise::new(seed, 1);
    let mut comparer = RowComparer::new();
    let (mut shipped, mut wrong, mut signed, mut mean, mut unlike) = (0, 0, 0, 0, 0);
    let (mut widths, mut sign_widths) = (Vec::new(), Vec::new());
    let mut level = 0.0;
    // Median of candidate noise of another shape less baseline noise of this one.
    let other = if shape == Shape::Normal { Shape::Exponential } else { Shape::Normal };
    let mut long = Noise::new(seed, 2);
    let many: Vec<f64> = (0..400_001).map(|_| long.sample(other) - long.sample(shape)).collect();
    let centre = median(&many).expect("finite");
    for repetition in 0..repetitions {
        // Both runs of a pair share what the machine was like.
        let machine: Vec<f64> = (0..n).map(|_| 3.0 * noise.normal()).collect();
        let on = |samples: Vec<f64>| -> Vec<f64> { samples.iter().zip(&machine).map(|(x, m)| x + m).collect() };
        let baseline = on(noise.cohort(shape, n));
        let candidate = shifted(&on(noise.cohort(shape, n)), SHIFT);
        let contrast = comparer.compare_paired(&baseline, &candidate).expect("finite samples");
        let deltas: Vec<f64> = candidate.iter().zip(&baseline).map(|(c, b)| c - b).collect();
        let sign = sign_interval(&ascending(&deltas).expect("finite"));
        shipped += usize::from(within(interval(&contrast), SHIFT));
        signed += usize::from(within(sign, SHIFT));
        widths.push(width(interval(&contrast)));
        sign_widths.push(width(sign));
        level = contrast.interval.level;
        if repetition % MEAN_EVERY == 0 {
            mean += usize::from(within(bootstrap_of_mean(&[&deltas], repetition as u64), SHIFT));
        }
        let same = comparer.compare_paired(&on(noise.cohort(shape, n)), &on(noise.cohort(shape, n)));
        wrong += usize::from(!within(interval(&same.expect("finite samples")), 0.0));
        let changed = comparer.compare_paired(&on(noise.cohort(shape, n)), &on(noise.cohort(other, n)));
        unlike += usize::from(within(interval(&changed.expect("finite samples")), centre));
    }
    let typical = |widths: &[f64]| median(widths).expect("widths");
    Paired {
        shipped: share(shipped, repetitions),
        false_verdicts: share(wrong, repetitions),
        sign: share(signed, repetitions),
        mean: share(mean, repetitions.div_ceil(MEAN_EVERY)),
        sign_width: typical(&sign_widths) / typical(&widths),
        unlike: share(unlike, repetitions),
        level,
    }
}

pub struct Power {
    pub needed: usize,
    pub right: f64,
    pub right_with_one_less: f64,
}

/// Share of repetitions with an interval above zero, when the candidate is slower by `shift`.
fn right(shape: Shape, pairs: bool, n: usize, shift: f64, repetitions: usize, seed: u64) -> f64 {
    let mut noise = Noise::new(seed, 1);
    let mut comparer = RowComparer::new();
    let hits = (0..repetitions)
        .filter(|_| {
            let (baseline, candidate) = (noise.cohort(shape, n), shifted(&noise.cohort(shape, n), shift));
            let contrast = if pairs {
                comparer.compare_paired(&baseline, &candidate)
            } else {
                comparer.compare(&baseline, &candidate)
            };
            contrast.expect("finite samples").interval.lower > 0.0
        })
        .count();
    share(hits, repetitions)
}

pub fn power(shape: Shape, pairs: bool, effect: f64, repetitions: usize, seed: u64) -> Power {
    // The spread as a very long session would show it.
    let mut long = Noise::new(seed, 2);
    let mut one = || if pairs { long.sample(shape) - long.sample(shape) } else { long.sample(shape) };
    let many: Vec<f64> = (0..200_001).map(|_| one()).collect();
    let spread = spread(&summarize(&many).expect("finite"));
    let shift = effect * spread;
    let needed =
        if pairs { pairs_needed(spread, shift) } else { runs_needed(spread, shift) }.expect("not too many") as usize;
    Power {
        needed,
        right: right(shape, pairs, needed, shift, repetitions, seed),
        right_with_one_less: right(shape, pairs, needed - 1, shift, repetitions, seed),
    }
}

/// Share of normal cohorts with a named outlier, and of pairs of them whose spreads are said to differ.
pub fn flags(n: usize, repetitions: usize, seed: u64) -> (f64, f64) {
    let mut noise = Noise::new(seed, 1);
    let (mut named, mut differ) = (0, 0);
    for _ in 0..repetitions {
        let (baseline, candidate) = (noise.cohort(Shape::Normal, n), noise.cohort(Shape::Normal, n));
        named += usize::from(!outliers(&baseline).is_empty());
        let ratio = mad(&candidate).expect("finite") / mad(&baseline).expect("finite");
        differ += usize::from(!(1.0 / SPREADS_DIFFER..=SPREADS_DIFFER).contains(&ratio));
    }
    (share(named, repetitions), share(differ, repetitions))
}

/// Microseconds of the first row of `n` against `n`, of one after others of the size, and of a whole comparison.
pub fn speed(n: usize) -> [f64; 3] {
    let mut noise = Noise::new(1, 1);
    let mut comparer = RowComparer::new();
    let mut cohorts = |count: usize| -> Vec<(Vec<f64>, Vec<f64>)> {
        (0..count).map(|_| (noise.cohort(Shape::Timing, n), noise.cohort(Shape::Timing, n))).collect()
    };
    let timed = |cohorts: &[(Vec<f64>, Vec<f64>)], work: &mut dyn FnMut(&[f64], &[f64])| {
        let start = std::time::Instant::now();
        cohorts.iter().for_each(|(baseline, candidate)| work(baseline, candidate));
        start.elapsed().as_secs_f64() * 1e6 / cohorts.len() as f64
    };
    let mut row = |baseline: &[f64], candidate: &[f64]| {
        std::hint::black_box(comparer.compare(baseline, candidate));
    };
    let (first, later) = (timed(&cohorts(1), &mut row), timed(&cohorts(50), &mut row));
    let whole = timed(&cohorts(5), &mut |baseline, candidate| {
        std::hint::black_box(compare(baseline, candidate));
    });
    [first, later, whole]
}
