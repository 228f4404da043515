//! Column buffers: what a recording thread appends to. Plain vectors, because an append is the program's own time.
//! In: values. Out: Arrow arrays of a column's kind. Left to neighbours: which columns a table has (`table`).
//!
//! Text that repeats is kept as a number of a short list: an append then costs a hash and a compare, no copy. Arrays are
//! copies, and a buffer keeps its memory: fresh pages and growing vectors were 40% of what an event cost.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};

/// Which rows of a column are not NULL; nothing while all are.
#[derive(Default)]
pub(crate) struct Validity(Vec<bool>);

impl Validity {
    #[inline]
    fn push(&mut self, valid: bool) {
        self.0.push(valid);
    }

    fn take(&mut self) -> Option<NullBuffer> {
        let valid = &mut self.0;
        let nulls = (!valid.iter().all(|v| *v))
            .then(|| NullBuffer::new(BooleanBuffer::collect_bool(valid.len(), |i| valid[i])));
        valid.clear();
        nulls
    }
}

/// Text end to end.
#[derive(Clone)]
pub(crate) struct Plain {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Plain {
    fn default() -> Self {
        Self { ends: vec![0], bytes: Vec::new() }
    }
}

impl Plain {
    #[inline]
    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        // A thread waits for the writer long before 2 GiB; one text of that size is no label.
        self.ends.push(i32::try_from(self.bytes.len()).expect("less than 2 GiB of text between two cuts"));
    }

    fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.ends[index] as usize..self.ends[index + 1] as usize]
    }

    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn clear(&mut self) {
        self.ends.truncate(1);
        self.bytes.clear();
    }

    fn array(self, nulls: Option<NullBuffer>) -> StringArray {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        // SAFETY: every end follows a whole `str`, so each value is UTF-8 and the ends rise.
        unsafe { StringArray::new_unchecked(offsets, Buffer::from_vec(self.bytes), nulls) }
    }
}

/// Texts of the list beyond which it begins anew with the next array.
const LIST: usize = 4096;

/// Slots of the list's index: enough for the names of a model's operations, small enough to stay in the cache.
const INDEX: usize = 512;

/// Text as numbers of a list. An index slot that two texts share makes the list repeat one, which costs bytes only.
pub(crate) struct Interned {
    keys: Vec<u32>,
    list: Plain,
    index: Box<[u32; INDEX]>,
}

impl Interned {
    fn new() -> Self {
        Self { keys: Vec::new(), list: Plain::default(), index: Box::new([u32::MAX; INDEX]) }
    }

    #[inline]
    fn push(&mut self, text: &str) {
        let slot = &mut self.index[hash(text.as_bytes()) as usize % INDEX];
        if *slot == u32::MAX || self.list.get(*slot as usize) != text.as_bytes() {
            *slot = self.list.len() as u32;
            self.list.push(text);
        }
        self.keys.push(*slot);
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> StringArray {
        let mut out = Plain::default();
        out.ends.reserve(self.keys.len());
        for key in self.keys.drain(..) {
            out.bytes.extend_from_slice(self.list.get(key as usize));
            out.ends.push(i32::try_from(out.bytes.len()).expect("less than 2 GiB of text between two cuts"));
        }
        if self.list.len() > LIST {
            self.list.clear();
            self.index.fill(u32::MAX);
        }
        out.array(nulls)
    }
}

/// A multiplicative hash over words, for an index that checks what it finds.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(MIX);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        // The first, middle and last byte tell apart what is left of short names.
        let (first, middle, last) = (rest[0], rest[rest.len() / 2], rest[rest.len() - 1]);
        let word = u64::from(first) | u64::from(middle) << 8 | u64::from(last) << 16;
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(MIX);
    }
    hash >> 40
}

/// Text of one column.
pub(crate) enum Text {
    Plain(Plain),
    Interned(Interned),
}

impl Text {
    pub(crate) fn new(repeats: bool) -> Self {
        if repeats { Text::Interned(Interned::new()) } else { Text::Plain(Plain::default()) }
    }

    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        match self {
            Text::Plain(t) => t.push(text),
            Text::Interned(t) => t.push(text),
        }
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> StringArray {
        match self {
            Text::Plain(t) => {
                let array = t.clone().array(nulls);
                t.clear();
                array
            }
            Text::Interned(t) => t.take(nulls),
        }
    }
}

