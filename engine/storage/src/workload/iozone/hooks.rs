//! What the options of a trial put around each record. Chosen outside the loop, which is compiled
//! once without hooks and once for all options together.

use std::hint::black_box;
use std::io::{self, SeekFrom};

use kit::content::{Filling, Stamped, PAGE_BYTES};
use kit::failure::no_memory;
use kit::{buffers, clock, content, Buffer, Content};
use wire::{AccessKind, Failure};

use super::diagnostic::Diagnostic;
use super::locks::{Hold, Lock};
use super::options::{BackendName, Fill, Locks};
use super::params::Params;
use super::pattern::Pattern;
use crate::backend::File;
use crate::io::{Range, RecordHooks};

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
    /// Reads a little at two places before every so many records, and goes back to where `range`
    /// begins.
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
