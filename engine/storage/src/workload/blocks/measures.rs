//! The metrics of both primitives: rates and latencies of each kind of work, and the probe that
//! counts reads and writes apart.

use kit::{Probe, Reading};
use wire::{Direction, Latency, MetricCard, Role, Sample, Timing, Unit};

use super::params::Cell;
use crate::workload::edges::{Edge, Edges, Region};

/// A kind of work that is measured by itself.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The start of the names of its metrics.
    pub name: &'static str,
    /// As a heading shows it.
    pub label: &'static str,
    /// What verdicts are given on.
    pub headline: What,
}

/// What is measured of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Throughput,
    /// Of the latencies, in seconds.
    Latency(Point),
}

/// What is quoted of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The mean.
    Mean,
    /// The median.
    P50,
    /// The 99th percentile.
    P99,
    /// The longest.
    Max,
}

const WHATS: [What; 6] = [
    What::Operations,
    What::Throughput,
    What::Latency(Point::Mean),
    What::Latency(Point::P50),
    What::Latency(Point::P99),
    What::Latency(Point::Max),
];

impl Kind {
    /// Its metrics, as `describe` lists them.
    pub fn cards(self) -> [MetricCard; 6] {
        WHATS.map(|what| self.card(what))
    }

    /// Their values; none when nothing was moved. Latencies are there when operations were timed.
    pub fn samples(self, cell: Cell, reading: &Reading) -> Vec<Sample> {
        let whats = WHATS.into_iter().filter(|_| reading.operations > 0);
        whats
            .filter_map(|what| self.sample(what, cell, reading))
            .collect()
    }

    /// The metric of fsync at the end, where that is timed.
    pub fn fsync_card(self) -> MetricCard {
        self.region().card(Edge::Fsync)
    }

    /// Its value, where it was timed.
    pub fn fsync_sample(self, cell: Cell, calls: &Edges) -> Option<Sample> {
        self.region().sample(Edge::Fsync, cell.point(), calls)
    }

    fn region(self) -> Region {
        Region {
            name: self.name,
            label: self.label,
        }
    }

    fn card(self, what: What) -> MetricCard {
        let (ending, label, about) = what.words();
        let is_headline = what == self.headline;
        let (ending, label) = match what {
            // Rates count them: "random reads/s".
            What::Operations if is_headline => ("", "s"),
            _ if is_headline => ("", ""),
            _ => (ending, label),
        };
        MetricCard {
            name: self.name.to_owned() + ending,
            label: self.label.to_owned() + label,
            unit: what.unit(),
            direction: what.better(),
            role: if is_headline {
                Role::Headline
            } else {
                Role::Detail
            },
            about: about.to_owned(),
        }
    }

    fn sample(self, what: What, cell: Cell, reading: &Reading) -> Option<Sample> {
        let value = match what {
            What::Operations => reading.operations_per_s(),
            What::Throughput => reading.bytes_per_s(),
            What::Latency(point) => point.of_ns(reading.latency.as_ref()?) / 1e9,
        };
        let card = self.card(what);
        let is_headline = what == self.headline;
        Some(Sample {
            metric: card.name,
            value,
            unit: card.unit,
            direction: card.direction,
            at: cell.point(),
            operations: reading.operations,
            bytes: reading.bytes,
            elapsed_s: reading.elapsed_s(),
            native: None,
            latency_ns: reading.latency.clone().filter(|_| is_headline),
        })
    }
}

impl What {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            What::Operations => (
                "_operations",
                " operations",
                "Operations of all threads over the time of the region.",
            ),
            What::Throughput => (
                "_throughput",
                " throughput",
                "Bytes of all threads over the time of the region.",
            ),
            What::Latency(point) => point.words(),
        }
    }

    fn unit(self) -> Unit {
        match self {
            What::Operations => Unit::PerSecond,
            What::Throughput => Unit::BytesPerSecond,
            What::Latency(_) => Unit::Second,
        }
    }

    fn better(self) -> Direction {
        match self {
            What::Operations | What::Throughput => Direction::Higher,
            What::Latency(_) => Direction::Lower,
        }
    }
}

impl Point {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Point::Mean => ("_latency_mean", " latency, mean", "Mean latency."),
            Point::P50 => (
                "_latency_p50",
                " latency, median",
                "Latency that half of the operations did not exceed.",
            ),
            Point::P99 => (
                "_latency_p99",
                " latency, 99 %",
                "Latency that 99 of a hundred operations did not exceed.",
            ),
            Point::Max => ("_latency_max", " latency, maximum", "Longest latency."),
        }
    }

    fn of_ns(self, latency: &Latency) -> f64 {
        match self {
            Point::Mean => latency.mean,
            Point::P50 => latency.p50 as f64,
            Point::P99 => latency.p99 as f64,
            Point::Max => latency.max as f64,
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
