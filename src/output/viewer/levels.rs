//! Levels of detail: what a page keeps of more rows than it may hold, and the sentence that says so.
//! In: the rows of a query. Out: at most so many, the longest or the first kept whole, short neighbours drawn as one.
//! Left to neighbours: how large a page may be (`mod`), drawing.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use arrow::compute::{filter_record_batch, partition, take_record_batch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use arrow::error::ArrowError;

use crate::error::{Error, Result};
use crate::text::{count, duration};

/// How many rows a drawn mark stands for.
pub(super) const MERGED: &str = "merged";
/// The sum of their durations.
pub(super) const SUMMED: &str = "summed_ns";

/// What is kept where there are more rows than may be.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// The first rows: queries put first what matters most.
    First,
    /// All of them or none: a part would tell another story.
    All,
    /// The rows that last longest, in their order.
    Longest,
    /// Every row of its lanes, short ones drawn as one with their neighbours. Rows come by lane, then by `start_ns`.
    Marks(Marks),
}

/// Columns of a timeline.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    /// Rows of equal values lie in one lane.
    pub lanes: &'static [&'static str],
    /// Facts of one row that a mark of several cannot have.
    pub own: &'static [&'static str],
}

/// Rows that were kept, and what became of the others.
pub(super) struct Kept {
    pub rows: RecordBatch,
    pub note: Option<String>,
}

/// At most `most` of `rows`, which are part of `total`.
pub(super) fn keep(how: Keep, rows: RecordBatch, most: usize, total: usize) -> Result<Kept> {
    let wrong = |e: ArrowError| Error::Sql { problem: format!("levels of detail: {e}") };
    match how {
        Keep::First => Ok(first(rows, most, total)),
        Keep::All => Ok(Kept { rows, note: None }),
        Keep::Longest => longest(rows, most, total).map_err(wrong),
        Keep::Marks(marks) => {
            let (rows, width) = merge(&marks, rows, most).map_err(wrong)?;
            Ok(Kept { rows, note: width.map(|width| merged_note(width, total)) })
        }
    }
}

/// What is said of marks that stand for several rows.
pub(super) fn merged_note(width: i64, total: usize) -> String {
    format!(
        "Of {} rows, those shorter than {} are drawn together with their neighbours in steps of that length; a mark says \
         how many it stands for.",
        count(total as u64),
        duration(width as f64)
    )
}

fn first(rows: RecordBatch, most: usize, total: usize) -> Kept {
    let rows = rows.slice(0, rows.num_rows().min(most));
    let note = (rows.num_rows() < total).then(|| {
        format!("The first {} of {} rows are in this page.", count(rows.num_rows() as u64), count(total as u64))
    });
    Kept { rows, note }
}

/// The column that says how long a row lasts.
fn duration_of(rows: &RecordBatch) -> Option<&Int64Array> {
    ["duration_ns", "host_total_time_ns"].iter().find_map(|name| rows.column_by_name(name)?.as_primitive_opt())
}

fn longest(rows: RecordBatch, most: usize, total: usize) -> Result<Kept, ArrowError> {
    let Some(durations) = duration_of(&rows).filter(|_| rows.num_rows() > most) else {
        return Ok(first(rows, most, total));
    };
    // Of a row that never ended nobody knows how long it is; it may be the one that matters.
    let mut ranked: Vec<(i64, usize)> =
        durations.iter().enumerate().map(|(row, ns)| (ns.unwrap_or(i64::MAX), row)).collect();
    ranked.sort_by_key(|(ns, row)| (std::cmp::Reverse(*ns), *row));
    let mut kept = vec![false; rows.num_rows()];
    ranked.iter().take(most).for_each(|(_, row)| kept[*row] = true);
    let rows = filter_record_batch(&rows, &BooleanArray::from(kept))?;
    let note =
        format!("The longest {} of {} rows are in this page.", count(rows.num_rows() as u64), count(total as u64));
    Ok(Kept { rows, note: Some(note) })
}

