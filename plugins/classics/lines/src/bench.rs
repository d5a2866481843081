//! What a tool works on: it hands over jobs, and says what to print of their events.

use std::path::Path;

use engine::tool::Host;
use netperf::client::{self, Interim, Outcome, Site, Test};
use serde_json::{Map, Value};
use wire::{ConditionsWanted, Event, Failure, Job, Target, Warning, PROTOCOL};

use crate::common::Common;

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
    /// Opens a control connection to a netserver.
    call: Box<Call<'a>>,
}

type Call<'a> = dyn FnMut(Site) -> Result<Box<dyn Netserver>, Failure> + 'a;

impl<'a> Bench<'a> {
    /// A bench that works through `host`.
    pub fn new(host: &'a mut dyn Host, common: Common) -> Self {
        Self {
            host,
            common,
            call: Box::new(|site| Ok(Box::new(client::Netserver::connect(site)?))),
        }
    }

    /// The same, with other netservers.
    #[cfg(test)]
    pub fn calling(
        self,
        call: impl FnMut(Site) -> Result<Box<dyn Netserver>, Failure> + 'a,
    ) -> Self {
        Self {
            call: Box::new(call),
            ..self
        }
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
        (self.call)(site)
    }

    /// Goes on when whoever has called it ends; if `in_background`, in a process of its own. Gives
    /// whether this is the process that goes on.
    ///
    /// # Errors
    /// `HostLacks` when the kernel allows no further process.
    pub fn stay(&mut self, in_background: bool) -> Result<bool, Failure> {
        self.host.stay(in_background)
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
