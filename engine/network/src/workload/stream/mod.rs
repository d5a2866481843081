//! What the streams have in common: one end sends messages of one size as fast as the other takes
//! them.
//!
//! Timing formula: throughput = bytes that the receiving end took / (t1 − t0); t0 when all flows,
//! which are connected, are told to start; t1 when the receiving end has taken the last byte and
//! closed, and the near end knows of it.

mod measures;
mod params;
mod run;

use kit::{Ledger, Trial};
use serde_json::{json, Map, Value};
use wire::{Card, Failure, FarEnd, TargetKind, Timing};

use self::params::Params;
use super::Workload;
use crate::control::message::Transport;

/// A stream workload.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// As `describe` lists it.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Who made it first.
    pub lineage: &'static str,
    /// What moves the bytes.
    pub transport: Transport,
    /// Where they go.
    pub direction: Direction,
}

/// Where data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the far end.
    Outward,
    /// From the far end.
    Inward,
}

const TIMING: &str = "\
throughput = bytes that the receiving end took / (t1 − t0); t0 when all flows, connected before, \
are told to start; t1 when the receiving end has taken the last byte and closed, and the near end \
knows of it";

const DESCRIPTION: &str = "\
Each flow has a thread of its own at both ends. The sending end hands over messages of one size, \
one call each, from buffers that take turns: as many as fill the socket's buffer, and one more, \
as netperf does it. After the time it closes its half of the connection, and the flow ends when \
the receiving end has taken everything. What was received counts.";

impl Workload for Stream {
    fn card(&self) -> Card {
        Card {
            name: self.name.to_owned(),
            target: TargetKind::Far,
            about: self.about.to_owned(),
            lineage: self.lineage.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(),
            grid: params::GRID.map(str::to_owned).into(),
            usual: json!({"message": "16k", "seconds": 2}),
            smoke: json!({"message": ["1k", "16k"], "flows": [1, 2], "seconds": 0.05}),
        }
    }

    fn plan(
        &self,
        parameters: &Map<String, Value>,
        far: &FarEnd,
    ) -> Result<Box<dyn Trial>, Failure> {
        Ok(Box::new(Plan {
            stream: *self,
            params: Params::parse(parameters, self.transport)?,
            far: far.clone(),
        }))
    }
}

/// A trial ready to be executed.
struct Plan {
    stream: Stream,
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
        run::run(self.stream, &self.params, &self.far, ledger)
    }
}
