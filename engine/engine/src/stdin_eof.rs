//! Stopping when standard input ends, which the caller keeps open while it wants results.
//!
//! A signal, or the death of the parent, reaches only a process of the same host. The end of the
//! input arrives from another host too: when the ssh connection is closed or lost.

use std::io::Read;

use kit::failure::failure;
use kit::stop;
use wire::{Failure, FailureKind};

/// Asks for a stop when standard input ends.
///
/// # Errors
/// `HostLacks` when the kernel gives no thread to wait in.
pub fn stop_at_eof() -> Result<(), Failure> {
    let wait = || {
        let mut stdin = std::io::stdin().lock();
        let mut ignored = [0; 64];
        while stdin.read(&mut ignored).is_ok_and(|count| count > 0) {}
        stop::request();
    };
    let thread = std::thread::Builder::new().name("stdin".into()).spawn(wait);
    thread.map(drop).map_err(|error| {
        failure(
            FailureKind::HostLacks,
            format!("cannot watch standard input: {error}"),
        )
    })
}
