//! `runner`: the engine as a process that stays, and executes one job after the other.
//!
//! Each job is executed by a fork of the runner, which begins as a new engine would: a session,
//! signals and standard streams of its own, and nothing of the trial before. It is made before its
//! job is asked for, when the last trial has ended with all that it has left, and waits. The runner
//! itself sleeps until a trial has ended, or somebody asks for something. The end of standard
//! input, a signal, the death of whoever started it and a lease that runs out are the end of the
//! trial and of the runner.

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use kit::clock;
use kit::limits::JOB_BYTES;
use kit::requests::{Ending, Requests, Then};
use kit::signals::Signals;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{set_parent_process_death_signal, Signal};
use wire::{Failure, Held, RunnerLine, RunnerReply, RunnerRequest, PROTOCOL};

use crate::lease::{code_of, lacks, LeaseArguments};
use crate::output::Output;
use crate::registry;
use trial::Trial;

mod trial;

/// A job is a string of a request: each byte of it may take two there.
const REQUEST_BYTES: usize = 2 * JOB_BYTES as usize;

/// What a fork of the runner does with the text of a job; it gives the exit code.
pub type Execute<'a> = &'a dyn Fn(&str, &mut Output) -> u8;

/// Serves requests on standard input until there will be no more.
///
/// # Errors
/// `HostLacks` when the kernel does not let us, `Interrupted` by a signal or the end of the lease.
pub fn serve(
    lease: &LeaseArguments,
    execute: Execute,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let lacks = |error: io::Error| lacks("a runner", &error);
    let mut runner = Runner {
        signals: program::stay().map_err(lacks)?,
        execute,
        output,
        requests: Requests::new(REQUEST_BYTES, lease.time()),
        trial: None,
        next: None,
        ending: None,
    };
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(|error| lacks(error.into()))?;
    runner.say(RunnerReply::Hello {
        protocol: PROTOCOL,
        engine: registry::VERSION.to_owned(),
    });
    runner.prepare();
    runner.serve().map(code_of).map_err(lacks)
}

struct Runner<'a> {
    signals: Signals,
    execute: Execute<'a>,
    output: &'a mut Output,
    requests: Requests,
    trial: Option<Trial>,
    /// The one that waits for its job, if there could be one.
    next: Option<Trial>,
    ending: Option<Ending>,
}

impl Runner<'_> {
    /// Makes the fork that will execute the next job. It reads kernel threads by the files that are
    /// open of them.
    fn prepare(&mut self) {
        kit::proc::kernel_threads();
        self.next = Trial::prepare(&self.signals, self.execute, self.output).ok();
    }

    /// Begins a trial: by the fork that waits, or, where there is none or it was killed, by another.
    fn begin(&mut self, job: &str, held: Option<Held>) -> io::Result<()> {
        let told = |mut trial: Trial| trial.begin(job, held).map(|()| trial);
        self.trial = match self.next.take().map(told) {
            Some(Ok(trial)) => Some(trial),
            _ => {
                let trial = Trial::prepare(&self.signals, self.execute, self.output)?;
                Some(told(trial)?)
            }
        };
        Ok(())
    }

    fn serve(&mut self) -> io::Result<Ending> {
        loop {
            if let (Some(why), None) = (self.ending, &self.trial) {
                self.next.take().into_iter().for_each(Trial::dismiss);
                return Ok(why);
            }
            let [input, signal, words, ready] = self.wait()?;
            if words {
                self.trial.as_mut().map(Trial::keep_words);
            }
            if ready {
                let times = self.trial.as_mut().map_or(0, Trial::times_ready);
                (0..times).for_each(|_| self.say(RunnerReply::Ready {}));
            }
            // What was asked for goes before the news of an end: a stop is meant for that trial.
            if input && !self.hear()? {
                self.end(Ending::NoMoreRequests);
            }
            if signal && self.signals.read_asks_for_end() {
                self.end(Ending::Signal);
            }
            self.look_after_trial();
            if kit::stop::requested() {
                self.end(Ending::NoMoreRequests);
            }
            if self.time_left() == Some(Duration::ZERO) {
                self.end(Ending::Lease);
            }
        }
    }

    /// Sleeps until there is a request, a signal, or something that the trial says.
    fn wait(&self) -> io::Result<[bool; 4]> {
        let stdin = io::stdin();
        let words = self.trial.as_ref().and_then(Trial::words);
        let ready = self.trial.as_ref().and_then(Trial::ready);
        let input = self.ending.is_none().then(|| stdin.as_fd());
        let all = [input, Some(self.signals.as_fd()), words, ready];
        let mut polled: Vec<PollFd> = all
            .iter()
            .flatten()
            .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN))
            .collect();
        let deadline = self.trial.as_ref().and_then(Trial::time_left);
        let times = [self.time_left(), deadline];
        let pause = times.into_iter().flatten().min().map(timespec);
        match poll(&mut polled, pause.as_ref()) {
            Err(Errno::INTR) => return Ok([false; 4]),
            other => other?,
        };
        let mut ready = polled.iter().map(|entry| !entry.revents().is_empty());
        Ok(all.map(|descriptor| descriptor.is_some() && ready.next() == Some(true)))
    }

    /// How long the lease lasts, if it ends.
    fn time_left(&self) -> Option<Duration> {
        self.requests.time_left().filter(|_| self.ending.is_none())
    }

    /// Carries out what whole lines ask for; whether there may be more.
    fn hear(&mut self) -> io::Result<bool> {
        let (lines, then) = self.requests.hear()?;
        lines.iter().for_each(|line| self.obey(line));
        if then == Then::TooLong {
            self.refuse(format!("a request is longer than {REQUEST_BYTES} bytes"));
        }
        Ok(then == Then::More)
    }

    fn obey(&mut self, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(RunnerRequest::Run { .. }) if self.trial.is_some() => {
                self.refuse("a trial runs already; stop it first".to_owned());
            }
            Ok(RunnerRequest::Run { job, held }) => {
                if let Err(error) = self.begin(&job, held) {
                    self.refuse(format!("cannot start a trial: {error}"));
                }
            }
            Ok(RunnerRequest::Stop {}) => self.trial.iter_mut().for_each(Trial::stop),
            Ok(RunnerRequest::Go { at_ns }) => self.trial.iter().for_each(|trial| trial.go(at_ns)),
            Ok(RunnerRequest::Clock {}) => self.say(RunnerReply::Clock {
                now_ns: clock::now_ns(),
            }),
            Ok(RunnerRequest::Beat {}) => self.say(RunnerReply::Beat {}),
            Err(error) => self.refuse(format!("not a request: {error}")),
        }
    }

    /// Kills a trial that should have ended, and tells of one that has.
    fn look_after_trial(&mut self) {
        let Some(trial) = self.trial.as_mut() else {
            program::reap_orphans();
            return;
        };
        trial.insist();
        if let Some((status, said)) = trial.ended() {
            self.trial = None;
            self.say(RunnerReply::Ended { status, said });
            if self.ending.is_none() {
                self.prepare();
            }
        }
    }

    fn end(&mut self, why: Ending) {
        self.ending.get_or_insert(why);
        self.trial.iter_mut().for_each(Trial::stop);
    }

    fn refuse(&mut self, message: String) {
        self.say(RunnerReply::Refused { message });
    }

    fn say(&mut self, runner: RunnerReply) {
        self.output.record(&RunnerLine { runner });
    }
}

fn timespec(pause: Duration) -> Timespec {
    Timespec {
        tv_sec: pause.as_secs() as i64,
        tv_nsec: pause.subsec_nanos().into(),
    }
}
