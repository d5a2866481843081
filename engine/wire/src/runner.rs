//! What passes between the lab and a runner: the engine as a process that executes job after job.
//!
//! Requests go in, one JSON object a line. Out come the lines of each trial as `run` prints them,
//! and between them the runner's own: each is an [`RunnerLine`] behind the character RS
//! (RFC 7464), which cannot stand in JSON, so that a trial that was killed in the middle of a line
//! is told from what the runner says of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::{HostSeen, HostSettle, HostSettled, HostWatchBegin};

/// Stands before each line of the runner's own.
pub const RECORD_SEPARATOR: u8 = 0x1e;

/// What a runner can be asked. One trial runs at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunnerRequest {
    /// Execute a job, given as the text of its document. Answered by the lines of the trial and
    /// `ended`. One that is held says `ready` before each of these, and waits for `go`.
    Run {
        job: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<Held>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bracket: Option<Bracket>,
    },
    /// Begin what the trial is ready for when CLOCK_MONOTONIC here shows this; at once if that has
    /// passed.
    Go { at_ns: u64 },
    /// Tell the time. Answered by `clock`, also while a trial runs.
    Clock {},
    /// End the trial that runs: it removes its files. One that has not ended 15 s later is killed.
    Stop {},
    /// Begin the lease again. Answered by `beat`, also while a trial runs.
    Beat {},
}

/// What is done on the host of a runner just before a trial and just after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bracket {
    /// Before it the disks come to rest; the runner says `settled` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<HostSettle>,
    /// Counters are read before and after it; `ended` has what went on. The runner is ours.
    pub watch: HostWatchBegin,
}

/// Before what a trial waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Held {
    /// Each timed region: several clients begin it at the same instant.
    Regions = 1,
    /// Each measured execution of a program, with what is executed before it: several trials take
    /// turns.
    Executions = 2,
}

impl Held {
    /// From its number.
    pub fn of(number: u8) -> Option<Self> {
        [Self::Regions, Self::Executions]
            .into_iter()
            .find(|held| *held as u8 == number)
    }
}

/// One line of the runner's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerLine {
    pub runner: RunnerReply,
}

/// What a runner says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerReply {
    /// First line: it is ready.
    Hello {
        protocol: u32,
        /// Version of the engine.
        engine: String,
    },
    /// The trial has ended, with all that it started.
    Ended {
        /// Its exit status; negative is the signal that killed it.
        status: i32,
        /// The end of what it wrote for people.
        said: String,
        /// What went on on its host, if it was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<HostSeen>>,
    },
    /// The disks have come to rest, and the trial begins.
    Settled(HostSettled),
    /// It is still there.
    Beat {},
    /// A trial that is held is ready for what it waits before.
    Ready {},
    /// CLOCK_MONOTONIC of this host, in ns.
    Clock { now_ns: u64 },
    /// A request was not carried out, and why.
    Refused { message: String },
}
