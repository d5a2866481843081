//! Logs of operations (IOzone's -Q): where each operation was, how long it took, and how much it
//! moved.
//!
//! While the clock runs, latency and size are noted in memory that was made and touched before;
//! between passes they are written to files. The place of an operation needs no note: it follows
//! from the order of the pass.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kit::append::append;
use kit::clock::Laps;
use kit::failure::{bad_parameter, io_failure, no_memory};
use kit::{Buffer, Reading};
use wire::{Failure, FailureKind};

use super::grid::Cell;
use super::params::{Params, ENTRY_BYTES};
use super::pattern::OffsetSequence;
use storage::io::watch::Watch;

const HEADING: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes";

/// Where logs are written.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a>(&'a Path);

impl<'a> Place<'a> {
    /// The place that `params` name, if any.
    pub fn of(params: &'a Params) -> Option<Self> {
        params.log_directory.as_deref().map(Self)
    }

    /// The file for the pass that gives `metric`, of one child if there are many.
    pub fn path(self, child: Option<u32>, metric: &str) -> PathBuf {
        let stem = stem(metric);
        self.0.join(match child {
            Some(child) => format!("Child_{child}_{stem}.dat"),
            None => format!("{stem}.dat"),
        })
    }
}

/// All logs of a single stream.
pub fn paths(params: &Params) -> impl Iterator<Item = PathBuf> + '_ {
    let passes = params.tests.iter().flat_map(|&test| params.passes(test));
    let metrics = passes.filter_map(|pass| pass.metric);
    metrics.filter_map(|metric| Some(Place::of(params)?.path(None, metric)))
}

/// Checks the place of logs, of which `paths` are to be written.
///
/// # Errors
/// `BadJob` when there is no such directory; `Refused` when one of them is there and nothing is
/// to be added to it.
pub fn check_place(
    params: &Params,
    mut paths: impl Iterator<Item = PathBuf>,
) -> Result<(), Failure> {
    let Some(directory) = params.log_directory.as_deref() else {
        return Ok(());
    };
    if !directory.is_dir() {
        let message = format!(
            "parameter \"log_directory\": {} is not a directory; name one that is there",
            directory.display()
        );
        return Err(bad_parameter("log_directory", message));
    }
    let found = paths.find(|path| !params.log_append && path.symlink_metadata().is_ok());
    found.map_or(Ok(()), |path| {
        Err(Failure {
            kind: FailureKind::Refused,
            message: format!(
                "{} already exists; remove it, or have the log added to it (log_append)",
                path.display()
            ),
            parameter: Some("log_append".to_owned()),
        })
    })
}

/// Adds the operations of a pass to the log at `path`: `steps` is their order, and `reading`
/// what was counted of them.
///
/// # Errors
/// Those of writing the file.
pub fn write(
    path: &Path,
    steps: OffsetSequence,
    cell: Cell,
    log: &OperationLog,
    reading: &Reading,
) -> Result<(), Failure> {
    let entries = || log.entries(reading.operations);
    let bytes: u64 = entries().map(|entry| entry.bytes).sum();
    assert_eq!(bytes, reading.bytes, "the log must sum to what was moved");
    append(path, |file| write_entries(file, steps, cell, entries()))
        .map_err(|error| io_failure("write", path, &error))
}

fn write_entries(
    file: &mut impl Write,
    steps: OffsetSequence,
    cell: Cell,
    entries: impl Iterator<Item = Entry>,
) -> io::Result<()> {
    writeln!(file, "{HEADING}")?;
    for (step, entry) in steps.zip(entries) {
        let offset_kb = step.record * cell.record.bytes() / 1024;
        let latency_us = entry.latency_ns as f64 / 1e3;
        writeln!(
            file,
            "{offset_kb:>10} {latency_us:>10.3} {:>10}",
            entry.bytes
        )?;
    }
    Ok(())
}

