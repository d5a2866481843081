//! The clock: `CLOCK_MONOTONIC`, read through the vDSO, in nanoseconds.

use std::hint::black_box;

use rustix::time::{clock_gettime, ClockId};

const BATCHES: usize = 15;
const READS_PER_BATCH: u64 = 200;

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

/// Operations one after the other: the clock is read once for each, since the end of one is the
/// start of the next.
#[derive(Debug, Clone, Copy, Default)]
pub struct Laps {
    last_ns: u64,
}

impl Laps {
    /// The next operation begins now.
    #[inline]
    pub fn begin(&mut self) {
        self.last_ns = now_ns();
    }

    /// An operation has just ended: the instants at which it began and ended.
    #[inline]
    pub fn lap(&mut self) -> (u64, u64) {
        let began_ns = self.last_ns;
        self.begin();
        (began_ns, self.last_ns)
    }
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
