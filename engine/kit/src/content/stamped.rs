//! Contents of chosen shares.
//!
//! ```text
//! block      ▕ stamp 8 ▏ random ▏ zeroes: the compressible share ▏  4 KiB
//! duplicate  ▕ random           ▏ zeroes                         ▏  one of a few
//! ```
//! All of it is made beforehand and repeats after [`PERIOD_BYTES`]: too far away for compressors.
//! What makes a block the only one of its kind is its stamp: which thread wrote it, which block it
//! is, and a count of writes, so that a block that is written again is not what was there before
//! either. Stamping is a store of eight bytes per 4 KiB, in memory that the write reads next, and
//! lies inside of a timed region. Duplicates are left without a stamp.

use std::ops::Range;

use super::{word_at, PAGE_BYTES};
use crate::buffers::Buffer;

/// Random parts repeat after this many bytes: beyond the 128 KiB in which btrfs compresses, and
/// the 1 MiB of large ZFS records.
pub(super) const PERIOD_BYTES: usize = 2 << 20;
/// Blocks of a period.
pub(super) const PERIOD_PAGES: usize = PERIOD_BYTES / PAGE_BYTES;
const STAMP_BYTES: usize = 8;
/// Of a stamp: the block, the thread, and the count of writes, which a reader cannot know.
const FILE_SHIFT: u32 = 32;
const COUNT_SHIFT: u32 = 44;
const KNOWN: u64 = (1 << COUNT_SHIFT) - 1;

/// The bytes of one file, in the hands of one thread.
pub struct Stamped {
    memory: Buffer,
    /// Which blocks of a period are duplicates.
    duplicates: Box<[bool]>,
    /// The file's part of a stamp.
    file: u64,
    count: u64,
    /// Where in the file the last span began.
    last: u64,
}

impl Stamped {
    /// In `memory`, which has no stamps yet; counts go on from `count`.
    pub(super) fn new(memory: Buffer, duplicates: Box<[bool]>, file: u32, count: u64) -> Self {
        let mut stamped = Self {
            memory,
            duplicates,
            file: 0,
            count,
            last: 0,
        };
        stamped.turn_to(file);
        stamped
    }

    /// What one takes of which up to `span_bytes` are taken at once.
    pub fn memory_bytes(span_bytes: u64) -> u64 {
        PERIOD_BYTES as u64 + span_bytes
    }

    /// From now on another file is written or read.
    #[inline]
    pub fn turn_to(&mut self, file: u32) {
        self.file = u64::from(file) << FILE_SHIFT & KNOWN;
    }

    /// The `size_bytes` to be written at `offset` of the file. The memory is good until the next
    /// call.
    #[inline]
    pub fn span(&mut self, offset: u64, size_bytes: usize) -> &[u8] {
        self.stamp(offset, size_bytes);
        self.stamped(offset, size_bytes)
    }

    /// Stamps what is to be written.
    #[inline]
    pub fn stamp(&mut self, offset: u64, size_bytes: usize) {
        self.count = self.count.wrapping_add(1);
        self.last = offset;
        let start = offset as usize % PERIOD_BYTES;
        for page in pages(offset, size_bytes) {
            if self.is_duplicate(page) {
                continue;
            }
            let stamp = (self.word(page) | self.count << COUNT_SHIFT).to_le_bytes();
            let at = page * PAGE_BYTES as u64;
            // Of a stamp that lies across the border, the part that is inside.
            let from = offset.saturating_sub(at) as usize;
            let to = STAMP_BYTES.min((offset + size_bytes as u64 - at) as usize);
            let first = start + (at + from as u64 - offset) as usize;
            self.memory[first..first + to - from].copy_from_slice(&stamp[from..to]);
        }
    }

    /// These `size_bytes` at `offset`, which lie in what was stamped last.
    #[inline]
    pub fn stamped(&self, offset: u64, size_bytes: usize) -> &[u8] {
        let start = self.last as usize % PERIOD_BYTES + (offset - self.last) as usize;
        &self.memory[start..start + size_bytes]
    }

    /// Compares eight bytes of each 4 KiB of what was `found` at `offset` with what was written
    /// there, in whatever pass. Gives their sum, or the number of the first 4 KiB that differ.
    #[inline]
    pub fn verify(&self, found: &[u8], offset: u64) -> Result<u64, usize> {
        let mut checksum: u64 = 0;
        for start in (0..found.len()).step_by(PAGE_BYTES) {
            let end = found.len().min(start + STAMP_BYTES);
            let place = offset + start as u64;
            if !self.is_written(&found[start..end], place) {
                return Err(start / PAGE_BYTES);
            }
            // Nothing of a word that is not a stamp as a whole, or none at all: it has a count.
            let inside = place as usize % PAGE_BYTES;
            if inside == 0 || (STAMP_BYTES..=PAGE_BYTES - STAMP_BYTES).contains(&inside) {
                let word = word_at(found, start);
                checksum = checksum.wrapping_add(word & KNOWN);
            }
        }
        Ok(checksum)
    }

