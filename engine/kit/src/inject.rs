//! Known delays, put in front of the calls that a workload makes: what is measured then must
//! become slower by exactly that much, or the instrument is wrong.
//!
//! The hook is one relaxed load and a branch that is never taken while nothing is injected. A
//! second copy of every loop, with and without it, would cost more: see `docs/decisions`.

use std::cell::Cell;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use wire::{Call, Inject};

use crate::clock;

/// The calls that are delayed, one bit each.
static INTO: AtomicU16 = AtomicU16::new(0);
static DELAY_NS: AtomicU64 = AtomicU64::new(0);
static EVERY: AtomicU32 = AtomicU32::new(1);
static DELAYS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Calls of this thread since its last delay.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Delays calls of all threads until it is dropped. One at a time.
#[must_use]
pub struct Armed(());

/// Begins to delay calls.
pub fn arm(wanted: &Inject) -> Armed {
    let spin_ns = wanted.delay_ns.saturating_sub(own_cost_ns());
    DELAY_NS.store(spin_ns, Relaxed);
    EVERY.store(wanted.every, Relaxed);
    CALLS.set(0);
    DELAYS.store(0, Relaxed);
    let into = match wanted.into.as_slice() {
        [] => u16::MAX,
        calls => calls.iter().fold(0, |mask, call| mask | bit(*call)),
    };
    INTO.store(into, Relaxed);
    Armed(())
}

impl Armed {
    /// How often a call was delayed so far.
    pub fn delays(&self) -> u64 {
        DELAYS.load(Relaxed)
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        INTO.store(0, Relaxed);
    }
}

/// To be called right before each call of that sort.
#[inline]
pub fn before(call: Call) {
    if INTO.load(Relaxed) & bit(call) != 0 {
        delay();
    }
}

#[inline]
const fn bit(call: Call) -> u16 {
    1 << call as u16
}

/// What a delay lasts beyond the time that it spins, on average: of its two or more readings of the
/// clock, half of one falls into the spinning.
fn own_cost_ns() -> u64 {
    const DELAYS: u64 = 200;
    DELAY_NS.store(0, Relaxed);
    EVERY.store(1, Relaxed);
    // The median of several batches, since a batch may be disturbed.
    let mut batches_ns = [0; 15];
    for batch_ns in &mut batches_ns {
        let began_ns = clock::now_ns();
        for _ in 0..DELAYS {
            delay();
        }
        *batch_ns = (clock::now_ns() - began_ns) / DELAYS;
    }
    batches_ns.sort_unstable();
    batches_ns[7].saturating_sub(clock::measure_cost().read_ns as u64 / 2)
}

/// Spins until the delay is over: a sleep would add the timer's slack, some 50 µs, and a pause
/// instruction may leave a virtual CPU.
#[cold]
fn delay() {
    let began_ns = clock::now_ns();
    let calls = CALLS.get() + 1;
    if calls < EVERY.load(Relaxed) {
        CALLS.set(calls);
        return;
    }
    CALLS.set(0);
    DELAYS.fetch_add(1, Relaxed);
    let until_ns = began_ns + DELAY_NS.load(Relaxed);
    while clock::now_ns() < until_ns {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because what is armed is armed for the whole process.
    #[test]
    fn delays_what_was_asked_for_as_often_as_asked_for() {
        let took_ns = |call| {
            let began_ns = clock::now_ns();
            before(call);
            clock::now_ns() - began_ns
        };
        let inject = |every, into: &[Call]| Inject {
            delay_ns: 200_000,
            every,
            into: into.to_vec(),
        };
        let armed = arm(&inject(1, &[Call::Write, Call::Sync]));
        assert!(took_ns(Call::Write) >= 190_000);
        assert!(took_ns(Call::Sync) >= 190_000);
        before(Call::Read);
        assert_eq!(armed.delays(), 2, "reads are not delayed");
        drop(armed);

        let armed = arm(&inject(3, &[]));
        for _ in 0..7 {
            before(Call::Receive);
        }
        assert_eq!(armed.delays(), 2, "every third of seven");
        drop(armed);

        let armed = arm(&inject(1, &[Call::Read]));
        drop(armed);
        before(Call::Read);
        assert_eq!(
            DELAYS.load(Relaxed),
            0,
            "nothing is delayed once it is over"
        );
    }
}
