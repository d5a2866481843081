//! Many blocks at once, through a queue.
//!
//! All transfers that have room, and are due, are handed over; then one completion is waited for,
//! and all that are there are taken. The clock is read once per such round: that instant ends the
//! operations that were taken, and begins those that take their places.
//!
//! A batch is handed over as soon as it is longer than all that the kernel has already: a device
//! that has nothing to do would idle while a long one is put together. So batches double until
//! the depth is reached; in a steady stream they are as long as what has ended meanwhile.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use kit::content::Stamped;
use kit::failure::{failure, no_memory};
use kit::team::Member;
use kit::{clock, pace, Buffer, Probe};
use rustix::fs::{Mode, OFlags};
use wire::{Failure, FailureKind, Timing};

use super::{check, Channel, Directed, Mix, Order, Work, LOOK_EVERY};
use crate::backend::queue::{Completion, Grant, Queue, Transfer};
use crate::backend::Backend;
use crate::fault::Fault;
use crate::scratch::Scratch;

/// A file, a queue, and a buffer for each transfer in flight.
pub struct Queued<Q> {
    /// First, so that it is dropped, and has waited for what is in flight, before the rest.
    queue: Q,
    buffers: Buffer,
    file: OwnedFd,
    /// What is written where blocks must differ: copied to the buffer of the transfer, since the
    /// next one is stamped while this one is in flight.
    stamped: Option<Stamped>,
    slots: Vec<Slot>,
    /// Slots without a transfer, by number.
    free: Vec<u32>,
}

/// A buffer, and the transfer that uses it.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    block: u64,
    began_ns: u64,
    is_write: bool,
}

/// How far a thread is.
struct Course {
    opened_ns: u64,
    /// The instant of the last look at the clock.
    now_ns: u64,
    /// No operation begins from then on.
    until_ns: u64,
    begun: u64,
    /// Begun and not yet handed over.
    queued: usize,
    checksum: u64,
}

impl Course {
    /// When the next operation begins: now or, in an open loop, when it is due.
    fn next_ns(&self, work: &Work) -> Option<u64> {
        let began_ns = match &work.pace {
            Some(pace) => self.opened_ns + pace.due_ns(self.begun),
            None => self.now_ns,
        };
        (self.begun < work.operations && began_ns < self.until_ns).then_some(began_ns)
    }

    #[cold]
    fn fault(&self, error: io::Error) -> Fault {
        Fault::Io {
            record: self.begun,
            error,
        }
    }
}

impl<Q: Queue> Queued<Q> {
    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Begins what there is room for and what is due; gives when the next is due, while any is.
    #[inline(always)]
    fn fill<O: Order>(
        &mut self,
        work: &Work,
        order: &mut O,
        mix: &mut Mix,
        course: &mut Course,
    ) -> Result<Option<u64>, Fault> {
        loop {
            let Some(began_ns) = course.next_ns(work) else {
                return Ok(None);
            };
            if began_ns > course.now_ns {
                return Ok(Some(began_ns));
            }
            let Some(number) = self.free.pop() else {
                return Ok(Some(began_ns));
            };
            let slot = Slot {
                block: order.next(),
                began_ns,
                is_write: mix.is_write_next(),
            };
            self.slots[number as usize] = slot;
            self.begin(work, number, slot);
            course.begun += 1;
            course.queued += 1;
            if !self.free.is_empty() && 2 * course.queued > self.in_flight() {
                self.submit(course)?;
            }
        }
    }

    #[inline(always)]
    fn begin(&mut self, work: &Work, number: u32, slot: Slot) {
        let offset = slot.block * work.block_bytes as u64;
        let own = number as usize * work.block_bytes..(number as usize + 1) * work.block_bytes;
        let start = match &mut self.stamped {
            None if slot.is_write => work.content.record(slot.block).as_ptr(),
            Some(stamped) if slot.is_write => {
                let bytes = stamped.span(offset, work.block_bytes);
                self.buffers[own.clone()].copy_from_slice(bytes);
                self.buffers[own].as_ptr()
            }
            _ => self.buffers[own].as_ptr(),
        };
        let transfer = Transfer {
            is_write: slot.is_write,
            start,
            size_bytes: work.block_bytes as u32,
            offset,
            tag: number.into(),
        };
        // SAFETY: the buffer is looked at when the completion was taken, not before; neither it
        // nor the content goes before `execute` has waited for all that is in flight.
        unsafe { self.queue.push(transfer) };
    }

