//! The metric of connecting.

use kit::histogram::Histogram;
use wire::{MetricCard, Role, Sample, Unit};

/// As `describe` lists it.
pub fn card() -> MetricCard {
    let about = "Mean time to establish a connection.";
    MetricCard::new("connect_time", "connect", Unit::Second, Role::Detail, about)
}

/// Puts into its sample how long connecting took.
pub fn fill(sample: &mut Sample, connects: Option<&Histogram>) {
    sample.latency_ns = connects.and_then(Histogram::to_wire);
    let times = sample.latency_ns.as_ref();
    sample.value = times.map_or(0.0, |times| times.mean / 1e9);
    sample.operations = times.map_or(0, |times| times.count);
    sample.bytes = 0;
}
