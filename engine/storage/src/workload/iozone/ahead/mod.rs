//! Asynchronous I/O of IOzone's -H and -k: the loops with several records under way.
//!
//! Records are begun in the order of the motion until the depth is reached; then the oldest is
//! waited for and ended (copied where that is asked for, and compared), and the next one begun.
//! An operation lasts from where its record is begun until it was ended.
//!
//! The original hands its requests to threads of the C library, and on Linux rarely has more
//! than one under way. Here they go to the kernel's own queue, as deep as was asked for; but
//! only direct records are really in flight there, others are moved as they are handed over.

mod file;

use kit::clock;

use super::conduct::Conduct;
use super::course::Course;
use super::driven::Driven;
use super::loops::{Drive, Mover};
use super::pattern::Motion;
use super::table::Moves;
use crate::backend::Positioned;
use crate::fault::Fault;
use crate::workload::watch::Watch;

pub use self::file::Queueing;
use self::file::{QueuedFile, Slot};

/// A motion with several records under way.
#[derive(Debug, Clone, Copy)]
pub struct Ahead(Motion);

impl Driven for QueuedFile {
    type Along = Ahead;

    fn along(motion: Motion) -> Ahead {
        Ahead(motion)
    }
}

impl Drive<QueuedFile> for Ahead {
    fn is_read(self) -> bool {
        self.0.is_read()
    }

    fn drive<W: Watch, C: Conduct<QueuedFile>>(
        self,
        mover: &mut Mover<QueuedFile, W, C>,
    ) -> Result<u64, Fault> {
        let moved = mover.run_ahead(self.0);
        // The buffer is not touched by the kernel any more when it is given back.
        mover.file.drain();
        moved
    }
}

impl<W: Watch, C: Conduct<QueuedFile>> Mover<'_, QueuedFile, W, C> {
    fn run_ahead(&mut self, motion: Motion) -> Result<u64, Fault> {
        let (first, records) = (self.work.first, self.work.records);
        let depth = self.file.depth() as u64;
        let mut course = Course::new(Moves::Along(motion), self.work);
        let mut begun = first;
        for step in first..records {
            while begun < records && begun - step < depth {
                let number = (begun % depth) as usize;
                self.begin(motion.is_read(), course.record(begun), number)?;
                begun += 1;
            }
            let number = (step % depth) as usize;
            let began_ns = self.end(motion.is_read(), number)?;
            if !self.watch.goes_on() {
                return Ok(step + 1);
            }
            let now_ns = if W::IS_TIMED { clock::now_ns() } else { 0 };
            let size_bytes = self.work.record_bytes as u64;
            self.watch
                .overlapped_operation(size_bytes, began_ns, now_ns);
        }
        Ok(records)
    }

    /// Begins `record` in the slot of this number.
    #[inline(always)]
    fn begin(&mut self, is_read: bool, record: u64, number: usize) -> Result<(), Fault> {
        self.conduct.think();
        let range = self.range_of(record);
        let began_ns = if W::IS_TIMED { clock::now_ns() } else { 0 };
        self.conduct
            .before(self.file, range)
            .map_err(|error| Fault::Io { record, error })?;
        let size_bytes = self.work.record_bytes;
        let (slots, own) = self.buffer.split_at_mut(self.file.depth() * size_bytes);
        let slot = &mut slots[number * size_bytes..][..size_bytes];
        let state = Slot::begun(record, began_ns);
        if is_read {
            // SAFETY: `drive` waits for all that is under way before the buffer is given back,
            // and the slot is looked at when it was waited for.
            unsafe { self.file.begin_read(number, state, slot, range.offset) };
            return Ok(());
        }
        let bytes = if self.file.copies() {
            slot.copy_from_slice(self.conduct.outgoing(record, &mut own[..size_bytes]));
            slot
        } else {
            self.conduct.outgoing(record, slot)
        };
        // SAFETY: as above for what lies in the slot; contents made beforehand stay.
        unsafe { self.file.begin_write(number, state, bytes, range.offset) };
        Ok(())
    }

    /// Waits for the record in a slot, and ends it; gives when it was begun.
    #[inline(always)]
    fn end(&mut self, is_read: bool, number: usize) -> Result<u64, Fault> {
        let slot = self.file.wait_for(number);
        let Slot {
            record, began_ns, ..
        } = slot.state;
        let size_bytes = self.work.record_bytes;
        match slot.moved {
            Ok(moved) if moved == size_bytes => {}
            Ok(moved) => return Err(self.why_cut(is_read, record, moved)),
            Err(error) => return Err(Fault::Io { record, error }),
        }
        let range = self.range_of(record);
        self.conduct
            .after(self.file, range)
            .map_err(|error| Fault::Io { record, error })?;
        if is_read {
            let mut start = number * size_bytes;
            if self.file.copies() {
                let own = self.file.depth() * size_bytes;
                self.buffer.copy_within(start..start + size_bytes, own);
                start = own;
            }
            self.compare(record, start)?;
        }
        Ok(began_ns)
    }

    #[cold]
    fn why_cut(&mut self, is_read: bool, record: u64, moved: usize) -> Fault {
        // The slots are used again.
        self.file.drain();
        if is_read {
            return Fault::Short { record, moved };
        }
        let offset = self.range_of(record).offset;
        self.why_short(record, moved, |file, rest, moved| {
            file.write_at(rest, offset + moved as u64)
        })
    }
}

#[cfg(test)]
mod tests;
