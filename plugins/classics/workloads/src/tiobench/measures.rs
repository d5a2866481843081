//! The metrics of a phase: its rate is what is quoted, latency and CPU time explain it.

use std::time::Duration;

use kit::Reading;
use wire::{MetricCard, Native, Role, Sample, Unit};

use super::params::{Cell, Params, ORDER};
use storage::workload::region::{BoundaryCall, BoundaryCalls, Metric, Phase};

const MIB: f64 = 1_048_576.0;

const RATE: Metric = Metric::headline(
    Unit::BytesPerSecond,
    "Bytes of all threads over the time of the phase, opening, fsync and closing included.",
);
const LATENCY_MEAN: Metric = Metric::detail(
    ("_latency_mean", " latency, mean"),
    Unit::Second,
    "Mean time of one read or write, over all threads; fsync is not included.",
);
const LATENCY_MAX: Metric = Metric::detail(
    ("_latency_max", " latency, maximum"),
    Unit::Second,
    "Longest time of one read or write of any thread; fsync is not included.",
);
const CPU: Metric = Metric::detail(
    ("_cpu", " CPU time"),
    Unit::Second,
    "CPU time that the threads used in the phase, in user mode and in the kernel.",
);

/// What a phase gave.
pub struct Measured<'a> {
    /// Which one.
    pub phase: Phase,
    /// The work of all threads.
    pub reading: &'a Reading,
    /// CPU time that the threads used.
    pub cpu: Duration,
    /// Their calls of open, fsync and close.
    pub calls: &'a BoundaryCalls,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let of_phase = |phase: Phase| {
        let calls = calls_of(phase).iter().map(|call| call.metric());
        let metrics = [RATE, LATENCY_MEAN, LATENCY_MAX, CPU].into_iter();
        metrics
            .chain(calls)
            .map(move |metric| phase.region().card(metric))
    };
    ORDER.into_iter().flat_map(of_phase).collect()
}

/// The values of all metrics of a phase.
pub fn samples(params: &Params, cell: Cell, measured: &Measured) -> Vec<Sample> {
    let Measured { phase, reading, .. } = *measured;
    let region = phase.region();
    let latency = reading.latency.as_ref().expect("operations are timed");
    let (mean_ns, max_ns) = (latency.mean, latency.max as f64);
    let cpu_s = measured.cpu.as_secs_f64();
    let cpu_share = params.version.cpu_overcount(cell.threads) * cpu_s / reading.elapsed_s();
    let values = [
        (RATE, reading.bytes_per_s(), rate(params, cell, measured)),
        (
            LATENCY_MEAN,
            mean_ns / 1e9,
            Native::new(mean_ns / 1e6, "ms"),
        ),
        (LATENCY_MAX, max_ns / 1e9, Native::new(max_ns / 1e6, "ms")),
        (CPU, cpu_s, Native::new(100.0 * cpu_share, "%")),
    ];
    let values = values.map(|(metric, value, native)| Sample {
        native: Some(native),
        latency_ns: (metric.role == Role::Headline).then(|| latency.clone()),
        ..reading.sample(region.card(metric), value, cell.point())
    });
    let calls = calls_of(phase).iter();
    let calls = calls.filter_map(|&call| region.sample_of_call(call, cell.point(), measured.calls));
    values.into_iter().chain(calls).collect()
}

/// The calls at the boundaries of a phase that are quoted. A file that was only read has nothing
/// to be synced.
fn calls_of(phase: Phase) -> &'static [BoundaryCall] {
    if phase.is_write() {
        &[BoundaryCall::Open, BoundaryCall::Fsync, BoundaryCall::Close]
    } else {
        &[BoundaryCall::Open, BoundaryCall::Close]
    }
}

/// The rate that the version prints. Where it credits bytes that were not moved, the unit says
/// so: such a figure must not be mistaken for a rate.
fn rate(params: &Params, cell: Cell, measured: &Measured) -> Native {
    let Measured { phase, reading, .. } = *measured;
    let credited = params
        .version
        .credited_bytes(phase, reading.bytes, cell.bytes());
    let unit = if credited == reading.bytes {
        "MB/s"
    } else {
        "MB/s, whole files credited"
    };
    Native::new(credited as f64 / MIB / reading.elapsed_s(), unit)
}
