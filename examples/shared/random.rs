//! Random numbers that are the same on every machine.
//! In: a seed. Out: numbers in order. Left to neighbours: what they are for.

/// SplitMix64: small, and the same on every machine.
pub struct Random(pub u64);

impl Random {
    /// Uniform in `-bound..bound`.
    pub fn uniform(&mut self, bound: f32) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32;
        (2.0 * unit - 1.0) * bound
    }
}
