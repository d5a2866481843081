//! What can be asked of the workload, and what is refused.

use kit::content::Filling;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{AccessKind, Failure, Timing, Unit};

use crate::access::{cache_limit_help, check_cache_limit, CACHE_LIMITS};
use crate::workload::blocks::measures::Kind;
use crate::workload::blocks::params::*;
use crate::workload::region::Region;

/// What all threads do at once.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Write an empty file from start to end.
    Write,
    /// Write over a whole file.
    Rewrite,
    /// Read the file.
    Read,
}

impl Phase {
    /// The phases, in the order in which they are executed.
    pub const ORDER: [Phase; 3] = [Phase::Write, Phase::Rewrite, Phase::Read];

    /// What is measured of it.
    pub fn kind(self) -> Kind {
        let (name, label) = match self {
            Phase::Write => ("stream_write", "stream write"),
            Phase::Rewrite => ("stream_rewrite", "stream rewrite"),
            Phase::Read => ("stream_read", "stream read"),
        };
        Kind {
            region: Region { name, label },
            headline: Unit::BytesPerSecond,
        }
    }
}

block_parameters! { block = Size(64 << 10), {
    /// What is done, always in this order. A file that is not written first is laid out, untimed.
    pub phases: List<Phase> = Phase::ORDER.into();
    /// Wait, inside the timed region of the phases that write, until it is on the device.
    pub include_fsync: bool = false;
} {}}

impl Params {
    /// Reads and checks.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let mut params: Self = params::read(parameters)?;
        params.common().grid.check(params.backend, params.access)?;
        check_cache_limit(params.access, params.cache_limit)?;
        params.phases = params.phases.sorted();
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use testing::assert_refusals_name;

    fn parse(value: Value) -> Result<Params, Failure> {
        Params::parse(value.as_object().unwrap())
    }

    #[test]
    fn phases_are_ordered() {
        let params = parse(json!({"phases": ["read", "write"]})).unwrap();
        assert_eq!(&*params.phases, [Phase::Write, Phase::Read]);
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"file": "4k", "block": "8k"}), "block"),
                (json!({"block": 1000, "access": "direct"}), "block"),
                (json!({"depth": 2, "backend": "mmap"}), "depth"),
                (json!({"access": "direct", "backend": "mmap"}), "access"),
                (json!({"phases": "append"}), "phases"),
                (json!({"runtime_s": 1}), "runtime_s"),
            ],
        );
    }
}
