//! The metrics of a stage: two rates, with and without the fsync at its end, and how long
//! requests and calls took.

use kit::Reading;
use wire::{Direction, Latency, MetricCard, Native, Role, Sample, Unit};

use super::params::{Cell, ORDER};
use crate::workload::edges::{Edge, Edges};
use crate::workload::phase::Phase;

const MIB: f64 = 1_048_576.0;

/// What is measured of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Rate,
    RateBeforeFsync,
    LatencyMean,
    SubmitMean,
}

/// What a stage gave.
pub struct Measured<'a> {
    /// Which one.
    pub phase: Phase,
    /// The requests of all threads, until the last fsync.
    pub reading: &'a Reading,
    /// When the last thread had reaped its last completion, in seconds.
    pub drained_s: f64,
    /// How long calls of io_submit took.
    pub submits: &'a Latency,
    /// Calls of fsync.
    pub edges: &'a Edges,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let of_stage = |phase: Phase| {
        let whats = What::ALL.into_iter().map(move |what| what.card(phase));
        whats.chain([phase.region().card(Edge::Fsync)])
    };
    ORDER.into_iter().flat_map(of_stage).collect()
}

/// The values of all metrics of a stage.
pub fn samples(cell: Cell, measured: &Measured) -> Vec<Sample> {
    let sample = |what: What| what.sample(cell, measured);
    let region = measured.phase.region();
    let fsync = region.sample(Edge::Fsync, cell.point(), measured.edges);
    What::ALL.into_iter().map(sample).chain(fsync).collect()
}

impl What {
    const ALL: [What; 4] = [
        What::Rate,
        What::RateBeforeFsync,
        What::LatencyMean,
        What::SubmitMean,
    ];

    fn card(self, phase: Phase) -> MetricCard {
        let (ending, label, about) = match self {
            What::Rate => (
                "",
                "",
                "Bytes requested over the time until the last fsync: the original's totals of a \
                 thread, or its throughput of several.",
            ),
            What::RateBeforeFsync => (
                "_before_fsync",
                " before fsync",
                "Bytes requested over the time until the last completion: what the original \
                 prints for a file, and what is quoted. Through the page cache it is the speed \
                 of memory.",
            ),
            What::LatencyMean => (
                "_latency_mean",
                " latency, mean",
                "Mean time of a request from the return of its io_submit until it was reaped.",
            ),
            What::SubmitMean => (
                "_submit_mean",
                " io_submit, mean",
                "Mean time of a call of io_submit, which may block.",
            ),
        };
        MetricCard {
            name: phase.name().to_owned() + ending,
            label: phase.label().to_owned() + label,
            unit: self.unit(),
            direction: match self.unit() {
                Unit::Second => Direction::Lower,
                _ => Direction::Higher,
            },
            role: match self {
                What::Rate => Role::Headline,
                What::RateBeforeFsync | What::LatencyMean | What::SubmitMean => Role::Detail,
            },
            about: about.to_owned(),
        }
    }

    fn unit(self) -> Unit {
        match self {
            What::Rate | What::RateBeforeFsync => Unit::BytesPerSecond,
            What::LatencyMean | What::SubmitMean => Unit::Second,
        }
    }

    fn sample(self, cell: Cell, measured: &Measured) -> Sample {
        let reading = measured.reading;
        let requests = reading.latency.as_ref().expect("requests are timed");
        let elapsed_s = match self {
            What::RateBeforeFsync => measured.drained_s,
            What::Rate | What::LatencyMean | What::SubmitMean => reading.elapsed_s(),
        };
        let value = match self {
            What::Rate | What::RateBeforeFsync => reading.bytes as f64 / elapsed_s,
            What::LatencyMean => requests.mean / 1e9,
            What::SubmitMean => measured.submits.mean / 1e9,
        };
        let native = match self.unit() {
            Unit::Second => native(1e3 * value, "ms"),
            _ => native(value / MIB, "MB/s"),
        };
        let latency = match self {
            What::Rate => Some(requests),
            What::SubmitMean => Some(measured.submits),
            What::RateBeforeFsync | What::LatencyMean => None,
        };
        let card = self.card(measured.phase);
        Sample {
            metric: card.name,
            value,
            unit: card.unit,
            direction: card.direction,
            at: cell.point(),
            operations: match self {
                What::SubmitMean => measured.submits.count,
                _ => reading.operations,
            },
            bytes: reading.bytes,
            elapsed_s,
            native: Some(native),
            latency_ns: latency.cloned(),
        }
    }
}

fn native(value: f64, unit: &str) -> Native {
    Native {
        value,
        unit: unit.to_owned(),
    }
}