/// What the original calls the log of a pass; that of one which it does not log is called as its
/// metric.
fn stem(metric: &str) -> &str {
    match metric {
        "write" | "initial_write" => "wol",
        "rewrite" => "rwol",
        "read" => "rol",
        "reread" => "rrol",
        "backward_read" | "reverse_read" => "revol",
        "stride_read" => "strol",
        "random_read" => "randrol",
        "random_write" => "randwol",
        "pwrite" => "pwol",
        "pread" => "prol",
        "fwrite" => "fwol",
        "fread" => "frol",
        other => other,
    }
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// How long it took.
    pub latency_ns: u64,
    /// What it moved.
    pub bytes: u64,
}

/// Notes of the operations of one pass, in memory that a process has in common with its parent.
pub struct OperationLog {
    memory: Buffer,
    used_bytes: usize,
}

impl OperationLog {
    /// With room for `operations`, at least one.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn new(operations: u64) -> Result<Self, Failure> {
        let size_bytes = (operations * ENTRY_BYTES) as usize;
        Ok(Self {
            memory: Buffer::shared(size_bytes).map_err(no_memory)?,
            used_bytes: 0,
        })
    }

    /// Forgets the last pass, and touches all memory: a process has it mapped only then.
    pub fn clear(&mut self) {
        self.memory.fill(0);
        self.used_bytes = 0;
    }

    /// Notes the next operation.
    #[inline]
    pub fn note(&mut self, entry: Entry) {
        let end = self.used_bytes + ENTRY_BYTES as usize;
        let place = &mut self.memory[self.used_bytes..end];
        place[..8].copy_from_slice(&entry.latency_ns.to_ne_bytes());
        place[8..].copy_from_slice(&entry.bytes.to_ne_bytes());
        self.used_bytes = end;
    }

    /// The first `operations` of the last pass.
    pub fn entries(&self, operations: u64) -> impl Iterator<Item = Entry> + '_ {
        let places = self.memory.chunks_exact(ENTRY_BYTES as usize);
        let number = |part: &[u8]| u64::from_ne_bytes(part.try_into().expect("eight bytes"));
        places.take(operations as usize).map(move |place| Entry {
            latency_ns: number(&place[..8]),
            bytes: number(&place[8..]),
        })
    }
}

/// Reports to a watch of any kind, and notes in a log, if there is one, what it reports: of the
/// loops that do more for each record than to move it, one serves for all watches.
pub struct Logging<'a> {
    watch: &'a mut dyn Watch,
    log: Option<&'a mut OperationLog>,
    laps: Laps,
}

impl<'a> Logging<'a> {
    /// For a pass that has not begun.
    pub fn new(watch: &'a mut dyn Watch, mut log: Option<&'a mut OperationLog>) -> Self {
        if let Some(log) = &mut log {
            log.clear();
        }
        Self {
            watch,
            log,
            laps: Laps::new(),
        }
    }
}

impl Watch for Logging<'_> {
    fn is_timed(&self) -> bool {
        self.log.is_some() || self.watch.is_timed()
    }

    #[inline(always)]
    fn is_bare(&self) -> bool {
        false
    }

    fn ready(&mut self) -> Result<(), Failure> {
        self.watch.ready()
    }

    fn start(&mut self) -> Result<(), Failure> {
        self.watch.start()?;
        self.laps.start();
        Ok(())
    }

    #[inline]
    fn goes_on(&self) -> bool {
        self.watch.goes_on()
    }

    #[inline]
    fn begin_operation(&mut self) {
        match self.log {
            Some(_) => self.laps.begin(),
            None => self.watch.begin_operation(),
        }
    }

    #[inline]
    fn operation(&mut self, bytes: u64) {
        if self.log.is_none() {
            return self.watch.operation(bytes);
        }
        let (began_ns, ended_ns) = self.laps.lap();
        self.overlapped_operation(bytes, began_ns, ended_ns);
    }

    #[inline]
    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64) {
        if let Some(log) = &mut self.log {
            log.note(Entry {
                latency_ns: ended_ns - began_ns,
                bytes,
            });
        }
        self.watch.overlapped_operation(bytes, began_ns, ended_ns);
    }

    fn stop(&mut self) {
        self.watch.stop();
    }
}

#[cfg(test)]
mod tests;
