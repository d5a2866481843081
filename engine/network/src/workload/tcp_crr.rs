//! tcp_crr: a TCP connection for each transaction.

use super::exchange::{Connecting, RequestResponse};
use crate::control::message::Transport;

/// The workload; see the module.
pub const TCP_CRR: RequestResponse = RequestResponse {
    name: "tcp_crr",
    about: "a TCP connection for each request and response",
    lineage: "netperf's TCP_CRR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    connecting: Connecting::Each,
};
