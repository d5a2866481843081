//! What a program prints: all of it is hashed, and as much kept as is wanted.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use wire::Output;

/// Bytes of the end that messages quote from.
const TAIL_BYTES: usize = 2_048;
const CHUNK_BYTES: usize = 64 << 10;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
    bytes: Vec<u8>,
    output: Rc<Output>,
}

/// One output, growing.
pub struct Capture {
    kept: Vec<u8>,
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
    pub fn reusing(buffer: Vec<u8>, keep_bytes: u64) -> Self {
        Self {
            kept: buffer,
            ..Self::new(keep_bytes)
        }
    }

    fn holding(keep_bytes: u64, hold_bytes: usize) -> Self {
        Self {
            kept: Vec::new(),
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
        self.kept
            .extend_from_slice(&printed[..room.min(printed.len())]);
        if printed.len() > room {
            let hasher = Sha256::new_with_prefix(&self.kept).chain_update(&printed[room..]);
            self.hasher = Some(hasher);
            self.kept.truncate(self.keep_bytes);
            self.kept.shrink_to_fit();
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
        let read = match self.hasher.is_none() && self.kept.len() + chunk.len() < self.hold_bytes {
            // Where it is to stay: pages that are written once fault once.
            true => {
                self.kept.reserve(chunk.len());
                rustix::io::read(from, rustix::buffer::spare_capacity(&mut self.kept))
                    .inspect(|&count| self.bytes += count as u64)
            }
            false => {
                rustix::io::read(from, &mut *chunk).inspect(|&count| self.add(&chunk[..count]))
            }
        };
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
    pub fn finish_after(mut self, last: &mut Option<Printed>, spare: &mut Vec<u8>) -> Rc<Output> {
        if self.hasher.is_some() || self.kept.len() > REMEMBERED_BYTES {
            return Rc::new(self.finish());
        }
        if let Some(last) = last.as_ref().filter(|last| last.bytes == self.kept) {
            self.kept.clear();
            *spare = self.kept;
            return Rc::clone(&last.output);
        }
        let bytes = self.kept.clone();
        let output = Rc::new(self.finish());
        *last = Some(Printed {
            bytes,
            output: Rc::clone(&output),
        });
        output
    }

    /// All of it.
    pub fn finish(mut self) -> Output {
        let hasher = self.hasher.take();
        let hasher = hasher.unwrap_or_else(|| Sha256::new_with_prefix(&self.kept));
        self.kept.truncate(self.keep_bytes);
        let truncated = self.bytes > self.kept.len() as u64;
        let (text, base64) = match as_text(self.kept, truncated) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(in_base64(&bytes))),
        };
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

/// A file that a program wrote.
///
/// # Errors
/// It is no regular file, is larger than `flood_bytes`, or cannot be read.
pub fn of_file(path: &Path, keep_bytes: u64, flood_bytes: u64) -> io::Result<Output> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut capture = Capture::new(keep_bytes);
    let mut chunk = chunk();
    while capture.take(&file, &mut chunk)? == Taken::Some {
        if capture.bytes() > flood_bytes {
            let text = format!("it is larger than {flood_bytes} B. Fix: raise \"flood\"");
            return Err(io::Error::other(text));
        }
    }
    Ok(capture.finish())
}

/// A buffer to read into.
pub fn chunk() -> Box<[u8]> {
    vec![0; CHUNK_BYTES].into()
}

/// A cut may go through a letter; what is before it is text all the same.
fn as_text(kept: Vec<u8>, truncated: bool) -> Result<String, Vec<u8>> {
    let is_control = |byte: &&u8| **byte < b' ' && !b"\n\t\r".contains(*byte);
    if kept.iter().filter(is_control).count() > kept.len() / 8 {
        // Each of them would take six letters of JSON.
        return Err(kept);
    }
    String::from_utf8(kept).or_else(|error| {
        let good = error.utf8_error().valid_up_to();
        let is_cut = truncated && error.utf8_error().error_len().is_none();
        let mut bytes = error.into_bytes();
        if is_cut {
            bytes.truncate(good);
        }
        String::from_utf8(bytes).map_err(|error| error.into_bytes())
    })
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What an output holds; `None` unless all of it was kept.
pub fn contents(output: &Output) -> Option<Vec<u8>> {
    match (&output.text, &output.base64) {
        _ if output.truncated => None,
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, Some(base64)) => from_base64(base64),
        (None, None) => (output.bytes == 0).then(Vec::new),
    }
}

/// RFC 4648, with padding; `None` for anything else.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let padding = group.iter().rev().take_while(|&&sign| sign == b'=').count();
        let mut bits = 0;
        for sign in &group[..group.len() - padding] {
            bits = bits << 6 | BASE64.iter().position(|known| known == sign)? as u32;
        }
        bits <<= 6 * padding;
        let whole = &bits.to_be_bytes()[1..4_usize.checked_sub(padding)?];
        bytes.extend_from_slice(whole);
    }
    text.len().is_multiple_of(4).then_some(bytes)
}

/// RFC 4648, with padding.
fn in_base64(bytes: &[u8]) -> String {
    let mut text = vec![b'='; bytes.len().div_ceil(3) * 4];
    for (group, signs) in bytes.chunks(3).zip(text.chunks_mut(4)) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (place, sign) in signs[..=group.len()].iter_mut().enumerate() {
            *sign = BASE64[(bits >> (18 - 6 * place)) as usize & 63];
        }
    }
    String::from_utf8(text).unwrap_or_else(|_| unreachable!("these signs are ASCII"))
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
        // printf '\377\376\0' | base64
        for (bytes, base64) in [
            (&b"\xff"[..], "/w=="),
            (b"\xff\xfe", "//4="),
            (b"\xff\xfe\0", "//4A"),
            (b"\xff\xfe\0a", "//4AYQ=="),
        ] {
            let output = captured(9, &[bytes]);
            assert_eq!(
                (output.text, output.base64.as_deref()),
                (None, Some(base64))
            );
        }
        let cut = captured(4, &["aéü".as_bytes()]);
        assert_eq!(cut.text.as_deref(), Some("aé"), "a cut is no garbage");
        assert!(captured(9, &[b"a\xc3"]).base64.is_some());
        assert!(captured(9, &[b"a\0\0"]).base64.is_some());
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
