//! A trial of a runner: a fork that waits for one job, and executes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use kit::signals::Signals;
use kit::{barrier, proc, stop};
use libc::{c_int, pid_t};
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{getpid, getppid};
use wire::Held;

use super::Execute;
use crate::output::Output;

/// How long a trial may take to remove its files.
const GRACE: Duration = Duration::from_secs(15);
/// Kept of what it says for people: the end.
const SAID_BYTES: usize = 4 << 10;
const CHUNK_BYTES: usize = 1 << 16;
/// The exit code of a panic.
const PANICKED: u8 = 101;

/// A fork that waits for its job, or works.
pub struct Trial {
    pid: pid_t,
    /// Where it hears its job; closed when it has been told.
    job: Option<File>,
    words: Option<File>,
    /// Where it says that it is ready, and where it is told when to begin: for one that is held
    /// and has not ended.
    hold: Option<(OwnedFd, OwnedFd)>,
    said: Vec<u8>,
    stopped_at: Option<Instant>,
    is_killed: bool,
}

impl Trial {
    /// Makes one, which waits.
    ///
    /// # Errors
    /// The kernel allows no further pipe or process.
    pub fn prepare(signals: &Signals, execute: Execute, output: &mut Output) -> io::Result<Self> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let ((hears, job), (words, mouth)) = (pipe()?, pipe()?);
        let ((ready, says_ready), (go, says_go)) = (pipe()?, pipe()?);
        rustix::io::ioctl_fionbio(&words, true)?;
        let (runner, starter) = (getpid(), getppid());
        // SAFETY: there is one thread, which goes on in both processes.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((job, words, ready, says_go));
                let code = catch_unwind(AssertUnwindSafe(|| {
                    become_engine(mouth, signals.as_fd())?;
                    proc::set_starter(starter);
                    stop::install()?;
                    signals.restore();
                    if getppid() != Some(runner) {
                        stop::request();
                    }
                    let Some((held, job)) = hear(hears.into())? else {
                        return Ok(0);
                    };
                    match held {
                        Some(each) => barrier::hold(each, says_ready, go),
                        None => drop((says_ready, go)),
                    }
                    Ok(execute(&job, output))
                }));
                let code = code.unwrap_or(Ok(PANICKED));
                let code = code.unwrap_or_else(|error: io::Error| lacks(&error));
                // SAFETY: what is to be put away was put away; the rest is the runner's.
                unsafe { libc::_exit(code.into()) }
            }
            pid => Ok(Self {
                pid,
                job: Some(job.into()),
                words: Some(words.into()),
                hold: Some((ready, says_go)),
                said: Vec::new(),
                stopped_at: None,
                is_killed: false,
            }),
        }
    }

    /// Tells it its job, and what it begins when it is told to.
    ///
    /// # Errors
    /// It has ended.
    pub fn begin(&mut self, job: &str, held: Option<Held>) -> io::Result<()> {
        self.hold = self.hold.take().filter(|_| held.is_some());
        let mut hears = self.job.take().ok_or(io::ErrorKind::BrokenPipe)?;
        hears.write_all(&[held.map_or(0, |each| each as u8)])?;
        hears.write_all(job.as_bytes())
    }

    /// Where it speaks to people, until it has closed that.
    pub fn words(&self) -> Option<BorrowedFd<'_>> {
        self.words.as_ref().map(AsFd::as_fd)
    }

    /// Where it says that it is ready, if it is held and has not ended.
    pub fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.hold.as_ref().map(|(ready, _)| ready.as_fd())
    }

    /// How often it has said since the last look that it is ready.
    pub fn times_ready(&mut self) -> usize {
        let mut said = [0; 8];
        match self.ready().map(|ready| rustix::io::read(ready, &mut said)) {
            Some(Ok(0)) => {
                self.hold = None;
                0
            }
            Some(Ok(count)) => count,
            _ => 0,
        }
    }

    /// Tells it when to begin; one that is not held, or has ended, does not hear it.
    pub fn go(&self, at_ns: u64) {
        if let Some((_, go)) = &self.hold {
            let _ = rustix::io::write(go, &at_ns.to_ne_bytes());
        }
    }

    /// Reads what it has said, and keeps the end of it; whether it had said anything.
    pub fn keep_words(&mut self) -> bool {
        let mut chunk = vec![0; CHUNK_BYTES];
        let words = self.words.as_mut();
        match words.map_or(Ok(0), |words| words.read(&mut chunk)) {
            Ok(0) => {
                self.words = None;
                false
            }
            Ok(count) => {
                self.said.extend_from_slice(&chunk[..count]);
                let surplus = self.said.len().saturating_sub(SAID_BYTES);
                self.said.drain(..surplus);
                true
            }
            // There is nothing now, or a signal came.
            Err(_) => false,
        }
    }

    /// Asks it to end; it removes its files.
    pub fn stop(&mut self) {
        if self.stopped_at.is_none() {
            self.stopped_at = Some(Instant::now());
            self.signal(libc::SIGTERM);
        }
    }

    /// How long it may still take to end, where it was asked to.
    pub fn time_left(&self) -> Option<Duration> {
        let stopped_at = self.stopped_at.filter(|_| !self.is_killed)?;
        Some(GRACE.saturating_sub(stopped_at.elapsed()))
    }

    /// Kills it where it had its time to end.
    pub fn insist(&mut self) {
        if self.time_left() == Some(Duration::ZERO) {
            self.is_killed = true;
            self.signal(libc::SIGKILL);
        }
    }

    /// Its exit status, or the negative signal that killed it, and its last words; `None` while it
    /// runs. Whatever it has left is ended.
    pub fn ended(&mut self) -> Option<(i32, String)> {
        let status = self.status(libc::WNOHANG)?;
        program::end_descendants(&[]);
        while self.keep_words() {}
        let said = String::from_utf8_lossy(&self.said).into_owned();
        Some((status, said))
    }

    /// Ends one that has no job.
    pub fn dismiss(mut self) {
        self.job = None;
        self.status(0);
    }

    /// Its exit status, or the negative signal that killed it, if it has ended by the `options` of
    /// waitpid(2); it is known once.
    fn status(&self, options: c_int) -> Option<i32> {
        let mut status = 0;
        // SAFETY: our own child; the kernel fills its status.
        let ended = unsafe { libc::waitpid(self.pid, &raw mut status, options) } == self.pid;
        ended.then(|| match libc::WIFSIGNALED(status) {
            true => -libc::WTERMSIG(status),
            false => libc::WEXITSTATUS(status),
        })
    }

    fn signal(&self, signal: c_int) {
        // SAFETY: our own child, which was not waited for.
        unsafe { libc::kill(self.pid, signal) };
    }
}

