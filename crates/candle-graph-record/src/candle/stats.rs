//! Summaries of a tensor's values.
//! In: a label and a tensor. Out: one row of `tensor_stats`.
//! Left to neighbours: reading (`elements`), the arithmetic (`moments`), the row's checks (`session`).

use candle_core::Tensor;

use super::{dtype_label, elements};
use crate::error::Result;
use crate::records::TensorStats;
use crate::session::TraceSession;
use crate::span::SpanId;

impl TraceSession {
    /// Records a summary of a tensor's values in an open span: elements, how many are NaN, +infinity and -infinity,
    /// root mean square, largest magnitude and mean, in f64 whatever the dtype. When an element is not finite, those
    /// of all elements are absent and those of the finite ones are there; an empty tensor has neither.
    ///
    /// Costs one pass over the tensor in memory, and no copy of it. On another device its storage is copied to the CPU
    /// first, which waits for the device.
    ///
    /// # Errors
    /// A tensor that cannot be read (6-bit floats, views of 4-bit floats, a device that refuses), an empty label, a
    /// closed or foreign span. The session counts each as lost.
    pub fn record_tensor_stats(&self, span: SpanId, label: impl AsRef<str>, tensor: &Tensor) -> Result<()> {
        let stats = self.counted(tensor_stats(tensor))?;
        self.record_stats(span, label.as_ref(), tensor.dims(), &dtype_label(tensor.dtype()), &stats)
    }
}

