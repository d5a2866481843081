//! An open file, and the pump that moves its blocks: one at a time, or many at once through a
//! queue. In the latter the clock is read once per round of completions: that instant ends the
//! operations that were taken, and begins those that take their places.

use std::io;
use std::os::fd::AsFd;

use kit::content::Stamped;
use kit::failure::{failure, no_memory};
use kit::pace::{self, Pace};
use kit::team::Member;
use kit::{clock, Buffer, Content, Probe};
use rustix::fs::{Mode, OFlags};
use wire::{Failure, FailureKind, Timing};

use super::Directed;
use crate::backend::queue::{Grant, Queue};
use crate::backend::sync::SyncFile;
use crate::backend::{Backend, File, Positioned, Sync};
use crate::fault::Fault;
use crate::io::watch::Watch;
use crate::io::{Check, NoHooks, Pipeline, Positional, Pump, Refill, Step};
use crate::scratch::Scratch;

/// Without a limit of time, the clock need not be read between operations. With one and a probe
/// that times passes only, it is read once in this number of operations.
const LOOK_EVERY: u64 = 64;

/// What a thread does with the blocks of its file.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// What is written, and expected back.
    pub content: &'a Content,
    /// Bytes per operation.
    pub block_bytes: usize,
    /// Transfers in flight at once.
    pub depth: u32,
    /// Whether eight bytes per page of each block read are compared with `content`.
    pub verify: bool,
    /// When operations are due; without it, each begins when there is room for it.
    pub pace: Option<Pace>,
    /// Operations, unless time is up before.
    pub operations: u64,
    /// Time from the opening of the gate in which operations may begin, in ns.
    pub runtime_ns: u64,
}

/// An open file, and the way in which its blocks are moved.
pub trait Channel: Sized {
    /// Opens with the flags of open(2), in the thread number `file` that will use it.
    ///
    /// # Errors
    /// Those of open(2); `HostLacks` when a queue cannot be made.
    fn open<B: Backend>(
        scratch: &Scratch<B>,
        flags: OFlags,
        work: &Work,
        file: u32,
    ) -> Result<Self, Failure>;

    /// Moves the blocks of `steps` from the first instant of the member's probe until `work` says
    /// to end, or the team stops. Gives the checksum over what was read: of one word per block,
    /// or over what was verified.
    ///
    /// # Errors
    /// The first fault.
    fn execute<P: Probe>(
        &mut self,
        work: &Work,
        steps: impl Iterator<Item = Step>,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault>;

    /// Gives the file its size, where that is needed before blocks can be written.
    ///
    /// # Errors
    /// Those of ftruncate(2).
    fn prepare(&mut self, size_bytes: u64) -> io::Result<()>;

    /// Waits until data and metadata are on the device.
    ///
    /// # Errors
    /// Those of fsync(2).
    fn sync(&mut self) -> io::Result<()>;

    /// What of the kernel makes it faster, and whether it was granted.
    fn granted(&self) -> Vec<Grant> {
        Vec::new()
    }
}

/// What a pump moves blocks of.
struct Open<F> {
    file: F,
    /// What is read into: a block for each transfer.
    buffer: Buffer,
    /// What is written where blocks must differ.
    stamped: Option<Stamped>,
}

impl<F: File> Open<F> {
    fn new<T: Backend<File = F>, B: Backend>(
        backend: &T,
        scratch: &Scratch<B>,
        flags: OFlags,
        work: &Work,
        file: u32,
    ) -> Result<Self, Failure> {
        let stamped = work.content.stamped(file).map_err(no_memory)?;
        let file = backend.open(scratch.c_path(), flags, Mode::empty());
        let buffer_bytes = work.depth as usize * work.block_bytes;
        Ok(Self {
            file: file.map_err(|error| scratch.failed("open", &error))?,
            buffer: Buffer::new(buffer_bytes).map_err(no_memory)?,
            stamped,
        })
    }

