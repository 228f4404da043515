//! Does the interval keep its word? Coverage, false verdicts and widths by simulation, of what `compare` ships and of
//! what it could have shipped; and whether "runs needed" are enough.
//! `cargo run --release --manifest-path benches/intervals/Cargo.toml [-- --quick]`; fixed seeds, so figures can be
//! repeated.

mod cells;
mod shapes;

use cells::{Power, independent, paired, power, unequal};
use shapes::{SHAPES, Shape};

const SIZES: [usize; 6] = [5, 6, 7, 10, 20, 30];

/// Results of `work` on all `cells`, in order, on all cores.
fn each<C: Sync, R: Send>(cells: &[C], work: impl Fn(&C, u64) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(cell) = cells.get(at) else { break };
                    let result = work(cell, at as u64);
                    done.lock().expect("no worker panicked").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panicked");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn percent(x: f64) -> String {
    format!("{:.2}", 100.0 * x)
}

fn main() {
    let quick = std::env::args().any(|a| a == "--quick");
    let only = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let wanted = |part: &str| only.as_deref().is_none_or(|o| o == part);
    let repetitions = if quick { 1_000 } else { 10_000 };
    let error = 100.0 * (0.95_f64 * 0.05 / repetitions as f64).sqrt();
    println!("{repetitions} repetitions a cell; standard error of a coverage of 95 %: {error:.2} points\n");
    let cells: Vec<(Shape, usize)> = SHAPES.iter().flat_map(|s| SIZES.map(|n| (*s, n))).collect();

    if wanted("independent") {
        println!("Two independent cohorts: coverage of the true shift in %, false verdicts of A against A in %,");
        println!("median width relative to the exact Mann-Whitney interval");
        header(&["shape", "n", "shipped", "A/A", "medians", "rank", "mean", "w.ship", "w.med", "level"]);
        let rows = each(&cells, |(shape, n), at| independent(*shape, *n, repetitions, at));
        for ((shape, n), r) in cells.iter().zip(&rows) {
            row(&[
                format!("{shape:?}"),
                n.to_string(),
                percent(r.shipped),
                percent(r.false_verdicts),
                percent(r.bootstrap),
                percent(r.rank),
                percent(r.mean),
                format!("{:.2}", r.shipped_width),
                format!("{:.2}", r.bootstrap_width),
                percent(r.level),
            ]);
        }
        println!();
    }
    if wanted("unequal") {
        println!("Equal medians, unequal shapes or sizes: coverage of no difference of medians, in %");
        header(&["baseline", "candidate", "n", "m", "shipped", "medians", "rank"]);
        let sizes = [(5, 5), (6, 6), (10, 10), (30, 30), (6, 30), (30, 6)];
        let cells: Vec<_> = cells::UNEQUAL.iter().flat_map(|kind| sizes.map(|size| (*kind, size))).collect();
        let rows = each(&cells, |(kind, (n, m)), at| unequal(*kind, *n, *m, repetitions, 1_000 + at));
        for ((kind, (n, m)), r) in cells.iter().zip(&rows) {
            row(&[
                kind.0.to_owned(),
                kind.1.to_owned(),
                n.to_string(),
                m.to_string(),
                percent(r.shipped),
                percent(r.bootstrap),
                percent(r.rank),
            ]);
        }
        println!();
    }
    if wanted("paired") {
        println!(
            "Pairs: coverage of the true shift in %, false verdicts of A against A in %, width of the sign test's"
        );
        println!(
            "interval relative to the shipped one; `unlike`: coverage of the median delta when the candidate's noise"
        );
        println!("is normal (of normal noise, exponential)");
        header(&["shape", "n", "shipped", "A/A", "sign", "mean", "w.sign", "unlike", "level"]);
        let rows = each(&cells, |(shape, n), at| paired(*shape, *n, repetitions, 2_000 + at));
        for ((shape, n), r) in cells.iter().zip(&rows) {
            row(&[
                format!("{shape:?}"),
                n.to_string(),
                percent(r.shipped),
                percent(r.false_verdicts),
                percent(r.sign),
                percent(r.mean),
                format!("{:.2}", r.sign_width),
                percent(r.unlike),
                percent(r.level),
            ]);
        }
        println!();
    }
    if wanted("power") {
        println!("Runs needed: how often the verdict is right, in %, with as many runs as are said to be needed;");
        println!("effect in spreads of the noise (of pairs, of the deltas)");
        header(&["shape", "kind", "effect", "needed", "right", "1 less"]);
        let effects = [3.0, 2.5, 2.0, 1.75, 1.5, 1.25, 1.0, 0.8, 0.6, 0.5];
        let shapes = [Shape::Normal, Shape::Lognormal, Shape::Timing, Shape::Spikes];
        let cells: Vec<_> = shapes
            .iter()
            .flat_map(|s| [false, true].map(|p| (*s, p)))
            .flat_map(|(s, p)| effects.map(|e| (s, p, e)))
            .collect();
        let rows =
            each(&cells, |(shape, pairs, effect), at| power(*shape, *pairs, *effect, repetitions / 2, 3_000 + at));
        for ((shape, pairs, effect), Power { needed, right, right_with_one_less }) in cells.iter().zip(&rows) {
            row(&[
                format!("{shape:?}"),
                if *pairs { "pairs" } else { "runs" }.to_owned(),
                effect.to_string(),
                needed.to_string(),
                percent(*right),
                percent(*right_with_one_less),
            ]);
        }
        println!();
    }
    if wanted("flags") {
        println!(
            "Of normal noise: cohorts with a named outlier, and pairs of cohorts whose spreads are said to differ, in %"
        );
        header(&["n", "outlier", "spreads"]);
        let rows = each(&SIZES, |n, at| cells::flags(*n, repetitions, 4_000 + at));
        for (n, (outlier, spreads)) in SIZES.iter().zip(&rows) {
            row(&[n.to_string(), percent(*outlier), percent(*spreads)]);
        }
        println!();
    }
    if wanted("speed") {
        println!("µs of the first row of a size, of a later one, and of a whole comparison");
        header(&["n", "first", "later", "whole"]);
        for n in [5, 10, 20, 30, 50, 100, 1_000] {
            let times = cells::speed(n).map(|us| format!("{us:.0}"));
            row(&[&[n.to_string()], &times[..]].concat());
        }
    }
}

fn header(names: &[&str]) {
    row(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
}

fn row(fields: &[String]) {
    let text: Vec<String> =
        fields.iter().enumerate().map(|(at, f)| if at == 0 { format!("{f:<12}") } else { format!("{f:>9}") }).collect();
    println!("{}", text.join(""));
}
