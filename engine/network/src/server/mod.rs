//! The server: serves one client after the other, or so many at once as it is told to, and refuses
//! others meanwhile with a reason.
//!
//! ```text
//! connect ─► acceptor: greeting, hello ─► session: open … report, again and again
//!            many, one thread             one or a few at a time, each with threads of its own
//! ```

mod acceptor;
mod limits;
pub mod listen;
mod rendezvous;
mod session;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use kit::failure::bad_parameter;
use wire::Failure;

pub use self::limits::{Limits, MEMORY_BYTES};

use self::acceptor::Acceptor;
use crate::control::channel::Channel;
use crate::stop::Stop;

/// What the server offers.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Version of the engine, sent to clients.
    pub engine: String,
    /// Addresses to listen at.
    pub bind: Vec<IpAddr>,
    /// Port of the control connection; 0: any.
    pub port: u16,
    /// Ports of data connections; `None`: any.
    pub data_ports: Option<RangeInclusive<u16>>,
    /// What clients must know.
    pub secret: Option<String>,
    /// What each client may ask for.
    pub limits: Limits,
    /// So many are served at once.
    pub clients: usize,
    /// End after the first client.
    pub once: bool,
}

/// A server that listens.
pub struct Server {
    config: Arc<ServerConfig>,
    listeners: Vec<TcpListener>,
    stop: Stop,
}

impl Server {
    /// Listens at all addresses of the config.
    ///
    /// # Errors
    /// `BadJob` for an address that other hosts reach without a secret; see also [`listen::at`].
    pub fn bind(config: ServerConfig) -> Result<Self, Failure> {
        if let (Some(address), None) = (listen::open_to_others(&config.bind), &config.secret) {
            let message = format!(
                "--bind {address}: whoever reaches that address could use this server. Fix: add \
                 --secret-file FILE, or bind a loopback address"
            );
            return Err(bad_parameter("bind", message));
        }
        let listeners = listen::at(&config.bind, config.port)?;
        Ok(Self {
            config: Arc::new(config),
            listeners,
            stop: Stop::default(),
        })
    }

    /// What ends [`Server::run`].
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.listeners.iter().map(TcpListener::local_addr);
        addresses.filter_map(Result::ok).collect()
    }

    /// Serves until a stop is requested, of which clients being served are informed. All threads
    /// have ended when this returns.
    pub fn run(&self) {
        let mut acceptor = Acceptor::new(&self.config);
        let mut sessions: Vec<JoinHandle<()>> = Vec::new();
        while !self.stop.requested() {
            let (over, still): (Vec<_>, _) =
                sessions.into_iter().partition(JoinHandle::is_finished);
            sessions = still;
            if self.config.once && !over.is_empty() {
                break;
            }
            over.into_iter().for_each(end);
            while sessions.len() < self.config.clients {
                let Some(client) = acceptor.next() else {
                    break;
                };
                sessions.extend(self.begin(client));
            }
            acceptor.attend(&self.listeners, &self.stop);
        }
        acceptor.close(&self.listeners, &self.stop);
        sessions.into_iter().for_each(end);
    }

    /// Starts a session for a client; `None` if there is no thread for it.
    fn begin(&self, client: Channel) -> Option<JoinHandle<()>> {
        let config = Arc::clone(&self.config);
        let session = thread::Builder::new()
            .name("session".into())
            .spawn(move || session::serve(&config, client));
        session.ok()
    }
}

fn end(session: JoinHandle<()>) {
    // It has caught its own panic.
    let _ = session.join();
}
