//! The probe: what a running workload records into. Two kinds, chosen outside the hot loop, so
//! that the loop is compiled once for each and pays for nothing it does not use.

use serde_json::{Map, Value};
use wire::{Latency, MetricCard, Sample, Timing};

use crate::barrier;
use crate::clock::{self, Laps};
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
    #[inline]
    fn start(&mut self) {
        self.start_at(barrier::begin_ns());
    }

    /// As [`Probe::start`], with a first instant that several probes share; the first operation
    /// begins now.
    fn start_at(&mut self, started_ns: u64);

    /// The next operation begins now: what was done since the last one ended lies in the region,
    /// but in no latency.
    fn begin_operation(&mut self);

    /// Counts one operation that has just ended.
    fn operation(&mut self, bytes: u64);

    /// Counts one operation that has overlapped with others: it began and ended at instants that
    /// the loop has taken.
    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64);

    /// The clock, as read for operations.
    #[inline]
    fn now_ns(&mut self) -> u64 {
        clock::now_ns()
    }

    /// Adds what another probe with the same first instant has counted.
    fn merge(&mut self, other: &Self);

    /// Takes the second instant, and gives what was counted since the first.
    fn finish(&mut self) -> Reading {
        self.finish_at(clock::now_ns())
    }

    /// As [`Probe::finish`], with a second instant taken before.
    fn finish_at(&mut self, ended_ns: u64) -> Reading;
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

    /// The value of a metric at a point of the grid, with the work that it covers.
    pub fn sample(&self, metric: MetricCard, value: f64, at: Map<String, Value>) -> Sample {
        Sample {
            operations: self.operations,
            bytes: self.bytes,
            elapsed_s: self.elapsed_s(),
            ..metric.sample(value, at)
        }
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
#[derive(Debug, Clone, Default)]
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
    fn start_at(&mut self, started_ns: u64) {
        self.operations = 0;
        self.bytes = 0;
        self.started_ns = started_ns;
    }

    #[inline]
    fn begin_operation(&mut self) {}

    #[inline]
    fn operation(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes += bytes;
    }

    #[inline]
    fn overlapped_operation(&mut self, bytes: u64, _: u64, _: u64) {
        self.operation(bytes);
    }

    fn merge(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
    }

    fn finish_at(&mut self, ended_ns: u64) -> Reading {
        let elapsed_ns = (ended_ns - self.started_ns).max(1);
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
#[derive(Clone)]
pub struct OperationProbe {
    started_ns: u64,
    laps: Laps,
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
            laps: Laps::new(),
            operations: 0,
            bytes: 0,
            histogram: Histogram::new(),
            slices: Slices::new(SLICE_NS),
        }
    }

    /// Latencies of the last region, to be summed up over several regions.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
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
    fn start_at(&mut self, started_ns: u64) {
        self.operations = 0;
        self.bytes = 0;
        self.histogram.clear();
        self.slices.clear();
        self.started_ns = started_ns;
        self.laps.start();
    }

    #[inline]
    fn begin_operation(&mut self) {
        self.laps.begin();
    }

    #[inline]
    fn operation(&mut self, bytes: u64) {
        let (began_ns, ended_ns) = self.laps.lap();
        self.overlapped_operation(bytes, began_ns, ended_ns);
    }

    #[inline]
    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64) {
        self.histogram.record(ended_ns - began_ns);
        self.slices.add(ended_ns - self.started_ns, bytes);
        self.operations += 1;
        self.bytes += bytes;
    }

    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.laps.now_ns()
    }

    fn merge(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.histogram.merge(&other.histogram);
        self.slices.merge(&other.slices);
    }

    /// Not before the last operation has ended.
    fn finish(&mut self) -> Reading {
        self.finish_at(clock::now_ns().max(self.laps.last_ns()))
    }

    fn finish_at(&mut self, ended_ns: u64) -> Reading {
        let elapsed_ns = (ended_ns - self.started_ns).max(1);
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
    fn operations_may_overlap() {
        let mut probe = OperationProbe::new();
        probe.start_at(1_000);
        probe.overlapped_operation(10, 1_100, 1_400);
        probe.overlapped_operation(10, 1_200, 1_600);
        let reading = probe.finish_at(1_700);
        assert_eq!((reading.bytes, reading.elapsed_ns), (20, 700));
        let latency = reading.latency.unwrap();
        assert_eq!((latency.min, latency.max), (300, 400));
    }

    #[test]
    fn what_lies_between_operations_is_in_the_region_only() {
        let mut probe = OperationProbe::new();
        probe.start();
        std::thread::sleep(std::time::Duration::from_millis(5));
        probe.begin_operation();
        probe.operation(1);
        let reading = probe.finish();
        assert!(reading.latency.unwrap().max + 5_000_000 <= reading.elapsed_ns);
    }

    #[test]
    #[should_panic(expected = "slices must sum")]
    fn a_reading_that_does_not_add_up_is_a_defect() {
        let mut reading = measure(&mut PassProbe::new());
        reading.operations += 1;
        reading.assert_sums();
    }
}
