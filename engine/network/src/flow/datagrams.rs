//! Datagrams: what is sent is gone, whether or not it arrives.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use kit::inject::before;
use kit::pace::{self, Pace};
use kit::team::Member;
use kit::{clock, Probe};
use rustix::io::retry_on_intr;
use rustix::net::{self, SendFlags, SocketAddrAny};
use socket2::{Domain, SockAddr, Socket};
use wire::Call;

use super::ring::Ring;
use super::stream::{count, Sender};
use super::{Flow, Notes};
use crate::socket::set_number;

/// Between two looks whether to go on while nothing is due.
const LOOK: Duration = Duration::from_millis(50);

/// Sends datagrams; with segmentation several at once, which the kernel, or the network card,
/// takes apart.
pub struct Datagrams<'a> {
    socket: BorrowedFd<'a>,
    ring: Ring,
    peer: Option<SocketAddrAny>,
    failed_sends: u64,
}

impl<'a> Datagrams<'a> {
    /// Over `flow`, from buffers that take turns. Each holds messages of `segment_bytes`.
    ///
    /// # Errors
    /// As setsockopt(2).
    pub fn new(flow: &'a Flow, ring: Ring, segment_bytes: usize) -> io::Result<Self> {
        tell_drops(&flow.socket)?;
        if ring.size() > segment_bytes {
            set_number(
                &flow.socket,
                libc::SOL_UDP,
                libc::UDP_SEGMENT,
                segment_bytes as u32,
            )?;
        }
        Ok(Self {
            socket: flow.socket.as_fd(),
            ring,
            peer: flow
                .peer
                .as_ref()
                .and_then(SockAddr::as_socket)
                .map(Into::into),
            failed_sends: 0,
        })
    }
}

impl Sender for Datagrams<'_> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        let (socket, message) = (self.socket, self.ring.turn());
        before(Call::Send);
        let sent = retry_on_intr(|| match &self.peer {
            None => net::send(socket, message, SendFlags::NOSIGNAL),
            Some(peer) => net::sendto(socket, message, SendFlags::NOSIGNAL, peer),
        });
        Ok(sent? as u64)
    }

    /// The queue of the network card was full: the datagram is lost here already.
    fn on_send_error(&mut self, error: io::Error) -> io::Result<()> {
        match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::ENOMEM) => {
                self.failed_sends += 1;
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn finish(&mut self) -> io::Result<Notes> {
        Ok([("failed_sends", self.failed_sends)].into())
    }
}

/// Sends at a rate: each call is due at an instant fixed beforehand, so that one that was slow
/// delays none of those that follow. As [`super::stream::send`] otherwise.
///
/// # Errors
/// As the sender.
pub fn send_paced<P: Probe>(
    sender: &mut Datagrams,
    flow: &Flow,
    calls_per_s: f64,
    calls: u64,
    member: &mut Member<P>,
) -> io::Result<()> {
    let pace = Pace::shared(calls_per_s, 0, 1);
    let opened_ns = member.opened_ns();
    for number in 0..calls {
        let due_ns = opened_ns + pace.due_ns(number);
        while member.goes_on() && clock::now_ns() < due_ns {
            let look_ns = clock::now_ns() + LOOK.as_nanos() as u64;
            pace::wait_until(due_ns.min(look_ns));
        }
        if !member.goes_on() {
            break;
        }
        member.probe.begin_operation();
        match sender.send() {
            Ok(bytes) => count(member, &flow.tally, bytes),
            Err(error) => sender.on_send_error(error)?,
        }
    }
    Ok(())
}

/// Lets one call take several datagrams of one size that came together.
///
/// # Errors
/// As setsockopt(2).
pub fn take_together(socket: &Socket) -> io::Result<()> {
    set_number(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Has the kernel say when it drops a datagram on its way out (IP_RECVERR); it would keep quiet.
fn tell_drops(socket: &Socket) -> io::Result<()> {
    match socket.domain()? {
        Domain::IPV6 => set_number(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
        _ => set_number(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1),
    }
}
