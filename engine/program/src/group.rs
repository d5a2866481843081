//! What holds a program together with all that it starts: a control group of its own, or, where
//! none can be had, this process as the one that orphans fall to (PR_SET_CHILD_SUBREAPER).

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use kit::cgroup;
use rustix::process::{Pid, Signal};
use wire::HeldBy;

use crate::spawn::Into;

/// Rounds of killing; what is started between two of them is found by the next one.
const KILL_TRIES: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(1);
const CHUNK_BYTES: usize = 4 << 10;

/// A group, removed when dropped.
pub struct Group {
    held_by: HeldBy,
    directory: PathBuf,
    /// The directory itself, or `cgroup.procs` of version 1.
    entry: Option<File>,
    procs: Option<File>,
    usage: Option<File>,
}

/// Where a group can be: in which hierarchy, in which directory.
pub type Place = (cgroup::Version, PathBuf);

/// Where a group of this name can be, the better first; the name tells several of one process
/// apart.
pub fn places(name: &str) -> Vec<Place> {
    let own = format!("{}-{name}", cgroup::own_name());
    let found = cgroup::for_programs().into_iter();
    found
        .map(|(version, parent)| (version, parent.join(&own)))
        .collect()
}

/// CPU time, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    pub user_s: f64,
    pub system_s: f64,
}

impl Group {
    /// Makes the best that can be had at these [`places`].
    pub fn make(places: Vec<Place>) -> Self {
        let mut made = places
            .into_iter()
            .filter_map(|(version, directory)| Self::make_in(version, directory).ok());
        made.next().unwrap_or_else(Self::none)
    }

    /// No group at all.
    pub fn none() -> Self {
        Self {
            held_by: HeldBy::Subreaper,
            directory: PathBuf::new(),
            entry: None,
            procs: None,
            usage: None,
        }
    }

    fn make_in(version: cgroup::Version, directory: PathBuf) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        let open = |name: &str| File::open(directory.join(name));
        let opened = || {
            let (held_by, entry, usage) = match version {
                cgroup::Version::Two => (HeldBy::Cgroup2, File::open(&directory)?, "cpu.stat"),
                cgroup::Version::One => {
                    let procs = directory.join("cgroup.procs");
                    let entry = OpenOptions::new().write(true).open(procs)?;
                    (HeldBy::Cgroup1, entry, "cpuacct.stat")
                }
            };
            Ok((held_by, entry, open("cgroup.procs")?, open(usage).ok()))
        };
        match opened() {
            Ok((held_by, entry, procs, usage)) => Ok(Self {
                held_by,
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

    pub fn held_by(&self) -> HeldBy {
        self.held_by
    }

    /// How a new process gets into it.
    pub fn way_in(&self) -> Into<'_> {
        match (&self.entry, self.held_by) {
            (Some(entry), HeldBy::Cgroup2) => Into::Cgroup(entry.as_fd()),
            (Some(entry), _) => Into::Procs(entry.as_fd()),
            (None, _) => Into::Nothing,
        }
    }

    /// CPU time of all that was ever in it; `None` where nobody counts it.
    pub fn cpu(&self) -> Option<Cpu> {
        // Version 1 counts in ticks: what processes report themselves is finer.
        if self.held_by != HeldBy::Cgroup2 {
            return None;
        }
        let text = read_all(self.usage.as_ref()?).ok()?;
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
    pub fn processes(&self) -> Option<Vec<i32>> {
        let text = read_all(self.procs.as_ref()?).ok()?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Ends all that is in it.
    pub fn kill(&self) {
        if self.entry.is_some() {
            kill_all(&self.directory);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.entry.take().is_some() {
            end_all(&self.directory);
        }
    }
}

/// Ends all that is in the group of this directory, and removes it.
pub fn end_all(directory: &Path) {
    kill_all(directory);
    for _ in 0..KILL_TRIES {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => thread::sleep(PAUSE),
            _ => return,
        }
    }
}

fn kill_all(directory: &Path) {
    for _ in 0..KILL_TRIES {
        let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        if fs::write(directory.join("cgroup.kill"), "1").is_err() {
            text.lines()
                .filter_map(|line| line.parse().ok())
                .for_each(kill_process);
        }
        thread::sleep(PAUSE);
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

/// A file of the kernel from its begin, which may have grown since it was read.
fn read_all(file: &File) -> io::Result<String> {
    let (mut text, mut chunk) = (Vec::new(), [0; CHUNK_BYTES]);
    loop {
        match file.read_at(&mut chunk, text.len() as u64)? {
            0 => return String::from_utf8(text).map_err(io::Error::other),
            count => text.extend_from_slice(&chunk[..count]),
        }
    }
}
