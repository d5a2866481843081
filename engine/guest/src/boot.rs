//! A machine that runs a guest: started with both ends of its channel, waited for, and switched off.
//!
//! This process stays above the machine: it says in one line what came of the boot, and ends with the
//! machine, which it switches off when it is asked to end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kit::signals::Signals;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{mknodat, FileType, Mode, OFlags, CWD};
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use serde::Serialize;

use crate::into::{last_words, Guest, Lines};
use crate::message::{Ask, Hello, VERSION};

/// Descriptors of the machine: of the pipe into the guest, and of the one out of it.
const INTO: i32 = 3;
const OUT_OF: i32 = 4;
/// How long a guest may take to switch itself off.
const ENDS: Duration = Duration::from_secs(20);
/// Of it, for the answer that it will.
const ANSWERS: Duration = Duration::from_secs(10);

/// A machine that is to be started.
pub struct Boot {
    /// Path of the two pipes, without `.in` and `.out`; they are made.
    pub channel: PathBuf,
    /// File that what the machine prints is added to.
    pub console: PathBuf,
    /// How long the guest may take to be ready.
    pub within: Duration,
    /// Program and arguments. It has both pipes open to read and write, as descriptors 3 and 4.
    pub argv: Vec<String>,
}

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Booted {
    /// The guest is ready.
    Ready {
        /// The process that is the machine.
        machine: u32,
        hello: Hello,
    },
    /// It is not, and its machine is no more.
    Failed {
        /// Whether the machine has ended by itself: another boot may do better.
        ended: bool,
        why: String,
        /// The last words of this boot; empty: none.
        words: String,
    },
}

impl Boot {
    /// Starts the machine, says what came of it, and stays as long as the machine does.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(self, say: &mut dyn FnMut(&Booted)) -> io::Result<()> {
        let pipes = self.make_pipes()?;
        let console = self.open_console()?;
        let said_before = console.metadata()?.len();
        let mut machine = self.start(console)?;
        // Not before: a child would have them kept back as well.
        let signals = Signals::block()?;
        let pid = Pid::from_raw(machine.id().cast_signed()).ok_or(ErrorKind::NotFound)?;
        let watched = pidfd_open(pid, PidfdFlags::empty())?;
        let guest = Guest {
            channel: self.channel.clone(),
            console: Some(self.console.clone()),
            machine: Some(pid),
        };
        let lines = guest.connect()?;
        // The machine alone keeps them open, so that its end is the end of what can be heard.
        drop(pipes);
        match self.hello(lines, &signals) {
            Ok(hello) => say(&Booted::Ready {
                machine: machine.id(),
                hello,
            }),
            Err(error) => {
                end(&mut machine)?;
                let is_over = error.kind() == ErrorKind::UnexpectedEof;
                let words = last_words(&self.console, said_before);
                say(&Booted::Failed {
                    ended: is_over,
                    why: error.to_string(),
                    words: words.unwrap_or_default(),
                });
                return Ok(());
            }
        }
        while !has_ended(&watched, Some(&signals), None)? {
            if signals.read_asks_for_end() {
                let _ = guest.ask(&[Ask::PowerOff], ANSWERS);
                has_ended(&watched, None, Some(ENDS))?;
                break;
            }
        }
        end(&mut machine)
    }

    fn hello(&self, mut lines: Lines, signals: &Signals) -> io::Result<Hello> {
        let hello = lines.hello(self.within, &|| signals.read_asks_for_end())?;
        match hello.version {
            VERSION => Ok(hello),
            other => Err(io::Error::other(format!(
                "it speaks version {other}, this engine {VERSION}"
            ))),
        }
    }

    /// Makes both, in the place of those of an earlier boot, and opens them.
    fn make_pipes(&self) -> io::Result<[File; 2]> {
        let make = |extension: &str, number: i32| {
            let mut path = self.channel.clone().into_os_string();
            path.push(extension);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.file_type().is_fifo() => fs::remove_file(&path)?,
                _ => {}
            }
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            let flags = OFlags::RDWR | OFlags::NOFOLLOW;
            let pipe = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
            match pipe.as_raw_fd() == number {
                true => Ok(pipe),
                false => Err(io::Error::other(format!(
                    "descriptor {number} is open already"
                ))),
            }
        };
        Ok([make(".in", INTO)?, make(".out", OUT_OF)?])
    }

    /// A file of ours, whatever somebody has laid in its place.
    fn open_console(&self) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o644);
        let console = options
            .custom_flags(flags.bits().cast_signed())
            .open(&self.console)?;
        let found = console.metadata()?;
        match found.is_file() && found.nlink() == 1 {
            true => Ok(console),
            false => Err(io::Error::other(format!(
                "{}: not written to: it is no file, or has another name elsewhere",
                self.console.display()
            ))),
        }
    }

    fn start(&self, console: File) -> io::Result<Child> {
        let (program, arguments) = self.argv.split_first().ok_or(ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        let started = command.stdout(console.try_clone()?).stderr(console).spawn();
        started.map_err(|error| io::Error::other(format!("{program}: cannot be started: {error}")))
    }
}

/// Waits until the machine has ended, a signal comes, or the time is over; whether it has ended.
fn has_ended(
    watched: &OwnedFd,
    signals: Option<&Signals>,
    within: Option<Duration>,
) -> io::Result<bool> {
    let give_up = within.map(|within| Instant::now() + within);
    loop {
        let left = give_up.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled = vec![PollFd::new(watched, PollFlags::IN)];
        polled.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
        match poll(&mut polled, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            other => {
                other?;
                return Ok(!polled[0].revents().is_empty());
            }
        }
    }
}

/// Kills it, unless it has ended, and takes leave of it.
fn end(machine: &mut Child) -> io::Result<()> {
    machine.kill()?;
    machine.wait().map(drop)
}
