//! The engine as what reads and changes a host, for as long as somebody asks for something: the
//! control pipe. It has one thread and never executes a job.
//!
//! ```text
//! a line ─► request: what is asked ─► found: files, links, programs, space ─► an answer
//!                                 ├─► command: up to four at a time ─────────┤
//!                                 ├─► watch: counters, before and after ─────┤
//!                                 └─► ops ─► ledger ─► change, content, device ┘
//! ```
//! Requests are carried out one after the other; meanwhile a beat is answered, and ops may be cancelled.
//! What a command has started ends with it. All ends with the input, by a signal, or
//! when the lease has run out; not with the thread of the lab that has started it, which may be one of
//! many.

mod age;
mod apart;
mod at_work;
mod back;
mod change;
mod command;
mod content;
mod copy;
mod device;
mod direct;
mod extents;
mod found;
mod inside;
mod isolate;
mod ledger;
mod machine;
mod marked;
mod meanwhile;
mod names;
mod network;
mod ops;
mod owed;
mod patience;
mod pattern;
mod pool;
pub mod request;
mod settle;
mod start;
mod throttle;
pub mod watch;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use kit::requests::{Ending, Requests, Then};
use kit::signals::Signals;
use kit::{place, stop};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{geteuid, Pid, WaitOptions, WaitStatus};
use rustix::system::uname;
use wire::{
    HostBeat, HostDone, HostFailure, HostFailureKind, HostHello, HostLine, HostOutput,
    HostProgress, HostRun, HOST_LINE_BYTES, PROTOCOL,
};

use command::{complaint, failure, Running};
use found::{fit, Found};
use meanwhile::Meanwhile;
use ops::Changes;
use request::{parse, Asked, Flaw};
pub use settle::settle;
use watch::Watches;

/// Commands of one request at a time: they mostly wait for each other's pages.
const AT_ONCE: usize = 4;
/// A command that only tells has so long, and so much of each stream is kept.
const OUTPUT_S: f64 = 60.0;
const OUTPUT_BYTES: usize = 1 << 20;
/// Kept of each stream of any other.
const STREAM_BYTES: usize = 256 << 10;
/// For each of the two, in an answer.
const STREAM_ROOM: usize = HOST_LINE_BYTES / 2 - (2 << 10);

/// Why something is not done.
const CANCELLED: &str = "it was cancelled";
const ENDED: &str = "it was ended before it was done";

/// So long it waits at its end for those that the one who asks has started: a runner gives a trial 15 s.
const OTHERS_END: Duration = Duration::from_secs(20);

/// Serves requests on standard input until there will be no more; why it ends, and what of its changes
/// it could not take back. `others` is a pipe that others read: those that are to end before.
///
/// # Errors
/// The kernel lacks something.
pub fn serve(
    version: &str,
    lease: Option<Duration>,
    others: Option<OwnedFd>,
    say: &mut dyn FnMut(&HostLine),
) -> io::Result<(Ending, Vec<String>)> {
    let mut agent = Agent {
        signals: program::stay()?,
        say,
        requests: Requests::new(HOST_LINE_BYTES, lease),
        heard: VecDeque::new(),
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        work: None,
        changing: None,
        watches: Watches::default(),
        changes: Changes::default(),
        ending: None,
        others,
    };
    let hello = hello(version)?;
    (agent.say)(&HostLine::Hello { hello });
    agent.serve()
}

fn hello(version: &str) -> io::Result<HostHello> {
    let system = uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Ok(HostHello {
        protocol: PROTOCOL,
        engine: version.to_owned(),
        system: std::env::consts::OS.to_owned(),
        machine: text(system.machine()),
        release: text(system.release()),
        pid: std::process::id(),
        uid: geteuid().as_raw(),
        cpus: place::allowed_cpus()?,
        boot: ledger::boot(),
        does: [
            "read", "run", "settle", "watch", "ops", "undo", "recover", "leave", "take_up", "hold",
            "let_go", "servers", "cancel",
        ]
        .map(str::to_owned)
        .to_vec(),
    })
}

struct Agent<'a> {
    signals: Signals,
    say: &'a mut dyn FnMut(&HostLine),
    requests: Requests,
    /// Lines that were not looked at yet.
    heard: VecDeque<Vec<u8>>,
    /// What was asked while something else was carried out, each with the length of its line.
    waiting: VecDeque<(Asked, usize)>,
    waiting_bytes: usize,
    work: Option<Work>,
    changing: Option<Changing>,
    watches: Watches,
    changes: Changes,
    ending: Option<Ending>,
    /// See [`serve`].
    others: Option<OwnedFd>,
}

