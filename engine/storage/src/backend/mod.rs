//! Backends: how a record is moved. A workload's loop is compiled once per backend.
//!
//! To add one: a file beside this one with its `CARD` and an implementation of [`Backend`], and
//! one line in [`CARDS`].

pub mod libaio;
pub mod mmap;
pub mod null;
pub mod queue;
pub mod stdio;
pub mod sync;
pub mod uring;

use std::ffi::CStr;
use std::io::{self, IoSlice, IoSliceMut, SeekFrom};

use kit::inject::before;
use rustix::fs::{Mode, OFlags};
use wire::Call;

pub use mmap::Mmap;
pub use null::Null;
pub use queue::Queue;
pub use stdio::Stdio;
pub use sync::Sync;
pub use uring::Uring;

/// What a person reads of a backend.
pub struct Card {
    /// Its name in parameters.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
}

/// All backends, simplest first.
pub static CARDS: &[Card] = &[
    null::CARD,
    sync::CARD,
    stdio::CARD,
    mmap::CARD,
    libaio::CARD,
    uring::CARD,
];

/// One way to reach a file system: opens files and changes the name space. Errors are those of
/// the system call of the same name; making one allocates nothing.
pub trait Backend {
    /// An open file.
    type File: File;

    /// Opens with the flags of open(2); `permissions` count when a file is made. [`Stdio`]
    /// takes those sets of flags that POSIX gives a mode of fopen(3).
    fn open(&self, path: &CStr, flags: OFlags, permissions: Mode) -> io::Result<Self::File>;

    /// Removes a file's name.
    fn unlink(&self, path: &CStr) -> io::Result<()> {
        before(Call::Remove);
        Ok(rustix::fs::unlink(path)?)
    }

    /// Makes a directory.
    fn mkdir(&self, path: &CStr, permissions: Mode) -> io::Result<()> {
        Ok(rustix::fs::mkdir(path, permissions)?)
    }

    /// Removes an empty directory.
    fn rmdir(&self, path: &CStr) -> io::Result<()> {
        Ok(rustix::fs::rmdir(path)?)
    }
}

/// An open file with a position. Dropping it closes it too, but loses the error.
pub trait File {
    /// Whether bytes really move. Where they do not, what was read must not be verified.
    const MOVES_DATA: bool = true;

    /// Whether a file should be given its size before it is written.
    const IS_SIZED_FIRST: bool = false;

    /// Reads at the position, advances it, and gives the number of bytes.
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize>;

    /// Writes at the position, advances it, and gives the number of bytes.
    fn write(&mut self, record: &[u8]) -> io::Result<usize>;

    /// Writes all of `record` at the position: one call, and more only if the kernel took a part,
    /// to learn why.
    #[inline]
    fn write_whole(&mut self, record: &[u8]) -> io::Result<()> {
        let mut left = record;
        loop {
            let moved = self.write(left)?;
            left = &left[moved..];
            if left.is_empty() {
                return Ok(());
            }
            if moved == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
    }

    /// Moves the position.
    fn seek(&mut self, to: SeekFrom) -> io::Result<()>;

    /// Makes the file `size_bytes` long; what is added reads as zeroes (ftruncate(2)).
    fn resize(&mut self, size_bytes: u64) -> io::Result<()>;

    /// Hands what the process itself buffers to the kernel.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Flushes, then waits until data and metadata are on the device (fsync(2)).
    fn sync(&mut self) -> io::Result<()>;

    /// Closes; what is buffered is handed to the kernel first.
    fn close(self) -> io::Result<()>;
}

/// An open file whose records can be moved wherever they are, without a position.
pub trait Positioned: File {
    /// Reads at `offset`, in bytes, and gives the number of bytes.
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at `offset`, in bytes, and gives the number of bytes.
    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize>;

    /// Reads consecutive bytes from `offset` on into several records, and gives the
    /// number of bytes. Where there is no call for it, the records are read one by one.
    fn read_vectored_at(
        &mut self,
        records: &mut [IoSliceMut],
        mut offset: u64,
    ) -> io::Result<usize> {
        let mut moved = 0;
        for record in records {
            let part = self.read_at(record, offset)?;
            moved += part;
            if part < record.len() {
                break;
            }
            offset += part as u64;
        }
        Ok(moved)
    }

    /// Writes several records one after another from `offset` on, and gives the number of bytes.
    /// Where there is no call for it, the records are written one by one.
    fn write_vectored_at(&mut self, records: &[IoSlice], mut offset: u64) -> io::Result<usize> {
        let mut moved = 0;
        for record in records {
            let part = self.write_at(record, offset)?;
            moved += part;
            if part < record.len() {
                break;
            }
            offset += part as u64;
        }
        Ok(moved)
    }
}
