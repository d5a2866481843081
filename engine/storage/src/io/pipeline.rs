//! The asynchronous pump: several records in flight through a queue of the kernel.
//!
//! *As completed*: all transfers that have room, and are due, are handed over; then one completion
//! is waited for, and all that are there are taken. A batch is handed over as soon as it is longer
//! than all that the kernel has already: a device that has nothing to do would idle while a long
//! one is put together. So batches double until the depth is reached; in a steady stream they are
//! as long as what has ended meanwhile.
//!
//! *In order*: records are begun until the depth is reached; then the oldest is waited for and
//! ended, and the next one begun.

use std::io;

use super::watch::Watch;
use super::{Pump, RecordHooks, Step};
use crate::backend::queue::{moved, Queue, Transfer};
use crate::backend::Positioned;
use crate::fault::Fault;

/// A queue, and what is in flight through it.
pub struct Pipeline<Q> {
    /// The queue; dropping it waits for what is in flight.
    pub queue: Q,
    slots: Vec<Slot>,
    /// Slots without a transfer, by number.
    free: Vec<u32>,
    /// Begun and not yet handed over.
    queued: usize,
}

/// A record in flight: it has the part of the buffer of the same number.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    record: u64,
    began_ns: u64,
    is_write: bool,
    /// Whether it is moved to or from that part of the buffer.
    is_in_buffer: bool,
    /// What the kernel said of it, if its turn to be ended has not come yet.
    result: Option<i64>,
}

/// When a completion is ended, and a slot is free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refill {
    /// When it has been reaped.
    AsCompleted,
    /// When all that began before it have ended.
    InOrder,
}

