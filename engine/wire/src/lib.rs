//! The wire: everything that passes between the lab and the engine.
//!
//! One [`Job`] goes in; [`Event`]s come out, one JSON object a line. [`Event::Hello`] is the
//! first line and [`Event::End`] the last; a stream without an `end` belongs to an engine that
//! was killed. Every value is in SI base units (s, B/s, 1/s); a classic tool's own figure stands
//! beside it as [`Native`].
//!
//! The JSON Schema in `schema/wire.schema.json` is generated from these types (`make schema`).

mod catalogue;
mod end;
mod event;
mod host;
mod job;
mod leave;
mod machine;
mod network;
mod ops;
mod pool;
mod runner;
mod start;

pub use catalogue::{BackendCard, Card, Catalogue, Direction, MetricCard, Role, TargetKind, Unit};
pub use end::{
    Access, AccessKind, AccessVerdict, Device, Direct, End, Failure, FailureKind, Floor, HeldBy,
    Outcome, Pressure, Programs, Usage,
};
pub use event::{
    Client, ClientRegion, Conditions, Connection, Event, Execution, Hello, Interval, Latency,
    Native, Output, Progress, Region, Sample, Step, Timing, Warning, WhichEnd,
};
pub use host::{
    HostBeat, HostDevice, HostDirect, HostDisk, HostDone, HostFailure, HostFailureKind, HostFound,
    HostHello, HostLine, HostOutput, HostRead, HostRequest, HostRun, HostSeen, HostSettle,
    HostSettled, HostSpace, HostWatch, HostWatchBegin, HostWatchTell, HostWho, HOST_LINE_BYTES,
};
pub use job::{
    Call, ConditionsWanted, FarEnd, FarPlace, Inject, Job, Part, Stage, Target, FAR_PORT,
    LONGEST_DELAY_NS,
};
pub use leave::{HostLeave, HostTakeUp};
pub use machine::{HostHeld, HostHold, HostLetGo};
pub use network::{Network, Side};
pub use ops::{
    HostAged, HostChanged, HostDid, HostIsolated, HostOp, HostOps, HostProgress, HostRan,
    HostRecover, HostSkipped, HostUndo, HostUndone, OpAge, OpApart, OpBack, OpDevice, OpFormat,
    OpHold, OpIsolate, OpKeep, OpLimit, OpLoop, OpMade, OpMake, OpMend, OpMount, OpNetwork, OpOwe,
    OpPool, OpProfile, OpPut, OpPutBack, OpRelease, OpRequire, OpRun, OpSet, OpStart, OpText,
};
pub use pool::{Pool, PoolClient, PoolStart};
pub use runner::{Bracket, Held, RunnerLine, RunnerReply, RunnerRequest, RECORD_SEPARATOR};
pub use start::{HostServer, HostServers, HostStarted, Start, StartReady, StartStop};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the messages. A reader refuses a stream of another version.
pub const PROTOCOL: u32 = 1;

/// The documents that cross the seam, gathered so that one schema describes them all.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// What the lab sends.
    pub job: Job,
    /// What the engine answers, line by line.
    pub event: Event,
    /// What `tiltyard-engine describe` prints.
    pub catalogue: Catalogue,
    /// What `tiltyard-engine pool` reads; it prints events.
    pub pool: Pool,
    /// What a runner is asked.
    pub request: RunnerRequest,
    /// What it says beside the events of trials.
    pub line: RunnerLine,
    /// What an agent is asked.
    pub host_request: HostRequest,
    /// What it says.
    pub host_line: HostLine,
}

/// The JSON Schema of [`Wire`] as text. Deriving it at run time would take 400 kB of the engine.
pub const SCHEMA: &str = include_str!("../../../schema/wire.schema.json");

/// The JSON Schema (draft 2020-12) of [`Wire`], from which [`SCHEMA`] is written.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Wire).to_value()
}
