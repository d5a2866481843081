//! An order in which each of n things comes once, computed instead of stored: a table of a
//! terabyte's blocks would displace from the caches what is to be measured.
//!
//! Numbers of just enough bits are mixed by steps that can each be undone (adding a key,
//! multiplying by an odd key, folding the upper half onto the lower), so that no two meet. What
//! falls outside of n is mixed again until it falls inside: cycle walking (Black and Rogaway,
//! "Ciphers with arbitrary finite domains", 2002), fewer than two turns on average.

use crate::splitmix::SplitMix;

const ROUNDS: usize = 3;

/// A bijection of the numbers below `count`.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    count: u64,
    mask: u64,
    fold: u32,
    keys: [Key; ROUNDS],
}

#[derive(Debug, Clone, Copy)]
struct Key {
    addend: u64,
    /// Odd, so that the multiplication can be undone.
    factor: u64,
}

impl Permutation {
    /// One of the permutations of `count` (1 … 2^63) things; another for each `seed`.
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        let mut random = SplitMix::new(seed);
        let keys = std::array::from_fn(|_| Key {
            addend: random.draw(),
            factor: random.draw() | 1,
        });
        Self {
            count,
            mask: u64::MAX >> (64 - bits),
            fold: bits.div_ceil(2),
            keys,
        }
    }

    /// What comes at `place`, which is below the count.
    #[inline]
    pub fn at(&self, place: u64) -> u64 {
        let mut found = self.mix(place);
        while found >= self.count {
            found = self.mix(found);
        }
        found
    }

    #[inline]
    fn mix(&self, number: u64) -> u64 {
        self.keys.iter().fold(number, |mixed, key| {
            let moved = mixed.wrapping_add(key.addend).wrapping_mul(key.factor) & self.mask;
            moved ^ (moved >> self.fold)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(count: u64, seed: u64) -> Vec<u64> {
        let permutation = Permutation::new(count, seed);
        (0..count).map(|place| permutation.at(place)).collect()
    }

    proptest! {
        #[test]
        fn each_comes_once(count in 1_u64..3_000, seed: u64) {
            let mut sorted = order(count, seed);
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn another_seed_is_another_order() {
        assert_eq!(order(1_000, 1), order(1_000, 1));
        let alike = |(left, right): &(u64, u64)| left == right;
        let same = order(1_000, 1).into_iter().zip(order(1_000, 2));
        // One on average.
        assert!(same.filter(alike).count() < 10);
    }

    /// A sequential run would please read-ahead, and short steps the track.
    #[test]
    fn steps_are_those_of_chance() {
        for (count, seed) in [(10_000, 1), (16_384, 2), (65_537, 3)] {
            let order = order(count, seed);
            let steps = || order.windows(2).map(|pair| pair[1].abs_diff(pair[0]));
            let near = steps().filter(|&step| step <= 8).count();
            assert!(near < 40, "{count}: {near} short steps, 16 are expected");
            // The mean distance of two random places is a third of the range.
            let mean = steps().sum::<u64>() as f64 / (count - 1) as f64;
            let ratio = mean / (count as f64 / 3.0);
            assert!((0.97..1.03).contains(&ratio), "{count}: {ratio}");
        }
    }
}
