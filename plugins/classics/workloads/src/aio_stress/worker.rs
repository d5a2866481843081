//! The loop of one thread through a stage. Nothing is allocated, logged or locked in it.
//!
//! A round goes over the files that have work left, builds a batch of requests for each, and
//! hands all of them over with one io_submit. When there is no free unit (a buffer and its
//! bookkeeping) for a request, at least a batch of completions is waited for, so that the number
//! in flight swings between the depth and a batch less.

use std::io;
use std::os::fd::AsFd;

use kit::content::{self, Stamped};
use kit::failure::{failure, interrupted, io_failure};
use kit::histogram::Histogram;
use kit::team::Member;
use kit::{clock, stop, Probe};
use wire::{Failure, FailureKind};

use super::buffers::Buffers;
use super::disk::Disk;
use super::offsets::Random;
use super::stage::{Oper, Part, Stage};
use storage::backend::libaio::Request;
use storage::backend::queue::Transfer;
use storage::fault::Fault;
use storage::workload::region::{BoundaryCall, BoundaryCalls, Phase};

/// A buffer, and the request that uses it.
#[derive(Clone, Copy, Default)]
struct Unit {
    oper: usize,
    offset: u64,
    submitted_ns: u64,
}

/// A thread's files and requests, kept from stage to stage.
pub struct Worker<'a, D> {
    /// First, so that it is dropped, and has waited for what is in flight, before the buffers.
    disk: D,
    buffers: Buffers,
    units: Vec<Unit>,
    free: Vec<usize>,
    /// Units of requests built and not yet taken by the kernel.
    built: Vec<usize>,
    in_flight: usize,
    opers: Vec<Oper<'a>>,
    /// Files with requests to begin, by number; the next one first.
    active: Vec<usize>,
    /// Files in the order in which they ran out of requests to begin: they are synced in it, and
    /// the next stage begins in it.
    finished: Vec<usize>,
    random: Random,
    submits: Histogram,
    checksum: u64,
    /// What is written in this stage, by way of the buffers, where blocks must differ.
    stamped: Option<Stamped>,
}

impl<'a, D: Disk> Worker<'a, D> {
    /// For `opers`, with up to `depth` requests of each in flight.
    ///
    /// # Errors
    /// Out of memory; those of io_setup(2).
    pub fn new(
        opers: Vec<Oper<'a>>,
        depth: u32,
        alignment: usize,
        random: Random,
    ) -> io::Result<Self> {
        let record_bytes = opers[0].range.record_bytes as usize;
        let units = depth as usize * opers.len();
        Ok(Self {
            disk: D::setup(units as u32)?,
            buffers: Buffers::new(units, record_bytes, alignment)?,
            units: vec![Unit::default(); units],
            free: (0..units).rev().collect(),
            built: Vec::with_capacity(units),
            in_flight: 0,
            active: Vec::with_capacity(opers.len()),
            finished: (0..opers.len()).collect(),
            opers,
            random,
            submits: Histogram::new(),
            checksum: 0,
            stamped: None,
        })
    }

    /// Requests that a stage consists of.
    pub fn requests(&self) -> u64 {
        self.opers.iter().map(|oper| oper.range.records()).sum()
    }

    /// One stage: [first instant] all requests, drain, fsync [second instant].
    ///
    /// # Errors
    /// Whatever the kernel refused or the verification found.
    pub fn execute<P: Probe>(
        &mut self,
        stage: &Stage,
        member: &mut Member<P>,
    ) -> Result<Part, Failure> {
        self.submits.clear();
        self.checksum = 0;
        self.stamped = stage.pattern.stamped()?;
        let mut calls = BoundaryCalls::new();
        self.active.append(&mut self.finished);
        for oper in &mut self.opers {
            oper.started = 0;
        }
        member.start()?;
        while !self.active.is_empty() && member.goes_on() {
            if self.round(stage, member)? == 0 {
                self.drain(stage, member)?;
                self.wait_for_others(stage, member)?;
            }
        }
        self.finished.append(&mut self.active);
        self.drain(stage, member)?;
        stage.stall.retire(member.index);
        let drained_ns = member.elapsed_ns();
        if stop::requested() {
            return Err(interrupted());
        }
        calls.begin();
        for &index in self.finished.iter().filter(|_| stage.fsync) {
            let oper = &self.opers[index];
            D::sync(&oper.file).map_err(|error| io_failure("fsync", oper.path, &error))?;
            calls.end(BoundaryCall::Fsync);
        }
        member.done();
        Ok(Part {
            drained_ns,
            checksum: self.checksum,
            submits: self.submits.clone(),
            calls,
        })
    }

