//! Requests on standard input: whole lines, none longer than it may be, for as long as somebody
//! asks for something.

use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;

const CHUNK_BYTES: usize = 1 << 16;

/// Why a process that serves requests ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    NoMoreRequests,
    Signal,
    /// Nobody has asked for anything as long as the lease lasts.
    Lease,
}

/// What may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    More,
    Nothing,
    /// The line that has begun is too long, and nothing after it can be understood.
    TooLong,
}

/// The lines that come, and when the last ones came.
pub struct Requests {
    most_bytes: usize,
    /// The beginning of one.
    heard: Vec<u8>,
    lease: Option<Duration>,
    heard_at: Instant,
}

impl Requests {
    /// None was heard yet.
    pub fn new(most_bytes: usize, lease: Option<Duration>) -> Self {
        Self {
            most_bytes,
            heard: Vec::new(),
            lease,
            heard_at: Instant::now(),
        }
    }

    /// How long the lease lasts, if it ends.
    pub fn time_left(&self) -> Option<Duration> {
        let lease = self.lease?;
        Some(lease.saturating_sub(self.heard_at.elapsed()))
    }

    /// Reads what has come: whole lines, with their ends.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn hear(&mut self) -> io::Result<(Vec<Vec<u8>>, Then)> {
        let mut lines = Vec::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        let count = match rustix::io::read(io::stdin(), &mut chunk) {
            Err(Errno::INTR | Errno::AGAIN) => return Ok((lines, Then::More)),
            other => other?,
        };
        self.heard_at = Instant::now();
        let mut searched = self.heard.len();
        self.heard.extend_from_slice(&chunk[..count]);
        let end = |heard: &[u8], from| heard[from..].iter().position(|byte| *byte == b'\n');
        while let Some(length) = end(&self.heard, searched) {
            lines.push(self.heard.drain(..=searched + length).collect());
            searched = 0;
        }
        if self.heard.is_empty() {
            self.heard.shrink_to_fit();
        }
        let then = match count {
            _ if self.heard.len() > self.most_bytes => Then::TooLong,
            0 => Then::Nothing,
            _ => Then::More,
        };
        Ok((lines, then))
    }
}
