//! The logs of -Q. They lie where the command is called, as with the original; but those of another
//! call are added to only when that is asked for.

use std::path::PathBuf;

use serde_json::{Map, Value};
use wire::{Failure, FailureKind, Job};

use crate::bench::Bench;

/// Where they lie.
pub const DIRECTORY: &str = ".";

/// Gives the logs that a job with these parameters writes.
pub type LogsOf = fn(&Map<String, Value>) -> Result<Vec<PathBuf>, Failure>;

/// Looks before anything is measured whether `jobs` may write their logs, which `logs_of` gives
/// for the parameters of each.
///
/// # Errors
/// `Refused` when one is there already; `BadJob` for parameters that cannot be.
pub fn prepare<'a>(
    jobs: impl IntoIterator<Item = &'a Job>,
    logs_of: LogsOf,
    bench: &Bench,
) -> Result<(), Failure> {
    if bench.force() {
        return Ok(());
    }
    for job in jobs {
        let logs = logs_of(&job.parameters)?;
        if let Some(path) = logs.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(Failure {
                kind: FailureKind::Refused,
                message: format!(
                    "option -Q: {} already exists; move it away (--force adds to it)",
                    path.display()
                ),
                parameter: Some("-Q".to_owned()),
            });
        }
    }
    Ok(())
}
