//! Requests and responses, from both ends.

use std::collections::VecDeque;

use rustix::io::Errno;

use super::link::Link;
use super::work::Work;
use super::{named, CallError, Called};
use network::flow::ring::Ring;

/// How a wait for a whole message ended.
pub(super) enum Arrival {
    /// All of it is there.
    Whole,
    /// The other end has no more.
    Over,
    /// The work ended first.
    Cut,
    /// It did not come in time: a datagram was lost.
    Lost,
}

/// How a message arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Messages {
    /// As bytes of a stream, in as many calls as needed.
    InStream,
    /// As a datagram, in one call.
    Datagrams,
}

/// Keeps up to `burst` + 1 requests on the way, until the end of the work. A request that is on
/// the way then is not counted.
///
/// # Errors
/// Those of send(2) and recv(2).
pub fn ask(
    link: &mut Link,
    requests: &mut Ring,
    responses: &mut Ring,
    messages: Messages,
    burst: u32,
    work: &mut Work,
) -> Called<()> {
    let in_flight = u64::from(burst) + 1;
    let mut begun_ns = VecDeque::with_capacity(in_flight as usize);
    while work.goes_on() {
        while (begun_ns.len() as u64) < in_flight.min(work.left()) {
            let began_ns = work.begin();
            if !send_whole(link, requests, work)? {
                return Ok(());
            }
            begun_ns.push_back(began_ns);
        }
        match receive_whole(link, responses, messages, work)? {
            Arrival::Whole => {
                work.tally.transactions += 1;
                let began_ns = begun_ns.pop_front().unwrap_or_default();
                work.end(began_ns, 1, work.tally.transactions);
            }
            Arrival::Lost => begun_ns.clear(),
            Arrival::Over | Arrival::Cut => break,
        }
    }
    Ok(())
}

/// Answers every request, until there are no more or the end of the work. `connect`: the other
/// end of datagrams is the sender of the first.
///
/// # Errors
/// Those of recv(2), send(2) and connect(2).
pub fn answer(
    link: &mut Link,
    requests: &mut Ring,
    responses: &mut Ring,
    messages: Messages,
    connect: bool,
    work: &mut Work,
) -> Called<()> {
    while work.goes_on() {
        match receive_whole(link, requests, messages, work)? {
            Arrival::Whole => {}
            Arrival::Lost => continue,
            Arrival::Over | Arrival::Cut => break,
        }
        if connect && work.tally.transactions == 0 {
            named("connect", link.connect())?;
        }
        if !send_whole(link, responses, work)? {
            break;
        }
        work.tally.transactions += 1;
        work.end(0, 1, work.tally.transactions);
    }
    Ok(())
}

/// Sends one message; `false` when the work, or the other end, came to its end first.
pub(super) fn send_whole(link: &Link, ring: &mut Ring, work: &mut Work) -> Called<bool> {
    let buffer = ring.turn();
    let mut sent = 0;
    while sent < buffer.len() {
        if !work.goes_on() {
            return Ok(false);
        }
        match link.send(&buffer[sent..]) {
            Ok(more) => {
                sent += more;
                work.tally.sent_bytes += more as u64;
            }
            // As good as lost on the way.
            Err(Errno::NOBUFS | Errno::NOMEM) => {
                work.tally.failed_sends += 1;
                return Ok(true);
            }
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET | Errno::CONNREFUSED) => return Ok(false),
            Err(error) => return Err(CallError::new("send", error)),
        }
    }
    work.tally.sends += 1;
    Ok(true)
}

pub(super) fn receive_whole(
    link: &mut Link,
    ring: &mut Ring,
    messages: Messages,
    work: &mut Work,
) -> Called<Arrival> {
    let buffer = ring.turn();
    let mut received = 0;
    while received < buffer.len() {
        if !work.goes_on() {
            return Ok(Arrival::Cut);
        }
        match link.receive(&mut buffer[received..]) {
            Ok(0) => return Ok(Arrival::Over),
            Ok(more) => {
                received += more;
                work.tally.received_bytes += more as u64;
                work.tally.receives += 1;
                if messages == Messages::Datagrams {
                    break;
                }
            }
            Err(Errno::AGAIN) => return Ok(Arrival::Lost),
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET | Errno::CONNREFUSED) => return Ok(Arrival::Over),
            Err(error) => return Err(CallError::new("recv", error)),
        }
    }
    Ok(Arrival::Whole)
}
