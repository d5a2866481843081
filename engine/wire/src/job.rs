//! What the lab asks of the engine.

use std::net::IpAddr;
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
    /// What the workload works on.
    pub target: Target,
    /// Conditions the engine shall bring about before it measures.
    #[serde(default)]
    pub conditions: ConditionsWanted,
}

/// What the workload works on: files in a directory, or a far end of the network. Each workload
/// takes one of them, as its card says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// An existing directory. The engine makes its files in it and removes them again; it never
    /// overwrites a file that is already there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Where `tiltyard-engine serve` listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<FarEnd>,
}

impl Target {
    /// Files in `directory`.
    pub fn directory(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: Some(directory.into()),
            far: None,
        }
    }

    /// The far end `far`.
    pub fn far(far: FarEnd) -> Self {
        Self {
            directory: None,
            far: Some(far),
        }
    }
}

/// A far end: another `tiltyard-engine`, on this host or another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FarEnd {
    /// Its name or address, IPv4 or IPv6. Data go there too.
    pub address: String,
    /// Port of its control connection.
    #[serde(default = "default_port")]
    pub port: u16,
    /// The secret that it shares with those who may use it. It never passes the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Address of this host that connections start from; the kernel chooses where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
}

/// Port of the control connection, unless told.
pub const FAR_PORT: u16 = 12_866;

fn default_port() -> u16 {
    FAR_PORT
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
