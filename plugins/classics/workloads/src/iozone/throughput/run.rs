//! The walk over the grid: points, phases, children; between them, what was found is handed over.

use std::path::{Path, PathBuf};

use kit::failure::no_memory;
use kit::team::{self, Outcome};
use kit::{stop, Buffer, EventSink, OperationProbe, PassProbe, Probe};
use rustix::fs::OFlags;
use wire::{AccessKind, Failure, Timing};

use super::super::cell_resources::{
    mapped, queued, Backends, CellResources, Needs, CALLS, NOTHING,
};
use super::super::log::{self, OperationLog, Place};
use super::super::options::{BackendName, Existing, Locks};
use super::super::params::Params as Shared;
use super::super::pass::{Part, Stage};
use super::super::pattern::{Dispatch, Pattern};
use super::figures::{is_quoted, Figures};
use super::params::{ChildKind, Params, Point};
use super::phase::Phase;
use super::processes;
use storage::access::Evidence;
use storage::backend::Backend;
use storage::io::watch::Watch;
use storage::scratch::Scratch;

/// Executes the trial in `directory`.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(params: &Params, directory: &Path, event_sink: &mut EventSink) -> Result<(), Failure> {
    let shared = &params.shared;
    match shared.backend {
        BackendName::Null => walk(params, directory, &NOTHING, None, event_sink),
        BackendName::Sync => observed(params, directory, &CALLS, event_sink),
        BackendName::Libaio => {
            let backends = queued(shared, params.children_max())?;
            observed(params, directory, &backends, event_sink)
        }
        BackendName::Mmap => observed(params, directory, &mapped(shared.msync), event_sink),
    }
}

/// With evidence for the declared access.
fn observed<B, S>(
    params: &Params,
    directory: &Path,
    backends: &Backends<B, S>,
    event_sink: &mut EventSink,
) -> Result<(), Failure>
where
    B: Backend<File: Dispatch> + Sync,
    S: Backend<File: Dispatch>,
{
    let mut evidence = Evidence::new(params.shared.access, directory);
    let walked = walk(params, directory, backends, Some(&mut evidence), event_sink);
    evidence.end_trial(walked, event_sink)
}

fn walk<B, S>(
    params: &Params,
    directory: &Path,
    backends: &Backends<B, S>,
    mut evidence: Option<&mut Evidence>,
    event_sink: &mut EventSink,
) -> Result<(), Failure>
where
    B: Backend<File: Dispatch> + Sync,
    S: Backend<File: Dispatch>,
{
    let points = params.points();
    let (last, phases) = (points.len() - 1, params.own.phases.len());
    for (index, &point) in points.iter().enumerate() {
        let needs = Needs {
            random: {
                let mixed = params.own.mixed_order;
                params.own.phases.iter().any(|phase| phase.is_random(mixed))
            },
            groups: false,
        };
        let resources = CellResources::new(&params.shared, point.cell, needs, event_sink)?;
        let mut bench = Bench::new(params, directory, point, backends, &resources)?;
        bench.prepare(evidence.as_deref_mut())?;
        for (nth, &phase) in params.own.phases.iter().enumerate() {
            let done = (index * phases + nth) as f64 / (points.len() * phases) as f64;
            event_sink.progress(done, bench.announcement(phase));
            let outcome = bench.execute(phase, &mut evidence)?;
            bench.hand_over(phase, &outcome, event_sink);
            bench.write_logs(phase, &outcome)?;
            stop::check()?;
        }
        if params.shared.keep && index == last {
            bench.keep();
        }
    }
    Ok(())
}

/// The children of a point with their files, which are removed when it is dropped.
struct Bench<'a, B: Backend, S> {
    params: &'a Params,
    point: Point,
    backends: &'a Backends<B, S>,
    resources: &'a CellResources<'a>,
    slots: Vec<WorkerSlot<'a, B>>,
}

