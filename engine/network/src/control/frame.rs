//! One message on a control connection: four bytes of length, then JSON.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::Serialize;

/// Longest message to the far end.
pub const TO_FAR_BYTES: usize = 64 << 10;
/// Longest message to the near end: a report holds series of figures.
pub const TO_NEAR_BYTES: usize = 16 << 20;
/// No buffer is made larger than what has come so far and this.
const STEP_BYTES: usize = 64 << 10;

/// Sends `message` as a whole.
///
/// # Errors
/// As write(2); `TimedOut` when the other end does not take it.
pub fn send(stream: &mut TcpStream, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(|_| ErrorKind::InvalidInput)?;
    let mut frame = Vec::with_capacity(4 + text.len());
    frame.extend(length.to_be_bytes());
    frame.extend(text);
    stream.write_all(&frame)
}

/// Receives a message of at most `limit_bytes` that is here as a whole within `patience`.
///
/// # Errors
/// `UnexpectedEof` when the other end went away, `TimedOut` when it was slow, `InvalidData` when
/// this is no message.
pub fn receive<M: DeserializeOwned>(
    stream: &mut TcpStream,
    limit_bytes: usize,
    patience: Duration,
) -> io::Result<M> {
    let until = Instant::now() + patience;
    let mut length = [0; 4];
    read_within(stream, &mut length, until)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > limit_bytes {
        let message = format!("a message of {length} bytes; the limit is {limit_bytes}");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    // The announced length is believed only as far as bytes follow.
    let mut text = Vec::new();
    while text.len() < length {
        let begin = text.len();
        text.resize(length.min(begin + STEP_BYTES), 0);
        read_within(stream, &mut text[begin..], until)?;
    }
    serde_json::from_slice(&text).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Fills `buffer` before the instant `until`, however slowly bytes come.
fn read_within(stream: &mut TcpStream, mut buffer: &mut [u8], until: Instant) -> io::Result<()> {
    while !buffer.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
