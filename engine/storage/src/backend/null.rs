//! No I/O at all: what is left is the cost of the loop, the floor under every measurement.

use std::ffi::CStr;
use std::hint::black_box;
use std::io::{self, SeekFrom};

use kit::inject::before;
use rustix::fs::{Mode, OFlags};
use wire::Call;

use super::{Backend, Card, File, Positioned};

pub(super) const CARD: Card = Card {
    name: "null",
    about: "no I/O at all: measures the loop itself, the floor under every other backend",
};

/// Every operation succeeds at once and does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

/// An open file that is none. `black_box` keeps the compiler from removing the loop around it.
#[derive(Debug)]
pub struct NullFile;

impl Backend for Null {
    type File = NullFile;

    fn open(&self, path: &CStr, _: OFlags, _: Mode) -> io::Result<NullFile> {
        black_box(path);
        Ok(NullFile)
    }

    fn unlink(&self, path: &CStr) -> io::Result<()> {
        black_box(path);
        Ok(())
    }

    fn mkdir(&self, path: &CStr, _: Mode) -> io::Result<()> {
        black_box(path);
        Ok(())
    }

    fn rmdir(&self, path: &CStr) -> io::Result<()> {
        black_box(path);
        Ok(())
    }
}

impl File for NullFile {
    const MOVES_DATA: bool = false;

    #[inline]
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        before(Call::Read);
        Ok(black_box(record).len())
    }

    #[inline]
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        before(Call::Write);
        Ok(black_box(record).len())
    }

    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        black_box(to);
        Ok(())
    }

    fn resize(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self) -> io::Result<()> {
        Ok(())
    }
}

impl Positioned for NullFile {
    #[inline]
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize> {
        black_box(offset);
        self.read(record)
    }

    #[inline]
    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize> {
        black_box(offset);
        self.write(record)
    }
}
