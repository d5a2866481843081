//! Working only for as long as whoever started us is there: they keep our standard input open.
//!
//! A signal, or the death of the parent, reaches a process of the same host alone. The end of the
//! input comes also from another one: when the connection by ssh is closed, or lost.

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
        let mut heard = [0; 64];
        while stdin.read(&mut heard).is_ok_and(|count| count > 0) {}
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
