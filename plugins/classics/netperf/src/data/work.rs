//! What every loop has: when it ends, what it counts, how long its operations take, and its pace.

use std::time::Duration;

use kit::histogram::Histogram;
use kit::{clock, pace};

use super::alarm::Alarm;
use network::flow::stream::Meter;

/// What was moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Calls that sent them.
    pub sends: u64,
    /// Datagrams for which the host had no room.
    pub failed_sends: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Calls that received them.
    pub receives: u64,
    /// Transactions ended.
    pub transactions: u64,
}

/// So many operations in every interval.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    operations: u64,
    interval_ns: u64,
    left: u64,
    next_ns: u64,
}

/// Longest sleep before the loop checks whether to end.
const NAP_NS: u64 = 10_000_000;

impl Pace {
    /// `operations` (at least 1) in every interval, the first of which begins now.
    pub fn new(operations: u32, interval: Duration) -> Self {
        let operations = u64::from(operations.max(1));
        let interval_ns = interval.as_nanos() as u64;
        Self {
            operations,
            interval_ns,
            left: operations,
            next_ns: clock::now_ns() + interval_ns,
        }
    }

    /// Counts one operation; after the last of an interval waits for the next one. Gives the
    /// time waited, in ns.
    fn step(&mut self, alarm: &Alarm) -> u64 {
        self.left -= 1;
        if self.left > 0 {
            return 0;
        }
        let begin_ns = clock::now_ns();
        let mut now_ns = begin_ns;
        while now_ns < self.next_ns && !alarm.rang() {
            now_ns = pace::wait_until(self.next_ns.min(now_ns + NAP_NS));
        }
        self.left = self.operations;
        self.next_ns += self.interval_ns;
        now_ns - begin_ns
    }
}

/// A loop's work.
pub struct Work<'a> {
    alarm: &'a Alarm,
    /// Bytes or transactions that are left to do.
    left: u64,
    /// Operations of [`Meter`], and their bytes.
    operations: u64,
    bytes: u64,
    began_ns: u64,
    /// What was moved.
    pub tally: Tally,
    /// Durations of operations, if they are kept.
    pub latencies: Option<Histogram>,
    /// The pace, if there is one.
    pub pace: Option<Pace>,
    /// Time spent waiting for it, in ns.
    pub paced_ns: u64,
}

/// No number of bytes or transactions ends the loop.
pub const UNLIMITED: u64 = u64::MAX;

impl<'a> Work<'a> {
    /// Work that ends with the alarm or after `limit` bytes or transactions.
    pub fn new(alarm: &'a Alarm, limit: u64) -> Self {
        Self {
            alarm,
            left: limit,
            operations: 0,
            bytes: 0,
            began_ns: 0,
            tally: Tally::default(),
            latencies: None,
            pace: None,
            paced_ns: 0,
        }
    }

    /// Whether there is more to do.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.left > 0 && !self.alarm.rang()
    }

    /// Bytes or transactions that are left to do.
    #[inline]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Operations of the [`Meter`], and their bytes.
    pub fn operations(&self) -> (u64, u64) {
        (self.operations, self.bytes)
    }

    /// The instant, if durations are kept.
    #[inline]
    pub fn begin(&self) -> u64 {
        if self.latencies.is_some() {
            clock::now_ns()
        } else {
            0
        }
    }

    /// One operation that began at `began_ns` has ended, and with it `units` in all of `done`.
    #[inline]
    pub fn end(&mut self, began_ns: u64, units: u64, done: u64) {
        if let Some(latencies) = &mut self.latencies {
            latencies.record(clock::now_ns() - began_ns);
        }
        self.left = self.left.saturating_sub(units);
        self.alarm.count(done);
        if let Some(pace) = &mut self.pace {
            self.paced_ns += pace.step(self.alarm);
        }
    }
}

/// Of data in one direction, whose units are bytes.
impl Meter for Work<'_> {
    #[inline]
    fn goes_on(&self) -> bool {
        Work::goes_on(self)
    }

    #[inline]
    fn takes_more(&self) -> bool {
        Work::goes_on(self)
    }

    #[inline]
    fn begin(&mut self) {
        self.began_ns = Work::begin(self);
    }

    #[inline]
    fn end(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes += bytes;
        Work::end(self, self.began_ns, bytes, self.bytes);
    }
}
