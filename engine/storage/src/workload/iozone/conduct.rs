//! Conduct: what is done around each record besides moving it. Chosen outside the loop, which is
//! compiled once for the plain conduct and once for all options together.

use std::hint::black_box;
use std::io::{self, SeekFrom};

use kit::content::{Filling, Stamped, PAGE_BYTES};
use kit::failure::no_memory;
use kit::{buffers, clock, content, Buffer, Content};
use wire::{AccessKind, Failure};

use super::diagnostic::Diagnostic;
use super::locks::{Hold, Lock, Range};
use super::options::{BackendName, Fill, Locks};
use super::params::Params;
use crate::backend::File;

/// Jitter comes before every so many-th record.
const JITTER_RECORDS: u64 = 100;

/// What surrounds the records of a file `F`.
pub trait Conduct<F> {
    /// Computes for a while; whether it did. This time is not the test's.
    fn think(&mut self) -> bool;

    /// How long [`Conduct::think`] took altogether, in ns.
    fn thought_ns(&self) -> u64;

    /// Before a record is moved, inside the timed region.
    fn before(&mut self, file: &mut F, range: Range) -> io::Result<()>;

    /// After it was moved, inside the timed region.
    fn after(&mut self, file: &mut F, range: Range) -> io::Result<()>;

    /// Before record `index` is read in sequence, with the position at `offset`.
    fn jitter(&mut self, file: &mut F, index: u64, offset: u64) -> io::Result<()>;

    /// The bytes to write as record `index`; `spare` has room for them.
    fn outgoing<'b>(&'b self, index: u64, spare: &'b mut [u8]) -> &'b [u8];

    /// Compares what was read as record `index`. Gives a sum over what was looked at, or the
    /// number of the first page that is not what was written.
    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize>;
}

/// As the original does by default: contents made beforehand, eight bytes per page compared.
pub struct Plain<'a> {
    /// What is written, and expected back.
    pub content: &'a Content,
    /// Whether records read are compared.
    pub verify: bool,
}

impl<F> Conduct<F> for Plain<'_> {
    #[inline(always)]
    fn think(&mut self) -> bool {
        false
    }

    fn thought_ns(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn before(&mut self, _: &mut F, _: Range) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn after(&mut self, _: &mut F, _: Range) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn jitter(&mut self, _: &mut F, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn outgoing<'b>(&'b self, index: u64, _: &'b mut [u8]) -> &'b [u8] {
        self.content.record(index)
    }

    #[inline(always)]
    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize> {
        if self.verify {
            content::verify(found, self.content.record(index))
        } else {
            Ok(0)
        }
    }
}

/// All options at once.
pub struct Laden<'a> {
    plain: Plain<'a>,
    every_byte: bool,
    diagnostic: Option<Diagnostic>,
    /// Where blocks must differ: what is written, stamped before each call.
    stamped: Option<Stamped>,
    is_read: bool,
    /// Whether what is written must stay while the next record is stamped.
    stays: bool,
    think_ns: u64,
    thought_ns: u64,
    purge: Option<Buffer>,
    /// What is held while a record is moved.
    hold: Option<Hold>,
    jitter: Option<Buffer>,
}

impl<'a> Laden<'a> {
    /// As `params` say, for a pass of child number `child`.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn new(
        params: &Params,
        plain: Plain<'a>,
        is_read: bool,
        child: u32,
    ) -> Result<Self, Failure> {
        let purge_bytes = params.purge.bytes() as usize;
        let jitter_bytes = match params.access {
            // Direct reads are whole pages.
            AccessKind::Direct => PAGE_BYTES,
            _ => 1,
        };
        let buffer = |wanted: bool, size_bytes| wanted.then(|| Buffer::new(size_bytes)).transpose();
        let hold = if is_read {
            Hold::Shared
        } else {
            Hold::Exclusive
        };
        Ok(Self {
            stamped: plain.content.stamped(child).map_err(no_memory)?,
            is_read,
            stays: params.backend == BackendName::Libaio,
            plain,
            every_byte: params.verify_every_byte,
            diagnostic: (params.content == Filling::Named(Fill::Diagnostic))
                .then_some(Diagnostic { child }),
            think_ns: params.think_ms * 1_000_000,
            thought_ns: 0,
            purge: buffer(purge_bytes > 0, purge_bytes).map_err(no_memory)?,
            hold: (params.locks == Locks::Record).then_some(hold),
            jitter: buffer(params.jitter, jitter_bytes).map_err(no_memory)?,
        })
    }
}

impl<F: File + Lock> Conduct<F> for Laden<'_> {
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

    fn before(&mut self, file: &mut F, range: Range) -> io::Result<()> {
        if let Some(purge) = &self.purge {
            buffers::fetch(purge);
        }
        if let Some(stamped) = self.stamped.as_mut().filter(|_| !self.is_read) {
            stamped.stamp(range.offset, range.size_bytes as usize);
        }
        match self.hold {
            Some(hold) => file.lock(hold, range),
            None => Ok(()),
        }
    }

    fn after(&mut self, file: &mut F, range: Range) -> io::Result<()> {
        match self.hold {
            Some(_) => file.unlock(range),
            None => Ok(()),
        }
    }

    fn jitter(&mut self, file: &mut F, index: u64, offset: u64) -> io::Result<()> {
        let Some(bytes) = &mut self.jitter else {
            return Ok(());
        };
        if index == 0 || !index.is_multiple_of(JITTER_RECORDS) {
            return Ok(());
        }
        for away in [0, PAGE_BYTES as u64] {
            file.seek(SeekFrom::Start(away))?;
            black_box(file.read(bytes)?);
        }
        file.seek(SeekFrom::Start(offset))
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
            None => self.plain.content.record(index),
        }
    }

    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize> {
        if !self.plain.verify {
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
        let expected = self.plain.content.record(index);
        if self.every_byte && found != expected {
            return Err(first_difference(found, expected));
        }
        content::verify(found, expected)
    }
}

/// The number of the first page that differs in any byte.
#[cold]
fn first_difference(found: &[u8], expected: &[u8]) -> usize {
    let same = found.iter().zip(expected).take_while(|(a, b)| a == b);
    same.count() / PAGE_BYTES
}
