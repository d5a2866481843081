//! The walk over the grid: cells, tests, passes; between them, samples are handed over: the value,
//! and the one that the original would have printed.

use std::path::Path;

use kit::failure::no_memory;
use kit::{stop, Buffer, EventSink, OperationProbe, PassProbe, Probe, Reading};
use rustix::fs::OFlags;
use wire::{AccessKind, Direction, Failure, Native, Sample, Timing, Unit};

use super::cell_resources::{mapped, queued, Backends, CellResources, Needs, CALLS, NOTHING};
use super::grid::Cell;
use super::log::{self, OperationLog, Place};
use super::options::{BackendName, Existing, Locks, NativeUnit};
use super::params::Params;
use super::pass::{Part, Stage};
use super::pattern::{Dispatch, Groups, Pattern};
use super::table::{Pass, Test};
use storage::access::Evidence;
use storage::backend::Backend;
use storage::io::watch::Witnessed;
use storage::io::Check;
use storage::scratch::Scratch;

/// Executes the trial in `directory`: chooses, once, the loops that fit backend and timing.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(params: &Params, directory: &Path, event_sink: &mut EventSink) -> Result<(), Failure> {
    match params.backend {
        BackendName::Sync => timed(params, directory, event_sink, CALLS),
        BackendName::Mmap => timed(params, directory, event_sink, mapped(params.msync)),
        BackendName::Libaio => timed(params, directory, event_sink, queued(params, 1)?),
        BackendName::Null => timed(params, directory, event_sink, NOTHING),
    }
}

fn timed<B, S>(
    params: &Params,
    directory: &Path,
    event_sink: &mut EventSink,
    backends: Backends<B, S>,
) -> Result<(), Failure>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
{
    match params.timing {
        Timing::Pass => walk(params, directory, event_sink, backends, PassProbe::new()),
        Timing::Operation => walk(
            params,
            directory,
            event_sink,
            backends,
            OperationProbe::new(),
        ),
    }
}

fn walk<B, S, P>(
    params: &Params,
    directory: &Path,
    event_sink: &mut EventSink,
    backends: Backends<B, S>,
    probe: P,
) -> Result<(), Failure>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
    P: Probe,
{
    let evidence = backends
        .moves_data
        .then(|| Evidence::new(params.access, directory));
    let cells = params.cells();
    let passes: usize = params
        .tests
        .iter()
        .map(|&test| params.passes(test).len())
        .sum();
    let mut walk = Walk {
        params,
        directory,
        backends,
        probe,
        evidence,
        bytes_done: 0,
        bytes_all: cells.iter().map(|cell| cell.bytes()).sum::<u64>() * passes as u64,
        event_sink,
    };
    let last = cells.len() - 1;
    let walked = cells
        .into_iter()
        .enumerate()
        .try_for_each(|(index, cell)| walk.cell(cell, index == last));
    match walk.evidence.take() {
        Some(evidence) => evidence.end_trial(walked, event_sink),
        None => walked,
    }
}

struct Walk<'a, 'l, B, S, P> {
    params: &'a Params,
    directory: &'a Path,
    backends: Backends<B, S>,
    probe: P,
    evidence: Option<Evidence>,
    event_sink: &'a mut EventSink<'l>,
    bytes_done: u64,
    bytes_all: u64,
}

