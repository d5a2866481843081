//! The walk over the grid.

use std::fs::File;

use kit::team::{Finish, Member};
use kit::{EventSink, OperationProbe, PassProbe, Probe};
use wire::{Failure, FarEnd, Network, Side, Timing};

use super::measures::{self, Figures};
use super::params::{Cell, Params};
use super::{Direction, Stream};
use crate::client::{LocalPart, Measurement, ServerConnection};
use crate::control::message::{Messages, Receive, Role, Send, Work};
use crate::flow::{part, Flow, Notes};
use crate::placement::Placement;
use crate::socket::SocketOptions;
use crate::socket::Transport;
use crate::workload::ends::{BufferSize, EndParams};
use crate::workload::hosts::Effort;

/// What a receiver asks for where nobody says: the default of Linux's `tcp_rmem`.
const RECEIVE_BYTES: u64 = 128 << 10;
/// Between two looks at connections.
const LOOK_S: f64 = 0.1;
/// A pace of which less than this was reached was not kept.
const KEPT_MIN: f64 = 0.99;

/// Executes the trial.
///
/// # Errors
/// See [`kit::Trial::run`].
pub fn run(
    stream: Stream,
    params: &Params,
    far: &FarEnd,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let file = params.open_file()?;
    let mut far = ServerConnection::open(far)?;
    let cells = params.cells();
    let count = cells.len() as f64;
    let threads = params.client.most_threads(&params.flows);
    let _placement = Placement::take("client", &params.client.placement(), threads)?;
    for (done, cell) in cells.into_iter().enumerate() {
        event_sink.progress(done as f64 / count, cell.label());
        let walk = Walk {
            stream,
            params,
            cell,
            file: file.as_ref(),
        };
        match params.timing {
            Timing::Pass => walk.measure::<PassProbe>(&mut far, event_sink)?,
            Timing::Operation => walk.measure::<OperationProbe>(&mut far, event_sink)?,
        }
    }
    Ok(())
}

/// One point of the grid.
struct Walk<'a> {
    stream: Stream,
    params: &'a Params,
    cell: Cell,
    file: Option<&'a File>,
}

