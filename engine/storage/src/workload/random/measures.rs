//! The metrics: rates and latencies, reads and writes apart.

use kit::Reading;
use wire::{Direction, Latency, MetricCard, Role, Sample, Unit};

use crate::workload::blocks::params::Cell;

/// What is measured of each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Operations,
    Throughput,
    Latency(Point),
}

/// What is quoted of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    Mean,
    P50,
    P99,
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

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let of_direction = |direction| WHATS.map(move |what| what.card(direction));
    ["read", "write"]
        .into_iter()
        .flat_map(of_direction)
        .collect()
}

/// The values for one direction; none when nothing moved in it. Latencies are there when
/// operations were timed.
pub fn samples(cell: Cell, is_write: bool, reading: &Reading) -> Vec<Sample> {
    let direction = if is_write { "write" } else { "read" };
    let sample = |what: What| what.sample(direction, cell, reading);
    let whats = WHATS.into_iter().filter(|_| reading.operations > 0);
    whats.filter_map(sample).collect()
}

impl What {
    fn card(self, moved: &str) -> MetricCard {
        let (ending, label, about) = match self {
            What::Operations => (
                "",
                "",
                "Operations of all threads over the time of the trial.",
            ),
            What::Throughput => (
                "_throughput",
                " throughput",
                "Bytes of all threads over the time of the trial.",
            ),
            What::Latency(point) => point.words(),
        };
        MetricCard {
            name: format!("random_{moved}{ending}"),
            label: format!("random {moved}{label}"),
            unit: self.unit(),
            direction: self.better(),
            role: match self {
                What::Operations => Role::Headline,
                What::Throughput | What::Latency(_) => Role::Detail,
            },
            about: about.to_owned(),
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

    fn sample(self, moved: &str, cell: Cell, reading: &Reading) -> Option<Sample> {
        let value = match self {
            What::Operations => reading.operations_per_s(),
            What::Throughput => reading.bytes_per_s(),
            What::Latency(point) => point.of_ns(reading.latency.as_ref()?) / 1e9,
        };
        let card = self.card(moved);
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
            latency_ns: match self {
                What::Operations => reading.latency.clone(),
                What::Throughput | What::Latency(_) => None,
            },
        })
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
