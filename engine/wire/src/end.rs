//! The last line: outcome, sums that must add up, and the evidence for what was measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Network;

/// How the trial went.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct End {
    pub outcome: Outcome,
    /// Why it is not `done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Operations in timed regions: the sum over samples that count work once.
    pub operations: u64,
    /// Bytes moved in timed regions.
    pub bytes: u64,
    /// Wall time from hello to end, in seconds.
    pub elapsed_s: f64,
    /// Checksum over the data that was read, so that no read can be elided; hex.
    pub checksum: String,
    /// Exact counts of the workload's own kind (PostMark: files created, read, …).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// What the instrument itself costs here.
    pub floor: Floor,
    /// Where the data came from, as declared and as found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// What both ends of the network saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// How programs were started and held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Programs>,
    /// Resources used, by us and by others, while the trial ran.
    pub usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything was measured as declared.
    Done,
    /// The work could not be done, or was not what was declared.
    Failed,
    /// A signal ended it.
    Interrupted,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub kind: FailureKind,
    /// One clear sentence: what, where, and what would be right.
    pub message: String,
    /// The parameter at fault, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}

/// Kinds of failure, each with its exit code (see `docs/reference/exit-codes.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The job is not one that the engine understands (2).
    BadJob,
    /// The host lacks something (3).
    HostLacks,
    /// Refused for safety: a file is in the way (4).
    Refused,
    /// No space left on the target (5).
    NoSpace,
    /// The kernel answered with another error (5).
    Io,
    /// The server cannot be reached, refused, or vanished (5).
    Far,
    /// A program did not start, or did not end or print as is expected of it (5).
    Program,
    /// Data read back were not the data written (5).
    Verification,
    /// The cache state was not the declared one (5).
    Access,
    /// A signal (130).
    Interrupted,
    /// A defect of the engine (1).
    Internal,
}

/// The cost of the instrument, measured before the trial.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// One clock read, in ns.
    pub clock_ns: f64,
    /// Smallest non-zero step of the clock, in ns.
    pub clock_step_ns: f64,
    /// One operation of the null backend in the same loop, in ns.
    pub operation_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKind {
    /// Reads are served from the page cache, which is filled with what it lacks before each test.
    InCache,
    /// Reads come from the device, through a page cache that is too small for the files and is
    /// emptied of them before each read test.
    OutOfCache,
    /// O_DIRECT: every record moves between the device and the buffer.
    Direct,
    /// Through whatever the page cache happens to hold, as the classic tools do: reported, and
    /// never confirmed.
    AsFound,
}

/// Cache state: declared, and what the counters say of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    pub declared: AccessKind,
    pub verdict: AccessVerdict,
    /// The evidence in words.
    pub reason: String,
    /// Bytes that timed reads asked for.
    pub read_bytes: u64,
    /// Bytes that the device delivered meanwhile, where the device has counters; through the
    /// page cache, to this process alone where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
    /// Bytes that timed writes handed over.
    pub written_bytes: u64,
    /// Bytes that reached the device meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_written_bytes: Option<u64>,
    /// Share of a file that was resident before a read test, 0 … 1: the smallest one when the
    /// cache is declared, the largest out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident: Option<f64>,
    /// Out of cache: the smallest share of the bytes of a read test that the device delivered,
    /// 0 … 1. The rest were hits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<f64>,
    /// Out of cache: the memory that page cache and engine had together, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Direct I/O alignment as statx reports it; absent where the file system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<Direct>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessVerdict {
    /// Counters agree with the declaration.
    Confirmed,
    /// Counters contradict it: the trial has failed.
    Contradicted,
    /// There is no counter that could tell.
    Unverified,
}

/// How the programs of a trial were started and held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Programs {
    pub held_by: HeldBy,
    /// Their environment, without the padding.
    pub environment: BTreeMap<String, String>,
    /// `/proc/sys/kernel/randomize_va_space`: 0 where the kernel puts all programs at the same
    /// addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub randomize_va_space: Option<u32>,
    /// Start of an empty shell, in seconds; subtracted from each execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_s: Option<f64>,
    /// Coefficient of variation of the last executions before the measured ones, where a steady
    /// state was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
}

/// What holds a program together with all that it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// A control group of version 2: it is made inside it.
    Cgroup2,
    /// A control group of version 1: it joins before it begins.
    Cgroup1,
    /// The engine becomes the parent of orphans. A process that has a parent outside is missed.
    #[default]
    Subreaper,
}

/// STATX_DIOALIGN, statx(2). Zero means that the file system does no direct I/O on this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Direct {
    pub memory_align: u32,
    pub offset_align: u32,
}

/// Deltas over the trial. What the kernel does not offer is absent, not zero.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Our CPU time in user mode, spinner included.
    pub user_s: f64,
    /// Our CPU time in the kernel.
    pub system_s: f64,
    /// CPU time of the process that started us (the lab and its display).
    pub parent_s: f64,
    /// CPU time of kernel threads: write-back, loop devices and the like. Like the next one absent
    /// where whoever asked for the trial counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_threads_s: Option<f64>,
    /// CPU time of everything else: the interference (`/proc/stat` busy time less the above).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_s: Option<f64>,
    /// Time stolen by the hypervisor as it admits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_s: Option<f64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
    /// The block device under the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Time in which some task waited (PSI `some`), in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Name in `/sys/block`.
    pub name: String,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    pub cpu_s: f64,
    pub io_s: f64,
    pub memory_s: f64,
}
