//! What a program prints: all of it is hashed, and as much kept as is wanted.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

use kit::{clock, text};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use wire::Output;

use crate::growing::Growing;

/// Bytes of the end that messages quote from.
const TAIL_BYTES: usize = 2_048;
const CHUNK_BYTES: usize = 64 << 10;

/// What one read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Some,
    NothingNow,
    End,
}

/// Up to so much is held and hashed when it is complete: hashing what a program prints is slower
/// than printing it, and would make it wait.
const HELD_BYTES: usize = 64 << 20;

/// Of what an execution printed, so much is compared with the next one's.
const REMEMBERED_BYTES: usize = 4 << 20;

/// What an execution printed, and what was made of it.
pub struct Printed {
    bytes: Growing,
    output: Rc<Output>,
}

/// One output, growing.
pub struct Capture {
    kept: Growing,
    keep_bytes: usize,
    hold_bytes: usize,
    bytes: u64,
    tail: Vec<u8>,
    hasher: Option<Sha256>,
}

impl Capture {
    /// Of nothing so far; keeps `keep_bytes`.
    pub fn new(keep_bytes: u64) -> Self {
        Self::holding(keep_bytes, HELD_BYTES)
    }

    /// The same in a buffer that has its memory already.
    pub fn reusing(buffer: Growing, keep_bytes: u64) -> Self {
        Self {
            kept: buffer,
            ..Self::new(keep_bytes)
        }
    }

    fn holding(keep_bytes: u64, hold_bytes: usize) -> Self {
        Self {
            kept: Growing::new(),
            keep_bytes: keep_bytes as usize,
            hold_bytes: hold_bytes.max(keep_bytes as usize),
            bytes: 0,
            tail: Vec::new(),
            hasher: None,
        }
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether `text` stands in what was kept.
    pub fn has(&self, text: &str) -> bool {
        let (text, end) = (text.as_bytes(), self.kept.len().min(self.keep_bytes));
        let mut parts = self.kept[..end].windows(text.len().max(1));
        parts.any(|part| part == text)
    }

    /// Adds what was printed.
    pub fn add(&mut self, printed: &[u8]) {
        self.bytes += printed.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(printed);
            return self.remember(printed);
        }
        let room = self.hold_bytes - self.kept.len();
        self.kept.extend(&printed[..room.min(printed.len())]);
        if printed.len() > room {
            let hasher = Sha256::new_with_prefix(&*self.kept).chain_update(&printed[room..]);
            self.hasher = Some(hasher);
            self.kept.cut(self.keep_bytes);
            self.remember(printed);
        }
    }

    /// Keeps the end of what was printed.
    fn remember(&mut self, printed: &[u8]) {
        self.tail.extend_from_slice(printed);
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus);
    }

    /// Reads once.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn take(&mut self, from: impl AsFd, chunk: &mut [u8]) -> io::Result<Taken> {
        // Where it is to stay: pages that are written once fault once.
        let stays = self.hasher.is_none() && self.kept.len() + chunk.len() < self.hold_bytes;
        let read = match stays {
            true => rustix::io::read(from, self.kept.room(chunk.len())),
            false => rustix::io::read(from, &mut *chunk),
        };
        match (&read, stays) {
            (&Ok(count), true) => {
                self.kept.lengthen(count);
                self.bytes += count as u64;
            }
            (&Ok(count), false) => self.add(&chunk[..count]),
            (Err(_), _) => {}
        }
        match read {
            Ok(0) => Ok(Taken::End),
            Ok(_) | Err(Errno::INTR) => Ok(Taken::Some),
            Err(Errno::AGAIN) => Ok(Taken::NothingNow),
            Err(error) => Err(error.into()),
        }
    }

    /// The end of it, of which messages quote.
    pub fn end(&self) -> &[u8] {
        match self.tail.is_empty() {
            true => &self.kept[self.kept.len().saturating_sub(TAIL_BYTES)..],
            false => &self.tail,
        }
    }

    /// The last lines, at most `count`, for a message.
    pub fn last_lines(&self, count: usize) -> String {
        last_lines(self.end(), count)
    }

    /// All of it; what was printed before is known, and to hash or copy it again would take long.
    /// Its buffer goes to `spare` then.
    pub fn finish_after(mut self, last: &mut Option<Printed>, spare: &mut Growing) -> Rc<Output> {
        if self.hasher.is_some() || self.kept.len() > REMEMBERED_BYTES {
            return Rc::new(self.finish());
        }
        let known = last.as_ref().filter(|last| *last.bytes == *self.kept);
        let (output, mut unused) = match known.map(|last| Rc::clone(&last.output)) {
            Some(output) => (output, self.kept),
            None => {
                let output = Rc::new(self.output());
                let printed = Printed {
                    bytes: self.kept,
                    output: Rc::clone(&output),
                };
                let before = last.replace(printed);
                (output, before.map_or(Growing::new(), |before| before.bytes))
            }
        };
        unused.clear();
        *spare = unused;
        output
    }

    /// All of it.
    pub fn finish(mut self) -> Output {
        self.output()
    }

    fn output(&mut self) -> Output {
        let hasher = self.hasher.take();
        let hasher = hasher.unwrap_or_else(|| Sha256::new_with_prefix(&*self.kept));
        let kept = &self.kept[..self.kept.len().min(self.keep_bytes)];
        let truncated = self.bytes > kept.len() as u64;
        let text = text::read(kept, truncated).map(str::to_owned);
        let base64 = text.is_none().then(|| text::in_base64(kept));
        Output {
            sha256: in_hex(&hasher.finalize()),
            bytes: self.bytes,
            text,
            base64,
            truncated,
        }
    }
}

