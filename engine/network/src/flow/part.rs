//! What a thread does with its flows, as the two ends agreed.

use std::convert::identity;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;

use kit::team::Member;
use kit::Probe;
use rustix::event::epoll::EventFlags;
use wire::Failure;

use super::datagrams::{self, Datagrams};
use super::ring::{Ring, LINE_BYTES, PAGE_BYTES};
use super::rounds::Round;
use super::sendfile::{file_of, FromFile};
use super::stream::{self, receive_some, Copying, FlowMeter, Receiver, Sender};
use super::zerocopy::ZeroCopy;
use super::{Flow, Notes};
use crate::control::message::{Messages, Receive, Send};
use crate::failure::{peer_failure, refused};
use crate::socket::Transport;

/// Sends over `flows`. When the last messages are out, it waits until the other end has taken
/// everything and closed; datagrams end when they are out.
///
/// # Errors
/// `Io` when a connection breaks, or the kernel refuses an option.
pub fn send<'f, P: Probe>(
    part: &Send,
    transport: Transport,
    flows: &'f [Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let part = Sending {
        part,
        transport,
        flows,
    };
    match transport {
        Transport::Udp => part.send_datagrams(member),
        _ if part.part.zerocopy => {
            let of = |flow: &'f Flow, ring| ZeroCopy::new(flow, ring);
            part.send(part.senders("MSG_ZEROCOPY", ZeroCopy::width, of)?, member)
        }
        _ => {
            let of = |flow: &'f Flow, ring| Ok(Copying::new(flow, ring));
            part.send(part.senders("send", identity, of)?, member)
        }
    }
}

/// Sends over connections from a file; from one in memory where none is given.
///
/// # Errors
/// As [`send`].
pub fn send_file<'f, P: Probe>(
    part: &Send,
    file: Option<&File>,
    flows: &'f [Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let bytes = part.messages.bytes;
    let part = Sending {
        part,
        transport: Transport::Tcp,
        flows,
    };
    let of = |flow: &'f Flow, ring| {
        let file = file.map_or_else(|| file_of(ring), File::try_clone)?;
        FromFile::new(flow, file, bytes)
    };
    part.send(part.senders("sendfile", identity, of)?, member)
}

/// Takes what comes over `flows`.
///
/// # Errors
/// `Io` when a connection breaks, or the kernel refuses an option.
pub fn receive<'f, P: Probe>(
    part: &Receive,
    transport: Transport,
    flows: &'f [Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let broken = |error: io::Error| refused("receive data", &error);
    let receiver = |flow: &'f Flow| {
        let ring = part
            .messages
            .ring(flow.buffer_bytes[1], flow.ring_bytes, 1)?;
        let mut receiver = Receiver::new(flow, ring);
        if part.skip_copy {
            receiver.skip_copy(transport == Transport::Tcp);
        }
        if part.gro {
            datagrams::take_together(&flow.socket)
                .map_err(|error| refused("set UDP_GRO of a socket", &error))?;
        }
        Ok(receiver)
    };
    let mut receivers: Vec<Receiver> =
        flows.iter().map(receiver).collect::<Result<_, Failure>>()?;
    match (&mut receivers[..], flows) {
        ([receiver], [flow]) => {
            member.start()?;
            let mut meter = FlowMeter {
                member,
                tally: &flow.tally,
            };
            stream::receive(receiver, &mut meter).map_err(broken)?;
            // There is no such signal for datagrams.
            let _ = flow.socket.shutdown(Shutdown::Write);
        }
        (receivers, flows) => {
            let mut round = Round::new(flows, EventFlags::IN).map_err(broken)?;
            member.start()?;
            round.receive(receivers, member).map_err(broken)?;
        }
    }
    Ok(Notes::new())
}

/// One thread's part that sends.
struct Sending<'p, 'f> {
    part: &'p Send,
    transport: Transport,
    flows: &'f [Flow],
}

