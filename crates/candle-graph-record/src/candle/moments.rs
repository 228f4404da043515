//! Moments of a stream of numbers in one pass: counts, largest magnitude, mean, root mean square, L2 norm.
//! In: blocks of f64, or of integers as i64. Out: the finite part's moments and the counts of the rest.
//! Left to neighbours: reading a tensor in blocks (`elements`).
//!
//! No sum overflows and none vanishes. Squares go into three sums, of values near 1, of huge ones times 2^-600 and of
//! tiny ones times 2^600 (Blue's way to a norm); sums are compensated (Neumaier), those of huge values times 2^-64;
//! integers are added exactly.

use crate::records::TensorStats;

/// Numbers of a block: 2 KiB of f64 stay in the first-level cache beside the part of the tensor they come from, and a
/// plain sum of 32 terms a lane is as good as exact.
pub(super) const BLOCK: usize = 256;
const LANES: usize = 8;

/// Magnitudes above `HUGE` and below `TINY` are squared under a scale: 2^63 squares between them still fit.
const HUGE: f64 = pow2(480);
const TINY: f64 = pow2(-480);
/// Magnitudes above this are added under a scale: 2^63 of them below it still fit.
const HUGE_TERM: f64 = pow2(960);

/// 2^`exponent`, for exponents of normal numbers.
pub(super) const fn pow2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// A sum whose error does not grow with the number of terms.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    #[inline]
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.lost += if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// Moments of what has been pushed: floats or integers, not both.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    nan: u64,
    pos_inf: u64,
    neg_inf: u64,
    finite: u64,
    abs_max: f64,
    terms: Sum,
    /// Times 2^-64.
    huge_terms: Sum,
    integers: Option<i128>,
    squares: Sum,
    /// Times 2^-1200.
    huge_squares: Sum,
    /// Times 2^1200.
    tiny_squares: Sum,
}

