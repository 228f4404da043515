//! The facts a program hands in, each a struct that borrows the program's text.
//! In: nothing. Out: the public record types and their checks against what every reader refuses.
//! Left to neighbours: rows and buffers (`tables`, `buffer`), identities of storages (`storage`).

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::names::MemoryCategory;

/// One executed operation.
#[derive(Clone, Copy, Debug)]
pub struct OpRecord<'a> {
    pub op_name: &'a str,
    /// tensor_id of each input.
    pub inputs: &'a [String],
    pub output: Option<&'a str>,
    /// Shape of the output.
    pub shape: &'a [usize],
    pub dtype: &'a str,
    pub device: &'a str,
    /// Host time of the operation.
    pub duration_ns: u64,
    /// When it started, on the session's clock; 0: now.
    pub timestamp_ns: u64,
    pub output_dense_bytes: Option<u64>,
    pub input_dense_bytes: u64,
}

/// Metadata of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct TensorRecord<'a> {
    pub tensor_id: &'a str,
    pub label: Option<&'a str>,
    pub shape: &'a [usize],
    pub dtype: &'a str,
    pub device: &'a str,
    pub requires_grad: bool,
    pub dense_bytes: Option<u64>,
    pub category: MemoryCategory,
}

/// One end of a storage's lifetime.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRecord<'a> {
    /// The backend's name of the storage, e.g. its address; the session adds a birth number.
    pub storage_id: &'a str,
    pub tensor_id: &'a str,
    pub device: &'a str,
    pub bytes: u64,
    pub dtype: &'a str,
    pub category: MemoryCategory,
    /// On the session's clock; `None`: now.
    pub timestamp_ns: Option<u64>,
    pub op_name: Option<&'a str>,
    pub shape: &'a [usize],
}

/// One interval of device work, on the device's own clock.
#[derive(Clone, Copy, Debug)]
pub struct DeviceIntervalRecord<'a> {
    pub device: &'a str,
    pub stream_id: &'a str,
    pub clock_id: &'a str,
    pub backend: &'a str,
    pub start_ns: u64,
    /// Greater than 0.
    pub duration_ns: u64,
}

/// One checkpoint of physical memory; at least one of the four sizes is given.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemoryRecord<'a> {
    pub device: &'a str,
    pub used_bytes: Option<u64>,
    pub free_bytes: Option<u64>,
    pub reserved_bytes: Option<u64>,
    pub capacity_bytes: Option<u64>,
    /// On the session's clock; `None`: now.
    pub timestamp_ns: Option<u64>,
}

/// A summary of a tensor's values. `rms`, `abs_max` and `mean` are `None` when any element is not finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorStats {
    pub elements: u64,
    pub nan: u64,
    pub pos_inf: u64,
    pub neg_inf: u64,
    pub rms: Option<f64>,
    pub abs_max: Option<f64>,
    pub mean: Option<f64>,
    pub finite_rms: Option<f64>,
    pub finite_abs_max: Option<f64>,
    pub finite_mean: Option<f64>,
}

/// Every dtype a trace may name: those of candle-core 0.11, in candle's spelling.
pub const DTYPES: [&str; 14] =
    ["u8", "u32", "i16", "i32", "i64", "bf16", "f16", "f32", "f64", "f8e4m3", "f6e2m3", "f6e3m2", "f4", "f8e8m0"];

/// `text` unless it is empty.
pub(crate) fn non_empty(what: &'static str, field: &'static str, text: &str) -> Result<()> {
    if text.is_empty() { Err(Error::fact(what, field, "is empty")) } else { Ok(()) }
}

/// `value` as the Int64 that tables hold.
#[inline]
pub(crate) fn int(what: &'static str, field: &'static str, value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| Error::fact(what, field, format!("is {value}, more than an Int64 holds")))
}

/// `value` as an optional Int64.
#[inline]
pub(crate) fn opt_int(what: &'static str, field: &'static str, value: Option<u64>) -> Result<Option<i64>> {
    value.map(|v| int(what, field, v)).transpose()
}

/// Refuses a dtype that no reader knows.
#[inline]
pub(crate) fn dtype(what: &'static str, dtype: &str) -> Result<()> {
    // f32 first: nearly every call takes the first branch.
    if dtype == "f32" || DTYPES.contains(&dtype) || is_quantized(dtype) {
        Ok(())
    } else {
        Err(Error::fact(
            what,
            "dtype",
            format!("is {dtype:?}; known are {}, and ggml types such as q4_1", DTYPES.join(", ")),
        ))
    }
}

/// ggml block types, as in `candle_core::quantized::GgmlDType`, lower case.
pub fn is_quantized(dtype: &str) -> bool {
    matches!(dtype, "q4_0" | "q4_1" | "q5_0" | "q5_1" | "q8_0" | "q8_1" | "q2k" | "q3k" | "q4k" | "q5k" | "q6k" | "q8k")
}

/// A shape as the Int64 that tables hold, without a copy where a `usize` has the same 64 bits.
pub(crate) struct Shape<'a>(Cow<'a, [i64]>);

impl<'a> Shape<'a> {
    #[inline]
    pub(crate) fn new(what: &'static str, shape: &'a [usize]) -> Result<Self> {
        for &d in shape {
            int(what, "shape", d as u64)?;
        }
        #[cfg(target_pointer_width = "64")]
        {
            // SAFETY: both have 64 bits and the same alignment, and every value was just seen to fit the other type.
            let shape = unsafe { std::slice::from_raw_parts(shape.as_ptr().cast::<i64>(), shape.len()) };
            Ok(Self(Cow::Borrowed(shape)))
        }
        #[cfg(not(target_pointer_width = "64"))]
        Ok(Self(Cow::Owned(shape.iter().map(|&d| d as i64).collect())))
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[i64] {
        &self.0
    }
}
