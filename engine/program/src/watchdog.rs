//! A process that ends programs when the engine was killed and cannot do so itself.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::ptr;

use rustix::pipe::PipeFlags;

use crate::group;

/// Waits in a process of its own; ends with the trial.
pub struct Watchdog {
    pid: libc::pid_t,
    /// Closed by the kernel however we end.
    lifeline: Option<OwnedFd>,
}

impl Watchdog {
    /// Starts one that ends all in `groups`, directories that may not be there yet, once this
    /// process is no more.
    ///
    /// # Errors
    /// The kernel allows no further process.
    pub fn start(groups: &[PathBuf]) -> io::Result<Self> {
        let (watched, lifeline) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the new process uses its memory only; the C library keeps its allocator usable
        // in it, and it leaves by _exit.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(lifeline);
                guard(watched, groups);
                // SAFETY: nothing of the engine is to be done by it.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Self {
                pid,
                lifeline: Some(lifeline),
            }),
        }
    }
}

impl Watchdog {
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Nothing is left to be guarded: it ends, and is waited for when dropped.
    pub fn release(&mut self) {
        self.lifeline.take();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.release();
        // SAFETY: our own child, which ends as soon as it sees that.
        unsafe { libc::waitpid(self.pid, ptr::null_mut(), 0) };
    }
}

fn guard(watched: OwnedFd, groups: &[PathBuf]) {
    // SAFETY: no memory is passed; signals to the engine's session are not for it.
    unsafe { libc::setsid() };
    // Whoever reads what the engine prints must not wait for this one.
    if let Ok(nothing) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        for stream in 0..3 {
            // SAFETY: both are descriptors of this process.
            unsafe { libc::dup2(nothing.as_raw_fd(), stream) };
        }
    }
    let kept = watched.as_raw_fd() as libc::c_uint;
    for (first, last) in [(3, kept - 1), (kept + 1, libc::c_uint::MAX)] {
        if first <= last {
            // SAFETY: nothing else of the engine's is used in this process.
            unsafe { libc::close_range(first, last, 0) };
        }
    }
    let mut lifeline = fs::File::from(watched);
    while lifeline
        .read(&mut [0])
        .is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
    {}
    for directory in groups {
        group::end_all(directory);
    }
}
