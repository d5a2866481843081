//! What a pump reports to: the stopwatch of a single stream, or one thread of a team. It takes the
//! two instants, counts operations, and decides whether to continue.

use std::path::Path;

use kit::device::Counters;
use kit::team::Member;
use kit::{clock, stop, Probe, Reading};
use wire::{Failure, Timing};

use crate::access::Evidence;

/// The timed region is between [`Watch::start`] and [`Watch::stop`].
pub trait Watch {
    /// Whether it needs the instants at which overlapped operations began and ended.
    fn is_timed(&self) -> bool;

    /// Whether the time of an operation is little more than that of its call, or matters.
    fn is_bare(&self) -> bool {
        true
    }

    /// All that is not timed has been done, except for a last look at the buffer.
    ///
    /// # Errors
    /// `Access` when the cache is not in the declared state.
    fn ready(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes the first instant, when all who are to start together are here.
    ///
    /// # Errors
    /// The failure of one who will never be here.
    fn start(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether one more operation begins: it waits until that is due.
    #[inline(always)]
    fn begin(&mut self, _is_write: bool) -> bool {
        true
    }

    /// Whether a record that was moved just now counts, and another one should be.
    #[inline(always)]
    fn goes_on(&self) -> bool {
        !stop::requested()
    }

    /// The next operation begins now.
    #[inline(always)]
    fn begin_operation(&mut self) {}

    /// Counts one operation.
    fn operation(&mut self, bytes: u64);

    /// Counts one operation that has overlapped with others, between instants that the loop has
    /// taken if [`Watch::is_timed`].
    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64);

    /// Begins the next of several operations at once if it is due; gives the instant from which
    /// it counts, in ns. One that is later than [`Watch::now_ns`] is not due yet and has not
    /// begun. `None` when no more begin.
    #[inline(always)]
    fn next_ns(&mut self) -> Option<u64> {
        Some(if self.is_timed() { clock::now_ns() } else { 0 })
    }

    /// The instant of the last look at the clock, where operations are due at instants.
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        u64::MAX
    }

    /// Some of several operations have been waited for.
    #[inline(always)]
    fn look(&mut self) {}

    /// Nothing is in flight, and the next operation is due at that instant: waits for it.
    fn wait_until(&mut self, _due_ns: u64) {}

    /// One of several operations has ended, which counts if more are to follow.
    #[inline(always)]
    fn ended(&mut self, _is_write: bool, bytes: u64, began_ns: u64) {
        if self.goes_on() {
            let now_ns = if self.is_timed() { clock::now_ns() } else { 0 };
            self.overlapped_operation(bytes, began_ns, now_ns);
        }
    }

    /// Takes the second instant.
    fn stop(&mut self) {}
}

/// Operations are counted by a probe.
macro_rules! counted_by {
    ($watch:ident, $probe:expr) => {
        #[inline]
        fn begin_operation(&mut $watch) {
            $probe.begin_operation();
        }

        #[inline]
        fn operation(&mut $watch, bytes: u64) {
            $probe.operation(bytes);
        }

        #[inline]
        fn overlapped_operation(&mut $watch, bytes: u64, began_ns: u64, ended_ns: u64) {
            $probe.overlapped_operation(bytes, began_ns, ended_ns);
        }
    };
}

/// One stream alone: goes on until a stop is asked for.
pub struct Alone<'a, P>(pub &'a mut P);

impl<P: Probe> Watch for Alone<'_, P> {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        matches!(P::TIMING, Timing::Operation)
    }

    fn start(&mut self) -> Result<(), Failure> {
        self.0.start();
        Ok(())
    }

    counted_by!(self, self.0);
}

/// One stream alone, with the evidence for its access gathered around the timed region.
pub struct Witnessed<'a, P> {
    probe: Alone<'a, P>,
    evidence: Option<&'a mut Evidence>,
    path: &'a Path,
    is_read: bool,
    before: Option<Counters>,
    reading: Option<Reading>,
}

impl<'a, P: Probe> Witnessed<'a, P> {
    /// For a pass over the file at `path`.
    pub fn new(
        probe: &'a mut P,
        evidence: Option<&'a mut Evidence>,
        path: &'a Path,
        is_read: bool,
    ) -> Self {
        Self {
            probe: Alone(probe),
            evidence,
            path,
            is_read,
            before: None,
            reading: None,
        }
    }

    /// What was timed.
    pub fn into_reading(self) -> Reading {
        self.reading.expect("a pass takes both instants")
    }
}

impl<P: Probe> Watch for Witnessed<'_, P> {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        self.probe.is_timed()
    }

    fn ready(&mut self) -> Result<(), Failure> {
        if let Some(evidence) = &mut self.evidence {
            if self.is_read {
                evidence.prepare_read(self.path)?;
                evidence.begin_read()?;
            }
            self.before = evidence.counters();
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), Failure> {
        self.probe.start()
    }

    counted_by!(self, self.probe);

    fn stop(&mut self) {
        let reading = self.probe.0.finish();
        if let Some(evidence) = &mut self.evidence {
            let around = [self.before, evidence.counters()];
            evidence.add(self.is_read, reading.bytes, around);
        }
        self.reading = Some(reading);
    }
}

/// One thread of a team.
impl<P: Probe> Watch for Member<'_, P> {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        matches!(P::TIMING, Timing::Operation)
    }

    fn start(&mut self) -> Result<(), Failure> {
        Member::start(self)
    }

    #[inline]
    fn goes_on(&self) -> bool {
        Member::goes_on(self)
    }

    counted_by!(self, self.probe);

    fn stop(&mut self) {
        self.done();
    }
}

/// Work that is not timed: a file laid out beforehand, or filled up afterwards.
pub struct Untimed;

impl Watch for Untimed {
    fn is_timed(&self) -> bool {
        false
    }

    fn operation(&mut self, _: u64) {}

    fn overlapped_operation(&mut self, _: u64, _: u64, _: u64) {}
}
