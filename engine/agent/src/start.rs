//! Processes that stay: each below a keeper (`program::keeper`), through which it is started, looked at and
//! ended. It may write over its environment, leave its parent and change its user; where its keeper was
//! killed as well, it is known by the mark in its environment, by what is above it, and by the directories
//! in which nobody else has business.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kit::proc;
use program::keeper::{Said, MARK, VERB};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{geteuid, kill_process, Pid, Signal};
use serde::{Deserialize, Serialize};
use wire::{
    HostFailure, HostFailureKind, HostServer, HostStarted, OpStart, Start, StartReady, StartStop,
};

use crate::change::{refused, require_prefix, unmount_ours};
use crate::command::failure;
use crate::meanwhile::Meanwhile;
use crate::request::{check_op_text, check_text, shown, LONGEST};

/// So much it can be given to read: a pipe holds it.
const STDIN_BYTES: usize = 4 << 10;
const SIGN: &str = "tiltyard-";
/// Between two looks whether a keeper has said something.
const STEP: Duration = Duration::from_millis(10);
/// How long a keeper may take to say how it is.
const ANSWERS: Duration = Duration::from_secs(10);
const ANSWER_BYTES: usize = 1 << 20;
/// How long a process that was asked to end may take before it is killed.
const ENDS: Duration = Duration::from_secs(15);
/// How long one that was killed may take: it has no choice, but a busy kernel makes it wait.
const DIES: Duration = Duration::from_secs(30);
/// How long a keeper may take beyond what its process may take: it asks, and kills.
const KEEPER_ENDS: Duration = Duration::from_secs(45);
/// Field of `/proc/PID/stat`, counted from the state.
const TERMINAL: usize = 4;

/// Whether one can be asked for.
///
/// # Errors
/// Why not.
pub fn check_start(start: &OpStart) -> Result<(), String> {
    let is_of_mark = |sign: char| sign.is_ascii_alphanumeric() || "-.".contains(sign);
    if !start.mark.starts_with(SIGN) || !start.mark.chars().all(is_of_mark) {
        return Err(format!("{:?} is no name of ours", start.mark));
    }
    check_text(&start.name)?;
    if start.argv.is_empty() {
        return Err("a command has no program".to_owned());
    }
    for (what, time_s) in [("limit_s", start.limit_s), ("stop_s", start.stop_s)] {
        if !(time_s >= 0.0 && time_s <= LONGEST.as_secs_f64()) {
            return Err(format!("{what}: {time_s} s is no time to wait"));
        }
    }
    if start.stdin.len() > STDIN_BYTES {
        return Err(format!("stdin is longer than {STDIN_BYTES} bytes"));
    }
    let (network, address) = match &start.ready {
        StartReady::Port {
            network, address, ..
        } => (network.as_ref(), Some(address)),
        _ => (None, None),
    };
    for name in start.network.iter().chain(network) {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(format!("{name:?} is no name of a network namespace"));
        }
    }
    if let StartStop::Signal(name) = &start.stop {
        if !program::keeper::is_signal(name) {
            return Err(format!("{name:?} is no name of a signal"));
        }
    }
    for name in start.environment.iter().flat_map(BTreeMap::keys) {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("{name:?} is no name of a variable"));
        }
    }
    let others = [&start.stdin, &start.secret, &start.what];
    let mut others = others.into_iter().chain(&start.user).chain(address);
    others.try_for_each(|text| check_text(text))?;
    start.with(check_op_text).map(|_| ())
}

/// One as it is recorded, by what is known of it without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    pub mark: String,
    /// Where it alone has business.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<PathBuf>,
    /// What it serves: it ends when that is unmounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<PathBuf>,
    /// How long it may take to end when it is asked to.
    pub stop_s: u64,
}

impl Started {
    pub fn of(start: &Start<String>) -> Self {
        Self {
            mark: start.mark.clone(),
            directories: start.directories.iter().map(PathBuf::from).collect(),
            mounted: match &start.stop {
                StartStop::Unmount(at) => Some(at.into()),
                _ => None,
            },
            stop_s: start.stop_s.ceil() as u64,
        }
    }

    /// Ends it, with all that belongs to it; what was done.
    ///
    /// # Errors
    /// Something of it does not end, or what it serves is in use.
    pub fn take_back(&self) -> io::Result<Option<String>> {
        let unmounted = || match &self.mounted {
            Some(at) => unmount_ours(at, None),
            None => Ok(None),
        };
        // First: a server writes then what it keeps.
        let mut done: Vec<String> = unmounted()?.into_iter().collect();
        let keepers = self.keepers();
        let mut ended = self.end(&keepers);
        ended.extend(self.end_rest()?);
        // One that was still about to mount may have mounted meanwhile.
        done.extend(unmounted()?);
        if !ended.is_empty() {
            let pids: Vec<_> = ended.iter().map(u32::to_string).collect();
            done.push(format!("ended {}, process {}", self.mark, pids.join(", ")));
        }
        Ok((!done.is_empty()).then(|| done.join("; ")))
    }

