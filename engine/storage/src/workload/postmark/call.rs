//! The parts of an operation on a file that are timed one by one.

use kit::Calls;
use serde_json::Map;
use wire::{MetricCard, Role, Sample, Unit};

/// A part of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Opening a file that is not there.
    Create,
    /// Opening a file that is.
    Open,
    /// Reading all blocks of a file.
    Read,
    /// Writing all blocks of a new file, or all that are appended.
    Write,
    /// Closing a file; with buffering, what was written goes to the kernel then.
    Close,
    /// Removing a file.
    Unlink,
}

impl Call {
    /// In the order in which files meet them.
    pub const ALL: [Call; 6] = [
        Call::Create,
        Call::Open,
        Call::Read,
        Call::Write,
        Call::Close,
        Call::Unlink,
    ];

    /// Name, label and explanation of its metric.
    fn words(self) -> [&'static str; 3] {
        match self {
            Call::Create => ["create_time", "create", "Mean time to open a new file."],
            Call::Open => [
                "open_time",
                "open",
                "Mean time to open a file that is there.",
            ],
            Call::Read => [
                "read_time",
                "read",
                "Mean time to read all blocks of a file.",
            ],
            Call::Write => [
                "write_time",
                "write",
                "Mean time to write all blocks of a new file, or all that are appended.",
            ],
            Call::Close => ["close_time", "close", "Mean time to close a file."],
            Call::Unlink => ["unlink_time", "unlink", "Mean time to remove a file."],
        }
    }
}

impl From<Call> for usize {
    fn from(call: Call) -> Self {
        call as usize
    }
}

/// The calls of a run.
pub type CallsOfRun = Calls<{ Call::ALL.len() }>;

/// The metrics as `describe` lists them.
pub fn cards() -> impl Iterator<Item = MetricCard> {
    Call::ALL.into_iter().map(card)
}

fn card(call: Call) -> MetricCard {
    let [name, label, about] = call.words();
    MetricCard::new(name, label, Unit::Second, Role::Detail, about)
}

/// The values of all metrics whose calls there were.
pub fn samples(calls: &CallsOfRun) -> impl Iterator<Item = Sample> + '_ {
    let all = Call::ALL.into_iter();
    all.filter_map(|call| calls.histogram(call).sample(card(call), Map::new()))
}
