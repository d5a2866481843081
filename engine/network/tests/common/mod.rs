//! A far end in this process, and trials against it.

// Each test uses a part of this.
#![allow(dead_code)]

pub mod namespaces;

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use kit::ledger::Totals;
use kit::Ledger;
use network::serve::{Limits, Offer, Server};
use network::stop::Stop;
use network::workload::{Workload, ALL};
use serde_json::{Map, Value};
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
    let taken = attempt(workload(name), parameters.as_object().unwrap(), far)?;
    Ok(Done {
        samples: samples(&taken).into_iter().cloned().collect(),
        totals: taken.totals,
    })
}

/// A far end that nobody ever talks to.
pub fn nowhere() -> FarEnd {
    FarEnd {
        address: "192.0.2.1".to_owned(),
        port: 1,
        secret: None,
        local: None,
    }
}

/// What a trial told.
pub struct Taken {
    pub events: Vec<Event>,
    pub totals: Totals,
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
    let mut events = Vec::new();
    let mut emit = |event| events.push(event);
    let mut ledger = Ledger::new(&mut emit);
    workload.plan(parameters, far)?.run(&mut ledger)?;
    let totals = ledger.totals;
    Ok(Taken { events, totals })
}

/// Executes a trial.
pub fn execute(workload: &dyn Workload, parameters: &Map<String, Value>, far: &FarEnd) -> Taken {
    attempt(workload, parameters, far)
        .unwrap_or_else(|failure| panic!("{}: {failure:?}", workload.card().name))
}

/// The smoke parameters of a card with some of them changed.
pub fn smoke_with(workload: &dyn Workload, changes: Value) -> Map<String, Value> {
    let mut parameters = workload.card().smoke.as_object().unwrap().clone();
    parameters.extend(changes.as_object().unwrap().clone());
    parameters
}

/// What was measured.
pub fn samples(taken: &Taken) -> Vec<&Sample> {
    let events = taken.events.iter();
    events
        .filter_map(|event| match event {
            Event::Sample(sample) => Some(sample),
            _ => None,
        })
        .collect()
}
