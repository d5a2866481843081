//! Memory for what programs print, which new processes do not get.
//!
//! A fork copies the table of every page that this process has written, and makes each of them fault
//! when it is written again: around an execution that prints 100 KiB that takes longer than reading
//! them. So this memory is left out of forks (MADV_DONTFORK).

use std::alloc::{handle_alloc_error, Layout};
use std::ops::Deref;
use std::ptr;
use std::slice;

/// The least that is mapped.
const LEAST_BYTES: usize = 64 << 10;

/// Bytes that grow at their end.
pub struct Growing {
    start: *mut u8,
    length: usize,
    capacity: usize,
}

impl Growing {
    /// An empty one, which takes no memory.
    pub const fn new() -> Self {
        Self {
            start: ptr::NonNull::dangling().as_ptr(),
            length: 0,
            capacity: 0,
        }
    }

    /// Room for at least `bytes` after what it holds: all that there is.
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.capacity - self.length < bytes {
            let wanted = (self.length + bytes).max(2 * self.capacity);
            self.map(wanted.next_multiple_of(LEAST_BYTES));
        }
        // SAFETY: the mapping is ours alone, and the kernel has filled what was never written; without
        // one there is no room.
        unsafe {
            slice::from_raw_parts_mut(self.start.add(self.length), self.capacity - self.length)
        }
    }

    /// The first `bytes` of its room belong to it now.
    pub fn lengthen(&mut self, bytes: usize) {
        self.length = (self.length + bytes).min(self.capacity);
    }

    /// Adds a copy of `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.lengthen(bytes.len());
    }

    /// Holds no more than its first `bytes`, and gives back the memory of the others.
    pub fn cut(&mut self, bytes: usize) {
        self.length = self.length.min(bytes);
        let capacity = self.length.max(1).next_multiple_of(LEAST_BYTES);
        if capacity < self.capacity {
            self.map(capacity);
        }
    }

    /// Holds nothing, and keeps its memory.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Gives it so much memory. Where there is none this process ends, as it does where it lacks
    /// any other memory: to go on would be to lose a part of an output.
    fn map(&mut self, capacity: usize) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, or ours, which nobody refers to while it moves. Where it cannot be
        // left out of forks, they are slower.
        unsafe {
            let start = match self.capacity {
                0 => libc::mmap(ptr::null_mut(), capacity, protection, flags, -1, 0),
                before => libc::mremap(self.start.cast(), before, capacity, libc::MREMAP_MAYMOVE),
            };
            if start == libc::MAP_FAILED {
                handle_alloc_error(Layout::array::<u8>(capacity).unwrap_or(Layout::new::<u8>()));
            }
            libc::madvise(start, capacity, libc::MADV_DONTFORK);
            (self.start, self.capacity) = (start.cast(), capacity);
        }
    }
}

// SAFETY: the mapping belongs to it alone.
unsafe impl Send for Growing {}

impl Deref for Growing {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has at least as many bytes; without one there are none.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: the mapping is ours, and nothing refers to it any more.
            unsafe { libc::munmap(self.start.cast(), self.capacity) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_holds_stays_while_it_grows_and_moves() {
        let mut held = Growing::new();
        assert_eq!(&*held, b"");
        let mut expected = Vec::new();
        for number in 0..200_u32 {
            let bytes = vec![number as u8; 1 + 97 * number as usize];
            held.extend(&bytes);
            expected.extend(bytes);
        }
        assert_eq!(&*held, expected.as_slice());
        held.cut(100_000);
        assert_eq!(&*held, &expected[..100_000]);
        assert_eq!(held.capacity, 2 * LEAST_BYTES);
        held.extend(&expected);
        assert_eq!(&held[100_000..], expected.as_slice());
        held.clear();
        assert_eq!(&*held, b"");
        assert!(held.room(1).len() >= expected.len());
    }

    #[test]
    fn a_fork_does_not_get_it() {
        let mut held = Growing::new();
        held.extend(&[1; 3 * LEAST_BYTES]);
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        // What lies beside it, and is like it, is one mapping with it.
        let start = held.start as usize;
        let has_it = |line: &&str| {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            let bounds =
                range.map(|(low, high)| [low, high].map(|at| usize::from_str_radix(at, 16)));
            matches!(bounds, Some([Ok(low), Ok(high)]) if (low..high).contains(&start))
        };
        let mut lines = smaps.lines().skip_while(|line| !has_it(line));
        let flags = lines.find(|line| line.starts_with("VmFlags:"));
        let flags = flags.expect("a mapping");
        assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");
    }
}
