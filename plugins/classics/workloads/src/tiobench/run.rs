//! The walk over the grid: cells, phases, threads.

use std::ffi::CStr;
use std::io::SeekFrom;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::libc_random::RandR;
use kit::content::Stamped;
use kit::failure::{interrupted, no_memory};
use kit::gauges::own_cpu;
use kit::team::{self, Finish, Member};
use kit::{clock, Buffer, Content, EventSink, OperationProbe, Probe};
use rustix::fs::Mode;
use wire::Failure;

use super::measures::{samples, Measured};
use super::params::{BackendName, Cell, Fill, Params, ORDER};
use storage::access::{open_flags, Evidence};
use storage::backend::{self, Backend, File, Null, Positioned};
use storage::fault::Fault;
use storage::io::{AtPosition, Check, NoHooks, Positional, Pump, Step};
use storage::scratch::Scratch;
use storage::workload::region::{BoundaryCall, BoundaryCalls, Phase};

/// Executes the trial in `directory`.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(params: &Params, directory: &Path, event_sink: &mut EventSink) -> Result<(), Failure> {
    match params.backend {
        BackendName::Sync => {
            let mut evidence = Evidence::new(params.access, directory);
            let walked = walk(
                &backend::Sync,
                params,
                directory,
                Some(&mut evidence),
                event_sink,
            );
            evidence.end_trial(walked, event_sink)
        }
        BackendName::Null => walk(&Null, params, directory, None, event_sink),
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
    event_sink: &mut EventSink,
) -> Result<(), Failure>
where
    B: Backend + Sync,
    B::File: Positioned,
{
    let cells = params.cells();
    let phases = (cells.len() * params.phases.len()) as f64;
    let mut done = 0.0;
    for cell in cells {
        let mut stage = Stage::new(backend, params, directory, cell, event_sink)?;
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
            let what = format!(
                "{}, {threads} × {file}, block {block}",
                phase.region().label
            );
            event_sink.progress(done / phases, what);
            stage.measure(phase, &mut evidence, event_sink)?;
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
    slots: Vec<WorkerSlot<'a, B>>,
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
        event_sink: &mut EventSink,
    ) -> Result<Self, Failure> {
        let block_bytes = cell.block.bytes() as usize;
        let content = params
            .content
            .content(block_bytes, event_sink, |fill| match fill {
                Fill::Zeroes => Content::uniform(block_bytes, 0),
                Fill::Random => Content::random(block_bytes),
            })?;
        let slot = |index| {
            Ok(WorkerSlot {
                scratch: Scratch::create(backend, file_in(directory, index))?,
                buffer: Buffer::new(block_bytes).map_err(no_memory)?,
            })
        };
        Ok(Self {
            backend,
            params,
            cell,
            content,
            slots: (0..cell.threads).map(slot).collect::<Result<_, _>>()?,
        })
    }

    fn check_access(&self, evidence: &mut Evidence) -> Result<(), Failure> {
        let scratch = &self.slots[0].scratch;
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
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        let process_cpu = own_cpu();
        let outcome = self.perform(phase, evidence)?;
        for ((now, before), mode) in own_cpu().iter().zip(process_cpu).zip(["user", "system"]) {
            let counter = format!("{}_{mode}_us", phase.region().name);
            let used_us = now.saturating_sub(before).as_micros() as u64;
            *event_sink.totals.counters.entry(counter).or_default() += used_us;
        }
        let parts = || outcome.shares.iter().map(|share| &share.value);
        for part in parts() {
            let sum = &mut event_sink.totals.checksum;
            *sum = sum.wrapping_add(part.checksum);
        }
        let reading = &outcome.reading;
        let cell = self.cell;
        let operations = self.params.operations(phase, cell) * u64::from(cell.threads);
        assert_eq!(reading.operations, operations);
        assert_eq!(reading.bytes, operations * cell.block.bytes());
        event_sink.add(reading);
        let mut calls = BoundaryCalls::new();
        parts().for_each(|part| calls.merge(&part.calls));
        let cpu = Duration::from_nanos(parts().map(|part| part.cpu_ns).sum());
        let measured = Measured {
            phase,
            reading,
            cpu,
            calls: &calls,
        };
        for sample in samples(self.params, cell, &measured) {
            event_sink.sample(sample);
        }
        Ok(())
    }

    /// All threads do `phase`; evidence is gathered around it.
    fn perform(
        &mut self,
        phase: Phase,
        evidence: &mut Option<&mut Evidence>,
    ) -> Result<team::Outcome<Part>, Failure> {
        let task = Task {
            backend: self.backend,
            params: self.params,
            cell: self.cell,
            content: &self.content,
            phase,
            turn: Mutex::new(()),
        };
        let is_write = phase.is_write();
        let paths: Vec<_> = self
            .slots
            .iter()
            .map(|slot| slot.scratch.path().to_owned())
            .collect();
        let files = (
            paths.iter().filter(|_| !is_write).map(PathBuf::as_path),
            !is_write,
        );
        let work = || {
            let slots = &mut self.slots;
            team::execute(
                slots,
                Finish::Everyone,
                OperationProbe::new,
                |slot, member| task.execute(slot, member),
            )
        };
        Evidence::around(evidence, files, work, |outcome| {
            let bytes = outcome.reading.bytes;
            [(!is_write).then_some(bytes), is_write.then_some(bytes)]
        })
    }
}

