//! The synchronous pump: one record at a time.

use std::io::{self, SeekFrom};
use std::marker::PhantomData;

use super::watch::Watch;
use super::{Range, RecordHooks};
use crate::backend::{File, Positioned};
use crate::fault::Fault;

/// One operation of a pattern.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The record, or the first of those that one call moves.
    pub record: u64,
    /// How many one call moves.
    pub records: u64,
    /// Whether it goes out; otherwise it comes in.
    pub is_write: bool,
    /// The seek that comes before it.
    pub seek_before: Option<SeekFrom>,
    /// The seek that follows it. A relative one may be refused: it leads before the start of the
    /// file after record 0.
    pub seek_after: Option<SeekFrom>,
}

impl Step {
    /// `record`, without a seek.
    #[inline(always)]
    pub fn new(record: u64, is_write: bool) -> Self {
        Self {
            record,
            records: 1,
            is_write,
            seek_before: None,
            seek_after: None,
        }
    }
}

/// How the bytes of a record are moved.
pub trait Transport<F> {
    /// Reads into `record` what is at `offset`; gives the number of bytes.
    fn read(file: &mut F, record: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes `bytes` at `offset`; gives the number of bytes.
    fn write(file: &mut F, bytes: &[u8], offset: u64) -> io::Result<usize>;
}

/// At the position of the file, which is that of the record already.
pub enum AtPosition {}

impl<F: File> Transport<F> for AtPosition {
    #[inline(always)]
    fn read(file: &mut F, record: &mut [u8], _: u64) -> io::Result<usize> {
        file.read(record)
    }

    #[inline(always)]
    fn write(file: &mut F, bytes: &[u8], _: u64) -> io::Result<usize> {
        file.write(bytes)
    }
}

/// Each call passes the offset.
pub enum Positional {}

impl<F: Positioned> Transport<F> for Positional {
    #[inline(always)]
    fn read(file: &mut F, record: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(record, offset)
    }

    #[inline(always)]
    fn write(file: &mut F, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }
}

/// What a pump does for each step. A call around the system call costs a fifth of a cached read of
/// 4 KiB where returns are not predicted, so that `perform` is always inlined; a function that is
/// passed as an argument would not be.
pub trait Operation<F, W, H> {
    /// Does it once.
    ///
    /// # Errors
    /// The fault.
    fn perform(pump: &mut Pump<F, W, H>, step: Step) -> Result<(), Fault>;
}

/// Moves one record.
pub struct OneRecord<T>(PhantomData<T>);

impl<F: File, W: Watch, H: RecordHooks<F>, T: Transport<F>> Operation<F, W, H> for OneRecord<T> {
    #[inline(always)]
    fn perform(pump: &mut Pump<F, W, H>, step: Step) -> Result<(), Fault> {
        pump.transfer::<T>(step)
    }
}

/// One pass over one file.
pub struct Pump<'a, F, W, H> {
    /// The file.
    pub file: &'a mut F,
    /// What is reported to.
    pub watch: &'a mut W,
    /// What surrounds each record.
    pub hooks: &'a mut H,
    /// Size of a record.
    pub record_bytes: usize,
    /// Takes what is read; has room for a record, or as many as one call moves.
    pub buffer: &'a mut [u8],
    /// Whether the time of an operation includes the seek before it.
    pub times_seeks: bool,
    /// Sum over what was looked at of the records read.
    pub checksum: u64,
}

impl<F: File, W: Watch, H: RecordHooks<F>> Pump<'_, F, W, H> {
    /// Moves the records of `steps` until all are done or the watch says not to go on. Gives the
    /// number of operations; the last one does not count if it was then that the watch said so.
    ///
    /// # Errors
    /// The first fault.
    #[inline(always)]
    pub fn run<T: Transport<F>>(
        &mut self,
        steps: impl Iterator<Item = Step>,
    ) -> Result<u64, Fault> {
        self.repeat::<OneRecord<T>>(steps)
    }

    /// Does the operation `O` for each of `steps`, as [`Pump::run`].
    #[inline(always)]
    pub fn repeat<O: Operation<F, W, H>>(
        &mut self,
        steps: impl Iterator<Item = Step>,
    ) -> Result<u64, Fault> {
        let mut done = 0;
        for step in steps {
            if !self.watch.begin(step.is_write) {
                break;
            }
            if self.hooks.think() {
                self.watch.begin_operation();
            }
            let refused = |error| Fault::Io {
                record: step.record,
                error,
            };
            if let Some(to) = step.seek_before {
                self.file.seek(to).map_err(refused)?;
                if !self.times_seeks {
                    self.watch.begin_operation();
                }
            }
            O::perform(self, step)?;
            match step.seek_after {
                Some(to @ SeekFrom::Current(_)) => drop(self.file.seek(to)),
                Some(to) => self.file.seek(to).map_err(refused)?,
                None => {}
            }
            done += 1;
            if !self.watch.goes_on() {
                break;
            }
            let moved = step.records * self.record_bytes as u64;
            self.watch.operation(moved);
        }
        Ok(done)
    }

    /// Moves one record, and compares it if it was read.
    #[inline(always)]
    pub fn transfer<T: Transport<F>>(&mut self, step: Step) -> Result<(), Fault> {
        let record = step.record;
        let range = self.range(record, 1);
        let refused = |error| Fault::Io { record, error };
        self.hooks
            .before(self.file, range, step.is_write)
            .map_err(refused)?;
        let buffer = &mut self.buffer[..self.record_bytes];
        if step.is_write {
            let bytes = self.hooks.outgoing(record, buffer);
            let moved = T::write(self.file, bytes, range.offset);
            if let Err(fault) = Fault::unless_whole(moved, record, self.record_bytes) {
                return Err(self.explain::<T>(fault, range));
            }
            return self.hooks.after(self.file, range).map_err(refused);
        }
        let moved = T::read(self.file, buffer, range.offset);
        Fault::unless_whole(moved, record, self.record_bytes)?;
        self.hooks.after(self.file, range).map_err(refused)?;
        self.compare(record, 0)
    }

    #[cold]
    fn explain<T: Transport<F>>(&mut self, fault: Fault, range: Range) -> Fault {
        let buffer = &mut self.buffer[..self.record_bytes];
        let bytes = self.hooks.outgoing(range.offset / range.size_bytes, buffer);
        fault.explain_short(|moved| {
            T::write(self.file, &bytes[moved..], range.offset + moved as u64)
        })
    }

    /// Compares what is in the buffer from `start` on with what `record` should be.
    #[inline(always)]
    pub fn compare(&mut self, record: u64, start: usize) -> Result<(), Fault> {
        let found = &self.buffer[start..start + self.record_bytes];
        match self.hooks.check(record, found) {
            Ok(sum) => self.checksum = self.checksum.wrapping_add(sum),
            Err(page) if F::MOVES_DATA => return Err(Fault::Differs { record, page }),
            Err(_) => {}
        }
        Ok(())
    }

    /// Where `records` from this one on are.
    #[inline(always)]
    pub fn range(&self, record: u64, records: u64) -> Range {
        let size_bytes = self.record_bytes as u64;
        Range {
            offset: record * size_bytes,
            size_bytes: records * size_bytes,
        }
    }
}
