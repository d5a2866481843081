//! What the engine says while it works.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Direction, End, Inject, Unit};

/// One line of the engine's output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Event {
    /// First line: what will be done, every default resolved.
    Hello(Hello),
    /// How far the work is; for displays, not for analysis.
    Progress(Progress),
    /// A timed region has ended that began at an instant set from outside; its slices follow.
    Region(Region),
    /// One of several clients, in the stream that the lab makes of theirs; no engine sends it.
    Client(Client),
    /// A slice of time inside the trial. The slices sum to the totals in `end`.
    Interval(Interval),
    /// One measured value.
    Sample(Sample),
    /// How the kernel sees a connection at an instant.
    Connection(Connection),
    /// What a program printed, once for each different content.
    Output(Output),
    /// One execution of a program.
    Execution(Execution),
    /// Something the reader of the result should know.
    Warning(Warning),
    /// Last line: how it went, sums and evidence.
    End(Box<End>),
}

/// The effective configuration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    pub protocol: u32,
    /// Version of the engine.
    pub engine: String,
    pub workload: String,
    /// Every parameter with its resolved value.
    pub effective: Map<String, Value>,
    /// SHA-256 (hex) over workload name and `effective`: equal hashes mean equal work.
    pub hash: String,
    /// How time is taken.
    pub timing: Timing,
    /// Conditions as granted.
    pub conditions: Conditions,
}

/// How often the clock is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Two clock reads around a whole pass.
    Pass,
    /// One clock read per operation; the end of one is the start of the next.
    Operation,
}

/// Conditions as the kernel granted them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// CPUs the measuring threads are pinned to, or that programs may use; empty when threads are
    /// not pinned.
    pub cpus: Vec<u32>,
    /// NUMA node whose memory the measuring threads prefer, as the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<u32>,
    /// CPUs kept awake by a spinner.
    pub awake: Vec<u32>,
    /// The delay that is injected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Share of the work that is done, 0 … 1.
    pub done: f64,
    /// What is being done now, in a few words.
    pub what: String,
}

/// A timed region of a trial that is held, on the clock of its host.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// First instant by CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// Seconds between the two instants of the timing formula.
    pub elapsed_s: f64,
    /// Operations inside.
    pub operations: u64,
    /// Bytes inside.
    pub bytes: u64,
}

/// What one of several clients did, and when by the clock of the lab.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Number from 1, with its host where that is another one.
    pub name: String,
    /// Its verbatim stream, beside that of the trial.
    pub file: String,
    /// SHA-256 (hex) of that file.
    pub sha256: String,
    /// How far the clock of its host was ahead of the lab's at the last start.
    pub clock_ahead_s: f64,
    /// In order.
    pub regions: Vec<ClientRegion>,
}

/// A timed region of one client.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClientRegion {
    /// Seconds from when the first client began it until this one did.
    pub began_s: f64,
    /// How far that may be wrong, because clocks of two hosts were compared.
    pub uncertainty_s: f64,
    /// Seconds until it was done.
    pub elapsed_s: f64,
    /// Operations inside.
    pub operations: u64,
    /// Bytes inside.
    pub bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// End of the slice, in seconds since the timed work began.
    pub t_s: f64,
    /// Operations inside the slice.
    pub operations: u64,
    /// Bytes inside the slice.
    pub bytes: u64,
}

/// TCP_INFO of one connection at one end (tcp(7)); what the kernel does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// Seconds since the timed work began.
    pub t_s: f64,
    /// Number of the flow, from 0.
    pub flow: u32,
    pub end: WhichEnd,
    /// Smoothed round-trip time.
    pub rtt_s: f64,
    /// Its mean deviation.
    pub rtt_variance_s: f64,
    /// Smallest round-trip time that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_min_s: Option<f64>,
    /// Congestion window.
    pub cwnd_segments: u32,
    /// Bytes of data in a segment.
    pub mss_bytes: u32,
    /// Segments sent again since the connection began.
    pub retransmits: u64,
    /// Bytes per second that the path delivered most recently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_rate: Option<f64>,
    /// Bytes that the other end has acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_bytes: Option<u64>,
}

/// An end of a path.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WhichEnd {
    /// Where the job is.
    #[default]
    Near,
    /// Where `serve` is.
    Far,
}

/// What a program printed on one stream, or wrote to a file that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// SHA-256 (hex) of all that was printed; executions name it.
    pub sha256: String,
    /// Bytes that were printed.
    pub bytes: u64,
    /// What was kept, where it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What was kept in base64, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Whether less was kept than was printed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What a command of a program workload was executed for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Once in a trial, before its first execution.
    Setup,
    /// Before each execution, untimed.
    Prepare,
    /// An execution that is thrown away.
    Warmup,
    /// What is measured.
    #[default]
    Measure,
    /// What an execution printed is compared with what is expected, untimed; exit code 0: same.
    Compare,
    /// After each execution, untimed.
    Conclude,
    /// Once in a trial, after its last execution.
    Cleanup,
}

/// One execution of a command, with all processes that it started. What the kernel does not
/// count is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    pub step: Step,
    /// Number among those of its step, from 1.
    pub number: u32,
    /// Seconds from the start of the command to its end, less the start of the shell where it is
    /// a line for one; so are both CPU times.
    pub elapsed_s: f64,
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
    /// Largest resident set of one of its processes, in bytes.
    pub peak_memory_bytes: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Bytes that its processes caused to be read from devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that its processes caused to be written to devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Exit code; absent where a signal ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Name of the signal that ended it: SIGSEGV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// SHA-256 (hex) of what it printed on standard output, see [`Output`].
    pub stdout: String,
    /// The same of standard error.
    pub stderr: String,
    /// Bytes that were added to its environment, so that its memory lies elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub padding_bytes: u32,
    /// Slashes that were added to the path by which the kernel found it, to the same end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub path_bytes: u32,
    /// Files that it wrote and that were asked for: path → SHA-256 (hex), see [`Output`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One measured value with what it was computed from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Name of the metric, as `describe` lists it.
    pub metric: String,
    /// The value, in `unit`.
    pub value: f64,
    pub unit: Unit,
    pub direction: Direction,
    /// The point of the workload's grid that the value belongs to; sizes in bytes.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub at: Map<String, Value>,
    /// Operations that the value covers.
    pub operations: u64,
    /// Bytes that the value covers.
    pub bytes: u64,
    /// Seconds between the two instants of the timing formula.
    pub elapsed_s: f64,
    /// The figure the classic tool would have printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// Latency per operation, when timing is per operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Latency>,
}

/// A classic tool's own figure.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Native {
    pub value: f64,
    /// The tool's own unit, in its own spelling; `kB/s` is 1024 B/s in IOzone's tables.
    pub unit: String,
}

impl Native {
    /// A figure in the tool's unit.
    pub fn new(value: f64, unit: &str) -> Self {
        Self {
            value,
            unit: unit.to_owned(),
        }
    }
}

/// A log-linear histogram with the percentiles read from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of recorded operations; equals the sample's `operations`.
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    /// Absent below 10,000 operations: too few to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<u64>,
    /// Absent below 100,000 operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999: Option<u64>,
    /// Non-empty buckets as [lowest value in ns, count], ascending.
    pub buckets: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable name of this kind of warning.
    pub code: String,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}
