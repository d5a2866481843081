//! The clock: `CLOCK_MONOTONIC`, read through the vDSO, in nanoseconds.

use std::fs;
use std::hint::black_box;
use std::sync::OnceLock;

use rustix::time::{clock_gettime, ClockId};

const BATCHES: usize = 15;
const READS_PER_BATCH: u64 = 200;
/// What the kernel makes its clock of.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// The clock is looked at so often beside the counter.
const LOOK_NS: u64 = 1_000_000;
/// A look that takes longer was interrupted, and says nothing of the counter.
const BRIEF_TICKS: u64 = 500;
const RATE_BITS: u32 = 32;
/// A rate that changes by more than one in so many parts is not to be trusted: the kernel slews
/// its clock by half as much at most.
const RATE_PARTS: u64 = 1_000;

/// Nanoseconds since an arbitrary origin; never goes backwards.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time that the calling thread has used so far, in ns.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

/// Operations one after the other: the time is read once for each, since the end of one is the
/// start of the next. It is that of the clock, and between two looks at the clock that of the
/// processor's counter, which is read in half the time (decision 70).
#[derive(Debug, Clone, Copy, Default)]
pub struct Laps {
    last_ns: u64,
    counter: Option<Counter>,
}

impl Laps {
    /// With the counter where the kernel makes its clock of it, too.
    pub fn new() -> Self {
        static MAKES_THE_CLOCK: OnceLock<bool> = OnceLock::new();
        let makes_the_clock = *MAKES_THE_CLOCK.get_or_init(|| {
            let source = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
            cfg!(target_arch = "x86_64") && source.trim() == "tsc"
        });
        let mut laps = Self {
            last_ns: 0,
            counter: makes_the_clock.then(Counter::default),
        };
        laps.look();
        laps
    }

    /// The first operation begins now, by the clock.
    pub fn start(&mut self) {
        if let Some(counter) = &mut self.counter {
            counter.valid_ticks = 0;
        }
        self.begin();
    }

    /// The next operation begins now.
    #[inline]
    pub fn begin(&mut self) {
        self.last_ns = self.last_ns.max(self.now_ns());
    }

    /// An operation has just ended: the instants at which it began and ended.
    #[inline]
    pub fn lap(&mut self) -> (u64, u64) {
        let began_ns = self.last_ns;
        self.begin();
        (began_ns, self.last_ns)
    }

    /// When the last operation ended.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// What [`now_ns`] gives, within one microsecond.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        let Some(counter) = &self.counter else {
            return now_ns();
        };
        let since = ticks().wrapping_sub(counter.at_ticks);
        match since < counter.valid_ticks {
            true => counter.at_ns + ((since * counter.rate) >> RATE_BITS),
            false => self.look(),
        }
    }

    /// Reads the clock, and sets the counter by it.
    #[cold]
    fn look(&mut self) -> u64 {
        let Some(counter) = &mut self.counter else {
            return now_ns();
        };
        let before = ticks();
        let now_ns = now_ns();
        // Read afterwards, so that it lags the clock rather than leads it.
        let after = ticks();
        if after.wrapping_sub(before) < BRIEF_TICKS && !counter.set(now_ns, after) {
            self.counter = None;
        }
        now_ns
    }
}

/// The processor's counter, as last seen beside the clock.
#[derive(Debug, Clone, Copy, Default)]
struct Counter {
    at_ns: u64,
    at_ticks: u64,
    /// ns per tick, times 2 to the power of `RATE_BITS`; 0 where it is not known yet.
    rate: u64,
    /// After so many ticks the clock is looked at again.
    valid_ticks: u64,
}

impl Counter {
    /// Whether it goes on as it went: if not, it cannot be trusted.
    fn set(&mut self, now_ns: u64, now_ticks: u64) -> bool {
        let (passed_ns, passed) = (now_ns - self.at_ns, now_ticks.wrapping_sub(self.at_ticks));
        if self.at_ns != 0 && passed_ns >= LOOK_NS {
            let rate = (u128::from(passed_ns) << RATE_BITS) / u128::from(passed.max(1));
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            if self.rate != 0 && rate.abs_diff(self.rate) > self.rate / RATE_PARTS {
                return false;
            }
            self.rate = rate;
        }
        if self.at_ns == 0 || self.rate != 0 {
            (self.at_ns, self.at_ticks) = (now_ns, now_ticks);
            self.valid_ticks = (LOOK_NS << RATE_BITS).checked_div(self.rate).unwrap_or(0);
        }
        true
    }
}

