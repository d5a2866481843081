//! What the request/response workloads have in common.
//!
//! Timing formula: transactions = responses / (t1 − t0); t0 when all flows, which are connected,
//! are told to start; t1 when the last response is here as a whole, and with a rate no earlier
//! than when the next request would be due. Where each transaction has a connection of its own,
//! connecting and closing lie inside.

mod measures;
mod params;
mod ports;
mod run;
mod size;

use kit::trial::Planned;
use kit::EventSink;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, FarEnd, TargetKind, Timing};

use self::params::Params;
use super::plan::{self, Family};
use super::Workload;
use crate::socket::Transport;

/// A request/response workload.
#[derive(Debug, Clone, Copy)]
pub struct RequestResponse {
    /// As `describe` lists it.
    pub name: &'static str,
    /// As people read it.
    pub title: &'static str,
    /// One line.
    pub about: &'static str,
    /// Who made it first.
    pub lineage: &'static str,
    /// What carries the messages.
    pub transport: Transport,
    /// How often there is a new connection.
    pub connecting: Connecting,
}

/// How often there is a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connecting {
    /// Once, before the first instant.
    Once,
    /// For each transaction.
    Each,
}

/// Requests and responses over TCP connections that last.
pub const TCP_RR: RequestResponse = RequestResponse {
    name: "tcp_rr",
    title: "TCP request/response",
    about: "requests and responses over TCP",
    lineage: "netperf's TCP_RR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    connecting: Connecting::Once,
};

/// Requests and responses as datagrams, any of which may be lost.
pub const UDP_RR: RequestResponse = RequestResponse {
    name: "udp_rr",
    title: "UDP request/response",
    about: "requests and responses over UDP",
    lineage: "netperf's UDP_RR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Udp,
    connecting: Connecting::Once,
};

/// Requests and responses between two processes of one host.
pub const UNIX_RR: RequestResponse = RequestResponse {
    name: "unix_rr",
    title: "Unix socket request/response",
    about: "requests and responses over Unix sockets of one host",
    lineage: "netperf's STREAM_RR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Unix,
    connecting: Connecting::Once,
};

/// A TCP connection for each transaction.
pub const TCP_CRR: RequestResponse = RequestResponse {
    name: "tcp_crr",
    title: "TCP connect/request/response",
    about: "a TCP connection for each request and response",
    lineage: "netperf's TCP_CRR by Rick Jones, https://github.com/HewlettPackard/netperf",
    transport: Transport::Tcp,
    connecting: Connecting::Each,
};

const TIMING: &str = "\
transactions = responses / (t1 − t0); t0 when all flows, connected before, are told to start; t1 \
when the last response is here as a whole, and with a rate no earlier than when the next request \
would be due; latency = from the sending of a request, or with a rate from the instant at which \
it was due, until its response is here as a whole";

const DESCRIPTION: &str = "\
Each flow has a thread of its own at both ends. The client sends a request and waits until the \
response is here as a whole; the server receives a request as a whole and sends the response. \
With a burst so many more transactions are under way, and one that is answered is followed by \
another. With a rate, requests are sent when they are due, however many are under way. After the \
time nothing more is sent; what is under way then is waited for and counts, so that both ends \
count the same.";

const EACH_TIMING: &str = "\
transactions = responses / (t1 − t0); t0 when all flows are told to start; t1 when the last \
connection is closed; latency = from the making of a socket until the server has closed the \
connection and this end too; connect_time = from the making of a socket until it is connected";

const EACH_DESCRIPTION: &str = "\
Each flow has a thread of its own at both ends, and a port of its own at the server. For each \
transaction the client connects and sends a request; the server accepts, receives the request \
as a whole, sends the response and closes; the client takes the response, sees the end, and \
closes. The server closes first, so that connections wait there for a minute (TIME_WAIT) and the \
client's ports are free again. The clock is read twice for each transaction, whatever the timing.";

const DATAGRAMS: &str = "\
 A datagram begins with the lowest bytes of its transaction's number, up to 8, as far as request \
and response have room. One that is not answered in time is lost and counted; another follows, \
and a response that comes later still is dropped. To know the age of what is under way, the clock \
is read for each transaction, whatever the timing.";

impl RequestResponse {
    /// Dimensions of its grid.
    fn grid(&self) -> &'static [&'static str] {
        match self.connecting {
            Connecting::Once => &["request", "response", "burst", "flows"],
            Connecting::Each => &["request", "response", "flows"],
        }
    }
}

impl Family for RequestResponse {
    type Params = Params;

    fn foreign(&self) -> Vec<&'static str> {
        params::foreign(self).to_vec()
    }

    fn check(&self, params: &Params) -> Result<(), Failure> {
        params.check(self)
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

impl Workload for RequestResponse {
    fn name(&self) -> &'static str {
        self.name
    }

    fn card(&self) -> Card {
        let is_udp = self.transport == Transport::Udp;
        let (timing, description) = match self.connecting {
            Connecting::Once => (TIMING, DESCRIPTION),
            Connecting::Each => (EACH_TIMING, EACH_DESCRIPTION),
        };
        let mut smoke = json!({"size": [1, "100/200"], "flows": [1, 2], "seconds": 0.05});
        if self.grid().contains(&"burst") {
            smoke["burst"] = json!([0, 3]);
        }
        Card {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            target: TargetKind::Far,
            about: self.about.to_owned(),
            lineage: self.lineage.to_owned(),
            timing: timing.to_owned(),
            description: [description, if is_udp { DATAGRAMS } else { "" }].concat(),
            parameters: plan::schema(self),
            metrics: measures::cards(!is_udp),
            grid: self.grid().iter().map(|&name| name.to_owned()).collect(),
            usual: json!({"size": 1, "seconds": 2}),
            smoke,
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, far: &FarEnd) -> Planned {
        plan::plan(*self, parameters, far)
    }
}
