//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014): one addition, two multiplications and no memory but eight bytes, so that a
//! place can be drawn inside a timed region.

/// The odd integer nearest to 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The generator's state.
#[derive(Debug, Clone, Copy)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The sequence of `seed`. Any two seeds give unlike sequences.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for stream `stream` of `seed`.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let start = Self(seed).draw();
        Self(Self(start ^ stream).draw())
    }

    /// The next number, uniform over all 64-bit values.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, by a multiplication instead of a division (Lemire, "Fast random
    /// integer generation in an interval", 2019); no number is likelier than another by more
    /// than `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn share(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the published generator for the seed 1234567.
    #[test]
    fn gives_the_published_sequence() {
        let mut random = SplitMix::new(1_234_567);
        let drawn: [u64; 3] = std::array::from_fn(|_| random.draw());
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn bounded_numbers_fill_their_range_evenly() {
        let mut random = SplitMix::new(1);
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            counts[random.below(10) as usize] += 1;
        }
        // 1,000 each on average; 850 or 1,150 would be five standard deviations off.
        assert!(counts.iter().all(|count| (850..1_150).contains(count)));
    }

    #[test]
    fn shares_lie_in_the_unit_interval_around_its_middle() {
        let mut random = SplitMix::new(1);
        let shares: Vec<f64> = (0..10_000).map(|_| random.share()).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        // Five standard deviations of the mean.
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0_f64 / 10_000.0).sqrt());
    }

    #[test]
    fn streams_of_one_seed_and_seeds_of_one_stream_differ() {
        let first = |seed, stream| SplitMix::stream(seed, stream).draw();
        let mut firsts: Vec<u64> = (0..8)
            .flat_map(|seed| (0..8).map(move |stream| first(seed, stream)))
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 64);
    }
}
