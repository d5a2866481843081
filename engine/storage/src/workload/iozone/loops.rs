//! The timed loops. Each is compiled once per backend, watch and conduct; nothing in them
//! allocates, logs or locks. An operation is one record moved, with the seek that belongs to it,
//! what the conduct puts around it and, for reads, the comparison.

use std::io::{self, SeekFrom};

use super::conduct::Conduct;
use super::locks::Range;
use super::pattern::{Motion, Work};
use crate::backend::File;
use crate::fault::Fault;
use crate::workload::watch::Watch;

/// Something that can move the records of a file `F` in its order.
pub trait Drive<F>: Copy {
    /// Whether records come in; otherwise they go out.
    fn is_read(self) -> bool;

    /// Moves records until all are done or the watch says not to go on. Gives the number of the
    /// next step; the last one done does not count if it was then that the watch said so.
    ///
    /// # Errors
    /// The first fault.
    fn drive<W: Watch, C: Conduct<F>>(self, mover: &mut Mover<F, W, C>) -> Result<u64, Fault>;
}

impl<F: File> Drive<F> for Motion {
    fn is_read(self) -> bool {
        self.is_read()
    }

    fn drive<W: Watch, C: Conduct<F>>(self, mover: &mut Mover<F, W, C>) -> Result<u64, Fault> {
        match self {
            Motion::SequentialWrite => mover.repeat(Mover::write),
            Motion::SequentialRead => mover.repeat(Mover::read_on),
            Motion::RandomRead => mover.in_order(Mover::read),
            Motion::RandomWrite => mover.in_order(Mover::write),
            Motion::BackwardRead => mover.backward_read(),
            Motion::RecordRewrite => mover.record_rewrite(),
            Motion::StrideRead => mover.stride_read(),
        }
    }
}

/// One pass over one file.
pub struct Mover<'a, F, W, C> {
    /// The file.
    pub file: &'a mut F,
    /// What is reported to.
    pub watch: &'a mut W,
    /// What surrounds each record.
    pub conduct: &'a mut C,
    /// What is to be done.
    pub work: Work<'a>,
    /// Takes what is read; has room for a record, or a group of them where those are moved.
    pub buffer: &'a mut [u8],
    /// Sum over what was verified.
    pub checksum: u64,
}

