//! A tensor's elements, read in one pass where they lie.
//! In: a tensor of any dtype, layout and device. Out: its [`Moments`] and how often each value occurs.
//! Left to neighbours: the arithmetic (`moments`), the row (`stats`, `gradients`).
//!
//! No moment depends on the order of the elements, so a layout is simplified first: a broadcast dimension becomes a
//! count, the others are sorted by stride and joined where they touch. A transposed matrix is then one run of memory,
//! and a broadcast costs what its storage costs.

use candle_core::{CpuStorage, Device, Layout, Storage, Tensor};

use super::moments::{BLOCK, Moments, pow2};
use crate::error::{Error, Result};

/// The moments of a tensor's distinct places in memory, each of which it shows `repeat` times.
pub(super) struct Read {
    pub(super) moments: Moments,
    pub(super) repeat: u64,
}

/// Reads every element of `tensor`; off the CPU, a copy of its storage.
///
/// # Errors
/// More than 2^64 elements, a dtype whose packing candle leaves open, a storage too small for its layout, a device
/// that refuses the copy.
pub(super) fn read(what: &'static str, tensor: &Tensor) -> Result<Read> {
    if tensor.device().is_cpu() {
        return read_cpu(what, tensor);
    }
    // Detached, so that the copy does not become a node of the program's graph.
    let copy = tensor.detach().to_device(&Device::Cpu).map_err(|source| Error::Candle { what, source })?;
    read_cpu(what, &copy)
}

fn read_cpu(what: &'static str, tensor: &Tensor) -> Result<Read> {
    if super::element_count(tensor.dims()).is_none() {
        return Err(Error::fact(what, "shape", format!("{:?} has more than 2^64 elements", tensor.dims())));
    }
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(cpu) = &*storage else {
        return Err(Error::fact(what, "device", "did not copy the tensor to the CPU"));
    };
    let walk = Walk::new(layout);
    let mut moments = Moments::default();
    let m = &mut moments;
    // A later 0.11 may add an element type.
    #[allow(unreachable_patterns)]
    let read = match cpu {
        CpuStorage::U8(v) => walk.read(v, i64::from, |block| m.push_integers(block)),
        CpuStorage::U32(v) => walk.read(v, i64::from, |block| m.push_integers(block)),
        CpuStorage::I16(v) => walk.read(v, i64::from, |block| m.push_integers(block)),
        CpuStorage::I32(v) => walk.read(v, i64::from, |block| m.push_integers(block)),
        CpuStorage::I64(v) => walk.read(v, |x| x, |block| m.push_integers(block)),
        CpuStorage::BF16(v) => walk.read(v, |x| x.to_f64(), |block| m.push_floats(block)),
        CpuStorage::F16(v) => walk.read(v, |x| x.to_f64(), |block| m.push_floats(block)),
        CpuStorage::F32(v) => walk.read(v, f64::from, |block| m.push_floats(block)),
        CpuStorage::F64(v) => walk.read(v, |x| x, |block| m.push_floats(block)),
        CpuStorage::F8E4M3(v) => walk.read(v, |x| x.to_f64(), |block| m.push_floats(block)),
        CpuStorage::F8E8M0(v) => walk.read(v, e8m0, |block| m.push_floats(block)),
        CpuStorage::F4(v) => return read_f4(what, v, &walk, moments),
        CpuStorage::F6E2M3(_) | CpuStorage::F6E3M2(_) => {
            return Err(Error::fact(
                what,
                "dtype",
                format!(
                    "is {}: candle keeps its raw bytes and no format says in which order they hold 6-bit elements",
                    tensor.dtype().as_str()
                ),
            ));
        }
        _ => return Err(Error::fact(what, "dtype", format!("{} cannot be read", tensor.dtype().as_str()))),
    };
    read.ok_or_else(|| too_small(what, tensor))?;
    Ok(Read { moments, repeat: walk.repeat })
}

#[cold]
fn too_small(what: &'static str, tensor: &Tensor) -> Error {
    Error::fact(what, "storage", format!("is smaller than a tensor of shape {:?} needs", tensor.dims()))
}

/// A power of two from 2^-127 to 2^127, or NaN (OCP Microscaling Formats 1.0, section 5.4.1).
fn e8m0(code: u8) -> f64 {
    if code == 0xff { f64::NAN } else { pow2(i32::from(code) - 127) }
}

