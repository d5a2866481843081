//! What both ends of the network saw while a trial ran.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Both ends, over all timed regions of the trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// The end where the job is.
    pub near: Side,
    /// The end where `serve` is.
    pub far: Side,
}

/// One end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Which host this is, for as long as it is up (`/proc/sys/kernel/random/boot_id`); two ends
    /// of one host share its CPUs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// CPUs that are online.
    pub cpus: u32,
    /// Share of all their time that was spent in work of any kind, 0 … 1: busy time of
    /// `/proc/stat`, without idle, waiting for I/O, and steal.
    pub busy: f64,
    /// CPU time of the engine itself in user mode, in seconds.
    pub user_s: f64,
    /// CPU time of the engine itself in the kernel.
    pub system_s: f64,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes taken from the kernel.
    pub received_bytes: u64,
    /// Messages, requests or responses sent.
    pub sends: u64,
    /// Messages, requests or responses received; of a byte stream, calls that gave data.
    pub receives: u64,
    /// Options of sockets and threads as the kernel granted them, by name.
    pub granted: Map<String, Value>,
    /// What the kernel counted meanwhile in this network namespace: `UdpRcvbufErrors`,
    /// `TcpRetransSegs` … (`/proc/net/snmp`, `/proc/net/netstat`), and `SoftnetDropped`
    /// (`/proc/net/softnet_stat`). Without those that did not change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

impl Network {
    /// Whether both ends are on one host, as over loopback and between network namespaces.
    pub fn is_of_one_host(&self) -> bool {
        !self.near.host.is_empty() && self.near.host == self.far.host
    }
}
