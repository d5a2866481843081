//! Figures on the way, taken from outside of the loop.

use std::time::{Duration, SystemTime};

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

/// Takes interim figures.
pub struct Meter<'a> {
    interims: Option<Interims<'a>>,
    last_ns: u64,
    last_units: u64,
}

impl<'a> Meter<'a> {
    /// From `start_ns` on the clock.
    pub fn new(start_ns: u64, interims: Option<Interims<'a>>) -> Self {
        Self {
            interims,
            last_ns: start_ns,
            last_units: 0,
        }
    }

    /// When the next figures are due.
    pub fn due_ns(&self) -> u64 {
        self.interims.as_ref().map_or(u64::MAX, |interims| {
            self.last_ns + interims.every.as_nanos() as u64
        })
    }

    /// Reports, if it is time, that `units` have been done in all.
    pub fn look(&mut self, now_ns: u64, units: u64) {
        if now_ns >= self.due_ns() {
            self.finish(now_ns, units);
        }
    }

    /// Reports what has been done since the last report, however short that was.
    pub fn finish(&mut self, now_ns: u64, units: u64) {
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
