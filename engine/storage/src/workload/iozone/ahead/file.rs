//! A file with a queue of the kernel.

use std::ffi::CStr;
use std::io::{self, SeekFrom};
use std::mem;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use kit::failure::failure;
use rustix::fs::{Mode, OFlags};
use rustix::process::{getpid, Pid};
use wire::{Failure, FailureKind};

use super::super::locks::{Hold, Lock, Range};
use crate::backend::libaio::Libaio;
use crate::backend::libaio::{Context, Event, Request};
use crate::backend::queue::Queue;
use crate::backend::sync::SyncFile;
use crate::backend::{Backend, File, Positioned, Sync};

/// Opens files and gives each a queue; names are reached, and single records moved, by plain
/// calls.
pub struct Queueing {
    depth: u32,
    copies: bool,
    spare: Spare,
}

/// Queues whose file was closed, with the process that made them: a process that was forked from
/// it cannot use them. To take one down takes the kernel milliseconds, which are not the file's.
type Spare = Arc<Mutex<Vec<(Pid, Context)>>>;

/// An open file, and records of it under way.
pub struct QueuedFile {
    /// First, so that it is dropped, and has waited, before the rest.
    context: Context,
    file: SyncFile,
    slots: Vec<Slot>,
    copies: bool,
    spare: Spare,
}

/// One record under way.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slot {
    pub record: u64,
    pub began_ns: u64,
    ended: Option<Event>,
}

/// One that was waited for.
pub struct Ended {
    pub state: Slot,
    pub moved: io::Result<usize>,
}

impl Slot {
    pub fn begun(record: u64, began_ns: u64) -> Self {
        Self {
            record,
            began_ns,
            ended: None,
        }
    }
}

impl Queueing {
    /// Queues of this depth; `copies` tells whether records are copied to and from the memory
    /// that the kernel uses.
    ///
    /// # Errors
    /// `HostLacks` queues that are deep enough for so many `children` together.
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

fn take(spare: &Spare) -> Option<Context> {
    let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
    let mine = getpid();
    spare.retain(|(owner, _)| *owner == mine);
    spare.pop().map(|(_, context)| context)
}

impl Backend for Queueing {
    type File = QueuedFile;

    fn open(&self, path: &CStr, flags: OFlags, permissions: Mode) -> io::Result<QueuedFile> {
        let file = Sync.open(path, flags, permissions)?;
        let context = match take(&self.spare) {
            Some(context) => context,
            None => Context::setup(self.depth)?,
        };
        Ok(QueuedFile {
            context,
            file,
            slots: vec![Slot::default(); self.depth as usize],
            copies: self.copies,
            spare: Arc::clone(&self.spare),
        })
    }

    fn unlink(&self, path: &CStr) -> io::Result<()> {
        Sync.unlink(path)
    }

    fn mkdir(&self, path: &CStr, permissions: Mode) -> io::Result<()> {
        Sync.mkdir(path, permissions)
    }

    fn rmdir(&self, path: &CStr) -> io::Result<()> {
        Sync.rmdir(path)
    }
}

impl QueuedFile {
    /// How many records are under way at most.
    #[inline]
    pub fn depth(&self) -> usize {
        self.slots.len()
    }

    /// Whether records are copied to and from the memory that the kernel uses.
    #[inline]
    pub fn copies(&self) -> bool {
        self.copies
    }

    /// Begins to read into `bytes`.
    ///
    /// # Safety
    /// They must stay, and be left alone, until the slot was waited for or all was drained.
    #[inline]
    pub unsafe fn begin_read(&mut self, number: usize, state: Slot, bytes: &mut [u8], offset: u64) {
        let request = Request::read(self.file.as_fd(), bytes, offset, number as u64);
        // SAFETY: promised by the caller.
        unsafe { self.begin(number, state, request) };
    }

    /// Begins to write `bytes`.
    ///
    /// # Safety
    /// They must stay as they are until the slot was waited for or all was drained.
    #[inline]
    pub unsafe fn begin_write(&mut self, number: usize, state: Slot, bytes: &[u8], offset: u64) {
        let request = Request::write(self.file.as_fd(), bytes, offset, number as u64);
        // SAFETY: promised by the caller.
        unsafe { self.begin(number, state, request) };
    }

    #[inline]
    unsafe fn begin(&mut self, number: usize, state: Slot, request: Request) {
        self.slots[number] = state;
        // SAFETY: promised by the caller.
        unsafe { self.context.push(request) };
    }

    /// Hands over all that was begun, and waits for the record in a slot.
    #[inline]
    pub fn wait_for(&mut self, number: usize) -> Ended {
        let ended = self.completion(number);
        Ended {
            state: self.slots[number],
            moved: ended.and_then(|completion| completion.moved()),
        }
    }

    #[inline]
    fn completion(&mut self, number: usize) -> io::Result<Event> {
        self.context.submit_all()?;
        loop {
            if let Some(ended) = self.slots[number].ended.take() {
                return Ok(ended);
            }
            self.reap()?;
        }
    }

    #[inline]
    fn reap(&mut self) -> io::Result<()> {
        let ended = self.context.reap(1, usize::MAX)?;
        for completion in ended {
            self.slots[completion.tag as usize].ended = Some(*completion);
        }
        Ok(())
    }

    /// Waits until the kernel has nothing that was begun any more.
    pub fn drain(&mut self) {
        self.context.drain();
        self.slots.fill(Slot::default());
    }
}

impl File for QueuedFile {
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

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn close(self) -> io::Result<()> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push((getpid(), self.context));
        mem::drop(spare);
        self.file.close()
    }
}

impl Positioned for QueuedFile {
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(record, offset)
    }

    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(record, offset)
    }
}

impl Lock for QueuedFile {
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()> {
        self.file.lock(hold, range)
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        self.file.unlock(range)
    }
}
