//! The server: each request is received as a whole and answered.

use std::io;
use std::os::fd::BorrowedFd;

use kit::team::Member;
use kit::Probe;

use super::turns::{Next, Turn, TURN};
use super::{Channel, Received};
use crate::flow::{stream, Tally};

/// Answers what comes over a channel.
pub struct Respond<'a, C> {
    channel: C,
    tally: &'a Tally,
    bytes: u64,
}

impl<'a, C: Channel> Respond<'a, C> {
    /// With `bytes` of a request and its response together.
    pub fn new(channel: C, tally: &'a Tally, bytes: u64) -> Self {
        Self {
            channel,
            tally,
            bytes,
        }
    }

    /// Answers until no more requests come.
    ///
    /// # Errors
    /// As send(2) and recv(2).
    pub fn execute<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<()> {
        loop {
            match self.channel.receive()? {
                Received::Message(number) => self.answer(number, true, member)?,
                Received::Nothing => {}
                Received::End => return Ok(()),
            }
        }
    }

    #[inline(always)]
    fn answer<P: Probe>(
        &mut self,
        number: u64,
        waits: bool,
        member: &mut Member<P>,
    ) -> io::Result<()> {
        self.channel.send(number, waits)?;
        stream::count(member, self.tally, self.bytes);
        Ok(())
    }
}

impl<C: Channel> Turn for Respond<'_, C> {
    fn turn<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<Next> {
        for _ in 0..TURN {
            match self.channel.try_receive()? {
                Received::Message(number) => self.answer(number, false, member)?,
                Received::Nothing => break,
                Received::End => return Ok(Next::Never),
            }
        }
        Ok(Next::Event)
    }

    fn owes(&self) -> bool {
        self.channel.owes()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }
}
