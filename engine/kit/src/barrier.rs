//! The start barrier: engines of several clients begin each timed region at the same instant.
//!
//! ```text
//! trial ── ready ─► agent ─► lab: waits for all, asks for their clocks
//!       ◄─ instant ─┘ ◄───── go
//! ```
//! The instant lies in the future and is by this host's clock, so that neither the way of the word
//! nor who hears it first is part of when a client begins.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::{read, write, Errno};

use crate::{clock, pace, settling, stop};

static HELD_BY: OnceLock<(OwnedFd, OwnedFd)> = OnceLock::new();
static BEGAN_NS: AtomicU64 = AtomicU64::new(0);
static IS_PASSED: AtomicBool = AtomicBool::new(false);

/// From now on each timed region waits: a byte in `ready` says so, and the instant comes from
/// `go`, as eight bytes in the order of this host.
pub fn hold(ready: OwnedFd, go: OwnedFd) {
    // A process has one trial, which is held once.
    let _ = HELD_BY.set((ready, go));
}

/// The first instant of a timed region, as [`clock::now_ns`]; after a pause where regions begin
/// settled, and when all clients are ready where there are several.
pub fn begin_ns() -> u64 {
    if settling::is_wanted() {
        settling::settle();
    }
    pass();
    let began_ns = clock::now_ns();
    BEGAN_NS.store(began_ns, Relaxed);
    began_ns
}

/// Waits for the instant of the next region, or until a stop is asked for. Returns at once where
/// nothing holds the trial, or [`pass_ahead`] has waited already.
fn pass() {
    let Some((ready, go)) = HELD_BY.get() else {
        return;
    };
    if IS_PASSED.swap(false, Relaxed) {
        return;
    }
    if write(ready, &[1]).is_err() {
        return stop::request();
    }
    match instant(go) {
        Ok(Some(at_ns)) => drop(pace::wait_until(at_ns)),
        Ok(None) => {}
        Err(_) => stop::request(),
    }
}

/// Whether regions are held.
pub fn is_held() -> bool {
    HELD_BY.get().is_some()
}

/// Waits as [`begin_ns`] does, for a region that others begin when they are told to: they are told after it.
pub fn pass_ahead() {
    pass();
    IS_PASSED.store(true, Relaxed);
}

/// When the last region began, where regions are held.
pub fn began_ns() -> Option<u64> {
    HELD_BY.get().map(|_| BEGAN_NS.load(Relaxed))
}

/// The instant; `None` if a stop is asked for before it is told.
///
/// # Errors
/// Those of poll(2) and read(2), and the end of the pipe: whoever held the trial is gone.
fn instant(go: &OwnedFd) -> io::Result<Option<u64>> {
    let mut told = [0; 8];
    let nap = Timespec {
        tv_sec: 0,
        tv_nsec: pace::NAP.subsec_nanos().into(),
    };
    while !stop::requested() {
        let mut ready = [PollFd::new(go, PollFlags::IN)];
        match poll(&mut ready, Some(&nap)) {
            Ok(0) | Err(Errno::INTR) => continue,
            other => other?,
        };
        // Eight bytes are less than PIPE_BUF: they come together.
        return match read(go, &mut told)? {
            8 => Ok(Some(u64::from_ne_bytes(told))),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    Ok(None)
}
