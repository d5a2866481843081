//! Failures, each made in one way: one clear sentence and a kind that decides the exit code.

use std::io;
use std::path::Path;

use wire::{Failure, FailureKind};

/// A failure of `kind` that no parameter is to blame for.
pub fn failure(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure {
        kind,
        message: message.into(),
        parameter: None,
    }
}

/// The job asks for something that cannot be: names the parameter and what would be right.
pub fn bad_parameter(parameter: &str, message: impl Into<String>) -> Failure {
    Failure {
        kind: FailureKind::BadJob,
        message: message.into(),
        parameter: Some(parameter.to_owned()),
    }
}

/// A signal, or a reader that went away, ended the trial.
pub fn interrupted() -> Failure {
    failure(
        FailureKind::Interrupted,
        "interrupted; all files made by the trial were removed",
    )
}

/// There is no memory for the buffers that records are moved from and to.
pub fn no_memory(error: io::Error) -> Failure {
    failure(
        FailureKind::HostLacks,
        format!("no memory for the buffers of records: {error}"),
    )
}

/// The kernel refused `action` (`"write record 7 of"`) on `path`.
pub fn io_failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => FailureKind::NoSpace,
        _ => FailureKind::Io,
    };
    failure(kind, format!("cannot {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_system_is_told_from_other_errors() {
        let kind_of = |code| {
            io_failure(
                "write",
                Path::new("/x"),
                &io::Error::from_raw_os_error(code),
            )
            .kind
        };
        assert_eq!(kind_of(libc::ENOSPC), FailureKind::NoSpace);
        assert_eq!(kind_of(libc::EDQUOT), FailureKind::NoSpace);
        assert_eq!(kind_of(libc::EIO), FailureKind::Io);
    }
}
