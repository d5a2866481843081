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
    /// Whether all bytes of a record were `moved`.
    #[inline(always)]
    pub fn unless_whole(
        moved: io::Result<usize>,
        record: u64,
        record_bytes: usize,
    ) -> Result<(), Fault> {
        match moved {
            Ok(moved) if moved == record_bytes => Ok(()),
            Ok(moved) => Err(Fault::Short { record, moved }),
            Err(error) => Err(Fault::Io { record, error }),
        }
    }

    /// Why a write was cut short: the kernel says so when it is asked, by `write_from`, for what
    /// was left.
    #[cold]
    pub fn explain_short(self, write_from: impl FnOnce(usize) -> io::Result<usize>) -> Fault {
        match self {
            Fault::Short { record, moved } => match write_from(moved) {
                Ok(_) => self,
                Err(error) => Fault::Io { record, error },
            },
            other => other,
        }
    }

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
