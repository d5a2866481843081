//! stream: a file of blocks, written, written again and read from start to end.
//!
//! Timing formula of a phase: rate = bytes of all threads / (t1 − t0); t0 when all threads are
//! told to start, t1 when the last has ended its last operation (and fsync, where it is
//! included). Opening and closing lie outside. Latency of an operation: from the end of the one
//! before it until its own end; with a depth, from its submission until it was reaped.
//!
//! Lineage: a primitive of today, as dd, fio and others have it.

mod params;
mod run;

use std::path::{Path, PathBuf};

use kit::Ledger;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, TargetKind, Timing};

use self::params::{Params, Phase};
use super::blocks::{self, params::Cell};
use super::{Trial, Workload};

/// The workload; see the module.
pub struct Stream;

impl Workload for Stream {
    fn card(&self) -> Card {
        let of_phase = |phase: Phase| {
            let fsync = (phase != Phase::Read).then(|| phase.kind().fsync_card());
            phase.kind().cards().into_iter().chain(fsync)
        };
        Card {
            name: run::NAME.to_owned(),
            target: TargetKind::Directory,
            about: "a file of blocks, written, written again and read from start to end".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: Phase::ORDER.into_iter().flat_map(of_phase).collect(),
            grid: Cell::GRID.map(str::to_owned).into(),
            usual: json!({"file": "512M", "block": ["64k", "1M"]}),
            smoke: json!({
                "file": "64k", "block": ["4k", "16k"], "threads": [1, 2], "verify": true,
                "include_fsync": true
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

const LINEAGE: &str = "a primitive of today, as dd and fio have it, https://github.com/axboe/fio";

const TIMING: &str = "\
rate = bytes of all threads / (t1 − t0) for each phase; t0 when all threads are told to start, t1 \
when the last has ended its last operation, fsync included where asked for; opening and closing \
are outside. Latency: from the end of the operation before until its own; with a depth, from its \
submission until it was reaped";

const DESCRIPTION: &str = "\
Each thread has a file of its own. It writes all blocks of it in order to the empty file, writes \
them again over what is there, and reads them. A file that no write phase makes is laid out \
first. Without fsync, writing to the page cache tells how fast it takes data, not the device. A \
mapped file is given its size before it is first written, and its pages are allocated as they are \
touched. Every block read adds a word to a checksum, so that no read can be elided; when verified, \
a word per page is compared with what was written there.";

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
