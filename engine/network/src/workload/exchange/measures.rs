//! Metrics of requests and responses.

use kit::histogram::Histogram;
use kit::Reading;
use serde_json::{Map, Value};
use wire::{MetricCard, Role, Sample, Unit};

use crate::workload::connects;
use crate::workload::hosts::{Effort, HostMetric};

/// What one point of the grid gave.
pub struct Figures<'a> {
    /// Where it lies.
    pub at: Map<String, Value>,
    /// Transactions, as the client counted them.
    pub reading: &'a Reading,
    /// How many were under way at once, of all flows.
    pub at_once: u64,
    /// How long connecting took, where there are connections.
    pub connects: Option<&'a Histogram>,
    /// What it cost both hosts.
    pub effort: Effort<'a>,
}

/// A metric.
#[derive(Debug, Clone, Copy)]
enum What {
    Transactions,
    Latency,
    ConnectTime,
    Host(HostMetric),
}

/// In the order of reports; connecting only where it is done.
fn all(connects: bool) -> impl Iterator<Item = What> {
    let connect = connects.then_some(What::ConnectTime);
    [What::Transactions, What::Latency]
        .into_iter()
        .chain(connect)
        .chain(HostMetric::ALL.map(What::Host))
}

/// As `describe` lists them, with or without the time that connecting takes.
pub fn cards(connects: bool) -> Vec<MetricCard> {
    all(connects).map(What::card).collect()
}

/// All values of a point of the grid.
pub fn samples(figures: &Figures) -> Vec<Sample> {
    let has_connects = figures.connects.is_some();
    all(has_connects).map(|what| what.sample(figures)).collect()
}

impl What {
    fn card(self) -> MetricCard {
        let (name, unit, role, about) = match self {
            What::ConnectTime => return connects::card(),
            What::Host(metric) => return metric.card("transaction", Unit::Second),
            What::Transactions => (
                "transactions",
                Unit::PerSecond,
                Role::Headline,
                "Responses per second that came as a whole.",
            ),
            What::Latency => (
                "latency",
                Unit::Second,
                Role::Detail,
                "Mean time from a request until its response is here; without a clock reading \
                 for each, the whole time times those under way at once over those done.",
            ),
        };
        MetricCard::new(name, name, unit, role, about)
    }

    fn sample(self, figures: &Figures) -> Sample {
        let reading = figures.reading;
        let mut sample = reading.sample(self.card(), 0.0, figures.at.clone());
        match self {
            What::Transactions => sample.value = reading.operations_per_s(),
            What::Latency => {
                sample.latency_ns = reading.latency.clone();
                sample.value = match &reading.latency {
                    Some(latency) => latency.mean / 1e9,
                    None => figures.at_once as f64 / reading.operations_per_s(),
                };
            }
            What::ConnectTime => connects::fill(&mut sample, figures.connects),
            What::Host(metric) => sample.value = metric.value(&figures.effort),
        }
        sample
    }
}
