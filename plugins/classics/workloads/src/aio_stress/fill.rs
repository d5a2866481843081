//! What is written where: a pattern over the offsets of a file, so that records may overlap and
//! still be verified.

use kit::content::{Filling, Stamped};
use kit::failure::no_memory;
use kit::{Buffer, Content, EventSink};
use wire::Failure;

use super::params::Fill;

/// The pattern repeats after this many bytes: far beyond what compressors look back.
const PERIOD_BYTES: usize = 8 << 20;
const LETTER: u8 = b'b';

/// The bytes of a file by their offset.
pub struct Pattern {
    /// A period, and behind it its beginning again, so that a record never wraps.
    memory: Buffer,
    record_bytes: usize,
    /// Where blocks must differ: what threads write from instead.
    mixed: Option<Content>,
}

impl Pattern {
    /// Of which records of `record_bytes` can be taken anywhere.
    ///
    /// # Errors
    /// `HostLacks` memory; `Verification` when shares are not what they should be.
    pub fn new(
        content: Filling<Fill>,
        record_bytes: usize,
        event_sink: &mut EventSink,
    ) -> Result<Self, Failure> {
        let size_bytes = PERIOD_BYTES + record_bytes;
        let mut memory = Buffer::new(size_bytes).map_err(no_memory)?;
        let mut mixed = None;
        match content {
            Filling::Named(Fill::Zeroes) => {}
            Filling::Named(Fill::Letter) => memory.fill(LETTER),
            Filling::Shares(shares) => {
                mixed = Some(Content::checked(record_bytes, shares, event_sink)?);
            }
            Filling::Named(Fill::Random) => {
                let period = Content::random(PERIOD_BYTES).map_err(no_memory)?;
                for part in memory.chunks_mut(PERIOD_BYTES) {
                    part.copy_from_slice(&period.record(0)[..part.len()]);
                }
            }
        }
        Ok(Self {
            memory,
            record_bytes,
            mixed,
        })
    }

    /// What a thread writes, and expects back, where blocks must differ.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn stamped(&self) -> Result<Option<Stamped>, Failure> {
        let stamped = self.mixed.as_ref().map(|content| content.stamped(0));
        Ok(stamped.transpose().map_err(no_memory)?.flatten())
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

    fn pattern(fill: Fill, record_bytes: usize) -> Pattern {
        let mut emit = |_| {};
        Pattern::new(
            Filling::Named(fill),
            record_bytes,
            &mut EventSink::new(&mut emit),
        )
        .unwrap()
    }

    #[test]
    fn overlapping_records_agree() {
        let pattern = pattern(Fill::Random, 64 << 10);
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
            let pattern = pattern(fill, 512);
            assert!(pattern
                .at(PERIOD_BYTES as u64 - 1)
                .iter()
                .all(|&b| b == byte));
        }
    }
}