/// `rows` as marks that stand for one row each.
pub(super) fn marks(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let durations = rows.column(rows.schema().index_of("duration_ns")?).clone();
    let ones: ArrayRef = Arc::new(Int64Array::from(vec![1; rows.num_rows()]));
    let mut fields: Vec<_> = rows.schema().fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    fields.push(Field::new(MERGED, DataType::Int64, true));
    fields.push(Field::new(SUMMED, DataType::Int64, true));
    let mut columns = rows.columns().to_vec();
    columns.extend([ones, durations]);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// One mark: a first and a last row, and the longest of them.
struct Mark {
    first: usize,
    last: usize,
    longest: usize,
}

/// At most about `most` marks, and the width below which rows were merged, if they had to be.
pub(super) fn merge(how: &Marks, rows: RecordBatch, most: usize) -> Result<(RecordBatch, Option<i64>), ArrowError> {
    if rows.num_rows() <= most {
        return Ok((rows, None));
    }
    let number =
        |name: &str| Ok::<_, ArrowError>(rows.column(rows.schema().index_of(name)?).as_primitive::<Int64Type>());
    let (starts, durations) = (number("start_ns")?, number("duration_ns")?);
    let (counts, sums) = (number(MERGED)?, number(SUMMED)?);
    let lanes: Vec<ArrayRef> = how.lanes.iter().filter_map(|name| rows.column_by_name(name).cloned()).collect();
    let lanes = partition(&lanes)?.ranges();
    let spans = lanes.iter().map(|lane| {
        let ends = lane.clone().map(|row| starts.value(row).saturating_add(durations.value(row)));
        ends.max().unwrap_or(0).saturating_sub(starts.value(lane.start))
    });
    // No narrower step can do: each lane has a mark in every step, as far as it has rows.
    let mut width = (spans.fold(0, i64::saturating_add) / (2 * most.max(1)) as i64).max(1);
    let marks = loop {
        let found = steps(starts, durations, &lanes, width);
        // A step as wide as all time leaves a mark a lane: no page is made smaller than that.
        if found.len() <= most || width > i64::MAX / 2 {
            break found;
        }
        width *= 2;
    };
    let longest = Int64Array::from_iter_values(marks.iter().map(|m| m.longest as i64));
    let taken = take_record_batch(&rows, &longest)?;
    let total = |values: &Int64Array, mark: &Mark| {
        values.values()[mark.first..=mark.last].iter().fold(0, |a: i64, b| a.saturating_add(*b))
    };
    let several = |mark: &Mark| mark.first < mark.last || counts.value(mark.first) > 1;
    let schema = taken.schema();
    let columns = schema.fields().iter().zip(taken.columns()).map(|(field, array)| -> Result<ArrayRef, ArrowError> {
        let made =
            |of: &dyn Fn(&Mark) -> i64| Ok(Arc::new(Int64Array::from_iter_values(marks.iter().map(of))) as ArrayRef);
        match field.name().as_str() {
            "start_ns" => made(&|m| starts.value(m.first)),
            "duration_ns" => made(&|m| {
                let ends = (m.first..=m.last).map(|row| starts.value(row).saturating_add(durations.value(row)));
                ends.max().unwrap_or(0).saturating_sub(starts.value(m.first))
            }),
            MERGED => made(&|m| total(counts, m)),
            SUMMED => made(&|m| total(sums, m)),
            name if how.own.contains(&name) => {
                let alone = BooleanArray::from_iter(marks.iter().map(|m| Some(several(m))));
                arrow::compute::nullif(array, &alone)
            }
            _ => Ok(array.clone()),
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok((RecordBatch::try_new(schema, columns)?, Some(width)))
}

/// Consecutive rows of a lane that are shorter than `width` and begin in one step of that width are one mark.
fn steps(starts: &Int64Array, durations: &Int64Array, lanes: &[std::ops::Range<usize>], width: i64) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for lane in lanes {
        let mut step = None;
        for row in lane.clone() {
            let here = (durations.value(row) < width).then(|| starts.value(row).div_euclid(width));
            match marks.last_mut().filter(|_| here.is_some() && here == step) {
                Some(mark) => {
                    mark.last = row;
                    if durations.value(row) > durations.value(mark.longest) {
                        mark.longest = row;
                    }
                }
                None => marks.push(Mark { first: row, last: row, longest: row }),
            }
            step = here;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;

    use super::*;

    const HOW: Marks = Marks { lanes: &["lane"], own: &["id"] };

    fn rows(of: &[(i64, i64, i64)]) -> RecordBatch {
        let column = |get: fn(&(i64, i64, i64)) -> i64| -> ArrayRef {
            Arc::new(of.iter().map(get).map(Some).collect::<Int64Array>())
        };
        let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..of.len()).map(|n| format!("n{n}"))));
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..of.len() as i64));
        let batch = RecordBatch::try_from_iter([
            ("lane", column(|r| r.0)),
            ("start_ns", column(|r| r.1)),
            ("duration_ns", column(|r| r.2)),
            ("name", names),
            ("id", ids),
        ]);
        marks(&batch.unwrap()).unwrap()
    }

    fn ints(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
        batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().iter().collect()
    }

    /// Two lanes; in the first, four short rows in a row, then a long one.
    #[test]
    fn short_neighbours_become_one_mark_that_says_what_it_stands_for() {
        let all = rows(&[(1, 0, 2), (1, 2, 3), (1, 5, 1), (1, 6, 1), (1, 10, 1000), (2, 0, 4), (2, 900, 5)]);
        let (kept, width) = merge(&HOW, all.clone(), 5).unwrap();
        // Lanes last 1,010 and 905: the first step tried is 1,915 / 10 = 191, and it leaves 4 marks.
        assert_eq!(width, Some(191));
        assert_eq!(ints(&kept, "start_ns"), [0, 10, 0, 900].map(Some));
        assert_eq!(ints(&kept, "duration_ns"), [7, 1000, 4, 5].map(Some));
        assert_eq!(ints(&kept, MERGED), [4, 1, 1, 1].map(Some));
        assert_eq!(ints(&kept, SUMMED), [7, 1000, 4, 5].map(Some));
        assert_eq!(ints(&kept, "id"), [None, Some(4), Some(5), Some(6)]);
        let names: Vec<_> = kept.column_by_name("name").unwrap().as_string::<i32>().iter().flatten().collect();
        assert_eq!(names, ["n1", "n4", "n5", "n6"], "a mark has the name of its longest row");
        let (same, width) = merge(&HOW, all.clone(), 7).unwrap();
        assert_eq!((same, width), (all, None));
    }

    #[test]
    fn nothing_is_lost_however_little_may_be_kept() {
        let of: Vec<_> = (0..1000).map(|n| (n / 500, n * 7, n % 13)).collect();
        for most in [1, 2, 10, 100, 999] {
            let (kept, _) = merge(&HOW, rows(&of), most).unwrap();
            assert!(kept.num_rows() <= most.max(2), "{most}: {}", kept.num_rows());
            assert_eq!(ints(&kept, MERGED).iter().flatten().sum::<i64>(), 1000);
            assert_eq!(ints(&kept, SUMMED).iter().flatten().sum::<i64>(), of.iter().map(|r| r.2).sum::<i64>());
        }
    }

    #[test]
    fn times_at_the_end_of_the_scale_are_no_trouble() {
        let (kept, _) = merge(&HOW, rows(&[(1, i64::MIN, 1), (1, 0, i64::MAX), (1, i64::MAX, i64::MAX)]), 1).unwrap();
        assert!(kept.num_rows() >= 1);
    }
}
