//! Failures of the network, each in one sentence that says what to do.

use std::fmt::Display;
use std::io;

use kit::failure::failure;
use wire::{Failure, FailureKind};

/// What a client is told when the server is stopped.
pub const STOPPED: &str = "the server was stopped";

/// The server cannot be reached, refused, or vanished.
pub fn peer_failure(message: impl Into<String>) -> Failure {
    failure(FailureKind::Far, message)
}

/// The kernel refused `action` (`"bind 10.0.0.1 port 7"`).
pub fn refused(action: impl Display, error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => FailureKind::HostLacks,
        _ => FailureKind::Io,
    };
    failure(kind, format!("cannot {action}: {error}"))
}
