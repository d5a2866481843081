//! The way into a guest: one job through the channel, the engine's lines back.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kit::failure::failure;
use kit::stop;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use wire::{Failure, FailureKind};

use crate::message::{Ask, Hello, Line, Reply, Request};

/// A guest that has not begun after that time never will.
const BEGINS: Duration = Duration::from_secs(60);
/// Longest answer, and longest line that may stand before it.
const LINE_BYTES: usize = 4 << 20;
/// How often signals and the time are looked at.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
const CHUNK_BYTES: usize = 1 << 16;
/// The guest's own lines begin so; those of the engine do not.
const OWN: &[u8] = b"{\"guest\":";
/// Words of whoever knows why a guest cannot go on: the kernel, the engine as its first process,
/// the initramfs of an operating system. What is said after them is of the end alone.
const CAUSES: [&str; 3] = ["Kernel panic", "tiltyard-engine: ", "ALERT!"];
/// What a kernel says as it ends, whyever it does.
const FAREWELLS: [&str; 2] = ["reboot: ", "Rebooting automatically"];

/// Where a guest is, seen from its host.
pub struct Guest {
    /// Path of the two pipes, without `.in` and `.out`.
    pub channel: PathBuf,
    /// File with what its kernel has said.
    pub console: Option<PathBuf>,
    /// Process that is the machine. Its helpers may hold the pipes open when it has ended.
    pub machine: Option<Pid>,
}

/// What was asked for, by name.
pub type Found = BTreeMap<String, String>;

/// How the engine in the guest ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// Exit status; negative is the signal that killed it.
    pub status: i32,
    /// What it wrote for people.
    pub said: String,
}

impl Guest {
    /// Runs a job in the guest. Each line of the engine goes to `pass_on`, newline included. A
    /// signal that [`stop`] heeds is passed on as well.
    ///
    /// # Errors
    /// `Far` when there is no guest, or no guest any more; the message has its last words.
    pub fn run(&self, job: &str, pass_on: &mut dyn FnMut(&[u8])) -> Result<Ended, Failure> {
        let id = std::process::id().to_string();
        let talked = self
            .connect()
            .and_then(|mut lines| lines.run(&id, job, pass_on));
        talked.map_err(|error| self.lost(&error))
    }

    /// Asks for one thing after the other; what was found of each.
    ///
    /// # Errors
    /// `Far`: there is no guest any more, or it says nothing. `Io`: it has refused, in its own words.
    pub fn ask(&self, all: &[Ask], within: Duration) -> Result<Vec<Found>, Failure> {
        let mut lines = self.connect().map_err(|error| self.lost(&error))?;
        let mut found = Vec::new();
        for (number, ask) in all.iter().enumerate() {
            let id = format!("{}-{number}", std::process::id());
            let answer = lines.ask(&id, ask.clone()).and_then(|()| {
                lines.await_answer(within, &stop::requested, |reply| match reply {
                    Reply::Done { id: of, found } if of == id => Some(Ok(Ok(found))),
                    Reply::Refused { id: of, message } if of == id => Some(Ok(Err(message))),
                    _ => None,
                })
            });
            match answer.map_err(|error| self.lost(&error))? {
                Ok(one) => found.push(one),
                Err(message) => return Err(failure(FailureKind::Io, message)),
            }
        }
        Ok(found)
    }

    /// Opens both ends.
    ///
    /// # Errors
    /// There is no machine, or no machine any more.
    pub fn connect(&self) -> io::Result<Lines> {
        let end = |extension: &str, options: &mut OpenOptions| {
            let mut path = self.channel.clone().into_os_string();
            path.push(extension);
            options
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(path)
        };
        Ok(Lines {
            into: end(".in", OpenOptions::new().write(true))?,
            out_of: end(".out", OpenOptions::new().read(true))?,
            machine: self.machine.map(watched).transpose()?,
            heard: Vec::new(),
        })
    }

