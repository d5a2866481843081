//! Plain system calls: open, read, write, pread, pwrite, lseek, fsync, close.

use std::ffi::CStr;
use std::io::{self, IoSlice, IoSliceMut, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

use kit::inject::before;
use rustix::fs::{Mode, OFlags};
use wire::Call;

use super::{Backend, Card, File, Positioned};

pub(super) const CARD: Card = Card {
    name: "sync",
    about: "plain system calls, one at a time: read, write, lseek, fsync",
};

/// One system call per operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sync;

/// A file descriptor.
#[derive(Debug)]
pub struct SyncFile(OwnedFd);

impl AsFd for SyncFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Backend for Sync {
    type File = SyncFile;

    fn open(&self, path: &CStr, flags: OFlags, permissions: Mode) -> io::Result<SyncFile> {
        before(Call::of_open(flags.contains(OFlags::CREATE)));
        Ok(SyncFile(rustix::fs::open(path, flags, permissions)?))
    }
}

impl File for SyncFile {
    #[inline]
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        before(Call::Read);
        Ok(rustix::io::read(&self.0, record)?)
    }

    #[inline]
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        before(Call::Write);
        Ok(rustix::io::write(&self.0, record)?)
    }

    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        let to = match to {
            SeekFrom::Start(offset) => rustix::fs::SeekFrom::Start(offset),
            SeekFrom::End(offset) => rustix::fs::SeekFrom::End(offset),
            SeekFrom::Current(offset) => rustix::fs::SeekFrom::Current(offset),
        };
        rustix::fs::seek(&self.0, to)?;
        Ok(())
    }

    fn resize(&mut self, size_bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(&self.0, size_bytes)?)
    }

    fn sync(&mut self) -> io::Result<()> {
        before(Call::Sync);
        Ok(rustix::fs::fsync(&self.0)?)
    }

    fn close(self) -> io::Result<()> {
        // SAFETY: the descriptor is owned here and not used again.
        match unsafe { libc::close(self.0.into_raw_fd()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Positioned for SyncFile {
    #[inline]
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize> {
        before(Call::Read);
        Ok(rustix::io::pread(&self.0, record, offset)?)
    }

    #[inline]
    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize> {
        before(Call::Write);
        Ok(rustix::io::pwrite(&self.0, record, offset)?)
    }

    #[inline]
    fn read_vectored_at(&mut self, records: &mut [IoSliceMut], offset: u64) -> io::Result<usize> {
        before(Call::Read);
        Ok(rustix::io::preadv(&self.0, records, offset)?)
    }

    #[inline]
    fn write_vectored_at(&mut self, records: &[IoSlice], offset: u64) -> io::Result<usize> {
        before(Call::Write);
        Ok(rustix::io::pwritev(&self.0, records, offset)?)
    }
}
