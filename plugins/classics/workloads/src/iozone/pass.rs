//! One pass: open, settle, [first instant] loop, fsync and close where included [second
//! instant], the rest of a file whose writer was stopped, and whatever fsync and close are left.

use std::io::{self, SeekFrom};

use kit::buffers::fetch;
use kit::{clock, stop};
use rustix::fs::{Mode, OFlags};
use wire::{AccessKind, Failure};

use super::locks::{Hold, Lock};
use super::log::Logging;
use super::params::Params;
use super::pattern::{Dispatch, Pattern, Work};
use super::table::{Pass, Settle};
use storage::access::open_flags;
use storage::backend::{Backend, File};
use storage::io::watch::{Untimed, Watch};
use storage::io::{Pump, Range, RecordHooks};
use storage::scratch::Scratch;

/// What a pass did, beside what its watch counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// Sum over what was read.
    pub checksum: u64,
    /// Time inside the timed region that does not count, in ns.
    pub thought_ns: u64,
    /// Time from the second instant to the end of all work on the file, in ns.
    pub tail_ns: u64,
}

/// Where and how the passes of a cell are executed.
pub struct Stage<'a, B: Backend> {
    /// The plain backend.
    pub plain: &'a B,
    /// The test file; its backend is the plain one.
    pub scratch: &'a Scratch<'a, B>,
    /// Parameters of the trial.
    pub params: &'a Params,
    /// What the loops need.
    pub work: Work<'a>,
    /// Whether the file is opened as a C stream, without flags that those do not have.
    pub is_stream: bool,
    /// Whether the whole file is locked.
    pub locks_file: bool,
    /// Whether a writer that is stopped writes the rest of its file, so that later readers find
    /// all of it.
    pub fills_up: bool,
}

