//! A ring of buffers, one for each call, so that no call finds its data in the cache only
//! because the call before it used the same.

use std::io;

use kit::Buffer;

/// What a buffer holds unless a file is named: this, over and over.
const PATTERN: &[u8; 8] = b"netperf\0";

/// A cache line: buffers lie on lines of their own.
const LINE_BYTES: usize = 64;

/// Bytes that a ring may take. What the other end asks for is held to this before anything is
/// allocated.
pub const RING_BYTES_MAX: u64 = 64 << 20;

/// The highest alignment and offset, in bytes.
pub const ALIGN_MAX: u32 = 65_536;

/// The measures of a ring; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Of each buffer; at least 1.
    pub size: u32,
    /// Every buffer begins at a multiple of this, a power of two…
    pub align: u32,
    /// … and so far behind it.
    pub offset: u32,
    /// How many buffers; at least 1.
    pub width: u32,
}

impl Shape {
    /// Distance from one buffer to the next.
    fn stride(self) -> u64 {
        let align = u64::from(self.align).max(LINE_BYTES as u64);
        (u64::from(self.size) + u64::from(self.offset)).next_multiple_of(align)
    }

    /// Bytes that a ring of it takes.
    pub fn bytes(self) -> u64 {
        let buffers = self.stride().saturating_mul(self.width.into());
        buffers.saturating_add(self.align.into())
    }

    /// This shape with so many buffers as hold `bytes` and one more, at least two, as far as a
    /// ring may have them.
    pub fn wide_enough_for(self, bytes: u64) -> Self {
        let wanted = (bytes / u64::from(self.size.max(1)) + 1).max(2);
        let allowed = RING_BYTES_MAX / self.stride().max(1);
        Self {
            width: wanted.min(allowed).max(1) as u32,
            ..self
        }
    }

    /// Whether such a ring may be made; what is wrong with it, if not.
    ///
    /// # Errors
    /// The number that is too high or not of its kind, in words.
    pub fn check(self) -> Result<(), String> {
        if !self.align.is_power_of_two() || self.align > ALIGN_MAX {
            return Err(format!(
                "an alignment is a power of two up to {ALIGN_MAX}, not {}",
                self.align
            ));
        }
        if self.offset > ALIGN_MAX {
            return Err(format!(
                "an offset is at most {ALIGN_MAX}, not {}",
                self.offset
            ));
        }
        if self.size == 0 || self.width == 0 {
            return Err("a ring has buffers of at least one byte".to_owned());
        }
        if self.stride().saturating_mul(u64::from(self.width)) > RING_BYTES_MAX {
            return Err(format!(
                "a ring of {} buffers of {} bytes is more than the {RING_BYTES_MAX} bytes that one \
                 may take",
                self.width, self.size
            ));
        }
        Ok(())
    }
}

/// The buffers, and the one whose turn it is.
pub struct Ring {
    memory: Buffer,
    shape: Shape,
    stride: usize,
    first: usize,
    begin: usize,
}

impl Ring {
    /// A ring of a shape that was checked, filled with what netperf sends, or with `content` over
    /// and over.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn new(shape: Shape, content: &[u8]) -> io::Result<Self> {
        debug_assert!(shape.check().is_ok());
        let stride = shape.stride() as usize;
        let whole = stride * shape.width as usize;
        let mut memory = Buffer::new(whole + shape.align as usize)?;
        let first = memory.as_ptr().align_offset(shape.align as usize);
        let content = if content.is_empty() { PATTERN } else { content };
        let mut source = content.iter().copied().cycle();
        for slot in memory[first..][..whole].chunks_exact_mut(stride) {
            let buffer = &mut slot[shape.offset as usize..][..shape.size as usize];
            buffer.fill_with(|| source.next().unwrap_or_default());
        }
        Ok(Self {
            memory,
            shape,
            stride,
            first: first + shape.offset as usize,
            begin: first + shape.offset as usize,
        })
    }

    /// The measures.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The buffer whose turn it is.
    #[inline]
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..][..self.shape.size as usize]
    }

    /// Gives the turn to the next.
    #[inline]
    pub fn advance(&mut self) {
        self.begin += self.stride;
        if self.begin >= self.first + self.stride * self.shape.width as usize {
            self.begin = self.first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        size: 12,
        align: 8,
        offset: 3,
        width: 3,
    };

    #[test]
    fn buffers_take_turns_at_their_alignment_and_offset() {
        let shape = Shape {
            align: 16_384,
            ..SHAPE
        };
        let mut ring = Ring::new(shape, b"").unwrap();
        let mut begins = Vec::new();
        for _ in 0..4 {
            let buffer = ring.buffer();
            assert_eq!(buffer.len(), 12);
            assert_eq!(buffer.as_ptr() as usize % 16_384, 3);
            begins.push(buffer.as_ptr() as usize);
            ring.advance();
        }
        assert_eq!(begins[3], begins[0]);
        begins.dedup();
        assert_eq!(begins.len(), 4);
    }

    #[test]
    fn contents_go_on_from_one_buffer_to_the_next() {
        let mut ring = Ring::new(SHAPE, b"").unwrap();
        assert_eq!(ring.buffer(), b"netperf\0netp");
        ring.advance();
        assert_eq!(ring.buffer(), b"erf\0netperf\0");
        let mut ring = Ring::new(SHAPE, b"abcde").unwrap();
        assert_eq!(ring.buffer(), b"abcdeabcdeab");
    }

    #[test]
    fn a_ring_is_as_wide_as_the_socket_buffer_takes() {
        let width = |size, bytes| Shape { size, ..SHAPE }.wide_enough_for(bytes).width;
        assert_eq!(width(16_384, 131_072), 9);
        assert_eq!(width(212_992, 212_992), 2);
        assert_eq!(width(300_000, 212_992), 2);
        let narrow = Shape { size: 1, ..SHAPE }.wide_enough_for(1 << 40);
        assert_eq!(narrow.check(), Ok(()));
        assert_eq!(u64::from(narrow.width) * 64, RING_BYTES_MAX);
    }

    #[test]
    fn what_would_take_too_much_is_refused() {
        let refused = |shape: Shape| shape.check().is_err();
        assert!(!refused(SHAPE));
        assert!(refused(Shape { align: 3, ..SHAPE }));
        assert!(refused(Shape {
            align: 1 << 30,
            ..SHAPE
        }));
        assert!(refused(Shape {
            offset: u32::MAX,
            ..SHAPE
        }));
        assert!(refused(Shape { size: 0, ..SHAPE }));
        assert!(refused(Shape { width: 0, ..SHAPE }));
        assert!(refused(Shape {
            width: u32::MAX,
            ..SHAPE
        }));
        assert!(refused(Shape {
            size: u32::MAX,
            width: u32::MAX,
            ..SHAPE
        }));
        assert!(!refused(Shape {
            size: 60 << 20,
            width: 1,
            ..SHAPE
        }));
    }
}
