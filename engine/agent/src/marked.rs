//! A process that stays, as it is known without its agent: by its keeper, which has the mark for an argument,
//! by the mark in its environment, by what is above it, and by the directories in which nobody else has
//! business: it may write over its environment, leave its parent and change its user.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use kit::proc;
use program::keeper::{MARK, VERB};
use rustix::process::{geteuid, kill_process, Pid, Signal};
use serde::{Deserialize, Serialize};
use wire::Start;

/// Between two looks.
const STEP: Duration = Duration::from_millis(10);
/// How long a process that was asked to end may take before it is killed.
const ENDS: Duration = Duration::from_secs(15);
/// How long one that was killed may take: it has no choice, but a busy kernel makes it wait.
const DIES: Duration = Duration::from_secs(30);
/// How long a keeper may take beyond what its process may take: it asks, and kills.
const KEEPER_ENDS: Duration = Duration::from_secs(45);
/// Field of `/proc/PID/stat`, counted from the state.
const TERMINAL: usize = 4;

/// One as it is recorded, by what is known of it without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    pub mark: String,
    /// Where it alone has business.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<PathBuf>,
    /// How long it may take to end when it is asked to.
    pub stop_s: u64,
}

impl Marked {
    pub fn of(start: &Start<String>) -> Self {
        Self {
            mark: start.mark.clone(),
            directories: start.directories.iter().map(PathBuf::from).collect(),
            stop_s: start.stop_s.ceil() as u64,
        }
    }

    /// Ends it, with all that belongs to it; which processes that were.
    ///
    /// # Errors
    /// Something of it does not end.
    pub fn end(&self) -> io::Result<BTreeSet<u32>> {
        let mut ended = self.end_by_keeper();
        ended.extend(self.end_rest()?);
        Ok(ended)
    }

    /// Has its keeper end it, and waits for that; which keepers there were.
    fn end_by_keeper(&self) -> BTreeSet<u32> {
        let keepers = self.keepers();
        keepers.iter().for_each(|pid| signal(*pid, Signal::TERM));
        let within = Duration::from_secs(self.stop_s) + KEEPER_ENDS;
        let began = Instant::now();
        while !self.keepers().is_empty() && began.elapsed() < within {
            thread::sleep(STEP);
        }
        keepers.into_iter().collect()
    }

    /// Ends what is left of it without a keeper; which processes that were.
    fn end_rest(&self) -> io::Result<BTreeSet<u32>> {
        end_all(&self.mark, || self.pids())
    }

    /// Processes that are its keeper: this user's, with its mark for an argument.
    fn keepers(&self) -> Vec<u32> {
        let is_keeper = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split(|&byte| byte == 0).skip(1);
            let own = fs::metadata(format!("/proc/{pid}")).map(|found| found.uid());
            words.next() == Some(VERB.as_bytes())
                && words.next() == Some(self.mark.as_bytes())
                && own.is_ok_and(|uid| uid == geteuid().as_raw())
        };
        proc::all_pids().into_iter().filter(is_keeper).collect()
    }

    /// Whoever carries its mark, is below one that does, or works in its directories; not this process.
    fn pids(&self) -> BTreeSet<u32> {
        let wanted = format!("{MARK}={}", self.mark);
        let carries = |pid: &u32| {
            let all = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            all.split(|&byte| byte == 0)
                .any(|one| one == wanted.as_bytes())
        };
        let pids = proc::all_pids();
        let mut marked: Vec<u32> = pids.iter().copied().filter(carries).collect();
        marked.extend(self.keepers());
        let mut found: BTreeSet<u32> = proc::family(&marked).into_keys().collect();
        if !self.directories.is_empty() {
            found.extend(pids.into_iter().filter(|pid| self.is_at_work(*pid)));
        }
        found.retain(|pid| begun(*pid) != 0 && *pid != std::process::id());
        found
    }

    /// Whether a process works in one of its directories, or has a file open there. Somebody who looks
    /// around there at a terminal is none of ours.
    fn is_at_work(&self, pid: u32) -> bool {
        let here = PathBuf::from(format!("/proc/{pid}"));
        let open = fs::read_dir(here.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        let mut paths = open
            .map(|entry| entry.path())
            .chain([here.join("cwd")])
            .filter_map(|link| fs::read_link(link).ok());
        paths.any(|path| self.directories.iter().any(|own| path.starts_with(own)))
            && !has_terminal(pid)
    }
}

/// Ends processes, whoever is found; which ones that were.
///
/// # Errors
/// One does not end.
pub fn end_all(what: &str, pids: impl Fn() -> BTreeSet<u32>) -> io::Result<BTreeSet<u32>> {
    let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
    for (number, patience) in [(Signal::TERM, ENDS), (Signal::KILL, DIES)] {
        let began = Instant::now();
        let mut asked = BTreeSet::new();
        loop {
            let mut left = pids();
            // One that ends loses what it is known by before it lets go of its files.
            left.extend(
                ended
                    .iter()
                    .filter(|(pid, since)| begun(**pid) == **since)
                    .map(|(pid, _)| *pid),
            );
            if left.is_empty() {
                return Ok(ended.into_keys().collect());
            }
            if began.elapsed() > patience {
                break;
            }
            for pid in left {
                ended.entry(pid).or_insert_with(|| begun(pid));
                if asked.insert(pid) {
                    signal(pid, number);
                }
            }
            thread::sleep(STEP);
        }
    }
    let left = pids();
    let first = left.first().map_or(0, |pid| *pid);
    Err(io::Error::other(format!(
        "{what}: process {first} does not end"
    )))
}

/// When a process has begun; 0: it has ended.
pub fn begun(pid: u32) -> u64 {
    match program::keeper::has_ended(pid.cast_signed()) {
        true => 0,
        false => proc::process_at(pid).map_or(0, |one| one.started_ticks),
    }
}

fn has_terminal(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    fields
        .split_ascii_whitespace()
        .nth(TERMINAL)
        .is_some_and(|number| number != "0")
}

fn signal(pid: u32, number: Signal) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        let _ = kill_process(pid, number);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_has_left_its_keeper_is_found_by_where_it_works() {
        let held = tempfile::tempdir().unwrap();
        let started = Marked {
            mark: format!("tiltyard-{}-nobody", std::process::id()),
            directories: vec![held.path().to_owned()],
            stop_s: 1,
        };
        assert_eq!(started.end().unwrap(), BTreeSet::new());
        let mut child = Command::new("sleep")
            .arg("600")
            .current_dir(held.path())
            .spawn()
            .unwrap();
        let ended = started.end();
        assert!(child.wait().is_ok());
        assert_eq!(ended.unwrap(), BTreeSet::from([child.id()]));
    }
}
