//! What is written: the bytes of each record. A file system that compresses or deduplicates
//! lives off them, so they are a parameter and part of the result.

mod base;
mod check;
mod shares;
mod stamped;

use std::io;

use wire::Failure;

use self::base::Base;
pub use self::shares::{Filling, Shares};
pub use self::stamped::Stamped;
use crate::buffers::Buffer;
use crate::failure::no_memory;
use crate::mt64::Mt64;
use crate::EventSink;

/// One word per page is what classic verification looks at.
pub const PAGE_BYTES: usize = 4_096;

/// Random content repeats after this many bytes or half of it: far beyond what compressors look back
/// (128 KiB on btrfs), and little enough to be filled in milliseconds.
const POOL_BYTES: usize = 8 << 20;

/// The pattern byte of IOzone 3.489.
pub const CLASSIC_PATTERN: u8 = 0x5f;
const RANDOM_SEED: u64 = 0x7469_6C74;

/// The bytes of all records of a file.
pub struct Content {
    pool: Buffer,
    record_bytes: usize,
    /// Records in the pool less one; their number is a power of two, so that no division is
    /// needed in a timed region.
    last: u64,
    /// Where blocks must differ, each thread writes from a copy of its own.
    base: Option<Base>,
}

impl Content {
    /// IOzone's own: zeroes, with one pattern byte eight times at the start of each 4 KiB. All
    /// records are alike, and compress about a hundredfold. The pattern is the one of IOzone
    /// 3.489.
    ///
    /// # Errors
    /// Out of memory.
    pub fn classic(record_bytes: usize) -> io::Result<Self> {
        Self::marked(record_bytes, CLASSIC_PATTERN)
    }

    /// As [`Content::classic`], with the pattern byte of another revision.
    ///
    /// # Errors
    /// Out of memory.
    pub fn marked(record_bytes: usize, pattern: u8) -> io::Result<Self> {
        let mut pool = Buffer::new(record_bytes)?;
        for page in pool.chunks_mut(PAGE_BYTES) {
            let marked = page.len().min(8);
            page[..marked].fill(pattern);
        }
        Ok(Self {
            pool,
            record_bytes,
            last: 0,
            base: None,
        })
    }

    /// The same `byte` over and over: what tools write that never fill their buffers, or fill
    /// them with one letter. It compresses to nothing.
    ///
    /// # Errors
    /// Out of memory.
    pub fn uniform(record_bytes: usize, byte: u8) -> io::Result<Self> {
        let mut pool = Buffer::new(record_bytes)?;
        pool.fill(byte);
        Ok(Self {
            pool,
            record_bytes,
            last: 0,
            base: None,
        })
    }

    /// Random and incompressible, the same on every host; records differ from their neighbours.
    ///
    /// # Errors
    /// Out of memory.
    pub fn random(record_bytes: usize) -> io::Result<Self> {
        let fitting = (POOL_BYTES / record_bytes).max(1);
        let records = 1 << fitting.ilog2();
        let mut pool = Buffer::new(records * record_bytes)?;
        let mut twister = Mt64::new(RANDOM_SEED);
        for word in pool.chunks_mut(8) {
            word.copy_from_slice(&twister.draw().to_le_bytes()[..word.len()]);
        }
        Ok(Self {
            pool,
            record_bytes,
            last: records as u64 - 1,
            base: None,
        })
    }

    /// Of which a file system can save those shares, however long the files are. Threads write
    /// what is [`Content::stamped`] for them; the records here are without stamps, and alike.
    ///
    /// # Errors
    /// Out of memory.
    pub fn mixed(record_bytes: usize, shares: Shares) -> io::Result<Self> {
        let base = Base::new(record_bytes, shares)?;
        let mut pool = Buffer::new(record_bytes)?;
        pool.copy_from_slice(&base.memory()[..record_bytes]);
        Ok(Self {
            pool,
            record_bytes,
            last: 0,
            base: Some(base),
        })
    }

    /// As [`Content::mixed`]; the shares are measured in a sample of it, and what was found goes
    /// to the event sink.
    ///
    /// # Errors
    /// `HostLacks` memory; `Verification` when the shares are not what they should be.
    pub fn checked(
        record_bytes: usize,
        shares: Shares,
        event_sink: &mut EventSink,
    ) -> Result<Self, Failure> {
        let content = Self::mixed(record_bytes, shares).map_err(no_memory)?;
        check::check(&content, shares, record_bytes, event_sink)?;
        Ok(content)
    }

