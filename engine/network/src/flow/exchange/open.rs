//! The open loop: requests are sent when they are due, by a pace fixed beforehand, whether or not
//! those before them have been answered. A latency counts from the instant at which its request
//! was due.

use std::io;

use kit::pace::{self, Pace};
use kit::team::Member;
use kit::{clock, Probe};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::under_way::UnderWay;
use super::{count, Channel, Received, Requests};
use crate::control::message::Limit;
use crate::flow::Tally;

/// So many are under way at most, where nothing else bounds them.
const UNDER_WAY_MAX: u64 = 1 << 18;

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
        }
    }

    /// Sends what is due and receives what comes, until all have been answered or given up; no
    /// more is sent when the member does not go on. Tells how many were lost.
    ///
    /// # Errors
    /// As send(2), recv(2) and poll(2); `UnexpectedEof` when the far end has gone.
    pub fn execute<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<u64> {
        let opened_ns = member.opened_ns();
        let due_ns = |pace: &Pace, number| opened_ns + pace.due_ns(number);
        let mut lost = 0;
        let mut now_ns = clock::now_ns();
        loop {
            let has_more = self.sent < self.due && member.goes_on();
            if !has_more && self.under_way.count() == 0 {
                break;
            }
            let next_ns = match has_more {
                true => due_ns(&self.pace, self.sent),
                false => u64::MAX,
            };
            if next_ns <= now_ns && self.has_room() {
                let number = self.under_way.begin(next_ns);
                self.channel.send(number, false)?;
                self.sent += 1;
            } else {
                self.wait(next_ns.saturating_sub(now_ns))?;
            }
            now_ns = self.take(member)?;
            if let Some(lost_after_ns) = self.lost_after_ns {
                lost += self.under_way.give_up(now_ns.saturating_sub(lost_after_ns));
            }
        }
        if self.sent == self.due {
            // The rate is that of the whole time, and not of that until the last response.
            pace::wait_until(due_ns(&self.pace, self.due));
        }
        Ok(lost)
    }

    fn has_room(&self) -> bool {
        !self.channel.owes() && !self.under_way.is_full()
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
        Ok(now_ns)
    }

    /// Waits for a response for up to `left_ns`, the last part of it awake; or for room, when
    /// nothing else is to be waited for.
    fn wait(&self, left_ns: u64) -> io::Result<()> {
        let nap = match left_ns {
            0 => Some(pace::NAP),
            _ => pace::nap(left_ns),
        };
        let Some(nap) = nap else {
            std::hint::spin_loop();
            return Ok(());
        };
        let what = match self.channel.owes() {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        };
        let mut fds = [PollFd::from_borrowed_fd(self.channel.fd(), what)];
        match poll(&mut fds, Timespec::try_from(nap).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
