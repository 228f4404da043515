//! Columns of text: which of a trace's there are, which words stay, and the cells of one that must be looked at.
//! In: batches. Out: suspect cells; a column with some of its cells replaced, or itself. Left to neighbours: what is
//! private (`names`), what replaces it (`replace`).

use std::sync::Arc;

use aho_corasick::AhoCorasick;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use candle_graph_record::table::TableSpec;
use candle_graph_record::{DTYPES, ExecutionStep, GradientState, MemoryCategory, SpanKind};

/// The columns of a table that hold text; every row's `run_id` is the run's and stays.
pub(super) fn of_text(spec: &TableSpec) -> Vec<&'static str> {
    let is_text = |t: &DataType| match t {
        DataType::List(item) => item.data_type() == &DataType::Utf8,
        t => t == &DataType::Utf8,
    };
    spec.columns.iter().filter(|c| c.name != "run_id" && is_text(&c.data_type)).map(|c| c.name).collect()
}

/// Operations whose work is known by their names (queries/views/op_work.sql): `max` is an operation, whoever the user is.
const OPERATIONS: &str = " matmul mm bmm batch_matmul linear qmatmul conv1d conv2d conv_transpose1d conv_transpose2d sum \
    sum_all sum_keepdim mean mean_all mean_keepdim max max_all max_keepdim min min_all min_keepdim argmax argmax_keepdim \
    argmin argmin_keepdim softmax log_softmax softmax_last_dim layer_norm group_norm rms_norm rope rope_i rope_slow \
    rotary_emb affine add sub mul div maximum minimum pow powf eq ne lt le gt ge cmp neg abs recip sqr sqrt exp log sin \
    cos tanh erf relu elu leaky_relu gelu gelu_erf silu swish sigmoid floor ceil round sign reshape view flatten \
    flatten_all transpose t permute contiguous copy clone detach cat stack chunk slice narrow squeeze unsqueeze \
    index_select embedding gather where_cond broadcast_as expand repeat to_dtype to_device zeros ones full ";

/// Whether a cell holds a word of the format or of Candle, which says nothing about anybody and which readers look for.
pub(super) fn stays(table: &str, column: &str, text: &str) -> bool {
    match (table, column) {
        ("edges", "kind") => matches!(text, "call" | "data"),
        (_, "kind") => SpanKind::parse(text).is_some(),
        (_, "step") => ExecutionStep::parse(text).is_some(),
        (_, "action") => matches!(text, "alloc" | "free" | "end_unobserved"),
        (_, "category") => MemoryCategory::parse(text).is_some(),
        (_, "state") => GradientState::parse(text).is_some(),
        (_, "dtype") => DTYPES.contains(&text),
        (_, "device") => is_device(text),
        ("ops", "name") | ("memory", "op_name") => {
            let known = |name: &str| !name.contains(' ') && OPERATIONS.contains(&format!(" {name} "));
            known(text) || text.strip_prefix("broadcast_").is_some_and(known)
        }
        _ => false,
    }
}

/// Whether a text is what Candle calls a device, or what this project calls this process.
pub(super) fn is_device(text: &str) -> bool {
    let (name, number) = text.split_once(':').unwrap_or((text, ""));
    matches!(name, "cpu" | "cuda" | "metal" | "process") && number.bytes().all(|b| b.is_ascii_digit())
}

/// The cells of a column, or of its lists, in which `finder` finds something, with their numbers.
///
/// It searches many cells end to end: most columns hold nothing, and are searched in one go.
pub(super) fn suspects(array: &ArrayRef, finder: &AhoCorasick, mut each: impl FnMut(usize, &str)) {
    let texts = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().values(),
        _ => array,
    };
    let Some(texts) = texts.as_any().downcast_ref::<StringArray>() else { return };
    let (ends, bytes) = (texts.value_offsets(), texts.value_data());
    let mut at = ends[0] as usize;
    let end = ends[texts.len()] as usize;
    while let Some(found) = finder.find(&bytes[at..end]) {
        let cell = ends.partition_point(|&begin| begin as usize <= at + found.start()) - 1;
        if texts.is_valid(cell) {
            each(cell, texts.value(cell));
        }
        at = ends[cell + 1] as usize;
    }
}

