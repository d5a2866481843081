//! The far end: serves one client after the other, and refuses others meanwhile with a reason.

mod meet;
mod session;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kit::stop;
use wire::Failure;

use crate::control::frame;
use crate::control::message::ToNear;
use crate::failure::refused;

/// Between two looks at a stop request.
const LOOK: Duration = Duration::from_millis(50);

/// What the far end offers.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Version of the engine, told to clients.
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

/// What clients may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest time that data may flow.
    pub time: Duration,
    /// Most flows at once.
    pub flows: u32,
    /// Most bytes of one measurement, where there is a limit.
    pub bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(3_600),
            flows: 256,
            bytes: None,
        }
    }
}

/// A far end that listens.
pub struct Server {
    offer: Arc<Offer>,
    listeners: Vec<TcpListener>,
}

impl Server {
    /// Listens at all addresses of the offer.
    ///
    /// # Errors
    /// `Io` or `HostLacks`, naming the address and port.
    pub fn bind(offer: Offer) -> Result<Self, Failure> {
        let mut port = offer.port;
        let mut listeners = Vec::new();
        for &ip in &offer.bind {
            let address = SocketAddr::new(ip, port);
            let listener =
                listen(address).map_err(|error| refused(format!("listen at {address}"), &error))?;
            // Any port means one for all addresses.
            port = listener.local_addr().map_or(port, |address| address.port());
            listeners.push(listener);
        }
        Ok(Self {
            offer: Arc::new(offer),
            listeners,
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.listeners.iter().map(TcpListener::local_addr);
        addresses.filter_map(Result::ok).collect()
    }

    /// Serves until a stop of this process is asked for.
    pub fn run(&self) {
        self.run_until(&AtomicBool::new(false));
    }

    /// Serves until `is_over`, which is looked at now and then, or a stop is asked for.
    pub fn run_until(&self, is_over: &AtomicBool) {
        let busy = Arc::new(AtomicBool::new(false));
        let mut served = false;
        let is_done = |served| self.offer.once && served && !busy.load(Ordering::SeqCst);
        let is_stopped = || stop::requested() || is_over.load(Ordering::Relaxed);
        while !(is_stopped() || is_done(served)) {
            let mut came = false;
            for listener in &self.listeners {
                if let Ok((stream, _)) = listener.accept() {
                    came = true;
                    served |= self.admit(stream, &busy);
                }
            }
            if !came {
                thread::sleep(LOOK);
            }
        }
    }

    /// Gives a client a session of its own, unless there is one already.
    fn admit(&self, mut stream: TcpStream, busy: &Arc<AtomicBool>) -> bool {
        let prepared = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_write_timeout(Some(session::PATIENCE)));
        if prepared.is_err() {
            return false;
        }
        if busy.swap(true, Ordering::SeqCst) {
            let reason = "busy with another client; try again when it is done".to_owned();
            // Whoever does not take it has gone away again.
            let _ = frame::send(&mut stream, &ToNear::Refused(reason));
            return false;
        }
        let (offer, freed) = (Arc::clone(&self.offer), Free(Arc::clone(busy)));
        let session = thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                let _freed = freed;
                session::serve(&offer, stream);
            });
        session.is_ok()
    }
}

/// Makes room for the next client, however a session ends.
struct Free(Arc<AtomicBool>);

impl Drop for Free {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
