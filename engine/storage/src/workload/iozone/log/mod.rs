//! Logs of operations (IOzone's -Q): where each operation was, how long it took, and how much it
//! moved.
//!
//! While the clock runs, latency and size are noted in memory that was made and touched before;
//! between passes they are written to files. The place of an operation needs no note: it follows
//! from the order of the pass.

pub mod memory;
mod watch;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kit::append::append;
use kit::failure::{bad_parameter, io_failure};
use kit::Reading;
use wire::{Failure, FailureKind};

pub use self::memory::{Entry, OperationLog};
pub use self::watch::Logging;
use super::course::Course;
use super::grid::Cell;
use super::params::Params;

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

/// Adds the operations of a pass to the log at `path`: `course` has their order, and `reading` is
/// what was counted of them.
///
/// # Errors
/// Those of writing the file.
pub fn write(
    path: &Path,
    course: Course,
    cell: Cell,
    log: &OperationLog,
    reading: &Reading,
) -> Result<(), Failure> {
    let entries = || log.entries(reading.operations);
    let bytes: u64 = entries().map(|entry| entry.bytes).sum();
    assert_eq!(bytes, reading.bytes, "the log must sum to what was moved");
    append(path, |file| write_entries(file, course, cell, entries()))
        .map_err(|error| io_failure("write", path, &error))
}

fn write_entries(
    file: &mut impl Write,
    mut course: Course,
    cell: Cell,
    entries: impl Iterator<Item = Entry>,
) -> io::Result<()> {
    writeln!(file, "{HEADING}")?;
    for (step, entry) in entries.enumerate() {
        let offset_kb = course.record(step as u64) * cell.record.bytes() / 1024;
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

#[cfg(test)]
mod tests;
