//! Processes that stay: each below a keeper (`program::keeper`), through which it is started and looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kit::proc;
use program::keeper::{Answer, VERB};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use wire::{HostFailure, HostFailureKind, HostServer, HostStarted, Start, StartReady, StartStop};

use crate::command::failure;
use crate::marked::begun;
use crate::meanwhile::Meanwhile;
use crate::names::require_prefix;
use crate::request::shown;

/// Between two looks whether a keeper has said something.
const STEP: Duration = Duration::from_millis(10);
/// How long a keeper may take to say how it is.
const ANSWERS: Duration = Duration::from_secs(10);
const ANSWER_BYTES: usize = 1 << 20;

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
                Some(Answer::Ready { pid, line }) => break (pid, line),
                Some(Answer::Failed { kind, text }) => return Err(failure(kind, shown(&text))),
                Some(Answer::State { .. }) => return Err(broken(ErrorKind::InvalidData.into())),
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
                ended: "is not there any more".to_owned(),
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
    fn heard(&mut self, within: Duration) -> io::Result<Option<Answer>> {
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
            Ok(Some(Answer::State { runs: true, .. })) => HostServer {
                pids: BTreeSet::from_iter(proc::family(&[self.pid]).into_keys())
                    .into_iter()
                    .collect(),
                ended: String::new(),
            },
            Ok(Some(Answer::State { how, .. })) => HostServer {
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
