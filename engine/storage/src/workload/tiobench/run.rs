//! The walk over the grid: cells, phases, threads.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use kit::failure::no_memory;
use kit::gauges::own_cpu;
use kit::team::{self, Finish};
use kit::{Buffer, Content, Ledger, OperationProbe};
use wire::Failure;

use super::measures::{samples, Measured};
use super::params::{BackendName, Cell, Fill, Params};
use super::task::{Part, Seat, Task};
use crate::access::Evidence;
use crate::backend::{self, Backend, Null, Positioned};
use crate::scratch::Scratch;
use crate::workload::edges::Edges;
use crate::workload::phase::Phase;

/// Executes the trial in `directory`.
///
/// # Errors
/// See [`crate::workload::Trial::run`].
pub fn run(params: &Params, directory: &Path, ledger: &mut Ledger) -> Result<(), Failure> {
    match params.backend {
        BackendName::Sync => {
            let mut evidence = Evidence::new(params.access, directory);
            let walked = walk(
                &backend::Sync,
                params,
                directory,
                Some(&mut evidence),
                ledger,
            );
            evidence.end_trial(walked, ledger)
        }
        BackendName::Null => walk(&Null, params, directory, None, ledger),
    }
}

/// The file of thread `index`.
pub fn file_in(directory: &Path, index: u32) -> PathBuf {
    directory.join(format!("tiotest.{index}"))
}

fn walk<B>(
    backend: &B,
    params: &Params,
    directory: &Path,
    mut evidence: Option<&mut Evidence>,
    ledger: &mut Ledger,
) -> Result<(), Failure>
where
    B: Backend + Sync,
    B::File: Positioned,
{
    let cells = params.cells();
    let phases = (cells.len() * params.phases.len()) as f64;
    let mut done = 0.0;
    for cell in cells {
        let mut stage = Stage::new(backend, params, directory, cell, ledger)?;
        if let Some(evidence) = evidence.as_deref_mut() {
            stage.check_access(evidence)?;
        }
        let mut is_laid_out = params.phases.contains(&Phase::Write);
        for &phase in params.phases.iter() {
            if !phase.is_write() && !is_laid_out {
                stage.perform(Phase::Write, &mut None)?;
                is_laid_out = true;
            }
            let Cell {
                file,
                block,
                threads,
            } = cell;
            let what = format!("{}, {threads} × {file}, block {block}", phase.label());
            ledger.progress(done / phases, what);
            stage.measure(phase, &mut evidence, ledger)?;
            done += 1.0;
        }
    }
    Ok(())
}

/// The files of a cell, removed when it is dropped, and what moves their blocks.
struct Stage<'a, B: Backend> {
    backend: &'a B,
    params: &'a Params,
    cell: Cell,
    content: Content,
    seats: Vec<Seat<'a, B>>,
}

impl<'a, B> Stage<'a, B>
where
    B: Backend + Sync,
    B::File: Positioned,
{
    fn new(
        backend: &'a B,
        params: &'a Params,
        directory: &Path,
        cell: Cell,
        ledger: &mut Ledger,
    ) -> Result<Self, Failure> {
        let block_bytes = cell.block.bytes() as usize;
        let content = params
            .content
            .content(block_bytes, ledger, |fill| match fill {
                Fill::Zeroes => Content::uniform(block_bytes, 0),
                Fill::Random => Content::random(block_bytes),
            })?;
        let seat = |index| {
            Ok(Seat {
                scratch: Scratch::create(backend, file_in(directory, index))?,
                buffer: Buffer::new(block_bytes).map_err(no_memory)?,
            })
        };
        Ok(Self {
            backend,
            params,
            cell,
            content,
            seats: (0..cell.threads).map(seat).collect::<Result<_, _>>()?,
        })
    }

    fn check_access(&self, evidence: &mut Evidence) -> Result<(), Failure> {
        let scratch = &self.seats[0].scratch;
        evidence.check_direct(scratch.path(), "block", self.cell.block)?;
        let mut footprint = self.cell.footprint();
        footprint.thread_bytes += self.params.content.thread_bytes(self.cell.block.bytes());
        evidence.bound_cache(self.params.cache_limit, footprint)?;
        scratch.settle_file_system()
    }

    /// One phase, with its samples.
    fn measure(
        &mut self,
        phase: Phase,
        evidence: &mut Option<&mut Evidence>,
        ledger: &mut Ledger,
    ) -> Result<(), Failure> {
        let process_cpu = own_cpu();
        let outcome = self.perform(phase, evidence)?;
        for ((now, before), mode) in own_cpu().iter().zip(process_cpu).zip(["user", "system"]) {
            let counter = format!("{}_{mode}_us", phase.name());
            let used_us = now.saturating_sub(before).as_micros() as u64;
            *ledger.totals.counters.entry(counter).or_default() += used_us;
        }
        let parts = || outcome.shares.iter().map(|share| &share.value);
        for part in parts() {
            let sum = &mut ledger.totals.checksum;
            *sum = sum.wrapping_add(part.checksum);
        }
        let reading = &outcome.reading;
        let cell = self.cell;
        let operations = self.params.operations(phase, cell) * u64::from(cell.threads);
        assert_eq!(reading.operations, operations);
        assert_eq!(reading.bytes, operations * cell.block.bytes());
        ledger.add(reading);
        let mut edges = Edges::new();
        parts().for_each(|part| edges.merge(&part.edges));
        let cpu = Duration::from_nanos(parts().map(|part| part.cpu_ns).sum());
        let measured = Measured {
            phase,
            reading,
            cpu,
            edges: &edges,
        };
        for sample in samples(self.params, cell, &measured) {
            ledger.sample(sample);
        }
        Ok(())
    }

    /// All threads do `phase`; evidence is gathered around it.
    fn perform(
        &mut self,
        phase: Phase,
        evidence: &mut Option<&mut Evidence>,
    ) -> Result<team::Outcome<Part>, Failure> {
        let mut before = None;
        if let Some(evidence) = evidence {
            for seat in self.seats.iter().filter(|_| !phase.is_write()) {
                evidence.prepare_read(seat.scratch.path())?;
            }
            if !phase.is_write() {
                evidence.begin_read()?;
            }
            before = evidence.counters();
        }
        let task = Task {
            backend: self.backend,
            params: self.params,
            cell: self.cell,
            content: &self.content,
            phase,
            turn: Mutex::new(()),
        };
        let new_probe = OperationProbe::new;
        let outcome = team::execute(
            &mut self.seats,
            Finish::Everyone,
            new_probe,
            |seat, member| task.execute(seat, member),
        )?;
        if let Some(evidence) = evidence {
            let around = [before, evidence.counters()];
            evidence.add(!phase.is_write(), outcome.reading.bytes, around);
        }
        Ok(outcome)
    }
}
