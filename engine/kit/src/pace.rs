//! The pace of an open loop: operations are due at instants fixed beforehand, whether or not
//! those before them have ended. A latency counted from the due instant holds the wait behind a
//! slow operation too; counted from the begin it would leave out just the operations that
//! suffered ("coordinated omission", Gil Tene).

use std::thread;
use std::time::Duration;

use crate::{clock, stop};

/// A sleep may take so much longer than asked for; the rest is waited for awake.
const OVERSLEEP_NS: u64 = 150_000;
/// Between two looks for a stop request, in ns.
const NAP_NS: u64 = 50_000_000;

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
}

/// Waits until the clock shows `instant_ns`, or a stop is asked for; gives what it shows then.
/// Sleeps as long as there is time for it.
pub fn wait_until(instant_ns: u64) -> u64 {
    loop {
        let now_ns = clock::now_ns();
        if now_ns >= instant_ns || stop::requested() {
            return now_ns;
        }
        let left_ns = instant_ns - now_ns;
        if left_ns > 2 * OVERSLEEP_NS {
            let nap_ns = (left_ns - OVERSLEEP_NS).min(NAP_NS);
            thread::sleep(Duration::from_nanos(nap_ns));
        } else {
            std::hint::spin_loop();
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