/// A request that changes something and is being carried out.
struct Changing {
    /// Its number, if it may be cancelled.
    ops: Option<u64>,
    is_cancelled: bool,
}

/// A request that is being carried out.
struct Work {
    id: u64,
    purpose: Purpose,
    /// Commands that have not begun, with their places.
    left: VecDeque<(usize, HostRun)>,
    running: Vec<(usize, Running)>,
}

enum Purpose {
    /// What was found, and what commands have said, each in its place.
    Read(Box<Found>, Vec<HostOutput>),
    /// What was asked for, and what came of it.
    Run(HostRun, Option<Result<HostOutput, HostFailure>>),
}

impl Agent<'_> {
    fn serve(&mut self) -> io::Result<(Ending, Vec<String>)> {
        loop {
            self.carry_on();
            if let (Some(why), None) = (self.ending, &self.work) {
                if why == Ending::NoMoreRequests && self.changes.is_outstanding() {
                    self.await_others()?;
                }
                return Ok((why, self.changes.close()));
            }
            self.attend(None)?;
        }
    }

    /// Trials and programs that still run may work on what is to be taken back.
    fn await_others(&self) -> io::Result<()> {
        let began = Instant::now();
        while let (Some(others), Some(left)) =
            (&self.others, OTHERS_END.checked_sub(began.elapsed()))
        {
            let mut polled = [PollFd::new(others, PollFlags::empty())];
            match poll(&mut polled, left.try_into().ok().as_ref()) {
                Err(Errno::INTR) => {}
                ended => return ended.map(drop).map_err(Into::into),
            }
        }
        Ok(())
    }

    /// Sleeps until something has come, at most so long, and hears it.
    fn attend(&mut self, most: Option<Duration>) -> io::Result<()> {
        let [input, signal] = self.sleep(most)?;
        if input && !self.hear()? {
            self.end(Ending::NoMoreRequests);
        }
        if signal && self.signals.read_asks_for_end() {
            self.end(Ending::Signal);
        }
        if stop::requested() {
            self.end(Ending::NoMoreRequests);
        }
        if self.ending.is_none() && self.requests.time_left() == Some(Duration::ZERO) {
            self.end(Ending::Lease);
        }
        Ok(())
    }

    /// Sleeps until there is a request, a signal, or something of a command.
    fn sleep(&self, most: Option<Duration>) -> io::Result<[bool; 2]> {
        let stdin = io::stdin();
        let running = self.work.iter().flat_map(|work| &work.running);
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.ending.is_none() {
            polled.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN));
        }
        let first = polled.len();
        polled.extend(running.clone().flat_map(|(_, command)| command.polled()));
        let lease = self.requests.time_left().filter(|_| self.ending.is_none());
        let times = running.filter_map(|(_, command)| command.time_left());
        let pause = times.chain(lease).chain(most).min();
        let pause = pause.and_then(|pause| pause.try_into().ok());
        match poll(&mut polled, pause.as_ref()) {
            Err(Errno::INTR) => return Ok([false; 2]),
            other => other?,
        };
        let is_ready = |at: usize| at < first && !polled[at].revents().is_empty();
        Ok([is_ready(1), is_ready(0)])
    }

    /// Answers what can be answered at once, and keeps what waits; whether there may be more.
    fn hear(&mut self) -> io::Result<bool> {
        let (lines, then) = self.requests.hear()?;
        self.heard.extend(lines);
        self.look();
        if then == Then::TooLong {
            let text = format!("a request is longer than {HOST_LINE_BYTES} bytes");
            self.fail(None, HostFailureKind::Request, &text);
        }
        Ok(then == Then::More)
    }

    /// Looks at the lines that were heard; those that are left where one changes something are looked at
    /// meanwhile.
    fn look(&mut self) {
        while let Some(line) = self.heard.pop_front() {
            match parse(&line) {
                Ok(Asked::Beat) => (self.say)(&HostLine::Beat { beat: HostBeat {} }),
                Ok(Asked::Cancel(ops)) => self.cancel(ops),
                Ok(asked) => {
                    let bytes = self.waiting_bytes + line.len();
                    if bytes > HOST_LINE_BYTES && !self.waiting.is_empty() {
                        let text = "too many requests wait";
                        self.fail(asked.id(), HostFailureKind::Limit, text);
                        continue;
                    }
                    self.waiting_bytes = bytes;
                    self.waiting.push_back((asked, line.len()));
                }
                Err(Flaw { id, text }) => self.fail(id, HostFailureKind::Request, &text),
            }
            self.carry_on();
        }
    }

    /// Ops that wait are not begun, and those that are being carried out notice it soon.
    fn cancel(&mut self, ops: u64) {
        if let Some(changing) = self.changing.as_mut().filter(|one| one.ops == Some(ops)) {
            changing.is_cancelled = true;
        }
        let is_it = |(asked, _): &(Asked, usize)| matches!(asked, Asked::Ops(id, _) if *id == ops);
        while let Some(at) = self.waiting.iter().position(is_it) {
            self.waiting_bytes -= self.waiting.remove(at).map_or(0, |(_, bytes)| bytes);
            self.fail(Some(ops), HostFailureKind::Interrupted, CANCELLED);
        }
    }

    /// Does what can be done now without waiting for anything.
    fn carry_on(&mut self) {
        while self.changing.is_none() {
            self.reap();
            match &mut self.work {
                Some(work) => {
                    work.advance(&self.signals);
                    if !work.running.is_empty() {
                        return;
                    }
                }
                None => {
                    let Some((asked, bytes)) = self.waiting.pop_front() else {
                        return;
                    };
                    self.waiting_bytes -= bytes;
                    match asked {
                        Asked::Settle(id, asked) => {
                            self.change(id, false, |_, agent| {
                                let wait = &mut |most| agent.wait(Some(most));
                                settle::settle(asked, wait).map(HostDone::Settled)
                            });
                        }
                        Asked::Watch(id, asked) => {
                            let done = self.watches.answer(id, asked);
                            (self.say)(&line(id, done));
                        }
                        Asked::Ops(id, ops) => {
                            self.change(id, true, |own, agent| own.carry_out(&ops, agent));
                        }
                        Asked::Undo(id, undo) => {
                            self.change(id, false, |own, agent| own.undo(&undo, agent));
                        }
                        Asked::Recover(id, recover) => {
                            self.change(id, false, |own, agent| own.recover(&recover, agent));
                        }
                        Asked::Leave(id, leave) => {
                            self.change(id, true, |own, agent| own.leave(&leave, agent));
                        }
                        Asked::TakeUp(id, asked) => {
                            self.change(id, false, |own, _| own.take_up(&asked));
                        }
                        Asked::Hold(id, hold) => {
                            self.change(id, false, |own, agent| own.hold(&hold, agent));
                        }
                        Asked::LetGo(id, let_go) => {
                            self.change(id, false, |own, _| Ok(own.let_go(&let_go)));
                        }
                        Asked::Servers(id, asked) => {
                            let done = self.changes.servers(&asked);
                            (self.say)(&line(id, Ok(done)));
                        }
                        other => self.work = Work::begin(other),
                    }
                    continue;
                }
            }
            if let Some(work) = self.work.take() {
                // What it has left.
                program::end_descendants(&self.changes.keepers());
                (self.say)(&work.answer(self.ending.is_some()));
                give_back_memory();
            }
        }
    }

    /// Changes something, or takes it back; what comes meanwhile is heard.
    fn change(
        &mut self,
        id: u64,
        is_ops: bool,
        do_it: impl FnOnce(&mut Changes, &mut Self) -> Result<HostDone, HostFailure>,
    ) {
        self.changing = Some(Changing {
            ops: is_ops.then_some(id),
            is_cancelled: false,
        });
        let mut changes = std::mem::take(&mut self.changes);
        let done = do_it(&mut changes, self);
        self.changes = changes;
        self.changing = None;
        (self.say)(&line(id, done));
    }

    /// Takes leave of all that has ended: commands, and what they have left.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            self.work.iter_mut().for_each(|work| work.note(pid, status));
        }
    }

    fn end(&mut self, why: Ending) {
        self.ending.get_or_insert(why);
        self.heard.clear();
        self.waiting.clear();
        if let Some(work) = &mut self.work {
            work.left.clear();
            work.running
                .iter_mut()
                .for_each(|(_, command)| command.stop(false));
        }
    }

    fn fail(&mut self, id: Option<u64>, kind: HostFailureKind, text: &str) {
        let failed = failure(kind, text.to_owned());
        (self.say)(&HostLine::Failed { id, failed });
    }
}