/// Two 4-bit elements a byte (E2M1, the same specification, section 5.3.3). Which of the two comes first is left open,
/// so only a tensor that shows its whole storage can be read: its moments do not depend on it.
fn read_f4(what: &'static str, bytes: &[u8], walk: &Walk, mut moments: Moments) -> Result<Read> {
    const E2M1: [f64; 16] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];
    if walk.empty {
        return Ok(Read { moments, repeat: walk.repeat });
    }
    if !walk.is_whole(2 * bytes.len()) {
        return Err(Error::fact(
            what,
            "dtype",
            "is f4: only a tensor that shows its whole storage, two elements a byte, can be read",
        ));
    }
    let mut block = [0.0; BLOCK];
    for pairs in bytes.chunks(BLOCK / 2) {
        for (slot, byte) in block.chunks_exact_mut(2).zip(pairs) {
            slot.copy_from_slice(&[E2M1[usize::from(byte & 15)], E2M1[usize::from(byte >> 4)]]);
        }
        moments.push_floats(&block[..2 * pairs.len()]);
    }
    Ok(Read { moments, repeat: walk.repeat })
}

/// A layout as a nest of loops over distinct places.
struct Walk {
    start: usize,
    /// `(length, stride)` from the outermost, strides falling; the last is the run.
    loops: Vec<(usize, usize)>,
    /// How often the layout shows each place; 0 elements show none.
    repeat: u64,
    empty: bool,
}

impl Walk {
    fn new(layout: &Layout) -> Self {
        let dims = || layout.dims().iter().copied().zip(layout.stride().iter().copied());
        let empty = dims().any(|(dim, _)| dim == 0);
        let repeat = dims().filter(|&(_, stride)| stride == 0).fold(1u64, |n, (dim, _)| n.saturating_mul(dim as u64));
        let mut sorted: Vec<_> = dims().filter(|&(dim, stride)| dim > 1 && stride > 0).collect();
        sorted.sort_by_key(|&(_, stride)| std::cmp::Reverse(stride));
        let mut loops: Vec<(usize, usize)> = Vec::with_capacity(sorted.len().max(1));
        for (dim, stride) in sorted {
            match loops.last_mut() {
                Some(outer) if Some(outer.1) == dim.checked_mul(stride) => *outer = (outer.0 * dim, stride),
                _ => loops.push((dim, stride)),
            }
        }
        if loops.is_empty() {
            loops.push((1, 1));
        }
        Self { start: layout.start_offset(), loops, repeat, empty }
    }

    /// Whether the layout shows each of `elements` places from the first on.
    fn is_whole(&self, elements: usize) -> bool {
        self.start == 0 && self.loops == [(elements, 1)]
    }

    /// Hands every element of the layout over in full blocks, then what is left; `None` when `data` is too small.
    #[inline]
    fn read<T: Copy, B: Copy + Default>(
        &self,
        data: &[T],
        convert: impl Fn(T) -> B,
        mut push: impl FnMut(&[B]),
    ) -> Option<()> {
        if self.empty {
            return Some(());
        }
        let (&(length, stride), outer) = self.loops.split_last()?;
        let (mut block, mut held) = ([B::default(); BLOCK], 0);
        let mut index = vec![0usize; outer.len()];
        let mut run = self.start;
        loop {
            let (mut at, mut left) = (run, length);
            while left > 0 {
                let take = left.min(BLOCK - held);
                let slots = &mut block[held..held + take];
                if stride == 1 {
                    let source = data.get(at..at.checked_add(take)?)?;
                    slots.iter_mut().zip(source).for_each(|(slot, &x)| *slot = convert(x));
                    at += take;
                } else {
                    for slot in slots {
                        *slot = convert(*data.get(at)?);
                        at = at.saturating_add(stride);
                    }
                }
                held += take;
                left -= take;
                if held == BLOCK {
                    push(&block);
                    held = 0;
                }
            }
            // The next run: the innermost outer loop that has not ended goes on, those inside it start again.
            let mut level = outer.len();
            loop {
                let Some(next) = level.checked_sub(1) else {
                    push(&block[..held]);
                    return Some(());
                };
                level = next;
                let (length, stride) = outer[level];
                index[level] += 1;
                if index[level] < length {
                    run = run.checked_add(stride)?;
                    break;
                }
                run -= (length - 1) * stride;
                index[level] = 0;
            }
        }
    }
}
