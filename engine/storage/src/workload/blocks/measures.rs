//! The metrics of both primitives: rates and latencies of each kind of work, and the probe that
//! counts reads and writes apart.

use kit::{Probe, Reading};
use wire::{MetricCard, Role, Sample, Timing, Unit};

use super::params::Cell;
use crate::workload::region::{BoundaryCall, BoundaryCalls, Metric, Region};

/// A kind of work with its own metrics.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What its metrics are named after.
    pub region: Region,
    /// The unit of the rate that verdicts are given on: operations or bytes per second.
    pub headline: Unit,
}

/// A metric, and its value; none where operations were not timed.
type Measure = (Metric, fn(&Reading) -> Option<f64>);

const MEASURES: [Measure; 6] = [
    (
        Metric::detail(
            ("_operations", " operations"),
            Unit::PerSecond,
            "Operations of all threads over the time of the region.",
        ),
        |reading| Some(reading.operations_per_s()),
    ),
    (
        Metric::detail(
            ("_throughput", " throughput"),
            Unit::BytesPerSecond,
            "Bytes of all threads over the time of the region.",
        ),
        |reading| Some(reading.bytes_per_s()),
    ),
    (
        Metric::detail(
            ("_latency_mean", " latency, mean"),
            Unit::Second,
            "Mean latency.",
        ),
        |reading| Some(reading.latency.as_ref()?.mean / 1e9),
    ),
    (
        Metric::detail(
            ("_latency_p50", " latency, median"),
            Unit::Second,
            "Latency that half of the operations did not exceed.",
        ),
        |reading| Some(reading.latency.as_ref()?.p50 as f64 / 1e9),
    ),
    (
        Metric::detail(
            ("_latency_p99", " latency, 99 %"),
            Unit::Second,
            "Latency that 99 of a hundred operations did not exceed.",
        ),
        |reading| Some(reading.latency.as_ref()?.p99 as f64 / 1e9),
    ),
    (
        Metric::detail(
            ("_latency_max", " latency, maximum"),
            Unit::Second,
            "Longest latency.",
        ),
        |reading| Some(reading.latency.as_ref()?.max as f64 / 1e9),
    ),
];

impl Kind {
    /// Its metrics, as `describe` lists them.
    pub fn cards(self) -> [MetricCard; 6] {
        MEASURES.map(|(metric, _)| self.region.card(self.named(metric)))
    }

    /// Their values; none when nothing was moved. Latencies are there when operations were timed.
    pub fn samples(self, cell: Cell, reading: &Reading) -> Vec<Sample> {
        let measures = MEASURES.iter().filter(|_| reading.operations > 0);
        let sample = |&(metric, value): &Measure| {
            let metric = self.named(metric);
            let latency = reading.latency.clone();
            Some(Sample {
                latency_ns: latency.filter(|_| metric.role == Role::Headline),
                ..reading.sample(self.region.card(metric), value(reading)?, cell.point())
            })
        };
        measures.filter_map(sample).collect()
    }

    /// The metric of fsync at the end, where that is timed.
    pub fn fsync_card(self) -> MetricCard {
        self.region.card(BoundaryCall::Fsync.metric())
    }

    /// Its value, where it was timed.
    pub fn fsync_sample(self, cell: Cell, calls: &BoundaryCalls) -> Option<Sample> {
        self.region
            .sample_of_call(BoundaryCall::Fsync, cell.point(), calls)
    }

    fn named(self, metric: Metric) -> Metric {
        if metric.unit != self.headline {
            return metric;
        }
        Metric {
            // Rates of operations count them: "random reads/s".
            label: if metric.unit == Unit::PerSecond {
                "s"
            } else {
                ""
            },
            ..Metric::headline(metric.unit, metric.about)
        }
    }
}

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
