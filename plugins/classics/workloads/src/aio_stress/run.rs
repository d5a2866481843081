//! The walk over the grid: cells, stages, threads.

use std::io::SeekFrom;
use std::path::Path;

use crate::libc_random::Rand;
use kit::failure::{failure, no_memory};
use kit::histogram::Histogram;
use kit::mt64::Mt64;
use kit::team::{self, Finish};
use kit::{stop, EventSink, OperationProbe};
use rustix::fs::{Mode, OFlags};
use wire::{Failure, FailureKind};

use super::disk::{Disk, Nowhere};
use super::fill::Pattern;
use super::measures::{samples, Measured};
use super::offsets::Random;
use super::params::{BackendName, Cell, Params};
use super::stage::{Oper, Part, Stage, StallDetector};
use super::worker::Worker;
use storage::access::{open_flags, Evidence};
use storage::backend::libaio::Context;
use storage::backend::libaio::Libaio;
use storage::backend::{Backend, File, Null, Queue, Sync};
use storage::scratch::Scratch;
use storage::workload::region::{BoundaryCalls, Phase};

/// Executes the trial in `directory`.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(params: &Params, directory: &Path, event_sink: &mut EventSink) -> Result<(), Failure> {
    match params.backend {
        BackendName::Libaio => {
            let mut evidence = Evidence::new(params.access, directory);
            let some = Some(&mut evidence);
            let walked = walk::<_, Context>(&Sync, params, directory, some, event_sink);
            evidence.end_trial(walked, event_sink)
        }
        BackendName::Null => walk::<_, Nowhere>(&Null, params, directory, None, event_sink),
    }
}

fn walk<B: Backend, D: Disk>(
    backend: &B,
    params: &Params,
    directory: &Path,
    mut evidence: Option<&mut Evidence>,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let cells = params.cells();
    let stages = (cells.len() * params.stages.len()) as f64;
    let mut done = 0.0;
    let last = cells.last().copied();
    for cell in cells {
        let make = |index| Scratch::create(backend, directory.join(params.file_name(index)));
        let mut files = (0..params.files).map(make).collect::<Result<Vec<_>, _>>()?;
        if let Some(evidence) = evidence.as_deref_mut() {
            evidence.check_direct(files[0].path(), "record", cell.record)?;
            evidence.bound_cache(params.cache_limit, params.footprint(cell))?;
            files[0].settle_file_system()?;
        }
        // Declared before the workers, whose requests may be in flight until they are dropped.
        let pattern = Pattern::new(params.content, cell.record.bytes() as usize, event_sink)?;
        let reads = params.stages.iter().any(|stage| !stage.is_write());
        let complete = || {
            let mut numbered = (0..).zip(&files).filter(|_| reads);
            numbered.try_for_each(|file| lay_out(backend, file, params, &pattern, cell))
        };
        if !params.stages.contains(&Phase::Write) {
            complete()?;
        }
        let mut workers = workers::<B, D>(params, cell, &files)?;
        for &phase in params.stages.iter() {
            let Cell { record, depth } = cell;
            let what = format!("{}, record {record}, depth {depth}", phase.region().label);
            event_sink.progress(done / stages, what);
            let stage = stage(params, cell, phase, &pattern);
            let paths = files.iter().map(Scratch::path);
            measure(
                (&stage, paths),
                cell,
                &mut workers,
                &mut evidence,
                event_sink,
            )?;
            if phase == Phase::Write && stage.finish == Finish::Stonewall {
                complete()?;
            }
            done += 1.0;
        }
        drop(workers);
        if params.keep && Some(cell) == last {
            files.iter_mut().for_each(Scratch::keep);
        }
    }
    Ok(())
}

/// Writes what a file lacks, without timing: all of it, or what a stage that was stopped has left.
fn lay_out<B: Backend>(
    backend: &B,
    (number, scratch): (u32, &Scratch<B>),
    params: &Params,
    pattern: &Pattern,
    cell: Cell,
) -> Result<(), Failure> {
    // There is no file without I/O.
    let start = scratch.path().metadata().map_or(0, |file| file.len());
    let file_bytes = params.file.bytes();
    if start + cell.record.bytes() > file_bytes {
        return Ok(());
    }
    let mut stamped = pattern.stamped()?;
    let failed = |error| scratch.failed("lay out", &error);
    let flags = OFlags::WRONLY;
    let mut file = backend
        .open(scratch.c_path(), flags, Mode::empty())
        .map_err(failed)?;
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    for offset in (start..file_bytes).step_by(cell.record.bytes() as usize) {
        stop::check()?;
        let size_bytes = cell.record.bytes().min(file_bytes - offset);
        let bytes = match &mut stamped {
            None => &pattern.at(offset)[..size_bytes as usize],
            Some(stamped) => {
                stamped.turn_to(number);
                stamped.span(offset, size_bytes as usize)
            }
        };
        file.write_whole(bytes).map_err(failed)?;
    }
    file.sync().map_err(failed)?;
    file.close().map_err(failed)
}

