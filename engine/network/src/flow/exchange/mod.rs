//! Requests and responses: the near end sends requests, the far end answers each.
//!
//! ```text
//! closed ─┐                       ┌─ byte_stream   responses come in the order of their requests
//!         ├─► under_way ─► Channel┤
//! open ───┘                       └─ datagrams     which may be lost, and come late
//! respond                          the far end's loop
//! ```

mod byte_stream;
mod closed;
mod datagrams;
mod open;
mod respond;
mod under_way;

use std::io;
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use kit::failure::no_memory;
use kit::pace::Pace;
use kit::team::Member;
use kit::{Buffer, Probe};
use serde::{Deserialize, Serialize};
use wire::{Failure, Timing};

pub use self::datagrams::number_bytes;

use self::byte_stream::ByteStream;
use self::closed::Closed;
use self::datagrams::Datagrams;
use self::open::Open;
use super::{Flow, Notes, Tally};
use crate::control::message::{Limit, Transport};
use crate::failure::refused;

/// Bytes of a request and of the response to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Of each request; one at least.
    pub request: u64,
    /// Of each response; one at least.
    pub response: u64,
}

impl Requests {
    fn lost_after_ns(&self) -> Option<u64> {
        self.lost_after.map(|time| time.as_nanos() as u64)
    }
}

impl Exchange {
    /// Of both.
    pub fn bytes(self) -> u64 {
        self.request + self.response
    }

    /// Memory for a request and a response.
    ///
    /// # Errors
    /// `HostLacks` without memory.
    pub fn buffers(self) -> Result<[Buffer; 2], Failure> {
        let buffer = |bytes: u64| Buffer::new(bytes as usize).map_err(no_memory);
        Ok([buffer(self.request)?, buffer(self.response)?])
    }
}

/// What the near end does with each flow.
#[derive(Debug, Clone, Copy)]
pub struct Requests {
    /// How much is sent and answered.
    pub exchange: Exchange,
    /// Requests that are under way besides one, in a closed loop.
    pub burst: u32,
    /// How many transactions.
    pub limit: Limit,
    /// Of an open loop.
    pub rate: Option<Rate>,
    /// When a transaction without a response is given up, where messages can be lost.
    pub lost_after: Option<Duration>,
}

/// When requests of an open loop are due.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Requests per second, of all flows together.
    pub per_s: f64,
    /// How many flows there are.
    pub flows: u32,
}

/// The name under which transactions are noted whose request or response did not come in time.
pub const LOST: &str = "LostTransactions";

/// What carries messages of one size there and messages of another back: requests and responses,
/// or the other way round.
trait Channel {
    /// Messages carry so many of the lowest bits of their transaction's number.
    fn number_bits(&self) -> u32;

    /// Hands over the message of transaction `number`. What the kernel does not take at once is
    /// waited for, or is owed.
    fn send(&mut self, number: u64, waits: bool) -> io::Result<()>;

    /// Whether a part of what was handed over is still owed.
    fn owes(&self) -> bool;

    /// Waits for a message.
    fn receive(&mut self) -> io::Result<Received>;

    /// A message that is already here; sends what is owed, as far as the kernel takes it.
    fn try_receive(&mut self) -> io::Result<Received>;

    /// To wait by other means.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// What was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    /// A whole message, with the lowest bits of its number.
    Message(u64),
    /// Nothing yet.
    Nothing,
    /// No more is to come.
    End,
}

/// The near end's part of a thread: sends requests over `flows`.
///
/// # Errors
/// `Io` when a flow breaks; `HostLacks` without memory.
pub fn request<P: Probe>(
    part: &Requests,
    transport: Transport,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let flow = &flows[0];
    let [request, response] = part.exchange.buffers()?;
    match transport {
        Transport::Tcp | Transport::Unix => {
            let channel = ByteStream::new(&flow.socket, request, response);
            let notes = request_over(part, channel, flow, member)?;
            flow.socket
                .shutdown(Shutdown::Write)
                .map_err(|error| cannot(&error))?;
            Ok(notes)
        }
        Transport::Udp => {
            flow.socket
                .set_read_timeout(part.lost_after)
                .map_err(|error| refused("set SO_RCVTIMEO of a socket", &error))?;
            let channel = Datagrams::new(&flow.socket, request, response);
            let notes = request_over(part, channel, flow, member)?;
            // An empty datagram says that no more comes; if it is lost, the control connection
            // will.
            let _ = flow.socket.send(&[]);
            Ok(notes)
        }
    }
}

fn request_over<P: Probe>(
    part: &Requests,
    channel: impl Channel,
    flow: &Flow,
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let tally = &flow.tally;
    let lost = match part.rate {
        None => {
            let mut requests = Closed::new(part, channel, tally);
            member.start()?;
            requests.execute(member)
        }
        Some(rate) => {
            let pace = Pace::shared(rate.per_s, flow.number as usize, rate.flows as usize);
            let mut requests = Open::new(part, pace, channel, tally);
            member.start()?;
            requests.execute(member)
        }
    };
    member.done();
    let lost = lost.map_err(|error| cannot(&error))?;
    Ok(part.lost_after.map(|_| (LOST, lost)).into_iter().collect())
}

/// The far end's part of a thread: answers requests over `flows` until no more come.
///
/// # Errors
/// `Io` when a flow breaks; `HostLacks` without memory.
pub fn respond<P: Probe>(
    exchange: Exchange,
    transport: Transport,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let flow = &flows[0];
    let [request, response] = exchange.buffers()?;
    member.start()?;
    let done = match transport {
        Transport::Tcp | Transport::Unix => {
            let mut channel = ByteStream::new(&flow.socket, response, request);
            respond::execute(&mut channel, &flow.tally, exchange.bytes(), member)
                .and_then(|()| flow.socket.shutdown(Shutdown::Write))
        }
        Transport::Udp => {
            let mut channel = Datagrams::new(&flow.socket, response, request);
            respond::execute(&mut channel, &flow.tally, exchange.bytes(), member)
        }
    };
    done.map_err(|error| cannot(&error))?;
    Ok(Notes::new())
}

fn cannot(error: &io::Error) -> Failure {
    refused("exchange requests and responses", error)
}

/// One transaction, for the probe and for those who look on; a probe that reads the clock has
/// time slices of its own.
#[inline]
pub fn count<P: Probe>(
    member: &mut Member<P>,
    tally: &Tally,
    bytes: u64,
    began_ns: u64,
    ended_ns: u64,
) {
    member.probe.overlapped_operation(bytes, began_ns, ended_ns);
    if matches!(P::TIMING, Timing::Pass) {
        tally.add(bytes);
    }
}
