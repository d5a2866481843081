//! In which order the records of a file are moved, and by which calls.
//!
//! Vectored calls move groups of neighbouring records, each group once, in the random order of
//! as many records. (The original is not built with these tests on Linux, and where it is, its
//! offsets may be beyond the end of the file.)

use std::array;
use std::io::{self, IoSlice, IoSliceMut, SeekFrom};

use kit::pattern::Stride;

use super::grid::Cell;
use super::locks::Lock;
use storage::backend::mmap::MmapFile;
use storage::backend::null::NullFile;
use storage::backend::stdio::StdioFile;
use storage::backend::sync::SyncFile;
use storage::backend::{File, Positioned};
use storage::fault::Fault;
use storage::io::watch::Watch;
use storage::io::{AtPosition, Operation, Positional, Pump, RecordHooks, Step};

/// Records that one vectored call moves at most, and their bytes.
pub const GROUP_RECORDS: u64 = 16;
const GROUP_BYTES: u64 = 16 << 20;

/// What a pass does. N is the number of records, R their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// N times: write, on from where the last one ended.
    SequentialWrite,
    /// N times: read, on from where the last one ended.
    SequentialRead,
    /// N times: seek to a record in random order, read.
    RandomRead,
    /// N times: seek to a record in the same random order, write.
    RandomWrite,
    /// Seek to R before the end; N times: read, seek back 2 R (the last of which fails).
    BackwardRead,
    /// N times: write record 0, seek to 0.
    RecordRewrite,
    /// N times: read, seek to the next record of the stride.
    StrideRead,
    /// N times: pwrite the next record.
    PositionalWrite,
    /// N times: pread the next record.
    PositionalRead,
    /// For each group, in random order: pwritev.
    VectorWrite,
    /// For each group, in the same random order: preadv.
    VectorRead,
}

impl Pattern {
    /// Whether records come in; otherwise they go out.
    pub fn is_read(self) -> bool {
        use Pattern::*;
        matches!(
            self,
            SequentialRead | RandomRead | BackwardRead | StrideRead | PositionalRead | VectorRead
        )
    }

    /// Whether it needs calls with an offset.
    pub fn has_offsets(self) -> bool {
        use Pattern::*;
        matches!(
            self,
            PositionalWrite | PositionalRead | VectorWrite | VectorRead
        )
    }

    /// Its operations on the records of `work`, in order.
    #[inline(always)]
    pub fn steps(self, work: Work<'_>) -> OffsetSequence<'_> {
        let operations = match self {
            Pattern::VectorWrite | Pattern::VectorRead => work.groups.order.len() as u64,
            _ => work.records,
        };
        OffsetSequence {
            pattern: self,
            next: work.first,
            operations,
            strided: 0,
            work,
        }
    }
}

/// One operation of a pattern after another.
pub struct OffsetSequence<'a> {
    pattern: Pattern,
    work: Work<'a>,
    next: u64,
    operations: u64,
    /// The next record of a stride.
    strided: u64,
}

impl Iterator for OffsetSequence<'_> {
    type Item = Step;

    #[inline(always)]
    fn next(&mut self) -> Option<Step> {
        let number = self.next;
        if number >= self.operations {
            return None;
        }
        self.next = number + 1;
        let work = &mut self.work;
        let record_bytes = work.record_bytes as u64;
        let start_of = |record| Some(SeekFrom::Start(record * record_bytes));
        let mut step = Step::new(number, !self.pattern.is_read());
        match self.pattern {
            Pattern::SequentialWrite
            | Pattern::SequentialRead
            | Pattern::PositionalWrite
            | Pattern::PositionalRead => {}
            Pattern::RandomRead | Pattern::RandomWrite => {
                step.record = work.order[number as usize];
                step.seek_before = start_of(step.record);
            }
            Pattern::BackwardRead => {
                let record_bytes = record_bytes as i64;
                step.record = work.records - 1 - number;
                step.seek_before = (number == 0).then_some(SeekFrom::End(-record_bytes));
                step.seek_after = Some(SeekFrom::Current(-2 * record_bytes));
            }
            Pattern::RecordRewrite => {
                step.record = 0;
                step.seek_after = start_of(0);
            }
            Pattern::StrideRead => {
                step.record = self.strided;
                self.strided = work.stride.advance();
                step.seek_after = start_of(self.strided);
            }
            Pattern::VectorWrite | Pattern::VectorRead => {
                let length = work.groups.length;
                step.record = work.groups.order[number as usize] * length;
                step.records = length.min(work.records - step.record);
            }
        }
        Some(step)
    }
}

