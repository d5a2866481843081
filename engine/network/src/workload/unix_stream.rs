//! unix_stream: as tcp_stream, over a Unix socket between processes of one host.

use super::stream::{Direction, Stream};
use crate::control::message::Transport;

/// The workload; see the module.
pub const UNIX_STREAM: Stream = Stream {
    name: "unix_stream",
    about: "bulk data over a Unix socket, to a far end on this host",
    lineage: "netperf's STREAM_STREAM by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Unix,
    direction: Direction::Outward,
    sends_file: false,
};
