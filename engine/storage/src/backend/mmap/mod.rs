//! Memory mapping: records are copied from and to a shared mapping of the file, and the kernel
//! brings and takes pages as they are touched.
//!
//! A file has the size that it was given, and only that much is mapped: give it its size with
//! `resize` (ftruncate) before it is written, since each write past the end maps it again. Its
//! blocks are allocated as its pages are first touched, as with plain writes; when there is no
//! room for one, the access faults, and [`fault`] makes that an error of the record.

mod fault;

use std::ffi::CStr;
use std::io::{self, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;

use kit::inject::before;
use rustix::fs::{Mode, OFlags};
use rustix::mm::{mmap, msync, munmap, MapFlags, MsyncFlags, ProtFlags};
use wire::Call;

use super::sync::SyncFile;
use super::{Backend, Card, File, Positioned, Sync};

pub(super) const CARD: Card = Card {
    name: "mmap",
    about: "a shared mapping of the file: records are copied, msync waits for the device",
};

/// Opens files and maps them; the name space is reached by plain calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mmap {
    /// How msync(2) is called for each record that was written; `None` for not at all.
    pub msync_each: Option<MsyncFlags>,
}

impl AsFd for MmapFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// An open file and its mapping.
#[derive(Debug)]
pub struct MmapFile {
    mapping: Mapping,
    file: SyncFile,
    is_writable: bool,
    msync_each: Option<MsyncFlags>,
    position: u64,
}

/// All of a file in memory; nothing, while it is empty.
#[derive(Debug)]
struct Mapping {
    start: *mut u8,
    size_bytes: usize,
}

impl Backend for Mmap {
    type File = MmapFile;

    /// The kernel maps no file that is open for writing only: such a one is opened for both.
    fn open(&self, path: &CStr, flags: OFlags, permissions: Mode) -> io::Result<MmapFile> {
        fault::install()?;
        let is_writable = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        let flags = if flags.contains(OFlags::WRONLY) {
            flags.difference(OFlags::WRONLY) | OFlags::RDWR
        } else {
            flags
        };
        let file = Sync.open(path, flags, permissions)?;
        let size_bytes = rustix::fs::fstat(&file)?.st_size as u64;
        Ok(MmapFile {
            mapping: Mapping::new(&file, size_bytes, is_writable)?,
            file,
            is_writable,
            msync_each: self.msync_each,
            position: if flags.contains(OFlags::APPEND) {
                size_bytes
            } else {
                0
            },
        })
    }
}

impl Mapping {
    fn new(file: &impl AsFd, size_bytes: u64, is_writable: bool) -> io::Result<Self> {
        let size_bytes = usize::try_from(size_bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if size_bytes == 0 {
            let start = ptr::null_mut();
            return Ok(Self { start, size_bytes });
        }
        let protection = if is_writable {
            ProtFlags::READ | ProtFlags::WRITE
        } else {
            ProtFlags::READ
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                size_bytes,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        Ok(Self {
            start: start.cast(),
            size_bytes,
        })
    }

    /// Where `offset` is, and how many of `wanted` bytes there are from there on.
    #[inline]
    fn at(&self, offset: u64, wanted: usize) -> (*mut u8, usize) {
        let offset = usize::try_from(offset).map_or(self.size_bytes, |at| at.min(self.size_bytes));
        let there = wanted.min(self.size_bytes - offset);
        (self.start.wrapping_add(offset), there)
    }

    /// The part of `size_bytes` from `offset` on, with the whole of the page that it begins in.
    fn sync(&self, offset: u64, size_bytes: usize, how: MsyncFlags) -> io::Result<()> {
        let begun = offset % rustix::param::page_size() as u64;
        let (start, size_bytes) = self.at(offset - begun, size_bytes + begun as usize);
        if size_bytes == 0 {
            return Ok(());
        }
        // SAFETY: all of it is mapped, from the start of a page on.
        unsafe { msync(start.cast(), size_bytes, how)? };
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.size_bytes > 0 {
            // SAFETY: the mapping is ours, and nothing borrows from it. It can only fail for a
            // range that was never mapped.
            let _ = unsafe { munmap(self.start.cast(), self.size_bytes) };
        }
    }
}

impl MmapFile {
    /// A system call for the same record returns the error that a page fault cannot.
    #[cold]
    fn why(mut ask: impl FnMut(usize) -> io::Result<usize>, size_bytes: usize) -> io::Error {
        let mut moved = 0;
        while moved < size_bytes {
            match ask(moved) {
                Ok(0) => return io::ErrorKind::UnexpectedEof.into(),
                Ok(part) => moved += part,
                Err(error) => return error,
            }
        }
        io::Error::from_raw_os_error(libc::EIO)
    }
}

impl File for MmapFile {
    const IS_SIZED_FIRST: bool = true;

    #[inline]
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        let moved = self.read_at(record, self.position)?;
        self.position += moved as u64;
        Ok(moved)
    }

    #[inline]
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let moved = self.write_at(record, self.position)?;
        self.position += moved as u64;
        Ok(moved)
    }

    fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        let (base, distance) = match to {
            SeekFrom::Start(offset) => (offset, 0),
            SeekFrom::End(distance) => (self.mapping.size_bytes as u64, distance),
            SeekFrom::Current(distance) => (self.position, distance),
        };
        let position = base.checked_add_signed(distance);
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(())
    }

    fn resize(&mut self, size_bytes: u64) -> io::Result<()> {
        self.file.resize(size_bytes)?;
        if size_bytes != self.mapping.size_bytes as u64 {
            self.mapping = Mapping::new(&self.file, size_bytes, self.is_writable)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let whole = self.mapping.size_bytes;
        self.mapping.sync(0, whole, MsyncFlags::SYNC)?;
        self.file.sync()
    }

    fn close(self) -> io::Result<()> {
        drop(self.mapping);
        self.file.close()
    }
}

impl Positioned for MmapFile {
    #[inline]
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize> {
        before(Call::Read);
        let (from, size_bytes) = self.mapping.at(offset, record.len());
        // SAFETY: `size_bytes` bytes are mapped from there on, and as many fit into the record.
        let is_whole = unsafe { fault::copy(from, record.as_mut_ptr(), size_bytes, from as usize) };
        if is_whole {
            return Ok(size_bytes);
        }
        let ask = |moved| {
            self.file
                .read_at(&mut record[moved..], offset + moved as u64)
        };
        Err(Self::why(ask, size_bytes))
    }

    #[inline]
    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize> {
        if !self.is_writable {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let end = offset + record.len() as u64;
        if end > self.mapping.size_bytes as u64 {
            self.resize(end)?;
        }
        before(Call::Write);
        let (to, size_bytes) = self.mapping.at(offset, record.len());
        // SAFETY: the record is mapped as a whole by now.
        let is_whole = unsafe { fault::copy(record.as_ptr(), to, size_bytes, to as usize) };
        if is_whole {
            if let Some(how) = self.msync_each {
                self.mapping.sync(offset, size_bytes, how)?;
            }
            return Ok(size_bytes);
        }
        let ask = |moved| self.file.write_at(&record[moved..], offset + moved as u64);
        Err(Self::why(ask, size_bytes))
    }
}

#[cfg(test)]
mod tests;
