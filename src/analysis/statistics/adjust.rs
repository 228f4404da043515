//! Many rows, one table: p-values that account for how many were looked at.
//! In: p-values in any order. Out: adjusted ones in the same order. Left to neighbours: which rows belong together.

/// Positions of `p` in ascending order of p; `None` if one is not a probability.
fn order(p: &[f64]) -> Option<Vec<usize>> {
    if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
        return None;
    }
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| p[*x].total_cmp(&p[*y]));
    Some(order)
}

/// Holm 1979: the chance of even one false finding in the table stays at the level. `None` if a p is not in 0..=1.
pub fn holm(p: &[f64]) -> Option<Vec<f64>> {
    let mut adjusted = vec![0.0; p.len()];
    let mut highest: f64 = 0.0;
    for (place, at) in order(p)?.into_iter().enumerate() {
        highest = highest.max(p[at] * (p.len() - place) as f64).min(1.0);
        adjusted[at] = highest;
    }
    Some(adjusted)
}

/// Benjamini & Hochberg 1995: q, the share of false findings to expect among the rows at or below it. `None` if a p is
/// not in 0..=1.
pub fn benjamini_hochberg(p: &[f64]) -> Option<Vec<f64>> {
    let mut adjusted = vec![0.0; p.len()];
    let mut lowest: f64 = 1.0;
    for (place, at) in order(p)?.into_iter().enumerate().rev() {
        // The quotient first: at the last place it is exactly 1, so that q never exceeds Holm's p by a rounding.
        lowest = lowest.min(p[at] * (p.len() as f64 / (place + 1) as f64));
        adjusted[at] = lowest;
    }
    Some(adjusted)
}
