//! A far end in this process.
#![allow(dead_code)] // Each test uses a part.

pub mod namespaces;

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use kit::ledger::Totals;
use kit::Ledger;
use network::serve::{Limits, Offer, Server};
use network::stop::Stop;
use network::workload;
use serde_json::Value;
use wire::{Event, Failure, FarEnd, Sample};

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

/// What a trial gave.
pub struct Done {
    pub totals: Totals,
    pub samples: Vec<Sample>,
}

impl Done {
    /// All values of a metric, in order.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        let of_metric = self.samples.iter().filter(|sample| sample.metric == metric);
        of_metric.map(|sample| sample.value).collect()
    }
}

/// Executes a trial of the workload of that name.
pub fn run(name: &str, parameters: &Value, far: &FarEnd) -> Result<Done, Failure> {
    let workload = workload::ALL
        .iter()
        .find(|workload| workload.card().name == name);
    let trial = workload
        .unwrap()
        .plan(parameters.as_object().unwrap(), far)?;
    let mut samples = Vec::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            samples.push(sample);
        }
    };
    let mut ledger = Ledger::new(&mut emit);
    trial.run(&mut ledger)?;
    let totals = ledger.totals;
    Ok(Done { totals, samples })
}
