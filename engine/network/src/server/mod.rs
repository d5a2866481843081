//! The server: serves one client after the other, and refuses others meanwhile with a reason.
//!
//! ```text
//! connect ─► acceptor: greeting, hello ─► session: open … report, again and again
//!            many, one thread         one at a time, with threads of its own
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
    /// What clients may ask for.
    pub limits: Limits,
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

    /// Serves until a stop is requested, of which a client being served is informed. All threads
    /// have
    /// ended when this returns.
    pub fn run(&self) {
        let mut acceptor = Acceptor::new(&self.config);
        let mut session: Option<JoinHandle<()>> = None;
        while !self.stop.requested() {
            if session.as_ref().is_some_and(JoinHandle::is_finished) {
                end(session.take());
                if self.config.once {
                    break;
                }
            }
            if session.is_none() {
                session = acceptor.next().and_then(|client| self.begin(client));
            }
            acceptor.attend(&self.listeners, &self.stop);
        }
        acceptor.close(&self.listeners, &self.stop);
        end(session);
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

fn end(session: Option<JoinHandle<()>>) {
    if let Some(session) = session {
        // It has caught its own panic.
        let _ = session.join();
    }
}
