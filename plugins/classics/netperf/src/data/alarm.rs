//! What ends a loop as netperf ends its own: a watch for the end of time, for the other end to
//! vanish, for silence, and for a stop. The loop itself only looks at a flag; where it hangs in a
//! system call, a signal gets it out of there, again and again until it has come: unlike a flow
//! that
//! is cut, one that ends in time keeps its connection.
//!
//! The same thread takes interim figures, from a counter that the loop keeps, so that the loop
//! needs no clock for them.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Once;
use std::thread;
use std::time::{Duration, SystemTime};

use kit::{clock, stop};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use network::cpu::Mark;
use network::watchdog::{watch_until, AbortReason};

/// Between two looks for a stop or for silence.
const LOOK: Duration = Duration::from_millis(50);
/// Between two signals to a loop that has not come yet.
const REPEAT: Duration = Duration::from_millis(2);

/// Silence: the counter stands still.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// Checked only after this time.
    pub from: Duration,
    /// Its length.
    pub lasts: Duration,
    /// Whether it counts before the first unit.
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

/// What was done since the figures before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interim {
    /// Bytes (sent, or received where the remote end sends) or transactions.
    pub units: u64,
    /// In how many seconds.
    pub elapsed_s: f64,
    /// Until when.
    pub end: SystemTime,
}

/// Where interim figures go, and how remote apart they are.
pub struct Interims<'a> {
    /// Distance between two.
    pub every: Duration,
    /// Gets each of them, in the alarm's thread.
    pub observer: &'a mut (dyn FnMut(Interim) + Send),
}

/// How it came out.
#[derive(Debug, Default)]
pub struct Ending {
    /// Why the alarm rang; `None` if the loop ended before.
    pub cause: Option<AbortReason>,
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

    /// Publishes how much has been done in all.
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
    let alarm = Alarm {
        rang: AtomicBool::new(false),
        units: AtomicU64::new(0),
    };
    // SAFETY: names the calling thread, which outlives the scope.
    let loop_thread = unsafe { libc::pthread_self() };
    let (end, ended) = mpsc::channel();
    thread::scope(|scope| {
        let watch = Watch {
            alarm: &alarm,
            settings,
            start_ns: clock::now_ns(),
        };
        let watching = thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn_scoped(scope, move || watch.keep(&ended, loop_thread))?;
        // Dropped when the loop panics, too.
        let end: mpsc::Sender<()> = end;
        let result = body(&alarm);
        drop(end);
        let ending = watching.join().expect("the watchdog does not panic");
        Ok((result, ending))
    })
}

/// What the watching thread has.
struct Watch<'l, 's> {
    alarm: &'l Alarm,
    settings: Settings<'s>,
    start_ns: u64,
}

impl Watch<'_, '_> {
    fn keep(mut self, ended: &mpsc::Receiver<()>, loop_thread: libc::pthread_t) -> Ending {
        let mut meter = Meter::new(self.start_ns, self.settings.interims.take());
        let mut quiet = Quiet::default();
        let cause = watch_until(ended, LOOK, |now_ns| {
            meter.look(now_ns, self.units());
            self.look(now_ns, &mut quiet)?;
            Ok(meter.due_ns().min(self.instant_ns(self.settings.at)))
        });
        if cause.is_some() {
            self.ring(ended, loop_thread);
        }
        meter.finish(clock::now_ns(), self.units());
        Ending {
            cause,
            last_sign: quiet.since.filter(|_| cause == Some(AbortReason::Silence)),
        }
    }

    fn look(&self, now_ns: u64, quiet: &mut Quiet) -> Result<(), AbortReason> {
        let silence = self.settings.silence;
        if self.settings.control.is_some_and(is_closed) {
            Err(AbortReason::Vanished)
        } else if stop::requested() {
            Err(AbortReason::Stopped)
        } else if now_ns >= self.instant_ns(self.settings.at) {
            Err(AbortReason::TimeUp)
        } else if silence.is_some_and(|silence| {
            now_ns >= self.instant_ns(Some(silence.from))
                && quiet.lasts(now_ns, self.units(), silence)
        }) {
            Err(AbortReason::Silence)
        } else {
            Ok(())
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

    /// Gets the loop out of whatever call it hangs in. It may just be on its way into one.
    fn ring(&self, ended: &mpsc::Receiver<()>, loop_thread: libc::pthread_t) {
        self.alarm.rang.store(true, Ordering::Relaxed);
        loop {
            // SAFETY: the thread exists: it is in `under`, which waits for this one.
            unsafe { libc::pthread_kill(loop_thread, signal()) };
            if ended.recv_timeout(REPEAT) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }
}

/// Whether the other end has closed its connection.
fn is_closed(control: BorrowedFd) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(control, PollFlags::RDHUP)];
    poll(&mut watched, Some(&timespec(0))) == Ok(1)
}

/// Takes interim figures.
struct Meter<'a> {
    interims: Option<Interims<'a>>,
    last_ns: u64,
    last_units: u64,
}

impl<'a> Meter<'a> {
    /// From `start_ns` on the clock.
    fn new(start_ns: u64, interims: Option<Interims<'a>>) -> Self {
        Self {
            interims,
            last_ns: start_ns,
            last_units: 0,
        }
    }

    /// When the next figures are due.
    fn due_ns(&self) -> u64 {
        self.interims.as_ref().map_or(u64::MAX, |interims| {
            self.last_ns + interims.every.as_nanos() as u64
        })
    }

    /// Reports, if it is time, that `units` have been done in all.
    fn look(&mut self, now_ns: u64, units: u64) {
        if now_ns >= self.due_ns() {
            self.finish(now_ns, units);
        }
    }

    /// Reports what has been done since the last report, however short that was.
    fn finish(&mut self, now_ns: u64, units: u64) {
        let Some(interims) = &mut self.interims else {
            return;
        };
        (interims.observer)(Interim {
            units: units - self.last_units,
            elapsed_s: (now_ns - self.last_ns) as f64 / 1e9,
            end: SystemTime::now(),
        });
        (self.last_ns, self.last_units) = (now_ns, units);
    }
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
