//! An axis: numbers to places between 0 and 1, with ticks at round numbers.
//! In: finite numbers. Out: places, tick labels, whether it is logarithmic. Left to neighbours: lengths in
//! pixels (the plots of each page).

/// From numbers to places between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::output) struct Axis {
    low: f64,
    high: f64,
    /// Numbers are their tens logarithm.
    pub log: bool,
    /// Tick labels are in units of ten to this power; 0: plain.
    pub power: i32,
    /// Place and label.
    pub ticks: Vec<(f64, String)>,
}

/// Range from which on positive numbers get a logarithmic axis.
const WIDE: f64 = 1000.0;

impl Axis {
    /// An axis for finite numbers, with about `count` ticks.
    pub(in crate::output) fn new(numbers: impl Iterator<Item = f64> + Clone, count: usize) -> Self {
        let low = numbers.clone().fold(f64::INFINITY, f64::min);
        let high = numbers.fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return Self { low: 0.0, high: 1.0, log: false, power: 0, ticks: Vec::new() };
        }
        if low > 0.0 && high.log10() - low.log10() > WIDE.log10() {
            Self::logarithmic(low.log10(), high.log10(), count)
        } else {
            Self::linear(low, high, count)
        }
    }

    fn linear(low: f64, high: f64, count: usize) -> Self {
        let size = low.abs().max(high.abs());
        // No f64 power of ten is below 1e-307; numbers that small are drawn as what they nearly are.
        let exponent = if size > 0.0 { (size.log10().floor() as i32).max(-307) } else { 0 };
        let power = if (-3..=4).contains(&exponent) { 0 } else { exponent };
        let unit = 10f64.powi(power);
        let (mut low, mut high) = (low / unit, high / unit);
        let size = low.abs().max(high.abs());
        if high - low <= size * 1e-9 {
            // One number: in the middle between 0 and its double.
            (low, high) = if size == 0.0 { (0.0, 1.0) } else { (low.min(0.0) * 2.0, high.max(0.0) * 2.0) };
        } else if low > 0.0 && low < high / 2.0 {
            low = 0.0;
        } else if high < 0.0 && high > low / 2.0 {
            high = 0.0;
        }
        let step = nice_step((high - low) / count.max(1) as f64);
        let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let mut axis =
            Self { low: first as f64 * step, high: last as f64 * step, log: false, power, ticks: Vec::new() };
        let label = |value: f64| format!("{:.digits$}", if value == 0.0 { 0.0 } else { value });
        axis.ticks = (first..=last).map(|i| (axis.between(i as f64 * step), label(i as f64 * step))).collect();
        axis
    }

    fn logarithmic(low: f64, high: f64, count: usize) -> Self {
        let first = low.floor() as i32;
        let decades = (high.ceil() as i32 - first).max(1) as usize;
        let every = decades.div_ceil(count.max(1));
        let (every, ticks) = (every as i32, decades.div_ceil(every) as i32);
        let mut axis =
            Self { low: first.into(), high: (first + ticks * every).into(), log: true, power: 0, ticks: Vec::new() };
        let tick = |i: i32| (axis.between((first + i * every).into()), format!("10{}", superscript(first + i * every)));
        axis.ticks = (0..=ticks).map(tick).collect();
        axis
    }

    fn between(&self, scaled: f64) -> f64 {
        (scaled - self.low) / (self.high - self.low)
    }

    /// The place of a number: 0 at the foot of the axis, 1 at its head.
    pub(in crate::output) fn place(&self, number: f64) -> f64 {
        let scaled = if self.log { number.log10() } else { number / 10f64.powi(self.power) };
        self.between(scaled).clamp(0.0, 1.0)
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
pub(in crate::output) fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    // Rounding may leave a fraction a hair above a whole step.
    [1.0, 2.0, 5.0, 10.0].iter().map(|n| n * power).find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// `n` in raised digits.
pub(in crate::output) fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    n.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(numbers: &[f64]) -> Axis {
        Axis::new(numbers.iter().copied(), 4)
    }

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_steps_of_one_two_and_five() {
        assert_eq!(labels(&axis(&[0.0, 10.0])), ["0", "5", "10"]);
        assert_eq!(labels(&axis(&[0.0, 4.0])), ["0", "1", "2", "3", "4"]);
        assert_eq!(labels(&axis(&[1.1, 1.24])), ["1.10", "1.15", "1.20", "1.25"]);
        assert_eq!(labels(&axis(&[-3.0, 4.0])), ["-4", "-2", "0", "2", "4"]);
        // 0.6 is less than half of 2.3: the axis begins at 0.
        assert_eq!(labels(&axis(&[0.6, 2.3])), ["0", "1", "2", "3"]);
        assert_eq!(labels(&axis(&[-2.3, -0.6])), ["-3", "-2", "-1", "0"]);
    }

    #[test]
    fn large_and_small_numbers_have_their_power_beside_the_axis() {
        let large = axis(&[2.0e7, 2.2e7]);
        assert_eq!((large.power, labels(&large)), (7, vec!["2.00", "2.05", "2.10", "2.15", "2.20"]));
        let small = axis(&[1.0e-6, 4.0e-6]);
        assert_eq!((small.power, labels(&small)), (-6, vec!["0", "1", "2", "3", "4"]));
        assert_eq!(axis(&[0.004, 0.002]).power, 0);
    }

    #[test]
    fn a_positive_range_above_a_thousand_is_logarithmic() {
        assert!(!axis(&[1.0, 999.0]).log);
        let wide = axis(&[0.5, 2000.0]);
        assert!(wide.log);
        // 10^-1 to 10^4 in steps of two decades.
        assert_eq!(labels(&wide), ["10⁻¹", "10¹", "10³", "10⁵"]);
        assert_eq!(wide.place(10.0), 1.0 / 3.0);
        assert!(!axis(&[0.0, 2000.0]).log, "0 has no logarithm");
        assert!(!axis(&[-1.0, 2000.0]).log);
    }

    #[test]
    fn the_ends_of_the_axis_are_its_first_and_last_tick() {
        let axis = axis(&[0.0, 10.0]);
        assert_eq!((axis.place(0.0), axis.place(5.0), axis.place(10.0)), (0.0, 0.5, 1.0));
        assert_eq!(axis.ticks.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn one_number_stands_about_the_middle() {
        for number in [3.0, -3.0, 1e300, -1e-300, 0.001] {
            assert!((axis(&[number, number]).place(number) - 0.5).abs() < 0.26, "{number}: {:?}", axis(&[number]));
        }
        assert_eq!(axis(&[0.0]).place(0.0), 0.0);
    }

    #[test]
    fn no_number_breaks_an_axis() {
        let extremes = [0.0, 5e-324, 1e-307, 1.0, 1.0 + f64::EPSILON, 1e15 + 0.5, 1e308, f64::MAX];
        for a in extremes.into_iter().flat_map(|v| [v, -v]) {
            for b in extremes.into_iter().flat_map(|v| [v, -v]) {
                let axis = axis(&[a, b]);
                assert!((2..=12).contains(&axis.ticks.len()), "{a} {b}: {axis:?}");
                for number in [a, b] {
                    assert!((0.0..=1.0).contains(&axis.place(number)), "{a} {b}: {axis:?}");
                }
                assert!(axis.ticks.iter().all(|(place, label)| place.is_finite() && label.len() < 24), "{axis:?}");
            }
        }
        assert_eq!(axis(&[]).ticks, []);
    }
}
