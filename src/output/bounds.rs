//! Bounds in bytes: a response that was not asked for whole stays small whatever the trace holds.
//! In: rows. Out: as many of them as fit, long texts and lists cut and saying so. Left to neighbours: which rows.

use serde_json::{Value, json};

use super::rows::Row;
use crate::text::shorten_to;

/// Most bytes of a response that was not asked for whole.
pub const RESPONSE: usize = 256 << 10;
/// What of it may be rows; the rest is for what every document carries.
pub const ROWS: usize = RESPONSE - (48 << 10);
/// Longest text of a row or reason, in bytes as JSON writes them.
pub const TEXT: usize = 1024;
/// Longest list of a row.
const LIST: usize = 32;
/// What surrounds a row on its line: spaces before it, a comma and a line feed after it.
const AROUND: usize = 12;

/// Where a cut row says how long its lists are.
pub const CUT: &str = "cut_lists";

/// Bytes left for rows.
#[derive(Debug)]
pub struct Budget {
    /// `None`: everything was asked for.
    left: Option<usize>,
}

impl Budget {
    /// For a response that was asked for whole.
    pub const WHOLE: Budget = Budget { left: None };

    /// For one of `shares` equal parts of a response.
    pub fn share(shares: usize) -> Self {
        Budget { left: Some(ROWS / shares.max(1)) }
    }

    /// The first of `rows` that fit, cut to bounds. At least one, so that pages always go on: a cut row is far smaller
    /// than any budget.
    pub fn take(mut self, rows: Vec<Row>) -> Vec<Row> {
        let Some(left) = &mut self.left else { return rows };
        let mut taken = Vec::new();
        for mut row in rows {
            cut(&mut row);
            let size = written(&row);
            if size > *left && !taken.is_empty() {
                break;
            }
            *left = left.saturating_sub(size);
            taken.push(row);
        }
        taken
    }
}

/// A budget for several lists, one after the other: what a short one leaves goes to the rest.
#[derive(Debug)]
pub struct Pool {
    left: Option<usize>,
    lists: usize,
}

impl Pool {
    /// For `lists` lists of a response; `whole`: everything was asked for.
    pub fn new(lists: usize, whole: bool) -> Self {
        Pool { left: (!whole).then_some(ROWS), lists }
    }

    /// The first of the next list's rows that fit.
    pub fn take(&mut self, rows: Vec<Row>) -> Vec<Row> {
        let share = self.left.map(|left| left / self.lists.max(1));
        self.lists = self.lists.saturating_sub(1);
        let taken = Budget { left: share }.take(rows);
        self.left = self.left.map(|left| left.saturating_sub(taken.iter().map(written).sum()));
        taken
    }
}

/// Cuts the long texts and lists of a row.
fn cut(row: &mut Row) {
    let mut lengths = Row::new();
    for (name, value) in row.iter_mut() {
        match value {
            Value::String(text) => *text = shorten_to(text, TEXT),
            Value::Array(items) => {
                if items.len() > LIST {
                    lengths.insert(name.clone(), json!(items.len()));
                    items.truncate(LIST);
                }
                for item in items {
                    if let Value::String(text) = item {
                        *text = shorten_to(text, TEXT / 4);
                    }
                }
            }
            _ => {}
        }
    }
    if !lengths.is_empty() {
        row.insert(CUT.to_owned(), Value::Object(lengths));
    }
}

/// Bytes that a document takes for a row.
fn written(row: &Row) -> usize {
    serde_json::to_string(row).unwrap_or_default().len() + AROUND
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Budget, CUT, Pool, ROWS, Row, written};

    fn row(value: serde_json::Value) -> Row {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn rows_that_fit_are_left_alone() {
        let rows = vec![row(json!({"name": "a", "shape": [1, 2]})); 3];
        assert_eq!(Budget::share(1).take(rows.clone()), rows);
        let long = vec![row(json!({"name": "x".repeat(1 << 20)}))];
        assert_eq!(Budget::WHOLE.take(long.clone()), long);
    }

    #[test]
    fn no_row_is_so_large_that_none_fits() {
        let wide: Vec<String> = (0..100_000).map(|i| format!("tensor{i}").repeat(100)).collect();
        let rows = vec![row(json!({"name": "\u{1}".repeat(1 << 20), "tensor_ids": wide})); 40];
        let taken = Budget::share(5).take(rows);
        assert!(!taken.is_empty() && taken.iter().map(written).sum::<usize>() <= ROWS / 5);
        assert_eq!(taken[0][CUT], json!({"tensor_ids": 100_000}));
        assert_eq!(taken[0]["tensor_ids"].as_array().map(Vec::len), Some(32));
    }

    #[test]
    fn what_a_short_list_leaves_goes_to_the_rest() {
        let long: Vec<Row> = (0..1000).map(|i| row(json!({"i": i, "name": "n".repeat(900)}))).collect();
        let mut pool = Pool::new(3, false);
        let sizes = [pool.take(long[..2].to_vec()), pool.take(long.clone()), pool.take(long.clone())].map(|r| r.len());
        assert!(sizes[0] == 2 && sizes[1] > ROWS / 2 / 1000 && sizes[2] > ROWS / 3 / 1000, "{sizes:?}");
        assert!(sizes.iter().sum::<usize>() * 900 < ROWS);
        assert_eq!(Pool::new(1, true).take(long.clone()), long);
    }

    #[test]
    fn what_does_not_fit_is_left_for_the_next_page() {
        let rows: Vec<Row> = (0..1000).map(|i| row(json!({"i": i, "name": "n".repeat(900)}))).collect();
        let taken = Budget::share(1).take(rows.clone());
        assert!(taken.len() > 200 && taken.len() < 300, "{}", taken.len());
        assert_eq!(taken, rows[..taken.len()]);
    }
}
