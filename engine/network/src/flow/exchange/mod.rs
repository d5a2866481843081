//! Requests and responses: the client sends requests, the server answers each.
//!
//! ```text
//! client   closed ─┬─► under_way ─┐             ┌─ byte_stream   come in order
//!          open ───┘              ├─► Channel ──┤
//! server   respond ───────────────┘             └─ datagrams     may be lost, or come late
//! turns    several of them on one thread
//! part     which of these a thread has for its flows
//! ```

mod byte_stream;
mod closed;
mod datagrams;
mod open;
mod part;
mod respond;
mod turns;
mod under_way;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use kit::team::Member;
use kit::Probe;
use wire::Timing;

pub use self::datagrams::number_bytes;
pub use self::part::{request, respond, LOST};

use super::Tally;
use crate::control::message::{Exchange, Limit};

/// What the client does with each flow.
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

impl Requests {
    fn lost_after_ns(&self) -> Option<u64> {
        self.lost_after.map(|time| time.as_nanos() as u64)
    }
}

/// When requests of an open loop are due.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Requests per second, of all flows together.
    pub per_s: f64,
    /// How many flows there are.
    pub flows: u32,
}

/// What carries messages of one size there and messages of another back: requests and responses,
/// or the other way round.
trait Channel {
    /// How many of the lowest bits of its transaction's number a message carries.
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