/// The last lines of `end`, at most `count`, for a message.
pub fn last_lines(end: &[u8], count: usize) -> String {
    let text = String::from_utf8_lossy(end);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(count)..];
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    last.join(" | ").chars().map(printable).collect()
}

/// A regular file that a program wrote.
///
/// # Errors
/// It is larger than `flood_bytes`, or cannot be read, or not within `timeout_s`.
pub fn of_file(
    file: &File,
    keep_bytes: u64,
    flood_bytes: u64,
    timeout_s: f64,
) -> io::Result<Output> {
    let deadline_ns = clock::now_ns() + (timeout_s * 1e9) as u64;
    let mut capture = Capture::new(keep_bytes);
    let mut chunk = chunk();
    while capture.take(file, &mut chunk)? == Taken::Some {
        let too_much = match capture.bytes() > flood_bytes {
            true => format!("it is larger than {flood_bytes} B. Fix: raise \"flood\""),
            false if clock::now_ns() > deadline_ns => format!(
                "it was not read after {timeout_s} s. Fix: let it be shorter, or raise \"timeout\""
            ),
            false => continue,
        };
        return Err(io::Error::other(too_much));
    }
    Ok(capture.finish())
}

/// A buffer to read into.
pub fn chunk() -> Box<[u8]> {
    vec![0; CHUNK_BYTES].into()
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What an output holds; `None` unless all of it was kept.
pub fn contents(output: &Output) -> Option<Vec<u8>> {
    match (&output.text, &output.base64) {
        _ if output.truncated => None,
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, Some(base64)) => text::from_base64(base64),
        (None, None) => (output.bytes == 0).then(Vec::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(keep_bytes: u64, parts: &[&[u8]]) -> Output {
        let [held, hashed] = [HELD_BYTES, 0].map(|hold_bytes| {
            let mut capture = Capture::holding(keep_bytes, hold_bytes);
            parts.iter().for_each(|part| capture.add(part));
            capture.finish()
        });
        assert_eq!(held, hashed, "whether it was held is not to be seen");
        held
    }

    #[test]
    fn all_is_hashed_and_the_beginning_kept() {
        // printf 'hello world' | sha256sum
        let hash = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
        for keep_bytes in [0, 3, 5, 6, 11, 99] {
            let output = captured(keep_bytes, &[b"hello ", b"world"]);
            assert_eq!((output.sha256.as_str(), output.bytes), (hash, 11));
            let kept = &"hello world"[..11.min(keep_bytes as usize)];
            assert_eq!(output.text.as_deref(), Some(kept));
            assert_eq!(output.truncated, keep_bytes < 11);
        }
    }

    #[test]
    fn what_is_no_text_is_given_in_base64() {
        let output = captured(9, &[b"\xff\xfe"]);
        assert_eq!(
            (output.text, output.base64.as_deref()),
            (None, Some("//4="))
        );
        let cut = captured(4, &["aéü".as_bytes()]);
        assert_eq!(cut.text.as_deref(), Some("aé"), "a cut is no garbage");
        assert!(captured(9, &[b"a\xc3"]).base64.is_some());
    }

    #[test]
    fn messages_quote_the_end() {
        let mut capture = Capture::holding(10, 50);
        for number in 0..5_000 {
            capture.add(format!("line {number}\n\n").as_bytes());
        }
        assert_eq!(capture.last_lines(2), "line 4998 | line 4999");
        let mut short = Capture::new(100);
        short.add(b"a\x1b[31m\nb");
        assert_eq!(short.last_lines(9), "a [31m | b");
    }
}
