//! A connection for each transaction: connect, request, response, close. The server closes first,
//! so that the wait after a connection (TIME_WAIT) is on its side, and the client's port is free
//! at once.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use kit::failure::{failure, no_memory};
use kit::histogram::Histogram;
use kit::inject::before;
use kit::team::Member;
use kit::{clock, Buffer, Probe};
use rustix::io::retry_on_intr;
use rustix::net::{acceptfrom_with, recv, send, RecvFlags, SendFlags, SocketFlags};
use socket2::{Domain, Socket, Type};
use wire::{Call, Failure, FailureKind};

use super::exchange::count;
use super::{stream, Flow, Notes};
use crate::control::message::{Exchange, Limit};
use crate::failure::{peer_failure, refused};
use crate::socket::SocketOptions;
use crate::socket::Transport;

/// What the client does with each flow.
#[derive(Debug, Clone)]
pub struct Connections {
    /// How much is sent and answered over each.
    pub exchange: Exchange,
    /// How many transactions.
    pub limit: Limit,
    /// Of every socket.
    pub options: SocketOptions,
    /// Address of this end, where it matters.
    pub local: Option<IpAddr>,
    /// Ports of this end, of all flows together; absent: the kernel chooses.
    pub ports: Option<RangeInclusive<u16>>,
    /// How many flows there are.
    pub flows: u32,
}

/// The client's part of one flow; returns how long connecting took each time.
///
/// # Errors
/// `HostLacks` when there are no more ports or there is no memory; `Far` when the server does
/// not answer; `Io`.
pub fn request<P: Probe>(
    part: &Connections,
    flow: &Flow,
    member: &mut Member<P>,
) -> Result<Histogram, Failure> {
    let [request, _] = part.exchange.buffers()?;
    // With room for a byte more than is to come, one call takes the response and its end.
    let response_bytes = part.exchange.response as usize;
    let mut response = Buffer::new(response_bytes + 1).map_err(no_memory)?;
    let to = flow.peer.as_ref().and_then(|peer| peer.as_socket());
    let to = to.ok_or_else(|| peer_failure("the server has told no port"))?;
    let mut origin = Origin::new(part, to, flow.number);
    let mut connects = Histogram::new();
    let mut left = part.limit.operations();
    member.start()?;
    let mut began_ns = clock::now_ns();
    while left > 0 && member.goes_on() {
        let socket = origin.connect()?;
        let connected_ns = clock::now_ns();
        let taken = send_whole(&socket, &request)
            .and_then(|()| receive(&socket, &mut response, response_bytes))
            .map_err(|error| broken(&error))?;
        if taken != response_bytes {
            return Err(broken(&ErrorKind::UnexpectedEof.into()));
        }
        drop(socket);
        let ended_ns = clock::now_ns();
        connects.record(connected_ns - began_ns);
        let bytes = part.exchange.bytes();
        count(member, &flow.tally, bytes, began_ns, ended_ns);
        began_ns = ended_ns;
        left -= 1;
    }
    member.done();
    // A connection that brings nothing ends the server's part.
    origin.connect().map(|_| connects)
}

/// The server's part of one flow, whose socket listens: accepts connections of the client, one
/// after the other, and answers the request of each, until one brings none.
///
/// # Errors
/// `Io` when a connection breaks; `HostLacks` without memory.
pub fn answer<P: Probe>(
    exchange: Exchange,
    flow: &Flow,
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let [mut request, response] = exchange.buffers()?;
    let request_bytes = request.len();
    member.start()?;
    loop {
        let Some(socket) = accept(flow).map_err(|error| broken(&error))? else {
            return Ok(Notes::new());
        };
        match receive(&socket, &mut request, request_bytes).map_err(|error| broken(&error))? {
            0 => return Ok(Notes::new()),
            taken if taken < request_bytes => return Err(broken(&ErrorKind::UnexpectedEof.into())),
            _ => send_whole(&socket, &response).map_err(|error| broken(&error))?,
        }
        drop(socket);
        stream::count(member, &flow.tally, exchange.bytes());
    }
}

/// The next connection of the client, whose address the flow names; `None` when the flow was
/// cut.
fn accept(flow: &Flow) -> io::Result<Option<Socket>> {
    let client = flow.peer.as_ref().and_then(|peer| peer.as_socket());
    loop {
        let accepted = retry_on_intr(|| acceptfrom_with(&*flow.socket, SocketFlags::CLOEXEC));
        let (socket, from) = match accepted.map_err(io::Error::from) {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            // It does not listen any more.
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(None),
            Err(error) => return Err(error),
        };
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        if from.map(|from| from.ip()) == client.map(|client| client.ip()) {
            return Ok(Some(socket.into()));
        }
    }
}

/// Sends all of `message`.
fn send_whole(socket: &Socket, message: &[u8]) -> io::Result<()> {
    let mut rest = message;
    while !rest.is_empty() {
        before(Call::Send);
        let sent = retry_on_intr(|| send(socket, rest, SendFlags::NOSIGNAL))?;
        rest = &rest[sent..];
    }
    Ok(())
}

