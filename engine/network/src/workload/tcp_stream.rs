//! tcp_stream: bytes over TCP from the near end to the far end, as fast as they go.

use super::stream::{Direction, Stream};
use crate::control::message::Transport;

/// The workload; see the module.
pub const TCP_STREAM: Stream = Stream {
    name: "tcp_stream",
    about: "bulk data over TCP, from here to the far end",
    lineage: "netperf's TCP_STREAM by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    direction: Direction::Outward,
    sends_file: false,
};
