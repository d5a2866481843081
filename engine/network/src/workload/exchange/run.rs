//! The walk over the grid.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::histogram::Histogram;
use kit::{EventSink, OperationProbe, PassProbe, Probe};
use wire::{Failure, FarEnd, Network, Timing};

use super::measures::{self, Figures};
use super::params::{Cell, Params};
use super::{Connecting, RequestResponse};
use crate::client::{LocalPart, Measurement, ServerConnection};
use crate::control::message::{Role, Work};
use crate::flow::connect::{self, Connections};
use crate::flow::exchange::{self, Rate, Requests, LOST};
use crate::flow::Notes;
use crate::placement::Placement;
use crate::socket::Transport;
use crate::workload::hosts::Effort;

/// Between two looks at connections.
const LOOK_S: f64 = 0.1;
/// Below this share of the rate asked for, the pace was not kept.
const KEPT_MIN: f64 = 0.99;

/// Executes the trial.
///
/// # Errors
/// See [`kit::Trial::run`].
pub fn run(
    workload: RequestResponse,
    params: &Params,
    end: &FarEnd,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let mut far = ServerConnection::open(end)?;
    let cells = params.cells();
    let threads = params.client.most_threads(&params.flows);
    let _placement = Placement::take("client", &params.client.placement(), threads)?;
    let count = cells.len() as f64;
    for (done, cell) in cells.into_iter().enumerate() {
        event_sink.progress(done as f64 / count, cell.label());
        let walk = Walk {
            workload,
            params,
            cell,
            local: end.local,
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
    workload: RequestResponse,
    params: &'a Params,
    cell: Cell,
    local: Option<IpAddr>,
}

impl Walk<'_> {
    fn measure<P: Probe + Default + Send>(
        &self,
        far: &mut ServerConnection,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        let transport = self.workload.transport;
        let local = LocalPart {
            options: self.params.options(&self.params.client),
            threads: self.params.client.threads(self.cell.flows),
            finish: self.params.limit().finish(),
        };
        let work = self.work();
        let measured = match self.workload.connecting {
            Connecting::Once => {
                let requests = self.requests();
                far.measure::<P, _>(&work, &local, |flows, member| {
                    exchange::request(&requests, transport, flows, member)
                })?
            }
            Connecting::Each => {
                let connections = self.connections(&local);
                let connects = Mutex::new(Histogram::new());
                let mut measured = far.measure::<P, _>(&work, &local, |flows, member| {
                    let times = connect::request(&connections, &flows[0], member)?;
                    let mut all = connects.lock().unwrap_or_else(PoisonError::into_inner);
                    all.merge(&times);
                    Ok(Notes::new())
                })?;
                let connects = connects.into_inner();
                measured.connects = connects.unwrap_or_else(PoisonError::into_inner);
                measured
            }
        };
        self.tell(measured, event_sink);
        Ok(())
    }

    /// What was found, for the event sink.
    fn tell(&self, measured: Measurement, event_sink: &mut EventSink) {
        let reading = &measured.near.outcome.reading;
        let Cell { size, burst, flows } = self.cell;
        let mut near = measured.near.side.clone();
        let lost = near.counters.get(LOST).copied().unwrap_or(0);
        near.sends = reading.operations + lost;
        near.receives = reading.operations;
        near.sent_bytes = near.sends * size.request.bytes();
        near.received_bytes = near.receives * size.response.bytes();
        let far = measured.far.side;
        let figures = Figures {
            at: self.cell.at(&self.workload),
            reading,
            at_once: u64::from(flows) * (u64::from(burst) + 1),
            connects: (self.workload.transport != Transport::Udp).then_some(&measured.connects),
            effort: Effort {
                near: &near,
                far: &far,
                elapsed_s: reading.elapsed_s(),
                far_elapsed_s: reading.elapsed_s(),
                work: reading.operations,
            },
        };
        let samples = measures::samples(&figures);
        self.weigh_pace(reading, event_sink);
        let connections = [measured.near.connections, measured.far.connections].concat();
        event_sink.add_network(reading, Network { near, far }, connections);
        for sample in samples {
            event_sink.sample(sample);
        }
    }

    /// Requests that were due and never sent have no latency: that must be said.
    fn weigh_pace(&self, reading: &kit::Reading, event_sink: &mut EventSink) {
        let reached = reading.operations_per_s();
        match self.params.rate {
            Some(rate) if reached < KEPT_MIN * rate => event_sink.warning(
                "rate-not-kept",
                format!("{rate} requests per second were due, {reached:.1} were answered"),
                Some("the latencies are those of an overloaded system; use a lower rate"),
            ),
            _ => {}
        }
    }

    fn requests(&self) -> Requests {
        Requests {
            exchange: self.cell.size.exchange(),
            burst: self.cell.burst,
            limit: self.params.limit(),
            rate: self.params.rate.map(|per_s| Rate {
                per_s,
                flows: self.cell.flows,
            }),
            lost_after: (self.workload.transport == Transport::Udp)
                .then(|| Duration::from_secs_f64(self.params.lost_after_s)),
        }
    }

    fn connections(&self, local: &LocalPart) -> Connections {
        Connections {
            exchange: self.cell.size.exchange(),
            limit: self.params.limit(),
            options: local.options.clone(),
            local: self.local,
            ports: self.params.ports.clone().map(|ports| ports.0),
            flows: self.cell.flows,
        }
    }

    fn work(&self) -> Work {
        let exchange = self.cell.size.exchange();
        Work {
            transport: self.workload.transport,
            role: match self.workload.connecting {
                Connecting::Once => Role::Respond(exchange),
                Connecting::Each => Role::Accept(exchange),
            },
            flows: self.cell.flows,
            threads: self.params.server.threads(self.cell.flows),
            options: self.params.options(&self.params.server),
            placement: self.params.server.placement(),
            longest_s: self.params.limit().longest_s(),
            look_s: LOOK_S,
            held: false,
        }
    }
}