impl<'a, B, S> Bench<'a, B, S>
where
    B: Backend<File: Dispatch> + Sync,
    S: Backend<File: Dispatch>,
{
    fn new(
        params: &'a Params,
        directory: &Path,
        point: Point,
        backends: &'a Backends<B, S>,
        resources: &'a CellResources<'a>,
    ) -> Result<Self, Failure> {
        let slot = |child| {
            let path = directory.join(params.file_name(child));
            let scratch = match params.own.existing {
                Existing::Refuse => Scratch::create(&backends.plain, path)?,
                Existing::Read | Existing::TakeOver => Scratch::taken_over(&backends.plain, path)?,
            };
            Ok(WorkerSlot {
                child,
                scratch,
                buffer: Buffer::new(resources.slots_bytes()).map_err(no_memory)?,
                log: Place::of(&params.shared)
                    .map(|_| OperationLog::new(point.cell.records()))
                    .transpose()?,
            })
        };
        Ok(Self {
            params,
            point,
            backends,
            resources,
            slots: (0..point.children).map(slot).collect::<Result<_, _>>()?,
        })
    }

    /// Checks what can be checked beforehand, and lays files out when the first phase wants to
    /// find them.
    fn prepare(&mut self, evidence: Option<&mut Evidence>) -> Result<(), Failure> {
        if let Some(evidence) = evidence {
            let scratch = &self.slots[0].scratch;
            evidence.check_direct(scratch.path(), "record", self.point.cell.record)?;
            let (shared, point) = (&self.params.shared, self.point);
            let footprint = shared.footprint(point.cell, point.children);
            evidence.bound_cache(shared.cache_limit, footprint)?;
        }
        match self.rehearsal() {
            Some(rehearsal) => self.rehearse(rehearsal),
            None => Ok(()),
        }
    }

    /// What is to be done, untimed, with files that the first phase wants to find laid out, or in
    /// the cache.
    fn rehearsal(&self) -> Option<(OFlags, Pattern)> {
        let own = &self.params.own;
        match (own.existing, self.params.shared.access) {
            (Existing::Refuse, _) if own.phases[0].fills_the_file() => None,
            (Existing::Refuse, _) => Some((OFlags::RDWR, Pattern::SequentialWrite)),
            (_, AccessKind::InCache) => Some((OFlags::RDONLY, Pattern::SequentialRead)),
            _ => None,
        }
    }

    fn rehearse(&mut self, (flags, pattern): (OFlags, Pattern)) -> Result<(), Failure> {
        let at_once = Shared {
            think_ms: 0,
            ..self.params.shared.clone()
        };
        for slot in &mut self.slots {
            let stage = Stage {
                plain: &self.backends.plain,
                scratch: &slot.scratch,
                params: &at_once,
                work: self.resources.work(),
                is_stream: false,
                locks_file: false,
                fills_up: false,
            };
            let mut hooks = self
                .resources
                .full_hooks(&at_once, false, pattern, slot.child)?;
            stage.rehearse((flags, pattern), &mut hooks, &mut slot.buffer)?;
        }
        Ok(())
    }

    fn announcement(&self, phase: Phase) -> String {
        let (label, children, cell) = (phase.pass().label, self.point.children, self.point.cell);
        format!(
            "{label}, {children} × file {}, record {}",
            cell.file, cell.record
        )
    }

    /// All children do `phase`; evidence is gathered around it.
    fn execute(
        &mut self,
        phase: Phase,
        evidence: &mut Option<&mut Evidence>,
    ) -> Result<Outcome<Part>, Failure> {
        if evidence.is_some() {
            self.slots[0].scratch.settle_file_system()?;
        }
        let is_reader: Vec<bool> = self
            .slots
            .iter()
            .map(|slot| self.reads(phase, slot.child))
            .collect();
        let readers = self
            .slots
            .iter()
            .zip(&is_reader)
            .filter(|(_, reads)| **reads);
        let files: Vec<PathBuf> = readers
            .map(|(slot, _)| slot.scratch.path().to_owned())
            .collect();
        let only_reads = is_reader.iter().all(|&reads| reads);
        let files = (files.iter().map(PathBuf::as_path), only_reads);
        Evidence::around(
            evidence,
            files,
            || self.perform(phase),
            |outcome| {
                [true, false].map(|wanted| {
                    let shares = is_reader.iter().zip(&outcome.shares);
                    let bytes = shares
                        .filter(|(reads, _)| **reads == wanted)
                        .map(|(_, share)| share.reading.bytes);
                    is_reader.contains(&wanted).then(|| bytes.sum())
                })
            },
        )
    }

    fn reads(&self, phase: Phase, child: u32) -> bool {
        match phase {
            Phase::Mixed => self.params.is_reader(child),
            phase => phase.pass().is_read(),
        }
    }

    fn perform(&mut self, phase: Phase) -> Result<Outcome<Part>, Failure> {
        match (self.params.own.children_kind, self.params.shared.timing) {
            (ChildKind::Processes, _) => {
                let (task, slots) = self.split(phase);
                processes::execute(slots, task.params.finish(phase), |slot, worker| {
                    // The child's copy of its buffer is made now, not in the timed region.
                    slot.buffer.fill(0);
                    worker.pause = task.params.pause(slot.child);
                    task.perform(slot, worker)
                })
            }
            (ChildKind::Threads, Timing::Pass) => self.perform_in_threads(phase, PassProbe::new),
            (ChildKind::Threads, Timing::Operation) => {
                self.perform_in_threads(phase, OperationProbe::new)
            }
        }
    }

    fn perform_in_threads<P: Probe + Send>(
        &mut self,
        phase: Phase,
        new_probe: fn() -> P,
    ) -> Result<Outcome<Part>, Failure> {
        let (task, slots) = self.split(phase);
        team::execute(
            slots,
            task.params.finish(phase),
            new_probe,
            |slot, member| {
                member.pause = task.params.pause(slot.child);
                task.perform(slot, member)
            },
        )
    }

    fn split(&mut self, phase: Phase) -> (Task<'a, B, S>, &mut [WorkerSlot<'a, B>]) {
        let task = Task {
            params: self.params,
            backends: self.backends,
            resources: self.resources,
            phase,
        };
        (task, &mut self.slots)
    }

    fn hand_over(&self, phase: Phase, outcome: &Outcome<Part>, event_sink: &mut EventSink) {
        let (reading, point, own) = (&outcome.reading, self.point, &self.params.own);
        let records = point.cell.records() * u64::from(point.children);
        match self.params.finish(phase) {
            team::Finish::Everyone => assert_eq!(reading.operations, records),
            team::Finish::Stonewall | team::Finish::After(_) => {
                assert!(reading.operations <= records);
            }
        }
        assert_eq!(
            reading.bytes,
            reading.operations * point.cell.record.bytes()
        );
        for share in &outcome.shares {
            let sum = &mut event_sink.totals.checksum;
            *sum = sum.wrapping_add(share.value.checksum);
        }
        event_sink.add(reading);
        let figures = Figures::new(outcome);
        figures.count(
            phase,
            point,
            own.child_counters,
            &mut event_sink.totals.counters,
        );
        if figures.idle() > 0 {
            warn_of_idle(phase, point, figures.idle(), event_sink);
        }
        for mut sample in figures.samples(phase, point, self.params.shared.native) {
            if is_quoted(&sample, phase) {
                sample.latency_ns.clone_from(&reading.latency);
            }
            event_sink.sample(sample);
        }
    }

    /// What each child did in `phase`, if it was noted.
    fn write_logs(&self, phase: Phase, outcome: &Outcome<Part>) -> Result<(), Failure> {
        let Some(place) = Place::of(&self.params.shared) else {
            return Ok(());
        };
        for (slot, share) in self.slots.iter().zip(&outcome.shares) {
            let Some(log) = &slot.log else {
                continue;
            };
            let pass = self.params.pass(phase, slot.child);
            let steps = pass.pattern.steps(self.resources.work());
            let path = place.path(Some(slot.child), phase.metric());
            log::write(&path, steps, self.point.cell, log, &share.reading)?;
        }
        Ok(())
    }

    fn keep(&mut self) {
        for slot in &mut self.slots {
            slot.scratch.keep();
        }
    }
}

