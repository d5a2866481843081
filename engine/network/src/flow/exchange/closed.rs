//! The closed loop: a request is sent when another has been answered, so that as many are always
//! under way. Those that are when the time is over are answered too, and count: both ends count
//! the same.

use std::io;

use kit::clock;
use kit::team::Member;
use kit::Probe;
use wire::Timing;

use super::under_way::UnderWay;
use super::{count, Channel, Received, Requests};
use crate::flow::Tally;

/// A closed loop over a channel, ready to begin.
pub struct Closed<'a, C> {
    channel: C,
    tally: &'a Tally,
    under_way: UnderWay,
    at_once: u64,
    left: u64,
    lost_after_ns: Option<u64>,
    bytes: u64,
}

impl<'a, C: Channel> Closed<'a, C> {
    /// As `part` says; allocates all that it will need.
    pub fn new(part: &Requests, channel: C, tally: &'a Tally) -> Self {
        let at_once = u64::from(part.burst) + 1;
        Self {
            under_way: UnderWay::new(at_once, channel.number_bits()),
            at_once,
            left: part.limit.operations(),
            lost_after_ns: part.lost_after_ns(),
            bytes: part.exchange.bytes(),
            channel,
            tally,
        }
    }

    /// Sends and receives for as long as the member goes on; tells how many were lost.
    ///
    /// # Errors
    /// As send(2) and recv(2); `UnexpectedEof` when the far end has gone.
    pub fn execute<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<u64> {
        // To give up a single one of several that are under way takes their ages.
        let lost_after_ns = self.lost_after_ns.filter(|_| self.at_once > 1);
        let reads_clock = matches!(P::TIMING, Timing::Operation) || lost_after_ns.is_some();
        let now_ns = || if reads_clock { clock::now_ns() } else { 0 };
        let mut lost = 0;
        let mut last_ns = now_ns();
        loop {
            while self.under_way.count() < self.at_once && self.left > 0 && member.goes_on() {
                // With others under way the far end may wait for room for responses, and take
                // no requests before we have taken some.
                let waits = self.under_way.count() == 0;
                let number = self.under_way.begin(last_ns);
                self.channel.send(number, waits)?;
                self.left -= 1;
            }
            if self.under_way.count() == 0 {
                return Ok(lost);
            }
            let received = self.channel.receive()?;
            last_ns = now_ns();
            match received {
                Received::Message(number) => {
                    // One that was given up before, or came twice, counts no more.
                    if let Some(began_ns) = self.under_way.answer(number) {
                        count(member, self.tally, self.bytes, began_ns, last_ns);
                    }
                }
                Received::Nothing => lost += self.under_way.give_up(u64::MAX),
                Received::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
            if let Some(lost_after_ns) = lost_after_ns {
                let latest_ns = last_ns.saturating_sub(lost_after_ns);
                lost += self.under_way.give_up(latest_ns);
            }
        }
    }
}
