//! tcp_rr: requests and responses over TCP connections that last.

use super::exchange::{Connecting, RequestResponse};
use crate::control::message::Transport;

/// The workload; see the module.
pub const TCP_RR: RequestResponse = RequestResponse {
    name: "tcp_rr",
    about: "requests and responses over TCP",
    lineage: "netperf's TCP_RR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    connecting: Connecting::Once,
};
