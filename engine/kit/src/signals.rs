//! Signals of a process that sleeps: kept back, and read when it wakes, so that none is lost between
//! two looks.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, sigset_t};

const END: [c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

pub struct Signals {
    descriptor: OwnedFd,
    before: sigset_t,
}

impl Signals {
    /// Keeps back those that ask for an end, and those that tell of children.
    ///
    /// # Errors
    /// Those of signalfd(2).
    pub fn block() -> io::Result<Self> {
        // SAFETY: all-zero sets are valid, and both outlive the calls.
        unsafe {
            let (mut watched, mut before): (sigset_t, sigset_t) = (zeroed(), zeroed());
            libc::sigemptyset(&raw mut watched);
            for signal in END.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(&raw mut watched, signal);
            }
            libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, &raw mut before);
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            match libc::signalfd(-1, &raw const watched, flags) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(Self {
                    descriptor: OwnedFd::from_raw_fd(descriptor),
                    before,
                }),
            }
        }
    }

    /// Reads all that have come; whether one asks for an end.
    pub fn read_asks_for_end(&self) -> bool {
        let mut is_end = false;
        // SAFETY: an all-zero structure is valid; the kernel fills it whole or not at all.
        let mut signal: libc::signalfd_siginfo = unsafe { zeroed() };
        let length = size_of::<libc::signalfd_siginfo>();
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: the structure has that length.
        while unsafe { libc::read(descriptor, (&raw mut signal).cast(), length) } == length as isize
        {
            is_end |= END.contains(&(signal.ssi_signo as c_int));
        }
        is_end
    }

    /// In a child: what came before any were kept back.
    pub fn restore(&self) {
        self.restorer()();
    }

    /// What does that, and outlives this.
    pub fn restorer(&self) -> impl Fn() + Send + Sync + use<> {
        let before = self.before;
        // SAFETY: the set is one that the kernel has given.
        move || unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
