//! A stage: what is done, to which files, and whether a completion is what it should be.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use kit::histogram::Histogram;
use kit::team::Finish;
use wire::Failure;

use super::disk::Disk;
use super::fill::Pattern;
use super::offsets::Range;
use super::standstill::Standstill;
use crate::fault::Fault;
use crate::workload::edges::Edges;
use crate::workload::phase::Phase;

/// What all threads do in a stage, and how.
pub struct Stage<'a> {
    /// Which one.
    pub phase: Phase,
    /// Requests built for one file before the next one's turn.
    pub batch: usize,
    /// Requests handed over at once, at most.
    pub submit_max: usize,
    /// When threads that still have requests to begin stop.
    pub finish: Finish,
    /// Whether files are synced at the end.
    pub fsync: bool,
    /// Whether records read are compared with `pattern`.
    pub verify: bool,
    /// What is written, and expected back.
    pub pattern: &'a Pattern,
    /// Whether anybody is left who could make a file longer.
    pub standstill: Standstill,
}

/// One context of one file.
pub struct Oper<'a> {
    /// Name of the file, for failures.
    pub path: &'a Path,
    /// Number of the file.
    pub number: u32,
    /// Open for reading and writing.
    pub file: OwnedFd,
    /// What of it is worked on.
    pub range: Range,
    /// Requests begun in this stage.
    pub started: u64,
}

impl<'a> Oper<'a> {
    /// With nothing begun.
    pub fn new(path: &'a Path, number: u32, file: OwnedFd, range: Range) -> Self {
        Self {
            path,
            number,
            file,
            range,
            started: 0,
        }
    }

    /// Requests yet to be begun.
    pub fn left(&self) -> u64 {
        self.range.records() - self.started
    }
}

/// What a thread did in a stage, beside what its probe counted.
pub struct Part {
    /// When the last completion had been reaped, in ns since the gate opened; fsync follows.
    pub drained_ns: u64,
    /// Checksum over what was verified.
    pub checksum: u64,
    /// How long calls of io_submit took.
    pub submits: Histogram,
    /// Calls of fsync.
    pub edges: Edges,
}

/// Whether a record was moved in full and is the one expected, which `verify` tells.
pub fn check<D: Disk>(
    moved: io::Result<usize>,
    offset: u64,
    record_bytes: usize,
    verify: impl FnOnce() -> Result<u64, usize>,
) -> Result<u64, Fault> {
    let record = offset / record_bytes as u64;
    match moved {
        Ok(moved) if moved == record_bytes => {}
        Ok(moved) => return Err(Fault::Short { record, moved }),
        Err(error) => return Err(Fault::Io { record, error }),
    }
    match verify() {
        Ok(sum) => Ok(sum),
        Err(page) if D::MOVES_DATA => Err(Fault::Differs { record, page }),
        Err(_) => Ok(0),
    }
}

/// The kernel tells why a write was cut short when it is asked for the rest.
#[cold]
pub fn explain(fault: Fault, phase: Phase, oper: &Oper, offset: u64, expected: &[u8]) -> Failure {
    let fault = match fault {
        Fault::Short { record, moved } if phase.is_write() => {
            let behind = offset + moved as u64;
            match rustix::io::pwrite(&oper.file, &expected[moved..], behind) {
                Ok(_) => fault,
                Err(error) => Fault::Io {
                    record,
                    error: error.into(),
                },
            }
        }
        other => other,
    };
    let action = if phase.is_write() { "write" } else { "read" };
    fault.into_failure(action, oper.path)
}
