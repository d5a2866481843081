//! The closed loop: a request is sent when another has been answered, so that as many are always
//! under way. Those that are when the time is over are answered too, and count: both ends count
//! the same.

use std::io;
use std::os::fd::BorrowedFd;

use kit::clock;
use kit::team::Member;
use kit::Probe;
use wire::Timing;

use super::turns::{Next, Turn, TURN};
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
    reads_clock: bool,
    bytes: u64,
    /// How many were lost.
    pub lost: u64,
}

impl<'a, C: Channel> Closed<'a, C> {
    /// As `part` says; allocates all that it will need.
    pub fn new<P: Probe>(part: &Requests, channel: C, tally: &'a Tally) -> Self {
        let at_once = u64::from(part.burst) + 1;
        let lost_after_ns = part.lost_after_ns();
        Self {
            under_way: UnderWay::new(at_once, channel.number_bits()),
            at_once,
            left: part.limit.operations(),
            lost_after_ns,
            // A probe that does not needs no latencies, but what is given up has an age.
            reads_clock: matches!(P::TIMING, Timing::Operation) || lost_after_ns.is_some(),
            bytes: part.exchange.bytes(),
            channel,
            tally,
            lost: 0,
        }
    }

    /// Sends and receives for as long as the member goes on.
    ///
    /// # Errors
    /// As send(2) and recv(2); `UnexpectedEof` when the server has gone.
    pub fn execute<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<()> {
        let mut now_ns = self.now_ns();
        loop {
            self.fill(now_ns, true, member)?;
            if self.under_way.count() == 0 {
                return Ok(());
            }
            let received = self.channel.receive()?;
            now_ns = self.now_ns();
            self.take(received, now_ns, member)?;
        }
    }

    /// Sends until as many are under way as shall be.
    #[inline(always)]
    fn fill<P: Probe>(&mut self, now_ns: u64, waits: bool, member: &Member<P>) -> io::Result<()> {
        while self.under_way.count() < self.at_once && self.left > 0 && member.goes_on() {
            // With others under way the server may wait for room for responses, and take no
            // requests before we have taken some.
            let waits = waits && self.under_way.count() == 0;
            let number = self.under_way.begin(now_ns);
            self.channel.send(number, waits)?;
            self.left -= 1;
        }
        Ok(())
    }

    #[inline(always)]
    fn take<P: Probe>(
        &mut self,
        received: Received,
        now_ns: u64,
        member: &mut Member<P>,
    ) -> io::Result<()> {
        match received {
            Received::Message(number) => {
                // One that was given up before, or came twice, counts no more.
                if let Some(began_ns) = self.under_way.answer(number) {
                    count(member, self.tally, self.bytes, began_ns, now_ns);
                }
            }
            Received::Nothing => {}
            Received::End => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        if let Some(lost_after_ns) = self.lost_after_ns {
            let latest_ns = now_ns.saturating_sub(lost_after_ns);
            self.lost += self.under_way.give_up(latest_ns);
        }
        Ok(())
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        match self.reads_clock {
            true => clock::now_ns(),
            false => 0,
        }
    }
}

impl<C: Channel> Turn for Closed<'_, C> {
    fn turn<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<Next> {
        for _ in 0..TURN {
            let received = self.channel.try_receive()?;
            let now_ns = self.now_ns();
            self.take(received, now_ns, member)?;
            self.fill(now_ns, false, member)?;
            if self.under_way.count() == 0 {
                return Ok(Next::Never);
            }
            if received == Received::Nothing {
                break;
            }
        }
        Ok(match self.lost_after_ns {
            // Whatever was sent last is lost by then.
            Some(lost_after_ns) => Next::At(clock::now_ns() + lost_after_ns),
            None => Next::Event,
        })
    }

    fn owes(&self) -> bool {
        self.channel.owes()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }
}
