//! The C library's buffered streams: fopen, fread, fwrite, fseek, fflush, fclose. Programs that
//! use them see other costs than those that call the kernel, and classic tools measure both.

use std::ffi::CStr;
use std::io::{self, SeekFrom};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use kit::inject::before;
use kit::Buffer;
use rustix::fs::{Mode, OFlags};
use wire::Call;

use super::{Backend, Card, File};

pub(super) const CARD: Card = Card {
    name: "stdio",
    about: "the C library's buffered streams: fread, fwrite, fseek, fflush",
};

/// Opens streams. The name space has no buffer, so those calls are the plain ones.
#[derive(Debug, Clone, Copy)]
pub struct Stdio {
    /// Size of each stream's buffer, set with setvbuf(3); `None` leaves the library its own
    /// (the block size that the file system recommends).
    pub buffer_bytes: Option<usize>,
}

/// An open stream.
#[derive(Debug)]
pub struct StdioFile {
    stream: NonNull<libc::FILE>,
    /// What setvbuf was given; the stream uses it until it is closed.
    buffer: Option<Buffer>,
}

impl Backend for Stdio {
    type File = StdioFile;

    fn open(&self, path: &CStr, flags: OFlags, _: Mode) -> io::Result<StdioFile> {
        before(Call::of_open(flags.contains(OFlags::CREATE)));
        let mode = fopen_mode(flags).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: both strings are NUL-terminated and live for the call.
        let stream = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        let mut file = StdioFile {
            stream: NonNull::new(stream).ok_or_else(io::Error::last_os_error)?,
            buffer: None,
        };
        if let Some(size_bytes) = self.buffer_bytes {
            file.set_buffer(Buffer::new(size_bytes)?)?;
        }
        Ok(file)
    }
}

/// The mode of fopen(3) that POSIX defines to mean these flags of open(2).
fn fopen_mode(flags: OFlags) -> Option<&'static CStr> {
    const MADE_EMPTY: OFlags = OFlags::CREATE.union(OFlags::TRUNC);
    const APPENDED: OFlags = OFlags::CREATE.union(OFlags::APPEND);
    let modes = [
        (OFlags::RDONLY, c"r"),
        (OFlags::RDWR, c"r+"),
        (OFlags::WRONLY.union(MADE_EMPTY), c"w"),
        (OFlags::RDWR.union(MADE_EMPTY), c"w+"),
        (OFlags::WRONLY.union(APPENDED), c"a"),
        (OFlags::RDWR.union(APPENDED), c"a+"),
    ];
    modes
        .into_iter()
        .find_map(|(meant, mode)| (meant == flags).then_some(mode))
}

impl StdioFile {
    fn set_buffer(&mut self, mut buffer: Buffer) -> io::Result<()> {
        // SAFETY: the stream is open and unused yet; `self` keeps the buffer until fclose.
        let status = unsafe {
            libc::setvbuf(
                self.stream.as_ptr(),
                buffer.as_mut_ptr().cast(),
                libc::_IOFBF,
                buffer.len(),
            )
        };
        self.buffer = Some(buffer);
        ok_if_zero(status)
    }

    /// `moved` bytes of `asked`: fewer is an error, or the end of the file.
    #[inline]
    fn moved(&self, moved: usize, asked: usize) -> io::Result<usize> {
        // SAFETY: the stream is open.
        if moved < asked && unsafe { libc::ferror(self.stream.as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(moved)
    }
}

impl File for StdioFile {
    #[inline]
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        before(Call::Read);
        // SAFETY: the stream is open and the record is writable for its length.
        let moved = unsafe {
            libc::fread(
                record.as_mut_ptr().cast(),
                1,
                record.len(),
                self.stream.as_ptr(),
            )
        };
        self.moved(moved, record.len())
    }

    #[inline]
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        before(Call::Write);
        // SAFETY: the stream is open and the record is readable for its length.
        let moved = unsafe {
            libc::fwrite(
                record.as_ptr().cast(),
                1,
                record.len(),
                self.stream.as_ptr(),
            )
        };
        self.moved(moved, record.len())
    }

    fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        let (offset, whence) = match to {
            SeekFrom::Start(offset) => (offset as i64, libc::SEEK_SET),
            SeekFrom::End(offset) => (offset, libc::SEEK_END),
            SeekFrom::Current(offset) => (offset, libc::SEEK_CUR),
        };
        // SAFETY: the stream is open.
        ok_if_zero(unsafe { libc::fseeko(self.stream.as_ptr(), offset, whence) })
    }

    fn resize(&mut self, size_bytes: u64) -> io::Result<()> {
        self.flush()?;
        // SAFETY: the stream is open, and so is its descriptor.
        ok_if_zero(unsafe {
            libc::ftruncate(libc::fileno(self.stream.as_ptr()), size_bytes as i64)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        ok_if_zero(unsafe { libc::fflush(self.stream.as_ptr()) })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        before(Call::Sync);
        // SAFETY: the stream is open, and so is its descriptor.
        ok_if_zero(unsafe { libc::fsync(libc::fileno(self.stream.as_ptr())) })
    }

    fn close(self) -> io::Result<()> {
        let mut file = ManuallyDrop::new(self);
        // SAFETY: the stream is open and, behind ManuallyDrop, closed only here.
        let status = unsafe { libc::fclose(file.stream.as_ptr()) };
        drop(file.buffer.take());
        ok_if_zero(status)
    }
}

impl Drop for StdioFile {
    fn drop(&mut self) {
        // SAFETY: the stream is open; `close` does not come here.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}

fn ok_if_zero(status: libc::c_int) -> io::Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
