//! What passes between the lab and an agent: the engine as what reads and changes a host.
//!
//! A request is one JSON object on a line; an answer is a [`HostLine`] behind the character RS, as
//! a runner's own lines are. Neither is longer than [`HOST_LINE_BYTES`]. An answer bears the number
//! of its request; requests are carried out one after the other, and a beat is answered meanwhile.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::end::Direct;
use crate::leave::{HostLeave, HostTakeUp};
use crate::machine::{HostHeld, HostHold, HostLetGo};
use crate::ops::{HostDid, HostOps, HostProgress, HostRecover, HostUndo, HostUndone};
use crate::start::{HostServer, HostServers};

/// The longest request and the longest answer: a host with 500 processors has 3 MiB to tell.
pub const HOST_LINE_BYTES: usize = 8 << 20;

/// What an agent is asked: one of `read`, `run`, `settle`, `watch`, `ops`, `undo`, `recover`, `leave`, `take_up`,
/// `hold`, `let_go`, `servers`, `cancel` and `beat`. All but the last two have a number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<HostRead>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<HostRun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<HostSettle>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<HostWatch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<HostOps>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<HostUndo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recover: Option<HostRecover>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<HostLeave>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take_up: Option<HostTakeUp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HostHold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_go: Option<HostLetGo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<HostServers>,
    /// The ops of this number are not to go on: they fail as soon as they can, and are taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<HostBeat>,
}

/// What is to be read; nothing is changed by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostRead {
    /// Absolute patterns of files: `*`, `?` and `[0-9]` stand for a part of one name, and for a dot
    /// at its begin only where it is written.
    pub files: Vec<String>,
    /// Absolute patterns of what may be there; it is not opened.
    pub links: Vec<String>,
    /// Names of files of control groups, `memory.max`: that of the agent's group and of each above it is
    /// among `files`.
    pub limits: Vec<String>,
    /// Names of programs, or their absolute paths.
    pub programs: Vec<String>,
    /// Absolute paths of which the file system's space is to be told.
    pub space: Vec<String>,
    /// Commands that only tell: program and arguments. Each has 60 s.
    pub outputs: Vec<Vec<String>>,
    /// Absolute paths of block devices that are to be described.
    pub devices: Vec<String>,
    /// Absolute paths of block devices of which it is to be told who uses them.
    pub users: Vec<String>,
    /// Absolute paths of directories in which a file is opened for direct I/O; it is made for that, and
    /// removed.
    pub direct: Vec<String>,
}

/// A command: it gets a session of its own, and whatever it has started ends with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRun {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Instead of the agent's; messages are in English (`LC_ALL=C`) either way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
    /// What it reads; nothing if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// After so many seconds it is ended, and that is a failure.
    #[serde(default = "minute")]
    pub limit_s: f64,
    /// Exit codes that are no failure; 128 and a signal's number stand for that signal.
    #[serde(default = "success")]
    pub ok: Vec<i32>,
}

fn minute() -> f64 {
    60.0
}

fn success() -> Vec<i32> {
    vec![0]
}

/// What was written is to reach the disks, and who else uses them gets a moment to come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSettle {
    /// Seconds that it waits for others at most, 3600 at most; 0: nothing is waited for.
    pub limit_s: f64,
    /// Whether what is dirty is written first: sync(2).
    pub sync: bool,
}

/// The host's counters, while something runs there: they are read now, and again when they are to
/// be told. The agent sleeps in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HostWatch {
    /// From now on; the number of this request is that of the watch.
    Begin(HostWatchBegin),
    /// What has happened since it has begun, or was told before.
    Tell(HostWatchTell),
    /// The same, and it is of no use any more.
    Last(HostWatchTell),
    /// It is of no use any more.
    End(u64),
}

/// What is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostWatchBegin {
    pub who: HostWho,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<HostDisk>,
}

/// Whose work is nobody else's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostWho {
    /// Processes that are ours, with all that they have started.
    pub ours: Vec<u32>,
    /// The processes of the system under test, with all that they have started.
    pub servers: Vec<u32>,
    /// Paths of programs: whoever executes one of them is ours, with all that it has started. A relative
    /// one begins where the agent was started.
    pub programs: Vec<String>,
    /// The same of programs that serve: their time is told with that of the servers.
    pub serving: Vec<String>,
}

/// What the work lies on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostDisk {
    /// The whole disk, `sda`.
    pub disk: String,
    /// The loop device on it that is ours alone, `loop0`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_device: Option<String>,
    /// Whether an image on the disk is overwritten where it is, so that whatever the disk moves
    /// beyond the loop device is others'.
    pub is_in_place: bool,
}

/// Of which watch, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostWatchTell {
    pub of: u64,
    /// Those of now.
    #[serde(default)]
    pub who: HostWho,
    /// The CPUs that have measured, none for all; `None`: they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
}

/// A sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostBeat {}

