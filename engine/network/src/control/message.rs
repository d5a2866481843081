//! What is said on a control connection.

use std::path::PathBuf;
use std::time::Duration;

use kit::failure::no_memory;
use kit::team::Finish;
use kit::Buffer;
use serde::{Deserialize, Serialize};
use wire::{Connection, Failure, Side};

use crate::flow::ring::Ring;
use crate::placement::Wanted;
use crate::socket::{SocketOptions, Transport};

/// Version of these messages; both ends must have the same.
pub const VERSION: u32 = 1;

/// What the client says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum ToServer {
    /// Who it is.
    Hello(Hello),
    /// What is to be done next.
    Open(Box<Work>),
    /// All are connected: be ready for data.
    Begin,
    /// Send now, where the work is held.
    Go,
    /// No more is to come: end in the way that belongs to the work, and report.
    Finish,
}

/// What the server says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToClient {
    /// Who it is.
    Greeting(Greeting),
    /// What was asked for will not be done, and why.
    Refused(String),
    /// Where data connections may come to.
    Ready(Ready),
    /// All flows are connected.
    Connected,
    /// Data may come.
    Begun,
    /// What was done.
    Report(Box<Report>),
}

/// The first words of the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Greeting {
    /// [`VERSION`].
    pub version: u32,
    /// Version of its engine.
    pub engine: String,
    /// Drawn for this connection; a shared secret is proven with it.
    pub nonce: String,
    /// Whether there is a secret to be proven.
    pub wants_proof: bool,
}

/// The first words of the client.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// That it knows the secret; see [`super::secret`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// The server's part of one measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    pub transport: Transport,
    pub role: Role,
    /// Connections, or pairs of sockets.
    pub flows: u32,
    /// Threads that serve them.
    pub threads: u32,
    /// Options of the server's sockets.
    pub options: SocketOptions,
    /// Where they run.
    pub placement: Wanted,
    /// How long the data may flow, in seconds; the server adds a grace of its own.
    pub longest_s: f64,
    /// Between two looks at connections and counts, in seconds.
    pub look_s: f64,
    /// The server is ready, and waits for [`ToServer::Go`] before it sends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// What the server does with each flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Role {
    /// Takes what comes, until there is no more.
    Receive(Receive),
    /// Sends for a time, or so many bytes.
    Send(Send),
    /// Answers each request, until there are no more.
    Respond(Exchange),
    /// Accepts a connection for each transaction, answers its request, and closes it.
    Accept(Exchange),
}

/// Taking data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// What is asked for at once.
    pub messages: Messages,
    /// The kernel throws the data away instead of copying them (MSG_TRUNC).
    #[serde(default)]
    pub skip_copy: bool,
    /// Datagrams of one size that come together are taken by one call (UDP_GRO).
    #[serde(default)]
    pub gro: bool,
}

/// Handing over data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// What is handed over at once.
    pub messages: Messages,
    /// When to stop.
    pub limit: Limit,
    /// The kernel takes the data from our pages, without a copy (MSG_ZEROCOPY).
    #[serde(default)]
    pub zerocopy: bool,
    /// Datagrams that are handed over at once (UDP_SEGMENT); 1: one with each call.
    #[serde(default = "one")]
    pub segments: u32,
    /// Datagrams are sent at this rate, in bytes per second of each flow; absent: as fast as they
    /// are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

fn one() -> u32 {
    1
}

impl Send {
    /// As fast as the other end takes them, one message with each call.
    pub fn plain(messages: Messages, limit: Limit) -> Self {
        Self {
            messages,
            limit,
            zerocopy: false,
            segments: 1,
            rate: None,
        }
    }

    /// Bytes that one call hands over.
    pub fn call_bytes(&self) -> u64 {
        self.messages.bytes.saturating_mul(u64::from(self.segments))
    }

    /// How many messages each flow sends at most.
    pub fn most_messages(&self) -> u64 {
        match self.limit {
            Limit::Seconds(_) => u64::MAX,
            Limit::Operations(operations) => operations,
        }
    }
}

/// What moves at once, and from or to where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Bytes of one.
    pub bytes: u64,
    /// Buffers that take turns; absent: as many as fill the socket's buffer, and one more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u64>,
}

impl Messages {
    /// The buffers, for a socket whose own buffer holds `socket_bytes`, at an alignment.
    ///
    /// # Errors
    /// `BadJob` when they would be too large; `HostLacks` without memory.
    pub fn ring(self, socket_bytes: u64, ring_bytes: u64, align: u32) -> Result<Ring, Failure> {
        let width = self
            .width
            .unwrap_or(Ring::width_for(socket_bytes, self.bytes, ring_bytes));
        Ring::new(self.bytes, width, align).map_err(no_memory)
    }
}

/// Bytes of a request and of the response to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Of each request; one at least.
    pub request: u64,
    /// Of each response; one at least.
    pub response: u64,
}

impl Exchange {
    /// Of both.
    pub fn bytes(self) -> u64 {
        self.request + self.response
    }

    /// Memory for a request and a response.
    ///
    /// # Errors
    /// `HostLacks` without memory.
    pub fn buffers(self) -> Result<[Buffer; 2], Failure> {
        let buffer = |bytes: u64| Buffer::new(bytes as usize).map_err(no_memory);
        Ok([buffer(self.request)?, buffer(self.response)?])
    }
}

/// How much there is to do, for each flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// As much as goes into that time.
    Seconds(f64),
    /// So many messages, bytes being whole ones; or so many transactions.
    Operations(u64),
}

/// What there is no time for may take so long.
const LONGEST_S: f64 = 3_600.0;

impl Limit {
    /// How long the work may take, in seconds.
    pub fn longest_s(self) -> f64 {
        match self {
            Limit::Seconds(seconds) => seconds,
            Limit::Operations(_) => LONGEST_S,
        }
    }

    /// How many operations there are at most.
    pub fn operations(self) -> u64 {
        match self {
            Limit::Seconds(_) => u64::MAX,
            Limit::Operations(operations) => operations,
        }
    }

    /// When threads that still have work stop.
    pub fn finish(self) -> Finish {
        match self {
            Limit::Seconds(seconds) => Finish::After(Duration::from_secs_f64(seconds)),
            Limit::Operations(_) => Finish::Everyone,
        }
    }
}

/// Where data connections go.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ready {
    /// The port of the listener; with UDP one of each flow.
    pub ports: Vec<u16>,
    /// Of a Unix socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// What each data connection begins with, before the number of its flow, so that nobody else
    /// takes its place.
    pub token: String,
}

/// What the server did and saw.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The sums of all flows, and the host.
    pub side: Side,
    /// From the opening of its gate until its last flow ended, in seconds.
    pub elapsed_s: f64,
    /// How the kernel saw the connections.
    pub connections: Vec<Connection>,
}
