//! What a tool works on: it hands over jobs, and says what to print of their events.

use std::net::TcpListener;
use std::path::Path;

use netperf::client::{Interim, Outcome, Site, Test};
use netperf::server::Limits;
use serde_json::{Map, Value};
use wire::{ConditionsWanted, Event, Failure, Job, Target, Warning, PROTOCOL};

use crate::common::Common;

/// What the engine does for a tool.
pub trait Host {
    /// Prints text to standard output, at once.
    fn print(&mut self, text: &str);

    /// Prints a remark to standard error.
    fn remark(&mut self, text: &str);

    /// Writes one event to standard output as a line of JSON.
    fn record(&mut self, event: &Event);

    /// Executes a job; every event is handed to `listener` as it comes, the `end` too. Where it
    /// `is_recorded`, the events also tell what else the host did meanwhile.
    ///
    /// # Errors
    /// What kept the job from being done; the listener got the same in the `end`.
    fn execute(
        &mut self,
        job: &Job,
        is_recorded: bool,
        listener: &mut dyn FnMut(&mut dyn Host, &Event),
    ) -> Result<(), Failure>;

    /// Opens a control connection to a netserver.
    ///
    /// # Errors
    /// What kept it from being opened.
    fn call_netserver(&mut self, site: Site) -> Result<Box<dyn Netserver>, Failure>;

    /// Is a netserver, until a stop is asked for; if `in_background`, in a process of its own.
    ///
    /// # Errors
    /// What kept it from serving.
    fn serve_netperf(
        &mut self,
        listeners: &[TcpListener],
        limits: &Limits,
        in_background: bool,
    ) -> Result<(), Failure>;
}

/// A netserver that listens to us.
pub trait Netserver {
    /// Runs a test once, on `cpu` if one is named; figures on the way go to `observer`.
    ///
    /// # Errors
    /// Why it came to nothing.
    fn run(
        &mut self,
        test: &Test,
        cpu: Option<u32>,
        observer: &mut dyn FnMut(Interim),
    ) -> Result<Outcome, Failure>;
}

/// How a tool shows what a job found.
pub trait Printer {
    /// What is to be printed when `event` comes; empty for nothing.
    fn text_of(&mut self, event: &Event) -> String;

    /// Whether `warning` is printed to standard error.
    fn passes_on(&mut self, warning: &Warning) -> bool {
        let _ = warning;
        true
    }

    /// Called once, when the job is over and whether or not it `succeeded`: what is to be said to
    /// people besides.
    ///
    /// # Errors
    /// What could not be written.
    fn finish(&mut self, succeeded: bool) -> Result<Vec<String>, Failure> {
        let _ = succeeded;
        Ok(Vec::new())
    }
}

/// The engine, and what the person who called the tool wants of it.
pub struct Bench<'a> {
    host: &'a mut dyn Host,
    common: Common,
}

impl<'a> Bench<'a> {
    /// A bench that works through `host`.
    pub fn new(host: &'a mut dyn Host, common: Common) -> Self {
        Self { host, common }
    }

    /// Whether files that would be overwritten are to be removed first.
    pub fn force(&self) -> bool {
        self.common.force
    }

    /// Whether events are wanted instead of the tool's own text.
    pub fn wants_json(&self) -> bool {
        self.common.json
    }

    /// Prints text of the tool's own, unless JSON is wanted.
    pub fn print(&mut self, text: &str) {
        if !self.common.json {
            self.host.print(text);
        }
    }

    /// Prints a remark to standard error.
    pub fn remark(&mut self, text: &str) {
        self.host.remark(text);
    }

    /// Opens a control connection to a netserver.
    ///
    /// # Errors
    /// What kept it from being opened.
    pub fn call_netserver(&mut self, site: Site) -> Result<Box<dyn Netserver>, Failure> {
        self.host.call_netserver(site)
    }

    /// Is a netserver, until a stop is asked for; if `in_background`, in a process of its own.
    ///
    /// # Errors
    /// What kept it from serving.
    pub fn serve_netperf(
        &mut self,
        listeners: &[TcpListener],
        limits: &Limits,
        in_background: bool,
    ) -> Result<(), Failure> {
        self.host.serve_netperf(listeners, limits, in_background)
    }

    /// Executes one job and prints what `printer` makes of it, or its events when JSON is
    /// wanted. Warnings go to people.
    ///
    /// # Errors
    /// What kept the job from being done.
    pub fn execute(&mut self, job: &Job, printer: &mut dyn Printer) -> Result<(), Failure> {
        let json = self.common.json;
        self.host.execute(job, json, &mut |host, event| {
            let text = printer.text_of(event);
            if json {
                return host.record(event);
            }
            if !text.is_empty() {
                host.print(&text);
            }
            match event {
                Event::Warning(warning) if printer.passes_on(warning) => {
                    host.remark(&warning.message);
                }
                _ => {}
            }
        })
    }
}

/// A job for `workload` on files in `directory`.
pub fn job(workload: &str, parameters: Map<String, Value>, directory: &Path) -> Job {
    Job {
        protocol: PROTOCOL,
        workload: workload.to_owned(),
        parameters,
        target: Target::directory(directory),
        conditions: ConditionsWanted::default(),
    }
}

/// The parameters of a job, written as an object.
pub fn parameters(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(parameters) => parameters,
        _ => unreachable!("parameters are written as an object"),
    }
}
