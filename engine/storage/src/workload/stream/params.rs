//! What can be asked of the workload, and what is refused.

use kit::content::Filling;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{AccessKind, Failure, Timing, Unit};

use crate::access::check_cache_limit;
use crate::workload::blocks::measures::Kind;
use crate::workload::blocks::params::{BackendName, Common, Fill, Grid};
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

/// Parameters of the workload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Size of the file of each thread; several make a grid. What does not fill a block is left
    /// off.
    #[schemars(extend("amount" = "bytes", "least" = 65_536))]
    pub file: List<Size>,
    /// Bytes per read or write; several make a grid.
    #[schemars(extend("within" = "file"))]
    pub block: List<Size>,
    /// Blocks in flight at once in each thread; several make a grid. More than 1 needs a backend
    /// with a queue.
    pub depth: List<u32>,
    /// Threads that work at once, each with a file of its own; several make a grid.
    pub threads: List<u32>,
    /// What is done, always in this order. A file that is not written first is laid out, untimed.
    pub phases: List<Phase>,
    /// Wait, inside the timed region of the phases that write, until it is on the device.
    pub include_fsync: bool,
    /// Where reads are served from: the page cache; the device, through a page cache that is too
    /// small; or the device by O_DIRECT. It is verified: a trial that was not what is declared
    /// here has failed.
    pub access: AccessKind,
    /// With access `out-of-cache`: how much the page cache may hold. Left out: a sixteenth of the
    /// files, at least 4M. What the engine itself needs comes on top. No smaller than the
    /// machine's memory: unbounded, which needs no root but files of several times the memory.
    #[schemars(extend("amount" = "bytes", "least" = 4_194_304))]
    pub cache_limit: Option<Size>,
    /// What is written: `random`, `zeroes`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill>,
    /// Compare eight bytes per page of every block read, inside the timed region.
    pub verify: bool,
    /// How often the clock is read; latencies need it per operation.
    pub timing: Timing,
    /// How blocks are moved.
    pub backend: BackendName,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            file: [Size(64 << 20)].into(),
            block: [Size(64 << 10)].into(),
            depth: [1].into(),
            threads: [1].into(),
            phases: Phase::ORDER.into(),
            include_fsync: false,
            access: AccessKind::InCache,
            cache_limit: None,
            content: Filling::Named(Fill::Random),
            verify: false,
            timing: Timing::Operation,
            backend: BackendName::Sync,
        }
    }
}

impl Params {
    /// Reads and checks.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let mut params: Self = params::parse(parameters)?;
        params.grid().check(params.backend, params.access)?;
        check_cache_limit(params.access, params.cache_limit)?;
        params.phases = params.phases.sorted();
        Ok(params)
    }

    /// What both primitives have.
    pub fn common(&self) -> Common<'_> {
        Common {
            grid: self.grid(),
            include_fsync: self.include_fsync,
            access: self.access,
            cache_limit: self.cache_limit,
            content: self.content,
            verify: self.verify,
            timing: self.timing,
            backend: self.backend,
        }
    }

    /// What spans the grid.
    pub fn grid(&self) -> Grid<'_> {
        Grid {
            file: &self.file,
            block: &self.block,
            depth: &self.depth,
            threads: &self.threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::assert_refusals_name;

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
