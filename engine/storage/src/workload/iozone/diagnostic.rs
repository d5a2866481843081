//! The diagnostic contents of IOzone's -+d: words that follow from the number of the record and
//! of the child, so that a record in the wrong place, or one of somebody else, is found out.
//!
//! The first word is r·2⁴⁸ | r·2³² | r·2¹⁶ | r plus a constant, where r is the first number that
//! the GNU C library's `rand` gives after `srand(1 + child + record)`; each later word is the one
//! before plus another constant. (The original adds the second in which it was started in place
//! of 1, or 0 when it keeps its files; then records 0 and 1 are alike.)

use crate::workload::libc_random::Rand;
use kit::content::PAGE_BYTES;

const FIRST: u64 = 0x0102_0304_0506_0708;
const STEP: u64 = 0x0101_0101_0101_0101;
const WORD_BYTES: usize = 8;

/// The contents of the files of one child.
#[derive(Debug, Clone, Copy)]
pub struct Diagnostic {
    /// The child's number; 0 for a single stream.
    pub child: u32,
}

impl Diagnostic {
    /// Makes the bytes of record `index`.
    pub fn fill(self, index: u64, record: &mut [u8]) {
        for (word, made) in record.chunks_mut(WORD_BYTES).zip(self.words(index)) {
            word.copy_from_slice(&made[..word.len()]);
        }
    }

    /// The sum of the first words of the pages of record `index`, or the number of the first page
    /// that is not what was written there. Looks at those words alone, or at every byte.
    pub fn check(self, index: u64, found: &[u8], every_byte: bool) -> Result<u64, usize> {
        let mut checksum: u64 = 0;
        for (at, (word, made)) in found.chunks(WORD_BYTES).zip(self.words(index)).enumerate() {
            let is_first = (at * WORD_BYTES).is_multiple_of(PAGE_BYTES);
            if (is_first || every_byte) && word != &made[..word.len()] {
                return Err(at * WORD_BYTES / PAGE_BYTES);
            }
            if is_first {
                checksum = checksum.wrapping_add(u64::from_le_bytes(made));
            }
        }
        Ok(checksum)
    }

    fn words(self, index: u64) -> impl Iterator<Item = [u8; WORD_BYTES]> {
        let seed = 1_u32.wrapping_add(self.child).wrapping_add(index as u32);
        let drawn = u64::from(Rand::new(seed).draw());
        let first = (drawn << 48 | drawn << 32 | drawn << 16 | drawn).wrapping_add(FIRST);
        std::iter::successors(Some(first), |word| Some(word.wrapping_add(STEP)))
            .map(u64::to_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: Diagnostic = Diagnostic { child: 0 };

    fn record(index: u64) -> Vec<u8> {
        let mut record = vec![0; 2 * PAGE_BYTES + 5];
        CHILD.fill(index, &mut record);
        record
    }

    /// `srand(1); rand()` gives 1804289383 = 0x6B8B4567 in the GNU C library.
    #[test]
    fn words_follow_from_the_generator_of_the_original() {
        let found = record(0);
        let drawn: u64 = 0x6B8B_4567;
        let first = (drawn << 48 | drawn << 32 | drawn << 16 | drawn).wrapping_add(FIRST);
        assert_eq!(found[..8], first.to_le_bytes());
        assert_eq!(found[8..16], first.wrapping_add(STEP).to_le_bytes());
    }

    #[test]
    fn another_record_and_another_child_are_found_out() {
        let found = record(7);
        assert!(CHILD.check(7, &found, true).is_ok_and(|sum| sum != 0));
        assert_eq!(CHILD.check(8, &found, false), Err(0));
        let other = Diagnostic { child: 5 };
        assert_eq!(other.check(7, &found, false), Err(0));
    }

    #[test]
    fn one_byte_is_found_when_every_byte_is_compared() {
        let mut found = record(3);
        found[PAGE_BYTES + 100] ^= 1;
        assert!(CHILD.check(3, &found, false).is_ok());
        assert_eq!(CHILD.check(3, &found, true), Err(1));
    }
}