impl<'f> Sending<'_, 'f> {
    /// One for each flow, with buffers of its own.
    fn senders<S: Sender>(
        &self,
        what: &str,
        width: impl Fn(u64) -> u64,
        of: impl Fn(&'f Flow, Ring) -> io::Result<S>,
    ) -> Result<Vec<S>, Failure> {
        let bytes = self.part.call_bytes();
        let sender = |flow: &'f Flow| {
            let socket_bytes = flow.buffer_bytes[0];
            // Of a ring without copies the number of buffers is rounded up to a power of two.
            let ring_bytes = flow.ring_bytes >> u32::from(self.part.zerocopy);
            let fitting = Ring::width_for(socket_bytes, bytes, ring_bytes);
            let messages = Messages {
                bytes,
                width: Some(width(self.part.messages.width.unwrap_or(fitting))),
            };
            // What is sent from where it is lies on as few pages as it can.
            let align = match self.part.zerocopy {
                true => bytes.clamp(LINE_BYTES.into(), PAGE_BYTES.into()) as u32,
                false => 1,
            };
            let ring = messages.ring(socket_bytes, ring_bytes, align.next_power_of_two())?;
            of(flow, ring).map_err(|error| refused(format!("prepare {what}"), &error))
        };
        self.flows.iter().map(sender).collect()
    }

    fn send_datagrams<P: Probe>(&self, member: &mut Member<P>) -> Result<Notes, Failure> {
        let segment_bytes = self.part.messages.bytes;
        let of = |flow: &'f Flow, ring| Datagrams::new(flow, ring, segment_bytes as usize);
        let mut senders = self.senders("datagrams", identity, of)?;
        match (&mut senders[..], self.flows, self.part.rate) {
            ([sender], [flow], Some(rate)) => {
                let calls_per_s = rate / self.part.call_bytes() as f64;
                member.start()?;
                let sent = datagrams::send_paced(sender, flow, calls_per_s, self.calls(), member);
                self.finish(&mut senders, sent, member)
            }
            _ => self.send(senders, member),
        }
    }

    fn send<P: Probe, S: Sender>(
        &self,
        mut senders: Vec<S>,
        member: &mut Member<P>,
    ) -> Result<Notes, Failure> {
        let calls = self.calls();
        let sent = match (&mut senders[..], self.flows) {
            ([sender], [flow]) => {
                member.start()?;
                let mut meter = FlowMeter {
                    member,
                    tally: &flow.tally,
                };
                stream::send(sender, calls, &mut meter)
            }
            (senders, flows) => {
                let mut left = vec![calls; flows.len()];
                let mut round =
                    Round::new(flows, EventFlags::OUT).map_err(|error| self.broken(&error))?;
                member.start()?;
                round.send(senders, &mut left, member)
            }
        };
        let sent = sent.and_then(|()| self.flows.iter().try_for_each(|flow| self.drain(flow)));
        self.finish(&mut senders, sent, member)
    }

    /// How often each flow sends at most.
    fn calls(&self) -> u64 {
        self.part
            .most_messages()
            .div_ceil(u64::from(self.part.segments))
    }

    /// Says that no more comes, and waits until the other end has taken everything and says so too.
    fn drain(&self, flow: &Flow) -> io::Result<()> {
        if self.transport != Transport::Udp {
            flow.socket.shutdown(Shutdown::Write)?;
            while receive_some(flow.socket.as_fd(), &mut [0; 512])? > 0 {}
        }
        Ok(())
    }

    /// Ends the member's time, and asks the senders what they counted.
    fn finish<P: Probe>(
        &self,
        senders: &mut [impl Sender],
        sent: io::Result<()>,
        member: &mut Member<P>,
    ) -> Result<Notes, Failure> {
        let broken = |error: io::Error| self.broken(&error);
        sent.map_err(broken)?;
        member.done();
        let mut all = Notes::new();
        for sender in senders {
            for (name, count) in sender.finish().map_err(broken)? {
                *all.entry(name).or_default() += count;
            }
        }
        Ok(all)
    }

    fn broken(&self, error: &io::Error) -> Failure {
        let bytes = self.part.messages.bytes;
        match (self.transport, error.raw_os_error()) {
            (Transport::Udp, Some(libc::EMSGSIZE)) => peer_failure(format!(
                "a datagram of {bytes} bytes is too large for the way to the server: a smaller \
                 \"message\" is needed"
            )),
            (Transport::Udp, Some(libc::ECONNREFUSED)) => {
                peer_failure("the server's socket is gone: its host refuses datagrams")
            }
            _ => refused("send data", error),
        }
    }
}
