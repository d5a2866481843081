//! A server in this process, and trials against it.

// Each test uses a part of this.
#![allow(dead_code)]

pub mod namespaces;

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use network::server::{Limits, Server, ServerConfig};
use network::stop::Stop;
use network::workload::{Workload, ALL};
use serde_json::{Map, Value};
use testing::{Subject, Taken};
use wire::{Failure, FarEnd};

/// Serves at a port of its own until it is dropped.
pub struct Served {
    /// Of the control connection.
    pub address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// What a server at `ip` offers by default, at any port.
pub fn config(ip: &str) -> ServerConfig {
    ServerConfig {
        engine: "0".to_owned(),
        bind: vec![ip.parse().unwrap()],
        port: 0,
        data_ports: None,
        secret: None,
        limits: Limits::default(),
        clients: 1,
        once: false,
    }
}

impl Served {
    /// Listens at `ip`.
    pub fn at(ip: &str) -> Self {
        Self::offering(config(ip))
    }

    /// Listens as offered.
    pub fn offering(config: ServerConfig) -> Self {
        let server = Server::bind(config).unwrap();
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

/// Executes a trial of the workload of that name.
pub fn run(name: &str, parameters: &Value, far: &FarEnd) -> Result<Taken, Failure> {
    attempt(workload(name), parameters.as_object().unwrap(), far)
}

/// A server that nobody ever talks to.
pub fn nowhere() -> FarEnd {
    FarEnd {
        address: "192.0.2.1".to_owned(),
        port: 1,
        secret: None,
        local: None,
    }
}

/// The workload of that name.
pub fn workload(name: &str) -> &'static dyn Workload {
    let found = ALL.iter().find(|known| known.card().name == name);
    *found.unwrap()
}

/// Executes a trial, which may fail.
pub fn attempt(
    workload: &dyn Workload,
    parameters: &Map<String, Value>,
    far: &FarEnd,
) -> Result<Taken, Failure> {
    Taken::of(workload.plan(parameters, far)?)
}

/// Executes a trial.
pub fn execute(workload: &dyn Workload, parameters: &Map<String, Value>, far: &FarEnd) -> Taken {
    attempt(workload, parameters, far)
        .unwrap_or_else(|failure| panic!("{}: {failure:?}", workload.card().name))
}

/// `workload` with a server.
pub fn subject<'a>(workload: &'a dyn Workload, far: &'a FarEnd) -> Subject<'a> {
    Subject::new(workload.card(), move |parameters| {
        workload.plan(parameters, far)
    })
}