/// Not ordered after what is before it: an instant may be some ns too early, each about as many.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// What reading the clock costs on this host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// One read, in ns: the median of several batches, since a batch may be disturbed.
    pub read_ns: f64,
    /// Smallest non-zero difference between two reads, in ns.
    pub step_ns: f64,
}

/// Measures the clock itself, in a tenth of a millisecond.
pub fn measure_cost() -> Cost {
    let mut batches_ns = [0.0; BATCHES];
    for batch_ns in &mut batches_ns {
        let start = now_ns();
        for _ in 0..READS_PER_BATCH {
            black_box(now_ns());
        }
        *batch_ns = (now_ns() - start) as f64 / READS_PER_BATCH as f64;
    }
    batches_ns.sort_by(f64::total_cmp);
    Cost {
        read_ns: batches_ns[BATCHES / 2],
        step_ns: smallest_step_ns(),
    }
}

fn smallest_step_ns() -> f64 {
    let mut smallest = u64::MAX;
    let mut before = now_ns();
    for _ in 0..READS_PER_BATCH {
        let now = now_ns();
        if now > before {
            smallest = smallest.min(now - before);
        }
        before = now;
    }
    smallest as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_goes_backwards_and_follows_a_sleep() {
        let before = now_ns();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let after = now_ns();
        assert!(after - before >= 5_000_000);
    }

    #[test]
    fn the_end_of_a_lap_is_the_start_of_the_next() {
        let (before_ns, mut laps) = (now_ns(), Laps::default());
        laps.begin();
        let (first, second) = (laps.lap(), laps.lap());
        assert!(before_ns <= first.0 && first.0 <= first.1 && first.1 <= second.1);
        assert_eq!(first.1, second.0);
    }

    #[test]
    fn laps_follow_the_clock() {
        let mut laps = Laps::new();
        let has_counter = laps.counter.is_some();
        let end_ns = now_ns() + 20_000_000;
        laps.start();
        let mut before_ns = now_ns();
        while before_ns < end_ns {
            let (_, ended_ns) = laps.lap();
            let after_ns = now_ns();
            assert!(before_ns <= ended_ns + 2_000 && ended_ns <= after_ns + 2_000);
            before_ns = after_ns;
        }
        // Where there is one, it is used.
        let is_used = laps.counter.is_some_and(|counter| counter.valid_ticks > 0);
        assert_eq!(is_used, has_counter);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_counter_that_goes_otherwise_than_before_is_given_up() {
        let mut laps = Laps::new();
        laps.counter = Some(Counter {
            at_ns: now_ns(),
            at_ticks: ticks(),
            rate: 1 << RATE_BITS >> 8,
            valid_ticks: 0,
        });
        std::thread::sleep(std::time::Duration::from_millis(2));
        // An interrupted look is none.
        let given_up = (0..1_000).any(|_| {
            laps.lap();
            laps.counter.is_none()
        });
        assert!(given_up, "{laps:?}");
        let (before_ns, (_, ended_ns), after_ns) = (now_ns(), laps.lap(), now_ns());
        assert!(before_ns <= ended_ns && ended_ns <= after_ns);
    }

    #[test]
    fn a_sleeping_thread_uses_no_cpu() {
        let (before_ns, used_ns) = (now_ns(), thread_cpu_ns());
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(thread_cpu_ns() - used_ns < now_ns() - before_ns);
    }

    #[test]
    fn cost_is_positive_and_below_a_system_call_gone_wrong() {
        let cost = measure_cost();
        assert!(cost.read_ns > 0.0 && cost.read_ns < 100_000.0, "{cost:?}");
        assert!(cost.step_ns >= 1.0 && cost.step_ns < 1e9, "{cost:?}");
    }
}
