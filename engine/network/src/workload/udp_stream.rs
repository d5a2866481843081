//! udp_stream: datagrams from the near end to the far end, as fast as they go, or at a rate.

use super::stream::{Direction, Stream};
use crate::control::message::Transport;

/// The workload; see the module.
pub const UDP_STREAM: Stream = Stream {
    name: "udp_stream",
    about: "datagrams over UDP, from here to the far end",
    lineage: "netperf's UDP_STREAM by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Udp,
    direction: Direction::Outward,
    sends_file: false,
};
