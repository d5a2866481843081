//! The files of a team, one for each thread, and the regions in which all threads work on them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kit::content::Filling;
use kit::failure::{interrupted, no_memory};
use kit::pace::Pace;
use kit::place::unshare_descriptors;
use kit::team::{self, Finish, Member};
use kit::{stop, Content, EventSink, Probe, Reading, Size};
use rustix::fs::{Mode, OFlags};
use wire::{AccessKind, Failure};

use super::params::{Cell, Fill};
use super::{Channel, Directed, Work};
use crate::access::{open_flags, Evidence};
use crate::backend::queue::Grant;
use crate::backend::{Backend, File};
use crate::io::Step;
use crate::scratch::{check_free, Scratch};
use crate::workload::region::{BoundaryCall, BoundaryCalls};

/// The files of one cell of the grid, removed when it is dropped, and what they hold.
pub struct ThreadFiles<'a, B: Backend> {
    backend: &'a B,
    cell: Cell,
    content: Content,
    scratches: Vec<Scratch<'a, B>>,
}

/// What the files of the threads are to be.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The workload that they are named after.
    pub workload: &'a str,
    /// What is written.
    pub content: Filling<Fill>,
    /// How much of them the page cache may hold, where that is bounded.
    pub cache_limit: Option<Size>,
}

/// What a region gave.
pub struct Outcome {
    /// The work of all threads.
    pub all: Reading,
    /// What of it came in.
    pub reads: Reading,
    /// What of it went out.
    pub writes: Reading,
    /// Calls of fsync, where they are timed.
    pub calls: BoundaryCalls,
}

/// The file of thread `index` of a workload.
fn file_in(directory: &Path, workload: &str, index: u32) -> PathBuf {
    directory.join(format!("tiltyard-{workload}.{index}"))
}

/// Whether the file names of `threads` threads are free.
///
/// # Errors
/// `Refused`, naming the file in the way.
pub fn check_names(directory: &Path, workload: &str, threads: u32) -> Result<(), Failure> {
    check_free((0..threads).map(|index| file_in(directory, workload, index)))
}

impl<'a, B> ThreadFiles<'a, B>
where
    B: Backend + Sync,
{
    /// Makes the files, empty, and checks that they can be accessed as declared.
    ///
    /// # Errors
    /// Those of open(2); out of memory; `Access`.
    pub fn new(
        backend: &'a B,
        directory: &Path,
        files: Files,
        cell: Cell,
        evidence: &mut Option<&mut Evidence>,
        event_sink: &mut EventSink,
    ) -> Result<Self, Failure> {
        let block_bytes = cell.block.bytes() as usize;
        let content = files
            .content
            .content(block_bytes, event_sink, |fill| match fill {
                Fill::Zeroes => Content::uniform(block_bytes, 0),
                Fill::Random => Content::random(block_bytes),
            })?;
        let scratch = |index| Scratch::create(backend, file_in(directory, files.workload, index));
        let thread_files = Self {
            backend,
            cell,
            content,
            scratches: (0..cell.threads).map(scratch).collect::<Result<_, _>>()?,
        };
        if let Some(evidence) = evidence {
            evidence.check_direct(thread_files.scratches[0].path(), "block", cell.block)?;
            let mut footprint = cell.footprint();
            footprint.thread_bytes += files.content.thread_bytes(cell.block.bytes());
            evidence.bound_cache(files.cache_limit, footprint)?;
            thread_files.scratches[0].settle_file_system()?;
        }
        Ok(thread_files)
    }

    /// What is written, and expected back.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Writes all blocks of all files without timing, and waits until they are on the device.
    ///
    /// # Errors
    /// Those of open(2), write(2) and fsync(2); `Interrupted`.
    pub fn lay_out(&self) -> Result<(), Failure> {
        let mut numbered = (0..).zip(&self.scratches);
        numbered.try_for_each(|(number, scratch)| self.lay_out_one(number, scratch))
    }

    fn lay_out_one(&self, number: u32, scratch: &Scratch<B>) -> Result<(), Failure> {
        let mut stamped = self.content.stamped(number).map_err(no_memory)?;
        let failed = |error| scratch.failed("lay out", &error);
        let mut file = self
            .backend
            .open(scratch.c_path(), OFlags::WRONLY, Mode::empty())
            .map_err(failed)?;
        for block in 0..self.cell.blocks() {
            stop::check()?;
            let bytes = self.content.outgoing(&mut stamped, block);
            file.write_whole(bytes).map_err(failed)?;
        }
        file.sync().map_err(failed)?;
        file.close().map_err(failed)
    }

    /// All threads execute `task`, each with its own `steps`; evidence is gathered
    /// around it, and the sums go to the event sink.
    ///
    /// # Errors
    /// The first failure of a thread; `Access`.
    pub fn perform<C, P, S>(
        &self,
        task: &Task,
        steps: impl Fn(usize) -> S + Sync,
        evidence: &mut Option<&mut Evidence>,
        event_sink: &mut EventSink,
    ) -> Result<Outcome, Failure>
    where
        C: Channel,
        P: Probe + Clone + Default + Send,
        S: Iterator<Item = Step>,
    {
        let read = self.scratches.iter().filter(|_| task.reads);
        let files = (read.map(Scratch::path), !task.writes);
        let work = || {
            let mut scratches: Vec<&Scratch<B>> = self.scratches.iter().collect();
            let outcome = team::execute(
                &mut scratches,
                Finish::Everyone,
                Directed::<P>::default,
                |scratch, member| {
                    let steps = steps(member.index);
                    task.execute::<C, P, B>(scratch, steps, member)
                },
            )?;
            let mut parts = outcome.shares.iter().map(|share| &share.value);
            Ok(self.sum_up(outcome.reading, &mut parts, event_sink))
        };
        Evidence::around(evidence, files, work, |outcome| {
            [Some(outcome.reads.bytes), Some(outcome.writes.bytes)]
        })
    }

    fn sum_up<'p, P: Probe + Default + 'p>(
        &self,
        all: Reading,
        parts: &mut dyn Iterator<Item = &'p Part<P>>,
        event_sink: &mut EventSink,
    ) -> Outcome {
        let mut directed = Directed::<P>::default();
        directed.start_at(0);
        let (mut missing, mut calls) = (BTreeSet::new(), BoundaryCalls::new());
        for part in parts {
            directed.merge(&part.probe);
            calls.merge(&part.calls);
            let sum = &mut event_sink.totals.checksum;
            *sum = sum.wrapping_add(part.checksum);
            count_grants(&part.granted, &mut missing, event_sink);
        }
        warn_of(&missing, event_sink);
        let outcome = Outcome {
            reads: directed.reads.finish_at(all.elapsed_ns),
            writes: directed.writes.finish_at(all.elapsed_ns),
            all,
            calls,
        };
        let Outcome {
            all, reads, writes, ..
        } = &outcome;
        assert_eq!(reads.operations + writes.operations, all.operations);
        assert_eq!(reads.bytes + writes.bytes, all.bytes);
        assert_eq!(all.bytes, all.operations * self.cell.block.bytes());
        event_sink.add(all);
        outcome
    }
}

