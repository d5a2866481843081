//! What holds a program together with all that it starts: a control group of its own, or, where
//! none can be had, this process as the one that orphans fall to (PR_SET_CHILD_SUBREAPER).

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use kit::cgroup;
use rustix::process::{Pid, Signal};

use crate::spawn::Into;

/// Rounds of killing; what is started between two of them is found by the next one.
const KILL_TRIES: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(1);

/// How programs are held together, as the record names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A control group of version 2: made inside it, ended by `cgroup.kill`.
    Two,
    /// One of version 1: joined before the program begins.
    One,
    /// Orphans become children of this process.
    Subreaper,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Two => "cgroup2",
            Self::One => "cgroup1",
            Self::Subreaper => "subreaper",
        }
    }
}

/// A group, removed when dropped.
pub struct Group {
    kind: Kind,
    directory: PathBuf,
    /// The directory itself, or `cgroup.procs` of version 1.
    entry: Option<File>,
    procs: Option<File>,
    usage: Option<File>,
}

/// CPU time, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    pub user_s: f64,
    pub system_s: f64,
}

impl Group {
    /// Makes the best that can be had here; `name` tells several of one process apart.
    pub fn make(name: &str) -> Self {
        let found = cgroup::for_programs().into_iter();
        let mut made = found.filter_map(|(version, parent)| {
            let directory = parent.join(format!("{}-{name}", cgroup::own_name()));
            Self::make_in(version, directory).ok()
        });
        made.next().unwrap_or(Self {
            kind: Kind::Subreaper,
            directory: PathBuf::new(),
            entry: None,
            procs: None,
            usage: None,
        })
    }

    fn make_in(version: cgroup::Version, directory: PathBuf) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        let open = |name: &str| File::open(directory.join(name));
        let opened = || {
            let (kind, entry, usage) = match version {
                cgroup::Version::Two => (Kind::Two, File::open(&directory)?, "cpu.stat"),
                cgroup::Version::One => {
                    let procs = directory.join("cgroup.procs");
                    let entry = OpenOptions::new().write(true).open(procs)?;
                    (Kind::One, entry, "cpuacct.stat")
                }
            };
            Ok((kind, entry, open("cgroup.procs")?, open(usage).ok()))
        };
        match opened() {
            Ok((kind, entry, procs, usage)) => Ok(Self {
                kind,
                entry: Some(entry),
                procs: Some(procs),
                usage,
                directory,
            }),
            Err(error) => {
                let _ = fs::remove_dir(&directory);
                Err(error)
            }
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where it is; `None` without one.
    pub fn directory(&self) -> Option<&Path> {
        self.entry.as_ref().map(|_| self.directory.as_path())
    }

    /// How a new process gets into it.
    pub fn way_in(&self) -> Into<'_> {
        match (&self.entry, self.kind) {
            (Some(entry), Kind::Two) => Into::Cgroup(entry.as_fd()),
            (Some(entry), _) => Into::Procs(entry.as_fd()),
            (None, _) => Into::Nothing,
        }
    }

    /// CPU time of all that was ever in it; `None` where nobody counts it.
    pub fn cpu(&mut self) -> Option<Cpu> {
        // Version 1 counts in ticks: what processes report themselves is finer.
        if self.kind != Kind::Two {
            return None;
        }
        let text = read_again(self.usage.as_mut()?).ok()?;
        let seconds = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().parse::<u64>().ok()? as f64 / 1e6)
        };
        Some(Cpu {
            user_s: seconds("user_usec ")?,
            system_s: seconds("system_usec ")?,
        })
    }

    /// The processes in it, without those that have ended; `None` without a group.
    pub fn processes(&mut self) -> Option<Vec<i32>> {
        let text = read_again(self.procs.as_mut()?).ok()?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Ends all that is in it.
    pub fn kill(&mut self) {
        if self.entry.is_none() {
            return;
        }
        for _ in 0..KILL_TRIES {
            let processes = self.processes().unwrap_or_default();
            if processes.is_empty() {
                return;
            }
            if fs::write(self.directory.join("cgroup.kill"), "1").is_err() {
                processes.into_iter().for_each(kill_process);
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.entry.take().is_none() {
            return;
        }
        for _ in 0..KILL_TRIES {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

/// Sends SIGKILL, if there still is such a process.
pub fn kill_process(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// The name of a process, as a message shows it.
pub fn name_of(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|&byte| byte == 0).collect();
    let words = String::from_utf8_lossy(&words.join(&b' '))
        .trim()
        .to_owned();
    let name = match words.is_empty() {
        true => fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default(),
        false => words,
    };
    let short: String = name.trim().chars().take(60).collect();
    format!("{short} ({pid})")
}

fn read_again(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}
