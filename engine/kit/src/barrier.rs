//! The start barrier: engines of several clients begin each timed region at the same instant, or
//! those of several programs take turns, execution by execution.
//!
//! ```text
//! trial ── ready ─► runner ─► lab: waits for all, asks for their clocks
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
use wire::Held;

use crate::{clock, pace, settling, stop};

static HELD_BY: OnceLock<(Held, OwnedFd, OwnedFd)> = OnceLock::new();
static BEGAN_NS: AtomicU64 = AtomicU64::new(0);
static IS_PASSED: AtomicBool = AtomicBool::new(false);

/// From now on each timed region or execution waits: a byte in `ready` says so, and the instant
/// comes from `go`, as eight bytes in the order of this host.
pub fn hold(each: Held, ready: OwnedFd, go: OwnedFd) {
    // A process has one trial, which is held once.
    let _ = HELD_BY.set((each, ready, go));
}

/// The first instant of a timed region, as [`clock::now_ns`]; after a pause where regions begin
/// settled, and when all clients are ready where there are several.
pub fn begin_ns() -> u64 {
    if settling::is_wanted() {
        settling::settle();
    }
    pass(Held::Regions);
    let began_ns = clock::now_ns();
    BEGAN_NS.store(began_ns, Relaxed);
    began_ns
}

/// Waits until it is the turn of an execution, where executions are held.
pub fn await_turn() {
    pass(Held::Executions);
}

/// Waits for the instant of the next region or execution, or until a stop is asked for. Returns at
/// once where nothing holds those, or [`pass_ahead`] has waited already.
fn pass(each: Held) {
    let Some((held, ready, go)) = HELD_BY.get() else {
        return;
    };
    if *held != each {
        return;
    }
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
    matches!(HELD_BY.get(), Some((Held::Regions, ..)))
}

/// Waits as [`begin_ns`] does, for a region that others begin when they are told to: they are told after it.
pub fn pass_ahead() {
    pass(Held::Regions);
    IS_PASSED.store(true, Relaxed);
}

/// When the last region began, where regions are held.
pub fn began_ns() -> Option<u64> {
    is_held().then(|| BEGAN_NS.load(Relaxed))
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
