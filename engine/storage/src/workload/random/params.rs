//! What can be asked of the workload, and what is refused.

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{AccessKind, Failure, Timing};

use crate::access::{cache_limit_help, check_cache_limit, CACHE_LIMITS};
use crate::workload::blocks::params::*;

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

block_parameters! { block = Size(4 << 10), {
    /// Share of reads in percent; the others are writes. Which is which is drawn each time.
    pub read_percent: u8 = 100, in 0..=100;
    /// Which places are drawn.
    pub offsets: Offsets = Offsets::Uniform;
    /// Exponent of Zipf's law; 0.99 is what the YCSB benchmark uses.
    pub theta: f64 = 0.99, above 0.0 to THETA_MAX;
    /// Operations of each thread. Left out, and without a runtime, as many as its file has
    /// blocks.
    #[schemars(extend("amount" = "count", "least" = 100))]
    pub operations: Option<u64> = None, in 1..=OPERATIONS_MAX;
    /// Seconds in which operations may begin; whichever limit comes first ends the trial.
    #[schemars(extend("amount" = "seconds", "least" = 0.1))]
    pub runtime_s: Option<f64> = None, above 0.0 to RUNTIME_MAX_S;
    /// Operations per second of all threads together: each is due at an instant fixed beforehand,
    /// and its latency counts from there. Left out, each begins when there is room for it.
    pub rate: Option<f64> = None, above 0.0 to RATE_MAX;
    /// Wait, inside the timed region, until what was written is on the device.
    pub include_fsync: bool = false;
} {
    /// Seed of places and mix; each thread has a sequence of its own.
    pub seed: u64 = 1;
}}

impl Params {
    /// Reads and checks.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let params: Self = params::read(parameters)?;
        params.common().grid.check(params.backend, params.access)?;
        check_cache_limit(params.access, params.cache_limit)?;
        if params.rate.is_some() && params.timing == Timing::Pass {
            let message = "parameter \"timing\": what a rate is for are latencies; \
                           use \"operation\" with it";
            return Err(bad_parameter("timing", message));
        }
        Ok(params)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use testing::assert_refusals_name;

    fn parse(value: Value) -> Result<Params, Failure> {
        Params::parse(value.as_object().unwrap())
    }

    #[test]
    fn the_first_limit_counts_and_without_one_the_file() {
        let operations = |job| {
            let params = parse(job).unwrap();
            let cell = params.common().grid.cells()[0];
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