    fn drain<P: Probe>(&mut self, stage: &Stage, member: &mut Member<P>) -> Result<(), Failure> {
        while self.in_flight > 0 {
            self.reap(1, 1, stage, member)?;
        }
        Ok(())
    }

    /// Waits until the file of some context reaches where it starts: other threads lengthen it.
    fn wait_for_others<P: Probe>(&self, stage: &Stage, member: &Member<P>) -> Result<(), Failure> {
        stage.stall.pause();
        while member.goes_on() {
            let epoch = stage.stall.epoch();
            for &oper in &self.active {
                if self.is_runnable(oper, stage.phase)? {
                    stage.stall.resume(member.index);
                    return Ok(());
                }
            }
            if stage.stall.is_final(member.index, epoch) {
                return Err(self.cut_short());
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    #[cold]
    fn cut_short(&self) -> Failure {
        let path = self.opers[self.active[0]].path.display();
        let message = format!("{path} is shorter than what was written to it: it was changed");
        failure(FailureKind::Io, message)
    }

    /// Builds and submits; gives the number of requests.
    fn round<P: Probe>(&mut self, stage: &Stage, member: &mut Member<P>) -> Result<usize, Failure> {
        let mut next = 0;
        // What had its turn goes to the end, and is not looked at again in this round.
        let mut waiting = self.active.len();
        let mut requests = 0;
        while next < waiting && requests + stage.batch <= stage.submit_max {
            let oper = self.active[next];
            if !self.is_runnable(oper, stage.phase)? {
                next += 1;
                continue;
            }
            requests += self.build(oper, stage, member)?;
            self.active.remove(next);
            waiting -= 1;
            if self.opers[oper].left() > 0 {
                self.active.push(oper);
            } else {
                self.finished.push(oper);
            }
        }
        self.submit(stage, member)?;
        Ok(requests)
    }

    /// In sequential stages a context waits until the file reaches where it starts.
    fn is_runnable(&self, oper: usize, phase: Phase) -> Result<bool, Failure> {
        let Oper {
            path, file, range, ..
        } = &self.opers[oper];
        if phase.is_random() || range.start == 0 {
            return Ok(true);
        }
        let size_bytes = D::size_bytes(file);
        let size_bytes = size_bytes.map_err(|error| io_failure("stat", path, &error))?;
        Ok(size_bytes >= range.start)
    }

    fn build<P: Probe>(
        &mut self,
        index: usize,
        stage: &Stage,
        member: &mut Member<P>,
    ) -> Result<usize, Failure> {
        let count = self.opers[index].left().min(stage.batch as u64) as usize;
        for _ in 0..count {
            let unit = self.take_unit(stage, member)?;
            let oper = &mut self.opers[index];
            let offset = if stage.phase.is_random() {
                self.random.offset(&oper.range)
            } else {
                oper.range.offset_of(oper.started)
            };
            oper.started += 1;
            let is_write = stage.phase.is_write();
            let buffer = self.buffers.of_mut(unit);
            let start = match &mut self.stamped {
                None if is_write => stage.pattern.at(offset).as_ptr(),
                Some(stamped) if is_write => {
                    stamped.turn_to(oper.number);
                    buffer.copy_from_slice(stamped.span(offset, buffer.len()));
                    buffer.as_ptr()
                }
                _ => buffer.as_ptr(),
            };
            let transfer = Transfer {
                is_write,
                start,
                size_bytes: buffer.len() as u32,
                offset,
                tag: unit as u64,
            };
            let request = Request::of(oper.file.as_fd(), &transfer);
            // SAFETY: the pattern outlives the stage, which ends when all completions have been
            // reaped or, after a failure, with this worker, whose queue is dropped before its
            // buffers; a buffer is looked at when its completion has been reaped, not before.
            unsafe { self.disk.push(request) };
            self.units[unit] = Unit {
                oper: index,
                offset,
                submitted_ns: 0,
            };
            self.built.push(unit);
        }
        Ok(count)
    }

    #[inline]
    fn take_unit<P: Probe>(
        &mut self,
        stage: &Stage,
        member: &mut Member<P>,
    ) -> Result<usize, Failure> {
        loop {
            if let Some(unit) = self.free.pop() {
                return Ok(unit);
            }
            self.reap(stage.batch, usize::MAX, stage, member)?;
        }
    }

    /// Hands over all requests built; what the kernel has no room for is tried again after some
    /// were reaped.
    fn submit<P: Probe>(&mut self, stage: &Stage, member: &mut Member<P>) -> Result<(), Failure> {
        let mut taken = 0;
        while taken < self.built.len() {
            let began_ns = clock::now_ns();
            let result = self.disk.submit();
            let ended_ns = clock::now_ns();
            self.submits.record(ended_ns - began_ns);
            let count = match result {
                Ok(count) => count,
                Err(error) if is_full(&error) && self.in_flight > 0 => 0,
                Err(error) => {
                    let oper = &self.opers[self.units[self.built[taken]].oper];
                    return Err(io_failure("submit requests for", oper.path, &error));
                }
            };
            for &unit in &self.built[taken..taken + count] {
                self.units[unit].submitted_ns = ended_ns;
            }
            taken += count;
            self.in_flight += count;
            if taken < self.built.len() {
                self.reap(stage.batch, usize::MAX, stage, member)?;
            }
        }
        self.built.clear();
        Ok(())
    }

    /// Waits for `min` completions, or for as many as there can be, and takes up to `max`.
    fn reap<P: Probe>(
        &mut self,
        min: usize,
        max: usize,
        stage: &Stage,
        member: &mut Member<P>,
    ) -> Result<(), Failure> {
        let completions = self.disk.reap(min.min(self.in_flight), max);
        let completions = completions
            .map_err(|error| io_failure("wait for requests for", self.opers[0].path, &error))?;
        let now_ns = clock::now_ns();
        for completion in completions {
            let index = completion.tag as usize;
            let unit = self.units[index];
            let oper = &self.opers[unit.oper];
            let bytes = oper.range.record_bytes;
            let record = unit.offset / bytes;
            let moved = completion.moved();
            let found = match moved {
                Ok(moved)
                    if (moved as u64) < bytes
                        && stage.phase.is_random()
                        && !stage.phase.is_write()
                        && self.random.is_classic()
                        && ends_at(oper, unit.offset + moved as u64) =>
                {
                    &self.buffers.of(index)[..moved]
                }
                _ => self.buffers.of(index),
            };
            let moved = Fault::unless_whole(moved, record, found.len());
            let sum = moved.and_then(|()| {
                let verified = match &mut self.stamped {
                    _ if stage.phase.is_write() || !stage.verify => Ok(0),
                    None => content::verify(found, &stage.pattern.at(unit.offset)[..found.len()]),
                    Some(stamped) => {
                        stamped.turn_to(oper.number);
                        stamped.verify(found, unit.offset)
                    }
                };
                match verified {
                    Err(page) if D::MOVES_DATA => Err(Fault::Differs { record, page }),
                    sum => Ok(sum.unwrap_or(0)),
                }
            });
            let sum = sum.map_err(|fault| {
                if !stage.phase.is_write() {
                    return fault.into_failure("read", oper.path);
                }
                let written = match &self.stamped {
                    None => stage.pattern.at(unit.offset),
                    Some(_) => found,
                };
                let fault = fault.explain_short(|moved| {
                    let behind = unit.offset + moved as u64;
                    Ok(rustix::io::pwrite(&oper.file, &written[moved..], behind)?)
                });
                fault.into_failure("write", oper.path)
            })?;
            self.checksum = self.checksum.wrapping_add(sum);
            member
                .probe
                .overlapped_operation(bytes, unit.submitted_ns, now_ns);
            self.free.push(index);
            self.in_flight -= 1;
        }
        Ok(())
    }
}

/// Whether a file is so long: the original's random offsets reach behind the last whole record, and
/// the file may end before what was to be read does.
#[cold]
fn ends_at(oper: &Oper, end: u64) -> bool {
    rustix::fs::fstat(&oper.file).is_ok_and(|status| status.st_size as u64 == end)
}

fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EAGAIN)
}
