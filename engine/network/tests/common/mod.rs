//! A far end in this process.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use network::serve::{Limits, Offer, Server};
use wire::FarEnd;

/// Serves at a port of its own until it is dropped.
pub struct Served {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Listens at `ip`.
    pub fn at(ip: &str) -> Self {
        let server = Server::bind(Offer {
            engine: "0".to_owned(),
            bind: vec![ip.parse().unwrap()],
            port: 0,
            data_ports: None,
            secret: None,
            limits: Limits::default(),
            once: false,
        })
        .unwrap();
        let address = server.addresses()[0];
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        Self {
            address,
            is_over,
            thread: Some(thread::spawn(move || server.run_until(&seen))),
        }
    }

    /// As a job names it.
    pub fn far(&self) -> FarEnd {
        FarEnd {
            address: self.address.ip().to_string(),
            port: self.address.port(),
            secret: None,
            local: None,
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
