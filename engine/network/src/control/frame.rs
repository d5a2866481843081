//! One message on a control connection: four bytes of length, big-endian, then JSON.

use std::io::{self, ErrorKind, Read};

use serde::de::DeserializeOwned;
use serde::Serialize;

/// Longest first word of a client, which nobody knows yet.
pub const HELLO_BYTES: usize = 1 << 10;
/// Longest message to the server.
pub const TO_SERVER_BYTES: usize = 64 << 10;
/// Longest message to the client: a report holds series of figures.
pub const TO_CLIENT_BYTES: usize = 16 << 20;
/// No buffer is made larger than what has come so far and this.
const STEP_BYTES: usize = 64 << 10;
const HEAD_BYTES: usize = 4;

/// A message as it passes the connection.
///
/// # Errors
/// Of a message that no other end would take.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEAD_BYTES];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - HEAD_BYTES;
    if length > TO_CLIENT_BYTES {
        return Err(too_long(length, TO_CLIENT_BYTES));
    }
    frame[..HEAD_BYTES].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(frame)
}

/// A message that is coming, in as many parts as it likes. Nothing that follows it is taken.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Takes what there is; gives the message when it is here as a whole.
    ///
    /// # Errors
    /// `WouldBlock` when more has to come, `UnexpectedEof` when nothing will, `InvalidData` when
    /// it is longer than `limit_bytes` or no message; else as read(2).
    pub fn take<M: DeserializeOwned>(
        &mut self,
        source: &mut impl Read,
        limit_bytes: usize,
    ) -> io::Result<M> {
        while let Some(missing) = self.missing(limit_bytes)? {
            self.fill(source, missing)?;
        }
        let message = serde_json::from_slice(&self.bytes[HEAD_BYTES..]);
        self.bytes = Vec::new();
        message.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// How many bytes the head or the message still wants; `None` when all are here.
    fn missing(&self, limit_bytes: usize) -> io::Result<Option<usize>> {
        let Some(head) = self.bytes.first_chunk::<HEAD_BYTES>() else {
            return Ok(Some(HEAD_BYTES - self.bytes.len()));
        };
        let length = u32::from_be_bytes(*head) as usize;
        if length > limit_bytes {
            return Err(too_long(length, limit_bytes));
        }
        let missing = HEAD_BYTES + length - self.bytes.len();
        Ok((missing > 0).then_some(missing))
    }

    /// Reads once. The announced length is believed only as far as bytes follow.
    fn fill(&mut self, source: &mut impl Read, missing: usize) -> io::Result<()> {
        let here = self.bytes.len();
        self.bytes.resize(here + missing.min(STEP_BYTES), 0);
        let read = source.read(&mut self.bytes[here..]);
        self.bytes.truncate(here + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

fn too_long(length: usize, limit_bytes: usize) -> io::Error {
    let message = format!("a message of {length} bytes; the limit is {limit_bytes}");
    io::Error::new(ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives its parts one read after the other, and nothing in between.
    struct Drip<'a> {
        bytes: &'a [u8],
        part: usize,
        pause: bool,
    }

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.pause = !self.pause;
            if self.pause {
                return Err(ErrorKind::WouldBlock.into());
            }
            let (now, later) = self.bytes.split_at(self.part.min(self.bytes.len()));
            let taken = now.len().min(buffer.len());
            buffer[..taken].copy_from_slice(&now[..taken]);
            self.bytes = &self.bytes[taken..];
            debug_assert!(later.len() <= self.bytes.len());
            Ok(taken)
        }
    }

    fn take_all(bytes: &[u8], part: usize, limit: usize) -> Vec<io::Result<serde_json::Value>> {
        let mut drip = Drip {
            bytes,
            part,
            pause: false,
        };
        let (mut inbox, mut taken) = (Inbox::default(), Vec::new());
        loop {
            match inbox.take(&mut drip, limit) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => {
                    taken.push(Err(error));
                    return taken;
                }
                Ok(message) => taken.push(Ok(message)),
            }
            assert!(inbox.bytes.capacity() <= 2 * (limit + HEAD_BYTES + STEP_BYTES));
        }
    }

    proptest! {
        #[test]
        fn messages_in_parts_are_messages(
            texts in proptest::collection::vec(".{0,40}", 0..4), part in 1usize..50
        ) {
            let frames = texts.iter().map(|text| encode(text).unwrap());
            let taken = take_all(&frames.collect::<Vec<_>>().concat(), part, 1_000);
            let (last, messages) = taken.split_last().unwrap();
            prop_assert_eq!(last.as_ref().unwrap_err().kind(), ErrorKind::UnexpectedEof);
            let messages: Vec<_> = messages.iter().map(|message| message.as_ref().unwrap()).collect();
            prop_assert_eq!(messages, texts.iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_end_in_an_error(bytes: Vec<u8>, part in 1usize..50) {
            let taken = take_all(&bytes, part, 100);
            let last = taken.last().unwrap().as_ref().unwrap_err().kind();
            prop_assert!([ErrorKind::UnexpectedEof, ErrorKind::InvalidData].contains(&last));
        }
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_comes() {
        let taken = take_all(&101u32.to_be_bytes(), 4, 100);
        let error = taken[0].as_ref().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a message of 101 bytes; the limit is 100"
        );
        assert!(encode(&"x".repeat(TO_CLIENT_BYTES)).is_err());
    }

    #[test]
    fn depth_has_a_limit() {
        let text = [&b"["[..]; 500].concat();
        let frame = [&500u32.to_be_bytes()[..], &text].concat();
        let taken = take_all(&frame, 1_000, 1_000);
        let error = taken[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("recursion limit"), "{error}");
    }
}
