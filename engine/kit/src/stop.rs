//! Stopping early: SIGTERM, SIGINT, the death of the process that started us, or a reader that
//! went away. A handler can only set a flag; workloads look at it and unwind, so that their
//! files are removed on the way out.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{getppid, set_parent_process_death_signal, Signal};
use wire::Failure;

use crate::failure::interrupted;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether the trial should end now. One relaxed load: cheap enough for every operation.
#[inline]
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Goes on unless the trial should end.
///
/// # Errors
/// `Interrupted`: it should.
#[inline]
pub fn check() -> Result<(), Failure> {
    match requested() {
        true => Err(interrupted()),
        false => Ok(()),
    }
}

/// Asks the trial to end.
pub fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}

extern "C" fn on_signal(_signal: libc::c_int) {
    request();
}

/// Turns SIGTERM, SIGINT and SIGHUP into [`request`], and asks the kernel for a SIGTERM when
/// the thread that started this process ends. SIGXFSZ is ignored, so that a write beyond
/// RLIMIT_FSIZE fails like any other, where it would kill the process and leave its files.
///
/// # Errors
/// Those of sigaction(2) and prctl(2).
pub fn install() -> io::Result<()> {
    let parent = getppid();
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        handle(signal, on_signal as extern "C" fn(libc::c_int) as usize)?;
    }
    handle(libc::SIGXFSZ, libc::SIG_IGN)?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have died before the kernel was asked.
    if getppid() != parent {
        request();
    }
    Ok(())
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid; the only handler stores to an atomic, which is
    // async-signal-safe.
    let status = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        // System calls in flight go on: the flag is looked at between operations.
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