/// How many queues were granted what, and what some of them were not.
fn count_grants(granted: &[Grant], missing: &mut BTreeSet<&str>, event_sink: &mut EventSink) {
    for &(name, is_granted) in granted {
        let counter = event_sink
            .totals
            .counters
            .entry(name.to_owned())
            .or_default();
        *counter += u64::from(is_granted);
        if !is_granted {
            missing.insert(name);
        }
    }
}

fn warn_of(missing: &BTreeSet<&str>, event_sink: &mut EventSink) {
    if missing.is_empty() {
        return;
    }
    let names: Vec<&str> = missing.iter().copied().collect();
    event_sink.warning(
        "not-granted",
        format!("this host did not grant {}", names.join(", ")),
        Some("a newer kernel, or a higher limit of locked memory, would make it faster"),
    );
}

/// What one thread did.
struct Part<P> {
    /// What was counted, reads and writes apart.
    probe: Directed<P>,
    /// Checksum over what was read.
    checksum: u64,
    /// What of the kernel made it faster, and whether it was granted.
    granted: Vec<Grant>,
    /// Its call of fsync, where that is timed.
    calls: BoundaryCalls,
}

/// What every thread does with its file.
pub struct Task<'a> {
    /// How.
    pub work: Work<'a>,
    /// Operations per second that all threads together begin; as many as they can, without.
    pub rate: Option<f64>,
    /// How many threads there are.
    pub threads: u32,
    /// Whether blocks are read.
    pub reads: bool,
    /// Whether blocks are written.
    pub writes: bool,
    /// Where reads are served from.
    pub access: AccessKind,
    /// Size that the file needs before its blocks can be written.
    pub file_bytes: u64,
    /// Whether fsync is inside the timed region.
    pub include_fsync: bool,
}

impl Task<'_> {
    /// Opens the file; \[first instant\] moves blocks, fsync if it shall \[second instant\].
    ///
    /// # Errors
    /// Whatever the kernel refused or the verification found.
    fn execute<C: Channel, P: Probe + Clone, B: Backend>(
        &self,
        scratch: &Scratch<B>,
        steps: impl Iterator<Item = Step>,
        member: &mut Member<Directed<P>>,
    ) -> Result<Part<P>, Failure> {
        let work = Work {
            pace: self
                .rate
                .map(|rate| Pace::shared(rate, member.index, self.threads as usize)),
            ..self.work
        };
        unshare_descriptors();
        let mut channel = C::open(scratch, self.flags(), &work, member.index as u32)?;
        if self.writes {
            channel
                .prepare(self.file_bytes)
                .map_err(|error| scratch.failed("give its size to", &error))?;
        }
        let action = match (self.reads, self.writes) {
            (true, false) => "read",
            (false, true) => "write",
            _ => "move",
        };
        let mut calls = BoundaryCalls::new();
        member.start()?;
        let checksum = channel
            .execute(&work, steps, member)
            .map_err(|fault| fault.into_failure(action, scratch.path()))?;
        if !member.goes_on() {
            return Err(interrupted());
        }
        if self.include_fsync {
            calls.begin();
            channel
                .sync()
                .map_err(|error| scratch.failed("fsync", &error))?;
            calls.end(BoundaryCall::Fsync);
        }
        member.done();
        Ok(Part {
            probe: member.probe.clone(),
            checksum,
            granted: channel.granted(),
            calls,
        })
    }

    fn flags(&self) -> OFlags {
        let direction = if self.writes {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        direction | open_flags(self.access)
    }
}
