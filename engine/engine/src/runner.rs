//! `runner`: the engine as a process that stays, and executes one job after the other.
//!
//! Each job is executed by a fork of the runner, which begins as a new engine would: a session,
//! signals and standard streams of its own, and nothing of the trial before. It is made before its
//! job is asked for, when the last trial has ended with all that it has left, and waits. The runner
//! itself sleeps until a trial has ended, or somebody asks for something; where it is asked to, it lets
//! the disks of its host come to rest before a trial, and reads the host's counters before and after it:
//! on another host that takes no exchange of its own, nor the time until somebody there asks. The end of standard
//! input, a signal, the death of whoever started it and a lease that runs out are the end of the
//! trial and of the runner.

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use agent::request::check_settle;
use agent::watch::Bracket;
use kit::clock;
use kit::limits::JOB_BYTES;
use kit::requests::{Ending, Requests, Then};
use kit::signals::Signals;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{set_parent_process_death_signal, Signal};
use wire::{Failure, Held, HostSettle, RunnerLine, RunnerReply, RunnerRequest, PROTOCOL};

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
        due: None,
        trial: None,
        bracket: None,
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
    due: Option<Due>,
    trial: Option<Trial>,
    /// The first look at the host of the trial, if it was asked for.
    bracket: Option<Bracket>,
    /// The one that waits for its job, if there could be one.
    next: Option<Trial>,
    ending: Option<Ending>,
}

/// A trial that was asked for and has not begun.
struct Due {
    job: String,
    held: Option<Held>,
    bracket: Option<wire::Bracket>,
    /// It is to end as soon as it has begun.
    is_stopped: bool,
}

impl Runner<'_> {
    /// Makes the fork that will execute the next job. It reads kernel threads by the files that are
    /// open of them.
    fn prepare(&mut self) {
        kit::proc::kernel_threads();
        self.next = Trial::prepare(&self.signals, self.execute, self.output).ok();
    }

    /// Begins the trial that is due, when its host has come to rest and was looked at.
    fn begin(&mut self) {
        let bracket = self.due.as_mut().and_then(|due| due.bracket.take());
        if let Some(asked) = bracket {
            asked
                .settle
                .into_iter()
                .for_each(|asked| self.settle(asked));
            self.bracket = Some(Bracket::begin(asked.watch));
        }
        let Some(due) = self.due.take().filter(|_| self.ending.is_none()) else {
            return;
        };
        match self.hand_over(&due.job, due.held) {
            Ok(mut trial) => {
                if due.is_stopped {
                    trial.stop();
                }
                self.trial = Some(trial);
            }
            Err(error) => self.refuse(format!("cannot start a trial: {error}")),
        }
    }

    /// To the fork that waits, or, where there is none or it was killed, to another.
    fn hand_over(&mut self, job: &str, held: Option<Held>) -> io::Result<Trial> {
        let told = |mut trial: Trial| trial.begin(job, held).map(|()| trial);
        match self.next.take().map(told) {
            Some(Ok(trial)) => Ok(trial),
            _ => told(Trial::prepare(&self.signals, self.execute, self.output)?),
        }
    }

    /// Lets the disks of this host come to rest, and says so; what is asked meanwhile is heard. Where
    /// the trial is not wanted any more they need not.
    fn settle(&mut self, asked: HostSettle) {
        let settled = agent::settle(asked, &mut |most| {
            if self.attend(Some(most)).is_err() {
                self.end(Ending::NoMoreRequests);
            }
            match self.due.as_ref().is_some_and(|due| due.is_stopped) {
                false => Ok(()),
                true => Err(()),
            }
        });
        if let Ok(settled) = settled {
            self.say(RunnerReply::Settled(settled));
        }
    }

    fn serve(&mut self) -> io::Result<Ending> {
        loop {
            if let (Some(why), None) = (self.ending, &self.trial) {
                self.next.take().into_iter().for_each(Trial::dismiss);
                return Ok(why);
            }
            self.attend(None)?;
            if self.due.is_some() {
                self.begin();
            }
        }
    }

    /// Sleeps until something has come, at most so long, and does what can be done at once.
    fn attend(&mut self, most: Option<Duration>) -> io::Result<()> {
        let [input, signal, words, ready] = self.wait(most)?;
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
        Ok(())
    }

    /// Sleeps until there is a request, a signal, or something that the trial says, at most so long.
    fn wait(&self, most: Option<Duration>) -> io::Result<[bool; 4]> {
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
        let times = [self.time_left(), deadline, most];
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
            Ok(RunnerRequest::Run { .. }) if self.trial.is_some() || self.due.is_some() => {
                self.refuse("a trial runs already; stop it first".to_owned());
            }
            Ok(RunnerRequest::Run { job, held, bracket }) => {
                let settle = bracket.as_ref().and_then(|bracket| bracket.settle);
                match settle.map_or(Ok(()), check_settle) {
                    Err(wrong) => self.refuse(format!("not a request: {wrong}")),
                    Ok(()) => {
                        self.due = Some(Due {
                            job,
                            held,
                            bracket,
                            is_stopped: false,
                        });
                    }
                }
            }
            Ok(RunnerRequest::Stop {}) => self.stop(),
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
            let seen = self.bracket.take().map(|bracket| Box::new(bracket.end()));
            self.say(RunnerReply::Ended { status, said, seen });
            if self.ending.is_none() {
                self.prepare();
            }
        }
    }

    fn end(&mut self, why: Ending) {
        self.ending.get_or_insert(why);
        self.stop();
    }

    /// Ends the trial, also one that is due.
    fn stop(&mut self) {
        self.due.iter_mut().for_each(|due| due.is_stopped = true);
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
