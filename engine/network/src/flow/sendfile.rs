//! sendfile(2): from the page cache to the socket, past our memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use kit::inject::before;
use rustix::fs::{memfd_create, sendfile, MemfdFlags};
use rustix::io::retry_on_intr;
use wire::Call;

use super::ring::Ring;
use super::stream::Sender;
use super::Flow;

/// Sends a file from its begin to its end, again and again. What is left of it at its end is
/// sent first when a message is longer.
pub struct FromFile<'a> {
    socket: BorrowedFd<'a>,
    file: File,
    file_bytes: u64,
    message_bytes: u64,
    offset: u64,
    /// Bytes of the message that are not out.
    rest: u64,
}

/// Sends a file as netperf does: one call for each message, which is done whatever part of it went
/// out, and from the begin again where less than a message is left.
pub struct FromFileByCalls<'a> {
    /// The connection.
    pub socket: BorrowedFd<'a>,
    /// What is sent.
    pub file: BorrowedFd<'a>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of each call, no more than the file has.
    pub call_bytes: u64,
    /// Where the next call begins.
    pub offset: u64,
}

impl Sender for FromFileByCalls<'_> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        before(Call::Send);
        let bytes = self.call_bytes as usize;
        let sent = sendfile(self.socket, self.file, Some(&mut self.offset), bytes)?;
        if self.offset + self.call_bytes > self.file_bytes {
            self.offset = 0;
        }
        Ok(sent as u64)
    }
}

impl<'a> FromFile<'a> {
    /// Messages over `flow`; the file is not empty.
    ///
    /// # Errors
    /// As fstat(2); `InvalidInput` for an empty file.
    pub fn new(flow: &'a Flow, file: File, message_bytes: u64) -> io::Result<Self> {
        let file_bytes = file.metadata()?.len();
        if file_bytes == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the file is empty",
            ));
        }
        Ok(Self {
            socket: flow.socket.as_fd(),
            file,
            file_bytes,
            message_bytes,
            offset: 0,
            rest: 0,
        })
    }
}

/// A file in memory that holds what `ring` holds; it has no name, and is gone with the last that
/// uses it.
///
/// # Errors
/// As memfd_create(2) and write(2).
pub fn file_of(mut ring: Ring) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"tiltyard", MemfdFlags::CLOEXEC)?);
    for _ in 0..ring.width() {
        file.write_all(ring.turn())?;
    }
    Ok(file)
}

impl Sender for FromFile<'_> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        if self.rest == 0 {
            self.rest = self.message_bytes;
        }
        while self.rest > 0 {
            if self.offset == self.file_bytes {
                self.offset = 0;
            }
            let bytes = self.rest.min(self.file_bytes - self.offset) as usize;
            let offset = &mut self.offset;
            before(Call::Send);
            match retry_on_intr(|| sendfile(self.socket, &self.file, Some(offset), bytes))? {
                0 => return Err(shrunk()),
                sent => self.rest -= sent as u64,
            }
        }
        Ok(self.message_bytes)
    }

    fn is_within_message(&self) -> bool {
        self.rest > 0
    }
}

#[cold]
fn shrunk() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter")
}
