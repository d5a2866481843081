//! Asynchronous I/O of IOzone's -H and -k: several records in flight, ended in the order in which
//! they were begun. An operation lasts from where its record is begun until it was ended (copied
//! where that is asked for, and compared).
//!
//! The original hands its requests to threads of the C library, and on Linux rarely has more
//! than one in flight. Here they go to the kernel's own queue, as deep as was asked for; but
//! only direct records are really in flight there, others are moved as they are handed over.

use std::ffi::CStr;
use std::io::{self, SeekFrom};
use std::mem;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use kit::failure::failure;
use rustix::fs::{Mode, OFlags};
use rustix::process::{getpid, Pid};
use wire::{Failure, FailureKind};

use super::locks::{Hold, Lock};
use super::pattern::{with_offsets, Dispatch, Pattern, Work};
use storage::backend::libaio::{Context, Libaio};
use storage::backend::queue::Queue;
use storage::backend::sync::SyncFile;
use storage::backend::{Backend, File, Positioned, Sync};
use storage::fault::Fault;
use storage::io::watch::Watch;
use storage::io::{Pipeline, Pump, Range, RecordHooks, Refill};

/// Opens files and gives each a queue; names are reached, and single records moved, by plain
/// calls.
pub struct AsyncIo {
    depth: u32,
    copies: bool,
    spare: Spare,
}

/// Queues whose file was closed, with the process that made them: a process that was forked from
/// it cannot use them. To take one down takes the kernel milliseconds, which are not the file's.
type Spare = Arc<Mutex<Vec<(Pid, Pipeline<Libaio>)>>>;

/// An open file with a queue.
pub struct AsyncFile {
    /// First, so that it is dropped, and has waited, before the file. None while it is used.
    pipeline: Option<Pipeline<Libaio>>,
    file: SyncFile,
    copies: bool,
    spare: Spare,
}

impl AsyncIo {
    /// Queues of this depth; `copies` says whether records are copied to and from the memory
    /// that the kernel uses.
    ///
    /// # Errors
    /// `HostLacks` queues that are deep enough for `children` together.
    pub fn new(depth: u32, copies: bool, children: u32) -> Result<Self, Failure> {
        let lacks = |error: io::Error| {
            let lacking = Libaio::lacks(&error).map_or(error.to_string(), str::to_owned);
            failure(FailureKind::HostLacks, lacking)
        };
        Context::setup(depth.saturating_mul(children)).map_err(lacks)?;
        // As many as can be open at once: to keep one more must not allocate.
        let spare = Vec::with_capacity(children as usize + 1);
        Ok(Self {
            depth,
            copies,
            spare: Arc::new(Mutex::new(spare)),
        })
    }
}

fn take(spare: &Spare) -> Option<Pipeline<Libaio>> {
    let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
    let mine = getpid();
    spare.retain(|(owner, _)| *owner == mine);
    spare.pop().map(|(_, pipeline)| pipeline)
}

impl Backend for AsyncIo {
    type File = AsyncFile;

    fn open(&self, path: &CStr, flags: OFlags, permissions: Mode) -> io::Result<AsyncFile> {
        let file = Sync.open(path, flags, permissions)?;
        let pipeline = match take(&self.spare) {
            Some(mut pipeline) => {
                pipeline.queue.turn_to(file.as_fd());
                pipeline
            }
            None => Pipeline::new(
                Libaio::setup(file.as_fd(), [&[]; 2], self.depth)?,
                self.depth,
            ),
        };
        Ok(AsyncFile {
            pipeline: Some(pipeline),
            file,
            copies: self.copies,
            spare: Arc::clone(&self.spare),
        })
    }
}

impl Dispatch for AsyncFile {
    fn drive<W: Watch, H: RecordHooks<Self>>(
        pump: &mut Pump<Self, W, H>,
        pattern: Pattern,
        work: Work,
    ) -> Result<u64, Fault> {
        if pattern.has_offsets() {
            return with_offsets(pump, pattern, work);
        }
        let mut pipeline = pump.file.pipeline.take().expect("one pass at a time");
        let how = (Refill::InOrder, pump.file.copies);
        let result = pipeline.run(pump, pattern.steps(work), how);
        pump.file.pipeline = Some(pipeline);
        result
    }
}

impl File for AsyncFile {
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        self.file.read(record)
    }

    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.file.write(record)
    }

    fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        self.file.seek(to)
    }

    fn resize(&mut self, size_bytes: u64) -> io::Result<()> {
        self.file.resize(size_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn close(self) -> io::Result<()> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(self.pipeline.map(|pipeline| (getpid(), pipeline)));
        mem::drop(spare);
        self.file.close()
    }
}

impl Positioned for AsyncFile {
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(record, offset)
    }

    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(record, offset)
    }
}

impl Lock for AsyncFile {
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()> {
        self.file.lock(hold, range)
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        self.file.unlock(range)
    }
}

#[cfg(test)]
mod tests;
