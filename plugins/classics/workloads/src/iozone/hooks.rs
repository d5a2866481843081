//! What the options of a trial put around each record. Chosen outside the loop, which is compiled
//! once without hooks and once for all options together.

use std::hint::black_box;
use std::io::{self, SeekFrom};

use crate::libc_random::Rand;
use kit::content::{Filling, Stamped, PAGE_BYTES};
use kit::failure::no_memory;
use kit::{buffers, clock, content, Buffer, Content};
use wire::{AccessKind, Failure};

use super::locks::{Hold, Lock};
use super::options::{BackendName, Fill, Locks};
use super::params::Params;
use super::pattern::Pattern;
use storage::backend::File;
use storage::io::{Range, RecordHooks};

/// Jitter comes before every 100th record.
const JITTER_RECORDS: u64 = 100;

/// All options at once.
pub struct FullHooks<'a> {
    content: &'a Content,
    verify: bool,
    every_byte: bool,
    diagnostic: Option<Diagnostic>,
    /// Where blocks must differ: what is written, stamped before each call.
    stamped: Option<Stamped>,
    /// Whether what is written must stay while the next record is stamped.
    stays: bool,
    think_ns: u64,
    thought_ns: u64,
    purge: Option<Buffer>,
    locks_records: bool,
    jitter: Option<Buffer>,
}

impl<'a> FullHooks<'a> {
    /// As `params` say, for a pass of child number `child` that moves records by `pattern`, and
    /// compares them with `content` if it shall `verify`.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn new(
        params: &Params,
        (content, verify): (&'a Content, bool),
        pattern: Pattern,
        child: u32,
    ) -> Result<Self, Failure> {
        let purge_bytes = params.purge.bytes() as usize;
        let jitter_bytes = match params.access {
            // Direct reads are whole pages.
            AccessKind::Direct => PAGE_BYTES,
            _ => 1,
        };
        let buffer = |wanted: bool, size_bytes| wanted.then(|| Buffer::new(size_bytes)).transpose();
        let jitters = params.jitter && pattern == Pattern::SequentialRead;
        Ok(Self {
            stamped: content.stamped(child).map_err(no_memory)?,
            stays: params.backend == BackendName::Libaio,
            content,
            verify,
            every_byte: params.verify_every_byte,
            diagnostic: (params.content == Filling::Named(Fill::Diagnostic))
                .then_some(Diagnostic { child }),
            think_ns: params.think_ms * 1_000_000,
            thought_ns: 0,
            purge: buffer(purge_bytes > 0, purge_bytes).map_err(no_memory)?,
            locks_records: params.locks == Locks::Record,
            jitter: buffer(jitters, jitter_bytes).map_err(no_memory)?,
        })
    }
}

impl<F: File + Lock> RecordHooks<F> for FullHooks<'_> {
    fn think(&mut self) -> bool {
        if self.think_ns == 0 {
            return false;
        }
        let began_ns = clock::now_ns();
        let mut now_ns = began_ns;
        while now_ns - began_ns < self.think_ns {
            now_ns = clock::now_ns();
        }
        self.thought_ns += now_ns - began_ns;
        true
    }

    fn thought_ns(&self) -> u64 {
        self.thought_ns
    }

    fn before(&mut self, file: &mut F, range: Range, is_write: bool) -> io::Result<()> {
        self.jitter(file, range)?;
        if let Some(purge) = &self.purge {
            buffers::fetch(purge);
        }
        if let Some(stamped) = self.stamped.as_mut().filter(|_| is_write) {
            stamped.stamp(range.offset, range.size_bytes as usize);
        }
        match (self.locks_records, is_write) {
            (false, _) => Ok(()),
            (true, true) => file.lock(Hold::Exclusive, range),
            (true, false) => file.lock(Hold::Shared, range),
        }
    }

    fn after(&mut self, file: &mut F, range: Range) -> io::Result<()> {
        if self.locks_records {
            file.unlock(range)?;
        }
        Ok(())
    }

    fn outgoing<'b>(&'b self, index: u64, spare: &'b mut [u8]) -> &'b [u8] {
        if let Some(diagnostic) = self.diagnostic {
            diagnostic.fill(index, spare);
            return spare;
        }
        match &self.stamped {
            Some(stamped) => {
                let bytes = stamped.stamped(index * spare.len() as u64, spare.len());
                if !self.stays {
                    return bytes;
                }
                spare.copy_from_slice(bytes);
                spare
            }
            None => self.content.record(index),
        }
    }

    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize> {
        if !self.verify {
            return Ok(0);
        }
        if let Some(diagnostic) = self.diagnostic {
            return diagnostic.check(index, found, self.every_byte);
        }
        if let Some(stamped) = &self.stamped {
            let offset = index * found.len() as u64;
            return match self.every_byte {
                true => stamped.verify_every_byte(found, offset),
                false => stamped.verify(found, offset),
            };
        }
        let expected = self.content.record(index);
        if self.every_byte && found != expected {
            return Err(first_difference(found, expected));
        }
        content::verify(found, expected)
    }
}

impl FullHooks<'_> {
    /// Reads a little at two places before every 100th record, and seeks back to the start of
    /// `range`.
    fn jitter<F: File>(&mut self, file: &mut F, range: Range) -> io::Result<()> {
        let Some(bytes) = &mut self.jitter else {
            return Ok(());
        };
        let index = range.offset / range.size_bytes;
        if index == 0 || !index.is_multiple_of(JITTER_RECORDS) {
            return Ok(());
        }
        for away in [0, PAGE_BYTES as u64] {
            file.seek(SeekFrom::Start(away))?;
            black_box(file.read(bytes)?);
        }
        file.seek(SeekFrom::Start(range.offset))
    }
}

/// The number of the first page that differs in any byte.
#[cold]
fn first_difference(found: &[u8], expected: &[u8]) -> usize {
    let same = found.iter().zip(expected).take_while(|(a, b)| a == b);
    same.count() / PAGE_BYTES
}

const FIRST: u64 = 0x0102_0304_0506_0708;
const STEP: u64 = 0x0101_0101_0101_0101;
const WORD_BYTES: usize = 8;

/// The diagnostic contents of IOzone's -+d: words that follow from the number of the record and of
/// the child, so that a record in the wrong place, or one of somebody else, is found out.
///
/// The first word is r·2⁴⁸ | r·2³² | r·2¹⁶ | r plus a constant, where r is the first number that
/// the GNU C library's `rand` gives after `srand(1 + child + record)`; each later word is the one
/// before plus another constant. (The original adds the second in which it was started in place
/// of 1, or 0 when it keeps its files; then records 0 and 1 are alike.)
#[derive(Debug, Clone, Copy)]
struct Diagnostic {
    /// The child's number; 0 for a single stream.
    child: u32,
}

impl Diagnostic {
    /// Makes the bytes of record `index`.
    fn fill(self, index: u64, record: &mut [u8]) {
        for (word, made) in record.chunks_mut(WORD_BYTES).zip(self.words(index)) {
            word.copy_from_slice(&made[..word.len()]);
        }
    }

    /// The sum of the first words of the pages of record `index`, or the number of the first page
    /// that is not what was written there. Looks at those words alone, or at every byte.
    fn check(self, index: u64, found: &[u8], every_byte: bool) -> Result<u64, usize> {
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
