//! Tensor helpers for candle-core programs (feature `candle`).
//! In: the program's own tensors, variables and gradients. Out: facts of a session: metadata and lifetimes (`capture`),
//! operations (`ops`), summaries of values (`stats`), gradients (`gradients`); identities, labels and sizes are here.
//! Left to neighbours: what a fact is and what is refused (`session`, `records`), storage lifetimes (`storage`).
//!
//! Nothing here keeps a tensor alive, so recording does not change the memory it measures; the one exception is
//! [`GradientCapturePlan`], which holds the program's parameters. Nothing here changes what the program computes.

mod capture;
mod elements;
mod gradients;
mod moments;
mod ops;
mod stats;

use candle_core::{CpuStorage, DType, Device, DeviceLocation, Storage, Tensor};

pub use capture::{CandleCapture, record_alloc, record_free, record_tensor, record_tensor_with_label};
pub use gradients::GradientCapturePlan;
pub use ops::{CandleOpCapture, record_op, run_op};

/// The identity of a tensor, `TensorId(7)`: unique within the process, a view has its own.
pub fn tensor_id(tensor: &Tensor) -> String {
    format!("{:?}", tensor.id())
}

/// The address of a tensor's storage, `storage:0x55ef7bab1888`. Views share it. It names the storage only while the
/// storage lives: addresses are reused, so a session adds the number of the birth.
pub fn storage_id(tensor: &Tensor) -> String {
    let (storage, _) = tensor.storage_and_layout();
    storage_name(&storage)
}

fn storage_name(storage: &Storage) -> String {
    format!("storage:{:p}", std::ptr::from_ref(storage))
}

/// `cpu`, `cuda:0`, `metal:0`.
pub fn device_label(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".to_owned(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}

/// Candle's own spelling, `f32`: one of [`crate::DTYPES`].
pub fn dtype_label(dtype: DType) -> String {
    dtype.as_str().to_owned()
}

/// Elements x element size in bytes, rounded up to a byte: a footprint, never an allocation (a broadcast view of one
/// number may have the footprint of a matrix). `u64::MAX` when it is more than that, which a session then refuses.
pub fn tensor_dense_bytes(tensor: &Tensor) -> u64 {
    let bits = match tensor.dtype() {
        // candle gives these a size of 0 bytes; safetensors packs them.
        DType::F6E2M3 | DType::F6E3M2 => 6,
        DType::F4 => 4,
        other => 8 * other.size_in_bytes() as u64,
    };
    match element_count(tensor.dims()) {
        Some(n) => u64::try_from((u128::from(n) * u128::from(bits)).div_ceil(8)).unwrap_or(u64::MAX),
        None => u64::MAX,
    }
}

/// The sum of [`tensor_dense_bytes`] over `tensors`.
pub fn inputs_dense_bytes(tensors: &[&Tensor]) -> u64 {
    tensors.iter().fold(0u64, |sum, tensor| sum.saturating_add(tensor_dense_bytes(tensor)))
}

/// Product of the dimensions. Not `Tensor::elem_count`, which overflows on a broadcast to an absurd shape.
fn element_count(dims: &[usize]) -> Option<u64> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim as u64))
}

/// Bytes of the whole storage, however little of it a view shows; `None` off the CPU, where candle does not tell.
fn storage_bytes(storage: &Storage) -> Option<u64> {
    let Storage::Cpu(cpu) = storage else { return None };
    // A later 0.11 may add an element type; its size is then unknown, not 0.
    #[allow(unreachable_patterns)]
    let bytes = match cpu {
        CpuStorage::U8(v) | CpuStorage::F6E2M3(v) | CpuStorage::F6E3M2(v) => size_of_val(&v[..]),
        CpuStorage::F4(v) | CpuStorage::F8E8M0(v) => size_of_val(&v[..]),
        CpuStorage::U32(v) => size_of_val(&v[..]),
        CpuStorage::I16(v) => size_of_val(&v[..]),
        CpuStorage::I32(v) => size_of_val(&v[..]),
        CpuStorage::I64(v) => size_of_val(&v[..]),
        CpuStorage::BF16(v) => size_of_val(&v[..]),
        CpuStorage::F16(v) => size_of_val(&v[..]),
        CpuStorage::F32(v) => size_of_val(&v[..]),
        CpuStorage::F64(v) => size_of_val(&v[..]),
        CpuStorage::F8E4M3(v) => size_of_val(&v[..]),
        _ => return None,
    };
    Some(bytes as u64)
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_existing_traces() -> candle_core::Result<()> {
        let t = Tensor::zeros((2, 3), DType::F32, &Device::Cpu)?;
        assert!(tensor_id(&t).starts_with("TensorId(") && tensor_id(&t).ends_with(')'));
        assert!(storage_id(&t).starts_with("storage:0x"));
        assert_eq!(device_label(t.device()), "cpu");
        assert_eq!(dtype_label(DType::BF16), "bf16");
        // A view is another tensor of the same storage.
        let view = t.t()?;
        assert_ne!(tensor_id(&t), tensor_id(&view));
        assert_eq!(storage_id(&t), storage_id(&view));
        Ok(())
    }

    #[test]
    fn every_candle_dtype_has_a_label_that_a_session_knows() {
        for label in crate::DTYPES {
            let dtype: DType = label.parse().expect("candle parses its own spelling");
            assert_eq!(dtype_label(dtype), label);
        }
    }

    #[test]
    fn a_footprint_is_elements_times_size_whatever_the_view() -> candle_core::Result<()> {
        let row = Tensor::zeros((1, 8), DType::F32, &Device::Cpu)?;
        assert_eq!(tensor_dense_bytes(&row), 32);
        let wide = row.broadcast_as((4, 8))?;
        assert_eq!(tensor_dense_bytes(&wide), 4 * 32);
        assert_eq!(storage_bytes(&wide.storage_and_layout().0), Some(32));
        assert_eq!(inputs_dense_bytes(&[&row, &wide]), 5 * 32);
        // Seven 4-bit and six-bit elements: 28 and 42 bits.
        assert_eq!(tensor_dense_bytes(&Tensor::from_raw_buffer(&[0; 4], DType::F4, &[7], &Device::Cpu)?), 4);
        assert_eq!(tensor_dense_bytes(&Tensor::from_raw_buffer(&[0; 6], DType::F6E2M3, &[7], &Device::Cpu)?), 6);
        assert_eq!(tensor_dense_bytes(&Tensor::zeros((3, 0), DType::F64, &Device::Cpu)?), 0);
        let absurd = Tensor::zeros(1, DType::F32, &Device::Cpu)?.broadcast_as((usize::MAX, 4))?;
        assert_eq!(tensor_dense_bytes(&absurd), u64::MAX);
        Ok(())
    }
}