/// In the fork: before what it is held, and its job; `None` where the runner has ended without one.
fn hear(mut hears: File) -> io::Result<Option<(Option<Held>, String)>> {
    let mut held = [0];
    if hears.read(&mut held)? == 0 {
        return Ok(None);
    }
    let mut job = String::new();
    hears.read_to_string(&mut job)?;
    Ok(Some((Held::of(held[0]), job)))
}

/// In the fork: a session of its own, no input, a mouth for people, and nothing of the runner's.
fn become_engine(mouth: OwnedFd, runners: BorrowedFd) -> io::Result<()> {
    let nothing = OpenOptions::new().read(true).open("/dev/null")?;
    // SAFETY: no memory is passed. A fork leads no group, so that setsid does not fail; all are
    // descriptors of this process, and the runner's own is used by nobody here.
    unsafe {
        libc::setsid();
        for (from, to) in [
            (nothing.as_raw_fd(), libc::STDIN_FILENO),
            (mouth.as_raw_fd(), libc::STDERR_FILENO),
        ] {
            if libc::dup2(from, to) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        libc::close(runners.as_raw_fd());
    }
    Ok(())
}

fn lacks(error: &io::Error) -> u8 {
    let message = format!("cannot begin a trial: {error}");
    crate::output::remark("tiltyard-engine", &message);
    crate::exit::number(wire::FailureKind::HostLacks)
}