    /// As [`Stamped::verify`], with every byte compared.
    pub fn verify_every_byte(&self, found: &[u8], offset: u64) -> Result<u64, usize> {
        let mut at = 0;
        while at < found.len() {
            let place = offset + at as u64;
            let to_page = PAGE_BYTES - place as usize % PAGE_BYTES;
            let end = found.len().min(at + to_page);
            if !self.is_written(&found[at..end], place) {
                return Err(at / PAGE_BYTES);
            }
            at = end;
        }
        self.verify(found, offset)
    }

    /// Whether these bytes, which end before the next block begins or eight into it, are what is
    /// written at `offset`, but for the count in a stamp.
    fn is_written(&self, found: &[u8], offset: u64) -> bool {
        let page = offset / PAGE_BYTES as u64;
        let inside = offset as usize % PAGE_BYTES;
        let start = offset as usize % PERIOD_BYTES;
        let expected = &self.memory[start..start + found.len()];
        let mut plain = 0;
        if inside < STAMP_BYTES && !self.is_duplicate(page) {
            plain = found.len().min(STAMP_BYTES - inside);
            let known = self.word(page).to_le_bytes();
            let mask = KNOWN.to_le_bytes();
            let is_known = (0..plain).all(|at| {
                let (wanted, mask) = (known[inside + at], mask[inside + at]);
                (found[at] ^ wanted) & mask == 0
            });
            if !is_known {
                return false;
            }
        }
        // A word that reaches into the next block may end in a stamp of another time.
        let end = found.len().min(PAGE_BYTES - inside);
        found[plain..end] == expected[plain..end]
    }

    #[inline]
    fn is_duplicate(&self, page: u64) -> bool {
        self.duplicates[page as usize % PERIOD_PAGES]
    }

    #[inline]
    fn word(&self, page: u64) -> u64 {
        page & u64::from(u32::MAX) | self.file
    }
}

/// The blocks whose stamps lie in a span, or reach into it.
#[inline]
fn pages(offset: u64, size_bytes: usize) -> Range<u64> {
    let page_bytes = PAGE_BYTES as u64;
    let first = if offset % page_bytes < STAMP_BYTES as u64 {
        offset / page_bytes
    } else {
        offset / page_bytes + 1
    };
    first..(offset + size_bytes as u64).div_ceil(page_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::{base::Base, Shares};
    use super::*;

    fn base(compressible: f64, dedupable: f64, span_bytes: usize) -> Base {
        let shares = Shares {
            compressible,
            dedupable,
        };
        Base::new(span_bytes, shares).unwrap()
    }

    #[test]
    fn no_block_is_like_another_one_of_the_file_of_another_file_or_of_another_pass() {
        let base = base(0.9, 0.0, PAGE_BYTES);
        let mut seen = std::collections::HashSet::new();
        for file in [0, 0, 1] {
            let mut stamped = base.stamped(file).unwrap();
            for page in 0..2 * PERIOD_PAGES as u64 {
                let block = stamped.span(page * PAGE_BYTES as u64, PAGE_BYTES);
                assert!(seen.insert(block.to_vec()), "file {file}, block {page}");
            }
        }
    }

    /// Spans that begin and end anywhere agree with what is written at once.
    #[test]
    fn pieces_of_any_size_make_the_same_file() {
        let base = base(0.3, 0.4, 10_000);
        let mut stamped = base.stamped(7).unwrap();
        let mut file = Vec::new();
        for piece in [1, 4_090, 3, 2, 4_096, 10_000, 5, 8_191]
            .into_iter()
            .cycle()
        {
            if file.len() > PERIOD_BYTES + 30_000 {
                break;
            }
            let written = stamped.span(file.len() as u64, piece).to_vec();
            file.extend(written);
        }
        let reader = base.stamped(7).unwrap();
        for (offset, size_bytes) in [(0, 9_000), (4_097, 100), (4_092, 9), (PERIOD_BYTES, 10_000)] {
            let found = &file[offset..offset + size_bytes];
            assert!(reader.verify(found, offset as u64).is_ok(), "{offset}");
            assert!(reader.verify_every_byte(found, offset as u64).is_ok());
        }
    }

    #[test]
    fn blocks_in_the_wrong_place_of_another_file_and_changed_ones_are_found_out() {
        let base = base(0.5, 0.0, 4 * PAGE_BYTES);
        let mut stamped = base.stamped(1).unwrap();
        let mut found = stamped.span(0, 4 * PAGE_BYTES).to_vec();
        assert_eq!(stamped.verify(&found, PERIOD_BYTES as u64), Err(0));
        let other = base.stamped(2).unwrap();
        assert_eq!(other.verify(&found, 0), Err(0));
        found[2 * PAGE_BYTES + 1] ^= 1;
        assert_eq!(stamped.verify(&found, 0), Err(2));
        found[2 * PAGE_BYTES + 1] ^= 1;
        found[PAGE_BYTES + 100] ^= 1;
        assert!(stamped.verify(&found, 0).is_ok());
        assert_eq!(stamped.verify_every_byte(&found, 0), Err(1));
    }

    #[test]
    fn the_sum_does_not_depend_on_the_pass() {
        let base = base(0.5, 0.2, 4 * PAGE_BYTES);
        let sums = [0, 0].map(|file| {
            let mut stamped = base.stamped(file).unwrap();
            let written = stamped.span(0, 4 * PAGE_BYTES).to_vec();
            stamped.verify(&written, 0).unwrap()
        });
        assert_eq!(sums[0], sums[1]);
    }
}
