//! In what the versions of the original differ. None of it changes what is counted here: blocks
//! that were moved. The figure that a version prints is kept as the sample's native one.

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use storage::workload::region::Phase;

/// Whose system calls are made, and whose figure is given as the native one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Version {
    /// The release of 2003: seeks, then reads or writes; files grow as they are written.
    #[serde(rename = "0.3.3")]
    Release033,
    /// The repository in May 2017 (Phoronix profiles 1.3): positioned calls into files that are
    /// given their size first. Its figures for random phases credit whole files.
    #[serde(rename = "20170504")]
    Snapshot2017,
    /// The repository in October 2024: the same calls, with the credit corrected.
    #[serde(rename = "20241028")]
    Snapshot2024,
}

impl Version {
    /// Whether blocks are moved by pread and pwrite; otherwise by lseek, read and write.
    pub fn is_positioned(self) -> bool {
        self != Version::Release033
    }

    /// Whether a file is given its size when it is opened, in every phase.
    pub fn presizes(self) -> bool {
        self != Version::Release033
    }

    /// Flags of open(2) for a phase; `sync` asks for synchronous writes.
    pub fn opening(self, phase: Phase, sync: bool) -> OFlags {
        let flags = match (self, phase) {
            (Version::Release033, Phase::Write) => OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC,
            (Version::Release033, Phase::RandomWrite) => OFlags::WRONLY,
            (Version::Release033, Phase::Read | Phase::RandomRead) => OFlags::RDONLY,
            _ => OFlags::RDWR | OFlags::CREATE,
        };
        let is_synced = sync && (phase.is_write() || self != Version::Release033);
        if is_synced {
            flags | OFlags::SYNC
        } else {
            flags
        }
    }

    /// Whether the file is synced before it is closed at the end of a phase.
    pub fn syncs_after(self, phase: Phase) -> bool {
        phase.is_write() || self != Version::Release033
    }

    /// How many of `blocks` the random phases choose among: at first the last was left out.
    pub fn random_range(self, blocks: u64) -> u64 {
        match self {
            Version::Release033 => blocks.saturating_sub(1).max(1),
            Version::Snapshot2017 | Version::Snapshot2024 => blocks,
        }
    }

    /// Bytes that the original divides by the time of a phase that moved `moved` of `all` bytes
    /// of the files.
    pub fn credited_bytes(self, phase: Phase, moved: u64, all: u64) -> u64 {
        match self {
            Version::Snapshot2017 if phase.is_random() => all,
            _ => moved,
        }
    }

    /// How many times over the original counts CPU time: at first each of the threads added that
    /// of the whole process.
    pub fn cpu_overcount(self, threads: u32) -> f64 {
        match self {
            Version::Release033 => threads.into(),
            Version::Snapshot2017 | Version::Snapshot2024 => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inflation that the reference measured for 4 KiB blocks and 1000 operations.
    #[test]
    fn the_snapshot_of_2017_credits_whole_files() {
        for (file_mib, inflation) in [(32, 8.192), (64, 16.384), (128, 32.768), (256, 65.536)] {
            let (moved, all) = (1_000 * 4_096, file_mib << 20);
            let credited = |version: Version| {
                version.credited_bytes(Phase::RandomWrite, moved, all) as f64 / moved as f64
            };
            assert_eq!(credited(Version::Snapshot2017), inflation);
            assert_eq!(credited(Version::Release033), 1.0);
            assert_eq!(credited(Version::Snapshot2024), 1.0);
        }
    }

    #[test]
    fn synchronous_reads_came_with_the_repository() {
        let synced = |version: Version, phase| version.opening(phase, true).contains(OFlags::SYNC);
        assert!(synced(Version::Release033, Phase::RandomWrite));
        assert!(!synced(Version::Release033, Phase::Read));
        assert!(synced(Version::Snapshot2017, Phase::Read));
    }
}
