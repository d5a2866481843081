//! What one thread does in a phase.

use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use crate::workload::libc_random::RandR;
use kit::failure::no_memory;
use kit::team::Member;
use kit::{clock, Buffer, Content, Probe};
use rustix::fs::Mode;
use wire::Failure;

use super::loops::{self, Order, Work};
use super::params::{Cell, Params, ORDER};
use crate::access::open_flags;
use crate::backend::{Backend, File, Positioned};
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
        let mut work = self.work(member.index as u32);
        work.stamped = stamped.map_err(no_memory)?;
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
        let checksum = loops::execute(work, &mut file, member, &mut seat.buffer)
            .map_err(|fault| fault.into_failure(action, scratch.path()))?;
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

    fn work(&self, index: u32) -> Work<'_> {
        let blocks = self.cell.blocks();
        let order = if self.phase.is_random() {
            // Neighbouring seeds give unlike sequences, so that counting up is enough.
            let sequence = index * ORDER.len() as u32 + self.phase as u32;
            Order::Random {
                operations: self.params.random_operations,
                range: self.params.version.random_range(blocks),
                random: RandR(self.params.seed.wrapping_add(sequence)),
            }
        } else {
            Order::Sequential { blocks }
        };
        Work {
            order,
            is_write: self.phase.is_write(),
            is_positioned: self.params.version.is_positioned(),
            verify: self.params.verify,
            content: self.content,
            stamped: None,
        }
    }
}
