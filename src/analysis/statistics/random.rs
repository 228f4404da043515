//! Random numbers that are a function of (seed, stream, counter) and of nothing else.
//! In: three integers. Out: 64 bits, or an index. Left to neighbours: what is drawn with them.

/// The seed of every sampled figure, written into the documents: the digits of √2, nothing up the sleeve.
pub const SEED: u64 = 1_414_213_562;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// One stream of numbers. Any of them can be had without those before it, so no order of work can change a result.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: u64,
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014; constants
/// are variant 13 of Stafford's).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// Stream `number` of `seed`: SplitMix64 whose state starts at a mixed key, so that streams do not overlap in
    /// practice.
    pub fn new(seed: u64, number: u64) -> Self {
        Stream { key: mix(mix(seed.wrapping_add(GOLDEN)) ^ mix(number.wrapping_mul(GOLDEN).wrapping_add(1))) }
    }

    /// The 64 bits at `counter`.
    pub fn bits(self, counter: u64) -> u64 {
        mix(self.key.wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// An index below `n` (0 if there is none): the high half of a product, so that no value is favoured by more than
    /// n / 2⁶⁴, and integers only.
    pub fn below(self, n: usize, counter: u64) -> usize {
        ((u128::from(self.bits(counter)) * n as u128) >> 64) as usize
    }
}
