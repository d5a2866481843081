//! The calls at the ends of a timed region, timed one by one: they are part of its rate, and tell
//! why it is what it is.

use kit::Calls;
use serde_json::{Map, Value};
use wire::{Direction, MetricCard, Role, Sample, Unit};

/// A call at an end of a region, once per file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Opening the file and, where that is done, giving it its size.
    Open,
    /// Waiting until it is on the device.
    Fsync,
    /// Closing it.
    Close,
}

impl From<Edge> for usize {
    fn from(edge: Edge) -> Self {
        edge as usize
    }
}

/// The calls of one thread, or of all, in one region.
pub type Edges = Calls<3>;

/// What the metrics of a region are named after.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// The start of their names.
    pub name: &'static str,
    /// As a heading shows it.
    pub label: &'static str,
}

impl Region {
    /// The metric of a kind of call in it, as `describe` lists it.
    pub fn card(self, edge: Edge) -> MetricCard {
        let (ending, label, about) = match edge {
            Edge::Open => ("_open_time", " open", "Mean time to open a file."),
            Edge::Fsync => (
                "_fsync_time",
                " fsync",
                "Mean time to wait, at the end, until a file is on the device.",
            ),
            Edge::Close => ("_close_time", " close", "Mean time to close a file."),
        };
        MetricCard {
            name: self.name.to_owned() + ending,
            label: self.label.to_owned() + label,
            unit: Unit::Second,
            direction: Direction::Lower,
            role: Role::Detail,
            about: about.to_owned(),
        }
    }

    /// Its value at a point of the grid; none without such calls.
    pub fn sample(self, edge: Edge, at: Map<String, Value>, calls: &Edges) -> Option<Sample> {
        let times = calls.histogram(edge);
        let latency = times.to_wire()?;
        let card = self.card(edge);
        Some(Sample {
            metric: card.name,
            value: latency.mean / 1e9,
            unit: card.unit,
            direction: card.direction,
            at,
            operations: latency.count,
            bytes: 0,
            elapsed_s: times.sum_ns() as f64 / 1e9,
            native: None,
            latency_ns: Some(latency),
        })
    }
}
