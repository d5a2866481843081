//! Endless sequences of the blocks of a file, from 0, and in which direction they move: computed
//! inline, without a table.

use kit::permutation::Permutation;
use kit::splitmix::SplitMix;
use kit::zipf::Zipf;

use crate::io::Step;

/// One after another, and from the start again.
#[derive(Debug, Clone)]
pub struct Sequential {
    next: u64,
    blocks: u64,
}

impl Sequential {
    /// From block 0.
    pub fn new(blocks: u64) -> Self {
        Self { next: 0, blocks }
    }
}

impl Iterator for Sequential {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let block = self.next;
        self.next = if block + 1 == self.blocks {
            0
        } else {
            block + 1
        };
        Some(block)
    }
}

/// Each block is as likely as any other, whatever came before.
#[derive(Debug, Clone)]
pub struct Uniform {
    random: SplitMix,
    blocks: u64,
}

impl Uniform {
    /// Draws from `blocks`.
    pub fn new(blocks: u64, random: SplitMix) -> Self {
        Self { random, blocks }
    }
}

impl Iterator for Uniform {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        Some(self.random.below(self.blocks))
    }
}

/// Each block once, in a random order; then each once in another.
#[derive(Debug, Clone)]
pub struct Permuted {
    seeds: SplitMix,
    permutation: Permutation,
    places: Sequential,
}

impl Permuted {
    /// Of `blocks`.
    pub fn new(blocks: u64, mut seeds: SplitMix) -> Self {
        Self {
            permutation: Permutation::new(blocks, seeds.draw()),
            places: Sequential::new(blocks),
            seeds,
        }
    }
}

impl Iterator for Permuted {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let block = self.permutation.at(self.places.next()?);
        if self.places.next == 0 {
            self.permutation = Permutation::new(self.places.blocks, self.seeds.draw());
        }
        Some(block)
    }
}

/// By Zipf's law; which blocks are the likely ones is random, so that they are not adjacent.
#[derive(Debug, Clone)]
pub struct Skewed {
    random: SplitMix,
    zipf: Zipf,
    permutation: Permutation,
}

impl Skewed {
    /// Of `blocks`, with the exponent `theta`.
    pub fn new(blocks: u64, theta: f64, mut random: SplitMix) -> Self {
        Self {
            zipf: Zipf::new(blocks, theta),
            permutation: Permutation::new(blocks, random.draw()),
            random,
        }
    }
}

impl Iterator for Skewed {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        Some(self.permutation.at(self.zipf.draw(&mut self.random)))
    }
}

/// In which direction the next block moves.
#[derive(Debug, Clone)]
pub enum Mix {
    /// All come in.
    Reads,
    /// All go out.
    Writes,
    /// A word drawn below the threshold is a read.
    Drawn { random: SplitMix, threshold: u64 },
}

impl Mix {
    /// With `read_percent` of reads (0 … 100) on average.
    pub fn of(read_percent: u8, random: SplitMix) -> Self {
        match read_percent {
            0 => Mix::Writes,
            1..100 => Mix::Drawn {
                random,
                threshold: u64::MAX / 100 * u64::from(read_percent),
            },
            _ => Mix::Reads,
        }
    }

    /// Operations on `blocks`, each in the direction that is drawn for it.
    #[inline(always)]
    pub fn of_blocks(mut self, blocks: impl Iterator<Item = u64>) -> impl Iterator<Item = Step> {
        blocks.map(move |block| Step::new(block, self.is_write_next()))
    }

    /// Whether the next operation is a write.
    #[inline(always)]
    fn is_write_next(&mut self) -> bool {
        match self {
            Mix::Reads => false,
            Mix::Writes => true,
            Mix::Drawn { random, threshold } => random.draw() >= *threshold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(order: &mut impl Iterator<Item = u64>, count: usize) -> Vec<u64> {
        order.take(count).collect()
    }

    #[test]
    fn sequential_starts_over() {
        assert_eq!(taken(&mut Sequential::new(3), 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(taken(&mut Sequential::new(1), 2), [0, 0]);
    }

    #[test]
    fn permuted_rounds_are_whole_and_unlike() {
        let mut order = Permuted::new(100, SplitMix::new(1));
        let rounds: Vec<_> = (0..3).map(|_| taken(&mut order, 100)).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
    }

    /// For theta = 1 and 1000 ranks, the likeliest takes 1 / H(1000) = 13.4 % of all.
    #[test]
    fn a_few_skewed_blocks_take_most_and_are_apart() {
        let mut order = Skewed::new(1_000, 1.0, SplitMix::new(1));
        let mut counts = [0_u32; 1_000];
        for block in taken(&mut order, 20_000) {
            counts[block as usize] += 1;
        }
        let mut ranked: Vec<usize> = (0..1_000).collect();
        ranked.sort_by_key(|&block| std::cmp::Reverse(counts[block]));
        let share = f64::from(counts[ranked[0]]) / 20_000.0;
        assert!((share - 0.1336).abs() < 0.012, "{share}");
        assert!(ranked[0].abs_diff(ranked[1]) > 1);
    }

    #[test]
    fn the_mix_is_as_asked() {
        let writes = |read_percent| {
            let mut mix = Mix::of(read_percent, SplitMix::new(3));
            (0..10_000).filter(|_| mix.is_write_next()).count()
        };
        assert_eq!((writes(0), writes(100)), (10_000, 0));
        // Five standard deviations are 229.
        assert!(writes(70).abs_diff(3_000) < 229);
    }
}