    /// Has `drive` move blocks with a pump; gives the checksum.
    #[inline(always)]
    fn pump<P: Probe>(
        &mut self,
        work: &Work,
        member: &mut Member<Directed<P>>,
        drive: impl FnOnce(&mut Pump<F, Scheduled<P>, NoHooks>) -> Result<u64, Fault>,
    ) -> Result<u64, Fault> {
        let mut pump = Pump {
            file: &mut self.file,
            watch: &mut Scheduled::new(member, work),
            hooks: &mut NoHooks {
                stamped: self.stamped.as_mut(),
                stays: true,
                ..NoHooks::new(work.content, Check::pages_if(work.verify, Check::FirstWord))
            },
            record_bytes: work.block_bytes,
            buffer: &mut self.buffer,
            times_seeks: true,
            checksum: 0,
        };
        drive(&mut pump)?;
        Ok(pump.checksum)
    }
}

/// One block at a time.
pub struct Single<B: Backend>(Open<B::File>);

impl<B> Channel for Single<B>
where
    B: Backend + Default,
    B::File: Positioned,
{
    fn open<M: Backend>(
        scratch: &Scratch<M>,
        flags: OFlags,
        work: &Work,
        file: u32,
    ) -> Result<Self, Failure> {
        Open::new(&B::default(), scratch, flags, work, file).map(Self)
    }

    fn execute<P: Probe>(
        &mut self,
        work: &Work,
        steps: impl Iterator<Item = Step>,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault> {
        self.0
            .pump(work, member, |pump| pump.run::<Positional>(steps))
    }

    fn prepare(&mut self, size_bytes: u64) -> io::Result<()> {
        if B::File::IS_SIZED_FIRST {
            self.0.file.resize(size_bytes)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.file.sync()
    }
}

/// Many blocks at once, through a queue.
pub struct Queued<Q> {
    /// First, so that it is dropped, and has waited for what is in flight, before the rest.
    pipeline: Pipeline<Q>,
    open: Open<SyncFile>,
}

impl<Q: Queue> Channel for Queued<Q> {
    fn open<B: Backend>(
        scratch: &Scratch<B>,
        flags: OFlags,
        work: &Work,
        number: u32,
    ) -> Result<Self, Failure> {
        let open = Open::new(&Sync, scratch, flags, work, number)?;
        // What is stamped is copied to the buffer of the transfer, since the next one is stamped
        // while this one is in flight.
        let outgoing = match open.stamped {
            None => work.content.memory(),
            Some(_) => &open.buffer,
        };
        let areas = [&open.buffer[..], outgoing];
        let queue = Q::setup(open.file.as_fd(), areas, work.depth);
        let queue = queue.map_err(|error| match Q::lacks(&error) {
            Some(lacking) => failure(FailureKind::HostLacks, lacking),
            None => scratch.failed("make a queue for", &error),
        });
        Ok(Self {
            pipeline: Pipeline::new(queue?, work.depth),
            open,
        })
    }

    fn execute<P: Probe>(
        &mut self,
        work: &Work,
        steps: impl Iterator<Item = Step>,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault> {
        let pipeline = &mut self.pipeline;
        self.open.pump(work, member, |pump| {
            pipeline.run(pump, steps, (Refill::AsCompleted, false))
        })
    }

    fn prepare(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.open.file.sync()
    }

    fn granted(&self) -> Vec<Grant> {
        self.pipeline.queue.granted()
    }
}

/// When the operations of a thread begin; they are counted apart by their direction.
struct Scheduled<'m, 'g, P> {
    member: &'m mut Member<'g, Directed<P>>,
    work: Work<'m>,
    opened_ns: u64,
    /// No operation begins from then on.
    until_ns: u64,
    /// The instant of the last look at the clock.
    now_ns: u64,
    begun: u64,
    looks: u64,
    /// Of the one operation of the synchronous pump.
    began_ns: u64,
    is_write: bool,
}

impl<'m, 'g, P: Probe> Scheduled<'m, 'g, P> {
    fn new(member: &'m mut Member<'g, Directed<P>>, work: &Work<'m>) -> Self {
        let opened_ns = member.opened_ns();
        Self {
            member,
            work: *work,
            opened_ns,
            until_ns: opened_ns.saturating_add(work.runtime_ns),
            now_ns: clock::now_ns(),
            begun: 0,
            looks: 0,
            began_ns: 0,
            is_write: false,
        }
    }

    /// When the next operation begins: now or, in an open loop, when it is due.
    #[inline(always)]
    fn due_ns(&self) -> Option<u64> {
        let due_ns = match &self.work.pace {
            Some(pace) => self.opened_ns + pace.due_ns(self.begun),
            None => self.now_ns,
        };
        (self.begun < self.work.operations && due_ns < self.until_ns).then_some(due_ns)
    }

    /// Whether the clock is to be read once more for the limit of time alone.
    #[inline(always)]
    fn is_time_to_look(&mut self) -> bool {
        let number = self.looks;
        self.looks += 1;
        self.work.runtime_ns < u64::MAX && number.is_multiple_of(LOOK_EVERY)
    }
}

impl<P: Probe> Watch for Scheduled<'_, '_, P> {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        matches!(P::TIMING, Timing::Operation)
    }

    #[inline(always)]
    fn begin(&mut self, is_write: bool) -> bool {
        let Some(due_ns) = self.due_ns() else {
            return false;
        };
        if self.work.pace.is_some() {
            if self.begun > 0 && self.now_ns >= self.until_ns {
                return false;
            }
            pace::wait_until(due_ns);
        }
        self.begun += 1;
        (self.began_ns, self.is_write) = (due_ns, is_write);
        true
    }

    #[inline(always)]
    fn goes_on(&self) -> bool {
        self.member.goes_on()
    }

    #[inline(always)]
    fn operation(&mut self, bytes: u64) {
        if self.is_timed() {
            let now_ns = self.member.probe.of(self.is_write).now_ns();
            self.now_ns = now_ns.max(self.began_ns);
            self.overlapped_operation(bytes, self.began_ns, self.now_ns);
            return;
        }
        self.member.probe.of(self.is_write).operation(bytes);
        if self.is_time_to_look() {
            self.now_ns = clock::now_ns();
        }
    }

    #[inline(always)]
    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64) {
        let probe = self.member.probe.of(self.is_write);
        probe.overlapped_operation(bytes, began_ns, ended_ns);
    }

    #[inline(always)]
    fn next_ns(&mut self) -> Option<u64> {
        let due_ns = self.due_ns()?;
        self.begun += u64::from(due_ns <= self.now_ns);
        Some(due_ns)
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline(always)]
    fn look(&mut self) {
        let is_clocked = self.is_timed() || self.work.pace.is_some();
        if is_clocked || self.is_time_to_look() {
            self.now_ns = clock::now_ns();
        }
    }

    fn wait_until(&mut self, due_ns: u64) {
        self.now_ns = pace::wait_until(due_ns);
    }

    #[inline(always)]
    fn ended(&mut self, is_write: bool, bytes: u64, began_ns: u64) {
        self.is_write = is_write;
        self.overlapped_operation(bytes, began_ns, self.now_ns);
    }
}

#[cfg(test)]
mod tests;
