//! The control connection: whole messages, each within its time. It never blocks for longer than
//! it takes to notice a stop.

use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{recv, RecvFlags};
use socket2::{SockRef, TcpKeepalive};

use super::data::alarm::timespec;
use super::message::{Generation, Message, LARGEST_BYTES};

/// Between two looks for a stop.
const LOOK: Duration = Duration::from_millis(100);

/// A peer that pauses this long after 256 bytes has sent its whole message: it is of the generation
/// with the small messages. Parts of one message are sent in one go and never so far apart.
const SMALL_MESSAGE_SILENCE: Duration = Duration::from_millis(300);

/// A message is sent within this, or the peer does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// A host that vanished is noticed within about 20 s.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(10))
    .with_interval(Duration::from_secs(3))
    .with_retries(3);

/// How long to wait for a message.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Until its first byte.
    pub begin: Duration,
    /// From there until its last.
    pub whole: Duration,
    /// From when a stop is asked for; no longer than both.
    pub after_stop: Duration,
}

/// Why there is no message.
#[derive(Debug)]
pub enum NoMessage {
    /// The peer has closed the connection between two messages.
    Closed,
    /// The peer has closed it within one, or something else is wrong.
    Broken(io::Error),
    /// It did not begin in time.
    Silent,
    /// It began, and this many bytes arrived.
    Partial(usize),
    /// A stop was asked for.
    Stopped,
}

impl fmt::Display for NoMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Closed => formatter.write_str("it closed the control connection"),
            Self::Broken(error) => write!(formatter, "the control connection broke: {error}"),
            Self::Silent => formatter.write_str("it does not answer"),
            Self::Partial(bytes) => {
                write!(formatter, "it stopped after {bytes} bytes of a message")
            }
            Self::Stopped => formatter.write_str("interrupted"),
        }
    }
}

/// One end of a control connection.
pub struct Control {
    stream: TcpStream,
    /// The release whose messages are used.
    pub generation: Generation,
    /// Whether a peer that speaks 256 bytes is answered likewise, before it is known.
    adapts: bool,
}

impl Control {
    /// Speaks as `generation` does.
    ///
    /// # Errors
    /// When the kernel refuses an option of the socket.
    pub fn new(stream: TcpStream, generation: Generation) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE)?;
        Ok(Self {
            stream,
            generation,
            adapts: false,
        })
    }

    /// As [`Control::new`], but finds out from the first message whether the peer is of the
    /// generation with the small ones.
    ///
    /// # Errors
    /// As [`Control::new`].
    pub fn adapting(stream: TcpStream, generation: Generation) -> io::Result<Self> {
        let mut control = Self::new(stream, generation)?;
        control.adapts = true;
        Ok(control)
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// When there is no connection any more.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// As [`Control::peer`].
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Sends one message.
    ///
    /// # Errors
    /// Those of send(2); `WouldBlock` when the peer does not read.
    pub fn send(&mut self, message: &Message) -> io::Result<()> {
        self.stream.write_all(&message.to_bytes(self.generation))
    }

    /// Waits for one message.
    ///
    /// # Errors
    /// Why there is none.
    pub fn receive(&mut self, patience: Patience) -> Result<Message, NoMessage> {
        let mut bytes = [0; LARGEST_BYTES];
        let mut received = 0;
        let mut stop = Stop::within(patience.after_stop);
        let mut deadline_ns = after_ns(patience.begin);
        while received < self.generation.message_bytes() {
            let wanted = &mut bytes[received..self.generation.message_bytes()];
            let may_be_all = self.adapts && received == Generation::V2_4.message_bytes();
            let until_ns = if may_be_all {
                deadline_ns.min(after_ns(SMALL_MESSAGE_SILENCE))
            } else {
                deadline_ns
            };
            match self.read(wanted, until_ns, &mut stop)? {
                Read::Bytes(0) if received == 0 => return Err(NoMessage::Closed),
                Read::Bytes(0) => {
                    return Err(NoMessage::Broken(io::ErrorKind::UnexpectedEof.into()));
                }
                Read::Bytes(more) => {
                    if received == 0 {
                        deadline_ns = after_ns(patience.whole);
                    }
                    received += more;
                }
                Read::Nothing if may_be_all => self.generation = Generation::V2_4,
                Read::Nothing if received == 0 => return Err(NoMessage::Silent),
                Read::Nothing => return Err(NoMessage::Partial(received)),
            }
        }
        self.adapts = false;
        Ok(Message::from_bytes(&bytes[..received]))
    }

    /// Looks once more after the deadline: what came while this process stood still is here.
    fn read(&self, bytes: &mut [u8], deadline_ns: u64, stop: &mut Stop) -> Result<Read, NoMessage> {
        loop {
            let now_ns = clock::now_ns();
            if stop.is_due(now_ns) {
                return Err(NoMessage::Stopped);
            }
            let wait_ns = deadline_ns.saturating_sub(now_ns);
            let wait_ns = wait_ns.min(LOOK.as_nanos() as u64);
            let mut stream = [PollFd::new(&self.stream, PollFlags::IN)];
            match poll(&mut stream, Some(&timespec(wait_ns))) {
                Ok(1) => {}
                Ok(_) if now_ns >= deadline_ns => return Ok(Read::Nothing),
                _ => continue,
            }
            match recv(&self.stream, &mut *bytes, RecvFlags::DONTWAIT) {
                Ok((_, received)) => return Ok(Read::Bytes(received)),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(NoMessage::Broken(error.into())),
            }
        }
    }
}

/// The instant this far from now.
fn after_ns(time: Duration) -> u64 {
    clock::now_ns().saturating_add(time.as_nanos() as u64)
}

/// A stop that leaves some time to end in good order.
struct Stop {
    grace: Duration,
    due_ns: Option<u64>,
}

impl Stop {
    fn within(grace: Duration) -> Self {
        Self {
            grace,
            due_ns: None,
        }
    }

    fn is_due(&mut self, now_ns: u64) -> bool {
        if self.due_ns.is_none() && stop::requested() {
            self.due_ns = Some(now_ns.saturating_add(self.grace.as_nanos() as u64));
        }
        self.due_ns.is_some_and(|due_ns| now_ns >= due_ns)
    }
}

enum Read {
    /// So many came; zero at the end.
    Bytes(usize),
    /// None, until the deadline.
    Nothing,
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests;
