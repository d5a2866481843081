//! Byte streams: sending as fast as they are taken, and taking until there is no more.
//!
//! The calls go straight to the kernel: those of the C library are points of cancellation, which
//! cost a program with threads more than 30 ns each.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};

use kit::team::Member;
use kit::Probe;
use rustix::io::retry_on_intr;
use rustix::net::{self, RecvFlags, SendFlags};
use wire::{Failure, Timing};

use super::ring::Ring;
use super::{descriptors, Flow, Tally};
use crate::control::message::{Limit, Receive, Send};
use crate::failure::refused;

/// Sends whole messages for as long as the member goes on, `operations` at most. A message that
/// the kernel takes in parts is one operation.
///
/// # Errors
/// As send(2). A flow that was cut while the member was to go on is `BrokenPipe`.
pub fn send<P: Probe>(
    flow: &Flow,
    ring: &mut Ring,
    operations: u64,
    member: &mut Member<P>,
) -> io::Result<()> {
    let socket = flow.socket.as_fd();
    let mut left = operations;
    while left > 0 && member.goes_on() {
        let message = ring.turn();
        let size = message.len();
        let mut sent = send_some(socket, message)?;
        while sent < size {
            sent += send_some(socket, &message[sent..])?;
        }
        count(member, &flow.tally, size as u64);
        left -= 1;
    }
    Ok(())
}

/// Takes what comes until the other end has no more to send.
///
/// # Errors
/// As recv(2).
pub fn receive<P: Probe>(flow: &Flow, ring: &mut Ring, member: &mut Member<P>) -> io::Result<()> {
    let socket = flow.socket.as_fd();
    loop {
        let taken = receive_some(socket, ring.turn())?;
        if taken == 0 {
            return Ok(());
        }
        count(member, &flow.tally, taken as u64);
    }
}

/// The part of a flow that sends: when the last message is out, it waits until the other end has
/// taken everything and closed.
///
/// # Errors
/// `Io` when the connection breaks.
pub fn send_part<P: Probe>(
    part: &Send,
    flow: &Flow,
    member: &mut Member<P>,
) -> Result<(), Failure> {
    let socket_bytes = flow.socket.send_buffer_size().unwrap_or_default() as u64;
    let mut ring = part.messages.ring(socket_bytes)?;
    let operations = match part.limit {
        Limit::Seconds(_) => u64::MAX,
        Limit::Operations(operations) => operations,
    };
    descriptors::have_own();
    member.start()?;
    send(flow, &mut ring, operations, member)
        .and_then(|()| drain(flow))
        .map_err(|error| refused("send data", &error))
}

/// The part of a flow that takes what comes.
///
/// # Errors
/// `Io` when the connection breaks.
pub fn receive_part<P: Probe>(
    part: &Receive,
    flow: &Flow,
    member: &mut Member<P>,
) -> Result<(), Failure> {
    let socket_bytes = flow.socket.recv_buffer_size().unwrap_or_default() as u64;
    let mut ring = part.messages.ring(socket_bytes)?;
    descriptors::have_own();
    member.start()?;
    receive(flow, &mut ring, member)
        .and_then(|()| flow.socket.shutdown(Shutdown::Write))
        .map_err(|error| refused("receive data", &error))
}

/// Says that no more comes, and waits until the other end has taken everything and says so too.
fn drain(flow: &Flow) -> io::Result<()> {
    flow.socket.shutdown(Shutdown::Write)?;
    while receive_some(flow.socket.as_fd(), &mut [0; 512])? > 0 {}
    Ok(())
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
#[inline]
pub fn send_some(socket: BorrowedFd, message: &[u8]) -> io::Result<usize> {
    retry_on_intr(|| net::send(socket, message, SendFlags::NOSIGNAL)).map_err(Into::into)
}

/// As recv(2); a signal interrupts nothing.
#[inline]
pub fn receive_some(socket: BorrowedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let taken = retry_on_intr(|| net::recv(socket, &mut *buffer, RecvFlags::empty()));
    taken.map(|(_, taken)| taken).map_err(Into::into)
}
