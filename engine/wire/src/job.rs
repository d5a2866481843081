//! What the lab asks of the engine.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One trial: one workload on one target.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Version of the messages; see [`crate::PROTOCOL`].
    pub protocol: u32,
    /// Name of the workload, as `describe` lists it.
    pub workload: String,
    /// Parameters of the workload; those left out take their defaults.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Where the workload works.
    pub target: Target,
    /// Conditions the engine shall bring about before it measures.
    #[serde(default)]
    pub conditions: ConditionsWanted,
}

/// Where a storage workload puts its files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// An existing directory. The engine makes its files in it and removes them again; it never
    /// overwrites a file that is already there.
    pub directory: PathBuf,
}

/// Conditions of measurement that decide results on a virtual or busy machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionsWanted {
    /// CPUs that the measuring threads are pinned to, in order; empty means: the engine chooses
    /// the highest-numbered CPU it may use.
    pub cpus: Vec<u32>,
    /// Leave the threads where the scheduler puts them.
    pub unpinned: bool,
    /// Keep the CPUs that are not measuring awake with an idle-priority spinner, because waking
    /// a halted virtual CPU can cost more than the I/O that is measured.
    pub keep_awake: bool,
}
