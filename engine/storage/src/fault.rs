//! What can go wrong while records are moved, without an allocation where it happens.

use std::io;
use std::path::Path;

use kit::failure::{failure, interrupted, io_failure};
use wire::{Failure, FailureKind};

/// Why a loop ended early.
#[derive(Debug)]
pub enum Fault {
    /// A stop was asked for.
    Stopped,
    /// The kernel refused to move a record.
    Io { record: u64, error: io::Error },
    /// Fewer bytes were moved than the record has.
    Short { record: u64, moved: usize },
    /// A record read was not the record written.
    Differs { record: u64, page: usize },
}

impl Fault {
    /// The failure of a trial that wanted to `action` (read, write) the records of `path`.
    pub fn into_failure(self, action: &str, path: &Path) -> Failure {
        let shown = path.display();
        match self {
            Fault::Stopped => interrupted(),
            Fault::Io { record, error } => {
                io_failure(&format!("{action} record {record} of"), path, &error)
            }
            Fault::Short { record, moved } => failure(
                FailureKind::Io,
                format!(
                    "cannot {action} record {record} of {shown}: only {moved} bytes were moved"
                ),
            ),
            Fault::Differs { record, page } => failure(
                FailureKind::Verification,
                format!(
                    "record {record} of {shown} is not what was written: page {page} of it differs"
                ),
            ),
        }
    }
}
