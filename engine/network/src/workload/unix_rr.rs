//! unix_rr: requests and responses between two processes of one host.

use super::exchange::{Connecting, RequestResponse};
use crate::control::message::Transport;

/// The workload; see the module.
pub const UNIX_RR: RequestResponse = RequestResponse {
    name: "unix_rr",
    about: "requests and responses over Unix sockets of one host",
    lineage: "netperf's STREAM_RR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Unix,
    connecting: Connecting::Once,
};