    /// Takes a completion, and gives its slot free.
    #[inline(always)]
    fn end<P: Probe>(
        &mut self,
        work: &Work,
        completion: Completion,
        course: &mut Course,
        probe: &mut Directed<P>,
    ) -> Result<(), Fault> {
        let number = completion.tag as usize;
        self.free.push(number as u32);
        let slot = self.slots[number];
        if let Err(fault) = check::whole(completion.moved(), slot.block, work.block_bytes) {
            return Err(self.explain(work, number, fault));
        }
        if !slot.is_write {
            let start = number * work.block_bytes;
            let found = &self.buffers[start..start + work.block_bytes];
            let stamped = self.stamped.as_ref();
            let sum = check::found(found, slot.block, work, stamped, true)?;
            course.checksum = course.checksum.wrapping_add(sum);
        }
        let probe = probe.of(slot.is_write);
        probe.overlapped_operation(work.block_bytes as u64, slot.began_ns, course.now_ns);
        Ok(())
    }

    #[cold]
    fn explain(&self, work: &Work, number: usize, fault: Fault) -> Fault {
        let slot = self.slots[number];
        if !slot.is_write {
            return fault;
        }
        check::why_short(fault, |moved| {
            let bytes = match &self.stamped {
                None => work.content.record(slot.block),
                Some(_) => &self.buffers[number * work.block_bytes..][..work.block_bytes],
            };
            let rest = &bytes[moved..];
            let offset = slot.block * work.block_bytes as u64 + moved as u64;
            Ok(rustix::io::pwrite(&self.file, rest, offset)?)
        })
    }

    #[inline(always)]
    fn drive<O: Order, P: Probe>(
        &mut self,
        work: &Work,
        order: &mut O,
        mix: &mut Mix,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault> {
        let opened_ns = member.opened_ns();
        let mut course = Course {
            opened_ns,
            now_ns: clock::now_ns(),
            until_ns: opened_ns.saturating_add(work.runtime_ns),
            begun: 0,
            queued: 0,
            checksum: 0,
        };
        let is_clocked = P::TIMING == Timing::Operation || work.pace.is_some();
        let looks = work.runtime_ns < u64::MAX;
        let mut rounds: u64 = 0;
        loop {
            let next_ns = self.fill(work, order, mix, &mut course)?;
            match (self.in_flight(), next_ns) {
                (0, None) => return Ok(course.checksum),
                (0, Some(due_ns)) => course.now_ns = pace::wait_until(due_ns),
                (_, next_ns) => {
                    // With room left, the next one is not due yet: do not sleep through that.
                    let may_wait = self.free.is_empty() || next_ns.is_none();
                    self.exchange(usize::from(may_wait), &mut course)?;
                    rounds += 1;
                    if is_clocked || looks && rounds.is_multiple_of(LOOK_EVERY) {
                        course.now_ns = clock::now_ns();
                    }
                    while let Some(completion) = self.queue.completion() {
                        self.end(work, completion, &mut course, &mut member.probe)?;
                    }
                }
            }
            if !member.goes_on() {
                return Err(Fault::Stopped);
            }
        }
    }

    #[inline(always)]
    fn submit(&mut self, course: &mut Course) -> Result<(), Fault> {
        course.queued = 0;
        let submitted = self.queue.submit();
        submitted.map_err(|error| course.fault(error))
    }

    #[inline(always)]
    fn exchange(&mut self, min: usize, course: &mut Course) -> Result<(), Fault> {
        course.queued = 0;
        let exchanged = self.queue.exchange(min);
        exchanged.map_err(|error| course.fault(error))
    }
}

impl<Q: Queue> Channel for Queued<Q> {
    fn open<B: Backend>(
        scratch: &Scratch<B>,
        flags: OFlags,
        work: &Work,
        number: u32,
    ) -> Result<Self, Failure> {
        let stamped = work.content.stamped(number).map_err(no_memory)?;
        let file = rustix::fs::open(scratch.c_path(), flags, Mode::empty())
            .map_err(|error| scratch.failed("open", &error.into()))?;
        let buffers = Buffer::new(work.depth as usize * work.block_bytes).map_err(no_memory)?;
        let outgoing = match stamped {
            None => work.content.memory(),
            Some(_) => &buffers,
        };
        let areas = [&buffers[..], outgoing];
        let queue = Q::setup(file.as_fd(), areas, work.depth);
        let queue = queue.map_err(|error| match Q::lacks(&error) {
            Some(lacking) => failure(FailureKind::HostLacks, lacking),
            None => scratch.failed("make a queue for", &error),
        });
        Ok(Self {
            queue: queue?,
            buffers,
            file,
            stamped,
            slots: vec![Slot::default(); work.depth as usize],
            free: (0..work.depth).rev().collect(),
        })
    }

    fn execute<O: Order, P: Probe>(
        &mut self,
        work: &Work,
        mut order: O,
        mut mix: Mix,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault> {
        let result = self.drive(work, &mut order, &mut mix, member);
        // Whatever became of it: the content is not ours, and may go with the crew.
        self.queue.drain();
        result
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.file)?)
    }

    fn granted(&self) -> Vec<Grant> {
        self.queue.granted()
    }
}

#[cfg(test)]
mod tests;
