//! The pace of an open loop: operations are due at instants fixed beforehand, whether or not
//! those before them have ended. A latency counted from the due instant holds the wait behind a
//! slow operation too; counted from the begin it would leave out just the operations that
//! suffered ("coordinated omission", Gil Tene).

use std::thread;
use std::time::Duration;

use crate::{clock, stop};

/// A sleep may take so much longer than asked for; the rest is waited for awake.
const OVERSLEEP_NS: u64 = 150_000;
/// Longest sleep between two looks for a stop request.
pub const NAP: Duration = Duration::from_millis(50);

/// When the operations of one thread are due.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    first_ns: f64,
    interval_ns: f64,
}

impl Pace {
    /// For one of several threads that together begin `rate` operations per second: each has
    /// its turn, so that no two are due at once.
    pub fn shared(rate: f64, index: usize, threads: usize) -> Self {
        let between_ns = 1e9 / rate;
        Self {
            first_ns: between_ns * index as f64,
            interval_ns: between_ns * threads as f64,
        }
    }

    /// When operation `number` (from 0) is due, in ns since the region began.
    #[inline]
    pub fn due_ns(&self, number: u64) -> u64 {
        (self.first_ns + self.interval_ns * number as f64) as u64
    }

    /// How many are due before `instant_ns`, in ns since the region began.
    pub fn due_before(&self, instant_ns: u64) -> u64 {
        let later_ns = instant_ns as f64 - self.first_ns;
        (later_ns / self.interval_ns).ceil().max(0.0) as u64
    }
}

/// How long may be slept when something is due in `left_ns`; `None` when it is to be waited for
/// awake.
pub fn nap(left_ns: u64) -> Option<Duration> {
    (left_ns > 2 * OVERSLEEP_NS).then(|| Duration::from_nanos(left_ns - OVERSLEEP_NS).min(NAP))
}

/// Waits until the clock shows `instant_ns`, or a stop is asked for; gives what it shows then.
/// Sleeps as long as there is time for it.
pub fn wait_until(instant_ns: u64) -> u64 {
    loop {
        let now_ns = clock::now_ns();
        if now_ns >= instant_ns || stop::requested() {
            return now_ns;
        }
        match nap(instant_ns - now_ns) {
            Some(nap) => thread::sleep(nap),
            None => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_at_the_common_rate() {
        let paces = [0, 1, 2, 3].map(|index| Pace::shared(1_000.0, index, 4));
        let mut dues: Vec<u64> = paces
            .iter()
            .flat_map(|pace| (0..250).map(|number| pace.due_ns(number)))
            .collect();
        dues.sort_unstable();
        let wanted: Vec<u64> = (0..1_000).map(|number| number * 1_000_000).collect();
        assert_eq!(dues, wanted);
    }

    #[test]
    fn what_is_due_before_an_instant_is_due_before_it() {
        for (rate, index, threads) in [(1_000.0, 0, 1), (300.0, 2, 3), (7.0, 1, 2)] {
            let pace = Pace::shared(rate, index, threads);
            let due = pace.due_before(1_500_000_000);
            assert!(pace.due_ns(due - 1) < 1_500_000_000, "{rate}");
            assert!(pace.due_ns(due) >= 1_499_999_999, "{rate}");
        }
        assert_eq!(Pace::shared(1.0, 3, 4).due_before(3_000_000_000), 0);
    }

    #[test]
    fn instants_do_not_drift_over_a_day() {
        let pace = Pace::shared(3.0, 0, 1);
        assert_eq!(pace.due_ns(3 * 86_400), 86_400 * 1_000_000_000);
    }

    #[test]
    fn waits_no_shorter_than_asked_and_not_for_what_has_passed() {
        let start_ns = clock::now_ns();
        assert!(wait_until(start_ns + 2_000_000) >= start_ns + 2_000_000);
        let passed_ns = clock::now_ns();
        assert!(wait_until(start_ns) >= passed_ns);
    }
}
