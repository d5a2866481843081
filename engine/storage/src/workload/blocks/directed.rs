//! A probe for each direction: reads and writes that take turns have latencies of their own.

use kit::{Probe, Reading};
use wire::Timing;

/// Counts reads and writes apart, on one time axis.
#[derive(Clone, Default)]
pub struct Directed<P> {
    /// What came in.
    pub reads: P,
    /// What went out.
    pub writes: P,
}

impl<P: Probe> Directed<P> {
    /// The probe of a direction.
    #[inline(always)]
    pub fn of(&mut self, is_write: bool) -> &mut P {
        if is_write {
            &mut self.writes
        } else {
            &mut self.reads
        }
    }

    fn both(&mut self) -> [&mut P; 2] {
        [&mut self.reads, &mut self.writes]
    }
}

/// As one probe, it is that of both directions together. Operations must be counted by
/// [`Directed::of`].
impl<P: Probe> Probe for Directed<P> {
    const TIMING: Timing = P::TIMING;

    fn start_at(&mut self, started_ns: u64) {
        for probe in self.both() {
            probe.start_at(started_ns);
        }
    }

    fn begin_operation(&mut self) {
        for probe in self.both() {
            probe.begin_operation();
        }
    }

    fn operation(&mut self, bytes: u64) {
        self.reads.operation(bytes);
    }

    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64) {
        self.reads.overlapped_operation(bytes, began_ns, ended_ns);
    }

    fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
    }

    fn finish_at(&mut self, ended_ns: u64) -> Reading {
        self.reads.merge(&self.writes);
        self.reads.finish_at(ended_ns)
    }
}