    fn lost(&self, error: &io::Error) -> Failure {
        let words = self
            .console
            .as_deref()
            .and_then(|console| last_words(console, 0));
        let words = words.map_or_else(String::new, |words| format!("; its last words: {words}"));
        // ENXIO: nobody reads the pipe; fifo(7).
        let is_gone = error.raw_os_error() == Some(Errno::NXIO.raw_os_error());
        let message = match is_gone {
            true => "the guest is not there any more".to_owned(),
            false => format!("the guest: {error}"),
        };
        failure(FailureKind::Far, message + &words)
    }
}

/// Both ends of a channel.
pub struct Lines {
    into: File,
    out_of: File,
    machine: Option<OwnedFd>,
    heard: Vec<u8>,
}

impl Lines {
    /// Waits for the guest's first words; `is_over` tells that nobody wants to hear them any more.
    ///
    /// # Errors
    /// `UnexpectedEof`: it has ended. `TimedOut`: it says nothing. Others: what it says is no greeting.
    pub fn hello(&mut self, within: Duration, is_over: &dyn Fn() -> bool) -> io::Result<Hello> {
        self.await_answer(within, is_over, |reply| match reply {
            Reply::Hello(hello) => Some(Ok(hello)),
            _ => None,
        })
    }

    fn run(&mut self, id: &str, job: &str, pass_on: &mut dyn FnMut(&[u8])) -> io::Result<Ended> {
        self.ask(
            id,
            Ask::Run {
                job: job.to_owned(),
            },
        )?;
        self.await_beginning(id)?;
        let mut asked_to_stop = false;
        loop {
            if stop::requested() && !asked_to_stop {
                self.ask(id, Ask::Stop)?;
                asked_to_stop = true;
            }
            while let Some(line) = self.next_line() {
                match said(&line) {
                    Some(Reply::Ended {
                        id: of,
                        status,
                        said,
                    }) if of == id => {
                        return Ok(Ended { status, said });
                    }
                    Some(_) => {}
                    None => pass_on(&line),
                }
            }
            self.hear()?;
        }
    }

    /// Waits until the engine has begun.
    fn await_beginning(&mut self, id: &str) -> io::Result<()> {
        self.await_answer(BEGINS, &|| false, |reply| match reply {
            Reply::Begun { id: of } if of == id => Some(Ok(())),
            Reply::Refused { id: of, message } if of == id => Some(Err(io::Error::other(message))),
            _ => None,
        })
    }

    /// Waits for what is wanted; passes over what was meant for an earlier one.
    fn await_answer<T>(
        &mut self,
        within: Duration,
        is_over: &dyn Fn() -> bool,
        mut wanted: impl FnMut(Reply) -> Option<io::Result<T>>,
    ) -> io::Result<T> {
        let give_up = Instant::now() + within;
        while Instant::now() < give_up {
            if is_over() {
                return Err(ErrorKind::Interrupted.into());
            }
            while let Some(line) = self.next_line() {
                if let Some(answer) = said(&line).and_then(&mut wanted) {
                    return answer;
                }
            }
            if self.heard.len() > LINE_BYTES {
                return Err(io::Error::other("it says a line that does not end"));
            }
            self.hear()?;
        }
        let message = format!("it says nothing for {} s", within.as_secs_f64());
        Err(io::Error::new(ErrorKind::TimedOut, message))
    }

