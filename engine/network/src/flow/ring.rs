//! Rings of buffers. One buffer sent again and again would stay in the nearest cache, as no
//! program's data do; netperf takes turns among as many as fill the socket's buffer and one more,
//! and so do we.

use std::io;

use kit::Buffer;

/// Bytes of all buffers of a ring together, at most.
pub const RING_BYTES_MAX: u64 = 256 << 20;
/// Bytes of all buffers of a ring together, at most, where nobody says how many there are: more
/// than any cache that is near.
pub const USUAL_BYTES_MAX: u64 = 8 << 20;
/// Each buffer begins on a cache line.
const LINE_BYTES: u64 = 64;
/// What buffers are filled with.
const FILL: &[u8] = b"tiltyard ";

/// Buffers of one size, one after the other.
pub struct Ring {
    memory: Buffer,
    stride: usize,
    size: usize,
    last: usize,
    next: usize,
}

impl Ring {
    /// `width` buffers of `size_bytes`, filled.
    ///
    /// # Errors
    /// `ENOMEM`; `InvalidInput` when they would be larger than [`RING_BYTES_MAX`].
    pub fn new(size_bytes: u64, width: u64) -> io::Result<Self> {
        let stride = size_bytes.max(1).checked_next_multiple_of(LINE_BYTES);
        let stride = stride.unwrap_or(u64::MAX);
        let all = stride.saturating_mul(width.max(1));
        if all > RING_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut memory = Buffer::new(all as usize)?;
        for chunk in memory.chunks_mut(FILL.len()) {
            chunk.copy_from_slice(&FILL[..chunk.len()]);
        }
        Ok(Self {
            memory,
            stride: stride as usize,
            size: size_bytes as usize,
            last: 0,
            next: 0,
        })
    }

    /// As many buffers of `message_bytes` as fill a socket's buffer, and one more; together no more
    /// than `ring_bytes`, but two at least. A very small message has a cache line all the same.
    pub fn width_for(socket_bytes: u64, message_bytes: u64, ring_bytes: u64) -> u64 {
        let message_bytes = message_bytes.max(1);
        let lines = message_bytes.div_ceil(LINE_BYTES);
        let most = ring_bytes / lines.saturating_mul(LINE_BYTES);
        (socket_bytes / message_bytes + 1).min(most).max(2)
    }

    /// The buffer whose turn it is.
    #[inline]
    pub fn turn(&mut self) -> &mut [u8] {
        self.last = self.next;
        self.next += self.stride;
        if self.next >= self.memory.len() {
            self.next = 0;
        }
        self.last()
    }

    /// The buffer that had the last turn.
    #[inline]
    pub fn last(&mut self) -> &mut [u8] {
        &mut self.memory[self.last..self.last + self.size]
    }

    /// Bytes of each buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many buffers there are.
    pub fn width(&self) -> usize {
        self.memory.len() / self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_take_turns() {
        let mut ring = Ring::new(100, 3).unwrap();
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
        assert!(Ring::new(u64::MAX, 2).is_err());
        assert!(Ring::new(1 << 30, 1).is_err());
    }
}