impl<B, S, P> Walk<'_, '_, B, S, P>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
    P: Probe,
{
    /// All tests on one file, which is removed at the end unless it is to be kept.
    fn cell(&mut self, cell: Cell, is_last: bool) -> Result<(), Failure> {
        let params = self.params;
        let needs = Needs {
            random: params.tests.contains(&Test::Random),
            groups: params.tests.iter().any(|test| test.is_vectored()),
        };
        let resources = CellResources::new(params, cell, needs, self.event_sink)?;
        let mut buffer = Buffer::new(
            resources
                .buffer_bytes(false)
                .max(resources.buffer_bytes(needs.groups)),
        )
        .map_err(no_memory)?;
        let mut log = Place::of(params)
            .map(|_| OperationLog::new(cell.records()))
            .transpose()?;
        let path = self.directory.join(&params.name);
        let mut scratch = match params.existing {
            Existing::Refuse => Scratch::create(&self.backends.plain, path)?,
            Existing::Read => Scratch::found(&self.backends.plain, path)?,
            Existing::TakeOver => Scratch::taken_over(&self.backends.plain, path)?,
        };
        if let Some(evidence) = &mut self.evidence {
            evidence.check_direct(scratch.path(), "record", cell.record)?;
            evidence.bound_cache(params.cache_limit, params.footprint(cell, 1))?;
            scratch.settle_file_system()?;
        }
        let mut bench = Bench {
            cell,
            params,
            backends: &self.backends,
            scratch: &scratch,
            resources: &resources,
            buffer: &mut buffer,
            probe: &mut self.probe,
            log: log.as_mut(),
            evidence: self.evidence.as_mut(),
        };
        bench.prepare()?;
        let mut progress = Progress {
            cell,
            bytes_done: &mut self.bytes_done,
            bytes_all: self.bytes_all,
            event_sink: self.event_sink,
        };
        for &test in params.tests.iter() {
            for pass in params.passes(test) {
                progress.announce(pass);
                let (part, reading) = bench.execute(test, pass)?;
                bench.write_log(pass, &reading)?;
                progress.hand_over(pass, params, part, &reading);
                stop::check()?;
            }
        }
        if params.keep && is_last {
            scratch.keep();
        }
        Ok(())
    }
}

/// The file of a cell with all that its passes need.
struct Bench<'a, B: Backend, S, P> {
    cell: Cell,
    params: &'a Params,
    backends: &'a Backends<B, S>,
    scratch: &'a Scratch<'a, B>,
    resources: &'a CellResources<'a>,
    buffer: &'a mut [u8],
    probe: &'a mut P,
    log: Option<&'a mut OperationLog>,
    evidence: Option<&'a mut Evidence>,
}

impl<B, S, P> Bench<'_, B, S, P>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
    P: Probe,
{
    /// Lays the file out, or brings it into the cache, when the first test wants to find it
    /// there.
    fn prepare(&mut self) -> Result<(), Failure> {
        let (params, resources) = (self.params, self.resources);
        let stage = self.stage(false, false);
        if params.existing != Existing::Refuse {
            let mut hooks = resources.no_hooks();
            hooks.check = Check::Nothing;
            let warming = (OFlags::RDONLY, Pattern::SequentialRead);
            return match params.access {
                AccessKind::Direct | AccessKind::OutOfCache | AccessKind::AsFound => Ok(()),
                AccessKind::InCache => stage.rehearse(warming, &mut hooks, self.buffer),
            };
        }
        if params.tests[0].fills_the_file() {
            return Ok(());
        }
        let at_once = Params {
            think_ms: 0,
            ..params.clone()
        };
        let writing = (OFlags::RDWR, Pattern::SequentialWrite);
        let mut hooks = resources.full_hooks(&at_once, params.verify, writing.1, 0)?;
        stage.rehearse(writing, &mut hooks, self.buffer)
    }

    fn execute(&mut self, test: Test, pass: &Pass) -> Result<(Part, Reading), Failure> {
        let is_locked =
            self.params.locks == Locks::File && matches!(test, Test::Write | Test::Read);
        let stage = self.stage(test.is_stream(), is_locked);
        let path = self.scratch.path();
        let evidence = self.evidence.as_deref_mut();
        let mut watch = Witnessed::new(self.probe, evidence, path, pass.is_read());
        let buffer = &mut self.buffer[..self.resources.buffer_bytes(test.is_vectored())];
        let reported = (&mut watch, self.log.as_deref_mut());
        let part = self
            .backends
            .execute(&stage, (pass, 0), self.resources, reported, buffer)?;
        let reading = watch.into_reading();
        assert_eq!(reading.operations, operations(self.cell, test));
        assert_eq!(reading.bytes, self.cell.bytes());
        Ok((part, reading))
    }

    /// The operations of `pass`, if they were noted.
    fn write_log(&self, pass: &Pass, reading: &Reading) -> Result<(), Failure> {
        let (Some(place), Some(log)) = (Place::of(self.params), &self.log) else {
            return Ok(());
        };
        let Some(metric) = pass.metric else {
            return Ok(());
        };
        let steps = pass.pattern.steps(self.resources.work());
        let path = place.path(None, metric);
        log::write(&path, steps, self.cell, log, reading)
    }
}