    fn ask(&mut self, id: &str, ask: Ask) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Request {
            id: id.to_owned(),
            ask,
        })?;
        line.push(b'\n');
        let mut rest = &line[..];
        while !rest.is_empty() {
            match self.into.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.into, PollFlags::OUT)], Some(&TICK))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits a moment for something to be heard.
    fn hear(&mut self) -> io::Result<()> {
        let has_ended = self.wait()?;
        let mut chunk = [0; CHUNK_BYTES];
        match self.out_of.read(&mut chunk) {
            Ok(0) => Err(ended()),
            Ok(count) => {
                self.heard.extend_from_slice(&chunk[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && has_ended => Err(ended()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits until there is something to hear, the machine ends, a signal comes, or a moment has
    /// passed; whether the machine has ended.
    fn wait(&self) -> io::Result<bool> {
        let mut all = vec![PollFd::new(&self.out_of, PollFlags::IN)];
        all.extend(
            self.machine
                .iter()
                .map(|machine| PollFd::new(machine, PollFlags::IN)),
        );
        match poll(&mut all, Some(&TICK)) {
            Ok(_) => Ok(all[1..].iter().any(|machine| !machine.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        Some(self.heard.drain(..=end).collect())
    }
}

/// A descriptor that can be read when the process has ended. One that is gone is as good.
fn watched(machine: Pid) -> io::Result<OwnedFd> {
    pidfd_open(machine, PidfdFlags::empty()).map_err(|error| match error {
        Errno::SRCH => ended(),
        other => other.into(),
    })
}

fn ended() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it has ended")
}

/// What the guest itself says in a line; `None` if the line is the engine's.
fn said(line: &[u8]) -> Option<Reply> {
    let own = line.starts_with(OWN).then_some(line)?;
    serde_json::from_slice(own)
        .ok()
        .map(|line: Line| line.guest)
}

/// Why the guest has ended, if anyone there knew, else the last line before the farewell: of the
/// end of a file, whose size is up to the guest, from some byte on.
pub fn last_words(console: &Path, from: u64) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(console).ok()?;
    let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut end = vec![0; CHUNK_BYTES];
    let begin = found.len().saturating_sub(CHUNK_BYTES as u64).max(from);
    let read = file.read_at(&mut end, begin);
    cause(&String::from_utf8_lossy(&end[..read.ok()?])).map(str::to_owned)
}

fn cause(text: &str) -> Option<&str> {
    let lines = || {
        let lines = text.lines().rev().map(str::trim);
        lines.filter(|line| !line.is_empty())
    };
    let told = |words: &[&str], line: &str| words.iter().any(|word| line.contains(word));
    CAUSES
        .iter()
        .find_map(|cause| lines().find(|line| line.contains(cause)))
        .or_else(|| lines().find(|line| !told(&FAREWELLS, line)))
        .or_else(|| lines().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_console_its_end_is_read_and_of_nothing_but_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let console = directory.path().join("console");
        let file = File::create(&console).unwrap();
        file.write_at(b"the end\n", 1 << 40).unwrap();
        assert!(last_words(&console, 0).unwrap().ends_with("the end"));
        assert_eq!(last_words(&console, (1 << 40) + 4).unwrap(), "end");
        assert_eq!(last_words(&console, 1 << 41), None);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&console, &link).unwrap();
        assert_eq!(last_words(&link, 0), None);
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(last_words(&pipe, 0), None);
    }

    #[test]
    fn last_words_are_the_cause_and_no_farewell() {
        let of = |lines: &[&str]| cause(&lines.join("\r\n")).map(str::to_owned);
        let engine = "tiltyard-engine: the guest cannot serve: No such device (os error 19)";
        let end = "[    1.2] reboot: Power down";
        assert_eq!(of(&["[ 1.0] hello", engine, end]).unwrap(), engine);
        let alert = "ALERT!  UUID=1 does not exist.  Dropping to a shell!";
        let again = "Rebooting automatically due to panic= boot argument";
        let last = "[   40.1] reboot: machine restart";
        assert_eq!(of(&[alert, again, last]).unwrap(), alert);
        assert_eq!(of(&["a disk that ends", last]).unwrap(), "a disk that ends");
        let panic = "Kernel panic - not syncing: VFS";
        assert_eq!(of(&[engine, panic, "---[ end", end]).unwrap(), panic);
        assert_eq!(of(&[end]).unwrap(), end);
        assert_eq!(of(&[]), None);
    }
}
