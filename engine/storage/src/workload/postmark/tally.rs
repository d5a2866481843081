//! Exact counts of what was done.

use std::collections::BTreeMap;
use std::iter::Sum;

use super::params::Params;

/// Files and bytes, counted as integers. (The original adds bytes up in 32-bit floats, and is
/// off by a few parts in 100,000 on long runs.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub transactions: u64,
    pub created_alone: u64,
    pub created_mixed: u64,
    pub read: u64,
    pub appended: u64,
    pub deleted_mixed: u64,
    pub deleted_alone: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |all, part| Self {
            transactions: all.transactions + part.transactions,
            created_alone: all.created_alone + part.created_alone,
            created_mixed: all.created_mixed + part.created_mixed,
            read: all.read + part.read,
            appended: all.appended + part.appended,
            deleted_mixed: all.deleted_mixed + part.deleted_mixed,
            deleted_alone: all.deleted_alone + part.deleted_alone,
            bytes_read: all.bytes_read + part.bytes_read,
            bytes_written: all.bytes_written + part.bytes_written,
        })
    }
}

impl Tally {
    /// Whether this is the work that `params` ask for, all files deleted again.
    pub fn adds_up(&self, params: &Params) -> bool {
        let asked = [params.files, params.transactions].map(u64::from);
        [self.created_alone, self.transactions] == asked && self.created() == self.deleted()
    }

    /// Files created, alone and mixed with transactions.
    pub fn created(&self) -> u64 {
        self.created_alone + self.created_mixed
    }

    /// Files deleted, alone and mixed with transactions.
    pub fn deleted(&self) -> u64 {
        self.deleted_alone + self.deleted_mixed
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// The counts by the names they have in a result.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        [
            ("files_created", self.created()),
            ("files_created_mixed", self.created_mixed),
            ("files_read", self.read),
            ("files_appended", self.appended),
            ("files_deleted", self.deleted()),
            ("files_deleted_mixed", self.deleted_mixed),
            ("files_deleted_alone", self.deleted_alone),
            ("bytes_read", self.bytes_read),
            ("bytes_written", self.bytes_written),
        ]
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
    }
}