/// Receives until `message` is full or the other end closes, at least `wanted_bytes` unless it
/// closes before; returns how much.
fn receive(socket: &Socket, message: &mut [u8], wanted_bytes: usize) -> io::Result<usize> {
    let mut taken = 0;
    while taken < wanted_bytes {
        let rest = &mut message[taken..];
        before(Call::Receive);
        match retry_on_intr(|| recv(socket, &mut *rest, RecvFlags::WAITALL))? {
            (_, 0) => break,
            (_, count) => taken += count,
        }
    }
    Ok(taken)
}

fn broken(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::WouldBlock => peer_failure(format!(
            "nothing came over a connection for {} s",
            PATIENCE.as_secs()
        )),
        _ => refused("exchange a request and a response", error),
    }
}

/// How long a connection may take to be established, and each message to come: a caller that waits
/// for
/// an end that vanished wakes by then.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Where the connections of one flow come from.
pub struct Origin<'a> {
    part: &'a Connections,
    to: SocketAddr,
    ports: Option<Turns>,
}

impl<'a> Origin<'a> {
    /// Of flow number `flow`, to the server's `to`.
    pub fn new(part: &'a Connections, to: SocketAddr, flow: u32) -> Self {
        let turns = |ports: &RangeInclusive<u16>| Turns::new(ports, flow, part.flows);
        Self {
            part,
            to,
            ports: part.ports.as_ref().map(turns),
        }
    }

    /// A new connection, from the next port that can be used.
    ///
    /// # Errors
    /// `HostLacks` when there is none; `Far`; `Io`.
    pub fn connect(&mut self) -> Result<Socket, Failure> {
        let mut attempts = self.ports.as_ref().map_or(1, Turns::count);
        loop {
            let socket = new_socket(self.to).map_err(|error| refused("make a socket", &error))?;
            self.part.options.apply(&socket, Transport::Tcp)?;
            before(Call::Connect);
            match self
                .bind(&socket)
                .and_then(|()| socket.connect(&self.to.into()))
            {
                Ok(()) => return Ok(socket),
                Err(error) if is_in_use(&error) => attempts -= 1,
                Err(error) => return Err(unconnected(self.to, &error)),
            }
            if attempts == 0 {
                return Err(no_ports(self.ports.is_some()));
            }
        }
    }

    fn bind(&mut self, socket: &Socket) -> io::Result<()> {
        let port = self.ports.as_mut().map(Turns::turn);
        if self.part.local.is_none() && port.is_none() {
            return Ok(());
        }
        let any = match self.to {
            SocketAddr::V4(_) => IpAddr::from([0; 4]),
            SocketAddr::V6(_) => IpAddr::from([0; 16]),
        };
        socket.set_reuse_address(port.is_some())?;
        let from = SocketAddr::new(self.part.local.unwrap_or(any), port.unwrap_or(0));
        socket.bind(&from.into())
    }
}

/// Ports that take turns: every flow has its own share of a range.
#[derive(Debug)]
struct Turns {
    first: u32,
    last: u32,
    step: u32,
    next: u32,
}

impl Turns {
    fn new(ports: &RangeInclusive<u16>, flow: u32, flows: u32) -> Self {
        let first = u32::from(*ports.start()) + flow;
        Self {
            first,
            last: (*ports.end()).into(),
            step: flows,
            next: first,
        }
    }

    /// How many there are.
    fn count(&self) -> u32 {
        (self.last - self.first) / self.step + 1
    }

    fn turn(&mut self) -> u16 {
        let port = self.next;
        self.next += self.step;
        if self.next > self.last {
            self.next = self.first;
        }
        port as u16
    }
}

fn new_socket(to: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    set_timeouts(&socket)?;
    Ok(socket)
}

/// Nobody waits longer than [`PATIENCE`] on `socket`, nor on those that it accepts.
///
/// # Errors
/// As setsockopt(2).
pub fn set_timeouts(socket: &Socket) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    // It bounds connecting too.
    socket.set_write_timeout(Some(PATIENCE))
}

fn is_in_use(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable
    )
}

fn no_ports(is_chosen: bool) -> Failure {
    let remedy = match is_chosen {
        true => "give \"ports\" a wider range",
        false => "widen net.ipv4.ip_local_port_range",
    };
    failure(
        FailureKind::HostLacks,
        format!(
            "no port is free for another connection to the server: those of connections that \
             were closed here wait for a minute (TIME_WAIT); {remedy}, or wait"
        ),
    )
}

fn unconnected(to: SocketAddr, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EINPROGRESS) => peer_failure(format!(
            "the server's {to} has not accepted a connection for {} s",
            PATIENCE.as_secs()
        )),
        _ => peer_failure(format!("cannot connect with the server's {to}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_out_a_range_of_ports() {
        let turns = |flow| {
            let mut turns = Turns::new(&(100..=106), flow, 3);
            let ports: Vec<_> = (0..4).map(|_| turns.turn()).collect();
            (turns.count(), ports)
        };
        assert_eq!(turns(0), (3, vec![100, 103, 106, 100]));
        assert_eq!(turns(1), (2, vec![101, 104, 101, 104]));
        assert_eq!(turns(2), (2, vec![102, 105, 102, 105]));
    }
}
