//! What one thread does in a phase.

use std::ffi::CStr;
use std::io::SeekFrom;
use std::sync::{Mutex, PoisonError};

use kit::content::Stamped;
use kit::failure::{interrupted, no_memory};
use kit::libc_random::RandR;
use kit::team::Member;
use kit::{clock, Buffer, Content, Probe};
use rustix::fs::Mode;
use wire::Failure;

use super::params::{Cell, Params, ORDER};
use crate::access::open_flags;
use crate::backend::{Backend, File, Positioned};
use crate::fault::Fault;
use crate::io::{AtPosition, Check, NoHooks, Positional, Pump, Step};
use crate::scratch::Scratch;
use crate::workload::edges::{Edge, Edges};
use crate::workload::phase::Phase;

/// What one thread has to itself.
pub struct Seat<'a, B: Backend> {
    /// Its file.
    pub scratch: Scratch<'a, B>,
    /// Where what it reads goes to.
    pub buffer: Buffer,
}

/// What one thread did.
pub struct Part {
    /// Checksum over what was verified.
    pub checksum: u64,
    /// CPU time of the thread in the phase.
    pub cpu_ns: u64,
    /// Its calls of open, fsync and close.
    pub edges: Edges,
}

/// What every thread does in a phase, with a seat of its own.
pub struct Task<'a, B> {
    /// Opens the files.
    pub backend: &'a B,
    /// Parameters of the trial.
    pub params: &'a Params,
    /// Sizes of files and blocks.
    pub cell: Cell,
    /// What is written, and expected back.
    pub content: &'a Content,
    /// Which phase.
    pub phase: Phase,
    /// Held by the thread that works, when they work in turn.
    pub turn: Mutex<()>,
}

impl<B> Task<'_, B>
where
    B: Backend,
    B::File: Positioned,
{
    /// [first instant] open, give the size, move the blocks, fsync, close [second instant].
    pub fn execute<P: Probe>(
        &self,
        seat: &mut Seat<B>,
        member: &mut Member<P>,
    ) -> Result<Part, Failure> {
        let (phase, version) = (self.phase, self.params.version);
        let stamped = self.content.stamped(member.index as u32);
        let mut stamped = stamped.map_err(no_memory)?;
        let action = if phase.is_write() { "write" } else { "read" };
        let scratch = &seat.scratch;
        let mut edges = Edges::new();

        member.start()?;
        let started_ns = clock::thread_cpu_ns();
        let in_turn = self.params.in_turn && phase == Phase::Write;
        let turn = in_turn.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        edges.begin();
        let mut file = self
            .open(scratch.c_path())
            .map_err(|error| scratch.failed("open", &error))?;
        edges.end(Edge::Open);
        member.probe.begin_operation();
        let checksum = self
            .move_blocks(&mut file, member, &mut seat.buffer, stamped.as_mut())
            .map_err(|fault| fault.into_failure(action, scratch.path()))?;
        if !member.goes_on() {
            return Err(interrupted());
        }
        edges.begin();
        if version.syncs_after(phase) {
            file.sync()
                .map_err(|error| scratch.failed("fsync", &error))?;
            edges.end(Edge::Fsync);
        }
        file.close()
            .map_err(|error| scratch.failed("close", &error))?;
        edges.end(Edge::Close);
        drop(turn);
        let cpu_ns = clock::thread_cpu_ns() - started_ns;
        member.done();
        Ok(Part {
            checksum,
            cpu_ns,
            edges,
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
