//! A timed region of several threads: its metrics, the calls at its boundaries, and the four ways
//! in which the threads of several workloads go through their files.

use kit::{Calls, List};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{MetricCard, Role, Sample, Unit};

/// What the metrics of a region are named after.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// The start of their names.
    pub name: &'static str,
    /// As a heading shows it.
    pub label: &'static str,
}

/// One of its metrics. Rates are better when higher, times when lower.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The end of its name.
    pub ending: &'static str,
    /// The end of its heading.
    pub label: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Whether verdicts are given on it.
    pub role: Role,
    /// One sentence.
    pub about: &'static str,
}

impl Metric {
    /// One that explains another.
    pub const fn detail(
        (ending, label): (&'static str, &'static str),
        unit: Unit,
        about: &'static str,
    ) -> Self {
        Self {
            ending,
            label,
            unit,
            role: Role::Detail,
            about,
        }
    }

    /// The one that verdicts are given on: it has the name of the region.
    pub const fn headline(unit: Unit, about: &'static str) -> Self {
        Self {
            role: Role::Headline,
            ..Self::detail(("", ""), unit, about)
        }
    }
}

impl Region {
    /// A metric of it, as `describe` lists it.
    pub fn card(self, metric: Metric) -> MetricCard {
        let name = self.name.to_owned() + metric.ending;
        let label = self.label.to_owned() + metric.label;
        MetricCard::new(name, label, metric.unit, metric.role, metric.about)
    }

    /// The mean time of a kind of call at a point of the grid; none without such calls.
    pub fn sample_of_call(
        self,
        call: BoundaryCall,
        at: Map<String, Value>,
        calls: &BoundaryCalls,
    ) -> Option<Sample> {
        calls.histogram(call).sample(self.card(call.metric()), at)
    }
}

/// A call at a boundary of a region, once per file: it is part of the region's time, and is also
/// timed separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryCall {
    /// Opening the file and, where that is done, giving it its size.
    Open,
    /// Waiting until it is on the device.
    Fsync,
    /// Closing it.
    Close,
}

impl From<BoundaryCall> for usize {
    fn from(call: BoundaryCall) -> Self {
        call as usize
    }
}

/// The calls of one thread, or of all, in one region.
pub type BoundaryCalls = Calls<3>;

impl BoundaryCall {
    /// The metric of its mean time.
    pub fn metric(self) -> Metric {
        let (names, about) = match self {
            BoundaryCall::Open => (("_open_time", " open"), "Mean time to open a file."),
            BoundaryCall::Fsync => (
                ("_fsync_time", " fsync"),
                "Mean time to wait, at the end, until a file is on the device.",
            ),
            BoundaryCall::Close => (("_close_time", " close"), "Mean time to close a file."),
        };
        Metric::detail(names, Unit::Second, about)
    }
}

/// What all threads do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Write files from start to end.
    Write,
    /// Write at random places.
    RandomWrite,
    /// Read files from start to end.
    Read,
    /// Read at random places.
    RandomRead,
}

impl Phase {
    /// Whether data go out; otherwise they come in.
    pub fn is_write(self) -> bool {
        matches!(self, Phase::Write | Phase::RandomWrite)
    }

    /// Whether places are chosen at random.
    pub fn is_random(self) -> bool {
        matches!(self, Phase::RandomWrite | Phase::RandomRead)
    }

    /// What its metrics and counters are named after.
    pub fn region(self) -> Region {
        let (name, label) = match self {
            Phase::Write => ("write", "write"),
            Phase::RandomWrite => ("random_write", "random write"),
            Phase::Read => ("read", "read"),
            Phase::RandomRead => ("random_read", "random read"),
        };
        Region { name, label }
    }
}

/// The phases `asked` for, in the `order` in which a workload executes them.
pub fn ordered(asked: List<Phase>, order: [Phase; 4]) -> List<Phase> {
    let in_order = List::from(order).filtered(|phase| asked.contains(phase));
    in_order.unwrap_or(asked)
}
