//! One pass: open, settle, [first instant] loop, fsync and close where included [second
//! instant], and whatever fsync and close are left.

use std::io::{self, SeekFrom};

use kit::buffers::fetch;
use kit::failure::{failure, interrupted};
use kit::{Probe, Reading};
use rustix::fs::{Mode, OFlags};
use wire::{AccessKind, Failure, FailureKind};

use super::evidence::Evidence;
use super::loops::{self, Fault, Work};
use super::params::Params;
use super::scratch::Scratch;
use super::table::{Pass, Settle};
use crate::backend::{Backend, File};

/// What a pass gave.
pub struct Outcome {
    /// What was timed.
    pub reading: Reading,
    /// Checksum over what was read.
    pub checksum: u64,
}

/// Where and how the passes of a cell are executed.
pub struct Stage<'a, B: Backend> {
    /// The test file; its backend is the plain one.
    pub scratch: &'a Scratch<'a, B>,
    /// The plain backend.
    pub plain: &'a B,
    /// Parameters of the trial.
    pub params: &'a Params,
    /// What the loops need.
    pub work: Work<'a>,
}

impl<B: Backend> Stage<'_, B> {
    /// Executes `pass` of a test that opens its file with `backend`. `buffer` takes the
    /// records read.
    ///
    /// # Errors
    /// Whatever the kernel, the verification or the access check finds.
    pub fn execute<T: Backend, P: Probe>(
        &self,
        pass: &Pass,
        backend: &T,
        probe: &mut P,
        buffer: &mut [u8],
        evidence: &mut Option<Evidence>,
    ) -> Result<Outcome, Failure> {
        let is_read = pass.motion.is_read();
        let mut file = self.open(backend, pass.open)?;
        self.settle(pass.settle, &mut file, buffer)
            .map_err(|error| self.scratch.failed("settle", &error))?;
        if let (true, Some(evidence)) = (is_read, evidence.as_mut()) {
            evidence.check_resident(self.scratch.path())?;
        }
        let before = evidence.as_ref().and_then(Evidence::counters);
        fetch(if is_read {
            buffer
        } else {
            self.work.content.record(0)
        });

        probe.start();
        let checksum = loops::execute(pass.motion, &mut file, probe, &self.work, buffer)
            .map_err(|fault| self.explain(fault, is_read))?;
        let left_open = self
            .end_timed(pass, file)
            .map_err(|error| self.scratch.failed("fsync or close", &error))?;
        let reading = probe.finish();

        if let Some(evidence) = evidence {
            evidence.add(is_read, reading.bytes, [before, evidence.counters()]);
        }
        if let Some(file) = left_open {
            sync_and_close(file).map_err(|error| self.scratch.failed("fsync or close", &error))?;
        }
        Ok(Outcome { reading, checksum })
    }

    /// Writes the file without timing, for a trial whose first test wants to find it.
    ///
    /// # Errors
    /// As for a pass.
    pub fn lay_out<P: Probe>(&self, probe: &mut P, buffer: &mut [u8]) -> Result<(), Failure> {
        let mut file = self.open(self.plain, OFlags::RDWR)?;
        let motion = loops::Motion::SequentialWrite;
        probe.start();
        loops::execute(motion, &mut file, probe, &self.work, buffer)
            .map_err(|fault| self.explain(fault, false))?;
        sync_and_close(file).map_err(|error| self.scratch.failed("lay out", &error))
    }

    fn open<T: Backend>(&self, backend: &T, flags: OFlags) -> Result<T::File, Failure> {
        let flags = match self.params.access {
            AccessKind::InCache => flags,
            AccessKind::Direct => flags | OFlags::DIRECT,
        };
        let permissions = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        backend
            .open(self.scratch.c_path(), flags, permissions)
            .map_err(|error| self.scratch.failed("open", &error))
    }

    fn settle<F: File>(&self, how: Settle, file: &mut F, buffer: &mut [u8]) -> io::Result<()> {
        match how {
            Settle::AsIs => Ok(()),
            Settle::Sync => file.sync(),
            Settle::SyncAndPrime => {
                file.sync()?;
                file.read(buffer)?;
                file.seek(SeekFrom::Start(0))
            }
            Settle::SyncApart => {
                let apart =
                    self.plain
                        .open(self.scratch.c_path(), OFlags::RDONLY, Mode::empty())?;
                sync_and_close(apart)
            }
        }
    }

    /// What the parameters put before the second instant; gives the file back if it stays open.
    fn end_timed<F: File>(&self, pass: &Pass, mut file: F) -> io::Result<Option<F>> {
        if self.params.include_fsync {
            // A stream that is read has nothing to sync; the original only flushes it.
            match pass.settle {
                Settle::SyncApart => file.flush()?,
                _ => file.sync()?,
            }
        }
        if self.params.include_close {
            file.close()?;
            return Ok(None);
        }
        Ok(Some(file))
    }

    fn explain(&self, fault: Fault, is_read: bool) -> Failure {
        let (path, action) = (
            self.scratch.path().display(),
            if is_read { "read" } else { "write" },
        );
        match fault {
            Fault::Stopped => interrupted(),
            Fault::Io { record, error } => self
                .scratch
                .failed(&format!("{action} record {record} of"), &error),
            Fault::Short { record, moved } => failure(
                FailureKind::Io,
                format!("cannot {action} record {record} of {path}: only {moved} bytes were moved"),
            ),
            Fault::Differs { record, page } => failure(
                FailureKind::Verification,
                format!(
                    "record {record} of {path} is not what was written: page {page} of it differs"
                ),
            ),
        }
    }
}

fn sync_and_close<F: File>(mut file: F) -> io::Result<()> {
    file.sync()?;
    file.close()
}
