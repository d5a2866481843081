//! A keeper: a process above one that stays, which has all that that starts. It waits until it is ready,
//! keeps the end of what it prints, and ends it: when it is asked to, and when whoever has started the
//! keeper is gone, for then the keeper's input ends. What others lie upon, a file system above all, outlives
//! that: whoever recovers takes back what is above it, and has it ended then.
//!
//! Each has a keeper of its own, as orphans become children of the nearest ancestor that asked for them
//! (PR_SET_CHILD_SUBREAPER): what leaves its parent, its session and its group is still below it. It is
//! this engine's file, and known by its mark, which is its argument. A probe is executed below a fork of it
//! that is another such ancestor, so that what a probe leaves behind is told from what the server has
//! started.
//!
//! ```text
//! a line ─► what is started ─► ready? ─► a line: it is, or why not
//! a line ─► how it is ───────► a line          end of input, SIGTERM ─► all of it is ended
//! ```

mod way;

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use kit::device::{mounts, mounts_seen_by};
use kit::signals::Signals;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::mount::{unmount, UnmountFlags};
use rustix::process::{set_parent_process_death_signal, Signal};
use serde::{Deserialize, Serialize};
use wire::{HostFailureKind, Start, StartReady, StartStop};

use crate::ancestor::{self, end_descendants};
use crate::reap::{self, Ended};
use crate::{output, reason, signals};
use way::Way;

pub use way::find_program;

/// The verb by which this engine is one.
pub const VERB: &str = "keep";
/// Environment variable by which a process is known as ours, also after our death.
pub const MARK: &str = "TILTYARD_PROCESS";

/// Kept of the end of what it prints; the rest is read and thrown away.
const SAID_BYTES: usize = 16 << 10;
/// Of what it prints first, where that is the sign that it is ready.
const LINE_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 16 << 10;
/// Read of a stream before something else is looked at.
const CHUNKS: usize = 16;
/// Of the end of what it has printed, in a message.
const SAID_LINES: usize = 3;
/// Between two looks.
const STEP: Duration = Duration::from_millis(10);
/// A probe that takes longer says nothing.
const PROBE: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(1);
/// So long a server that was unmounted and goes on may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(15);

/// What a keeper says, one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// It is ready: its process, and what it has printed first, where that was the sign.
    Ready { pid: libc::pid_t, line: String },
    /// It is not, and will not be.
    Failed { kind: HostFailureKind, text: String },
    /// Whether anything of it runs; how it has ended, if it has.
    State { runs: bool, how: String },
}

/// Keeps what its input says, to its end.
///
/// # Errors
/// The kernel lacks something, or the first line is not what it should be.
pub fn serve() -> io::Result<()> {
    let signals = ancestor::stay()?;
    let mut line = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut line)?;
    let start: Start<String> = serde_json::from_slice(&line)?;
    let way = match Way::of(&start) {
        Ok(way) => way,
        Err(error) => {
            say(&Answer::Failed {
                kind: HostFailureKind::Lacks,
                text: error.to_string(),
            });
            return Ok(());
        }
    };
    let mut keeper = Keeper {
        way,
        start,
        signals,
        pid: 0,
        ended: None,
        streams: [None, None],
        said: Vec::new(),
        first: Vec::new(),
        hears: true,
        is_told_to_end: false,
        probe: None,
    };
    let stays = match keeper.begin() {
        Ok(line) => {
            let pid = keeper.pid;
            say(&Answer::Ready { pid, line });
            keeper.start.ready != StartReady::Ended
        }
        Err((kind, text)) => {
            let text = keeper.hidden(&text);
            say(&Answer::Failed { kind, text });
            false
        }
    };
    while stays && !keeper.is_told_to_end {
        keeper.wait(None)?;
    }
    keeper.end();
    Ok(())
}

/// Whoever would hear it may be gone: then the input ends as well.
fn say(said: &Answer) {
    let mut line = serde_json::to_vec(said).unwrap_or_default();
    line.push(b'\n');
    let _ = io::stdout()
        .write_all(&line)
        .and_then(|()| io::stdout().flush());
}

