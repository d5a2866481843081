//! Metrics of streams.

use crate::socket::Transport;
use kit::histogram::Histogram;
use serde_json::{Map, Value};
use wire::{Latency, MetricCard, Role, Sample, Side, Unit};

use crate::workload::connects;
use crate::workload::hosts::{Effort, HostMetric};

/// What one point of the grid gave.
pub struct Figures<'a> {
    /// Where it lies.
    pub at: Map<String, Value>,
    /// What moves the bytes.
    pub transport: Transport,
    /// The end that sent.
    pub sender: &'a Side,
    /// The end that received.
    pub receiver: &'a Side,
    /// How long connecting took.
    pub connects: &'a Histogram,
    /// How long each send of the client took, where the clock was read for each.
    pub sends: Option<Latency>,
    /// How long each receive of the client took.
    pub receives: Option<Latency>,
    /// What the bytes received cost both hosts.
    pub effort: Effort<'a>,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Throughput,
    Sent,
    Loss,
    ConnectTime,
    Host(HostMetric),
}

/// As `describe` lists them.
pub fn cards(transport: Transport) -> Vec<MetricCard> {
    known_to(transport).map(What::card).collect()
}

/// All values of a point of the grid.
pub fn samples(figures: &Figures) -> Vec<Sample> {
    let known = known_to(figures.transport);
    known.map(|what| what.sample(figures)).collect()
}

/// In the order of reports. Connections lose nothing, and datagrams have none to be established.
fn known_to(transport: Transport) -> impl Iterator<Item = What> {
    let own = match transport {
        Transport::Udp => What::Loss,
        Transport::Tcp | Transport::Unix => What::ConnectTime,
    };
    [What::Throughput, What::Sent, own]
        .into_iter()
        .chain(HostMetric::ALL.map(What::Host))
}

impl What {
    fn card(self) -> MetricCard {
        let (name, label, unit, about) = match self {
            What::ConnectTime => return connects::card(),
            What::Host(metric) => return metric.card("byte received", Unit::SecondPerByte),
            What::Throughput => (
                "throughput",
                "throughput received",
                Unit::BytesPerSecond,
                "Bytes per second that the receiving end took.",
            ),
            What::Sent => (
                "throughput_sent",
                "throughput sent",
                Unit::BytesPerSecond,
                "Bytes per second that the sending end handed over.",
            ),
            What::Loss => (
                "loss",
                "loss",
                Unit::One,
                "Share of the datagrams that were handed over and did not arrive.",
            ),
        };
        let role = match self {
            What::Throughput => Role::Headline,
            _ => Role::Detail,
        };
        MetricCard::new(name, label, unit, role, about)
    }

    fn sample(self, figures: &Figures) -> Sample {
        let received = figures.receiver.received_bytes;
        let sent = figures.sender.sent_bytes;
        let elapsed_s = figures.effort.elapsed_s;
        let mut sample = Sample {
            operations: figures.receiver.receives,
            bytes: received,
            elapsed_s,
            ..self.card().sample(0.0, figures.at.clone())
        };
        match self {
            What::Throughput => {
                sample.value = received as f64 / elapsed_s;
                sample.latency_ns = figures.receives.clone();
            }
            What::Sent => {
                sample.value = sent as f64 / elapsed_s;
                (sample.operations, sample.bytes) = (figures.sender.sends, sent);
                sample.latency_ns = figures.sends.clone();
            }
            What::Loss => sample.value = 1.0 - received as f64 / sent.max(1) as f64,
            What::ConnectTime => connects::fill(&mut sample, Some(figures.connects)),
            What::Host(metric) => sample.value = metric.value(&figures.effort),
        }
        sample
    }
}
