//! What `describe` prints: the lab learns of workloads from here and nowhere else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Sample;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Catalogue {
    pub protocol: u32,
    /// Version of the engine.
    pub engine: String,
    pub backends: Vec<BackendCard>,
    pub workloads: Vec<Card>,
}

/// One way to move a record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BackendCard {
    pub name: String,
    pub about: String,
}

/// A workload, as a person reads of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    pub name: String,
    /// As people read it: `TCP throughput`; empty where the name is that already.
    #[serde(default)]
    pub title: String,
    /// What it works on.
    pub target: TargetKind,
    /// One line.
    pub about: String,
    /// Who made it first, and where it is described.
    pub lineage: String,
    /// The timing formula: which two instants, and what is between them.
    pub timing: String,
    /// A paragraph or more: what is executed.
    pub description: String,
    /// JSON Schema of the parameters object; descriptions are the help, defaults the defaults.
    pub parameters: Value,
    pub metrics: Vec<MetricCard>,
    /// Names of the grid's dimensions, the keys of a sample's `at`, outermost first.
    pub grid: Vec<String>,
    /// Parameters for a first comparison: what the defaults are too small or too large for, so
    /// that a trial takes a few seconds.
    pub usual: Value,
    /// A parameter set that runs in well under a second.
    pub smoke: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MetricCard {
    pub name: String,
    /// As a heading or legend shows it: `random read`.
    pub label: String,
    pub unit: Unit,
    pub direction: Direction,
    pub role: Role,
    pub about: String,
}

impl MetricCard {
    /// A metric, whose direction follows from its unit.
    pub fn new(
        name: impl Into<String>,
        label: impl Into<String>,
        unit: Unit,
        role: Role,
        about: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            label: label.into(),
            unit,
            direction: match unit {
                Unit::BytesPerSecond | Unit::PerSecond => Direction::Higher,
                _ => Direction::Lower,
            },
            role,
            about: about.into(),
        }
    }

    /// A value of it at a point of the grid; what it covers is for the caller to add.
    pub fn sample(self, value: f64, at: Map<String, Value>) -> Sample {
        Sample {
            metric: self.name,
            value,
            unit: self.unit,
            direction: self.direction,
            at,
            operations: 0,
            bytes: 0,
            elapsed_s: 0.0,
            native: None,
            latency_ns: None,
        }
    }
}

/// What a workload works on; see [`crate::Target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// Files in a directory.
    Directory,
    /// A server of the network.
    Far,
}

/// SI base units only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    #[serde(rename = "B/s")]
    BytesPerSecond,
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "s")]
    Second,
    /// Seconds of CPU time per byte.
    #[serde(rename = "s/B")]
    SecondPerByte,
    #[serde(rename = "B")]
    Byte,
    /// Events of any sort: page faults, context switches.
    #[serde(rename = "count")]
    Count,
    /// A share or another ratio; 1 is the whole.
    #[serde(rename = "1")]
    One,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Higher,
    Lower,
}

/// Verdicts are given on headline metrics; the others are shown beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Headline,
    Detail,
}
