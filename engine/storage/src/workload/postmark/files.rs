//! The operations on files, as the original performs them.
//!
//! Two ways, and neither avoids the page cache. *Streams*: fopen, fread or fwrite of one block at
//! a time, fclose; the C library gathers blocks into larger system calls. *Calls*: one system
//! call per block. In both, full blocks are followed by one operation for the remainder, even
//! when it is empty: for a stream that is nothing, otherwise a system call of zero bytes.

use std::ffi::OsStr;
use std::io;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use kit::failure::{failure, io_failure};
use kit::Probe;
use rustix::fs::{Mode, OFlags};
use wire::{Failure, FailureKind, Timing};

use super::call::{Call, CallsOfRun};
use super::names::Names;
use super::params::Params;
use super::pool::File;
use super::text::Text;
use crate::backend::{self, Backend, File as _};
use crate::working_dir::WorkingDirGuard;

/// Flags of open(2) for the three purposes.
#[derive(Clone, Copy)]
pub struct Opening {
    create: OFlags,
    read: OFlags,
    append: OFlags,
    permissions: Mode,
}

impl Opening {
    /// Those of fopen(3) with modes w, r and a.
    pub const STREAMS: Self = Self {
        create: OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::TRUNC),
        read: OFlags::RDONLY,
        append: OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::APPEND),
        permissions: Mode::from_raw_mode(0o666),
    };

    /// Those that the original gives to open(2).
    pub const CALLS: Self = Self {
        create: OFlags::RDWR.union(OFlags::CREATE),
        read: OFlags::RDONLY,
        append: OFlags::RDWR.union(OFlags::APPEND),
        permissions: Mode::from_raw_mode(0o644),
    };
}

/// Performs what the model decides; gives the number of bytes that were moved. The parts of an
/// operation are timed where the probe times each operation.
pub struct Files<B, P> {
    backend: B,
    opening: Opening,
    names: Names,
    /// What the names are in.
    working_dir: Arc<WorkingDirGuard>,
    text: Text,
    verify: bool,
    write_block: usize,
    /// Where every read goes to: a block, or less if no file is as long.
    buffer: Box<[u8]>,
    read_block: usize,
    /// Over the first bytes of every block that was read.
    checksum: u64,
    calls: CallsOfRun,
    probe: PhantomData<P>,
}

impl<B: Backend, P: Probe> Files<B, P> {
    /// Operations on files in the directory `home` of `working_dir`, which hold the `text`.
    ///
    /// # Errors
    /// `BadJob` when their names are too long.
    pub fn new(
        (backend, opening): (B, Opening),
        (working_dir, home): (&Arc<WorkingDirGuard>, &Path),
        params: &Params,
        text: Text,
    ) -> Result<Self, Failure> {
        let read_block = params.read_block.bytes() as usize;
        Ok(Self {
            backend,
            opening,
            names: Names::new(home, params)?,
            working_dir: Arc::clone(working_dir),
            write_block: params.write_block.bytes() as usize,
            // Not zero, so that its pages are touched here and not while the clock runs.
            buffer: vec![b' '; read_block.min(text.longest())].into(),
            read_block,
            verify: params.verify && B::File::MOVES_DATA,
            text,
            checksum: 0,
            calls: CallsOfRun::new(),
            probe: PhantomData,
        })
    }

    /// Checksum over what was read so far.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// How long each part of what was done so far took.
    pub fn calls(&self) -> &CallsOfRun {
        &self.calls
    }

    /// Where the files are.
    pub fn working_dir(&self) -> &WorkingDirGuard {
        &self.working_dir
    }

    /// Creates a file and writes its whole size.
    pub fn create(&mut self, file: &File) -> Result<u64, Failure> {
        self.write(file, Call::Create, file.size)
            .map_err(|error| self.failure("create", file, &error))
    }

    /// Writes `length` bytes to the end of a file.
    pub fn append(&mut self, file: &File, length: u32) -> Result<u64, Failure> {
        self.write(file, Call::Open, length)
            .map_err(|error| self.failure("append to", file, &error))
    }

    /// Reads a whole file.
    pub fn read(&mut self, file: &File) -> Result<u64, Failure> {
        self.read_all(file)
            .map_err(|error| self.failure("read", file, &error))
    }

