//! The walk over the grid.

use std::path::Path;

use kit::splitmix::SplitMix;
use kit::{Ledger, Probe};
use wire::Failure;

use super::params::{Offsets, Params};
use crate::access::Evidence;
use crate::backend::Backend;
use crate::workload::blocks::measures::{Kind, What};
use crate::workload::blocks::params::Cell;
use crate::workload::blocks::{
    self, Channel, Choice, Crew, Files, Mix, Order, Outcome, Permuted, Skewed, Task, Uniform, Walk,
    Work,
};

/// Name of the workload.
pub const NAME: &str = "random";
/// What is measured: reads, then writes.
pub const KINDS: [Kind; 2] = [
    Kind {
        name: "random_read",
        label: "random read",
        headline: What::Operations,
    },
    Kind {
        name: "random_write",
        label: "random write",
        headline: What::Operations,
    },
];
/// Below this share of the rate asked for, the pace was not kept.
const KEPT_MIN: f64 = 0.99;

/// Executes the trial in `directory`.
///
/// # Errors
/// See [`crate::workload::Trial::run`].
pub fn run(params: &Params, directory: &Path, ledger: &mut Ledger) -> Result<(), Failure> {
    let choice = Choice {
        backend: params.backend,
        timing: params.timing,
        access: params.access,
    };
    blocks::run(&Places { params, directory }, choice, directory, ledger)
}

/// The trial.
struct Places<'a> {
    params: &'a Params,
    directory: &'a Path,
}

impl Walk for Places<'_> {
    fn walk<B, C, P>(
        &self,
        backend: &B,
        mut evidence: Option<&mut Evidence>,
        ledger: &mut Ledger,
    ) -> Result<(), Failure>
    where
        B: Backend + Sync,
        C: Channel,
        P: Probe + Clone + Default + Send,
    {
        let cells = self.params.grid().cells();
        let count = cells.len() as f64;
        let files = self.files();
        for (done, cell) in cells.into_iter().enumerate() {
            ledger.progress(done as f64 / count, cell.label());
            let crew = Crew::new(backend, self.directory, files, cell, &mut evidence, ledger)?;
            crew.lay_out()?;
            let outcome = self.measure::<B, C, P>(&crew, cell, &mut evidence, ledger)?;
            let readings = [&outcome.reads, &outcome.writes];
            for (kind, reading) in KINDS.into_iter().zip(readings) {
                for sample in kind.samples(cell, reading) {
                    ledger.sample(sample);
                }
            }
            let [_, writes] = KINDS;
            if let Some(sample) = writes.fsync_sample(cell, &outcome.edges) {
                ledger.sample(sample);
            }
            self.weigh_pace(&outcome, ledger);
        }
        Ok(())
    }
}

impl Places<'_> {
    fn files(&self) -> Files<'static> {
        Files {
            workload: NAME,
            content: self.params.content,
            cache_limit: self.params.cache_limit,
        }
    }

    fn measure<B, C, P>(
        &self,
        crew: &Crew<B>,
        cell: Cell,
        evidence: &mut Option<&mut Evidence>,
        ledger: &mut Ledger,
    ) -> Result<Outcome, Failure>
    where
        B: Backend + Sync,
        C: Channel,
        P: Probe + Clone + Default + Send,
    {
        let (task, blocks) = (self.task(crew, cell), cell.blocks());
        let theta = self.params.theta;
        match self.params.offsets {
            Offsets::Uniform => {
                let order = |index| self.order(index, |random| Uniform::new(blocks, random));
                crew.perform::<C, _, P>(&task, order, evidence, ledger)
            }
            Offsets::Permutation => {
                let order = |index| self.order(index, |random| Permuted::new(blocks, random));
                crew.perform::<C, _, P>(&task, order, evidence, ledger)
            }
            Offsets::Zipf => {
                let order = |index| self.order(index, |random| Skewed::new(blocks, theta, random));
                crew.perform::<C, _, P>(&task, order, evidence, ledger)
            }
        }
    }

    /// Order and mix of thread `index`.
    fn order<O: Order>(&self, index: usize, new: impl Fn(SplitMix) -> O) -> (O, Mix) {
        let stream = |number| SplitMix::stream(self.params.seed, 2 * index as u64 + number);
        let mix = Mix::of(self.params.read_percent, stream(1));
        (new(stream(0)), mix)
    }

    fn task<'c, B: Backend + Sync>(&self, crew: &'c Crew<B>, cell: Cell) -> Task<'c> {
        let params = self.params;
        Task {
            work: Work {
                content: crew.content(),
                block_bytes: cell.block.bytes() as usize,
                depth: cell.depth,
                verify: params.verify,
                pace: None,
                operations: params.operations(cell),
                runtime_ns: params.runtime_ns(),
            },
            rate: params.rate,
            threads: cell.threads,
            reads: params.read_percent > 0,
            writes: params.read_percent < 100,
            access: params.access,
            file_bytes: cell.blocks() * cell.block.bytes(),
            include_fsync: params.include_fsync,
        }
    }

    /// Operations that were due and never begun have no latency: that must be said.
    fn weigh_pace(&self, outcome: &Outcome, ledger: &mut Ledger) {
        let reached = outcome.all.operations_per_s();
        match self.params.rate {
            Some(rate) if reached < KEPT_MIN * rate => ledger.warning(
                "rate-not-kept",
                format!("{rate} operations per second were due, {reached:.1} were done"),
                Some("the latencies are those of an overloaded system; use a lower rate"),
            ),
            _ => {}
        }
    }
}