/// What one thread has to itself.
struct WorkerSlot<'a, B: Backend> {
    /// Its file.
    scratch: Scratch<'a, B>,
    /// Where what it reads goes to.
    buffer: Buffer,
}

/// What one thread did.
struct Part {
    /// Checksum over what was verified.
    checksum: u64,
    /// CPU time of the thread in the phase.
    cpu_ns: u64,
    /// Its calls of open, fsync and close.
    calls: BoundaryCalls,
}

/// What every thread does in a phase, with its slot.
struct Task<'a, B> {
    /// Opens the files.
    backend: &'a B,
    /// Parameters of the trial.
    params: &'a Params,
    /// Sizes of files and blocks.
    cell: Cell,
    /// What is written, and expected back.
    content: &'a Content,
    /// Which phase.
    phase: Phase,
    /// Held by the thread that works, when they work in turn.
    turn: Mutex<()>,
}

impl<B> Task<'_, B>
where
    B: Backend,
    B::File: Positioned,
{
    /// [first instant] open, give the size, move the blocks, fsync, close [second instant].
    fn execute<P: Probe>(
        &self,
        slot: &mut WorkerSlot<B>,
        member: &mut Member<P>,
    ) -> Result<Part, Failure> {
        let (phase, version) = (self.phase, self.params.version);
        let stamped = self.content.stamped(member.index as u32);
        let mut stamped = stamped.map_err(no_memory)?;
        let action = if phase.is_write() { "write" } else { "read" };
        let scratch = &slot.scratch;
        let mut calls = BoundaryCalls::new();

        member.start()?;
        let started_ns = clock::thread_cpu_ns();
        let in_turn = self.params.in_turn && phase == Phase::Write;
        let turn = in_turn.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        calls.begin();
        let mut file = self
            .open(scratch.c_path())
            .map_err(|error| scratch.failed("open", &error))?;
        calls.end(BoundaryCall::Open);
        member.probe.begin_operation();
        let checksum = self
            .move_blocks(&mut file, member, &mut slot.buffer, stamped.as_mut())
            .map_err(|fault| fault.into_failure(action, scratch.path()))?;
        if !member.goes_on() {
            return Err(interrupted());
        }
        calls.begin();
        if version.syncs_after(phase) {
            file.sync()
                .map_err(|error| scratch.failed("fsync", &error))?;
            calls.end(BoundaryCall::Fsync);
        }
        file.close()
            .map_err(|error| scratch.failed("close", &error))?;
        calls.end(BoundaryCall::Close);
        drop(turn);
        let cpu_ns = clock::thread_cpu_ns() - started_ns;
        member.done();
        Ok(Part {
            checksum,
            cpu_ns,
            calls,
        })
    }

    fn open(&self, path: &CStr) -> std::io::Result<B::File> {
        let version = self.params.version;
        let flags = version.opening(self.phase, self.params.sync) | open_flags(self.params.access);
        let mut file = self.backend.open(path, flags, Mode::RUSR | Mode::WUSR)?;
        if version.presizes() {
            file.resize(self.cell.file_bytes())?;
        }
        Ok(file)
    }

    /// Moves all blocks, counting each in the member's probe. `buffer` takes those that are read.
    /// A seek is outside of the latency of the operation that follows it, as in the original.
    /// Gives the checksum over what was verified.
    fn move_blocks<P: Probe>(
        &self,
        file: &mut B::File,
        member: &mut Member<P>,
        buffer: &mut [u8],
        stamped: Option<&mut Stamped>,
    ) -> Result<u64, Fault> {
        let (index, is_write) = (member.index as u32, self.phase.is_write());
        let (block_bytes, blocks) = (buffer.len() as u64, self.cell.blocks());
        let check = Check::pages_if(self.params.verify, Check::Nothing);
        let mut pump = Pump {
            file,
            watch: member,
            hooks: &mut NoHooks {
                stamped,
                ..NoHooks::new(self.content, check)
            },
            record_bytes: buffer.len(),
            buffer,
            times_seeks: false,
            checksum: 0,
        };
        // Neighbouring seeds give unlike sequences, so that counting up is enough.
        let sequence = index * ORDER.len() as u32 + self.phase as u32;
        let mut random = RandR(self.params.seed.wrapping_add(sequence));
        let range = self.params.version.random_range(blocks);
        let drawn = (0..self.params.random_operations)
            .map(|_| Step::new(u64::from(random.draw()) % range, is_write));
        let in_order = (0..blocks).map(|block| Step::new(block, is_write));
        let is_random = self.phase.is_random();
        if self.params.version.is_positioned() {
            match is_random {
                true => pump.run::<Positional>(drawn)?,
                false => pump.run::<Positional>(in_order)?,
            };
            return Ok(pump.checksum);
        }
        // The original goes to the start first, even where random blocks follow.
        let start = pump.file.seek(SeekFrom::Start(0));
        start.map_err(|error| Fault::Io { record: 0, error })?;
        pump.watch.probe.begin_operation();
        let sought = drawn.map(|step| Step {
            seek_before: Some(SeekFrom::Start(step.record * block_bytes)),
            ..step
        });
        match is_random {
            true => pump.run::<AtPosition>(sought)?,
            false => pump.run::<AtPosition>(in_order)?,
        };
        Ok(pump.checksum)
    }
}
