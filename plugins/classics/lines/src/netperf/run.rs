//! A test, from its banner to its figures.

use std::fs;
use std::sync::mpsc;
use std::thread;

use kit::failure::{bad_parameter, failure};
use kit::histogram::Histogram;
use kit::place;
use netperf::client::{self, Interim, Outcome, Site, Test};
use wire::{Failure, FailureKind};

use super::banner::banner;
use super::confidence;
use super::ends::Ends;
use super::figures::Figures;
use super::interim;
use super::report::Report;
use super::request::{Mode, Request};
use super::selectors::{self, Selection};
use super::table;
use super::units::Unit;
use crate::bench::{Bench, Netserver};

/// Runs the test that `request` asks for, as often as it must be, and prints what it came to.
///
/// # Errors
/// What kept it from being run, or from being printed as asked.
pub fn run(mut request: Request, bench: &mut Bench) -> Result<(), Failure> {
    let selection = selection(&request)?;
    let wants_latencies = selection.as_ref().is_some_and(Selection::has_latencies);
    request.test.latencies |= wants_latencies || request.output.verbosity > 1;
    if request.output.uuid.is_none() {
        request.output.uuid = Some(uuid());
    }
    let (mut netserver, ends) = connect(&mut request, bench)?;
    if request.output.headers {
        bench.print(&banner(&request, &ends));
    }
    let repetitions = repeat(&request, netserver.as_mut(), bench)?;
    let report = repetitions.report(&request, &ends);
    bench.print(&text(&report, selection.as_ref()));
    Ok(())
}

/// The chosen figures; `None` for the table.
fn selection(request: &Request) -> Result<Option<Selection>, Failure> {
    let output = &request.output;
    let read = || Selection::read(&output.selectors, &request.test);
    (output.mode != Mode::Classic).then(read).transpose()
}

/// A UUID of the kernel's making.
fn uuid() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/uuid");
    text.unwrap_or_default().trim_end().to_owned()
}

/// The first netserver that answers under the name, and the ends of the data connection to it.
fn connect(
    request: &mut Request,
    bench: &mut Bench,
) -> Result<(Box<dyn Netserver>, Ends), Failure> {
    let route = request.route()?;
    let mut failed = None;
    for remote in route.remote {
        let site = Site {
            remote,
            local: route.local,
            passphrase: request.control.passphrase.clone(),
            generation: request.control.generation,
        };
        match bench.call_netserver(site) {
            Ok(netserver) => {
                let mut test = request.test.clone();
                let ends = request.ends(remote.ip(), &mut test)?;
                request.test = test;
                return Ok((netserver, ends));
            }
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    Err(failed.unwrap_or_else(|| unreachable!("a name that is resolved has an address")))
}

/// What all repetitions found.
struct Repetitions {
    figures: Vec<Figures>,
    latencies: Histogram,
    last: Outcome,
}

impl Repetitions {
    fn report<'r>(self, request: &'r Request, ends: &'r Ends) -> Report<'r> {
        Report::of(request, ends, &self.figures, &self.latencies, self.last)
    }
}

/// Runs the test until the goal is reached, or a stop is asked for.
fn repeat(
    request: &Request,
    netserver: &mut dyn Netserver,
    bench: &mut Bench,
) -> Result<Repetitions, Failure> {
    let Test { kind, burst, .. } = request.test;
    let unit = request.unit();
    let mut figures = Vec::new();
    let mut latencies = Histogram::new();
    let mut interims = 0;
    loop {
        let outcome = netserver.run(&request.test, request.cpu, &mut |mut interim| {
            interim.units *= units_of_interim(request, unit);
            bench.print(&interim::lines(
                request.output.mode,
                unit,
                interims,
                &interim,
            ));
            interims += 1;
        })?;
        figures.push(Figures::of(kind, burst, unit, &outcome));
        if let Some(kept) = &outcome.latencies {
            latencies.merge(kept);
        }
        let goal = request.goal.as_ref();
        let wants_more = goal.is_some_and(|goal| goal.wants_more(&figures));
        if outcome.was_stopped || !wants_more {
            return Ok(Repetitions {
                figures,
                latencies,
                last: outcome,
            });
        }
    }
}

/// Transactions are counted on the way, but may be shown as the bytes of both directions.
fn units_of_interim(request: &Request, unit: Unit) -> u64 {
    let test = &request.test;
    match test.kind.counts_transactions() && unit != Unit::Transactions {
        true => u64::from(test.request_size) + u64::from(test.response_size),
        false => 1,
    }
}

/// The chosen figures, or the table below a warning if the goal was missed.
fn text(report: &Report, selection: Option<&Selection>) -> String {
    match selection {
        Some(selection) if report.request.output.verbosity > 1 => {
            selectors::print(report, selection) + &table::durations(report)
        }
        Some(selection) => selectors::print(report, selection),
        None => {
            let warning = report.missed().map(confidence::warning);
            warning.unwrap_or_default() + &table::table(report)
        }
    }
}

/// Over the wire. The local end has a thread of its own: figures on the way are printed by the one
/// that holds standard output.
impl Netserver for client::Netserver {
    fn run(
        &mut self,
        test: &Test,
        cpu: Option<u32>,
        observer: &mut dyn FnMut(Interim),
    ) -> Result<Outcome, Failure> {
        let (sender, interims) = mpsc::channel();
        thread::scope(|scope| {
            let local_end = scope.spawn(move || {
                cpu.map_or(Ok(()), pin_to)?;
                self.run(test, &mut |interim| {
                    // The receiver is there for as long as the sender is.
                    let _ = sender.send(interim);
                })
            });
            interims.into_iter().for_each(observer);
            let defect = || failure(FailureKind::Internal, "the engine has a defect");
            local_end.join().unwrap_or_else(|_| Err(defect()))
        })
    }
}

fn pin_to(cpu: u32) -> Result<(), Failure> {
    place::pin_to(cpu).map_err(|error| {
        let message = format!("option -T: cannot run on CPU {cpu}: {error}");
        bad_parameter("-T", message)
    })
}

#[cfg(test)]
mod tests;