/// Opens every context of every file, and deals them to the threads in turn.
fn workers<'f, B: Backend, D: Disk>(
    params: &Params,
    cell: Cell,
    files: &'f [Scratch<B>],
) -> Result<Vec<Worker<'f, D>>, Failure> {
    let sync = if params.sync {
        OFlags::SYNC
    } else {
        OFlags::empty()
    };
    let flags = OFlags::RDWR | OFlags::CREATE | open_flags(params.access) | sync;
    let threads = params.useful_threads() as usize;
    let mut hands: Vec<Vec<Oper>> = (0..threads).map(|_| Vec::new()).collect();
    let mut dealt = 0;
    for (number, scratch) in (0..).zip(files) {
        for range in params.ranges(cell.record) {
            let file = D::open(scratch.c_path(), flags);
            let file = file.map_err(|error| scratch.failed("open", &error))?;
            hands[dealt % threads].push(Oper::new(scratch.path(), number, file, range));
            dealt += 1;
        }
    }
    let worker = |(index, opers)| {
        let alignment = params.alignment.bytes() as usize;
        let random = random(params, index as u32);
        Worker::new(opers, cell.depth, alignment, random).map_err(no_context)
    };
    hands.into_iter().enumerate().map(worker).collect()
}

/// Random offsets of thread `index`. In the original all threads draw from one sequence, in an
/// order that differs each time; here each has the sequence from its start.
fn random(params: &Params, index: u32) -> Random {
    if params.classic {
        Random::Classic {
            rand: Rand::new(1),
            alignment: params.alignment.bytes(),
        }
    } else {
        Random::Records(Box::new(Mt64::from_key(&[
            params.seed.into(),
            index.into(),
        ])))
    }
}

fn stage<'a>(params: &Params, cell: Cell, phase: Phase, pattern: &'a Pattern) -> Stage<'a> {
    Stage {
        phase,
        batch: params.batch_at(cell.depth),
        submit_max: match params.submit_max {
            0 => usize::MAX,
            most => most as usize,
        },
        finish: if params.stonewall {
            Finish::Stonewall
        } else {
            Finish::Everyone
        },
        fsync: params.fsync,
        verify: params.verify,
        pattern,
        stall: StallDetector::new(params.useful_threads() as usize),
    }
}

/// One stage, with its samples.
fn measure<'p, D: Disk>(
    (stage, files): (&Stage, impl Iterator<Item = &'p Path>),
    cell: Cell,
    workers: &mut [Worker<D>],
    evidence: &mut Option<&mut Evidence>,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let is_write = stage.phase.is_write();
    let outcome = Evidence::around(
        evidence,
        (files.filter(|_| !is_write), !is_write),
        || {
            let new_probe = OperationProbe::new;
            team::execute(workers, stage.finish, new_probe, |worker, member| {
                worker.execute(stage, member)
            })
        },
        |outcome| {
            let bytes = outcome.reading.bytes;
            [(!is_write).then_some(bytes), is_write.then_some(bytes)]
        },
    )?;
    let (phase, reading) = (stage.phase, &outcome.reading);
    if workers.len() == 1 || stage.finish == Finish::Everyone {
        let requests: u64 = workers.iter().map(Worker::requests).sum();
        assert_eq!(reading.operations, requests);
    }
    assert_eq!(reading.bytes, reading.operations * cell.record.bytes());
    event_sink.add(reading);
    let parts = || outcome.shares.iter().map(|share| &share.value);
    let submits = sum_up(phase, parts(), event_sink);
    let mut calls = BoundaryCalls::new();
    parts().for_each(|part| calls.merge(&part.calls));
    let drained_ns = parts().map(|part| part.drained_ns).max().unwrap_or(0);
    let measured = Measured {
        phase,
        reading,
        drained_s: drained_ns.max(1) as f64 / 1e9,
        calls: &calls,
        submits: &submits.to_wire().expect("every stage submits something"),
    };
    for sample in samples(cell, &measured) {
        event_sink.sample(sample);
    }
    Ok(())
}

/// Counters and checksum of all threads; gives their calls of io_submit.
fn sum_up<'a>(
    phase: Phase,
    parts: impl Iterator<Item = &'a Part>,
    event_sink: &mut EventSink,
) -> Histogram {
    let mut submits = Histogram::new();
    for part in parts {
        submits.merge(&part.submits);
        let sum = &mut event_sink.totals.checksum;
        *sum = sum.wrapping_add(part.checksum);
    }
    let counter = format!("{}_submits", phase.region().name);
    *event_sink.totals.counters.entry(counter).or_default() += submits.count();
    submits
}

fn no_context(error: std::io::Error) -> Failure {
    match Libaio::lacks(&error) {
        Some(lacking) => failure(FailureKind::HostLacks, lacking),
        None => no_memory(error),
    }
}
