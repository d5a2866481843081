//! A far end in this process.
#![allow(dead_code)] // Each test uses a part.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use network::serve::{Limits, Offer, Server};
use network::stop::Stop;
use wire::FarEnd;

/// Serves at a port of its own until it is dropped.
pub struct Served {
    /// Of the control connection.
    pub address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// What a far end at `ip` offers by default, at any port.
pub fn offer(ip: &str) -> Offer {
    Offer {
        engine: "0".to_owned(),
        bind: vec![ip.parse().unwrap()],
        port: 0,
        data_ports: None,
        secret: None,
        limits: Limits::default(),
        once: false,
    }
}

impl Served {
    /// Listens at `ip`.
    pub fn at(ip: &str) -> Self {
        Self::offering(offer(ip))
    }

    /// Listens as offered.
    pub fn offering(offer: Offer) -> Self {
        let server = Server::bind(offer).unwrap();
        let address = server.addresses()[0];
        let stop = server.stop();
        Self {
            address,
            stop,
            thread: Some(thread::spawn(move || server.run())),
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
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