impl<Q: Queue> Pipeline<Q> {
    /// For `depth` transfers at once; allocates all that it will ever need.
    pub fn new(queue: Q, depth: u32) -> Self {
        Self {
            queue,
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth).rev().collect(),
            queued: 0,
        }
    }

    /// Moves the records of `steps` until all are done or the watch says not to go on; gives the
    /// number of operations, as [`Pump::run`]. The buffer of `pump` has room for as many records
    /// as the depth, and where it `copies`, for one more, from which and to which they are copied
    /// inside the timed region. Nothing is in flight when this returns.
    ///
    /// # Errors
    /// The first fault.
    #[inline(always)]
    pub fn run<F: Positioned, W: Watch, H: RecordHooks<F>>(
        &mut self,
        pump: &mut Pump<F, W, H>,
        steps: impl Iterator<Item = Step>,
        (refill, copies): (Refill, bool),
    ) -> Result<u64, Fault> {
        let mut run = Run {
            pipeline: self,
            pump,
            refill,
            copies,
        };
        let result = run.execute(steps);
        // Whatever became of it: the buffer and the contents may go now.
        self.queue.drain();
        for slot in &mut self.slots {
            slot.result = None;
        }
        let depth = self.slots.len() as u32;
        self.free.clear();
        self.free.extend((0..depth).rev());
        self.queued = 0;
        result
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

struct Run<'r, 'p, Q, F, W, H> {
    pipeline: &'r mut Pipeline<Q>,
    pump: &'r mut Pump<'p, F, W, H>,
    refill: Refill,
    copies: bool,
}

impl<Q: Queue, F: Positioned, W: Watch, H: RecordHooks<F>> Run<'_, '_, Q, F, W, H> {
    #[inline(always)]
    fn execute(&mut self, mut steps: impl Iterator<Item = Step>) -> Result<u64, Fault> {
        let mut done = 0;
        loop {
            let next_ns = self.fill(&mut steps)?;
            match (self.pipeline.in_flight(), next_ns) {
                (0, None) => return Ok(done),
                (0, Some(due_ns)) => self.pump.watch.wait_until(due_ns),
                _ if self.refill == Refill::InOrder => {
                    // A slot is taken again as soon as it is free, so that they take turns.
                    let number = (done % self.pipeline.slots.len() as u64) as usize;
                    let result = self.wait_for(number)?;
                    self.end(number, result)?;
                    done += 1;
                }
                (_, next_ns) => {
                    // With room left, the next one is not due yet: do not sleep through that.
                    let may_wait = self.pipeline.free.is_empty() || next_ns.is_none();
                    self.pipeline.queued = 0;
                    let exchanged = self.pipeline.queue.exchange(usize::from(may_wait));
                    exchanged.map_err(|error| Fault::Io {
                        record: done,
                        error,
                    })?;
                    self.pump.watch.look();
                    while let Some(completion) = self.pipeline.queue.completion() {
                        self.end(completion.tag as usize, completion.result)?;
                        done += 1;
                    }
                }
            }
            if !self.pump.watch.goes_on() {
                return Ok(done);
            }
        }
    }

    /// Begins what there is room for and what is due; gives when the next is due, if there is
    /// room for it.
    #[inline(always)]
    fn fill(&mut self, steps: &mut impl Iterator<Item = Step>) -> Result<Option<u64>, Fault> {
        while let Some(&number) = self.pipeline.free.last() {
            let Some(mut began_ns) = self.pump.watch.next_ns() else {
                return Ok(None);
            };
            if began_ns > self.pump.watch.now_ns() {
                return Ok(Some(began_ns));
            }
            let Some(step) = steps.next() else {
                return Ok(None);
            };
            if self.pump.hooks.think() {
                began_ns = self.pump.watch.next_ns().unwrap_or(began_ns);
            }
            self.begin(number as usize, step, began_ns)?;
            self.pipeline.free.pop();
            self.pipeline.queued += 1;
            let has_room = !self.pipeline.free.is_empty();
            let is_long = 2 * self.pipeline.queued > self.pipeline.in_flight();
            if self.refill == Refill::AsCompleted && has_room && is_long {
                self.pipeline.queued = 0;
                let submitted = self.pipeline.queue.submit();
                submitted.map_err(|error| Fault::Io {
                    record: step.record,
                    error,
                })?;
            }
        }
        Ok(None)
    }

    #[inline(always)]
    fn begin(&mut self, number: usize, step: Step, began_ns: u64) -> Result<(), Fault> {
        let pump = &mut *self.pump;
        let (record, is_write, size_bytes) = (step.record, step.is_write, pump.record_bytes);
        let range = pump.range(record, 1);
        pump.hooks
            .before(pump.file, range, is_write)
            .map_err(|error| Fault::Io { record, error })?;
        let (slots, spare) = pump
            .buffer
            .split_at_mut(self.pipeline.slots.len() * size_bytes);
        let slot = &mut slots[number * size_bytes..][..size_bytes];
        let start = match (is_write, self.copies) {
            (false, _) => slot.as_ptr(),
            (true, false) => pump.hooks.outgoing(record, slot).as_ptr(),
            (true, true) => {
                slot.copy_from_slice(pump.hooks.outgoing(record, &mut spare[..size_bytes]));
                slot.as_ptr()
            }
        };
        let is_in_buffer = start == slot.as_ptr();
        let transfer = Transfer {
            is_write,
            start,
            size_bytes: size_bytes as u32,
            offset: range.offset,
            tag: number as u64,
        };
        // SAFETY: the slot is looked at when its completion was taken, not before; neither it nor
        // what the hooks gave goes, or is written again, before `run` has waited for all.
        unsafe { self.pipeline.queue.push(transfer) };
        self.pipeline.slots[number] = Slot {
            record,
            began_ns,
            is_write,
            is_in_buffer,
            result: None,
        };
        Ok(())
    }

    /// Hands over all that was begun, and waits for the record in a slot.
    #[inline(always)]
    fn wait_for(&mut self, number: usize) -> Result<i64, Fault> {
        let Pipeline { queue, slots, .. } = &mut *self.pipeline;
        let mut wait = || -> io::Result<i64> {
            queue.submit()?;
            loop {
                if let Some(result) = slots[number].result.take() {
                    return Ok(result);
                }
                queue.exchange(1)?;
                while let Some(completion) = queue.completion() {
                    slots[completion.tag as usize].result = Some(completion.result);
                }
            }
        };
        wait().map_err(|error| Fault::Io {
            record: slots[number].record,
            error,
        })
    }

    /// Ends the record in a slot, and gives the slot free.
    #[inline(always)]
    fn end(&mut self, number: usize, result: i64) -> Result<(), Fault> {
        let slot = self.pipeline.slots[number];
        self.pipeline.free.push(number as u32);
        let pump = &mut *self.pump;
        let (record, size_bytes) = (slot.record, pump.record_bytes);
        if let Err(fault) = Fault::unless_whole(moved(result), record, size_bytes) {
            return Err(self.explain(number, fault));
        }
        let range = pump.range(record, 1);
        pump.hooks
            .after(pump.file, range)
            .map_err(|error| Fault::Io { record, error })?;
        if !slot.is_write {
            let mut start = number * size_bytes;
            if self.copies {
                let spare = self.pipeline.slots.len() * size_bytes;
                pump.buffer.copy_within(start..start + size_bytes, spare);
                start = spare;
            }
            pump.compare(record, start)?;
        }
        pump.watch
            .ended(slot.is_write, size_bytes as u64, slot.began_ns);
        Ok(())
    }

    #[cold]
    fn explain(&mut self, number: usize, fault: Fault) -> Fault {
        let slot = self.pipeline.slots[number];
        if !slot.is_write {
            return fault;
        }
        let pump = &mut *self.pump;
        let offset = pump.range(slot.record, 1).offset;
        let buffer = &mut pump.buffer[number * pump.record_bytes..][..pump.record_bytes];
        let bytes = match slot.is_in_buffer {
            true => buffer,
            false => pump.hooks.outgoing(slot.record, buffer),
        };
        fault.explain_short(|moved| pump.file.write_at(&bytes[moved..], offset + moved as u64))
    }
}
