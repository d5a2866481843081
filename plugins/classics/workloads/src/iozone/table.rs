//! IOzone's tests, as data: how each opens the file, what is done before the clock starts, and
//! how records are moved while it runs.

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// A test as IOzone numbers them; most have two passes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Write a new file, then write it again (index 0).
    Write,
    /// Read the file, then read it again (1).
    Read,
    /// Read, then write, all records in one random order (2).
    Random,
    /// Read from the last record to the first (3).
    Backward,
    /// Write the first record over and over (4).
    RecordRewrite,
    /// Read one record in so many (5).
    Stride,
    /// Write with a C stream, twice (6).
    Fwrite,
    /// Read with a C stream, twice (7).
    Fread,
    /// Write records where they belong with pwrite(2), twice (9).
    Pwrite,
    /// Read records where they are with pread(2), twice (10).
    Pread,
    /// Write groups of up to 16 records in random order with pwritev(2), twice (11).
    Pwritev,
    /// Read groups of up to 16 records in the same random order with preadv(2), twice (12).
    Preadv,
}

/// What a pass does between opening the file and taking the first instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// Nothing.
    AsIs,
    /// fsync.
    Sync,
    /// fsync, read record 0, seek back.
    SyncAndPrime,
    /// fsync, through a second descriptor.
    SyncApart,
}

/// One timed region of a test.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// Name of the metric; `None` for a pass that the original executes and does not report.
    pub metric: Option<&'static str>,
    /// As a heading shows it.
    pub label: &'static str,
    /// What the metric measures.
    pub about: &'static str,
    /// Flags of open(2), without those that the access adds.
    pub open: OFlags,
    /// Untimed preparation.
    pub settle: Settle,
    /// What the timed loop does.
    pub pattern: Pattern,
}

impl Pass {
    /// Whether records come in; otherwise they go out.
    pub fn is_read(&self) -> bool {
        self.pattern.is_read()
    }
}

const READ: OFlags = OFlags::RDONLY;
const UPDATE: OFlags = OFlags::RDWR;
const UPDATE_OR_MAKE: OFlags = OFlags::RDWR.union(OFlags::CREATE);

/// A pass of a test, named as the metric that it gives.
pub const fn pass(
    (metric, label): (&'static str, &'static str),
    open: OFlags,
    settle: Settle,
    pattern: Pattern,
    about: &'static str,
) -> Pass {
    Pass {
        metric: Some(metric),
        label,
        about,
        open,
        settle,
        pattern,
    }
}

#[rustfmt::skip]
mod passes {
    use super::{pass, Pass, Pattern::*, Settle::*, READ, UPDATE, UPDATE_OR_MAKE};

    pub static WRITE: [Pass; 2] = [
        pass(("write", "write"), UPDATE, Sync, SequentialWrite,
            "sequential writes to a new file: allocation and metadata included"),
        pass(("rewrite", "rewrite"), UPDATE, Sync, SequentialWrite,
            "sequential writes over an existing file"),
    ];
    pub static READS: [Pass; 2] = [
        pass(("read", "read"), READ, SyncAndPrime, SequentialRead,
            "sequential reads"),
        pass(("reread", "reread"), READ, SyncAndPrime, SequentialRead,
            "sequential reads of what was just read"),
    ];
    pub static RANDOM: [Pass; 2] = [
        pass(("random_read", "random read"), UPDATE_OR_MAKE, AsIs, RandomRead,
            "reads of every record once, in random order"),
        pass(("random_write", "random write"), UPDATE_OR_MAKE, AsIs, RandomWrite,
            "writes of every record once, in the same random order"),
    ];
    pub static BACKWARD: [Pass; 2] = [
        pass(("backward_read", "backward read"), READ, Sync, BackwardRead,
            "reads from the last record to the first"),
        Pass {
            metric: None,
            ..pass(("", "backward read, second pass"), READ, Sync, BackwardRead, "")
        },
    ];
    pub static RECORD_REWRITE: [Pass; 1] = [
        pass(("record_rewrite", "record rewrite"), UPDATE_OR_MAKE, Sync, RecordRewrite,
            "writes of the first record, over and over"),
    ];
    pub static STRIDE: [Pass; 1] = [
        pass(("stride_read", "stride read"), READ, Sync, StrideRead,
            "reads that skip a fixed number of records"),
    ];
    pub static FWRITE: [Pass; 2] = [
        pass(("fwrite", "fwrite"), UPDATE, Sync, SequentialWrite,
            "sequential writes with a C stream, to a file that the write test left"),
        pass(("frewrite", "frewrite"), UPDATE, Sync, SequentialWrite,
            "sequential writes with a C stream over what it just wrote"),
    ];
    pub static FREAD: [Pass; 2] = [
        pass(("fread", "fread"), READ, SyncApart, SequentialRead,
            "sequential reads with a C stream"),
        pass(("freread", "freread"), READ, SyncApart, SequentialRead,
            "sequential reads with a C stream of what it just read"),
    ];
    pub static PWRITE: [Pass; 2] = [
        pass(("pwrite", "pwrite"), UPDATE_OR_MAKE, Sync, PositionalWrite,
            "writes of one record after another with pwrite"),
        pass(("repwrite", "repwrite"), UPDATE_OR_MAKE, Sync, PositionalWrite,
            "writes with pwrite over what it just wrote"),
    ];
    pub static PREAD: [Pass; 2] = [
        pass(("pread", "pread"), READ, AsIs, PositionalRead,
            "reads of one record after another with pread"),
        pass(("repread", "repread"), READ, AsIs, PositionalRead,
            "reads with pread of what it just read"),
    ];
    pub static PWRITEV: [Pass; 2] = [
        pass(("pwritev", "pwritev"), UPDATE_OR_MAKE, Sync, VectorWrite,
            "writes of groups of up to 16 neighbouring records in random order with pwritev"),
        pass(("repwritev", "repwritev"), UPDATE_OR_MAKE, Sync, VectorWrite,
            "writes with pwritev over what it just wrote"),
    ];
    pub static PREADV: [Pass; 2] = [
        pass(("preadv", "preadv"), READ, AsIs, VectorRead,
            "reads of groups of up to 16 neighbouring records in random order with preadv"),
        pass(("repreadv", "repreadv"), READ, AsIs, VectorRead,
            "reads with preadv of what it just read"),
    ];
}