    /// Has its keeper end it, and waits for that; which keepers there were.
    fn end(&self, keepers: &[u32]) -> BTreeSet<u32> {
        keepers.iter().for_each(|pid| signal(*pid, Signal::TERM));
        let within = Duration::from_secs(self.stop_s) + KEEPER_ENDS;
        let began = Instant::now();
        while !self.keepers().is_empty() && began.elapsed() < within {
            thread::sleep(STEP);
        }
        keepers.iter().copied().collect()
    }

    /// Ends what is left of it without a keeper; which processes that were.
    fn end_rest(&self) -> io::Result<BTreeSet<u32>> {
        let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
        for (number, patience) in [(Signal::TERM, ENDS), (Signal::KILL, DIES)] {
            let began = Instant::now();
            let mut asked = BTreeSet::new();
            loop {
                let mut left = self.pids();
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
        let left = self.pids();
        let first = left.first().map_or(0, |pid| *pid);
        Err(refused(
            &self.mark,
            format_args!("process {first} does not end"),
        ))
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
        let marked: Vec<u32> = pids.iter().copied().filter(carries).collect();
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

/// When a process has begun; 0: it has ended.
fn begun(pid: u32) -> u64 {
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

/// The keepers of this agent, by mark.
#[derive(Default)]
pub struct Keepers(BTreeMap<String, Keeper>);

struct Keeper {
    pid: u32,
    began: u64,
    /// It ends what it keeps when this is closed.
    input: File,
    output: File,
    rest: Vec<u8>,
}

impl Keepers {
    /// Starts a process and waits until it is ready; its number, and what else is known of it.
    ///
    /// # Errors
    /// It is not, or is not to go on; what of it there is, is to be taken back.
    pub fn start(
        &mut self,
        start: &Start<String>,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<(i32, HostStarted), HostFailure> {
        if let StartStop::Unmount(at) = &start.stop {
            let ours = require_prefix(Path::new(at), "not mounted");
            ours.map_err(|error| failure(HostFailureKind::Request, shown(&error.to_string())))?;
        }
        let began = Instant::now();
        let mut keeper = Keeper::of(start, meanwhile).map_err(broken)?;
        let (pid, line) = loop {
            match keeper.heard(STEP).map_err(broken)? {
                Some(Said::Ready { pid, line }) => break (pid, line),
                Some(Said::Failed { kind, text }) => return Err(failure(kind, shown(&text))),
                Some(Said::State { .. }) => return Err(broken(ErrorKind::InvalidData.into())),
                None => meanwhile.wait(Some(Duration::ZERO))?,
            }
        };
        let stays = start.ready != StartReady::Ended;
        let started = HostStarted {
            at: 0,
            pid: if stays { keeper.pid } else { 0 },
            line,
            elapsed_s: began.elapsed().as_secs_f64(),
        };
        if stays {
            self.0.insert(start.mark.clone(), keeper);
        }
        Ok((pid, started))
    }

    /// What has become of these.
    pub fn servers(&mut self, marks: &[String]) -> Vec<HostServer> {
        let each = marks.iter();
        each.map(|mark| match self.0.get_mut(mark) {
            Some(keeper) => keeper.state(),
            None => HostServer {
                ended: "was not started".to_owned(),
                ..HostServer::default()
            },
        })
        .collect()
    }

    pub fn pids(&self) -> Vec<i32> {
        let keepers = self.0.values();
        keepers.map(|keeper| keeper.pid.cast_signed()).collect()
    }

    /// Those that have ended are of no use.
    pub fn forget_ended(&mut self) {
        self.0.retain(|_, keeper| begun(keeper.pid) == keeper.began);
    }
}

impl Keeper {
    /// This engine's file, as a process of its own that outlives us just as long as it takes to end what it
    /// keeps.
    fn of(start: &Start<String>, meanwhile: &mut dyn Meanwhile) -> io::Result<Self> {
        let own = env::current_exe().ok();
        let name = own.as_deref().and_then(Path::file_name);
        let mut command = Command::new("/proc/self/exe");
        command.arg0(name.unwrap_or("tiltyard-engine".as_ref()));
        command.args([VERB, &start.mark]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let restore = meanwhile.signals().restorer();
        // SAFETY: setsid(2) and sigprocmask(2) are all that is done before exec.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                restore();
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let input: Option<OwnedFd> = child.stdin.take().map(Into::into);
        let output: Option<OwnedFd> = child.stdout.take().map(Into::into);
        let (Some(input), Some(output)) = (input, output) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        rustix::io::ioctl_fionbio(&output, true)?;
        let pid = child.id();
        let mut keeper = Self {
            pid,
            began: begun(pid),
            input: input.into(),
            output: output.into(),
            rest: Vec::new(),
        };
        let mut line = serde_json::to_vec(start)?;
        line.push(b'\n');
        keeper.input.write_all(&line)?;
        Ok(keeper)
    }

    /// What it says next; `None`: nothing by then.
    ///
    /// # Errors
    /// It has ended, or says what it should not.
    fn heard(&mut self, within: Duration) -> io::Result<Option<Said>> {
        let mut chunk = [0; 4 << 10];
        if !self.rest.contains(&b'\n') {
            let mut polled = [PollFd::new(&self.output, PollFlags::IN)];
            let within = Timespec::try_from(within).ok();
            match poll(&mut polled, within.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
                other => other?,
            };
            match self.output.read(&mut chunk) {
                Ok(0) => return Err(io::Error::other("its keeper was killed")),
                Ok(count) => self.rest.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if self.rest.len() > ANSWER_BYTES {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let line: Vec<u8> = self.rest.drain(..=end).collect();
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// How it is now.
    fn state(&mut self) -> HostServer {
        let began = Instant::now();
        let mut said = self.input.write_all(b"\n").map(|()| None);
        while matches!(said, Ok(None)) && began.elapsed() < ANSWERS {
            said = self.heard(STEP);
        }
        match said {
            Ok(Some(Said::State { runs: true, .. })) => HostServer {
                pids: BTreeSet::from_iter(proc::family(&[self.pid]).into_keys())
                    .into_iter()
                    .collect(),
                ended: String::new(),
            },
            Ok(Some(Said::State { how, .. })) => HostServer {
                pids: Vec::new(),
                ended: shown(&how),
            },
            _ => HostServer {
                pids: Vec::new(),
                ended: "has ended: its keeper was killed".to_owned(),
            },
        }
    }
}

fn broken(error: io::Error) -> HostFailure {
    failure(HostFailureKind::Failed, shown(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_whose_name_is_not_ours_or_that_could_not_be_ended() {
        let start = r#"{"mark":"tiltyard-1-x","argv":["true"],"ready":"ended","limit_s":1,
            "stop":{"signal":"SIGTERM"},"stop_s":1}"#;
        for (from, to, text) in [
            ("", "", ""),
            ("tiltyard-1-x", "home", "\"home\" is no name of ours"),
            ("tiltyard-1-x", "tiltyard-/x", "\"tiltyard-/x\" is no name"),
            ("[\"true\"]", "[]", "a command has no program"),
            ("[\"true\"]", "[\"\\u0000\"]", "has a byte that is 0"),
            ("SIGTERM", "TERM", "\"TERM\" is no name of a signal"),
            (
                "\"limit_s\":1",
                "\"limit_s\":-1",
                "limit_s: -1 s is no time",
            ),
            (
                "\"stop_s\":1",
                "\"stop_s\":1,\"in\":\"../x\"",
                "is no name of a network",
            ),
            (
                "\"stop_s\":1",
                "\"stop_s\":1,\"environment\":{\"\":\"\"}",
                "no name of a variable",
            ),
        ] {
            let start: OpStart = serde_json::from_str(&start.replace(from, to)).unwrap();
            let told = check_start(&start).err().unwrap_or_default();
            assert!(
                told.contains(text) && told.is_empty() == text.is_empty(),
                "{told}"
            );
        }
    }

    #[test]
    fn what_has_left_its_keeper_is_found_by_where_it_works() {
        let held = tempfile::tempdir().unwrap();
        let started = Started {
            mark: format!("{SIGN}{}-nobody", std::process::id()),
            directories: vec![held.path().to_owned()],
            mounted: None,
            stop_s: 1,
        };
        assert_eq!(started.take_back().unwrap(), None);
        let mut child = Command::new("sleep")
            .arg("600")
            .current_dir(held.path())
            .spawn()
            .unwrap();
        let ended = started.take_back();
        let said = format!("ended {}, process {}", started.mark, child.id());
        assert!(child.wait().is_ok());
        assert_eq!(ended.unwrap(), Some(said));
    }
}
