//! The timed loops that say with each call where a record lies: pread(2), pwrite(2), and their
//! vectored forms. An operation is one call.
//!
//! Vectored calls move groups of neighbouring records, each group once, in the random order of
//! as many records. (The original is not built with these tests on Linux, and where it is, its
//! offsets may lie beyond the end of the file.)

use std::array;
use std::io::{self, IoSlice, IoSliceMut};

use super::conduct::Conduct;
use super::locks::Range;
use super::loops::{Drive, Mover};
use super::pattern::{Placement, GROUP_RECORDS};
use crate::backend::Positioned;
use crate::fault::Fault;
use crate::workload::watch::Watch;

impl<F: Positioned> Drive<F> for Placement {
    fn is_read(self) -> bool {
        self.is_read()
    }

    fn drive<W: Watch, C: Conduct<F>>(self, mover: &mut Mover<F, W, C>) -> Result<u64, Fault> {
        match self {
            Placement::Write => mover.each_record(Mover::write_at),
            Placement::Read => mover.each_record(Mover::read_at),
            Placement::VectorWrite => mover.each_group(Mover::write_group),
            Placement::VectorRead => mover.each_group(Mover::read_group),
        }
    }
}

/// Records of one call.
#[derive(Clone, Copy)]
struct Group {
    first: u64,
    records: usize,
}

impl<F: Positioned, W: Watch, C: Conduct<F>> Mover<'_, F, W, C> {
    fn each_record(
        &mut self,
        step: impl Fn(&mut Self, u64) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        self.repeat_until(self.work.records, |mover, record| {
            step(mover, record)?;
            Ok(mover.work.record_bytes)
        })
    }

    fn write_at(&mut self, record: u64) -> Result<(), Fault> {
        let offset = self.range_of(record).offset;
        self.send(record, |file, bytes, moved| {
            file.write_at(bytes, offset + moved as u64)
        })
    }

    fn read_at(&mut self, record: u64) -> Result<(), Fault> {
        let offset = self.range_of(record).offset;
        self.receive(record, |file, buffer| file.read_at(buffer, offset))
    }

    fn each_group(
        &mut self,
        step: impl Fn(&mut Self, Group) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let groups = self.work.groups;
        self.repeat_until(groups.order.len() as u64, |mover, index| {
            let first = groups.order[index as usize] * groups.length;
            let records = groups.length.min(mover.work.records - first) as usize;
            step(mover, Group { first, records })?;
            Ok(records * mover.work.record_bytes)
        })
    }

    fn write_group(&mut self, group: Group) -> Result<(), Fault> {
        let range = self.group_range(group);
        let mut spares = self.buffer.chunks_exact_mut(self.work.record_bytes);
        let sent = self.conduct.before(self.file, range).and_then(|()| {
            let parts: [IoSlice; GROUP_RECORDS as usize] = array::from_fn(|at| {
                let spare = spares.next().filter(|_| at < group.records);
                IoSlice::new(spare.map_or(&[], |spare| {
                    self.conduct.outgoing(group.first + at as u64, spare)
                }))
            });
            self.file
                .write_vectored_at(&parts[..group.records], range.offset)
        });
        match self.whole(group, sent) {
            // The kernel tells why a call was cut short when it is asked for the next record.
            Err(Fault::Short { record, moved }) => {
                let next = record + (moved / self.work.record_bytes) as u64;
                self.write_at(next)?;
                Err(Fault::Short { record, moved })
            }
            whole => whole,
        }
    }

    fn read_group(&mut self, group: Group) -> Result<(), Fault> {
        let range = self.group_range(group);
        let mut chunks = self.buffer.chunks_exact_mut(self.work.record_bytes);
        let taken = self.conduct.before(self.file, range).and_then(|()| {
            let mut parts: [IoSliceMut; GROUP_RECORDS as usize] =
                array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            self.file
                .read_vectored_at(&mut parts[..group.records], range.offset)
        });
        self.whole(group, taken)?;
        (0..group.records)
            .try_for_each(|at| self.compare(group.first + at as u64, at * self.work.record_bytes))
    }

    /// Ends a call that should have moved all of `group`.
    fn whole(&mut self, group: Group, moved: io::Result<usize>) -> Result<(), Fault> {
        let record = group.first;
        let range = self.group_range(group);
        match moved {
            Ok(moved) if moved as u64 == range.size_bytes => self
                .conduct
                .after(self.file, range)
                .map_err(|error| Fault::Io { record, error }),
            Ok(moved) => Err(Fault::Short { record, moved }),
            Err(error) => Err(Fault::Io { record, error }),
        }
    }

    fn group_range(&self, group: Group) -> Range {
        let size_bytes = (group.records * self.work.record_bytes) as u64;
        Range {
            size_bytes,
            ..self.range_of(group.first)
        }
    }
}