impl Walk<'_> {
    fn measure<P: Probe + Default + std::marker::Send>(
        &self,
        far: &mut ServerConnection,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        let (send, receive) = (self.send(), self.receive());
        let (role, finish) = match self.stream.direction {
            Direction::Outward => (Role::Receive(receive), send.limit.finish()),
            Direction::Inward => (Role::Send(send), Finish::Everyone),
        };
        let local = LocalPart {
            options: self.options(&self.params.client, self.stream.direction),
            threads: self.params.client.threads(self.cell.flows),
            finish,
        };
        let transport = self.stream.transport;
        let work = |flows: &[Flow], member: &mut Member<P>| -> Result<Notes, Failure> {
            match self.stream.direction {
                Direction::Inward => part::receive(&receive, transport, flows, member),
                Direction::Outward if self.stream.sends_file => {
                    part::send_file(&send, self.file, flows, member)
                }
                Direction::Outward => part::send(&send, transport, flows, member),
            }
        };
        let measured = far.measure::<P, _>(&self.work(role), &local, work)?;
        self.tell(&measured, event_sink);
        Ok(())
    }

    /// Everything that was measured, to the event sink.
    fn tell(&self, measured: &Measurement, event_sink: &mut EventSink) {
        let reading = &measured.near.outcome.reading;
        let mut near = measured.near.side.clone();
        let mut far = measured.far.side.clone();
        let calls = reading.latency.clone();
        let (sends, receives) = match self.stream.direction {
            Direction::Outward => {
                (near.sent_bytes, near.sends) = (reading.bytes, reading.operations);
                (calls, None)
            }
            Direction::Inward => {
                (near.received_bytes, near.receives) = (reading.bytes, reading.operations);
                (None, calls)
            }
        };
        if self.stream.transport == Transport::Udp {
            self.count_datagrams(&mut near);
            self.count_datagrams(&mut far);
        }
        let [sender, receiver] = match self.stream.direction {
            Direction::Outward => [&near, &far],
            Direction::Inward => [&far, &near],
        };
        let figures = Figures {
            at: self.cell.at(),
            transport: self.stream.transport,
            sender,
            receiver,
            connects: &measured.connects,
            sends,
            receives,
            effort: Effort {
                near: &near,
                far: &far,
                elapsed_s: reading.elapsed_s(),
                far_elapsed_s: measured.far.elapsed_s,
                work: receiver.received_bytes,
            },
        };
        self.weigh_pace(&figures, event_sink);
        let samples = measures::samples(&figures);
        let connections = [&measured.near.connections[..], &measured.far.connections].concat();
        event_sink.add_network(reading, Network { near, far }, connections);
        for sample in samples {
            event_sink.sample(sample);
        }
    }

    /// One call may have moved several datagrams; all have one size.
    fn count_datagrams(&self, side: &mut Side) {
        let message = self.cell.message.bytes();
        side.sends = side.sent_bytes / message;
        side.receives = side.received_bytes / message;
    }

    fn weigh_pace(&self, figures: &Figures, event_sink: &mut EventSink) {
        let reached = figures.sender.sent_bytes as f64 / figures.effort.elapsed_s;
        match self.params.rate {
            Some(rate) if reached < KEPT_MIN * rate => event_sink.warning(
                "rate-not-kept",
                format!("{rate} bytes per second were to be sent, {reached:.1} were"),
                Some("the path or this host is slower than that; use a lower rate"),
            ),
            _ => {}
        }
    }

    fn send(&self) -> Send {
        let messages = Messages {
            bytes: self.cell.message.bytes(),
            width: self.params.buffers,
        };
        let is_paced_here = self.stream.transport == Transport::Udp;
        Send {
            zerocopy: self.params.zerocopy,
            segments: self.params.gso,
            rate: self.rate_of_flow().filter(|_| is_paced_here),
            ..Send::plain(messages, self.params.limit(self.cell))
        }
    }

    fn rate_of_flow(&self) -> Option<f64> {
        let flows = f64::from(self.cell.flows);
        self.params.rate.map(|rate| rate / flows)
    }

    fn receive(&self) -> Receive {
        let asked = self.params.receive.map(kit::Size::bytes);
        let buffer = self.cell.receive_buffer.bytes();
        Receive {
            messages: Messages {
                bytes: asked.or(buffer).unwrap_or(RECEIVE_BYTES),
                width: self.params.buffers,
            },
            skip_copy: self.params.skip_copy,
            gro: self.params.gro,
        }
    }

    fn work(&self, role: Role) -> Work {
        Work {
            transport: self.stream.transport,
            role,
            flows: self.cell.flows,
            threads: self.params.server.threads(self.cell.flows),
            options: self.options(&self.params.server, self.stream.direction.reverse()),
            placement: self.params.server.placement(),
            longest_s: self.params.limit(self.cell).longest_s(),
            look_s: LOOK_S,
            held: false,
        }
    }

    /// Options of the sockets of an end from which data go `direction`.
    fn options(&self, end: &EndParams, direction: Direction) -> SocketOptions {
        let only = |size: BufferSize, matters| if matters { size.bytes() } else { None };
        let sends = direction == Direction::Outward;
        let is_held_back = sends && self.stream.transport == Transport::Tcp;
        let rate = self.rate_of_flow().filter(|_| is_held_back);
        SocketOptions {
            send_buffer: only(self.cell.send_buffer, sends),
            receive_buffer: only(self.cell.receive_buffer, !sends),
            nodelay: self.params.nodelay,
            cork: self.params.cork && sends,
            mss: self.params.mss,
            pacing_rate: rate.map(|rate| rate as u64),
            dscp: self.params.dscp,
            unconnected: !self.params.connected,
            ..end.options()
        }
    }
}
