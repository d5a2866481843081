//! What the lab asks of the engine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Output;

/// One trial: one workload on one target.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Version of the messages; see [`crate::PROTOCOL`].
    pub protocol: u32,
    /// Name of the workload, as `describe` lists it.
    pub workload: String,
    /// Parameters of the workload; those left out take their defaults.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// What the workload works on.
    pub target: Target,
    /// Conditions the engine shall bring about before it measures.
    #[serde(default)]
    pub conditions: ConditionsWanted,
}

/// What the workload works on: files in a directory, or a server of the network. Each workload
/// takes one of them, as its card says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// An existing directory. The engine makes its files in it and removes them again; it never
    /// overwrites a file that is already there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Where `tiltyard-engine serve` listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<FarEnd>,
    /// Values of the system under test that stand in commands as `{name}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Where servers of programs are started that are `at` the server's end; without,
    /// they are started beside the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_place: Option<FarPlace>,
    /// What a program is expected to print, where a command compares it; by default what its
    /// first execution prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Output>,
    /// Whether a job that is only looked at is for another host: programs, paths, users and
    /// processors that it names are there, and are not looked for here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The part of a program's work that this is, where some is done once for several trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
}

/// A part of a program's work, in a directory that several parts share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub part: Part,
    /// Name of the directory, in `target.directory`: made by a setup, removed by a cleanup.
    pub room: String,
}

/// What is executed of a program's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    StudySetup,
    TurnSetup,
    /// A trial between setup and cleanup of its turn.
    Trial,
    TurnCleanup,
    StudyCleanup,
}

impl Target {
    /// Files in `directory`.
    pub fn directory(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: Some(directory.into()),
            ..Self::default()
        }
    }

    /// The server `far`.
    pub fn far(far: FarEnd) -> Self {
        Self {
            far: Some(far),
            ..Self::default()
        }
    }
}

/// A server: another `tiltyard-engine`, on this host or another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FarEnd {
    /// Its name or address, IPv4 or IPv6. Data go there too.
    pub address: String,
    /// Port of its control connection.
    #[serde(default = "default_port")]
    pub port: u16,
    /// The secret that it shares with those who may use it. It never passes the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Address of this host that connections start from; the kernel chooses where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
}

/// Port of the control connection, unless told.
pub const FAR_PORT: u16 = 12_866;

fn default_port() -> u16 {
    FAR_PORT
}

/// The server's end of a system, as a place of this host where programs are started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FarPlace {
    /// Its address, IPv4 or IPv6.
    pub address: IpAddr,
    /// File of its network namespace; that of the engine where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<PathBuf>,
    /// CPUs that its programs may use; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
}

/// Conditions of measurement that decide results on a virtual or busy machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionsWanted {
    /// CPUs that the measuring threads are pinned to, in order; empty means: the engine chooses
    /// the highest-numbered CPU it may use.
    pub cpus: Vec<u32>,
    /// Leave the threads where the scheduler puts them.
    pub unpinned: bool,
    /// NUMA node whose CPUs and memory the measuring threads use; memory while there is some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa: Option<u32>,
    /// Keep the CPUs that are not measuring awake with an idle-priority spinner, because waking
    /// a halted virtual CPU can cost more than the I/O that is measured.
    pub keep_awake: bool,
    /// Before a timed region begins, wait until the kernel has done what it puts off; before reads
    /// from the page cache are timed, read each page until the kernel does nothing more at it than
    /// at any later read. Where instructions are counted, neither is part of an operation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settle: bool,
    /// Whoever asks for the trial counts what others use meanwhile, once for both: `foreign_s` and
    /// `kernel_threads_s` are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub watched: bool,
    /// A known delay in front of calls, to prove that the instrument sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
}

/// A delay that is spun in front of calls of the measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// Length of each delay, in ns.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub delay_ns: u64,
    /// Every so many calls of a thread are delayed once.
    #[serde(default = "every_call")]
    #[schemars(range(min = 1))]
    pub every: u32,
    /// Which calls; empty means all.
    #[serde(default)]
    pub into: Vec<Call>,
}

/// The longest delay that can be injected, in ns.
pub const LONGEST_DELAY_NS: u64 = 1_000_000_000;

fn every_call() -> u32 {
    1
}

/// A sort of call that a workload makes of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Reads of a record, by whichever backend.
    Read,
    /// Writes of a record.
    Write,
    /// fsync(2), and msync(2) of a whole mapping.
    Sync,
    /// open(2) that makes the file where there is none.
    Create,
    /// open(2) of what is there.
    Open,
    /// unlink(2).
    Remove,
    /// Sends of a message.
    Send,
    /// Receives.
    Receive,
    /// connect(2).
    Connect,
}

impl Call {
    /// open(2), as its flags say.
    #[inline]
    pub const fn of_open(makes: bool) -> Self {
        match makes {
            true => Self::Create,
            false => Self::Open,
        }
    }

    /// One record out or in.
    #[inline]
    pub const fn of_transfer(is_write: bool) -> Self {
        match is_write {
            true => Self::Write,
            false => Self::Read,
        }
    }
}
