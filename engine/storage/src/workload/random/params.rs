//! What can be asked of the workload, and what is refused.

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::limits::within;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{AccessKind, Failure, Timing};

use crate::access::check_cache_limit;
use crate::workload::blocks::params::{BackendName, Cell, Common, Fill, Grid};

const OPERATIONS_MAX: u64 = 1_000_000_000_000;
const RUNTIME_MAX_S: f64 = 86_400.0;
const RATE_MAX: f64 = 100_000_000.0;
const THETA_MAX: f64 = 10.0;

/// Which places are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offsets {
    /// Each block is as likely as any other, every time.
    Uniform,
    /// Each block once, in a random order; then each once in another.
    Permutation,
    /// A few blocks are likely, by Zipf's law with the exponent `theta`.
    Zipf,
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
    /// Share of reads in percent; the others are writes. Which is which is drawn each time.
    #[schemars(range(min = 0, max = 100))]
    pub read_percent: u8,
    /// Which places are drawn.
    pub offsets: Offsets,
    /// Exponent of Zipf's law; 0.99 is what the YCSB benchmark uses.
    #[schemars(range(max = THETA_MAX))]
    pub theta: f64,
    /// Operations of each thread. Left out, and without a runtime, as many as its file has
    /// blocks.
    #[schemars(range(min = 1, max = OPERATIONS_MAX))]
    #[schemars(extend("amount" = "count"))]
    pub operations: Option<u64>,
    /// Seconds in which operations may begin; whichever limit comes first ends the trial.
    #[schemars(range(max = RUNTIME_MAX_S))]
    #[schemars(extend("amount" = "seconds", "least" = 0.1))]
    pub runtime_s: Option<f64>,
    /// Operations per second of all threads together: each is due at an instant fixed beforehand,
    /// and its latency counts from there. Left out, each begins when there is room for it.
    #[schemars(range(max = RATE_MAX))]
    pub rate: Option<f64>,
    /// Wait, inside the timed region, until what was written is on the device.
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
    /// Seed of places and mix; each thread has a sequence of its own.
    pub seed: u64,
    /// How blocks are moved.
    pub backend: BackendName,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            file: [Size(64 << 20)].into(),
            block: [Size(4 << 10)].into(),
            depth: [1].into(),
            threads: [1].into(),
            read_percent: 100,
            offsets: Offsets::Uniform,
            theta: 0.99,
            operations: None,
            runtime_s: None,
            rate: None,
            include_fsync: false,
            access: AccessKind::InCache,
            cache_limit: None,
            content: Filling::Named(Fill::Random),
            verify: false,
            timing: Timing::Operation,
            seed: 1,
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
        let params: Self = params::parse(parameters)?;
        params.grid().check(params.backend, params.access)?;
        check_cache_limit(params.access, params.cache_limit)?;
        within("read_percent", params.read_percent, 0..=100)?;
        if let Some(operations) = params.operations {
            within("operations", operations, 1..=OPERATIONS_MAX)?;
        }
        positive("theta", Some(params.theta), THETA_MAX)?;
        positive("runtime_s", params.runtime_s, RUNTIME_MAX_S)?;
        positive("rate", params.rate, RATE_MAX)?;
        if params.rate.is_some() && params.timing == Timing::Pass {
            let message = "parameter \"timing\": what a rate is for are latencies; \
                           use \"operation\" with it";
            return Err(bad_parameter("timing", message));
        }
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

    /// Operations of one thread, unless time is up before.
    pub fn operations(&self, cell: Cell) -> u64 {
        match (self.operations, self.runtime_s) {
            (Some(operations), _) => operations,
            (None, Some(_)) => u64::MAX,
            (None, None) => cell.blocks(),
        }
    }

    /// Time in which operations may begin, in ns.
    pub fn runtime_ns(&self) -> u64 {
        self.runtime_s
            .map_or(u64::MAX, |runtime_s| (runtime_s * 1e9) as u64)
    }
}

/// A number above 0 and up to `max`, where there is one.
fn positive(parameter: &str, value: Option<f64>, max: f64) -> Result<(), Failure> {
    match value {
        Some(value) if !(value > 0.0 && value <= max) => Err(bad_parameter(
            parameter,
            format!("parameter \"{parameter}\": {value} is out of range; use more than 0 and up to {max}"),
        )),
        _ => Ok(()),
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
    fn the_first_limit_counts_and_without_one_the_file() {
        let operations = |job| {
            let params = parse(job).unwrap();
            let cell = params.grid().cells()[0];
            (params.operations(cell), params.runtime_ns())
        };
        assert_eq!(operations(json!({"file": "64k"})), (16, u64::MAX));
        assert_eq!(operations(json!({"operations": 5})), (5, u64::MAX));
        let timed = json!({"runtime_s": 0.5});
        assert_eq!(operations(timed), (u64::MAX, 500_000_000));
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"file": 0}), "file"),
                (json!({"file": "4k", "block": "8k"}), "block"),
                (json!({"block": 1000, "access": "direct"}), "block"),
                (json!({"depth": 0}), "depth"),
                (json!({"depth": 2}), "depth"),
                (json!({"threads": 0}), "threads"),
                (json!({"read_percent": 101}), "read_percent"),
                (json!({"offsets": "gauss"}), "offsets"),
                (json!({"theta": 0}), "theta"),
                (json!({"operations": 0}), "operations"),
                (json!({"runtime_s": -1}), "runtime_s"),
                (json!({"access": "direct", "backend": "mmap"}), "access"),
                (json!({"rate": 0}), "rate"),
                (json!({"rate": 5, "timing": "pass"}), "timing"),
                (json!({"runtime": 1}), "runtime"),
            ],
        );
    }
}
