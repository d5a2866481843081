//! A process above the engine, which has all that outlives it: a runner or an agent, or, where no group can be
//! made, one that stands there for nothing else.
//!
//! Orphans become children of the nearest ancestor that asked for them (PR_SET_CHILD_SUBREAPER).
//! While the engine lives that is the engine; when it was killed, this one ends them.

use std::io;
use std::mem;
use std::ptr;
use std::thread;
use std::time::Duration;

use kit::signals::Signals;
use kit::{cgroup, proc, stop};
use libc::{c_int, pid_t, sigset_t};
use rustix::fs::Access;
use rustix::process::{getpid, getppid, set_parent_process_death_signal, Signal};

use crate::{group, reap};

/// What it hands down to the engine.
const PASSED_ON: [c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];
/// Rounds of killing, and the pause between two: a process may hang in the kernel.
const TRIES: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(10);
/// Rounds before it is killed: a watchdog that ends a group may be among them.
const PATIENCE: u32 = 5;

/// Goes on as a child of this process, unless programs can have groups. The parent ends with it,
/// in the same way, and all that it left before. To be called before there is another thread.
///
/// # Errors
/// The kernel allows no further process.
pub fn stand_above() -> io::Result<()> {
    let can_write = |parent: &std::path::Path| rustix::fs::access(parent, Access::WRITE_OK).is_ok();
    if cgroup::for_programs()
        .iter()
        .any(|(_, parent)| can_write(parent))
    {
        return Ok(());
    }
    reap::become_subreaper(true);
    let (above, starter) = (getpid(), getppid());
    let watched = signals();
    // SAFETY: zeroes are valid; the kernel fills it.
    let mut before: sigset_t = unsafe { mem::zeroed() };
    // SAFETY: both sets outlive the call.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, &raw mut before) };
    // SAFETY: there is one thread, which goes on in both processes.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: as above.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
            proc::set_starter(starter);
            set_parent_process_death_signal(Some(Signal::TERM))?;
            if getppid() != Some(above) {
                stop::request();
            }
            Ok(())
        }
        engine => watch(engine, &watched),
    }
}

fn signals() -> sigset_t {
    // SAFETY: the set is emptied before it is used.
    unsafe {
        let mut set: sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in PASSED_ON.into_iter().chain([libc::SIGCHLD]) {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

fn watch(engine: pid_t, signals: &sigset_t) -> ! {
    loop {
        // SAFETY: the set is a valid one; nothing is to be known of the signal but its number.
        let signal = unsafe { libc::sigwaitinfo(signals, ptr::null_mut()) };
        if PASSED_ON.contains(&signal) {
            // SAFETY: our own child, which was not waited for.
            unsafe { libc::kill(engine, signal) };
        }
        let mut status = 0;
        // SAFETY: the kernel fills the status of our own child.
        if unsafe { libc::waitpid(engine, &raw mut status, libc::WNOHANG) } == engine {
            end_descendants(&[]);
            end_as(status);
        }
    }
}

/// Makes this process one that stays: it has what its children leave behind. Gives the signals that
/// it has to look at.
///
/// # Errors
/// Those of signalfd(2).
pub fn stay() -> io::Result<Signals> {
    let signals = Signals::block()?;
    reap::become_subreaper(true);
    Ok(signals)
}

/// Does something whose commands leave behind what is the host's, and not this process's to end.
pub fn without_orphans<T>(does: impl FnOnce() -> T) -> T {
    let was = reap::is_subreaper();
    reap::become_subreaper(false);
    let done = does();
    reap::become_subreaper(was);
    done
}

/// Takes leave of all children that have ended; whether there are others.
pub fn reap_orphans() -> bool {
    loop {
        // SAFETY: nothing is to be known of how they ended.
        match unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG) } {
            0 => return true,
            -1 => return false,
            _ => {}
        }
    }
}

/// Ends all that is below this process, but for those children that stay, with all below them.
pub fn end_descendants(staying: &[pid_t]) {
    for round in 0..TRIES {
        if !reap_orphans() {
            return;
        }
        if round >= PATIENCE || !staying.is_empty() {
            let left = reap::descendants(staying);
            if left.is_empty() && !staying.is_empty() {
                return;
            }
            let killed = left.into_iter().filter(|_| round >= PATIENCE);
            killed.for_each(group::kill_process);
        }
        thread::sleep(PAUSE);
    }
}

/// Ends as the engine has ended.
fn end_as(status: c_int) -> ! {
    // SAFETY: this process has nothing that is to be put away.
    unsafe {
        if libc::WIFSIGNALED(status) {
            libc::signal(libc::WTERMSIG(status), libc::SIG_DFL);
            libc::kill(libc::getpid(), libc::WTERMSIG(status));
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
