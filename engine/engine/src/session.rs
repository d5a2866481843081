//! One job from its text to its last line.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

use kit::event_sink::Totals;
use kit::failure::failure;
use kit::gauges::Gauges;
use kit::place::Place;
use kit::trial::Planned;
use kit::{clock, inject, program, settling, stop, Device, EventSink, Trial};
use wire::{
    Conditions, End, Event, Failure, FailureKind, Floor, Hello, Job, Network, Outcome, Usage,
    PROTOCOL,
};

use crate::output::{complain, Output};
use crate::{exit, hash, job, pool, registry};

/// Reads a job and executes it. The last line is an `end`, also when there was no first one.
pub fn run(path: Option<&Path>, output: &mut Output) -> ExitCode {
    ExitCode::from(run_job(start(path), output))
}

/// Executes a job that a runner was asked for, in a fork of it; gives the exit code.
pub fn run_text(text: &str, output: &mut Output) -> u8 {
    run_job(job::parse(text), output)
}

fn run_job(job: Result<Job, Failure>, output: &mut Output) -> u8 {
    let mut emit = |event: &Event| output.event(event);
    let done = match job {
        // Who sent it has had it validated.
        Ok(job) => carry_out(&job, Record::Full, |_| Ok(()), &mut emit),
        Err(failure) => conclude(not_begun(failure), &mut emit),
    };
    code_of(output.check().and(done))
}

/// How much of the instrument and of the host goes into the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// The floor, and what everything else used meanwhile.
    Full,
    /// Nothing: the events become a table that does not show it, and the original of which does
    /// not wait for it either.
    None,
}

/// Executes a job that `look` has nothing against. Its events go to `emit`, the last one is an
/// `end`.
///
/// # Errors
/// What kept it from being done; the `end` says the same.
pub fn carry_out(
    job: &Job,
    record: Record,
    look: fn(&dyn Trial) -> Result<(), Failure>,
    emit: &mut dyn FnMut(&Event),
) -> Result<(), Failure> {
    let planned = job::check(job).and_then(|()| plan(job));
    let end = match planned.and_then(|trial| look(trial.as_ref()).map(|()| trial)) {
        Ok(trial) => execute(job, trial, record, emit),
        Err(failure) => not_begun(failure),
    };
    conclude(end, emit)
}

/// Prepares for signals.
///
/// # Errors
/// `HostLacks` when the kernel does not let us.
pub fn heed_signals() -> Result<(), Failure> {
    stop::install().map_err(|error| {
        let message = format!("cannot handle signals: {error}");
        failure(FailureKind::HostLacks, message)
    })
}

/// Reads a job and prints the hello line that it would begin with, or an `end` that says why
/// it could not.
pub fn validate(path: Option<&Path>, output: &mut Output) -> ExitCode {
    let foreseen = job::read(path).and_then(|job| {
        let trial = plan(&job)?;
        trial.foresee()?;
        Ok((trial, job))
    });
    let done = match foreseen {
        Ok((trial, job)) => {
            output.event(&hello(&job, trial.as_ref(), Conditions::default()));
            Ok(())
        }
        Err(failure) => conclude(not_begun(failure), &mut |event| output.event(event)),
    };
    ExitCode::from(code_of(output.check().and(done)))
}

/// Prints the common stream of the clients that standard input names, or an `end` that says why there
/// is none.
pub fn pool(output: &mut Output) -> ExitCode {
    let pooled = job::text(None)
        .and_then(|text| pool::read(&text).map_err(|wrong| failure(FailureKind::BadJob, wrong)));
    let done = match pooled {
        Ok((hello, events)) => {
            output.text(&(hello + "\n"));
            events.iter().for_each(|event| output.event(event));
            Ok(())
        }
        Err(failure) => conclude(not_begun(failure), &mut |event| output.event(event)),
    };
    ExitCode::from(code_of(output.check().and(done)))
}

/// What the instrument itself costs here, now.
pub fn measure_floor() -> Floor {
    let clock = clock::measure_cost();
    Floor {
        clock_ns: clock.read_ns,
        clock_step_ns: clock.step_ns,
        operation_ns: storage::floor::operation_ns(),
    }
}

fn start(path: Option<&Path>) -> Result<Job, Failure> {
    heed_signals()?;
    let job = job::read(path)?;
    if job.workload == ::program::NAME {
        ::program::stand_above().map_err(|error| {
            let message = format!("cannot start another process: {error}");
            failure(FailureKind::HostLacks, message)
        })?;
    }
    Ok(job)
}

fn plan(job: &Job) -> Planned {
    registry::plan(job)
}

fn hello(job: &Job, trial: &dyn Trial, conditions: Conditions) -> Event {
    let effective = trial.effective();
    let cpus = trial.cpus().unwrap_or_else(|| conditions.cpus.clone());
    Event::Hello(Hello {
        protocol: PROTOCOL,
        engine: registry::VERSION.to_owned(),
        workload: job.workload.clone(),
        hash: hash::of_work(&job.workload, &effective),
        effective,
        timing: trial.timing(),
        conditions: Conditions { cpus, ..conditions },
    })
}

