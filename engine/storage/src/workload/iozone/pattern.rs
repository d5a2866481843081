//! In which order the records of a file are moved: along its position, or at offsets.

use kit::pattern::Stride;

use super::grid::Cell;

/// Records that one vectored call moves at most, and their bytes.
pub const GROUP_RECORDS: u64 = 16;
const GROUP_BYTES: u64 = 16 << 20;

/// How a pass moves along the position of the file. N is the number of records, R their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
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
}

impl Motion {
    /// Whether records come in; otherwise they go out.
    pub fn is_read(self) -> bool {
        use Motion::*;
        matches!(
            self,
            SequentialRead | RandomRead | BackwardRead | StrideRead
        )
    }
}

/// How a pass moves records at offsets. N is the number of records, R their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// N times: pwrite the next record.
    Write,
    /// N times: pread the next record.
    Read,
    /// For each group, in random order: pwritev.
    VectorWrite,
    /// For each group, in the same random order: preadv.
    VectorRead,
}

impl Placement {
    /// Whether records come in; otherwise they go out.
    pub fn is_read(self) -> bool {
        matches!(self, Placement::Read | Placement::VectorRead)
    }
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
    /// The step to begin with: 0 unless a stopped pass is to be completed.
    pub first: u64,
    /// Random order of the records; used by the random motions only.
    pub order: &'a [u64],
    /// Order of strided reads, at record 0.
    pub stride: Stride,
    /// Records that are moved by one call; used by the vectored placements only.
    pub groups: Groups<'a>,
}

#[cfg(test)]
mod tests {
    use kit::Size;

    use super::*;

    fn cell(file: u64, record: u64) -> Cell {
        Cell {
            file: Size(file),
            record: Size(record),
        }
    }

    #[test]
    fn groups_have_sixteen_records_unless_the_file_or_memory_has_fewer() {
        for (file, record, length, count) in [
            (1 << 20, 4 << 10, 16, 16),
            (100 << 10, 4 << 10, 16, 2),
            (12 << 10, 4 << 10, 3, 1),
            (64 << 20, 8 << 20, 2, 4),
            (64 << 20, 16 << 20, 1, 4),
        ] {
            let cell = cell(file, record);
            let found = (Groups::length_in(cell), Groups::count_in(cell));
            assert_eq!(found, (length, count), "{cell:?}");
        }
    }
}
