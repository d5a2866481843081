//! IOzone's tests, as data: how each opens the file, what is done before the clock starts, and
//! how records are moved while it runs.

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loops::Motion;

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
#[derive(Debug)]
pub struct Pass {
    /// Name of the metric; `None` for a pass that the original executes and does not report.
    pub metric: Option<&'static str>,
    /// As a heading shows it.
    pub label: &'static str,
    /// What the metric tells.
    pub about: &'static str,
    /// Flags of open(2), without those that the access adds.
    pub open: OFlags,
    /// Untimed preparation.
    pub settle: Settle,
    /// The timed loop.
    pub motion: Motion,
}

const READ: OFlags = OFlags::RDONLY;
const UPDATE: OFlags = OFlags::RDWR;
const UPDATE_OR_MAKE: OFlags = OFlags::RDWR.union(OFlags::CREATE);

const fn pass(
    (metric, label): (&'static str, &'static str),
    open: OFlags,
    settle: Settle,
    motion: Motion,
    about: &'static str,
) -> Pass {
    Pass {
        metric: Some(metric),
        label,
        about,
        open,
        settle,
        motion,
    }
}

#[rustfmt::skip]
mod passes {
    use super::{pass, Motion::*, Pass, Settle::*, READ, UPDATE, UPDATE_OR_MAKE};

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
}

impl Test {
    /// All tests, in the order in which they are executed.
    pub const ALL: [Test; 8] = [
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
        }
    }

    /// Whether it uses C streams.
    pub fn is_stream(self) -> bool {
        matches!(self, Test::Fwrite | Test::Fread)
    }

    /// Whether it can begin with an empty file.
    pub fn fills_the_file(self) -> bool {
        matches!(self, Test::Write | Test::Fwrite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_thirteen_results_and_one_silent_pass() {
        let passes: Vec<&Pass> = Test::ALL.iter().flat_map(|test| test.passes()).collect();
        let metrics: Vec<&str> = passes.iter().filter_map(|pass| pass.metric).collect();
        assert_eq!(metrics.len(), 13);
        assert_eq!(passes.len(), 14);
        assert!(Test::ALL.is_sorted());
    }

    #[test]
    fn only_descriptors_opened_for_writing_are_written() {
        for pass in Test::ALL.iter().flat_map(|test| test.passes()) {
            let writable = pass.open.contains(OFlags::RDWR);
            assert!(writable || pass.motion.is_read(), "{pass:?}");
        }
    }
}