/// A copy of what `buffer` holds, which is empty afterwards and keeps its memory.
fn copy_out<T: Copy>(buffer: &mut Vec<T>) -> Vec<T> {
    let copy = buffer.clone();
    buffer.clear();
    copy
}

/// The lengths of a column of lists.
#[derive(Default)]
pub(crate) struct Lengths(Vec<usize>);

impl Lengths {
    #[inline]
    pub(crate) fn push(&mut self, length: usize) {
        self.0.push(length);
    }

    fn take(&mut self) -> OffsetBuffer<i32> {
        OffsetBuffer::from_lengths(self.0.drain(..))
    }
}

/// One column.
pub(crate) enum Values {
    Int(Vec<i64>),
    OptInt(Vec<i64>, Validity),
    Text(Text),
    OptText(Text, Validity),
    Bool(Vec<bool>),
    OptFloat(Vec<f64>, Validity),
    IntList(Lengths, Vec<i64>),
    TextList(Lengths, Text),
}

impl Values {
    #[inline]
    pub(crate) fn push_ints(lengths: &mut Lengths, values: &mut Vec<i64>, items: &[i64]) {
        // A shape is short: a call of memcpy costs more.
        items.iter().for_each(|&item| values.push(item));
        lengths.push(items.len());
    }

    #[inline]
    pub(crate) fn push_opt_int(values: &mut Vec<i64>, valid: &mut Validity, value: Option<i64>) {
        values.push(value.unwrap_or_default());
        valid.push(value.is_some());
    }

    #[inline]
    pub(crate) fn push_opt_float(values: &mut Vec<f64>, valid: &mut Validity, value: Option<f64>) {
        values.push(value.unwrap_or_default());
        valid.push(value.is_some());
    }

    #[inline]
    pub(crate) fn push_opt_text(text: &mut Text, valid: &mut Validity, value: Option<&str>) {
        text.push(value.unwrap_or_default());
        valid.push(value.is_some());
    }

    /// The column as an array; it is empty afterwards.
    pub(crate) fn take(&mut self) -> ArrayRef {
        let item = |data_type| Arc::new(Field::new("item", data_type, false));
        match self {
            Values::Int(v) => Arc::new(Int64Array::from(copy_out(v))),
            Values::OptInt(v, valid) => Arc::new(Int64Array::new(copy_out(v).into(), valid.take())),
            Values::Text(t) => Arc::new(t.take(None)),
            Values::OptText(t, valid) => Arc::new(t.take(valid.take())),
            Values::Bool(v) => Arc::new(BooleanArray::from(copy_out(v))),
            Values::OptFloat(v, valid) => Arc::new(Float64Array::new(copy_out(v).into(), valid.take())),
            Values::IntList(lengths, v) => {
                let values = Arc::new(Int64Array::from(copy_out(v)));
                Arc::new(ListArray::new(item(DataType::Int64), lengths.take(), values, None))
            }
            Values::TextList(lengths, t) => {
                Arc::new(ListArray::new(item(DataType::Utf8), lengths.take(), Arc::new(t.take(None)), None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    #[test]
    fn interned_text_comes_back_as_it_was_pushed() {
        let mut text = Text::new(true);
        // More texts than the index has slots, twice over, so that slots are shared and taken back.
        let pushed: Vec<String> = (0..2 * INDEX).chain(0..2 * INDEX).map(|i| format!("layer.{i}.weight")).collect();
        pushed.iter().for_each(|t| text.push(t));
        let array = text.take(None);
        assert!(array.iter().flatten().eq(pushed.iter().map(String::as_str)));
        assert_eq!(text.take(None).len(), 0, "taken");
    }

    #[test]
    fn an_absent_value_is_null_and_a_column_without_one_has_no_nulls() {
        let (mut values, mut valid) = (Vec::new(), Validity::default());
        Values::push_opt_int(&mut values, &mut valid, Some(1));
        Values::push_opt_int(&mut values, &mut valid, None);
        let array = Values::OptInt(values, valid).take();
        assert_eq!((array.len(), array.null_count()), (2, 1));
        let mut text = Text::new(false);
        let mut valid = Validity::default();
        Values::push_opt_text(&mut text, &mut valid, Some(""));
        assert_eq!(Values::OptText(text, valid).take().null_count(), 0, "empty text is text");
    }
}
