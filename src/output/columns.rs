//! Values of a batch, one at a time.
//! In: a batch. Out: what a column has in a row. Left to neighbours: which rows, and what they mean.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};

/// Cells of a batch by column name; a column of another type reads as NULL.
pub(super) struct Columns<'b>(pub(super) &'b RecordBatch);

impl Columns<'_> {
    fn column(&self, name: &str, at: usize) -> Option<&ArrayRef> {
        self.0.column_by_name(name).filter(|array| array.is_valid(at))
    }

    pub fn opt_int(&self, name: &str, at: usize) -> Option<i64> {
        Some(self.column(name, at)?.as_primitive_opt::<Int64Type>()?.value(at))
    }

    pub fn int(&self, name: &str, at: usize) -> i64 {
        self.opt_int(name, at).unwrap_or_default()
    }

    pub fn opt_float(&self, name: &str, at: usize) -> Option<f64> {
        Some(self.column(name, at)?.as_primitive_opt::<Float64Type>()?.value(at))
    }

    pub fn text(&self, name: &str, at: usize) -> String {
        let text = || Some(self.column(name, at)?.as_string_opt::<i32>()?.value(at).to_owned());
        text().unwrap_or_default()
    }

    pub fn ints(&self, name: &str, at: usize) -> Vec<i64> {
        let list = || Some(self.column(name, at)?.as_list_opt::<i32>()?.value(at));
        let values = list().and_then(|values| values.as_primitive_opt::<Int64Type>().cloned());
        values.map(|values| values.values().to_vec()).unwrap_or_default()
    }
}
