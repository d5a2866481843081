//! The open loop: requests are sent when they are due, by a pace fixed beforehand, whether or not
//! those before them have been answered. A latency counts from the instant at which its request
//! was due.

use std::io;
use std::os::fd::BorrowedFd;

use kit::pace::Pace;
use kit::team::Member;
use kit::{clock, Probe};

use super::turns::{Next, Turn, TURN};
use super::under_way::UnderWay;
use super::{count, Channel, Received, Requests};
use crate::control::message::Limit;
use crate::flow::Tally;

/// So many are under way at most, where nothing else bounds them.
const UNDER_WAY_MAX: u64 = 1 << 18;
/// Between two looks for what is lost, or whether to go on, when nothing is due, in ns.
const LOOK_NS: u64 = 20_000_000;

/// An open loop over a channel, ready to begin.
pub struct Open<'a, C> {
    channel: C,
    tally: &'a Tally,
    under_way: UnderWay,
    pace: Pace,
    /// Requests that become due.
    due: u64,
    sent: u64,
    lost_after_ns: Option<u64>,
    bytes: u64,
    /// How many were lost.
    pub lost: u64,
}

impl<'a, C: Channel> Open<'a, C> {
    /// As `part` says; allocates all that it will need.
    pub fn new(part: &Requests, pace: Pace, channel: C, tally: &'a Tally) -> Self {
        let bits = channel.number_bits();
        // Those of late responses are told from as many others.
        let most = 1_u64 << (bits - 1);
        Self {
            under_way: UnderWay::new(most.min(UNDER_WAY_MAX), bits),
            pace,
            due: match part.limit {
                Limit::Seconds(seconds) => pace.due_before((seconds * 1e9) as u64),
                Limit::Operations(transactions) => transactions,
            },
            sent: 0,
            lost_after_ns: part.lost_after_ns(),
            bytes: part.exchange.bytes(),
            channel,
            tally,
            lost: 0,
        }
    }

    /// When the next request would be due, in ns since the region began, if all have been sent.
    pub fn end_ns(&self) -> Option<u64> {
        (self.sent == self.due).then(|| self.pace.due_ns(self.due))
    }

    /// Counts the responses that are here; gives the instant after the last.
    fn take<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<u64> {
        let mut now_ns = clock::now_ns();
        while self.under_way.count() > 0 {
            let number = match self.channel.try_receive()? {
                Received::Message(number) => number,
                Received::Nothing => break,
                Received::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            };
            now_ns = clock::now_ns();
            if let Some(began_ns) = self.under_way.answer(number) {
                count(member, self.tally, self.bytes, began_ns, now_ns);
            }
        }
        if let Some(lost_after_ns) = self.lost_after_ns {
            let latest_ns = now_ns.saturating_sub(lost_after_ns);
            self.lost += self.under_way.give_up(latest_ns);
        }
        Ok(now_ns)
    }

    fn has_room(&self) -> bool {
        !self.channel.owes() && !self.under_way.is_full()
    }
}

impl<C: Channel> Turn for Open<'_, C> {
    /// No more is sent when the member does not go on.
    fn turn<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<Next> {
        for _ in 0..TURN {
            let now_ns = self.take(member)?;
            let has_more = self.sent < self.due && member.goes_on();
            if !has_more {
                return Ok(match self.under_way.count() {
                    0 => Next::Never,
                    _ => Next::At(now_ns + LOOK_NS),
                });
            }
            let next_ns = member.opened_ns() + self.pace.due_ns(self.sent);
            if next_ns > now_ns {
                return Ok(Next::At(next_ns.min(now_ns + LOOK_NS)));
            }
            if !self.has_room() {
                return Ok(Next::At(now_ns + LOOK_NS));
            }
            let number = self.under_way.begin(next_ns);
            self.channel.send(number, false)?;
            self.sent += 1;
        }
        Ok(Next::At(0))
    }

    fn owes(&self) -> bool {
        self.channel.owes()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }
}
