//! tcp_maerts: tcp_stream the other way round, from the far end to the near one.

use super::stream::{Direction, Stream};
use crate::control::message::Transport;

/// The workload; see the module.
pub const TCP_MAERTS: Stream = Stream {
    name: "tcp_maerts",
    about: "bulk data over TCP, from the far end to here",
    lineage: "netperf's TCP_MAERTS by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    direction: Direction::Inward,
    sends_file: false,
};