fn tensor_stats(tensor: &Tensor) -> Result<TensorStats> {
    let read = elements::read("record_tensor_stats", tensor)?;
    Ok(read.moments.stats(read.repeat))
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, IndexOp, Result as CandleResult, Tensor};
    use half::{bf16, f16};

    use super::super::testing::trace;
    use super::*;

    const CPU: Device = Device::Cpu;

    fn stats(tensor: &Tensor) -> TensorStats {
        tensor_stats(tensor).expect("a tensor on the CPU")
    }

    /// What finite values summarise to; the three numbers are worked out by hand.
    fn finite(elements: u64, rms: f64, abs_max: f64, mean: f64) -> TensorStats {
        let (rms, abs_max, mean) = (Some(rms), Some(abs_max), Some(mean));
        TensorStats {
            elements,
            rms,
            abs_max,
            mean,
            finite_rms: rms,
            finite_abs_max: abs_max,
            finite_mean: mean,
            ..Default::default()
        }
    }

    #[test]
    fn every_dtype_gives_the_same_summary_of_the_same_numbers() -> CandleResult<()> {
        // 1, 2, 4, 5: squares 46, so the mean square is 11.5.
        let values = Tensor::new(&[1f32, 2., 4., 5.], &CPU)?;
        for dtype in [
            DType::U8,
            DType::U32,
            DType::I16,
            DType::I32,
            DType::I64,
            DType::BF16,
            DType::F16,
            DType::F32,
            DType::F64,
            DType::F8E4M3,
        ] {
            assert_eq!(stats(&values.to_dtype(dtype)?), finite(4, 11.5f64.sqrt(), 5.0, 3.0), "{dtype:?}");
        }
        for dtype in [DType::I16, DType::I32, DType::I64, DType::BF16, DType::F16, DType::F32, DType::F64] {
            let signed = values.neg()?.to_dtype(dtype)?;
            assert_eq!(stats(&signed), finite(4, 11.5f64.sqrt(), 5.0, -3.0), "{dtype:?}");
        }
        Ok(())
    }

    #[test]
    fn the_ends_of_every_range_are_right() -> CandleResult<()> {
        let same = |x: f64, n| finite(n, x, x, x);
        assert_eq!(stats(&Tensor::new(&[255u8; 3], &CPU)?), same(255.0, 3));
        assert_eq!(stats(&Tensor::new(&[u32::MAX; 3], &CPU)?), same(4_294_967_295.0, 3));
        assert_eq!(stats(&Tensor::new(&[i16::MIN; 2], &CPU)?), finite(2, 32768.0, 32768.0, -32768.0));
        assert_eq!(
            stats(&Tensor::new(&[i32::MIN; 2], &CPU)?),
            finite(2, 2f64.powi(31), 2f64.powi(31), -(2f64.powi(31)))
        );
        assert_eq!(stats(&Tensor::new(&[i64::MIN], &CPU)?), finite(1, 2f64.powi(63), 2f64.powi(63), -(2f64.powi(63))));
        assert_eq!(stats(&Tensor::new(&[i64::MAX, i64::MIN], &CPU)?), finite(2, 2f64.powi(63), 2f64.powi(63), -0.5));
        assert_eq!(stats(&Tensor::new(&[f16::MAX; 2], &CPU)?), same(65504.0, 2));
        assert_eq!(stats(&Tensor::new(&[f16::from_bits(1); 2], &CPU)?), same(2f64.powi(-24), 2));
        assert_eq!(stats(&Tensor::new(&[bf16::MAX; 2], &CPU)?), same(bf16::MAX.to_f64(), 2));
        assert_eq!(stats(&Tensor::new(&[f32::from_bits(1); 2], &CPU)?), same(2f64.powi(-149), 2));
        // A sum of squares in f32 would be infinite, and the summary 0.
        let big = stats(&Tensor::new(&[3e38f32, 3e38], &CPU)?);
        assert_eq!((big.abs_max, big.mean), (Some(f64::from(3e38f32)), Some(f64::from(3e38f32))));
        assert!((big.rms.unwrap_or_default() / f64::from(3e38f32) - 1.0).abs() < 1e-15);
        let huge = stats(&Tensor::new(&[1e300f64, -1e300], &CPU)?);
        assert_eq!((huge.abs_max, huge.mean), (Some(1e300), Some(0.0)));
        assert!((huge.rms.unwrap_or_default() / 1e300 - 1.0).abs() < 1e-15);
        Ok(())
    }

    #[test]
    fn eight_bit_floats_decode_as_their_specification_says() -> CandleResult<()> {
        // E4M3: 0x7e is 448, the largest; 0x01 is 2^-9, the smallest; 0x7f is NaN; there is no infinity.
        let of = |bytes: &[u8], dtype| Tensor::from_raw_buffer(bytes, dtype, &[bytes.len()], &CPU);
        assert_eq!(stats(&of(&[0x7e], DType::F8E4M3)?), finite(1, 448.0, 448.0, 448.0));
        assert_eq!(stats(&of(&[0x81], DType::F8E4M3)?), finite(1, 2f64.powi(-9), 2f64.powi(-9), -(2f64.powi(-9))));
        assert_eq!(stats(&of(&[0x7f, 0xff, 0x38], DType::F8E4M3)?).nan, 2);
        // E8M0: 127 is 1, 128 is 2, 0 is 2^-127, 254 is 2^127, 255 is NaN.
        assert_eq!(stats(&of(&[127, 128], DType::F8E8M0)?), finite(2, 2.5f64.sqrt(), 2.0, 1.5));
        assert_eq!(stats(&of(&[0], DType::F8E8M0)?).mean, Some(2f64.powi(-127)));
        let odd = stats(&of(&[254, 255], DType::F8E8M0)?);
        assert_eq!((odd.nan, odd.mean, odd.finite_mean), (1, None, Some(2f64.powi(127))));
        Ok(())
    }

    #[test]
    fn four_bit_floats_are_read_whole_and_six_bit_ones_refused() -> CandleResult<()> {
        // 0x72: 1 and 6. 0xf0: 0 and -6. Squares 73.
        let whole = Tensor::from_raw_buffer(&[0x72, 0xf0], DType::F4, &[2, 2], &CPU)?;
        assert_eq!(stats(&whole), finite(4, (73f64 / 4.0).sqrt(), 6.0, 0.25));
        assert_eq!(stats(&whole.t()?), stats(&whole));
        assert_eq!(stats(&whole.i(1..1)?), TensorStats::default());
        let error = tensor_stats(&whole.i(1)?).expect_err("half a storage").to_string();
        assert!(error.contains("whole storage"), "{error}");
        // A storage that does not hold what the shape says.
        assert!(tensor_stats(&Tensor::from_raw_buffer(&[0], DType::F4, &[4], &CPU)?).is_err());
        assert!(tensor_stats(&Tensor::from_raw_buffer(&[0], DType::F8E8M0, &[4], &CPU)?).is_err());
        for dtype in [DType::F6E2M3, DType::F6E3M2] {
            let error = tensor_stats(&Tensor::from_raw_buffer(&[0; 3], dtype, &[4], &CPU)?).expect_err("6 bits");
            assert!(error.to_string().contains("6-bit"), "{error}");
        }
        Ok(())
    }

    #[test]
    fn views_show_their_own_elements_and_no_other() -> CandleResult<()> {
        // 0 1 2 3 / 4 5 6 7 / 8 9 10 11
        let m = Tensor::arange(0f32, 12f32, &CPU)?.reshape((3, 4))?;
        let all = finite(12, (506f64 / 12.0).sqrt(), 11.0, 5.5);
        assert_eq!(stats(&m), all);
        assert_eq!(stats(&m.t()?), all);
        assert_eq!(stats(&m.reshape((3, 2, 2))?.permute((2, 0, 1))?), all);
        // Columns 1 and 2: 1 2 5 6 9 10, squares 247.
        let columns = m.narrow(1, 1, 2)?;
        assert_eq!(stats(&columns), finite(6, (247f64 / 6.0).sqrt(), 10.0, 5.5));
        assert_eq!(stats(&columns.t()?), stats(&columns));
        // One column: 3 7 11, squares 179. One row: 4 5 6 7, squares 126. One number.
        assert_eq!(stats(&m.i((.., 3))?), finite(3, (179f64 / 3.0).sqrt(), 11.0, 7.0));
        assert_eq!(stats(&m.i(1)?), finite(4, (126f64 / 4.0).sqrt(), 7.0, 5.5));
        assert_eq!(stats(&m.i((2, 0))?), finite(1, 8.0, 8.0, 8.0));
        // A broadcast repeats: row 1, five times; a number, 10^12 times, at the price of one.
        assert_eq!(stats(&m.narrow(0, 1, 1)?.broadcast_as((5, 4))?), finite(20, (126f64 / 4.0).sqrt(), 7.0, 5.5));
        let sea = Tensor::new(-2f32, &CPU)?.broadcast_as((1_000_000, 1_000_000))?;
        assert_eq!(stats(&sea), finite(1_000_000_000_000, 2.0, 2.0, -2.0));
        assert!(tensor_stats(&sea.i((0, 0))?.broadcast_as((usize::MAX, 4))?).is_err());
        Ok(())
    }

    #[test]
    fn a_long_view_of_short_rows_crosses_blocks() -> CandleResult<()> {
        // Two of three columns of 1000 rows, values 0..3000: the sum of all less the column 2, 5, 8, ...
        let m = Tensor::arange(0i64, 3000i64, &CPU)?.reshape((1000, 3))?.narrow(1, 0, 2)?;
        let kept: Vec<f64> = (0..3000).filter(|i| i % 3 != 2).map(f64::from).collect();
        let (sum, squares) = (kept.iter().sum::<f64>(), kept.iter().map(|x| x * x).sum::<f64>());
        assert_eq!(stats(&m), finite(2000, (squares / 2000.0).sqrt(), 2998.0, sum / 2000.0));
        let float = m.to_dtype(DType::F64)?;
        assert_eq!(stats(&float).mean, Some(sum / 2000.0));
        Ok(())
    }

    #[test]
    fn empty_tensors_and_scalars() -> CandleResult<()> {
        assert_eq!(stats(&Tensor::zeros((0,), DType::F32, &CPU)?), TensorStats::default());
        assert_eq!(stats(&Tensor::zeros((3, 0, 2), DType::I64, &CPU)?), TensorStats::default());
        assert_eq!(stats(&Tensor::new(-7f64, &CPU)?), finite(1, 7.0, 7.0, -7.0));
        assert_eq!(stats(&Tensor::zeros((2, 2), DType::BF16, &CPU)?), finite(4, 0.0, 0.0, 0.0));
        Ok(())
    }

    #[test]
    fn a_row_says_what_is_not_finite() -> CandleResult<()> {
        let bad = Tensor::new(&[3f32, f32::NAN, f32::INFINITY, -4., f32::NEG_INFINITY, f32::INFINITY], &CPU)?;
        let refused = Tensor::from_raw_buffer(&[0; 3], DType::F6E2M3, &[4], &CPU)?;
        let trace = trace(|session, span| {
            session.record_tensor_stats(span, "bad", &bad).expect("a row");
            session.record_tensor_stats(span, "bad", &bad.to_dtype(DType::F16).expect("a cast")).expect("a row");
            session.record_tensor_stats(span, "refused", &refused).expect_err("no row");
        });
        let columns = ["label", "dtype", "elements", "non_finite", "nan", "pos_inf", "neg_inf", "rms", "abs_max"];
        assert_eq!(trace.rows("tensor_stats", &columns), ["bad f32 6 4 1 2 1 - -", "bad f16 6 4 1 2 1 - -"]);
        assert_eq!(
            trace.rows("tensor_stats", &["mean", "finite_rms", "finite_abs_max", "finite_mean"])[0],
            format!("- {:?} 4.0 -0.5", 12.5f64.sqrt())
        );
        Ok(())
    }
}