/// A file that the passes can use, and which pump moves its records.
pub trait Dispatch: File + Lock + Sized {
    /// Moves the records of `work` by `pattern`; gives the number of operations, as [`Pump::run`].
    ///
    /// # Errors
    /// The first fault.
    fn drive<W: Watch, H: RecordHooks<Self>>(
        pump: &mut Pump<Self, W, H>,
        pattern: Pattern,
        work: Work,
    ) -> Result<u64, Fault>;
}

/// Streams have no calls with an offset.
impl Dispatch for StdioFile {
    fn drive<W: Watch, H: RecordHooks<Self>>(
        pump: &mut Pump<Self, W, H>,
        pattern: Pattern,
        work: Work,
    ) -> Result<u64, Fault> {
        at_position(pump, pattern, work)
    }
}

macro_rules! any_pattern {
    ($($file:ty),*) => {$(
        impl Dispatch for $file {
            fn drive<W: Watch, H: RecordHooks<Self>>(
                pump: &mut Pump<Self, W, H>,
                pattern: Pattern,
                work: Work,
            ) -> Result<u64, Fault> {
                any_call(pump, pattern, work)
            }
        }
    )*};
}

any_pattern!(SyncFile, MmapFile, NullFile);

/// Each arm is a loop compiled for its pattern. Where more is done for each record than to move it,
/// one loop for all is as fast, and a tenth of the size.
fn at_position<F: File, W: Watch, H: RecordHooks<F>>(
    pump: &mut Pump<F, W, H>,
    pattern: Pattern,
    work: Work,
) -> Result<u64, Fault> {
    use Pattern::*;
    if !pump.watch.is_bare() {
        return pump.run::<AtPosition>(pattern.steps(work));
    }
    match pattern {
        SequentialWrite => pump.run::<AtPosition>(SequentialWrite.steps(work)),
        SequentialRead => pump.run::<AtPosition>(SequentialRead.steps(work)),
        RandomRead => pump.run::<AtPosition>(RandomRead.steps(work)),
        RandomWrite => pump.run::<AtPosition>(RandomWrite.steps(work)),
        BackwardRead => pump.run::<AtPosition>(BackwardRead.steps(work)),
        RecordRewrite => pump.run::<AtPosition>(RecordRewrite.steps(work)),
        StrideRead => pump.run::<AtPosition>(StrideRead.steps(work)),
        PositionalWrite | PositionalRead | VectorWrite | VectorRead => {
            unreachable!("a stream has no positional calls")
        }
    }
}

/// The patterns that need calls with an offset.
pub fn with_offsets<F: Positioned, W: Watch, H: RecordHooks<F>>(
    pump: &mut Pump<F, W, H>,
    pattern: Pattern,
    work: Work,
) -> Result<u64, Fault> {
    use Pattern::*;
    match pattern {
        VectorWrite => pump.repeat::<WriteGroup>(VectorWrite.steps(work)),
        VectorRead => pump.repeat::<ReadGroup>(VectorRead.steps(work)),
        single if !pump.watch.is_bare() => pump.run::<Positional>(single.steps(work)),
        PositionalWrite => pump.run::<Positional>(PositionalWrite.steps(work)),
        _ => pump.run::<Positional>(PositionalRead.steps(work)),
    }
}

/// As [`at_position`] and [`with_offsets`].
pub fn any_call<F: Positioned, W: Watch, H: RecordHooks<F>>(
    pump: &mut Pump<F, W, H>,
    pattern: Pattern,
    work: Work,
) -> Result<u64, Fault> {
    match pattern.has_offsets() {
        true => with_offsets(pump, pattern, work),
        false => at_position(pump, pattern, work),
    }
}

/// Writes neighbouring records by one call.
enum WriteGroup {}

