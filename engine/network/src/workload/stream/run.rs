//! The walk over the grid.

use kit::team::Finish;
use kit::{Ledger, OperationProbe, PassProbe, Probe};
use wire::{Failure, FarEnd, Network, Timing};

use super::measures::{self, Figures};
use super::params::{Cell, Params};
use super::{Direction, Stream};
use crate::control::message::{Limit, Messages, Receive, Role, Send, Work};
use crate::flow::part;
use crate::near::{Far, Own};
use crate::placement::Placement;
use crate::socket::SocketOptions;
use crate::workload::ends::{BufferSize, EndParams};

/// What a receiver asks for where nobody says: the default of Linux's `tcp_rmem`.
const RECEIVE_BYTES: u64 = 128 << 10;
/// Between two looks at connections.
const LOOK_S: f64 = 0.1;
/// A flow that has bytes to send instead of a time may take so long.
const LONGEST_S: f64 = 3_600.0;

/// Executes the trial.
///
/// # Errors
/// See [`kit::Trial::run`].
pub fn run(
    stream: Stream,
    params: &Params,
    far: &FarEnd,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    let mut far = Far::dial(far)?;
    let cells = params.cells();
    let threads = cells.iter().map(|cell| params.near.threads(cell.flows));
    let threads = threads.max().unwrap_or(1);
    let _placement = Placement::take("near", &params.near.placement(), threads)?;
    let count = cells.len() as f64;
    for (done, cell) in cells.into_iter().enumerate() {
        ledger.progress(done as f64 / count, cell.label());
        let walk = Walk {
            stream,
            params,
            cell,
        };
        match params.timing {
            Timing::Pass => walk.measure::<PassProbe>(&mut far, ledger)?,
            Timing::Operation => walk.measure::<OperationProbe>(&mut far, ledger)?,
        }
    }
    Ok(())
}

/// One point of the grid.
struct Walk<'a> {
    stream: Stream,
    params: &'a Params,
    cell: Cell,
}

impl Walk<'_> {
    fn measure<P: Probe + Default + std::marker::Send>(
        &self,
        far: &mut Far,
        ledger: &mut Ledger,
    ) -> Result<(), Failure> {
        let send = self.send();
        let receive = self.receive();
        let work = self.work(match self.stream.direction {
            Direction::Outward => Role::Receive(receive),
            Direction::Inward => Role::Send(send),
        });
        let own = Own {
            options: self.options(&self.params.near, self.stream.direction),
            threads: self.params.near.threads(self.cell.flows),
            finish: match self.stream.direction {
                Direction::Outward => send.limit.finish(),
                Direction::Inward => Finish::Everyone,
            },
        };
        let transport = self.stream.transport;
        let measured = match self.stream.direction {
            Direction::Outward => far.measure::<P, _>(&work, &own, |flows, member| {
                part::send(&send, transport, flows, member)
            })?,
            Direction::Inward => far.measure::<P, _>(&work, &own, |flows, member| {
                part::receive(&receive, transport, flows, member)
            })?,
        };
        let reading = &measured.near.outcome.reading;
        let mut near = measured.near.side.clone();
        let far = measured.far.side.clone();
        let [sender, receiver] = match self.stream.direction {
            Direction::Outward => {
                (near.sent_bytes, near.sends) = (reading.bytes, reading.operations);
                [&near, &far]
            }
            Direction::Inward => {
                (near.received_bytes, near.receives) = (reading.bytes, reading.operations);
                [&far, &near]
            }
        };
        let figures = Figures {
            at: self.cell.at(),
            elapsed_s: reading.elapsed_s(),
            sender,
            receiver,
            near: &near,
            far: &far,
            connects: &measured.connects,
            calls: match self.stream.direction {
                Direction::Outward => reading.latency.clone(),
                Direction::Inward => None,
            },
        };
        for sample in measures::samples(&figures) {
            ledger.sample(sample);
        }
        let connections = [measured.near.connections, measured.far.connections].concat();
        ledger.add_network(reading, Network { near, far }, connections);
        Ok(())
    }

    fn send(&self) -> Send {
        Send {
            messages: Messages {
                bytes: self.cell.message.bytes(),
                width: None,
            },
            limit: self.params.limit(self.cell),
        }
    }

    fn receive(&self) -> Receive {
        let asked = self.params.receive.map(kit::Size::bytes);
        let buffer = self.cell.receive_buffer.bytes();
        Receive {
            messages: Messages {
                bytes: asked.or(buffer).unwrap_or(RECEIVE_BYTES),
                width: None,
            },
        }
    }

    fn work(&self, role: Role) -> Work {
        Work {
            transport: self.stream.transport,
            role,
            flows: self.cell.flows,
            threads: self.params.far.threads(self.cell.flows),
            options: self.options(
                &self.params.far,
                match self.stream.direction {
                    Direction::Outward => Direction::Inward,
                    Direction::Inward => Direction::Outward,
                },
            ),
            placement: self.params.far.placement(),
            longest_s: match self.params.limit(self.cell) {
                Limit::Seconds(seconds) => seconds,
                Limit::Operations(_) => LONGEST_S,
            },
            look_s: LOOK_S,
        }
    }

    /// Options of the sockets of an end from which data go `direction`.
    fn options(&self, end: &EndParams, direction: Direction) -> SocketOptions {
        let only = |size: BufferSize, matters| if matters { size.bytes() } else { None };
        let sends = direction == Direction::Outward;
        SocketOptions {
            send_buffer: only(self.cell.send_buffer, sends),
            receive_buffer: only(self.cell.receive_buffer, !sends),
            nodelay: self.params.nodelay,
            dscp: self.params.dscp,
            ..end.options()
        }
    }
}
