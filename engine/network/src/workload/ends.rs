//! Parameters that belong to one end of any workload, and how its figures are told.

use kit::failure::bad_parameter;
use kit::{List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::Failure;

use crate::placement::Wanted;
use crate::socket::SocketOptions;
use crate::socket::Transport;

/// Size of a socket's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BufferSize {
    /// As the kernel has it; TCP tunes it by itself.
    Auto(Auto),
    /// So many bytes are asked for; the kernel doubles and caps them, and TCP tunes no more.
    Bytes(Size),
}

/// The word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// As the kernel has it.
    Auto,
}

impl BufferSize {
    /// As the kernel has it.
    pub const AUTO: Self = Self::Auto(Auto::Auto);

    /// What is asked for, if anything.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Auto(_) => None,
            Self::Bytes(size) => Some(size.bytes()),
        }
    }
}

/// What can be said of one end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EndParams {
    /// Threads among which the flows are shared out; 0: one for each flow.
    pub threads: u32,
    /// CPUs of its threads, in order. Empty: of the client as the job's conditions say; of the
    /// server those that the client leaves free, where both are on one host, else where its
    /// scheduler puts them.
    pub cpus: Vec<u32>,
    /// NUMA node on whose CPUs and with whose memory its threads work; not together with `cpus`.
    pub numa_node: Option<u32>,
    /// Name of the congestion control of its sockets; the host's default where left out.
    pub congestion: Option<String>,
    /// Microseconds for which a receiver looks for packets itself before it sleeps
    /// (SO_BUSY_POLL).
    pub busy_poll_us: Option<u32>,
}

impl EndParams {
    /// Looks at what can be seen from here.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn check(&self, end: &str, transport: Transport) -> Result<(), Failure> {
        let blame = |name: &str, what: &str| {
            let parameter = format!("{end}.{name}");
            let message = format!("parameter \"{parameter}\": {what}");
            Err(bad_parameter(&parameter, message))
        };
        if self.numa_node.is_some() && !self.cpus.is_empty() {
            return blame(
                "numa_node",
                "\"cpus\" say already where threads run; leave out one",
            );
        }
        if self.congestion.is_some() && transport != Transport::Tcp {
            return blame("congestion", "only TCP controls congestion; leave it out");
        }
        if self.busy_poll_us.is_some() && transport == Transport::Unix {
            return blame(
                "busy_poll_us",
                "there is no network to be polled; leave it out",
            );
        }
        match &self.congestion {
            // TCP_CA_NAME_MAX of Linux, with the zero at its end.
            Some(name) if name.is_empty() || name.len() > 15 => {
                let what = format!(
                    "{name:?} is no congestion control; those of a host are in \
                     /proc/sys/net/ipv4/tcp_available_congestion_control"
                );
                blame("congestion", &what)
            }
            _ => Ok(()),
        }
    }

    /// Its threads, for so many flows.
    pub fn threads(&self, flows: u32) -> u32 {
        match self.threads {
            0 => flows,
            threads => threads.min(flows),
        }
    }

    /// Its threads, at the point of a grid that has the most.
    pub fn most_threads(&self, flows: &List<u32>) -> u32 {
        let threads = flows.iter().map(|&flows| self.threads(flows));
        threads.max().unwrap_or(1)
    }

    /// Where they run.
    pub fn placement(&self) -> Wanted {
        Wanted {
            cpus: self.cpus.clone(),
            numa_node: self.numa_node,
            neighbour: None,
        }
    }

    /// The options of its sockets that are said here.
    pub fn options(&self) -> SocketOptions {
        SocketOptions {
            congestion: self.congestion.clone(),
            busy_poll_us: self.busy_poll_us,
            ..SocketOptions::default()
        }
    }
}
