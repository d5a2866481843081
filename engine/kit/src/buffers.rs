//! Buffers for I/O: page-aligned, so that direct I/O takes them, and touched beforehand, so that
//! no page fault falls into a timed region.

use std::hint::black_box;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};

/// Distance between two bytes of which at least one lies in every cache line.
const CACHE_LINE_BYTES: usize = 32;

/// Anonymous memory, zeroed and mapped in full.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    size_bytes: usize,
}

impl Buffer {
    /// Maps `size_bytes` (at least 1) of zeroes.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn new(size_bytes: usize) -> io::Result<Self> {
        Self::map(size_bytes, MapFlags::PRIVATE)
    }

    /// As [`Buffer::new`], but processes made with fork(2) write to the same memory, not to a copy
    /// of it. The parent may look at it when they have ended.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn shared(size_bytes: usize) -> io::Result<Self> {
        Self::map(size_bytes, MapFlags::SHARED)
    }

    fn map(size_bytes: usize, sharing: MapFlags) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                size_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                sharing | MapFlags::POPULATE,
            )?
        };
        Ok(Self {
            start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            size_bytes,
        })
    }
}

// SAFETY: the memory belongs to the buffer alone, and is only reached through its borrows.
unsafe impl Send for Buffer {}
// SAFETY: as above; a shared borrow only reads.
unsafe impl Sync for Buffer {}

/// Reads a byte of every cache line, so that the memory is as near as it can be.
pub fn fetch(memory: &[u8]) {
    for byte in memory.iter().step_by(CACHE_LINE_BYTES) {
        black_box(*byte);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped and initialised for all of its size while `self` lives.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.size_bytes) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.size_bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows it any more. It can only fail for a
        // range that was never mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.size_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_zeroed_aligned_and_resident() {
        let mut buffer = Buffer::new(3 * 4096 + 1).unwrap();
        assert_eq!(buffer.len(), 3 * 4096 + 1);
        assert!(buffer.iter().all(|&byte| byte == 0));
        assert_eq!(buffer.as_ptr() as usize % 4096, 0);
        buffer.fill(7);
        fetch(&buffer);
        assert_eq!(buffer[3 * 4096], 7);
    }

    #[test]
    fn refuses_more_than_there_is() {
        assert!(Buffer::new(1 << 60).is_err());
        assert!(Buffer::new(0).is_err());
    }
}
