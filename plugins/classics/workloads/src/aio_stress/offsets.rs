//! Where each request goes.

use crate::libc_random::Rand;
use kit::mt64::Mt64;

const MIB: u64 = 1 << 20;
/// The range of the C library's rand().
const RAND_RANGE: f64 = 2_147_483_648.0;

/// The part of a file that a context works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// Byte behind the last.
    pub end: u64,
    /// Bytes per request.
    pub record_bytes: u64,
}

impl Range {
    /// Whole records that fit: the number of requests of a stage, random ones included.
    pub fn records(&self) -> u64 {
        (self.end - self.start) / self.record_bytes
    }

    /// Where record `index` starts.
    pub fn offset_of(&self, index: u64) -> u64 {
        self.start + index * self.record_bytes
    }
}

/// A source of random offsets.
pub enum Random {
    /// Whole records of the range, each as likely as any other.
    Records(Box<Mt64>),
    /// Those of the original: random page-aligned places behind the first MiB.
    Classic { rand: Rand, alignment: u64 },
}

impl Random {
    /// Whether offsets are the original's, which may reach behind the last whole record.
    pub fn is_classic(&self) -> bool {
        matches!(self, Random::Classic { .. })
    }

    /// The offset of the next request in `range`.
    #[inline]
    pub fn offset(&mut self, range: &Range) -> u64 {
        match self {
            Random::Records(twister) => range.offset_of(twister.draw() % range.records()),
            Random::Classic { rand, alignment } => classic_offset(rand, *alignment, range),
        }
    }
}

/// A random MiB but the first, and in it a random place rounded up; a record that would end
/// behind the range is moved forward by its size.
fn classic_offset(rand: &mut Rand, alignment: u64, range: &Range) -> u64 {
    let mut share = || f64::from(rand.draw()) / RAND_RANGE;
    let spared_mib = (alignment / MIB).max(1);
    let mib = ((range.end - range.start) / MIB).saturating_sub(spared_mib);
    let chosen_mib = 1 + (mib as f64 * share()) as u64;
    let inside = 1 + (MIB as f64 * share()) as u64;
    let offset = range.start + chosen_mib * MIB + inside.next_multiple_of(alignment);
    if offset + range.record_bytes > range.end {
        offset - range.record_bytes
    } else {
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets traced from the original with `-s 2g -r 64k -o 2`.
    #[test]
    fn classic_offsets_are_those_of_the_original() {
        let range = Range {
            start: 0,
            end: 2 << 30,
            record_bytes: 64 << 10,
        };
        assert_eq!(range.records(), 32_768);
        let mut random = Random::Classic {
            rand: Rand::new(1),
            alignment: 4_096,
        };
        let offsets: Vec<u64> = (0..range.records())
            .map(|_| random.offset(&range))
            .collect();
        let start = [
            1803964416, 1682755584, 1957900288, 721178624, 597221376, 1026166784, 783826944,
            2045685760, 1365999616, 304726016, 35909632, 295493632,
        ];
        assert_eq!(offsets[..12], start);
        assert_eq!(offsets.iter().min(), Some(&1_105_920));
        assert_eq!(offsets.iter().max(), Some(&2_147_401_728));
    }

    #[test]
    fn whole_records_are_drawn_from_all_of_the_range_and_nothing_else() {
        let range = Range {
            start: 1_000,
            end: 1_000 + 10 * 512 + 100,
            record_bytes: 512,
        };
        let mut random = Random::Records(Box::new(Mt64::new(1)));
        let mut seen = [0_u32; 10];
        for _ in 0..1_000 {
            let offset = random.offset(&range);
            assert_eq!((offset - range.start) % 512, 0);
            seen[((offset - range.start) / 512) as usize] += 1;
        }
        // 100 each on average; 40 would be six standard deviations off.
        assert!(seen.iter().all(|&count| count > 40), "{seen:?}");
    }
}
