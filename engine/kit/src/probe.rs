//! The probe: what a running workload records into. Two kinds, chosen outside the hot loop, so
//! that the loop is compiled once for each and pays for nothing it does not use.

use wire::{Latency, Timing};

use crate::clock;
use crate::histogram::Histogram;
use crate::slices::{Slice, Slices};

/// Length of a time slice under [`OperationProbe`], in ns.
pub const SLICE_NS: u64 = 500_000_000;

/// Stands between [`Probe::start`], the first instant of a timing formula, and
/// [`Probe::finish`], the second.
pub trait Probe {
    /// How often this probe reads the clock.
    const TIMING: Timing;

    /// Forgets the last region and takes the first instant.
    fn start(&mut self);

    /// Counts one operation that has just ended.
    fn operation(&mut self, bytes: u64);

    /// Takes the second instant, and gives what was counted since the first.
    fn finish(&mut self) -> Reading;
}

/// One timed region, measured.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Operations inside the region.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time between the two instants, in ns; at least 1, so that rates are finite.
    pub elapsed_ns: u64,
    /// Time slices; they sum to `operations` and `bytes`.
    pub slices: Vec<Slice>,
    /// Latencies, when the clock was read per operation.
    pub latency: Option<Latency>,
}

impl Reading {
    /// Time between the two instants, in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed_s()
    }

    /// Operations per second.
    pub fn operations_per_s(&self) -> f64 {
        self.operations as f64 / self.elapsed_s()
    }

    fn assert_sums(&self) {
        let operations: u64 = self.slices.iter().map(|slice| slice.operations).sum();
        let bytes: u64 = self.slices.iter().map(|slice| slice.bytes).sum();
        assert_eq!(operations, self.operations, "slices must sum to operations");
        assert_eq!(bytes, self.bytes, "slices must sum to bytes");
        if let Some(latency) = &self.latency {
            assert_eq!(latency.count, self.operations, "one latency per operation");
        }
    }
}

/// Reads the clock twice per region.
#[derive(Debug, Default)]
pub struct PassProbe {
    started_ns: u64,
    operations: u64,
    bytes: u64,
}

impl PassProbe {
    /// A probe that has counted nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Probe for PassProbe {
    const TIMING: Timing = Timing::Pass;

    #[inline]
    fn start(&mut self) {
        self.operations = 0;
        self.bytes = 0;
        self.started_ns = clock::now_ns();
    }

    #[inline]
    fn operation(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes += bytes;
    }

    fn finish(&mut self) -> Reading {
        let elapsed_ns = (clock::now_ns() - self.started_ns).max(1);
        Reading {
            operations: self.operations,
            bytes: self.bytes,
            elapsed_ns,
            slices: vec![Slice {
                end_ns: elapsed_ns,
                operations: self.operations,
                bytes: self.bytes,
            }],
            latency: None,
        }
    }
}

/// Reads the clock once per operation: the end of one is the start of the next.
pub struct OperationProbe {
    started_ns: u64,
    last_ns: u64,
    operations: u64,
    bytes: u64,
    histogram: Histogram,
    slices: Slices,
}

impl OperationProbe {
    /// A probe that has counted nothing; allocates all it will ever need while counting.
    pub fn new() -> Self {
        Self {
            started_ns: 0,
            last_ns: 0,
            operations: 0,
            bytes: 0,
            histogram: Histogram::new(),
            slices: Slices::new(SLICE_NS),
        }
    }
}

impl Default for OperationProbe {
    fn default() -> Self {
        Self::new()
    }
}

impl Probe for OperationProbe {
    const TIMING: Timing = Timing::Operation;

    #[inline]
    fn start(&mut self) {
        self.operations = 0;
        self.bytes = 0;
        self.histogram.clear();
        self.slices.clear();
        self.started_ns = clock::now_ns();
        self.last_ns = self.started_ns;
    }

    #[inline]
    fn operation(&mut self, bytes: u64) {
        let now_ns = clock::now_ns();
        self.histogram.record(now_ns - self.last_ns);
        self.slices.add(now_ns - self.started_ns, bytes);
        self.last_ns = now_ns;
        self.operations += 1;
        self.bytes += bytes;
    }

    fn finish(&mut self) -> Reading {
        let elapsed_ns = (clock::now_ns() - self.started_ns).max(1);
        let reading = Reading {
            operations: self.operations,
            bytes: self.bytes,
            elapsed_ns,
            slices: self.slices.finish(elapsed_ns),
            latency: self.histogram.to_wire(),
        };
        reading.assert_sums();
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(probe: &mut impl Probe) -> Reading {
        probe.start();
        for bytes in 1..=100 {
            probe.operation(bytes);
        }
        probe.finish()
    }

    #[test]
    fn both_probes_count_alike_and_start_afresh() {
        let (mut pass, mut operation) = (PassProbe::new(), OperationProbe::new());
        for _ in 0..2 {
            let (coarse, fine) = (measure(&mut pass), measure(&mut operation));
            assert_eq!((coarse.operations, coarse.bytes), (100, 5_050));
            assert_eq!((fine.operations, fine.bytes), (100, 5_050));
            assert!(coarse.latency.is_none());
            assert_eq!(fine.latency.unwrap().count, 100);
        }
    }

    #[test]
    fn latencies_sum_to_the_elapsed_time() {
        let reading = measure(&mut OperationProbe::new());
        let latency = reading.latency.unwrap();
        let sum_ns = latency.mean * latency.count as f64;
        assert!(sum_ns <= reading.elapsed_ns as f64 + 0.5);
    }

    #[test]
    #[should_panic(expected = "slices must sum")]
    fn a_reading_that_does_not_add_up_is_a_defect() {
        let mut reading = measure(&mut PassProbe::new());
        reading.operations += 1;
        reading.assert_sums();
    }
}