type NotReady = (HostFailureKind, String);

struct Keeper {
    start: Start<String>,
    way: Way,
    signals: Signals,
    /// Of what was started; 0: nothing was.
    pid: libc::pid_t,
    ended: Option<Ended>,
    /// What it prints.
    streams: [Option<File>; 2],
    said: Vec<u8>,
    /// Its first line, as far as it is known.
    first: Vec<u8>,
    /// Whether there is somebody who may ask.
    hears: bool,
    is_told_to_end: bool,
    probe: Option<Probe>,
}

/// A fork of ours that looks whether something is ready.
struct Probe {
    pid: libc::pid_t,
    is_ready: Option<bool>,
}

impl Keeper {
    /// Starts it, and waits until it is ready; what it has printed first.
    fn begin(&mut self) -> Result<String, NotReady> {
        let failed = |error: io::Error| (HostFailureKind::Failed, error.to_string());
        let is_apart = self.start.ready == StartReady::Line;
        let (writers, readers) = way::pipes(is_apart).map_err(failed)?;
        let stdin = way::input(&self.start.stdin).map_err(failed)?;
        let outputs = [writers[0].as_fd(), writers[1].as_fd()];
        let started = self.way.spawn(&self.start.argv, stdin.as_fd(), outputs);
        self.pid = started.map_err(|(kind, text)| (kind, format!("{}: {text}", self.what())))?;
        self.streams = readers;
        drop((writers, stdin));
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> Result<String, NotReady> {
        let limit_s = self.start.limit_s;
        let began = Instant::now();
        loop {
            let waited = self.wait(Some(STEP));
            waited.map_err(|error| (HostFailureKind::Failed, error.to_string()))?;
            let has_ended = self.ended.is_some_and(|ended| ended != Ended::Exit(0)) || !self.runs();
            if self.is_ready() {
                return Ok(self.first_line());
            }
            let what = self.what();
            if self.is_told_to_end {
                let text = format!("{what}: it was ended before it was ready");
                return Err((HostFailureKind::Interrupted, text));
            }
            if has_ended {
                return Err((HostFailureKind::Failed, format!("{what}: {}", self.how())));
            }
            if began.elapsed().as_secs_f64() > limit_s {
                let said = self.last_lines();
                let text = match self.start.ready {
                    StartReady::Ended => format!("not done after {limit_s} s, so it was killed"),
                    _ => format!("not ready after {limit_s} s: {said}"),
                };
                return Err((HostFailureKind::Limit, format!("{what}: {text}")));
            }
        }
    }

    fn is_ready(&mut self) -> bool {
        let ready = self.start.ready.clone();
        match &ready {
            StartReady::Line => self.first.ends_with(b"\n"),
            StartReady::Ended => self.ended == Some(Ended::Exit(0)),
            StartReady::Path(path) => fs::symlink_metadata(path).is_ok(),
            StartReady::Mounted { at, seen_by } => {
                let table = match seen_by {
                    Some(pid) => mounts_seen_by(pid),
                    None => mounts(),
                };
                let is_there = |(point, _): &(_, _)| point == Path::new(at);
                table.is_ok_and(|mounts| mounts.iter().any(is_there))
            }
            StartReady::Command(argv) => self.probed(|way| way.ends_well(argv, PROBE)),
            StartReady::Port {
                address,
                port,
                network,
            } => self.probed(|_| {
                let place = format!("{address}:{port}").parse::<SocketAddr>();
                let place = place.or_else(|_| format!("[{address}]:{port}").parse());
                let is_there = network
                    .as_deref()
                    .is_none_or(|name| way::enter(name).is_ok());
                is_there
                    && place.is_ok_and(|place| TcpStream::connect_timeout(&place, CONNECT).is_ok())
            }),
        }
    }

    /// What a probe says that has ended; another one is begun where it says no.
    fn probed(&mut self, look: impl FnOnce(&Way) -> bool) -> bool {
        match self.probe.take() {
            Some(Probe {
                is_ready: Some(is_ready),
                ..
            }) => is_ready,
            Some(running) => {
                self.probe = Some(running);
                false
            }
            None => {
                self.probe = self.fork_probe(look);
                false
            }
        }
    }

    fn fork_probe(&self, look: impl FnOnce(&Way) -> bool) -> Option<Probe> {
        // SAFETY: there is one thread, which goes on in both processes.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => {
                self.signals.restore();
                reap::become_subreaper(true);
                let _ = set_parent_process_death_signal(Some(Signal::KILL));
                let is_ready = look(&self.way);
                for pid in reap::descendants(&[]) {
                    crate::group::kill_process(pid);
                }
                end_descendants(&[]);
                // SAFETY: nothing of the keeper is to be put away by it.
                unsafe { libc::_exit(i32::from(!is_ready)) }
            }
            pid => Some(Probe {
                pid,
                is_ready: None,
            }),
        }
    }

    /// Sleeps until there is something to do, at most so long, and does it.
    fn wait(&mut self, most: Option<Duration>) -> io::Result<()> {
        let stdin = io::stdin();
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.hears {
            polled.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN));
        }
        let open = self.streams.iter().flatten();
        polled.extend(open.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        match poll(&mut polled, most.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            other => other?,
        };
        let asked = self.hears && !polled[1].revents().is_empty();
        self.is_told_to_end |= self.signals.read_asks_for_end();
        // In this order: what has ended has printed all that it will.
        self.reap();
        self.keep();
        if asked {
            self.hear();
        }
        Ok(())
    }

    /// Each line is a question; the end of them is an end of all.
    fn hear(&mut self) {
        let mut chunk = [0; 64];
        let count = io::stdin().lock().read(&mut chunk).unwrap_or(0);
        if count == 0 {
            self.hears = false;
            self.is_told_to_end |= !self.start.outlives;
        }
        for _ in chunk[..count].iter().filter(|&&byte| byte == b'\n') {
            let runs = self.runs();
            let how = if runs { String::new() } else { self.how() };
            let how = self.hidden(&how);
            say(&Answer::State { runs, how });
        }
    }

    /// The end of what it prints, and its first line.
    fn keep(&mut self) {
        let mut chunk = [0; CHUNK_BYTES];
        for (number, stream) in self.streams.iter_mut().enumerate() {
            for _ in 0..CHUNKS {
                let Some(open) = stream else { break };
                let count = match open.read(&mut chunk) {
                    Ok(0) => {
                        *stream = None;
                        break;
                    }
                    Ok(count) => count,
                    Err(_) => break,
                };
                let read = &chunk[..count];
                if number == 0 && !self.first.ends_with(b"\n") && self.first.len() < LINE_BYTES {
                    let end = read.iter().position(|&byte| byte == b'\n');
                    self.first
                        .extend_from_slice(&read[..end.map_or(count, |end| end + 1)]);
                }
                self.said.extend_from_slice(read);
                let surplus = self.said.len().saturating_sub(SAID_BYTES);
                self.said.drain(..surplus);
            }
        }
    }

    fn reap(&mut self) {
        while let Some(pid) = reap::next_ended() {
            let Ok((ended, _)) = reap::reap(pid) else {
                return;
            };
            match &mut self.probe {
                Some(probe) if probe.pid == pid => probe.is_ready = Some(ended == Ended::Exit(0)),
                _ if pid == self.pid => self.ended = Some(ended),
                _ => {}
            }
        }
    }

    /// Whether anything of it runs, whatever has become of what was started.
    fn runs(&self) -> bool {
        let probe: Vec<_> = self.probe.iter().map(|probe| probe.pid).collect();
        self.pid != 0 && (self.ended.is_none() || !reap::descendants(&probe).is_empty())
    }

    /// Ends all of it, as it wants to be ended; what is left then is killed.
    fn end(&mut self) {
        if let Some(probe) = self.probe.take() {
            crate::group::kill_process(probe.pid);
        }
        let within = Duration::from_secs_f64(self.start.stop_s);
        match self.start.stop.clone() {
            StartStop::Signal(name) => {
                let signal = signals::number(&name).unwrap_or(libc::SIGTERM);
                self.ask_to_end(signal, within);
            }
            StartStop::Command(argv) => {
                let nothing = way::nothing();
                if let (true, Ok(nothing)) = (self.runs(), nothing) {
                    let streams = [nothing.as_fd(), nothing.as_fd()];
                    let _ = self.way.spawn(&argv, nothing.as_fd(), streams);
                }
                self.wait_for_end(within, |_| {});
            }
            StartStop::Unmount(at) => {
                // One that was still about to mount may have mounted meanwhile.
                self.wait_for_end(within, |_| unmount_all(&at));
                self.ask_to_end(libc::SIGTERM, GRACE);
                unmount_all(&at);
            }
        }
        end_descendants(&[]);
        if let StartStop::Unmount(at) = &self.start.stop {
            unmount_all(at);
        }
    }

    /// Signals what was started, and when that has ended what it has left behind.
    fn ask_to_end(&mut self, signal: libc::c_int, within: Duration) {
        let mut asked: Vec<libc::pid_t> = Vec::new();
        self.wait_for_end(within, |keeper| {
            let pids = match keeper.ended {
                None => vec![keeper.pid],
                Some(_) => reap::children(),
            };
            for pid in pids {
                if pid > 0 && !asked.contains(&pid) {
                    asked.push(pid);
                    // SAFETY: no memory is passed; it is our own child, which was not waited for.
                    unsafe { libc::kill(pid, signal) };
                }
            }
        });
    }

    fn wait_for_end(&mut self, within: Duration, mut ask: impl FnMut(&Self)) {
        let began = Instant::now();
        loop {
            ask(self);
            if !self.runs() || began.elapsed() > within {
                return;
            }
            // Where even that fails, it is killed.
            if self.wait(Some(STEP)).is_err() {
                return;
            }
        }
    }

    /// What it is, as a message begins.
    fn what(&self) -> String {
        let typed = reason::shown(&way::shown(&self.start.argv));
        match self.start.what.as_str() {
            "" => typed,
            what => format!("{what}: {typed}"),
        }
    }

    /// How it has ended, with its last words.
    fn how(&self) -> String {
        let how = match self.ended {
            Some(Ended::Signal { number, .. }) => format!("was killed by signal {number}"),
            Some(Ended::Exit(status)) => format!("ended with status {status}"),
            None => "was not started".to_owned(),
        };
        format!("{how}: {}", self.last_lines())
    }

    fn last_lines(&self) -> String {
        match output::last_lines(&self.said, SAID_LINES) {
            none if none.is_empty() => "it said nothing".to_owned(),
            lines => lines,
        }
    }

    fn first_line(&self) -> String {
        match self.start.ready {
            StartReady::Line => String::from_utf8_lossy(&self.first).trim().to_owned(),
            _ => String::new(),
        }
    }

    /// A text that may be told.
    fn hidden(&self, text: &str) -> String {
        match self.start.secret.as_str() {
            "" => text.to_owned(),
            secret => text.replace(secret, "{secret}"),
        }
    }
}

/// Unmounts all that is mounted there, as far as nobody uses it.
fn unmount_all(at: &str) {
    let at = Path::new(at);
    let is_there = || mounts().is_ok_and(|all| all.iter().any(|(point, _)| point == at));
    while is_there() && unmount(at, UnmountFlags::NOFOLLOW).is_ok() {}
}

/// Whether a signal has this name.
pub fn is_signal(name: &str) -> bool {
    signals::number(name).is_some()
}

/// Whether a process is no more, but for its number.
pub fn has_ended(pid: libc::pid_t) -> bool {
    reap::has_ended(pid)
}
