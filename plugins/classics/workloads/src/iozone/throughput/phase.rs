//! The thirteen phases, as data: what each child does, and what happens when the first is done.

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::pattern::Pattern;
use super::super::table::{pass, Pass, Settle};

/// What all children do at once; in the order in which phases are executed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Write a new file.
    Write,
    /// Write it again.
    Rewrite,
    /// Read it.
    Read,
    /// Read it again.
    Reread,
    /// Read from the last record to the first.
    Backward,
    /// Read one record in so many.
    Stride,
    /// Read all records in random order.
    RandomRead,
    /// Some children read, the others write.
    Mixed,
    /// Write all records in the same random order.
    RandomWrite,
    /// Write with pwrite(2).
    Pwrite,
    /// Read with pread(2).
    Pread,
    /// Write with a C stream.
    Fwrite,
    /// Read with a C stream.
    Fread,
}

const READ: OFlags = OFlags::RDONLY;
/// The original makes a file in some of the phases that write, though it is always there.
const MAKE: OFlags = OFlags::RDWR.union(OFlags::CREATE);
/// C streams have no flags to make a file without emptying one.
const WRITE: OFlags = OFlags::RDWR;

#[rustfmt::skip]
mod passes {
    use super::{pass, Pass, Pattern::*, Settle::*, MAKE, READ, WRITE};

    // All files are synced between two phases, so that only those of C streams, which bring their
    // own way to open a file, settle theirs once more, as in the original.
    pub static ALL: [Pass; 13] = [
        pass(("initial_write", "initial writers"), MAKE, AsIs, SequentialWrite,
            "sequential writes to new files: allocation and metadata included"),
        pass(("rewrite", "rewriters"), WRITE, AsIs, SequentialWrite,
            "sequential writes over existing files"),
        pass(("read", "readers"), READ, AsIs, SequentialRead,
            "sequential reads"),
        pass(("reread", "re-readers"), READ, AsIs, SequentialRead,
            "sequential reads of what was just read"),
        pass(("reverse_read", "reverse readers"), READ, AsIs, BackwardRead,
            "reads from the last record to the first"),
        pass(("stride_read", "stride readers"), READ, AsIs, StrideRead,
            "reads that skip a fixed number of records"),
        pass(("random_read", "random readers"), READ, AsIs, RandomRead,
            "reads of every record once, in random order"),
        // What each child does is said by `mixed`.
        pass(("mixed", "mixed workload"), READ, AsIs, RandomRead,
            "some children read while the others write"),
        pass(("random_write", "random writers"), MAKE, AsIs, RandomWrite,
            "writes of every record once, in random order"),
        pass(("pwrite", "pwrite writers"), MAKE, AsIs, PositionalWrite,
            "writes of one record after another with pwrite"),
        pass(("pread", "pread readers"), READ, AsIs, PositionalRead,
            "reads of one record after another with pread"),
        pass(("fwrite", "fwriters"), WRITE, Sync, SequentialWrite,
            "sequential writes with a C stream, to files that the write phases left"),
        pass(("fread", "freaders"), READ, SyncApart, SequentialRead,
            "sequential reads with a C stream"),
    ];
}

/// The order in which the children of the mixed phase move records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MixedOrder {
    /// All records once, in random order.
    Random,
    /// One after another (IOzone's -+B).
    Sequential,
}

impl Phase {
    /// All phases, in the order in which they are executed.
    pub const ALL: [Phase; 13] = [
        Phase::Write,
        Phase::Rewrite,
        Phase::Read,
        Phase::Reread,
        Phase::Backward,
        Phase::Stride,
        Phase::RandomRead,
        Phase::Mixed,
        Phase::RandomWrite,
        Phase::Pwrite,
        Phase::Pread,
        Phase::Fwrite,
        Phase::Fread,
    ];

    /// What is measured, and what a child does unless the phase is mixed.
    pub fn pass(self) -> &'static Pass {
        &passes::ALL[self as usize]
    }

    /// Name of the metric that is quoted.
    pub fn metric(self) -> &'static str {
        self.pass().metric.expect("every phase is reported")
    }

    /// Whether records are moved in random order, given that of the mixed phase.
    pub fn is_random(self, mixed: MixedOrder) -> bool {
        match self {
            Phase::RandomRead | Phase::RandomWrite => true,
            Phase::Mixed => mixed == MixedOrder::Random,
            _ => false,
        }
    }

    /// Whether it uses C streams.
    pub fn is_stream(self) -> bool {
        matches!(self, Phase::Fwrite | Phase::Fread)
    }

    /// Whether the others stop when the first child is done; C streams are always finished.
    pub fn has_stonewall(self) -> bool {
        !self.is_stream()
    }

    /// Whether a child that is stopped completes its file outside its own time, so that later
    /// phases find all of it.
    pub fn fills_up(self) -> bool {
        matches!(self, Phase::Write | Phase::RandomWrite | Phase::Pwrite)
    }

    /// Whether it can begin with empty files.
    pub fn fills_the_file(self) -> bool {
        matches!(self, Phase::Write | Phase::Pwrite | Phase::Fwrite)
    }
}

/// What a child of the mixed phase does.
pub fn mixed(is_reader: bool, order: MixedOrder) -> Pass {
    let (open, pattern) = match (is_reader, order) {
        (true, MixedOrder::Random) => (READ, Pattern::RandomRead),
        (true, MixedOrder::Sequential) => (READ, Pattern::SequentialRead),
        (false, MixedOrder::Random) => (MAKE, Pattern::RandomWrite),
        (false, MixedOrder::Sequential) => (MAKE, Pattern::SequentialWrite),
    };
    pass(("mixed", "mixed workload"), open, Settle::AsIs, pattern, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_come_in_the_order_of_the_original() {
        let labels: Vec<_> = Phase::ALL.iter().map(|phase| phase.pass().label).collect();
        assert_eq!(
            labels.join(", "),
            "initial writers, rewriters, readers, re-readers, reverse readers, stride readers, \
             random readers, mixed workload, random writers, pwrite writers, pread readers, \
             fwriters, freaders"
        );
        assert!(Phase::ALL.is_sorted());
    }

    #[test]
    fn only_files_opened_for_writing_are_written() {
        let mut passes: Vec<Pass> = Vec::new();
        for order in [MixedOrder::Random, MixedOrder::Sequential] {
            passes.extend([true, false].map(|is_reader| mixed(is_reader, order)));
        }
        for pass in passes::ALL.iter().chain(&passes) {
            let writable = pass.open.contains(OFlags::RDWR);
            assert!(writable || pass.is_read(), "{pass:?}");
        }
    }
}
