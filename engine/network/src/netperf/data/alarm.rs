//! What ends a loop: a thread of its own that waits for the end of time, for the other end to
//! vanish, for silence, or for a stop. The loop itself only looks at a flag; where it hangs in a
//! system call, a signal gets it out of there, again and again until it has come.
//!
//! The same thread takes interim figures, from a counter that the loop keeps, so that the loop
//! needs no clock for them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Once;
use std::thread;
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};

use super::interim::{Interims, Meter};
use super::mark::Mark;

/// Between two looks for a stop or for silence.
const LOOK_NS: u64 = 50_000_000;
/// Between two signals to a loop that has not come yet.
const REPEAT_NS: u64 = 2_000_000;

/// Silence: the counter stands still.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// Counts only so long after the begin.
    pub from: Duration,
    /// How long it must last.
    pub lasts: Duration,
    /// Whether it counts before anything at all was counted.
    pub from_nothing: bool,
}

/// When the alarm rings.
#[derive(Default)]
pub struct Settings<'a> {
    /// So long after the begin.
    pub at: Option<Duration>,
    /// When the other end has closed this connection.
    pub control: Option<BorrowedFd<'a>>,
    /// When there is silence.
    pub silence: Option<Silence>,
    /// Not an end: figures on the way.
    pub interims: Option<Interims<'a>>,
}

/// Why it rang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The time was over.
    Time,
    /// The other end closed the control connection.
    Vanished,
    /// There was silence.
    Silence,
    /// SIGINT or SIGTERM.
    Stop,
}

/// How it came out.
#[derive(Debug, Default)]
pub struct Ending {
    /// Why the alarm rang; `None` if the loop ended before.
    pub cause: Option<Cause>,
    /// If it was for silence, the last sign of life.
    pub last_sign: Option<Mark>,
}

/// The loop's view of it.
pub struct Alarm {
    rang: AtomicBool,
    units: AtomicU64,
}

impl Alarm {
    /// Whether the loop shall end.
    #[inline]
    pub fn rang(&self) -> bool {
        self.rang.load(Ordering::Relaxed)
    }

    /// Tells how much has been done in all.
    #[inline]
    pub fn count(&self, units: u64) {
        self.units.store(units, Ordering::Relaxed);
    }
}

/// Executes `body` in this thread, under an alarm.
///
/// # Errors
/// When the kernel has no descriptor or no thread for it.
pub fn under<R>(settings: Settings, body: impl FnOnce(&Alarm) -> R) -> io::Result<(R, Ending)> {
    install_signal();
    let cancel = eventfd(0, EventfdFlags::CLOEXEC)?;
    let alarm = Alarm {
        rang: AtomicBool::new(false),
        units: AtomicU64::new(0),
    };
    // SAFETY: names the calling thread, which outlives the scope.
    let loop_thread = unsafe { libc::pthread_self() };
    thread::scope(|scope| {
        let watch = Watch {
            alarm: &alarm,
            cancel: cancel.as_fd(),
            settings,
            loop_thread,
            start_ns: clock::now_ns(),
        };
        let watching = thread::Builder::new()
            .name("alarm".to_owned())
            .spawn_scoped(scope, move || watch.keep())?;
        let cancelled = Cancel(&cancel);
        let result = body(&alarm);
        drop(cancelled);
        let ending = watching.join().expect("the alarm's thread does not panic");
        Ok((result, ending))
    })
}

/// Ends the watch, also when the loop panics.
struct Cancel<'a>(&'a OwnedFd);

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        // Fails only at a counter of 2^64 - 1, and this is the first of it.
        let _ = rustix::io::write(self.0, &1_u64.to_ne_bytes());
    }
}

/// What the alarm's thread has.
struct Watch<'l, 's> {
    alarm: &'l Alarm,
    cancel: BorrowedFd<'l>,
    settings: Settings<'s>,
    loop_thread: libc::pthread_t,
    start_ns: u64,
}

