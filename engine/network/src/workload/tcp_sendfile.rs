//! tcp_sendfile: as tcp_stream, from a file, with sendfile(2) in place of send(2).

use super::stream::{Direction, Stream};
use crate::control::message::Transport;

/// The workload; see the module.
pub const TCP_SENDFILE: Stream = Stream {
    name: "tcp_sendfile",
    about: "a file over TCP, from here to the far end, with sendfile",
    lineage: "netperf's TCP_SENDFILE by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    direction: Direction::Outward,
    sends_file: true,
};
