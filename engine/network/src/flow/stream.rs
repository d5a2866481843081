//! Streams: handing over messages as fast as they are taken, and taking until there is no more.
//! Here is one flow with a thread of its own; see [`super::rounds`] for several.
//!
//! The calls go straight to the kernel: those of the C library are points of cancellation, which
//! cost a program with threads more than 30 ns each. What makes a call is always inlined into its
//! loop: where the kernel clears the predictor of returns, one `ret` behind each system call costs
//! more than all else that a loop does.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use kit::inject::before;
use kit::team::Member;
use kit::Probe;
use rustix::io::retry_on_intr;
use rustix::net::{self, RecvFlags, SendFlags};
use wire::{Call, Timing};

use super::ring::Ring;
use super::{Flow, Notes, Tally};

/// A way to hand over messages over one flow.
pub trait Sender {
    /// Hands over one message, or the rest of one of which a part is out; gives its bytes when it
    /// is out as a whole.
    ///
    /// # Errors
    /// As send(2). `WouldBlock` when a socket that does not block takes no more now: the next call
    /// goes on.
    fn send(&mut self) -> io::Result<u64>;

    /// Whether only a part of a message is out.
    fn is_within_message(&self) -> bool {
        false
    }

    /// Counts an error after which the next message may go out all the same.
    ///
    /// # Errors
    /// That one, if it ends the flow.
    fn on_send_error(&mut self, error: io::Error) -> io::Result<()> {
        Err(error)
    }

    /// Called when the other end has received everything; returns what was counted.
    ///
    /// # Errors
    /// As recvmsg(2).
    fn finish(&mut self) -> io::Result<Notes> {
        Ok(Notes::new())
    }
}

/// What ends a loop, and what counts its operations.
pub trait Meter {
    /// Whether another operation is to begin.
    fn goes_on(&self) -> bool;

    /// Whether more is to be received; unless it says otherwise, until the other end has no more.
    fn takes_more(&self) -> bool {
        true
    }

    /// One operation is about to begin.
    #[inline]
    fn begin(&mut self) {}

    /// One operation, of `bytes`, has ended.
    fn end(&mut self, bytes: u64);
}

/// One flow of a member.
pub struct FlowMeter<'m, 'g, P> {
    /// Ends the loop.
    pub member: &'m mut Member<'g, P>,
    /// Counts for those who look on.
    pub tally: &'m Tally,
}

impl<P: Probe> Meter for FlowMeter<'_, '_, P> {
    #[inline]
    fn goes_on(&self) -> bool {
        self.member.goes_on()
    }

    #[inline]
    fn end(&mut self, bytes: u64) {
        count(self.member, self.tally, bytes);
    }
}

/// A way to take data from one flow.
pub trait Receive {
    /// Takes what is there; 0 when there will be no more.
    ///
    /// # Errors
    /// As recv(2).
    fn receive(&mut self) -> io::Result<u64>;
}

/// Sends messages for as long as the meter goes on, `messages` at most. A call that a signal
/// interrupts before it did anything is repeated if the meter still goes on.
///
/// # Errors
/// As the sender. A flow that was cut while the meter was to go on is `BrokenPipe`.
pub fn send(sender: &mut impl Sender, messages: u64, meter: &mut impl Meter) -> io::Result<()> {
    let mut left = messages;
    while left > 0 && meter.goes_on() {
        meter.begin();
        match sender.send() {
            Ok(bytes) => {
                meter.end(bytes);
                left -= 1;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => sender.on_send_error(error)?,
        }
    }
    Ok(())
}

/// Takes what comes until the other end has no more to send, or the meter takes no more.
///
/// # Errors
/// As recv(2).
pub fn receive(receiver: &mut impl Receive, meter: &mut impl Meter) -> io::Result<()> {
    while meter.takes_more() {
        meter.begin();
        match receiver.receive() {
            Ok(0) => break,
            Ok(bytes) => meter.end(bytes),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Copies each message into the kernel. A message that the kernel takes in parts is one operation.
pub struct Copying<'a> {
    socket: BorrowedFd<'a>,
    ring: Ring,
    /// Bytes of the last buffer that are not out.
    rest: usize,
}

impl<'a> Copying<'a> {
    /// Over `flow`, from buffers that take turns.
    pub fn new(flow: &'a Flow, ring: Ring) -> Self {
        Self {
            socket: flow.socket.as_fd(),
            ring,
            rest: 0,
        }
    }
}

impl Sender for Copying<'_> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        let size = self.ring.size();
        if self.rest == 0 {
            self.ring.turn();
            self.rest = size;
        }
        while self.rest > 0 {
            self.rest -= send_some(self.socket, &self.ring.last()[size - self.rest..])?;
        }
        Ok(size as u64)
    }

    fn is_within_message(&self) -> bool {
        self.rest > 0
    }
}

/// Takes data from one flow.
pub struct Receiver<'a> {
    socket: BorrowedFd<'a>,
    ring: Ring,
    /// What is asked for at once.
    bytes: usize,
    flags: RecvFlags,
}

impl<'a> Receiver<'a> {
    /// Into buffers that take turns.
    pub fn new(flow: &'a Flow, ring: Ring) -> Self {
        Self {
            socket: flow.socket.as_fd(),
            bytes: ring.size(),
            ring,
            flags: RecvFlags::empty(),
        }
    }

    /// Lets the kernel throw the data away instead of copying them (MSG_TRUNC): of a connection
    /// as many bytes as were asked for, of a datagram what the buffer has no room for.
    pub fn skip_copy(&mut self, is_connection: bool) {
        self.flags = RecvFlags::TRUNC;
        if !is_connection {
            self.bytes = 0;
        }
    }
}

impl Receive for Receiver<'_> {
    #[inline(always)]
    fn receive(&mut self) -> io::Result<u64> {
        let bytes = self.bytes;
        let buffer = &mut self.ring.turn()[..bytes];
        before(Call::Receive);
        let taken = retry_on_intr(|| net::recv(self.socket, &mut *buffer, self.flags))?;
        Ok(taken.1 as u64)
    }
}

/// One operation, for the probe and for those who look on; a probe that reads the clock has time
/// slices of its own.
#[inline]
pub(super) fn count<P: Probe>(member: &mut Member<P>, tally: &Tally, bytes: u64) {
    member.probe.operation(bytes);
    if matches!(P::TIMING, Timing::Pass) {
        tally.add(bytes);
    }
}

/// As send(2), without SIGPIPE; a signal interrupts nothing.
#[inline(always)]
pub fn send_some(socket: BorrowedFd, message: &[u8]) -> io::Result<usize> {
    before(Call::Send);
    retry_on_intr(|| net::send(socket, message, SendFlags::NOSIGNAL)).map_err(Into::into)
}

/// As recv(2); a signal interrupts nothing.
#[inline(always)]
pub fn receive_some(socket: BorrowedFd, buffer: &mut [u8]) -> io::Result<usize> {
    before(Call::Receive);
    let taken = retry_on_intr(|| net::recv(socket, &mut *buffer, RecvFlags::empty()));
    taken.map(|(_, taken)| taken).map_err(Into::into)
}
