//! What is written where: a pattern over the offsets of a file, so that records may overlap and
//! still be verified.

use std::io;

use kit::{Buffer, Content};

use super::params::Fill;

/// The pattern repeats after this many bytes: far beyond what compressors look back.
const PERIOD_BYTES: usize = 8 << 20;
const LETTER: u8 = b'b';

/// The bytes of a file by their offset.
pub struct Pattern {
    /// A period, and behind it its beginning again, so that a record never wraps.
    memory: Buffer,
    record_bytes: usize,
}

impl Pattern {
    /// Of which records of `record_bytes` can be taken anywhere.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(fill: Fill, record_bytes: usize) -> io::Result<Self> {
        let size_bytes = PERIOD_BYTES + record_bytes;
        let mut memory = Buffer::new(size_bytes)?;
        match fill {
            Fill::Zeroes => {}
            Fill::Letter => memory.fill(LETTER),
            Fill::Random => {
                let period = Content::random(PERIOD_BYTES)?;
                for part in memory.chunks_mut(PERIOD_BYTES) {
                    part.copy_from_slice(&period.record(0)[..part.len()]);
                }
            }
        }
        Ok(Self {
            memory,
            record_bytes,
        })
    }

    /// The record at `offset`.
    #[inline]
    pub fn at(&self, offset: u64) -> &[u8] {
        let start = offset as usize % PERIOD_BYTES;
        &self.memory[start..start + self.record_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_records_agree() {
        let pattern = Pattern::new(Fill::Random, 64 << 10).unwrap();
        let period = PERIOD_BYTES as u64;
        for offset in [0, 4_096, period - 4_096, 3 * period - 4_096] {
            let (left, right) = (pattern.at(offset), pattern.at(offset + 4_096));
            assert_eq!(left[4_096..], right[..left.len() - 4_096], "{offset}");
            assert_ne!(left[..4_096], right[..4_096], "{offset}");
        }
    }

    #[test]
    fn uniform_fills_are_one_byte() {
        for (fill, byte) in [(Fill::Zeroes, 0), (Fill::Letter, b'b')] {
            let pattern = Pattern::new(fill, 512).unwrap();
            assert!(pattern
                .at(PERIOD_BYTES as u64 - 1)
                .iter()
                .all(|&b| b == byte));
        }
    }
}
