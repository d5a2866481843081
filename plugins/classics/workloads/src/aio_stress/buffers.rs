//! The memory that requests read into.

use std::io;
use std::ops::Range;

use kit::Buffer;

/// One aligned buffer for each unit.
pub struct Buffers {
    memory: Buffer,
    first: usize,
    stride: usize,
    record_bytes: usize,
}

impl Buffers {
    /// Zeroed, touched, and each aligned to `alignment`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(units: usize, record_bytes: usize, alignment: usize) -> io::Result<Self> {
        let stride = record_bytes.next_multiple_of(alignment);
        let memory = Buffer::new(units * stride + alignment)?;
        Ok(Self {
            first: memory.as_ptr().align_offset(alignment),
            memory,
            stride,
            record_bytes,
        })
    }

    #[inline]
    fn span(&self, unit: usize) -> Range<usize> {
        let start = self.first + unit * self.stride;
        start..start + self.record_bytes
    }

    /// The record of a unit.
    #[inline]
    pub fn of(&self, unit: usize) -> &[u8] {
        &self.memory[self.span(unit)]
    }

    /// The same, to be read into.
    #[inline]
    pub fn of_mut(&mut self, unit: usize) -> &mut [u8] {
        let span = self.span(unit);
        &mut self.memory[span]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 5_000, 8_192).unwrap();
        for unit in 0..3 {
            buffers.of_mut(unit).fill(unit as u8);
        }
        for unit in 0..3 {
            let record = buffers.of(unit);
            assert_eq!(record.as_ptr() as usize % 8_192, 0);
            assert_eq!(record, [unit as u8; 5_000]);
        }
    }
}