impl<B: Backend> Stage<'_, B> {
    /// Executes `pass` on a file that is opened with `backend`. `buffer` takes the
    /// records read.
    ///
    /// # Errors
    /// Whatever the kernel, the verification or the access check finds.
    pub fn perform<T, W, H>(
        &self,
        pass: &Pass,
        backend: &T,
        watch: &mut W,
        hooks: &mut H,
        buffer: &mut [u8],
    ) -> Result<Part, Failure>
    where
        T: Backend<File: Dispatch>,
        W: Watch,
        H: RecordHooks<T::File>,
    {
        let is_read = pass.is_read();
        let failed = |action: &'static str| move |e: io::Error| self.scratch.failed(action, &e);
        let mut file = self.open(backend, pass.open).map_err(failed("open"))?;
        self.size_first(&mut file, is_read)
            .map_err(failed("resize"))?;
        self.settle(pass.settle, &mut file, buffer)
            .map_err(failed("settle"))?;
        self.lock(&mut file, is_read).map_err(failed("lock"))?;
        watch.ready()?;
        if is_read {
            fetch(buffer);
        } else {
            fetch(hooks.outgoing(0, &mut buffer[..self.work.record_bytes]));
        }

        watch.start()?;
        let mut pump = self.pump(&mut file, watch, hooks, buffer);
        let next = self.drive(&mut pump, pass.pattern, self.work)?;
        let checksum = pump.checksum;
        stop::check()?;
        self.unlock(&mut file).map_err(failed("unlock"))?;
        let left_open = self
            .end_timed(pass, file)
            .map_err(failed("fsync or close"))?;
        watch.stop();

        let thought_ns = hooks.thought_ns();
        let stopped_ns = clock::now_ns();
        let left_open = if self.fills_up && next < self.work.records {
            let file = self.fill_up(pass, next, left_open, backend, hooks, buffer)?;
            Some(file)
        } else {
            left_open
        };
        if let Some(file) = left_open {
            self.end_untimed(pass, file)
                .map_err(failed("fsync or close"))?;
        }
        Ok(Part {
            checksum,
            thought_ns,
            tail_ns: clock::now_ns() - stopped_ns,
        })
    }

    /// Moves all records without timing, for a trial whose first test wants to find the file
    /// laid out, or in the cache.
    ///
    /// # Errors
    /// As for a pass.
    pub fn rehearse<H: RecordHooks<B::File>>(
        &self,
        (flags, pattern): (OFlags, Pattern),
        hooks: &mut H,
        buffer: &mut [u8],
    ) -> Result<(), Failure>
    where
        B::File: Dispatch,
    {
        let failed = |e: io::Error| self.scratch.failed("lay out", &e);
        let mut file = self.open(self.plain, flags).map_err(failed)?;
        self.size_first(&mut file, pattern.is_read())
            .map_err(failed)?;
        let mut untimed = Untimed;
        let mut watch = Logging::new(&mut untimed, None);
        let mut pump = self.pump(&mut file, &mut watch, hooks, buffer);
        self.drive(&mut pump, pattern, self.work)?;
        stop::check()?;
        sync_and_close(file).map_err(failed)
    }

    /// Writes what a stopped pass left out, from step `next` on. A file that was closed inside
    /// the timed region is opened again.
    fn fill_up<T, H>(
        &self,
        pass: &Pass,
        next: u64,
        left_open: Option<T::File>,
        backend: &T,
        hooks: &mut H,
        buffer: &mut [u8],
    ) -> Result<T::File, Failure>
    where
        T: Backend<File: Dispatch>,
        H: RecordHooks<T::File>,
    {
        let offset = next * self.work.record_bytes as u64;
        let reopened = || {
            let mut file = self.open(backend, pass.open)?;
            file.seek(SeekFrom::Start(offset))?;
            Ok(file)
        };
        let mut file = match left_open {
            Some(file) => file,
            None => reopened().map_err(|e: io::Error| self.scratch.failed("open", &e))?,
        };
        let mut untimed = Untimed;
        let mut watch = Logging::new(&mut untimed, None);
        let mut pump = self.pump(&mut file, &mut watch, hooks, buffer);
        let rest = Work {
            first: next,
            ..self.work
        };
        self.drive(&mut pump, pass.pattern, rest)?;
        Ok(file)
    }

    fn pump<'m, F, W, H>(
        &self,
        file: &'m mut F,
        watch: &'m mut W,
        hooks: &'m mut H,
        buffer: &'m mut [u8],
    ) -> Pump<'m, F, W, H> {
        Pump {
            file,
            watch,
            hooks,
            record_bytes: self.work.record_bytes,
            buffer,
            times_seeks: true,
            checksum: 0,
        }
    }

    /// Moves records from the first one of `work` on; gives the next operation.
    fn drive<F: Dispatch, W: Watch, H: RecordHooks<F>>(
        &self,
        pump: &mut Pump<F, W, H>,
        pattern: Pattern,
        work: Work,
    ) -> Result<u64, Failure> {
        let done = F::drive(pump, pattern, work).map_err(|fault| {
            let action = if pattern.is_read() { "read" } else { "write" };
            fault.into_failure(action, self.scratch.path())
        })?;
        Ok(work.first + done)
    }

    fn open<T: Backend>(&self, backend: &T, flags: OFlags) -> io::Result<T::File> {
        let permissions = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let added = if self.is_stream {
            OFlags::empty()
        } else {
            self.added_flags(flags.contains(OFlags::RDWR))
        };
        backend.open(self.scratch.c_path(), flags | added, permissions)
    }

    fn added_flags(&self, is_written: bool) -> OFlags {
        open_flags(self.params.access) | self.params.open_sync.flags(is_written)
    }

    /// A mapping is made of what is there.
    fn size_first<F: File>(&self, file: &mut F, is_read: bool) -> io::Result<()> {
        if F::IS_SIZED_FIRST && !is_read {
            file.resize(self.work.records * self.work.record_bytes as u64)?;
        }
        Ok(())
    }

    fn settle<F: File>(&self, how: Settle, file: &mut F, buffer: &mut [u8]) -> io::Result<()> {
        match how {
            Settle::AsIs => Ok(()),
            Settle::Sync => file.sync(),
            // A record read beforehand would come from memory when it is timed.
            Settle::SyncAndPrime if self.params.access == AccessKind::OutOfCache => file.sync(),
            Settle::SyncAndPrime => {
                file.sync()?;
                file.read(&mut buffer[..self.work.record_bytes])?;
                file.seek(SeekFrom::Start(0))
            }
            Settle::SyncApart => {
                let path = self.scratch.c_path();
                sync_and_close(self.plain.open(path, OFlags::RDONLY, Mode::empty())?)
            }
        }
    }

    fn lock<F: Lock>(&self, file: &mut F, is_read: bool) -> io::Result<()> {
        match (self.locks_file, is_read) {
            (false, _) => Ok(()),
            (true, true) => file.lock(Hold::Shared, Range::ALL),
            (true, false) => file.lock(Hold::Exclusive, Range::ALL),
        }
    }

    fn unlock<F: Lock>(&self, file: &mut F) -> io::Result<()> {
        if self.locks_file {
            file.unlock(Range::ALL)?;
        }
        Ok(())
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

    /// Whatever the parameters left to be done after the second instant.
    fn end_untimed<F: File>(&self, pass: &Pass, file: F) -> io::Result<()> {
        match pass.settle {
            Settle::SyncApart => file.close(),
            _ => sync_and_close(file),
        }
    }
}

fn sync_and_close<F: File>(mut file: F) -> io::Result<()> {
    file.sync()?;
    file.close()
}
