//! Rings of buffers. One buffer sent again and again would stay in the nearest cache, as no
//! program's data do; netperf takes turns among as many as fill the socket's buffer and one more,
//! and so do we.
//!
//! Its buffers begin where C's `malloc` puts them, and so do ours: large ones 16 bytes behind a
//! page. Data come from the begin of a page, and a copy whose target is a little ahead of its source
//! within their pages is slow. A receiver that is placed better is faster, sleeps between segments,
//! and has to be woken by the sender for each.

use std::io;

use kit::Buffer;

/// Bytes of all buffers of a ring together, at most.
pub const RING_BYTES_MAX: u64 = 256 << 20;
/// Bytes of all buffers of a ring together, at most, where nobody says how many there are: more
/// than any cache that is near.
pub const USUAL_BYTES_MAX: u64 = 8 << 20;
/// The same where another program asks for a [`Shape`]: held to before anything is allocated.
pub const SHAPED_BYTES_MAX: u64 = 64 << 20;
/// The highest alignment and offset of a [`Shape`], in bytes.
pub const ALIGN_MAX: u32 = 65_536;
/// Bytes of a cache line, of which no two buffers have parts.
pub const LINE_BYTES: u32 = 64;
/// Bytes of a page.
pub const PAGE_BYTES: u32 = 4_096;
/// What C's `malloc` keeps before memory, in bytes; as much as this has pages of its own.
const HEADER_BYTES: u32 = 16;
const MAPPED_BYTES: u64 = 128 << 10;
/// What buffers are filled with, over and over.
const FILL: &[u8] = b"tiltyard ";

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
        let begin = u64::from(self.header()) + u64::from(self.offset);
        let bytes = u64::from(self.size).max(1) + begin;
        bytes.next_multiple_of(self.line().into())
    }

    /// What the distance of two buffers is a multiple of.
    fn line(self) -> u32 {
        let bytes = u64::from(self.size) + u64::from(self.align) + u64::from(self.offset);
        let line = match bytes < MAPPED_BYTES {
            true => LINE_BYTES,
            false => PAGE_BYTES,
        };
        self.align.max(line)
    }

    /// The first multiple of `align` behind what `malloc` keeps, seen from a line or page.
    fn header(self) -> u32 {
        HEADER_BYTES.next_multiple_of(self.align) % self.line()
    }

    /// Bytes that a ring of it takes.
    pub fn bytes(self) -> u64 {
        let buffers = self.stride().saturating_mul(self.width.into());
        buffers.saturating_add(self.line().into())
    }

    /// This shape with as many buffers as hold `bytes` and one more, at least two, as far as a
    /// ring may have them.
    pub fn wide_enough_for(self, bytes: u64) -> Self {
        let wanted = (bytes / u64::from(self.size.max(1)) + 1).max(2);
        let allowed = SHAPED_BYTES_MAX / self.stride().max(1);
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
        if self.stride().saturating_mul(u64::from(self.width)) > SHAPED_BYTES_MAX {
            return Err(format!(
                "a ring of {} buffers of {} bytes is more than the {SHAPED_BYTES_MAX} bytes that \
                 one may take",
                self.width, self.size
            ));
        }
        Ok(())
    }
}

/// Buffers of one size, one after the other.
pub struct Ring {
    memory: Buffer,
    shape: Shape,
    stride: usize,
    /// Where the first buffer begins, and where one behind the last would.
    first: usize,
    end: usize,
    last: usize,
    next: usize,
}

