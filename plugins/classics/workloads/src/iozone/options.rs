//! The choices that parameters offer, by name.

use kit::pattern::{self, Stride};
use rustix::fs::OFlags;
use rustix::mm::MsyncFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How records are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// System calls; C streams for the tests that are about them.
    Sync,
    /// Copies from and to a shared mapping of the file (IOzone's -B); C streams as ever.
    Mmap,
    /// Linux native asynchronous I/O, up to the `depth` under way (IOzone's -H and -k); without
    /// access direct the kernel moves each record as it is handed over. C streams, and tests that
    /// say where records lie (pwrite, pread and their vectored forms), are those of `sync`.
    Libaio,
    /// No I/O: measures the loops themselves.
    Null,
}

/// What msync(2) is told of each record that was written to a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Msync {
    /// It is not called.
    None,
    /// MS_ASYNC: the kernel writes the record when it wants to (IOzone's -D). On Linux the call
    /// itself does nothing.
    Async,
    /// MS_SYNC: the call waits until the device has the record (IOzone's -G).
    Sync,
}

impl Msync {
    /// The flags of the call; `None` for no call.
    pub fn flags(self) -> Option<MsyncFlags> {
        match self {
            Msync::None => None,
            Msync::Async => Some(MsyncFlags::ASYNC),
            Msync::Sync => Some(MsyncFlags::SYNC),
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// IOzone's own: zeroes with eight pattern bytes per 4 KiB, highly compressible.
    Classic,
    /// The pattern byte over and over (IOzone's -V).
    Uniform,
    /// Words that tell the record and the child, computed for each record inside the timed
    /// region (IOzone's -+d).
    Diagnostic,
    /// Random bytes, incompressible.
    Random,
}

/// What open(2) is told about waiting for the device; C streams are opened without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenSync {
    /// Nothing: writes return when the page cache has them.
    None,
    /// O_SYNC: every write waits for data and metadata (IOzone's -o).
    Sync,
    /// O_DSYNC: every write waits for the data (IOzone's -+D).
    Dsync,
    /// O_RSYNC and O_SYNC, on files that are only read too (IOzone's -+r).
    Rsync,
}

impl OpenSync {
    /// What is added to the flags of a file that `is_written`.
    pub fn flags(self, is_written: bool) -> OFlags {
        match self {
            OpenSync::Sync if is_written => OFlags::SYNC,
            // rustix gives O_SYNC this name too, which waits for more.
            OpenSync::Dsync if is_written => OFlags::from_bits_retain(libc::O_DSYNC as u32),
            OpenSync::Rsync => OFlags::RSYNC | OFlags::SYNC,
            _ => OFlags::empty(),
        }
    }
}

/// Advisory locks, taken with fcntl(2). C streams take none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Locks {
    /// None.
    None,
    /// The whole file during the tests write and read, of many children during all phases;
    /// released inside the timed region (IOzone's -W).
    File,
    /// Each record while it is moved, inside the timed region (IOzone's -+l).
    Record,
}

/// The order of strided reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrideOrder {
    /// As in the original: the last two records are never read, two others twice; with no more
    /// than `stride` records, record 0 is read over and over.
    Classic,
    /// Every record once.
    WholeFile,
}

impl StrideOrder {
    /// The order in a file of `records`.
    pub fn over(self, records: u64, stride: u64) -> Stride {
        match self {
            StrideOrder::Classic => Stride::new(records, stride),
            StrideOrder::WholeFile => Stride::whole_file(records, stride),
        }
    }
}

/// The order of random records; each comes once. It is the same in every file of equal count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RandomOrder {
    /// An unbiased shuffle, as in IOzone 3.488 and later.
    #[serde(rename = "3.488")]
    From3488,
    /// The biased one of IOzone 3.487 and earlier.
    #[serde(rename = "3.487")]
    Until3487,
}

impl RandomOrder {
    /// The order of `count` records.
    pub fn of(self, count: u64) -> Vec<u64> {
        match self {
            RandomOrder::From3488 => pattern::random(count),
            RandomOrder::Until3487 => pattern::random_before_3488(count),
        }
    }
}

/// The unit in which the original would print its figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NativeUnit {
    /// 1024 bytes per second.
    #[serde(rename = "kB/s")]
    Rate,
    /// Operations per second (IOzone's -O).
    #[serde(rename = "ops/s")]
    Operations,
    /// Microseconds per operation (IOzone's -N); below one it prints 0.
    #[serde(rename = "us/op")]
    Latency,
}

/// What happens when the test file is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Existing {
    /// The trial is refused.
    Refuse,
    /// It must be there, is read, and stays (IOzone's -+E): for tests that only read, of a file
    /// that an earlier trial kept or that somebody else made (turn `verify` off for the latter).
    Read,
    /// It must be there, may be written too, and goes at the end unless `keep` is set: what an
    /// earlier trial kept for this one.
    TakeOver,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_data_is_not_waiting_for_metadata() {
        let bits = |how: OpenSync| how.flags(true).bits();
        assert_eq!(bits(OpenSync::Dsync), libc::O_DSYNC as u32);
        assert_eq!(bits(OpenSync::Sync), libc::O_SYNC as u32);
        assert_eq!(OpenSync::Dsync.flags(false), OFlags::empty());
    }
}