    /// What a thread writes to file number `file` in one pass, and expects back from it, where
    /// that is not the records here.
    ///
    /// # Errors
    /// Out of memory.
    pub fn stamped(&self, file: u32) -> io::Result<Option<Stamped>> {
        self.base
            .as_ref()
            .map(|base| base.stamped(file))
            .transpose()
    }

    /// What is to be written as record `index`: from here, or from what is `stamped` for the
    /// thread.
    #[inline(always)]
    pub fn outgoing<'a>(&'a self, stamped: &'a mut Option<Stamped>, index: u64) -> &'a [u8] {
        match stamped {
            None => self.record(index),
            Some(stamped) => stamped.span(index * self.record_bytes as u64, self.record_bytes),
        }
    }

    /// Compares eight bytes per page of what was `found` as record `index`; see [`verify`].
    #[inline(always)]
    pub fn verify(
        &self,
        stamped: Option<&Stamped>,
        found: &[u8],
        index: u64,
    ) -> Result<u64, usize> {
        match stamped {
            None => verify(found, self.record(index)),
            Some(stamped) => stamped.verify(found, index * self.record_bytes as u64),
        }
    }

    /// The memory of all records, for requests whose memory is registered beforehand.
    pub fn memory(&self) -> &[u8] {
        &self.pool
    }

    /// The bytes of record `index` of a file.
    #[inline]
    pub fn record(&self, index: u64) -> &[u8] {
        let start = (index & self.last) as usize * self.record_bytes;
        &self.pool[start..start + self.record_bytes]
    }
}

/// Compares the first eight bytes of each page of a record with what was written there, as
/// IOzone does inside its timed region. Gives the sum of what was found, so that the reads
/// cannot be elided, or the number of the first page that differs.
#[inline]
pub fn verify(found: &[u8], expected: &[u8]) -> Result<u64, usize> {
    debug_assert_eq!(found.len(), expected.len());
    let mut checksum: u64 = 0;
    for start in (0..found.len()).step_by(PAGE_BYTES) {
        let word = word_at(found, start);
        if word != word_at(expected, start) {
            return Err(start / PAGE_BYTES);
        }
        checksum = checksum.wrapping_add(word);
    }
    Ok(checksum)
}

/// The eight bytes at `start`, or as many as there are.
#[inline]
fn word_at(memory: &[u8], start: usize) -> u64 {
    let rest = &memory[start..];
    match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_marks_each_page_and_nothing_else() {
        let content = Content::classic(2 * PAGE_BYTES + 3).unwrap();
        let record = content.record(41);
        let marked = (0..record.len()).filter(|&i| record[i] == CLASSIC_PATTERN);
        let wanted = [0..8, 4096..4104, 8192..8195].into_iter().flatten();
        assert!(marked.eq(wanted));
        assert_eq!(record.iter().filter(|&&byte| byte == 0).count(), 8195 - 19);
    }

    #[test]
    fn uniform_is_one_byte() {
        let content = Content::uniform(5_000, b'b').unwrap();
        assert_eq!(content.record(9), [b'b'; 5_000]);
    }

    #[test]
    fn random_records_differ_and_repeat_only_with_the_pool() {
        let content = Content::random(PAGE_BYTES).unwrap();
        let period = (POOL_BYTES / PAGE_BYTES) as u64;
        assert_ne!(content.record(0), content.record(1));
        assert_eq!(content.record(3), content.record(3 + period));
        let mut counts = [0_u32; 256];
        for &byte in content.record(5) {
            counts[usize::from(byte)] += 1;
        }
        // 16 of each byte on average; 50 of one would be nine standard deviations off.
        assert!(counts.iter().all(|&count| count < 50));
    }

    #[test]
    fn verification_finds_the_page() {
        let content = Content::random(4 * PAGE_BYTES).unwrap();
        let mut found = content.record(1).to_vec();
        assert!(verify(&found, content.record(1)).is_ok());
        found[2 * PAGE_BYTES + 7] ^= 1;
        assert_eq!(verify(&found, content.record(1)), Err(2));
        assert_eq!(verify(content.record(0), content.record(1)), Err(0));
    }

    #[test]
    fn verification_takes_records_that_end_inside_a_word() {
        assert_eq!(verify(&[1, 2, 3], &[1, 2, 3]), Ok(0x01_02_03));
        assert_eq!(verify(&[1, 2, 3], &[1, 2, 4]), Err(0));
    }
}
