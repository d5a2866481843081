//! The remote end: driven by a stock netperf, or ours. Every client has a control connection and,
//! once it has said something, a thread of its own; what it asks for is held to limits before
//! anything is allocated.
//!
//! A file named by a client is never opened: any client could read it.

mod acceptor;
mod plan;
mod session;
mod shared;
mod test;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use kit::failure::failure;
use kit::stop;
use wire::{Failure, FailureKind};

use self::acceptor::Acceptor;
use self::plan::Plan;
use self::shared::SharedState;
use super::message::{Generation, Message, TestType};
use network::flow::ring::Shape;
use network::networks::Network;

/// Bytes of all rings together, at most, unless it is said.
const MEMORY_BYTES: u64 = 1 << 30;

/// What clients may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// So many at a time; of which one host has three quarters at most.
    pub clients: usize,
    /// Bytes of the rings of buffers of all clients together. Each may have two, 64 MiB each at
    /// most; one for whose rings not enough is left is refused.
    pub memory_bytes: u64,
    /// The only ones whose clients are served; all, unless given.
    pub networks: Option<Vec<Network>>,
    /// Longest lifetime of a control connection.
    pub session: Duration,
    /// Longest test; a request for more is refused.
    pub test: Duration,
    /// Most bytes of a test at this end; a request for more is refused.
    pub bytes: Option<u64>,
    /// Ports for data; any, unless given.
    pub data_ports: Option<RangeInclusive<u16>>,
    /// The passphrase that clients must send first.
    pub passphrase: Option<String>,
    /// The format of results: a netperf 2.6 looks like a later one.
    pub generation: Generation,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 32,
            memory_bytes: MEMORY_BYTES,
            networks: None,
            session: Duration::from_secs(24 * 3_600),
            test: Duration::from_secs(3_600),
            bytes: None,
            data_ports: None,
            passphrase: None,
            generation: Generation::default(),
        }
    }
}

/// What a server with `limits` would take for `message`, read as a request of `test` by a client of
/// this host: bytes of its rings, if it would do it. Nothing is opened or allocated.
pub fn consider(test: TestType, message: &Message, limits: &Limits) -> Option<u64> {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let request = message.to_request(test);
    let plan = Plan::of(test, &request, (local.ip(), local), limits).ok()?;
    // The kernel's default sizes.
    let [send, receive] = plan.shapes(&request, (212_992, 212_992)).ok()?;
    let bytes = [send, receive].into_iter().flatten().map(Shape::bytes);
    plan.client
        .is_none_or(|client| client.ip() == local.ip())
        .then(|| bytes.sum())
}

/// Serves the clients of `listeners` until a stop is requested.
///
/// # Errors
/// `Io` when a listener breaks.
pub fn serve(listeners: &[TcpListener], limits: &Limits) -> Result<(), Failure> {
    let broken = |error: io::Error| {
        failure(
            FailureKind::Io,
            format!("cannot listen for netperf: {error}"),
        )
    };
    for listener in listeners {
        // One of several may have lost its client before we get to it.
        listener.set_nonblocking(true).map_err(broken)?;
    }
    let shared = &SharedState::new(limits);
    let mut acceptor = Acceptor::new(shared);
    thread::scope(|scope| {
        while !stop::requested() {
            for (stream, place) in acceptor.attend(listeners).map_err(broken)? {
                let client = thread::Builder::new().name("netperf client".to_owned());
                // Without a thread the connection is closed; the client sees that.
                let _ = client.spawn_scoped(scope, move || {
                    session::attend(stream, shared);
                    drop(place);
                });
            }
        }
        Ok(())
    })
}