impl Test {
    /// All tests, in the order in which they are executed.
    pub const ALL: [Test; 12] = [
        Test::Write,
        Test::Read,
        Test::Random,
        Test::Backward,
        Test::RecordRewrite,
        Test::Stride,
        Test::Fwrite,
        Test::Fread,
        Test::Pwrite,
        Test::Pread,
        Test::Pwritev,
        Test::Preadv,
    ];

    /// The tests that the original executes unless it is asked for others: thirteen columns.
    pub const CLASSIC: [Test; 8] = [
        Test::Write,
        Test::Read,
        Test::Random,
        Test::Backward,
        Test::RecordRewrite,
        Test::Stride,
        Test::Fwrite,
        Test::Fread,
    ];

    /// The passes, in order.
    pub fn passes(self) -> &'static [Pass] {
        match self {
            Test::Write => &passes::WRITE,
            Test::Read => &passes::READS,
            Test::Random => &passes::RANDOM,
            Test::Backward => &passes::BACKWARD,
            Test::RecordRewrite => &passes::RECORD_REWRITE,
            Test::Stride => &passes::STRIDE,
            Test::Fwrite => &passes::FWRITE,
            Test::Fread => &passes::FREAD,
            Test::Pwrite => &passes::PWRITE,
            Test::Pread => &passes::PREAD,
            Test::Pwritev => &passes::PWRITEV,
            Test::Preadv => &passes::PREADV,
        }
    }

    /// The passes without repetitions: random writes are none.
    pub fn passes_once(self) -> &'static [Pass] {
        match self {
            Test::Random => &passes::RANDOM,
            _ => &self.passes()[..1],
        }
    }

    /// Whether it uses C streams.
    pub fn is_stream(self) -> bool {
        matches!(self, Test::Fwrite | Test::Fread)
    }

    /// Whether it moves records in groups.
    pub fn is_vectored(self) -> bool {
        matches!(self, Test::Pwritev | Test::Preadv)
    }

    /// Whether it can begin with an empty file.
    pub fn fills_the_file(self) -> bool {
        use Test::*;
        matches!(self, Write | Fwrite | Pwrite | Pwritev)
    }

    /// Whether it leaves the file as it is.
    pub fn only_reads(self) -> bool {
        self.passes().iter().all(Pass::is_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(tests: &[Test]) -> Vec<&'static Pass> {
        tests.iter().flat_map(|test| test.passes()).collect()
    }

    #[test]
    fn there_are_thirteen_results_and_one_silent_pass() {
        let passes = passes(&Test::CLASSIC);
        let metrics = passes.iter().filter(|pass| pass.metric.is_some());
        assert_eq!(metrics.count(), 13);
        assert_eq!(passes.len(), 14);
        assert!(Test::ALL.is_sorted());
        assert_eq!(Test::ALL[..8], Test::CLASSIC);
    }

    #[test]
    fn only_descriptors_opened_for_writing_are_written() {
        for pass in passes(&Test::ALL) {
            let writable = pass.open.contains(OFlags::RDWR);
            assert!(writable || pass.is_read(), "{pass:?}");
        }
    }

    #[test]
    fn without_retests_nine_columns_of_the_thirteen_are_left() {
        let once = Test::CLASSIC.iter().flat_map(|test| test.passes_once());
        assert_eq!(once.count(), 9);
        assert!(Test::Backward.only_reads() && !Test::Random.only_reads());
    }
}
