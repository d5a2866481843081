//! Going on in the background, as a server does that was called from a shell.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;

use kit::failure::failure;
use wire::{Failure, FailureKind};

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that was called; it may end.
    Left,
    /// The one that goes on: in a session and the root directory of its own, heard and seen by
    /// nobody.
    GoesOn,
}

/// Splits this process in two. It must have one thread only.
///
/// # Errors
/// `HostLacks` when the kernel allows no further process.
pub fn go() -> Result<Side, Failure> {
    split().map_err(|error| {
        let message = format!("cannot go on in the background: {error}");
        failure(FailureKind::HostLacks, message)
    })
}

/// Takes back the wish to end with the process that started this one.
pub fn outlive_parent() {
    // SAFETY: no memory is passed; a kernel that has taken the wish takes it back.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) };
}

fn split() -> io::Result<Side> {
    // SAFETY: no other thread could hold a lock that would stay locked in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: no memory is passed; the child leads no group, so that it cannot fail.
            unsafe { libc::setsid() };
            std::env::set_current_dir("/")?;
            let nothing = OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/null")?;
            for descriptor in [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO] {
                // SAFETY: both are descriptors, and those of std are never closed.
                if unsafe { libc::dup2(nothing.as_raw_fd(), descriptor) } < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(Side::GoesOn)
        }
        _ => Ok(Side::Left),
    }
}