impl Meanwhile for Agent<'_> {
    fn wait(&mut self, most: Option<Duration>) -> Result<(), HostFailure> {
        self.look();
        if self.attend(most).is_err() {
            self.end(Ending::NoMoreRequests);
        }
        let is_cancelled = self.changing.as_ref().is_some_and(|one| one.is_cancelled);
        let text = match (is_cancelled, self.ending) {
            (true, _) => CANCELLED,
            (false, Some(_)) => ENDED,
            (false, None) => return Ok(()),
        };
        Err(failure(HostFailureKind::Interrupted, text.to_owned()))
    }

    fn tell(&mut self, progress: HostProgress) {
        if let Some(id) = self.changing.as_ref().and_then(|one| one.ops) {
            (self.say)(&HostLine::Progress { id, progress });
        }
    }

    fn signals(&self) -> &Signals {
        &self.signals
    }
}

impl Work {
    /// Reads what can be read at once; commands begin later.
    fn begin(asked: Asked) -> Option<Self> {
        let (id, purpose, left) = match asked {
            Asked::Read(id, read) => {
                let found = Box::new(Found::read(&read));
                let outputs = read.outputs.iter().map(|argv| HostOutput {
                    argv: argv.clone(),
                    ..HostOutput::default()
                });
                let purpose = Purpose::Read(found, outputs.collect());
                let telling = |argv| HostRun {
                    argv,
                    environment: None,
                    stdin: None,
                    limit_s: OUTPUT_S,
                    ok: Vec::new(),
                };
                let commands = read.outputs.into_iter().map(telling);
                (id, purpose, commands.enumerate().collect())
            }
            Asked::Run(id, mut run) => {
                let stdin = run.stdin.take();
                let left = [(
                    0,
                    HostRun {
                        stdin,
                        ..run.clone()
                    },
                )]
                .into();
                (id, Purpose::Run(run, None), left)
            }
            _ => return None,
        };
        Some(Self {
            id,
            purpose,
            left,
            running: Vec::new(),
        })
    }

