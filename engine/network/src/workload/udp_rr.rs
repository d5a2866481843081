//! udp_rr: requests and responses as datagrams, any of which may be lost.

use super::exchange::{Connecting, RequestResponse};
use crate::control::message::Transport;

/// The workload; see the module.
pub const UDP_RR: RequestResponse = RequestResponse {
    name: "udp_rr",
    about: "requests and responses over UDP",
    lineage: "netperf's UDP_RR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Udp,
    connecting: Connecting::Once,
};