impl Ring {
    /// `width` buffers of `size_bytes`, filled, at the alignment `align` of a [`Shape`].
    ///
    /// # Errors
    /// `ENOMEM`; `InvalidInput` when they would be larger than [`RING_BYTES_MAX`].
    pub fn new(size_bytes: u64, width: u64, align: u32) -> io::Result<Self> {
        let shape = u32::try_from(size_bytes)
            .ok()
            .zip(u32::try_from(width).ok());
        let shape = shape.map(|(size, width)| Shape {
            size,
            align,
            offset: 0,
            width: width.max(1),
        });
        match shape {
            Some(shape) if shape.stride() * u64::from(shape.width) <= RING_BYTES_MAX => {
                Self::shaped(shape, FILL)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// A ring of `shape`, filled with `content` over and over, which is not empty.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn shaped(shape: Shape, content: &[u8]) -> io::Result<Self> {
        let stride = shape.stride() as usize;
        let all = stride * shape.width as usize;
        let line = shape.line() as usize;
        let mut memory = Buffer::new(all + line - 1)?;
        let aligned = memory.as_ptr().align_offset(line);
        let begin = (shape.header() + shape.offset) as usize;
        let mut source = 0;
        for slot in memory[aligned..][..all].chunks_exact_mut(stride) {
            let mut rest = &mut slot[begin..][..shape.size as usize];
            while !rest.is_empty() {
                let part = &content[source..content.len().min(source + rest.len())];
                let (filled, more) = rest.split_at_mut(part.len());
                filled.copy_from_slice(part);
                (rest, source) = (more, (source + part.len()) % content.len());
            }
        }
        let first = aligned + begin;
        Ok(Self {
            memory,
            shape,
            stride,
            first,
            end: first + all,
            last: first,
            next: first,
        })
    }

    /// As many buffers of `message_bytes` as fill a socket's buffer, and one more; together no more
    /// than `ring_bytes`, but two at least. A very small message has a cache line all the same.
    pub fn width_for(socket_bytes: u64, message_bytes: u64, ring_bytes: u64) -> u64 {
        let message_bytes = message_bytes.max(1);
        let line = u64::from(LINE_BYTES);
        let lines = message_bytes
            .saturating_add(HEADER_BYTES.into())
            .div_ceil(line);
        let most = ring_bytes / lines.saturating_mul(line);
        (socket_bytes / message_bytes + 1).min(most).max(2)
    }

    /// The buffer whose turn it is.
    #[inline]
    pub fn turn(&mut self) -> &mut [u8] {
        self.last = self.next;
        self.next += self.stride;
        if self.next >= self.end {
            self.next = self.first;
        }
        self.last()
    }

    /// The buffer that had the last turn.
    #[inline]
    pub fn last(&mut self) -> &mut [u8] {
        &mut self.memory[self.last..self.last + self.shape.size as usize]
    }

    /// Bytes of each buffer.
    pub fn size(&self) -> usize {
        self.shape.size as usize
    }

    /// How many buffers there are.
    pub fn width(&self) -> usize {
        self.shape.width as usize
    }

    /// The measures.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_take_turns() {
        let mut ring = Ring::new(100, 3, 1).unwrap();
        let turns: Vec<_> = (0..4).map(|_| ring.turn().as_ptr() as usize).collect();
        assert_eq!(turns[1] - turns[0], 128);
        assert_eq!(turns[3], turns[0]);
        assert_eq!(
            (ring.turn().len(), ring.size(), ring.width()),
            (100, 100, 3)
        );
        assert_eq!(ring.last().as_ptr() as usize, turns[1]);
    }

    #[test]
    fn a_ring_has_a_width_and_a_limit() {
        assert_eq!(Ring::width_for(16_384, 16_384, USUAL_BYTES_MAX), 2);
        assert_eq!(Ring::width_for(131_072, 64, USUAL_BYTES_MAX), 2_049);
        assert_eq!(Ring::width_for(100, 0, USUAL_BYTES_MAX), 101);
        assert_eq!(Ring::width_for(4 << 20, 1, 8 << 20), (8 << 20) / 64);
        assert_eq!(Ring::width_for(4 << 20, 1, 1 << 20), (1 << 20) / 64);
        assert_eq!(Ring::width_for(4 << 20, u64::MAX, USUAL_BYTES_MAX), 2);
        assert!(Ring::new(u64::MAX, 2, 1).is_err());
        assert!(Ring::new(1 << 30, 1, 1).is_err());
    }

    const SHAPE: Shape = Shape {
        size: 12,
        align: 8,
        offset: 3,
        width: 3,
    };

    #[test]
    fn shaped_buffers_take_turns_at_their_alignment_and_offset() {
        let shape = Shape {
            align: 16_384,
            ..SHAPE
        };
        let mut ring = Ring::shaped(shape, FILL).unwrap();
        let mut begins = Vec::new();
        for _ in 0..4 {
            let buffer = ring.turn();
            assert_eq!(buffer.len(), 12);
            assert_eq!(buffer.as_ptr() as usize % 16_384, 3);
            begins.push(buffer.as_ptr() as usize);
        }
        assert_eq!(begins[3], begins[0]);
        begins.dedup();
        assert_eq!(begins.len(), 4);
    }

    #[test]
    fn buffers_begin_where_those_of_netperf_do() {
        let place = |size, align, offset| {
            let shape = Shape {
                size,
                align,
                offset,
                ..SHAPE
            };
            let mut ring = Ring::shaped(shape, FILL).unwrap();
            let places = [(); 2].map(|()| ring.turn().as_ptr() as usize % 4_096);
            assert_eq!(places[0] % 64, places[1] % 64);
            assert!(places[0] == places[1] || size < 131_072);
            places[0]
        };
        let of = |size| [1, 8, 16, 32, 64, 4_096].map(|align| place(size, align, 0));
        assert_eq!(of(100).map(|at| at % 64), [16, 16, 16, 32, 0, 0]);
        assert_eq!(of(131_072), [16, 16, 16, 32, 64, 0]);
        assert_eq!((place(131_072, 8, 3), place(9, 4_096, 5)), (19, 5));
    }

    #[test]
    fn contents_go_on_from_one_buffer_to_the_next() {
        let mut ring = Ring::shaped(SHAPE, b"netperf\0").unwrap();
        assert_eq!(ring.turn(), b"netperf\0netp");
        assert_eq!(ring.turn(), b"erf\0netperf\0");
        let mut ring = Ring::shaped(SHAPE, b"abcde").unwrap();
        assert_eq!(ring.turn(), b"abcdeabcdeab");
    }

    #[test]
    fn a_ring_is_as_wide_as_the_socket_buffer_takes() {
        let width = |size, bytes| Shape { size, ..SHAPE }.wide_enough_for(bytes).width;
        assert_eq!(width(16_384, 131_072), 9);
        assert_eq!(width(212_992, 212_992), 2);
        assert_eq!(width(300_000, 212_992), 2);
        let narrow = Shape { size: 1, ..SHAPE }.wide_enough_for(1 << 40);
        assert_eq!(narrow.check(), Ok(()));
        assert_eq!(u64::from(narrow.width) * 64, SHAPED_BYTES_MAX);
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
