//! Numbers of spans and rows.
//! In: ids and numbers as lines give them. Out: the Int64 of tables. Left to neighbours: rows (`import`).
//!
//! A trace of another recorder has ids of its own making, and its rows are numbered as they come. One whose meta line
//! names a layout of tables was written from such tables: what it says is taken as it stands, so that nothing changes.

use std::collections::HashMap;

use super::import::LineResult;

/// The numbers of one import.
#[derive(Default)]
pub(super) struct Numbers {
    /// Whether lines carry the numbers of tables.
    exact: bool,
    /// The number of the next row.
    next_seq: i64,
    /// One more than the largest number so far.
    beyond: i64,
    /// Ids that are not `s<number>`, numbered downwards from -1: no number of the other form is negative.
    other_ids: HashMap<String, i64>,
}

impl Numbers {
    /// The numbers of a trace whose lines carry those of tables.
    pub(super) fn exact() -> Self {
        Self { exact: true, ..Self::default() }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// The number of a row that comes now; `stated` where it is not the next one.
    pub(super) fn row(&mut self, stated: Option<i64>) -> i64 {
        let seq = stated.filter(|_| self.exact).unwrap_or(self.next_seq);
        self.next_seq = seq.saturating_add(1);
        self.saw(seq);
        seq
    }

    /// Notes a number that some row has.
    pub(super) fn saw(&mut self, seq: i64) {
        self.beyond = self.beyond.max(seq.saturating_add(1));
    }

    /// The number of a row that comes after all others.
    pub(super) fn last(&mut self) -> i64 {
        self.row(Some(self.beyond))
    }

    /// The span that an id names: `s<number>` is its number; any other id gets a negative one of its own.
    pub(super) fn span(&mut self, id: &str) -> LineResult<i64> {
        let number = id.strip_prefix('s').and_then(canonical);
        match number {
            Some(number) if number >= 0 || self.exact => Ok(number),
            _ if self.exact => {
                Err(format!("names span {id:?}; in a trace that states its tables' layout a span is s<number>").into())
            }
            _ => {
                let next = -1 - self.other_ids.len() as i64;
                Ok(*self.other_ids.entry(id.to_owned()).or_insert(next))
            }
        }
    }
}

/// The number whose one spelling is `digits`.
fn canonical(digits: &str) -> Option<i64> {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    if digits != "0" && unsigned.starts_with(['0', '+', '-']) { None } else { digits.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::{Numbers, canonical};

    #[test]
    fn a_number_has_one_spelling() {
        for (digits, number) in
            [("0", Some(0)), ("17", Some(17)), ("-1", Some(-1)), ("-9223372036854775808", Some(i64::MIN))]
        {
            assert_eq!(canonical(digits), number, "{digits}");
        }
        for digits in ["", "-", "-0", "00", "01", "-01", "+1", "--1", "1x", " 1", "9223372036854775808"] {
            assert_eq!(canonical(digits), None, "{digits}");
        }
    }

    #[test]
    fn ids_of_another_recorder_are_numbered_downwards_and_exact_ones_stand() {
        let of = |numbers: &mut Numbers, id: &str| numbers.span(id).ok();
        let mut other = Numbers::default();
        assert_eq!([of(&mut other, "s7"), of(&mut other, "s-7"), of(&mut other, "x")], [Some(7), Some(-1), Some(-2)]);
        assert_eq!(of(&mut other, "s-7"), Some(-1), "the same id is the same span");
        let mut exact = Numbers::exact();
        assert_eq!([of(&mut exact, "s7"), of(&mut exact, "s-7"), of(&mut exact, "x")], [Some(7), Some(-7), None]);
    }

    #[test]
    fn rows_are_numbered_on_from_what_is_stated() {
        let mut exact = Numbers::exact();
        assert_eq!([exact.row(None), exact.row(Some(9)), exact.row(None), exact.row(Some(3))], [0, 9, 10, 3]);
        assert_eq!(exact.last(), 11, "after the largest");
        let mut other = Numbers::default();
        assert_eq!([other.row(None), other.row(Some(9)), other.last()], [0, 1, 2], "another recorder's field");
        assert_eq!(exact.row(Some(i64::MAX)), i64::MAX);
        assert_eq!(exact.row(None), i64::MAX, "no number is larger");
    }
}
