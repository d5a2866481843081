//! A connection for every transaction, from both ends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use rustix::io::Errno;
use rustix::net::{accept_with, SocketFlags};
use socket2::Socket;

use super::exchange::{receive_whole, send_whole, Arrival, Messages};
use super::link::Link;
use super::socket::{self, Options, Transport};
use super::work::Work;
use super::{named, CallError, Called};
use network::flow::ring::Ring;

/// What a connection was like at its end; where there were many, the first, all being alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// What TCP knew of it.
    pub transport: Transport,
    /// `SO_SNDBUF` and `SO_RCVBUF` before it was closed, in bytes.
    pub buffers: (u32, u32),
}

impl ConnectionInfo {
    /// As `socket`, one of many, is now. What this one sent again says nothing of the others.
    ///
    /// # Errors
    /// The option that the kernel does not report.
    fn of_one_among_many(socket: &Socket) -> Called<Self> {
        let mut info = Self::of(socket)?;
        info.transport.retransmits = None;
        Ok(info)
    }

    /// As `socket` is now.
    ///
    /// # Errors
    /// The option that the kernel does not report.
    pub fn of(socket: &Socket) -> Called<Self> {
        Ok(Self {
            transport: Transport::of(socket),
            buffers: socket::buffers(socket)?,
        })
    }
}

/// What is exchanged over each connection; nothing, in a test of connections alone.
pub struct Messengers<'a> {
    /// Requests, of the one end or the other.
    pub requests: &'a mut Ring,
    /// Responses.
    pub responses: &'a mut Ring,
}

/// Opens connections, each from another port.
pub struct Dialer<'a> {
    /// The remote end.
    pub remote: SocketAddr,
    /// The address of this end; unspecified for any.
    pub local: IpAddr,
    /// Where its ports are taken from.
    pub ports: Range<u16>,
    /// The port whose turn it is.
    pub port: u16,
    /// options of each socket.
    pub options: &'a Options,
    /// Whether a connection that fails is tried again.
    pub retry: bool,
}

impl Dialer<'_> {
    /// The next connection; `None` if the work, or the remote end's part, ended first.
    fn dial(&mut self, work: &Work) -> Called<Option<Socket>> {
        while work.goes_on() {
            let local = SocketAddr::new(self.local, self.next_port());
            let socket = socket::open(self.remote, false, self.options)?;
            let bound = socket.bind(&local.into());
            match bound.and_then(|()| socket.connect(&self.remote.into())) {
                Ok(()) => return Ok(Some(socket)),
                Err(error) if self.is_passing(&error) => {}
                // The remote end has ended its part between two connections; it reports why.
                Err(error)
                    if error.kind() == io::ErrorKind::ConnectionRefused
                        && work.tally.transactions > 0 =>
                {
                    return Ok(None);
                }
                Err(error) => return named("connect", Err(error)),
            }
        }
        Ok(None)
    }

    /// A port that is taken is none of the remote end's business.
    fn is_passing(&self, error: &io::Error) -> bool {
        self.retry
            || matches!(
                error.raw_os_error(),
                Some(libc::EINTR | libc::EADDRINUSE | libc::EADDRNOTAVAIL)
            )
    }

    fn next_port(&mut self) -> u16 {
        let port = self.port;
        self.port = if port + 1 >= self.ports.end {
            self.ports.start
        } else {
            port + 1
        };
        // Over loopback both ends take theirs from the same numbers.
        if port == self.remote.port() && self.ports.len() > 1 {
            return self.next_port();
        }
        port
    }
}

/// Opens a connection, sends a request and waits for the response, if there are any, and for the
/// remote end to close; until the end of the work.
///
/// # Errors
/// The call that failed.
pub fn ask(
    dialer: &mut Dialer,
    mut messengers: Option<Messengers>,
    work: &mut Work,
) -> Called<Option<ConnectionInfo>> {
    let mut info = None;
    while work.goes_on() {
        let began_ns = work.begin();
        let Some(socket) = dialer.dial(work)? else {
            break;
        };
        let mut link = Link::connected(socket);
        if let Some(Messengers {
            requests,
            responses,
        }) = &mut messengers
        {
            let is_over = !send_whole(&link, requests, work)?
                || !matches!(
                    receive_whole(&mut link, responses, Messages::InStream, work)?,
                    Arrival::Whole
                );
            if is_over {
                break;
            }
        }
        if info.is_none() {
            info = Some(ConnectionInfo::of_one_among_many(&link.socket)?);
        }
        if !wait_for_close(&mut link, work)? {
            break;
        }
        drop(link);
        work.tally.transactions += 1;
        work.end(began_ns, 1, work.tally.transactions);
    }
    Ok(info)
}

/// `false` if the work ended first.
fn wait_for_close(link: &mut Link, work: &Work) -> Called<bool> {
    while work.goes_on() {
        match link.receive(&mut [0]) {
            Ok(0) | Err(Errno::CONNRESET) => return Ok(true),
            // More than was agreed on: not what was waited for.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(CallError::new("recv", error)),
        }
    }
    Ok(false)
}

/// Accepts connections, answers the request of each, if there are any, and closes; until the end
/// of the work.
///
/// # Errors
/// The call that failed.
pub fn answer(
    listener: &Socket,
    mut messengers: Option<Messengers>,
    work: &mut Work,
) -> Called<Option<ConnectionInfo>> {
    let mut info = None;
    while work.goes_on() {
        let mut link = match accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(socket) => Link::connected(socket.into()),
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            Err(error) => return Err(CallError::new("accept", error)),
        };
        if let Some(Messengers {
            requests,
            responses,
        }) = &mut messengers
        {
            match receive_whole(&mut link, requests, Messages::InStream, work)? {
                Arrival::Whole => {}
                // A connection without a request.
                Arrival::Over | Arrival::Lost => continue,
                Arrival::Cut => break,
            }
            if !send_whole(&link, responses, work)? {
                continue;
            }
        }
        if info.is_none() {
            info = Some(ConnectionInfo::of_one_among_many(&link.socket)?);
        }
        drop(link);
        work.tally.transactions += 1;
        work.end(0, 1, work.tally.transactions);
    }
    Ok(info)
}
