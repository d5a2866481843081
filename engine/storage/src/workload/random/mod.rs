//! random: blocks at random places of a file, read and written in any mix, as fast as they go or
//! at a fixed pace.
//!
//! Timing formula: rate = operations of all threads / (t1 − t0); t0 when all threads are told to
//! start, t1 when the last has ended its last operation (and fsync, where it is included). Files
//! are laid out, opened and closed outside. Latency of an operation: from the end of the one
//! before it until its own end; with a depth, from its submission until it was reaped; at a pace,
//! from the instant at which it was due.
//!
//! Lineage: a primitive of today, as fio (Jens Axboe) and others have it.

mod params;
mod run;

use std::path::{Path, PathBuf};

use kit::Ledger;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, TargetKind, Timing};

use self::params::Params;
use super::blocks::measures::Kind;
use super::blocks::{self, params::Cell};
use super::{Trial, Workload};

/// The workload; see the module.
pub struct Random;

impl Workload for Random {
    fn card(&self) -> Card {
        Card {
            name: run::NAME.to_owned(),
            target: TargetKind::Directory,
            about: "blocks at random places, read and written in any mix, at a pace or flat out"
                .to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: {
                let [_, writes] = run::KINDS;
                let rates = run::KINDS.into_iter().flat_map(Kind::cards);
                rates.chain([writes.fsync_card()]).collect()
            },
            grid: Cell::GRID.map(str::to_owned).into(),
            usual: json!({"file": "256M", "runtime_s": 2}),
            smoke: json!({
                "file": "64k", "block": ["4k", "16k"], "threads": [1, 2], "read_percent": 50,
                "operations": 200, "verify": true, "include_fsync": true
            }),
        }
    }

    fn plan(
        &self,
        parameters: &Map<String, Value>,
        directory: &Path,
    ) -> Result<Box<dyn Trial>, Failure> {
        let params = Params::parse(parameters)?;
        blocks::check_names(directory, run::NAME, params.grid().threads_max())?;
        Ok(Box::new(Plan {
            params,
            directory: directory.to_owned(),
        }))
    }
}

const LINEAGE: &str = "\
a primitive of today, as fio by Jens Axboe has it, https://github.com/axboe/fio; open loop after \
Gil Tene, \"How NOT to Measure Latency\", 2013";

const TIMING: &str = "\
rate = operations / (t1 − t0); t0 when all threads are told to start, t1 when the last has ended \
its last operation, fsync included where asked for. Latency: from the end of the operation before \
until its own; with a depth, from its submission until it was reaped; at a rate, from the instant \
at which it was due";

const DESCRIPTION: &str = "\
Each thread has a file of its own, laid out and on the device before the clock starts. It moves \
whole blocks at random places of it: drawn uniformly, each once per round (a permutation), or by \
Zipf's law. Reads and writes are mixed by chance, in the share asked for, and have rates and \
latencies of their own. Places are computed from the seed without a table, so that equal \
parameters give equal places and no table takes part of the cache. With a rate, operations are \
due at fixed instants, and a slow one makes those behind it late: their latencies say so (no \
coordinated omission). Every block read adds a word to a checksum, so that no read can be elided; \
when verified, a word per page is compared with what was written there.";

/// A trial ready to be executed.
struct Plan {
    params: Params,
    directory: PathBuf,
}

impl Trial for Plan {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        self.params.timing
    }

    fn threads(&self) -> usize {
        self.params.grid().threads_max() as usize
    }

    fn run(self: Box<Self>, ledger: &mut Ledger) -> Result<(), Failure> {
        run::run(&self.params, &self.directory, ledger)
    }
}

#[cfg(test)]
mod tests;