fn execute(job: &Job, trial: Box<dyn Trial>, record: Record, emit: &mut dyn FnMut(&Event)) -> End {
    // A program has a directory that is held, and a person chose the one of a classic tool.
    if record == Record::Full && job.workload != ::program::NAME {
        if let Err(failure) = job::check_way(job) {
            return not_begun(failure);
        }
    }
    let place = match Place::take(&job.conditions, trial.threads()) {
        Ok(place) => place,
        Err(failure) => return not_begun(failure),
    };
    let recorded = (record == Record::Full).then(|| {
        // Nothing of this program is in the timed region of another one.
        if job.workload != ::program::NAME {
            program::fetch_once();
        }
        let directory = job.target.directory.as_deref();
        let device = directory.and_then(Device::under);
        Gauges::read(device.as_ref(), !job.conditions.watched)
    });
    emit(&hello(job, trial.as_ref(), place.granted.clone()));
    let started_ns = clock::now_ns();

    let mut pass_on = |event| emit(&event);
    let mut event_sink = EventSink::new(&mut pass_on);
    let armed = job.conditions.inject.as_ref().map(inject::arm);
    settling::set(job.conditions.settle);
    // A defect must not leave files behind either: unwinding removes them.
    let result = catch_unwind(AssertUnwindSafe(|| trial.run(&mut event_sink)))
        .unwrap_or_else(|_| Err(failure(FailureKind::Internal, "the engine has a defect")));

    if let Some(armed) = armed {
        let delays = ("InjectedDelays".to_owned(), armed.delays());
        event_sink.totals.counters.extend([delays]);
    }
    let usage = recorded.map(|gauges| {
        let mut usage = gauges.usage_until_now();
        let network = event_sink.totals.network.as_ref();
        usage.foreign_s = usage.foreign_s.map(|seen_s| foreign_s(seen_s, network));
        usage
    });
    let elapsed_s = (clock::now_ns() - started_ns) as f64 / 1e9;
    // Here, so that it delays nothing; a trial that was stopped would stop it, too.
    let floor = (usage.is_some() && result.is_ok()).then(measure_floor);
    end(
        result.err(),
        event_sink.totals,
        elapsed_s,
        floor.unwrap_or_default(),
        usage.unwrap_or_default(),
    )
}

/// CPU time of others: a server on this host is no stranger.
fn foreign_s(seen_s: f64, network: Option<&Network>) -> f64 {
    let far = network.filter(|network| network.is_of_one_host());
    let far_s = far.map_or(0.0, |Network { far, .. }| far.user_s + far.system_s);
    (seen_s - far_s).max(0.0)
}

fn not_begun(failure: Failure) -> End {
    end(
        Some(failure),
        Totals::default(),
        0.0,
        Floor::default(),
        Usage::default(),
    )
}

fn end(
    failure: Option<Failure>,
    totals: Totals,
    elapsed_s: f64,
    floor: Floor,
    usage: Usage,
) -> End {
    let outcome = match failure.as_ref().map(|failure| failure.kind) {
        None => Outcome::Done,
        Some(FailureKind::Interrupted) => Outcome::Interrupted,
        Some(_) => Outcome::Failed,
    };
    End {
        outcome,
        failure,
        operations: totals.operations,
        bytes: totals.bytes,
        elapsed_s,
        checksum: format!("{:016x}", totals.checksum),
        counters: totals.counters,
        floor,
        access: totals.access,
        network: totals.network,
        programs: totals.programs,
        usage,
    }
}

/// Emits the last event; gives its failure.
fn conclude(end: End, emit: &mut dyn FnMut(&Event)) -> Result<(), Failure> {
    let failure = end.failure.clone();
    emit(&Event::End(Box::new(end)));
    failure.map_or(Ok(()), Err)
}

/// The exit code; a failure is printed to standard error.
fn code_of(done: Result<(), Failure>) -> u8 {
    done.map_or_else(
        |failure| {
            complain(&failure);
            exit::number(failure.kind)
        },
        |()| 0,
    )
}

#[cfg(test)]
mod tests {
    use wire::Side;

    use super::*;

    #[test]
    fn a_far_end_on_this_host_is_no_stranger() {
        let side = |host: &str| Side {
            host: host.to_owned(),
            user_s: 0.5,
            system_s: 1.5,
            ..Side::default()
        };
        let ends = |near, far| Network {
            near: side(near),
            far: side(far),
        };
        assert_eq!(foreign_s(5.0, None), 5.0);
        assert_eq!(foreign_s(5.0, Some(&ends("a", "a"))), 3.0);
        assert_eq!(foreign_s(5.0, Some(&ends("a", "b"))), 5.0);
        assert_eq!(foreign_s(5.0, Some(&ends("", ""))), 5.0);
        assert_eq!(foreign_s(1.0, Some(&ends("a", "a"))), 0.0);
    }
}