/// A line of an agent: one of its forms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HostLine {
    /// First line: it is ready.
    Hello { hello: HostHello },
    /// A request was carried out.
    Done { id: u64, done: HostDone },
    /// A request was not carried out, or what it asked for has failed. One without a number that
    /// can be read has none here.
    Failed {
        id: Option<u64>,
        failed: HostFailure,
    },
    /// Ops are being carried out.
    Progress { id: u64, progress: HostProgress },
    /// It is still there.
    Beat { beat: HostBeat },
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostHello {
    pub protocol: u32,
    /// Version of the engine.
    pub engine: String,
    /// Of the operating system, as in `linux`.
    pub system: String,
    /// As `uname -m` has it.
    pub machine: String,
    /// Release of the kernel.
    pub release: String,
    /// Its process there.
    pub pid: u32,
    /// The user as whom it reads and changes.
    pub uid: u32,
    /// Processors that it may use, ascending.
    pub cpus: Vec<u32>,
    /// Changes with each boot; empty where the kernel does not tell it.
    pub boot: String,
    /// The requests that it knows.
    pub does: Vec<String>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostDone {
    Read(HostFound),
    Run(HostOutput),
    Settled(HostSettled),
    /// Of a watch that has begun or ended there is nothing.
    Watch(Box<HostSeen>),
    Ops(HostDid),
    Undone(HostUndone),
    /// It could be booted, or is being booted.
    Left(HostBeat),
    /// The name of the ledger that is this agent's now; empty: nothing was kept.
    TakenUp(String),
    Held(HostHeld),
    /// In the order in which they were asked for.
    Servers(Vec<HostServer>),
}

/// How disks have come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSettled {
    /// What it took, in seconds.
    pub elapsed_s: f64,
    /// Dirty or under write-back at the end.
    pub dirty_bytes: u64,
    /// Share of the last moment in which a task waited for a disk; `None`: not looked at, or not told by
    /// the kernel.
    pub waiting_share: Option<f64>,
}

/// What went on on a host between two readings of its counters. What it does not tell is `None`:
/// not available, which is not the same as nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSeen {
    /// Between the two, in seconds.
    pub elapsed_s: f64,
    /// Bytes of ours on the disk; without a loop device, all that is not known to be others'.
    pub own_bytes: Option<u64>,
    /// Bytes of others.
    pub foreign_bytes: Option<u64>,
    /// CPU time of the servers; `None` if there were none.
    pub servers_s: Option<f64>,
    /// How many CPUs the next two are of; `None`: they are not known, or not there.
    pub external_cpus: Option<u32>,
    /// CPU time that others had of them.
    pub external_s: Option<f64>,
    /// Time that the hypervisor gave to others.
    pub external_steal_s: Option<f64>,
    /// cpu, io, memory → the longest time that one control group of others waited for it.
    pub foreign_waits_s: Option<BTreeMap<String, f64>>,
    /// In and out.
    pub swapped_pages: Option<u64>,
    pub allocation_stalls: Option<u64>,
    pub compaction_stalls: Option<u64>,
    pub huge_page_fallbacks: Option<u64>,
    /// How often CPUs were slowed down for heat.
    pub throttled: Option<u64>,
    /// Periods in which a quota of CPU time was used up; `None` where no group has one.
    pub quota_throttled: Option<u64>,
    /// How long CPUs were kept from processes for it, the sum over CPUs.
    pub quota_throttled_s: Option<f64>,
    /// Mean of the CPUs, over nominal.
    pub frequency: Option<f64>,
    /// Sensor → reading at the begin.
    pub temperatures_c: BTreeMap<String, f64>,
    /// All that were in force, in order of name.
    pub clock_sources: Vec<String>,
    /// How far the time of day was set, away from a clock that nobody sets.
    pub clock_step_s: f64,
    /// What the kernel reported as errors, the first few; `None` where its log may not be read.
    pub kernel_errors: Option<Vec<String>>,
}

/// What was found. What is not there, or cannot be read, is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFound {
    /// Path → text; what is no UTF-8 in it is replaced.
    pub files: BTreeMap<String, String>,
    /// Path → where it really is.
    pub links: BTreeMap<String, String>,
    /// Name → path.
    pub programs: BTreeMap<String, String>,
    /// Path → space of its file system.
    pub space: BTreeMap<String, HostSpace>,
    /// As they were asked for.
    pub outputs: Vec<HostOutput>,
    /// Path → what is known of that block device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, HostDevice>,
    /// Path → who uses that block device, as a clause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, String>,
    /// Path → what became of direct I/O there; left out where no file can be made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub direct: BTreeMap<String, HostDirect>,
    /// What is not whole or has no room in the answer: a file or link by its path, or by its
    /// pattern where that means too many.
    pub cut: Vec<String>,
}

/// A block device by what stays the same when names and numbers change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDevice {
    /// The kernel's own name: `/dev/sdb`.
    pub node: String,
    /// `major:minor`
    pub number: String,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partuuid: Option<String>,
    /// Of a loop device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// Why there is none; then nothing else is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What becomes of a file that is opened for direct I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDirect {
    pub is_refused: bool,
    /// As statx(2) has it; `None` where kernel or file system do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Direct>,
}

/// Space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSpace {
    /// As it is told who asks in which blocks to read: `f_bsize` of statvfs(3).
    pub block_bytes: u64,
    pub size_bytes: u64,
    /// Without what is kept for root.
    pub available_bytes: u64,
}

/// How a command has ended, and what it has printed; what is no UTF-8 in it is replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostOutput {
    /// As it was asked for, where several were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// `None`: it was ended by a signal, or could not be started, and its standard error says why.
    pub status: Option<i32>,
    /// Number of the signal that has ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Whether it has printed more.
    pub cut: bool,
}

/// Why there is nothing else to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFailure {
    pub kind: HostFailureKind,
    /// For people.
    pub text: String,
    /// What could not be taken back, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostFailureKind {
    /// It is no request, or asks for what nobody can do.
    Request,
    /// The host has no such program.
    Lacks,
    /// It is not done because something could be lost.
    Refused,
    /// Another run has it at this moment.
    Busy,
    /// The command has ended with a code that is not accepted, or could not be started.
    Failed,
    /// It has taken too long, or there is too much to answer.
    Limit,
    /// It was cancelled, or the agent was ended meanwhile.
    Interrupted,
}