impl Moments {
    /// Adds a block of at most [`BLOCK`] floats.
    #[inline]
    pub(super) fn push_floats(&mut self, block: &[f64]) {
        let (mut terms, mut squares, mut abs_max) = ([0.0; LANES], [0.0; LANES], [0.0f64; LANES]);
        let (chunks, rest) = block.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                let x = chunk[lane];
                terms[lane] += x;
                squares[lane] += x * x;
                abs_max[lane] = if x.abs() > abs_max[lane] { x.abs() } else { abs_max[lane] };
            }
        }
        for (lane, &x) in rest.iter().enumerate() {
            terms[lane] += x;
            squares[lane] += x * x;
            abs_max[lane] = if x.abs() > abs_max[lane] { x.abs() } else { abs_max[lane] };
        }
        let squares: f64 = squares.iter().sum();
        let abs_max = abs_max.into_iter().fold(0.0, f64::max);
        // One NaN or infinity shows in the squares; a block without any, and near 1, is done.
        if squares.is_finite() && (abs_max == 0.0 || (TINY..=HUGE).contains(&abs_max)) {
            self.finite += block.len() as u64;
            self.abs_max = self.abs_max.max(abs_max);
            self.terms.add(terms.iter().sum());
            self.squares.add(squares);
        } else {
            block.iter().for_each(|&x| self.push_odd(x));
        }
    }

    /// Adds one float of any kind.
    #[cold]
    fn push_odd(&mut self, x: f64) {
        let abs = x.abs();
        if x.is_nan() {
            self.nan += 1;
            return;
        } else if x.is_infinite() {
            *(if x > 0.0 { &mut self.pos_inf } else { &mut self.neg_inf }) += 1;
            return;
        }
        self.finite += 1;
        self.abs_max = self.abs_max.max(abs);
        if abs > HUGE_TERM {
            self.huge_terms.add(x * pow2(-64));
        } else {
            self.terms.add(x);
        }
        if abs > HUGE {
            self.huge_squares.add((x * pow2(-600)).powi(2));
        } else if abs < TINY {
            self.tiny_squares.add((x * pow2(600)).powi(2));
        } else {
            self.squares.add(x * x);
        }
    }

    /// Adds a block of at most [`BLOCK`] integers.
    #[inline]
    pub(super) fn push_integers(&mut self, block: &[i64]) {
        let (mut sum, mut squares, mut abs_max) = (0i128, 0.0, 0u64);
        for &x in block {
            sum += i128::from(x);
            squares += (x as f64).powi(2);
            abs_max = abs_max.max(x.unsigned_abs());
        }
        // 2^64 terms of at most 2^63 fit.
        *self.integers.get_or_insert(0) += sum;
        self.finite += block.len() as u64;
        self.abs_max = self.abs_max.max(abs_max as f64);
        self.squares.add(squares);
    }

    pub(super) fn all_finite(&self) -> bool {
        self.nan == 0 && self.pos_inf == 0 && self.neg_inf == 0
    }

    /// Arithmetic mean of the finite values; `None` without any.
    fn mean(&self) -> Option<f64> {
        let n = self.count()?;
        let (terms, huge) = (self.terms.value(), self.huge_terms.value());
        let mean = match self.integers {
            Some(sum) => sum as f64 / n,
            None if huge == 0.0 => terms / n,
            None => (huge + terms * pow2(-64)) / n * pow2(64),
        };
        // Rounding up must not lift a mean of largest numbers over them.
        Some(mean.clamp(-self.abs_max, self.abs_max))
    }

    /// Root of `squares x scale of the sums / n`, with the scale the largest value asks for.
    fn root(&self, n: f64) -> f64 {
        let (squares, huge, tiny) = (self.squares.value(), self.huge_squares.value(), self.tiny_squares.value());
        if huge > 0.0 {
            ((huge + squares * pow2(-600) * pow2(-600)) / n).sqrt() * pow2(600)
        } else if squares > 0.0 {
            ((squares + tiny * pow2(-600) * pow2(-600)) / n).sqrt()
        } else {
            (tiny / n).sqrt() * pow2(-600)
        }
    }

    fn rms(&self) -> Option<f64> {
        // As for the mean: a root mean square is at most the largest magnitude.
        Some(self.root(self.count()?).min(self.abs_max))
    }

    /// L2 norm of the finite values, each counted `repeat` times; `f64::MAX` where it would be more.
    pub(super) fn norm(&self, repeat: u64) -> f64 {
        (self.root(1.0) * (repeat as f64).sqrt()).min(f64::MAX)
    }

    fn count(&self) -> Option<f64> {
        (self.finite > 0).then_some(self.finite as f64)
    }

    /// The summary of a tensor in which each value occurs `repeat` times.
    pub(super) fn stats(&self, repeat: u64) -> TensorStats {
        let (rms, mean) = (self.rms(), self.mean());
        let abs_max = self.count().map(|_| self.abs_max);
        let whole = |value: Option<f64>| value.filter(|_| self.all_finite());
        let count = |n: u64| n.saturating_mul(repeat);
        let non_finite = self.nan + self.pos_inf + self.neg_inf;
        TensorStats {
            elements: count(self.finite + non_finite),
            nan: count(self.nan),
            pos_inf: count(self.pos_inf),
            neg_inf: count(self.neg_inf),
            rms: whole(rms),
            abs_max: whole(abs_max),
            mean: whole(mean),
            finite_rms: rms,
            finite_abs_max: abs_max,
            finite_mean: mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> TensorStats {
        let mut moments = Moments::default();
        values.chunks(BLOCK).for_each(|block| moments.push_floats(block));
        moments.stats(1)
    }

    #[test]
    fn the_largest_numbers_neither_overflow_nor_vanish() {
        for x in [1e300, f64::MAX, 1e-300, f64::MIN_POSITIVE, f64::from_bits(1)] {
            let stats = of(&[x, x]);
            assert_eq!((stats.abs_max, stats.mean), (Some(x), Some(x)), "{x:e}");
            let rms = stats.rms.unwrap_or_default();
            assert!((rms / x - 1.0).abs() < 1e-15, "{x:e}: rms {rms:e}");
            // x and -x: nothing left of the mean, everything of the magnitude.
            let stats = of(&[x, -x]);
            assert_eq!((stats.abs_max, stats.mean), (Some(x), Some(0.0)), "{x:e}");
        }
        // 3-4-5 triangles far outside the range whose squares are representable.
        for scale in [pow2(1000), pow2(-1000), 1.0] {
            let mut moments = Moments::default();
            moments.push_floats(&[3.0 * scale, -4.0 * scale]);
            assert_eq!(moments.norm(1), 5.0 * scale);
            assert_eq!(moments.norm(4), 10.0 * scale);
        }
    }

    #[test]
    fn magnitudes_of_all_kinds_mix() {
        // The huge value is all that matters for the root, and cancels in the mean: 5 / 3.
        let stats = of(&[1e308, 5.0, -1e308]);
        assert_eq!(stats.mean, Some(5.0 / 3.0));
        assert!((stats.rms.unwrap_or_default() / (1e308 * (2f64 / 3.0).sqrt()) - 1.0).abs() < 1e-15);
        // 2^-500 is tiny beside 2^-470: together sqrt((2^-940 + 2^-1000) / 2).
        let expected = ((pow2(-940) + pow2(-1000)) / 2.0).sqrt();
        assert_eq!(of(&[pow2(-500), pow2(-470)]).rms, Some(expected));
        // In one value each: squares in three different sums.
        assert_eq!(of(&[pow2(500), 1.0, pow2(-500)]).abs_max, Some(pow2(500)));
    }

    #[test]
    fn a_norm_beyond_f64_saturates() {
        let mut moments = Moments::default();
        moments.push_floats(&[f64::MAX; 4]);
        assert_eq!(moments.norm(1), f64::MAX);
    }

    #[test]
    fn ten_million_terms_keep_their_mean() {
        // 0.1 is not representable: a plain sum of 10^7 of them is off in the tenth digit.
        let mut moments = Moments::default();
        for _ in 0..10_000_000 / 250 {
            moments.push_floats(&[0.1; 250]);
        }
        let stats = moments.stats(1);
        assert_eq!(stats.elements, 10_000_000);
        assert!((stats.mean.unwrap_or_default() - 0.1).abs() <= 1.4e-17, "{:?}", stats.mean);
        assert!((stats.rms.unwrap_or_default() - 0.1).abs() <= 2.8e-17, "{:?}", stats.rms);
    }

    #[test]
    fn integers_are_exact() {
        let mut moments = Moments::default();
        moments.push_integers(&[i64::MAX, i64::MIN]);
        let stats = moments.stats(1);
        // The sum is -1, which f64 addition would lose.
        assert_eq!(stats.mean, Some(-0.5));
        assert_eq!(stats.abs_max, Some(9_223_372_036_854_775_808.0));
        assert_eq!(stats.rms, Some(9_223_372_036_854_775_808.0));
    }

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let stats = of(&[3.0, f64::NAN, f64::INFINITY, -4.0, f64::NEG_INFINITY, f64::INFINITY]);
        let counts = (stats.elements, stats.nan, stats.pos_inf, stats.neg_inf);
        assert_eq!(counts, (6, 1, 2, 1));
        assert_eq!((stats.rms, stats.abs_max, stats.mean), (None, None, None));
        assert_eq!((stats.finite_abs_max, stats.finite_mean), (Some(4.0), Some(-0.5)));
        assert_eq!(stats.finite_rms, Some(12.5f64.sqrt()));
        let none = of(&[f64::NAN]);
        assert_eq!((none.elements, none.finite_rms, none.finite_abs_max, none.finite_mean), (1, None, None, None));
        assert_eq!(of(&[]), TensorStats::default());
    }
}
