//! Exit codes.

use std::process::ExitCode;

use wire::FailureKind;

/// The exit code of a failure.
pub fn code(kind: FailureKind) -> ExitCode {
    ExitCode::from(number(kind))
}

/// The same, as a number.
pub fn number(kind: FailureKind) -> u8 {
    match kind {
        FailureKind::Internal => 1,
        FailureKind::BadJob => 2,
        FailureKind::HostLacks => 3,
        FailureKind::Refused => 4,
        FailureKind::NoSpace
        | FailureKind::Io
        | FailureKind::Far
        | FailureKind::Program
        | FailureKind::Verification
        | FailureKind::Access => 5,
        FailureKind::Interrupted => 130,
    }
}
