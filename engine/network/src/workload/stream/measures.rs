//! Metrics of streams.

use kit::histogram::Histogram;
use serde_json::{Map, Value};
use wire::{Direction, Latency, MetricCard, Role, Sample, Side, Unit};

/// What one point of the grid gave.
pub struct Figures<'a> {
    /// Where it lies.
    pub at: Map<String, Value>,
    /// Between the two instants of the timing formula.
    pub elapsed_s: f64,
    /// The end that sent.
    pub sender: &'a Side,
    /// The end that received.
    pub receiver: &'a Side,
    /// The end where the job is.
    pub near: &'a Side,
    /// The other one.
    pub far: &'a Side,
    /// How long connecting took.
    pub connects: &'a Histogram,
    /// How long each call of the near end took, where the clock was read for each.
    pub calls: Option<Latency>,
}

/// A metric.
#[derive(Debug, Clone, Copy)]
enum What {
    Throughput,
    Sent,
    ConnectTime,
    CpuNear,
    CpuFar,
    DemandNear,
    DemandFar,
}

const ALL: [What; 7] = [
    What::Throughput,
    What::Sent,
    What::ConnectTime,
    What::CpuNear,
    What::CpuFar,
    What::DemandNear,
    What::DemandFar,
];

/// As `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    ALL.into_iter().map(What::card).collect()
}

/// All values of a point of the grid.
pub fn samples(figures: &Figures) -> Vec<Sample> {
    ALL.into_iter().map(|what| what.sample(figures)).collect()
}

impl What {
    fn card(self) -> MetricCard {
        let (name, label, about) = match self {
            What::Throughput => (
                "throughput",
                "throughput received",
                "Bytes per second that the receiving end took.",
            ),
            What::Sent => (
                "throughput_sent",
                "throughput sent",
                "Bytes per second that the sending end handed over.",
            ),
            What::ConnectTime => (
                "connect_time",
                "connect",
                "Mean time to establish a connection.",
            ),
            What::CpuNear => (
                "cpu_near",
                "CPU in use, near end",
                "Share of all CPU time of the near host that was spent in work of any kind.",
            ),
            What::CpuFar => (
                "cpu_far",
                "CPU in use, far end",
                "Share of all CPU time of the far host that was spent in work of any kind.",
            ),
            What::DemandNear => (
                "service_demand_near",
                "service demand, near end",
                "CPU time of the near host per byte received.",
            ),
            What::DemandFar => (
                "service_demand_far",
                "service demand, far end",
                "CPU time of the far host per byte received.",
            ),
        };
        MetricCard {
            name: name.to_owned(),
            label: label.to_owned(),
            unit: self.unit(),
            direction: self.direction(),
            role: match self {
                What::Throughput => Role::Headline,
                _ => Role::Detail,
            },
            about: about.to_owned(),
        }
    }

    fn unit(self) -> Unit {
        match self {
            What::Throughput | What::Sent => Unit::BytesPerSecond,
            What::ConnectTime => Unit::Second,
            What::CpuNear | What::CpuFar => Unit::One,
            What::DemandNear | What::DemandFar => Unit::SecondPerByte,
        }
    }

    fn direction(self) -> Direction {
        match self {
            What::Throughput | What::Sent => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    fn sample(self, figures: &Figures) -> Sample {
        let received = figures.receiver.received_bytes;
        let demand = |side: &Side| {
            side.busy * f64::from(side.cpus) * figures.elapsed_s / received.max(1) as f64
        };
        let connects = figures.connects.to_wire();
        let value = match self {
            What::Throughput => received as f64 / figures.elapsed_s,
            What::Sent => figures.sender.sent_bytes as f64 / figures.elapsed_s,
            What::ConnectTime => connects.as_ref().map_or(0.0, |times| times.mean / 1e9),
            What::CpuNear => figures.near.busy,
            What::CpuFar => figures.far.busy,
            What::DemandNear => demand(figures.near),
            What::DemandFar => demand(figures.far),
        };
        let (operations, bytes, latency_ns) = match self {
            What::ConnectTime => (figures.connects.count(), 0, connects),
            What::Sent => (
                figures.sender.sends,
                figures.sender.sent_bytes,
                figures.calls.clone(),
            ),
            _ => (figures.receiver.receives, received, None),
        };
        Sample {
            metric: self.card().name,
            value,
            unit: self.unit(),
            direction: self.direction(),
            at: figures.at.clone(),
            operations,
            bytes,
            elapsed_s: figures.elapsed_s,
            native: None,
            latency_ns,
        }
    }
}
