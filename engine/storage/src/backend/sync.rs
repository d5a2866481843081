//! Plain system calls: open, read, write, lseek, fsync, close.

use std::ffi::CStr;
use std::io::{self, SeekFrom};
use std::os::fd::{IntoRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use super::{Backend, Card, File};

pub(super) const CARD: Card = Card {
    name: "sync",
    about: "plain system calls, one at a time: read, write, lseek, fsync",
};

/// One system call per operation.
#[derive(Debug, Clone, Copy)]
pub struct Sync;

/// A file descriptor.
#[derive(Debug)]
pub struct SyncFile(OwnedFd);

impl Backend for Sync {
    type File = SyncFile;

    fn open(&self, path: &CStr, flags: OFlags, permissions: Mode) -> io::Result<SyncFile> {
        Ok(SyncFile(rustix::fs::open(path, flags, permissions)?))
    }

    fn unlink(&self, path: &CStr) -> io::Result<()> {
        Ok(rustix::fs::unlink(path)?)
    }

    fn mkdir(&self, path: &CStr, permissions: Mode) -> io::Result<()> {
        Ok(rustix::fs::mkdir(path, permissions)?)
    }

    fn rmdir(&self, path: &CStr) -> io::Result<()> {
        Ok(rustix::fs::rmdir(path)?)
    }
}

impl File for SyncFile {
    #[inline]
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.0, record)?)
    }

    #[inline]
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
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

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
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
