//! random: blocks at random places of a file, read and written in any mix, as a closed
//! loop or at a fixed rate.
//!
//! Timing formula: rate = operations of all threads / (t1 − t0); t0 when all threads are released, t1 when the last has ended its last operation (and fsync, where it is included). Files
//! are laid out, opened and closed outside. Latency of an operation: from the end of the one
//! before it until its own end; with a depth, from its submission until it was reaped; at a rate,
//! from the instant at which it was due.
//!
//! Lineage: a primitive of today, as fio (Jens Axboe) and others have it.

mod params;

use std::path::Path;

use kit::splitmix::SplitMix;
use kit::trial::Planned;
use kit::{EventSink, Probe};
use serde_json::{json, Map, Value};
use wire::{Card, Failure, TargetKind, Unit};

use self::params::{Offsets, Params};
use super::blocks::measures::Kind;
use super::blocks::params::{Cell, Common};
use super::blocks::{
    self, CellContext, Channel, Mix, Outcome, Permuted, Primitive, Skewed, Uniform,
};
use super::region::Region;
use super::Workload;
use crate::backend::Backend;
use crate::io::Step;

/// What is measured: reads, then writes.
const KINDS: [Kind; 2] = [
    Kind {
        region: Region {
            name: "random_read",
            label: "random read",
        },
        headline: Unit::PerSecond,
    },
    Kind {
        region: Region {
            name: "random_write",
            label: "random write",
        },
        headline: Unit::PerSecond,
    },
];
/// Below this share of the rate asked for, the pace was not kept.
const KEPT_MIN: f64 = 0.99;

/// The workload; see the module.
pub struct Random;

impl Workload for Random {
    fn name(&self) -> &'static str {
        Params::NAME
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "Random I/O".to_owned(),
            target: TargetKind::Directory,
            about:
                "blocks at random places, read and written in any mix, closed loop or rate-limited"
                    .to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: {
                let [_, writes] = KINDS;
                let rates = KINDS.into_iter().flat_map(Kind::cards);
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

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        blocks::plan(Params::parse(parameters)?, directory)
    }
}

const LINEAGE: &str = "\
a primitive of today, as fio by Jens Axboe has it, https://github.com/axboe/fio; open loop after \
Gil Tene, \"How NOT to Measure Latency\", 2013";

const TIMING: &str = "\
rate = operations / (t1 − t0); t0 when all threads are released, t1 when the last has ended \
its last operation, fsync included where asked for. Latency: from the end of the operation before \
until its own; with a depth, from its submission until it was reaped; at a rate, from the instant \
at which it was due";

const DESCRIPTION: &str = "\
Each thread has its own file, laid out and on the device before the clock starts. It moves \
whole blocks at random places of it: drawn uniformly, each once per round (a permutation), or by \
Zipf's law. Reads and writes are mixed by chance, in the share asked for, and have rates and \
separate latencies. Places are computed from the seed without a table, so that equal \
parameters give equal places and no table takes part of the cache. With a rate, operations are \
due at fixed instants, and a slow one makes those behind it late: their latencies say so (no \
coordinated omission). Every block read adds a word to a checksum, so that no read can be elided; \
when verified, a word per page is compared with what was written there.";

impl Primitive for Params {
    const NAME: &'static str = "random";

    fn common(&self) -> Common<'_> {
        self.common()
    }

    fn lays_out(&self) -> bool {
        true
    }

    fn regions(&self) -> usize {
        1
    }

    fn measure<B, C, P>(&self, context: &mut CellContext<B, C, P>) -> Result<(), Failure>
    where
        B: Backend + Sync,
        C: Channel,
        P: Probe + Clone + Default + Send,
    {
        let (cell, label) = (context.cell, context.cell.label());
        let mut task = context.task(self.read_percent > 0, self.read_percent < 100);
        task.work.operations = self.operations(cell);
        task.work.runtime_ns = self.runtime_ns();
        task.rate = self.rate;
        let (blocks, theta) = (cell.blocks(), self.theta);
        let outcome = match self.offsets {
            Offsets::Uniform => context.perform(label, &task, |index| {
                self.steps(index, |random| Uniform::new(blocks, random))
            }),
            Offsets::Permutation => context.perform(label, &task, |index| {
                self.steps(index, |random| Permuted::new(blocks, random))
            }),
            Offsets::Zipf => context.perform(label, &task, |index| {
                self.steps(index, |random| Skewed::new(blocks, theta, random))
            }),
        }?;
        let [_, writes] = KINDS;
        for (kind, reading) in KINDS.into_iter().zip([&outcome.reads, &outcome.writes]) {
            for sample in kind.samples(cell, reading) {
                context.event_sink.sample(sample);
            }
        }
        if let Some(sample) = writes.fsync_sample(cell, &outcome.calls) {
            context.event_sink.sample(sample);
        }
        self.weigh_pace(&outcome, context.event_sink);
        Ok(())
    }
}

impl Params {
    /// What thread `index` does, on a sequence of blocks made from random numbers.
    fn steps<O: Iterator<Item = u64>>(
        &self,
        index: usize,
        new: impl Fn(SplitMix) -> O,
    ) -> impl Iterator<Item = Step> {
        let stream = |number| SplitMix::stream(self.seed, 2 * index as u64 + number);
        Mix::of(self.read_percent, stream(1)).of_blocks(new(stream(0)))
    }

    /// Operations that were due and never begun have no latency: that must be said.
    fn weigh_pace(&self, outcome: &Outcome, event_sink: &mut EventSink) {
        let reached = outcome.all.operations_per_s();
        match self.rate {
            Some(rate) if reached < KEPT_MIN * rate => event_sink.warning(
                "rate-not-kept",
                format!("{rate} operations per second were due, {reached:.1} were done"),
                Some("the latencies are those of an overloaded system; use a lower rate"),
            ),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