/// The column with the numbered cells replaced, in the type `wanted`.
///
/// # Errors
/// What Arrow says of a column that holds more than 2 GiB, or NULL where the type has none.
pub(super) fn with(array: &ArrayRef, wanted: &DataType, cells: &[(usize, Arc<str>)]) -> Result<ArrayRef, String> {
    let problem = |e: arrow::error::ArrowError| e.to_string();
    match wanted {
        DataType::List(item) => {
            let list = array.as_list_opt::<i32>().ok_or("holds no lists")?;
            let values = with(list.values(), item.data_type(), cells)?;
            let list = ListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned());
            Ok(Arc::new(list.map_err(problem)?))
        }
        DataType::Utf8 if !cells.is_empty() => {
            let texts = array.as_string_opt::<i32>().ok_or("holds no text")?;
            Ok(Arc::new(rebuilt(texts, cells)?))
        }
        _ => Ok(array.clone()),
    }
}

fn rebuilt(texts: &StringArray, cells: &[(usize, Arc<str>)]) -> Result<StringArray, String> {
    let (old, data) = (texts.value_offsets(), texts.value_data());
    let mut ends: Vec<i32> = Vec::with_capacity(old.len());
    let mut bytes: Vec<u8> = Vec::with_capacity(data.len());
    ends.push(0);
    let mut next = 0;
    let last = (texts.len(), Arc::from(""));
    for (cell, text) in cells.iter().chain([&last]) {
        // What lies between two replaced cells moves as one piece.
        let moved = bytes.len() as i64 - i64::from(old[next]);
        bytes.extend_from_slice(&data[old[next] as usize..old[*cell] as usize]);
        for &end in &old[next + 1..=*cell] {
            ends.push(end_of(i64::from(end) + moved)?);
        }
        if *cell < texts.len() {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(end_of(bytes.len() as i64)?);
            next = cell + 1;
        }
    }
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    StringArray::try_new(ends, Buffer::from_vec(bytes), texts.nulls().cloned()).map_err(|e| e.to_string())
}

fn end_of(end: i64) -> Result<i32, String> {
    i32::try_from(end).map_err(|_| "holds more than 2 GiB of text in one batch".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_and_replaced_one_by_one() {
        let array: ArrayRef =
            Arc::new(StringArray::from(vec![Some("ax"), None, Some(""), Some("x"), Some("a"), Some("x")]));
        for array in [array.clone(), array.slice(0, 6)] {
            let mut found = Vec::new();
            let finder = AhoCorasick::new(["x"]).expect("small");
            suspects(&array, &finder, |cell, text| found.push((cell, Arc::from(text.replace('x', "long")))));
            let replaced = with(&array, &DataType::Utf8, &found).expect("small");
            let expected = vec![Some("along"), None, Some(""), Some("long"), Some("a"), Some("long")];
            assert_eq!(replaced.as_string::<i32>(), &StringArray::from(expected));
        }
        let part = array.slice(2, 3);
        let replaced = with(&part, &DataType::Utf8, &[(1, Arc::from("y"))]).expect("small");
        assert_eq!(replaced.as_string::<i32>(), &StringArray::from(vec!["", "y", "a"]));
    }

    #[test]
    fn every_operation_of_the_rules_for_work_stays() {
        let (_, view) = crate::session::VIEWS.iter().find(|(name, _)| *name == "op_work").expect("a view");
        let (rules, _) = view.split_once("runs AS (").expect("the rules come first");
        // `('max', 'reduction', 1), …`
        let names: Vec<&str> = rules.split("('").skip(1).filter_map(|r| Some(r.split_once('\'')?.0)).collect();
        assert!(names.len() > 80 && names.contains(&"bmm") && names.contains(&"max"), "{names:?}");
        let lost: Vec<&&str> = names.iter().filter(|name| !stays("ops", "name", name)).collect();
        assert!(lost.is_empty(), "add to OPERATIONS: {lost:?}");
    }

    #[test]
    fn words_of_the_format_stay() {
        assert!(stays("ops", "name", "max") && stays("ops", "name", "broadcast_add") && stays("edges", "kind", "data"));
        assert!(!stays("ops", "name", "sum max") && !stays("spans", "name", "max") && !stays("ops", "name", ""));
        assert!(is_device("cpu") && is_device("cuda:0") && !is_device("cuda:alice") && !is_device("node1"));
    }
}