/// What one child has to itself.
struct WorkerSlot<'a, B: Backend> {
    /// Its number, from 0.
    child: u32,
    /// Its file.
    scratch: Scratch<'a, B>,
    /// Takes the records that it reads.
    buffer: Buffer,
    /// Takes notes of its operations, if they are logged.
    log: Option<OperationLog>,
}

/// What all children of a phase do.
struct Task<'a, B, S> {
    /// Parameters of the trial.
    params: &'a Params,
    /// How files are opened.
    backends: &'a Backends<B, S>,
    /// Contents and orders.
    resources: &'a CellResources<'a>,
    /// Which phase.
    phase: Phase,
}

impl<B, S> Task<'_, B, S>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
{
    /// The part of the child with this `slot`, reported to `watch`.
    ///
    /// # Errors
    /// As for a pass.
    fn perform<W: Watch>(&self, slot: &mut WorkerSlot<B>, watch: &mut W) -> Result<Part, Failure> {
        let shared = &self.params.shared;
        let pass = &self.params.pass(self.phase, slot.child);
        let stage = Stage {
            plain: &self.backends.plain,
            scratch: &slot.scratch,
            params: shared,
            work: self.resources.work(),
            is_stream: self.phase.is_stream(),
            locks_file: shared.locks == Locks::File,
            fills_up: self.phase.fills_up(),
        };
        let reported = (watch, slot.log.as_mut());
        let part = (pass, slot.child);
        self.backends
            .execute(&stage, part, self.resources, reported, &mut slot.buffer)
    }
}

fn warn_of_idle(phase: Phase, point: Point, idle: usize, event_sink: &mut EventSink) {
    let (label, children) = (phase.pass().label, point.children);
    event_sink.warning(
        "idle-children",
        format!(
            "{label}: {idle} of {children} children had not moved a record when the first was \
             done, so that their rate is 0"
        ),
        Some("use larger files, or stonewall false"),
    );
}