impl Watch<'_, '_> {
    fn keep(mut self) -> Ending {
        let mut meter = Meter::new(self.start_ns, self.settings.interims.take());
        let mut quiet = Quiet::default();
        let cause = loop {
            let now_ns = clock::now_ns();
            let due_ns = meter.due_ns().min(now_ns + LOOK_NS);
            let due_ns = due_ns.min(self.instant_ns(self.settings.at));
            match self.wait(due_ns.saturating_sub(now_ns)) {
                Wake::Cancelled => break None,
                Wake::Vanished => break Some(Cause::Vanished),
                Wake::Timeout => {}
            }
            let now_ns = clock::now_ns();
            meter.look(now_ns, self.units());
            if stop::requested() {
                break Some(Cause::Stop);
            }
            if now_ns >= self.instant_ns(self.settings.at) {
                break Some(Cause::Time);
            }
            let silence = self.settings.silence;
            if silence.is_some_and(|silence| {
                now_ns >= self.instant_ns(Some(silence.from))
                    && quiet.lasts(now_ns, self.units(), silence)
            }) {
                break Some(Cause::Silence);
            }
        };
        if cause.is_some() {
            self.ring();
        }
        meter.finish(clock::now_ns(), self.units());
        Ending {
            cause,
            last_sign: quiet.since.filter(|_| cause == Some(Cause::Silence)),
        }
    }

    fn units(&self) -> u64 {
        self.alarm.units.load(Ordering::Relaxed)
    }

    fn instant_ns(&self, after: Option<Duration>) -> u64 {
        after.map_or(u64::MAX, |after| {
            self.start_ns.saturating_add(after.as_nanos() as u64)
        })
    }

    /// Waits for the loop to end, or the control connection to be closed.
    fn wait(&self, timeout_ns: u64) -> Wake {
        // Without a control connection the second is never heard of.
        let control = self.settings.control.unwrap_or(self.cancel);
        let mut watched = [
            PollFd::from_borrowed_fd(self.cancel, PollFlags::IN),
            PollFd::from_borrowed_fd(control, PollFlags::RDHUP),
        ];
        if poll(&mut watched, Some(&timespec(timeout_ns))).is_err() {
            return Wake::Timeout;
        }
        match watched.map(|fd| !fd.revents().is_empty()) {
            [true, _] => Wake::Cancelled,
            [false, true] => Wake::Vanished,
            [false, false] => Wake::Timeout,
        }
    }

    /// Gets the loop out of whatever call it hangs in. It may just be on its way into one.
    fn ring(&mut self) {
        self.alarm.rang.store(true, Ordering::Relaxed);
        self.settings.control = None;
        loop {
            // SAFETY: the thread exists: it is in `under`, which waits for this one.
            unsafe { libc::pthread_kill(self.loop_thread, signal()) };
            if let Wake::Cancelled = self.wait(REPEAT_NS) {
                return;
            }
        }
    }
}

enum Wake {
    Cancelled,
    Vanished,
    Timeout,
}

/// Since when the counter stands still.
#[derive(Default)]
struct Quiet {
    seen: u64,
    since: Option<Mark>,
}

impl Quiet {
    fn lasts(&mut self, now_ns: u64, units: u64, silence: Silence) -> bool {
        if units == 0 && !silence.from_nothing {
            return false;
        }
        if units != self.seen {
            self.since = None;
        }
        self.seen = units;
        let since = self.since.get_or_insert_with(|| Mark::now(true));
        now_ns.saturating_sub(since.at_ns) >= silence.lasts.as_nanos() as u64
    }
}

pub(crate) fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

/// A signal that nobody else uses.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 4
}

/// Its handler does nothing; that there is one makes system calls fail with `EINTR`.
fn install_signal() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: an all-zero sigaction is valid, and without SA_RESTART; the handler is empty.
        let status = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal(), &action, std::ptr::null_mut())
        };
        assert_eq!(status, 0, "a real-time signal can be handled");
    });
}

#[cfg(test)]
mod tests;
