//! The walk over the grid: cells and phases.

use std::path::Path;

use kit::{Ledger, Probe};
use wire::Failure;

use super::params::{Params, Phase};
use crate::access::Evidence;
use crate::backend::Backend;
use crate::workload::blocks::params::Cell;
use crate::workload::blocks::{
    self, Channel, Choice, Crew, Files, Mix, Sequential, Task, Walk, Work,
};

/// Name of the workload.
pub const NAME: &str = "stream";

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
    blocks::run(&Passes { params, directory }, choice, directory, ledger)
}

/// The trial.
struct Passes<'a> {
    params: &'a Params,
    directory: &'a Path,
}

impl Walk for Passes<'_> {
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
        let (cells, phases) = (self.params.grid().cells(), &self.params.phases);
        let count = (cells.len() * phases.len()) as f64;
        let files = self.files();
        let mut done = 0.0;
        for cell in cells {
            let crew = Crew::new(backend, self.directory, files, cell, &mut evidence, ledger)?;
            if !phases.contains(&Phase::Write) {
                crew.lay_out()?;
            }
            for &phase in phases.iter() {
                let kind = phase.kind();
                ledger.progress(done / count, format!("{}, {}", kind.label, cell.label()));
                let mix = || match phase {
                    Phase::Read => Mix::Reads,
                    Phase::Write | Phase::Rewrite => Mix::Writes,
                };
                let order = |_| (Sequential::new(cell.blocks()), mix());
                let task = self.task(&crew, cell, phase);
                let outcome = crew.perform::<C, _, P>(&task, order, &mut evidence, ledger)?;
                let fsync = kind.fsync_sample(cell, &outcome.edges);
                for sample in kind.samples(cell, &outcome.all).into_iter().chain(fsync) {
                    ledger.sample(sample);
                }
                done += 1.0;
            }
        }
        Ok(())
    }
}

impl Passes<'_> {
    fn files(&self) -> Files<'static> {
        Files {
            workload: NAME,
            content: self.params.content,
            cache_limit: self.params.cache_limit,
        }
    }

    fn task<'c, B: Backend + Sync>(&self, crew: &'c Crew<B>, cell: Cell, phase: Phase) -> Task<'c> {
        let is_read = phase == Phase::Read;
        Task {
            work: Work {
                content: crew.content(),
                block_bytes: cell.block.bytes() as usize,
                depth: cell.depth,
                verify: self.params.verify,
                pace: None,
                operations: cell.blocks(),
                runtime_ns: u64::MAX,
            },
            rate: None,
            threads: cell.threads,
            reads: is_read,
            writes: !is_read,
            access: self.params.access,
            file_bytes: cell.blocks() * cell.block.bytes(),
            include_fsync: self.params.include_fsync && !is_read,
        }
    }
}