    /// Removes a file.
    pub fn delete(&mut self, file: &File) -> Result<(), Failure> {
        let path = self.names.of(file);
        begin::<P>(&mut self.calls);
        let removed = self.backend.unlink(path);
        end::<P>(&mut self.calls, Call::Unlink);
        removed.map_err(|error| self.failure("delete", file, &error))
    }

    fn write(&mut self, file: &File, opening: Call, length: u32) -> io::Result<u64> {
        let path = self.names.of(file);
        let (flags, start) = match opening {
            Call::Create => (self.opening.create, 0),
            _ => (self.opening.append, file.size as usize),
        };
        begin::<P>(&mut self.calls);
        let mut open = self.backend.open(path, flags, self.opening.permissions)?;
        end::<P>(&mut self.calls, opening);
        self.write_all(&mut open, file, start, length as usize)?;
        end::<P>(&mut self.calls, Call::Write);
        open.close()?;
        end::<P>(&mut self.calls, Call::Close);
        Ok(length.into())
    }

    #[inline]
    fn write_all(
        &mut self,
        open: &mut B::File,
        file: &File,
        start: usize,
        size: usize,
    ) -> io::Result<()> {
        let block = self.write_block;
        if let Some(bytes) = self.text.plain(start, size) {
            let blocks = bytes.chunks_exact(block);
            let rest = blocks.remainder();
            for block in blocks {
                open.write_whole(block)?;
            }
            return open.write_whole(rest);
        }
        let full = size - size % block;
        for behind in (0..full).step_by(block) {
            open.write_whole(self.text.piece(file, start + behind, block))?;
        }
        open.write_whole(self.text.piece(file, start + full, size - full))
    }

    fn read_all(&mut self, file: &File) -> io::Result<u64> {
        let path = self.names.of(file);
        begin::<P>(&mut self.calls);
        let mut open = self
            .backend
            .open(path, self.opening.read, self.opening.permissions)?;
        end::<P>(&mut self.calls, Call::Open);
        let size = file.size as usize;
        let full = size - size % self.read_block;
        if self.verify {
            for position in (0..full).step_by(self.read_block) {
                self.read_one(&mut open, file, position, self.read_block)?;
            }
        } else {
            for _ in 0..size / self.read_block {
                let first = read_block(&mut open, &mut self.buffer)?;
                self.checksum = fold(self.checksum, first);
            }
        }
        self.read_one(&mut open, file, full, size - full)?;
        end::<P>(&mut self.calls, Call::Read);
        open.close()?;
        end::<P>(&mut self.calls, Call::Close);
        Ok(file.size.into())
    }

    #[inline]
    fn read_one(
        &mut self,
        open: &mut B::File,
        file: &File,
        position: usize,
        size_bytes: usize,
    ) -> io::Result<()> {
        let found = &mut self.buffer[..size_bytes];
        let first = read_block(open, found)?;
        self.checksum = fold(self.checksum, first);
        if self.verify && !self.text.holds(file, position, found) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    #[cold]
    fn failure(&mut self, action: &str, file: &File, error: &io::Error) -> Failure {
        let path = Path::new(OsStr::from_bytes(self.names.of(file).to_bytes()));
        let path = self.working_dir.shown(path);
        let flaw = match error.kind() {
            io::ErrorKind::UnexpectedEof => "is shorter than",
            io::ErrorKind::InvalidData => "does not hold",
            _ => return io_failure(action, &path, error),
        };
        let message = format!("{} {flaw} what was written to it", path.display());
        failure(FailureKind::Verification, message)
    }
}

#[inline(always)]
fn begin<P: Probe>(calls: &mut CallsOfRun) {
    if P::TIMING == Timing::Operation {
        calls.begin();
    }
}

#[inline(always)]
fn end<P: Probe>(calls: &mut CallsOfRun, call: Call) {
    if P::TIMING == Timing::Operation {
        calls.end(call);
    }
}

/// Takes a word into a checksum. Turning it keeps equal words from cancelling out.
fn fold(checksum: u64, word: u64) -> u64 {
    checksum.rotate_left(1) ^ word
}

/// Reads a block in full and gives its first eight bytes, for the checksum.
fn read_block(file: &mut impl backend::File, block: &mut [u8]) -> io::Result<u64> {
    let mut filled = 0;
    loop {
        let moved = file.read(&mut block[filled..])?;
        filled += moved;
        if filled == block.len() {
            return Ok(block
                .first_chunk()
                .map_or(0, |first| u64::from_le_bytes(*first)));
        }
        if moved == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