    /// Looks after those that run, and begins those that there is room for.
    fn advance(&mut self, signals: &Signals) {
        self.running
            .iter_mut()
            .for_each(|(_, command)| command.advance());
        while self.running.len() < AT_ONCE {
            let Some((place, mut run)) = self.left.pop_front() else {
                return;
            };
            let most_bytes = match self.purpose {
                Purpose::Read(..) => OUTPUT_BYTES,
                Purpose::Run(..) => STREAM_BYTES,
            };
            match Running::start(&mut run, most_bytes, signals) {
                Ok(command) => self.running.push((place, command)),
                Err(failed) => self.keep(place, Err(failed)),
            }
        }
    }

    /// Keeps what an ended command has left, if it is one of these.
    fn note(&mut self, pid: Pid, status: WaitStatus) {
        let of_it = |(_, command): &(usize, Running)| command.pid() == pid;
        if let Some(at) = self.running.iter().position(of_it) {
            let (place, command) = self.running.swap_remove(at);
            self.keep(place, command.ended(status));
        }
    }

    fn keep(&mut self, place: usize, ended: Result<HostOutput, HostFailure>) {
        match &mut self.purpose {
            Purpose::Run(_, kept) => *kept = Some(ended),
            Purpose::Read(_, outputs) => {
                let argv = std::mem::take(&mut outputs[place].argv);
                outputs[place] = match ended {
                    Ok(output) => HostOutput { argv, ..output },
                    Err(failed) => HostOutput {
                        argv,
                        stderr: failed.text,
                        ..HostOutput::default()
                    },
                };
            }
        }
    }

    /// What is said of it at last.
    fn answer(self, is_interrupted: bool) -> HostLine {
        let id = self.id;
        let done = match self.purpose {
            _ if is_interrupted => Err(failure(HostFailureKind::Interrupted, ENDED.to_owned())),
            Purpose::Read(mut found, outputs) => {
                outputs.into_iter().for_each(|output| found.add(output));
                found.answer().map(HostDone::Read).ok_or_else(|| {
                    let text = "there is more than one answer can hold: ask for less at a time";
                    failure(HostFailureKind::Limit, text.to_owned())
                })
            }
            Purpose::Run(run, ended) => judge(&run, ended),
        };
        line(id, done)
    }
}

fn line(id: u64, done: Result<HostDone, HostFailure>) -> HostLine {
    match done {
        Ok(done) => HostLine::Done { id, done },
        Err(failed) => HostLine::Failed {
            id: Some(id),
            failed,
        },
    }
}

/// What an answer has taken: beside a trial this process is to be small.
fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only returns what is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Whether a command has ended as it may.
fn judge(
    run: &HostRun,
    ended: Option<Result<HostOutput, HostFailure>>,
) -> Result<HostDone, HostFailure> {
    let mut output = ended.unwrap_or_else(|| {
        Err(failure(
            HostFailureKind::Interrupted,
            "it has not begun".to_owned(),
        ))
    })?;
    let code = output.status.or(output.signal.map(|signal| 128 + signal));
    if !code.is_some_and(|code| run.ok.contains(&code)) {
        return Err(complaint(&run.argv, &output));
    }
    for text in [&mut output.stdout, &mut output.stderr] {
        output.cut |= fit(text, STREAM_ROOM);
    }
    Ok(HostDone::Run(output))
}