impl<'a, B: Backend, S, P> Bench<'a, B, S, P> {
    fn stage(&self, is_stream: bool, locks_file: bool) -> Stage<'a, B> {
        Stage {
            plain: &self.backends.plain,
            scratch: self.scratch,
            params: self.params,
            work: self.resources.work(),
            is_stream,
            locks_file,
            fills_up: false,
        }
    }
}

/// Operations of one pass of `test`: records, or groups of them.
fn operations(cell: Cell, test: Test) -> u64 {
    if test.is_vectored() {
        Groups::count_in(cell)
    } else {
        cell.records()
    }
}

/// The event sink's view of a cell.
struct Progress<'a, 'l> {
    cell: Cell,
    bytes_done: &'a mut u64,
    bytes_all: u64,
    event_sink: &'a mut EventSink<'l>,
}

impl Progress<'_, '_> {
    fn announce(&mut self, pass: &Pass) {
        let done = *self.bytes_done as f64 / self.bytes_all as f64;
        let Cell { file, record } = self.cell;
        let what = format!("{}, file {file}, record {record}", pass.label);
        self.event_sink.progress(done, what);
    }

    fn hand_over(&mut self, pass: &Pass, params: &Params, part: Part, reading: &Reading) {
        *self.bytes_done += self.cell.bytes();
        let Some(metric) = pass.metric else {
            return;
        };
        let sum = &mut self.event_sink.totals.checksum;
        *sum = sum.wrapping_add(part.checksum);
        self.event_sink.add(reading);
        let timed = Timed {
            reading,
            thought_ns: part.thought_ns,
        };
        self.event_sink
            .sample(sample(metric, self.cell, timed, params.native));
    }
}

/// A timed region without the time that does not count.
#[derive(Clone, Copy)]
struct Timed<'a> {
    /// What was timed.
    reading: &'a Reading,
    /// Time inside the region that the test did not ask for, in ns.
    thought_ns: u64,
}

impl Timed<'_> {
    /// Time that counts, in seconds; more than 0.
    fn elapsed_s(self) -> f64 {
        let elapsed_ns = self.reading.elapsed_ns.saturating_sub(self.thought_ns);
        elapsed_ns.max(1) as f64 / 1e9
    }

    /// Bytes per second.
    fn bytes_per_s(self) -> f64 {
        self.reading.bytes as f64 / self.elapsed_s()
    }
}

/// The value of `metric` in a cell.
fn sample(metric: &str, cell: Cell, timed: Timed, unit: NativeUnit) -> Sample {
    Sample {
        metric: metric.to_owned(),
        value: timed.bytes_per_s(),
        unit: Unit::BytesPerSecond,
        direction: Direction::Higher,
        at: cell.point(),
        operations: timed.reading.operations,
        bytes: timed.reading.bytes,
        elapsed_s: timed.elapsed_s(),
        native: Some(native(timed, unit)),
        latency_ns: timed.reading.latency.clone(),
    }
}

/// As the original computes it for a single stream: whole numbers, rounded down at each step.
fn native(timed: Timed, unit: NativeUnit) -> Native {
    let (operations, elapsed_s) = (timed.reading.operations as f64, timed.elapsed_s());
    let (value, unit) = match unit {
        NativeUnit::Rate => ((timed.bytes_per_s().floor() / 1024.0).floor(), "kB/s"),
        NativeUnit::Operations => ((operations / elapsed_s).floor(), "ops/s"),
        NativeUnit::Latency => ((1e6 * elapsed_s / operations).floor(), "us/op"),
    };
    Native::new(value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_figures_are_rounded_down() {
        let reading = Reading {
            operations: 3,
            bytes: 3 << 20,
            elapsed_ns: 9_000_000,
            slices: Vec::new(),
            latency: None,
        };
        let timed = Timed {
            reading: &reading,
            thought_ns: 2_000_000,
        };
        let of = |unit| native(timed, unit).value;
        assert_eq!(of(NativeUnit::Rate), 438_857.0);
        assert_eq!(of(NativeUnit::Operations), 428.0);
        assert_eq!(of(NativeUnit::Latency), 2_333.0);
    }
}
