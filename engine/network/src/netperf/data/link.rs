//! One end of a data path: system calls on its socket, and nothing else.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{recv, recvfrom, send, sendto, RecvFlags, SendFlags, SocketAddrAny};
use socket2::Socket;

use super::alarm::timespec;

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

    /// A UDP socket that is told its other end with every datagram.
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
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match &self.way {
            Way::Connected => send(&self.socket, bytes, SendFlags::NOSIGNAL),
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
    #[inline]
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
