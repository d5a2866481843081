//! Metrics of streams.

use crate::control::message::Transport;
use kit::histogram::Histogram;
use serde_json::{Map, Value};
use wire::{Direction, Latency, MetricCard, Role, Sample, Side, Unit};

/// What one point of the grid gave.
pub struct Figures<'a> {
    /// Where it lies.
    pub at: Map<String, Value>,
    /// Between the two instants of the timing formula.
    pub elapsed_s: f64,
    /// As long the far end was looked at: with datagrams until it was quiet.
    pub far_elapsed_s: f64,
    /// What moves the bytes.
    pub transport: Transport,
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
    /// How long each send of the near end took, where the clock was read for each.
    pub sends: Option<Latency>,
    /// How long each receive of the near end took.
    pub receives: Option<Latency>,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Throughput,
    Sent,
    Loss,
    ConnectTime,
    CpuNear,
    CpuFar,
    DemandNear,
    DemandFar,
}

const ALL: [What; 8] = [
    What::Throughput,
    What::Sent,
    What::Loss,
    What::ConnectTime,
    What::CpuNear,
    What::CpuFar,
    What::DemandNear,
    What::DemandFar,
];

/// As `describe` lists them.
pub fn cards(transport: Transport) -> Vec<MetricCard> {
    known_to(transport).map(What::card).collect()
}

/// All values of a point of the grid.
pub fn samples(figures: &Figures) -> Vec<Sample> {
    let known = known_to(figures.transport);
    known.map(|what| what.sample(figures)).collect()
}

/// Connections lose nothing, and datagrams have none to be established.
fn known_to(transport: Transport) -> impl Iterator<Item = What> {
    let foreign = match transport {
        Transport::Udp => What::ConnectTime,
        Transport::Tcp | Transport::Unix => What::Loss,
    };
    ALL.into_iter().filter(move |&what| what != foreign)
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
            What::Loss => (
                "loss",
                "loss",
                "Share of the datagrams that were handed over and did not arrive.",
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
            What::Loss | What::CpuNear | What::CpuFar => Unit::One,
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
        let sent = figures.sender.sent_bytes;
        let demand = |side: &Side, seconds: f64| {
            side.busy * f64::from(side.cpus) * seconds / received.max(1) as f64
        };
        let connects = figures.connects.to_wire();
        let value = match self {
            What::Throughput => received as f64 / figures.elapsed_s,
            What::Sent => sent as f64 / figures.elapsed_s,
            What::Loss => 1.0 - received as f64 / sent.max(1) as f64,
            What::ConnectTime => connects.as_ref().map_or(0.0, |times| times.mean / 1e9),
            What::CpuNear => figures.near.busy,
            What::CpuFar => figures.far.busy,
            What::DemandNear => demand(figures.near, figures.elapsed_s),
            What::DemandFar => demand(figures.far, figures.far_elapsed_s),
        };
        let (operations, bytes, latency_ns) = match self {
            What::ConnectTime => (figures.connects.count(), 0, connects),
            What::Sent => (figures.sender.sends, sent, figures.sends.clone()),
            What::Throughput => (
                figures.receiver.receives,
                received,
                figures.receives.clone(),
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
