//! Before a clock that counts instructions starts: whatever the kernel has put off is done first.
//!
//! What it puts off (objects freed after a grace period, messages passed on, statistics gathered)
//! costs tens of thousands of instructions at an instant that depends on how long ago something
//! was done, and would fall into a timed region or beside it. A pause lets it happen: such a
//! clock leaps over idle time. Then some ticks of the kernel's timer are waited for awake, since
//! timers that do not wake a processor are late; the region begins just after one, so that as
//! many of them fall into equal regions.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustix::thread::sched_yield;
use rustix::time::{clock_gettime, ClockId};

/// Grace periods, and work delayed by a few ticks, are over.
const PAUSE: Duration = Duration::from_millis(100);
/// Ticks that pass awake.
const TICKS: u32 = 4;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Whether timed regions begin settled.
pub fn set(wanted: bool) {
    WANTED.store(wanted, Relaxed);
}

/// What was set last; false before.
pub fn is_wanted() -> bool {
    WANTED.load(Relaxed)
}

/// Waits until nothing is put off any more and a tick has just passed.
pub fn settle() {
    thread::sleep(PAUSE);
    for _ in 0..TICKS {
        let before = tick();
        while tick() == before {
            // Whoever was woken gets the processor, which may be the only one.
            sched_yield();
        }
    }
}

/// Changes with each tick.
fn tick() -> (i64, i64) {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    (now.tv_sec, now.tv_nsec)
}
