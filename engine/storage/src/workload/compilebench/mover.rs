//! Moving the bytes of one file, a buffer at a time.

use std::io;

use kit::failure::no_memory;
use kit::{Buffer, Content};
use wire::Failure;

use super::params::{Fill, Params};
use crate::backend::File;

/// What is written, and where what is read goes to.
pub struct Mover {
    content: Content,
    buffer: Buffer,
    /// Over the last byte of each buffer that was read.
    checksum: u64,
}

impl Mover {
    /// # Errors
    /// Out of memory.
    pub fn new(params: &Params) -> Result<Self, Failure> {
        let bytes = params.buffer.bytes() as usize;
        let content = match params.content {
            Fill::Classic => Content::uniform(bytes, b'a'),
            Fill::Random => Content::random(bytes),
        };
        Ok(Self {
            content: content.map_err(no_memory)?,
            buffer: Buffer::new(bytes).map_err(no_memory)?,
            checksum: 0,
        })
    }

    /// Over what was read.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Writes so many bytes.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn write(&self, file: &mut impl File, size_bytes: u64) -> io::Result<()> {
        let full = self.buffer.len() as u64;
        let mut written = 0;
        while written < size_bytes {
            let length = full.min(size_bytes - written);
            let record = self.content.record(written / full);
            file.write_whole(&record[..length as usize])?;
            written += length;
        }
        Ok(())
    }

    /// Reads to the end, and gives the number of bytes; without I/O there is no end, and
    /// `size_bytes` are read.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn read<F: File>(&mut self, file: &mut F, size_bytes: u64) -> io::Result<u64> {
        let mut bytes = 0;
        loop {
            let room = match F::MOVES_DATA {
                true => self.buffer.len(),
                false => self.buffer.len().min((size_bytes - bytes) as usize),
            };
            let moved = file.read(&mut self.buffer[..room])?;
            if moved == 0 {
                return Ok(bytes);
            }
            bytes += moved as u64;
            self.checksum = self.checksum.rotate_left(1) ^ u64::from(self.buffer[moved - 1]);
        }
    }
}
