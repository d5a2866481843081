//! One end of a data path: system calls on its socket, and what the loops of [`network::flow`] need
//! of it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{self, recv, recvfrom, sendto, RecvFlags, SendFlags, SocketAddrAny};
use socket2::Socket;

use super::alarm::timespec;
use super::work::Work;
use super::{CallError, Called};
use network::flow::ring::{Ring, Shape};
use network::flow::stream::{self, Receive, Sender};

/// Between two looks for a stop.
const LOOK_NS: u64 = 100_000_000;
/// How long to wait for the last bytes after a stop was asked for.
const STOPPED_NS: u64 = 2_000_000_000;

/// A socket, and where it sends to.
pub struct Link {
    /// The socket.
    pub socket: Socket,
    way: Way,
}

enum Way {
    /// The socket knows its other end.
    Connected,
    /// Every datagram goes there.
    To(SocketAddrAny),
    /// Every datagram goes to where the last one came from, which is always this host.
    Reply(IpAddr, Option<SocketAddrAny>),
}

/// Whether a datagram that came `from` there was sent by the host `address`.
pub fn is_from(from: SocketAddrAny, address: IpAddr) -> bool {
    SocketAddr::try_from(from).is_ok_and(|from| from.ip().to_canonical() == address)
}

impl Link {
    /// A socket that knows its other end.
    pub fn connected(socket: Socket) -> Self {
        Self {
            socket,
            way: Way::Connected,
        }
    }

    /// A UDP socket that names its peer with each datagram.
    pub fn towards(socket: Socket, to: SocketAddr) -> Self {
        Self {
            socket,
            way: Way::To(to.into()),
        }
    }

    /// A UDP socket that answers where `host` sent the last datagram from. Those of others are
    /// thrown away: their addresses may be invented.
    pub fn replying(socket: Socket, host: IpAddr) -> Self {
        Self {
            socket,
            way: Way::Reply(host, None),
        }
    }

    /// Sends, in one call.
    ///
    /// # Errors
    /// Those of send(2); `EDESTADDRREQ` if there is nobody yet to reply to.
    #[inline(always)]
    pub fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match &self.way {
            Way::Connected => net::send(&self.socket, bytes, SendFlags::NOSIGNAL),
            Way::To(to) | Way::Reply(_, Some(to)) => {
                sendto(&self.socket, bytes, SendFlags::NOSIGNAL, to)
            }
            Way::Reply(_, None) => Err(Errno::DESTADDRREQ),
        }
    }

    /// Receives, in one call.
    ///
    /// # Errors
    /// Those of recv(2); `EINTR` after a datagram that is thrown away.
    #[inline(always)]
    pub fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        if let Way::Reply(host, last) = &mut self.way {
            let (_, received, from) = recvfrom(&self.socket, bytes, RecvFlags::empty())?;
            let Some(from) = from.filter(|from| is_from(from.clone(), *host)) else {
                return Err(Errno::INTR);
            };
            *last = Some(from);
            return Ok(received);
        }
        let (_, received) = recv(&self.socket, bytes, RecvFlags::empty())?;
        Ok(received)
    }

    /// Connects the socket to where it would send to, if it is not connected and knows of one.
    ///
    /// # Errors
    /// Those of connect(2).
    pub fn connect(&mut self) -> io::Result<()> {
        if let Way::To(to) | Way::Reply(_, Some(to)) = &self.way {
            rustix::net::connect(&self.socket, to)?;
            self.way = Way::Connected;
        }
        Ok(())
    }

    /// Says that no more will come from here, and waits until the other end has taken everything
    /// and says the same; what it still sends is forgotten. Gives up after `patience`.
    pub fn close_gracefully(&mut self, patience: Duration) {
        // Fails when the other end has closed already; then there is nothing to wait for.
        if self.socket.shutdown(std::net::Shutdown::Write).is_err() {
            return;
        }
        let begin_ns = clock::now_ns();
        let mut scrap = [0; 4_096];
        loop {
            let waited_ns = clock::now_ns() - begin_ns;
            let is_enough = waited_ns >= patience.as_nanos() as u64
                || stop::requested() && waited_ns >= STOPPED_NS;
            if is_enough {
                return;
            }
            let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
            if poll(&mut socket, Some(&timespec(LOOK_NS))) != Ok(1) {
                continue;
            }
            match recv(&self.socket, &mut scrap[..], RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return,
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return,
            }
        }
    }
}

/// What buffers are filled with unless a file is named.
const PATTERN: &[u8] = b"netperf\0";

/// A ring of a shape that was checked, filled with what netperf sends, or with `content`.
///
/// # Errors
/// `ENOMEM`.
pub fn ring(shape: Shape, content: &[u8]) -> io::Result<Ring> {
    Ring::shaped(shape, if content.is_empty() { PATTERN } else { content })
}

/// A link and the buffers of one direction. Every call is one operation, whatever part of a
/// buffer it moved: one that moved less than all was cut short by the end of the work.
pub struct Endpoint<'a> {
    /// The data path.
    pub link: &'a mut Link,
    /// What is sent, or received into.
    pub ring: &'a mut Ring,
}

impl Sender for Endpoint<'_> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        Ok(self.link.send(self.ring.turn())? as u64)
    }
}

impl Receive for Endpoint<'_> {
    #[inline(always)]
    fn receive(&mut self) -> io::Result<u64> {
        Ok(self.link.receive(self.ring.turn())? as u64)
    }
}

/// Counts datagrams for which the host has no room.
struct Lossy<S> {
    sender: S,
    failed_sends: u64,
}

impl<S: Sender> Sender for Lossy<S> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        self.sender.send()
    }

    fn on_send_error(&mut self, error: io::Error) -> io::Result<()> {
        match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::ENOMEM) => self.failed_sends += 1,
            _ => return Err(error),
        }
        Ok(())
    }
}

/// Sends until the end of the work. That the other end has gone is an end, too: of two that end
/// by their own clocks one is first.
///
/// # Errors
/// Those of `call`.
pub fn send(call: &'static str, sender: impl Sender, work: &mut Work) -> Called<()> {
    let mut sender = Lossy {
        sender,
        failed_sends: 0,
    };
    let sent = stream::send(&mut sender, u64::MAX, work);
    work.tally.failed_sends += sender.failed_sends;
    (work.tally.sends, work.tally.sent_bytes) = work.operations();
    unless_gone(call, sent)
}

/// Receives until the other end has sent all, or the end of the work. In datagrams, the end is
/// one without content.
///
/// # Errors
/// Those of recv(2).
pub fn receive(mut endpoint: Endpoint, work: &mut Work) -> Called<()> {
    let received = stream::receive(&mut endpoint, work);
    (work.tally.receives, work.tally.received_bytes) = work.operations();
    unless_gone("recv", received)
}

fn unless_gone(call: &'static str, done: io::Result<()>) -> Called<()> {
    match done {
        Err(error) => match error.raw_os_error() {
            Some(libc::EPIPE | libc::ECONNRESET | libc::ECONNREFUSED) => Ok(()),
            _ => Err(CallError { call, error }),
        },
        Ok(()) => Ok(()),
    }
}
