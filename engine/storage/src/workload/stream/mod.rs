//! stream: a file of blocks, written, written again and read from start to end.
//!
//! Timing formula of a phase: rate = bytes of all threads / (t1 − t0); t0 when all threads are
//! released, t1 when the last has ended its last operation (and fsync, where it is
//! included). Opening and closing are outside. Latency of an operation: from the end of the one
//! before it until its own end; with a depth, from its submission until it was reaped.
//!
//! Lineage: a primitive of today, as dd, fio and others have it.

mod params;

use std::path::Path;

use kit::trial::Planned;
use kit::Probe;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, TargetKind};

use self::params::{Params, Phase};
use super::blocks::params::{Cell, Common};
use super::blocks::{self, CellContext, Channel, Mix, Primitive, Sequential};
use super::Workload;
use crate::backend::Backend;

/// The workload; see the module.
pub struct Stream;

impl Workload for Stream {
    fn name(&self) -> &'static str {
        Params::NAME
    }

    fn card(&self) -> Card {
        let of_phase = |phase: Phase| {
            let fsync = (phase != Phase::Read).then(|| phase.kind().fsync_card());
            phase.kind().cards().into_iter().chain(fsync)
        };
        Card {
            name: self.name().to_owned(),
            title: "Sequential I/O".to_owned(),
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

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        blocks::plan(Params::parse(parameters)?, directory)
    }
}

const LINEAGE: &str = "a primitive of today, as dd and fio have it, https://github.com/axboe/fio";

const TIMING: &str = "\
rate = bytes of all threads / (t1 − t0) for each phase; t0 when all threads are released, t1 \
when the last has ended its last operation, fsync included where asked for; opening and closing \
are outside. Latency: from the end of the operation before until its own; with a depth, from its \
submission until it was reaped";

const DESCRIPTION: &str = "\
Each thread has its own file. It writes all blocks of it in order to the empty file, writes \
them again over what is there, and reads them. A file that no write phase makes is laid out \
first. Without fsync, the rate is that of the page cache, not of the device. A \
mapped file is given its size before it is first written, and its pages are allocated as they are \
touched. Every block read adds a word to a checksum, so that no read can be elided; when verified, \
a word per page is compared with what was written there.";

impl Primitive for Params {
    const NAME: &'static str = "stream";

    fn common(&self) -> Common<'_> {
        self.common()
    }

    fn lays_out(&self) -> bool {
        !self.phases.contains(&Phase::Write)
    }

    fn regions(&self) -> usize {
        self.phases.len()
    }

    fn measure<B, C, P>(&self, context: &mut CellContext<B, C, P>) -> Result<(), Failure>
    where
        B: Backend + Sync,
        C: Channel,
        P: Probe + Clone + Default + Send,
    {
        let cell = context.cell;
        for &phase in self.phases.iter() {
            let (kind, is_read) = (phase.kind(), phase == Phase::Read);
            let mut task = context.task(is_read, !is_read);
            task.include_fsync &= !is_read;
            let mix = || match is_read {
                true => Mix::Reads,
                false => Mix::Writes,
            };
            let steps = |_| mix().of_blocks(Sequential::new(cell.blocks()));
            let label = format!("{}, {}", kind.region.label, cell.label());
            let outcome = context.perform(label, &task, steps)?;
            let fsync = kind.fsync_sample(cell, &outcome.calls);
            for sample in kind.samples(cell, &outcome.all).into_iter().chain(fsync) {
                context.event_sink.sample(sample);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
