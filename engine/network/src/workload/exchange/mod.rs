//! What the request/response workloads over lasting connections have in common.
//!
//! Timing formula: transactions = responses / (t1 − t0); t0 when all flows, which are connected,
//! are told to start; t1 when the last response is here as a whole, and with a rate no earlier
//! than when the next request would be due.

mod measures;
mod params;
mod run;
mod size;

use kit::{Ledger, Trial};
use serde_json::{json, Map, Value};
use wire::{Card, Failure, FarEnd, TargetKind, Timing};

use self::params::Params;
use super::Workload;
use crate::control::message::Transport;

/// A request/response workload.
#[derive(Debug, Clone, Copy)]
pub struct RequestResponse {
    /// As `describe` lists it.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Who made it first.
    pub lineage: &'static str,
    /// What carries the messages.
    pub transport: Transport,
}

const TIMING: &str = "\
transactions = responses / (t1 − t0); t0 when all flows, connected before, are told to start; t1 \
when the last response is here as a whole, and with a rate no earlier than when the next request \
would be due; latency = from the sending of a request, or with a rate from the instant at which \
it was due, until its response is here as a whole";

const DESCRIPTION: &str = "\
Each flow has a thread of its own at both ends. The near end sends a request and waits until the \
response is here as a whole; the far end receives a request as a whole and sends the response. \
With a burst so many more transactions are under way, and one that is answered is followed by \
another. With a rate, requests are sent when they are due, however many are under way. After the \
time nothing more is sent; what is under way then is waited for and counts, so that both ends \
count the same.";

const DATAGRAMS: &str = "\
 A datagram begins with the lowest bytes of its transaction's number, up to 8, as far as request \
and response have room. One that is not answered in time is lost and counted; another follows, \
and a response that comes later still is dropped.";

impl Workload for RequestResponse {
    fn card(&self) -> Card {
        let is_udp = self.transport == Transport::Udp;
        Card {
            name: self.name.to_owned(),
            target: TargetKind::Far,
            about: self.about.to_owned(),
            lineage: self.lineage.to_owned(),
            timing: TIMING.to_owned(),
            description: [DESCRIPTION, if is_udp { DATAGRAMS } else { "" }].concat(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(!is_udp),
            grid: params::GRID.map(str::to_owned).into(),
            usual: json!({"size": 1, "seconds": 2}),
            smoke: json!({"size": [1, "100/200"], "burst": [0, 3], "flows": [1, 2],
                          "seconds": 0.05}),
        }
    }

    fn plan(
        &self,
        parameters: &Map<String, Value>,
        far: &FarEnd,
    ) -> Result<Box<dyn Trial>, Failure> {
        Ok(Box::new(Plan {
            workload: *self,
            params: Params::parse(parameters, self.transport)?,
            far: far.clone(),
        }))
    }
}

/// A trial ready to be executed.
struct Plan {
    workload: RequestResponse,
    params: Params,
    far: FarEnd,
}

impl Trial for Plan {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        self.params.timing
    }

    fn threads(&self) -> usize {
        let flows = self.params.flows.iter().copied();
        flows.max().unwrap_or(1) as usize
    }

    fn run(self: Box<Self>, ledger: &mut Ledger) -> Result<(), Failure> {
        run::run(self.workload, &self.params, &self.far, ledger)
    }
}
