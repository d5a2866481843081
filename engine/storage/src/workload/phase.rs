//! The four ways in which several threads go through files, shared by the workloads that know no
//! others. Each has its own order of them.

use kit::List;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edges::Region;

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

    /// The start of the names of its metrics and counters.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Write => "write",
            Phase::RandomWrite => "random_write",
            Phase::Read => "read",
            Phase::RandomRead => "random_read",
        }
    }

    /// What the metrics of the calls at its ends are named after.
    pub fn region(self) -> Region {
        Region {
            name: self.name(),
            label: self.label(),
        }
    }

    /// As a heading shows it.
    pub fn label(self) -> &'static str {
        match self {
            Phase::Write => "write",
            Phase::RandomWrite => "random write",
            Phase::Read => "read",
            Phase::RandomRead => "random read",
        }
    }
}

/// The phases `asked` for, in the `order` in which a workload executes them.
pub fn ordered(asked: List<Phase>, order: [Phase; 4]) -> List<Phase> {
    let in_order = List::from(order).filtered(|phase| asked.contains(phase));
    in_order.unwrap_or(asked)
}