impl<F: File, W: Watch, C: Conduct<F>> Mover<'_, F, W, C> {
    /// Does `step` for each number from the first to the last.
    #[inline(always)]
    fn repeat(&mut self, step: impl Fn(&mut Self, u64) -> Result<(), Fault>) -> Result<u64, Fault> {
        self.repeat_until(self.work.records, |mover, index| {
            step(mover, index)?;
            Ok(mover.work.record_bytes)
        })
    }

    /// Does `step`, which gives the bytes that it moved, until number `end` is reached.
    #[inline(always)]
    pub(super) fn repeat_until(
        &mut self,
        end: u64,
        mut step: impl FnMut(&mut Self, u64) -> Result<usize, Fault>,
    ) -> Result<u64, Fault> {
        for index in self.work.first..end {
            if self.conduct.think() {
                self.watch.begin_operation();
            }
            let moved = step(self, index)?;
            if !self.watch.goes_on() {
                return Ok(index + 1);
            }
            self.watch.operation(moved as u64);
        }
        Ok(end)
    }

    fn in_order(
        &mut self,
        step: impl Fn(&mut Self, u64) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let order = self.work.order;
        self.repeat(|mover, index| {
            let record = order[index as usize];
            mover.seek_to(record)?;
            step(mover, record)
        })
    }

    fn backward_read(&mut self) -> Result<u64, Fault> {
        let record_bytes = self.work.record_bytes as i64;
        let last = self.work.records - 1;
        self.file
            .seek(SeekFrom::End(-record_bytes))
            .map_err(|error| Fault::Io {
                record: last,
                error,
            })?;
        self.repeat(|mover, index| {
            mover.read(last - index)?;
            // After record 0 this would lead before the start and is refused, as it should be.
            let _ = mover.file.seek(SeekFrom::Current(-2 * record_bytes));
            Ok(())
        })
    }

    fn record_rewrite(&mut self) -> Result<u64, Fault> {
        self.repeat(|mover, _| {
            mover.write(0)?;
            mover.seek_to(0)
        })
    }

    fn stride_read(&mut self) -> Result<u64, Fault> {
        let record_bytes = self.work.record_bytes;
        let mut order = self.work.stride;
        let mut record = 0;
        self.repeat_until(self.work.records, |mover, _| {
            mover.read(record)?;
            record = order.advance();
            mover.seek_to(record)?;
            Ok(record_bytes)
        })
    }

    fn read_on(&mut self, record: u64) -> Result<(), Fault> {
        let offset = self.range_of(record).offset;
        self.conduct
            .jitter(self.file, record, offset)
            .map_err(|error| Fault::Io { record, error })?;
        self.read(record)
    }

    #[inline(always)]
    fn seek_to(&mut self, record: u64) -> Result<(), Fault> {
        let offset = self.range_of(record).offset;
        self.file
            .seek(SeekFrom::Start(offset))
            .map_err(|error| Fault::Io { record, error })
    }

    #[inline(always)]
    fn write(&mut self, record: u64) -> Result<(), Fault> {
        self.send(record, |file, bytes, _| file.write(bytes))
    }

    #[inline(always)]
    fn read(&mut self, record: u64) -> Result<(), Fault> {
        self.receive(record, File::read)
    }

    /// Writes `record` as `write` does, which is told how much of it was written before.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        record: u64,
        write: impl Fn(&mut F, &[u8], usize) -> io::Result<usize>,
    ) -> Result<(), Fault> {
        let range = self.range_of(record);
        let spare = &mut self.buffer[..self.work.record_bytes];
        let sent = self.conduct.before(self.file, range).and_then(|()| {
            let bytes = self.conduct.outgoing(record, spare);
            write(self.file, bytes, 0)
        });
        match sent {
            Ok(moved) if moved == self.work.record_bytes => {}
            Ok(moved) => return Err(self.why_short(record, moved, write)),
            Err(error) => return Err(Fault::Io { record, error }),
        }
        self.conduct
            .after(self.file, range)
            .map_err(|error| Fault::Io { record, error })
    }

    /// The kernel tells why a write was cut short when it is asked for the rest.
    #[cold]
    pub(super) fn why_short(
        &mut self,
        record: u64,
        moved: usize,
        write: impl Fn(&mut F, &[u8], usize) -> io::Result<usize>,
    ) -> Fault {
        let spare = &mut self.buffer[..self.work.record_bytes];
        let rest = &self.conduct.outgoing(record, spare)[moved..];
        match write(self.file, rest, moved) {
            Ok(_) => Fault::Short { record, moved },
            Err(error) => Fault::Io { record, error },
        }
    }

    /// Reads `record` as `read` does, and compares it.
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        record: u64,
        read: impl Fn(&mut F, &mut [u8]) -> io::Result<usize>,
    ) -> Result<(), Fault> {
        let range = self.range_of(record);
        let taken = &mut self.buffer[..self.work.record_bytes];
        let moved = self
            .conduct
            .before(self.file, range)
            .and_then(|()| read(self.file, taken))
            .and_then(|moved| self.conduct.after(self.file, range).map(|()| moved));
        match moved {
            Ok(moved) if moved == self.work.record_bytes => self.compare(record, 0),
            Ok(moved) => Err(Fault::Short { record, moved }),
            Err(error) => Err(Fault::Io { record, error }),
        }
    }

    /// Compares what lies in the buffer from `start` on with what `record` should be.
    #[inline(always)]
    pub(super) fn compare(&mut self, record: u64, start: usize) -> Result<(), Fault> {
        let found = &self.buffer[start..start + self.work.record_bytes];
        match self.conduct.check(record, found) {
            Ok(sum) => self.checksum = self.checksum.wrapping_add(sum),
            Err(page) if F::MOVES_DATA => return Err(Fault::Differs { record, page }),
            Err(_) => {}
        }
        Ok(())
    }

    /// Where `record` lies.
    #[inline(always)]
    pub(super) fn range_of(&self, record: u64) -> Range {
        let size_bytes = self.work.record_bytes as u64;
        Range {
            offset: record * size_bytes,
            size_bytes,
        }
    }
}

#[cfg(test)]
mod tests;
