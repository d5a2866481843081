//! What the streams have in common: one end sends messages of one size, the other takes them.
//!
//! Timing formula: throughput = bytes that the receiving end took / (t1 − t0); t0 when all flows,
//! which know each other, are told to start; t1 when the receiving end of connections has taken
//! the last byte and closed, and the client knows of it; of datagrams, when the last one is
//! handed over.

mod check;
mod measures;
mod params;
mod run;

use kit::trial::Planned;
use kit::EventSink;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, FarEnd, TargetKind, Timing};

use self::params::Params;
use super::plan::{self, Family};
use super::Workload;
use crate::socket::Transport;

/// A stream workload.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// As `describe` lists it.
    pub name: &'static str,
    /// As people read it.
    pub title: &'static str,
    /// One line.
    pub about: &'static str,
    /// Who made it first.
    pub lineage: &'static str,
    /// What moves the bytes.
    pub transport: Transport,
    /// Where they go.
    pub direction: Direction,
    /// They come from a file.
    pub sends_file: bool,
}

/// Where data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Outward,
    /// From the server.
    Inward,
}

impl Direction {
    /// As the other end sees it.
    fn reverse(self) -> Self {
        match self {
            Self::Outward => Self::Inward,
            Self::Inward => Self::Outward,
        }
    }
}

/// Bytes over TCP from the client to the server.
pub const TCP_STREAM: Stream = Stream {
    name: "tcp_stream",
    title: "TCP throughput",
    about: "bulk data over TCP, from here to the server",
    lineage: "netperf's TCP_STREAM by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    direction: Direction::Outward,
    sends_file: false,
};

/// Tcp_stream the other way round, from the server to the client.
pub const TCP_MAERTS: Stream = Stream {
    name: "tcp_maerts",
    title: "TCP reverse throughput",
    about: "bulk data over TCP, from the server to here",
    lineage: "netperf's TCP_MAERTS by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    direction: Direction::Inward,
    sends_file: false,
};

/// As tcp_stream, from a file, with sendfile(2) in place of send(2).
pub const TCP_SENDFILE: Stream = Stream {
    name: "tcp_sendfile",
    title: "TCP sendfile throughput",
    about: "a file over TCP, from here to the server, with sendfile",
    lineage: "netperf's TCP_SENDFILE by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    direction: Direction::Outward,
    sends_file: true,
};

/// Datagrams from the client to the server, unlimited or at a rate.
pub const UDP_STREAM: Stream = Stream {
    name: "udp_stream",
    title: "UDP throughput",
    about: "datagrams over UDP, from here to the server",
    lineage: "netperf's UDP_STREAM by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Udp,
    direction: Direction::Outward,
    sends_file: false,
};

/// As tcp_stream, over a Unix socket between processes of one host.
pub const UNIX_STREAM: Stream = Stream {
    name: "unix_stream",
    title: "Unix socket throughput",
    about: "bulk data over a Unix socket, to a server on this host",
    lineage: "netperf's STREAM_STREAM by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Unix,
    direction: Direction::Outward,
    sends_file: false,
};

const CONNECTION_TIMING: &str = "\
throughput = bytes that the receiving end took / (t1 − t0); t0 when all flows, connected before, \
are told to start; t1 when the receiving end has taken the last byte and closed, and the client \
knows of it";

const DATAGRAM_TIMING: &str = "\
throughput = bytes that the receiving end took / (t1 − t0); t0 when all flows, known to both ends \
before, are told to start; t1 when the last datagram is handed over. What the receiving end takes \
counts until nothing has come for 0.1 s after that";

const CONNECTION_DESCRIPTION: &str = "\
The sending end hands over messages of one size, one call each, from buffers that take turns: as \
many as fill the socket's buffer before it is connected, and one more, as netperf does it. Each \
flow has a thread of its own at both ends unless fewer are asked for; then those that can go on \
have turns of at most 16 calls. After the time the sending end closes its half of the connection, \
and the flow ends when the receiving end has taken everything. What was received counts.";

const DATAGRAM_DESCRIPTION: &str = "\
The sending end hands over datagrams of one size, from buffers that take turns: as many as fill \
the socket's buffer, and one more, as netperf does it. Nothing holds it back, so that what it \
sends says little: what arrives counts, and what does not is the loss. Where it was lost is among \
the counters of both ends: failed_sends (the queue of the network card was full), UdpSndbufErrors, \
SoftnetDropped, UdpRcvbufErrors (the receiving socket's buffer was full).";

impl Family for Stream {
    type Params = Params;

    fn foreign(&self) -> Vec<&'static str> {
        check::foreign(self)
    }

    fn check(&self, params: &Params) -> Result<(), Failure> {
        check::check(params, self)
    }

    fn timing(params: &Params) -> Timing {
        params.timing
    }

    fn most_threads(params: &Params) -> u32 {
        params.client.most_threads(&params.flows)
    }

    fn run(
        &self,
        params: &Params,
        far: &FarEnd,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        run::run(*self, params, far, event_sink)
    }
}

impl Workload for Stream {
    fn name(&self) -> &'static str {
        self.name
    }

    fn card(&self) -> Card {
        // A datagram that fits into one Ethernet frame; larger ones are sent in fragments.
        let (timing, description, usual) = match self.transport {
            Transport::Udp => (DATAGRAM_TIMING, DATAGRAM_DESCRIPTION, json!(1_472)),
            _ => (CONNECTION_TIMING, CONNECTION_DESCRIPTION, json!("16k")),
        };
        Card {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            target: TargetKind::Far,
            about: self.about.to_owned(),
            lineage: self.lineage.to_owned(),
            timing: timing.to_owned(),
            description: description.to_owned(),
            parameters: plan::schema(self),
            metrics: measures::cards(self.transport),
            grid: params::GRID.map(str::to_owned).into(),
            usual: json!({"message": usual, "seconds": 2}),
            smoke: json!({"message": ["1k", "16k"], "flows": [1, 2], "seconds": 0.05}),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, far: &FarEnd) -> Planned {
        plan::plan(*self, parameters, far)
    }
}
