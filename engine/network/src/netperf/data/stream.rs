//! Data in one direction.

use std::os::fd::BorrowedFd;

use rustix::fs::sendfile;
use rustix::io::Errno;

use super::call::{CallError, Called};
use super::link::Link;
use super::ring::Ring;
use super::work::Work;

/// Sends until the end of the work. A call that sends less than all was cut short by the end.
/// That the other end has gone is an end, too: of two that end by their own clocks one is first.
///
/// # Errors
/// Those of send(2).
pub fn send(link: &Link, ring: &mut Ring, work: &mut Work) -> Called<()> {
    while work.goes_on() {
        let began_ns = work.begin();
        match link.send(ring.buffer()) {
            Ok(sent) => {
                work.tally.sent_bytes += sent as u64;
                work.tally.sends += 1;
                ring.advance();
                work.end(began_ns, sent as u64, work.tally.sent_bytes);
            }
            Err(Errno::NOBUFS | Errno::NOMEM) => work.tally.failed_sends += 1,
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET | Errno::CONNREFUSED) => break,
            Err(error) => return Err(CallError::new("send", error)),
        }
    }
    Ok(())
}

/// Receives until the other end has sent all, or the end of the work. In datagrams, the end is
/// one without content.
///
/// # Errors
/// Those of recv(2).
pub fn receive(link: &mut Link, ring: &mut Ring, work: &mut Work) -> Called<()> {
    while work.goes_on() {
        let began_ns = work.begin();
        match link.receive(ring.buffer()) {
            Ok(0) => break,
            Ok(received) => {
                work.tally.received_bytes += received as u64;
                work.tally.receives += 1;
                ring.advance();
                work.end(began_ns, received as u64, work.tally.received_bytes);
            }
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET | Errno::CONNREFUSED) => break,
            Err(error) => return Err(CallError::new("recv", error)),
        }
    }
    Ok(())
}

/// Sends a file of `file_bytes`, `size` bytes with each call, over and over.
///
/// # Errors
/// Those of sendfile(2).
pub fn send_file(
    link: &Link,
    file: BorrowedFd,
    file_bytes: u64,
    size: u32,
    work: &mut Work,
) -> Called<()> {
    let size = u64::from(size).min(file_bytes);
    let mut offset = 0;
    while work.goes_on() {
        let began_ns = work.begin();
        match sendfile(&link.socket, file, Some(&mut offset), size as usize) {
            Ok(sent) => {
                work.tally.sent_bytes += sent as u64;
                work.tally.sends += 1;
                if offset + size > file_bytes {
                    offset = 0;
                }
                work.end(began_ns, sent as u64, work.tally.sent_bytes);
            }
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET | Errno::CONNREFUSED) => break,
            Err(error) => return Err(CallError::new("sendfile", error)),
        }
    }
    Ok(())
}