impl<F: Positioned, W: Watch, H: RecordHooks<F>> Operation<F, W, H> for WriteGroup {
    #[inline(always)]
    fn perform(pump: &mut Pump<F, W, H>, group: Step) -> Result<(), Fault> {
        write_group(pump, group)
    }
}

/// Reads neighbouring records by one call.
enum ReadGroup {}

impl<F: Positioned, W: Watch, H: RecordHooks<F>> Operation<F, W, H> for ReadGroup {
    #[inline(always)]
    fn perform(pump: &mut Pump<F, W, H>, group: Step) -> Result<(), Fault> {
        read_group(pump, group)
    }
}

#[inline(always)]
fn write_group<F: Positioned, W: Watch, H: RecordHooks<F>>(
    pump: &mut Pump<F, W, H>,
    group: Step,
) -> Result<(), Fault> {
    let range = pump.range(group.record, group.records);
    let mut spares = pump.buffer.chunks_exact_mut(pump.record_bytes);
    let sent = pump.hooks.before(pump.file, range, true).and_then(|()| {
        let parts: [IoSlice; GROUP_RECORDS as usize] = array::from_fn(|at| {
            let spare = spares.next().filter(|_| at < group.records as usize);
            IoSlice::new(spare.map_or(&[], |spare| {
                pump.hooks.outgoing(group.record + at as u64, spare)
            }))
        });
        let parts = &parts[..group.records as usize];
        pump.file.write_vectored_at(parts, range.offset)
    });
    match whole_group(pump, group, sent) {
        // The kernel says why a call was cut short when it is asked for the next record.
        Err(Fault::Short { record, moved }) => {
            let next = record + (moved / pump.record_bytes) as u64;
            pump.transfer::<Positional>(Step::new(next, true))?;
            Err(Fault::Short { record, moved })
        }
        whole => whole,
    }
}

#[inline(always)]
fn read_group<F: Positioned, W: Watch, H: RecordHooks<F>>(
    pump: &mut Pump<F, W, H>,
    group: Step,
) -> Result<(), Fault> {
    let range = pump.range(group.record, group.records);
    let mut chunks = pump.buffer.chunks_exact_mut(pump.record_bytes);
    let taken = pump.hooks.before(pump.file, range, false).and_then(|()| {
        let mut parts: [IoSliceMut; GROUP_RECORDS as usize] =
            array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        let parts = &mut parts[..group.records as usize];
        pump.file.read_vectored_at(parts, range.offset)
    });
    whole_group(pump, group, taken)?;
    (0..group.records)
        .try_for_each(|at| pump.compare(group.record + at, at as usize * pump.record_bytes))
}

/// Ends a call that should have moved all of `group`.
fn whole_group<F: File, W: Watch, H: RecordHooks<F>>(
    pump: &mut Pump<F, W, H>,
    group: Step,
    moved: io::Result<usize>,
) -> Result<(), Fault> {
    let record = group.record;
    let range = pump.range(record, group.records);
    Fault::unless_whole(moved, record, range.size_bytes as usize)?;
    pump.hooks
        .after(pump.file, range)
        .map_err(|error| Fault::Io { record, error })
}

/// Neighbouring records that are moved together, in the order of the calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Groups<'a> {
    /// The groups by number.
    pub order: &'a [u64],
    /// Records in each; the last may have fewer.
    pub length: u64,
}

impl Groups<'_> {
    /// Records in each group of a file.
    pub fn length_in(cell: Cell) -> u64 {
        let fitting = GROUP_BYTES / cell.record.bytes();
        GROUP_RECORDS.min(cell.records()).min(fitting)
    }

    /// Number of groups of a file.
    pub fn count_in(cell: Cell) -> u64 {
        cell.records().div_ceil(Self::length_in(cell))
    }
}

/// What a loop needs, made ready beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// Number of records, at least one.
    pub records: u64,
    /// Size of a record.
    pub record_bytes: usize,
    /// The operation to begin with: 0 unless a stopped pass is to be completed.
    pub first: u64,
    /// Random order of the records; used by the random patterns only.
    pub order: &'a [u64],
    /// Order of strided reads, at record 0.
    pub stride: Stride,
    /// Records that are moved by one call; used by the vectored patterns only.
    pub groups: Groups<'a>,
}

#[cfg(test)]
mod tests;
