//! The metrics of a stage: two rates, with and without the fsync at its end, and how long
//! requests and calls took.

use kit::Reading;
use wire::{Latency, MetricCard, Native, Sample, Unit};

use super::params::{Cell, ORDER};
use storage::workload::region::{BoundaryCall, BoundaryCalls, Metric, Phase};

const MIB: f64 = 1_048_576.0;

const RATE: Metric = Metric::headline(
    Unit::BytesPerSecond,
    "Bytes requested over the time until the last fsync: the original's totals of a thread, or \
     its throughput of several.",
);
const RATE_BEFORE_FSYNC: Metric = Metric::detail(
    ("_before_fsync", " before fsync"),
    Unit::BytesPerSecond,
    "Bytes requested over the time until the last completion: what the original prints for a \
     file, and what is quoted. Through the page cache it is the speed of memory.",
);
const LATENCY_MEAN: Metric = Metric::detail(
    ("_latency_mean", " latency, mean"),
    Unit::Second,
    "Mean time of a request from the return of its io_submit until it was reaped.",
);
const SUBMIT_MEAN: Metric = Metric::detail(
    ("_submit_mean", " io_submit, mean"),
    Unit::Second,
    "Mean time of a call of io_submit, which may block.",
);

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
    pub calls: &'a BoundaryCalls,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let fsync = BoundaryCall::Fsync.metric();
    let metrics = [RATE, RATE_BEFORE_FSYNC, LATENCY_MEAN, SUBMIT_MEAN, fsync];
    let of_stage = |phase: Phase| metrics.map(|metric| phase.region().card(metric));
    ORDER.into_iter().flat_map(of_stage).collect()
}

/// The values of all metrics of a stage.
pub fn samples(cell: Cell, measured: &Measured) -> Vec<Sample> {
    let (reading, submits) = (measured.reading, measured.submits);
    let (region, drained_s) = (measured.phase.region(), measured.drained_s);
    let requests = reading.latency.as_ref().expect("requests are timed");
    let sample = |metric: Metric, value: f64, native: Native| Sample {
        native: Some(native),
        ..reading.sample(region.card(metric), value, cell.point())
    };
    let rate = |metric, value: f64| sample(metric, value, Native::new(value / MIB, "MB/s"));
    let mean = |metric, latency: &Latency| {
        sample(
            metric,
            latency.mean / 1e9,
            Native::new(latency.mean / 1e6, "ms"),
        )
    };
    let values = [
        Sample {
            latency_ns: Some(requests.clone()),
            ..rate(RATE, reading.bytes_per_s())
        },
        Sample {
            elapsed_s: drained_s,
            ..rate(RATE_BEFORE_FSYNC, reading.bytes as f64 / drained_s)
        },
        mean(LATENCY_MEAN, requests),
        Sample {
            operations: submits.count,
            latency_ns: Some(submits.clone()),
            ..mean(SUBMIT_MEAN, submits)
        },
    ];
    let fsync = region.sample_of_call(BoundaryCall::Fsync, cell.point(), measured.calls);
    values.into_iter().chain(fsync).collect()
}
