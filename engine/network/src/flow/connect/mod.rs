//! A connection for each transaction: connect, request, response, close. The server closes first,
//! so that the wait after a connection (TIME_WAIT) is on its side, and the client's port is free
//! at once.

mod origin;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use kit::failure::no_memory;
use kit::histogram::Histogram;
use kit::inject::before;
use kit::team::Member;
use kit::{clock, Buffer, Probe};
use rustix::io::retry_on_intr;
use rustix::net::{acceptfrom_with, recv, send, RecvFlags, SendFlags, SocketFlags};
use socket2::Socket;
use wire::{Call, Failure};

pub use self::origin::set_timeouts;

use self::origin::{Origin, PATIENCE};
use super::exchange::count;
use super::{stream, Flow, Notes};
use crate::control::message::{Exchange, Limit};
use crate::failure::{peer_failure, refused};
use crate::socket::SocketOptions;

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

/// The client's part of one flow; tells how long connecting took each time.
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
/// closes before; tells how much.
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
