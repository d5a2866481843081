//! What a command has set of a host, and another one sets back: what is in force a third one tells.
//!
//! These commands are nobody's descendants: what one leaves behind, as a service that is started again,
//! is the host's own, and neither ends with the agent nor holds the lock of its ledger.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{memfd_create, MemfdFlags};
use rustix::process::{kill_process_group, Pid, Signal};
use serde::{Deserialize, Serialize};
use wire::HostOutput;

use crate::command::{complaint, find_program};

/// Read of what one prints.
const SAID_BYTES: u64 = 64 << 10;
const STEP: Duration = Duration::from_millis(10);

/// A setting that is looked at and set back by commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// As a person calls it.
    pub what: String,
    /// Prints what is in force.
    pub look: Vec<String>,
    /// Sets back what was.
    pub argv: Vec<String>,
    pub before: String,
    pub value: String,
    /// Whether a boot of the host does it as well.
    pub ends_with_boot: bool,
}

impl Back {
    /// What is in force now.
    ///
    /// # Errors
    /// Nobody tells it.
    pub fn now(&self) -> io::Result<String> {
        Ok(run(&self.look)?.trim().to_owned())
    }

    /// Sets it back, unless somebody has set yet something else since.
    ///
    /// # Errors
    /// It does not go back.
    pub fn take_back(&self) -> io::Result<Option<String>> {
        let (what, before, now) = (&self.what, &self.before, self.now()?);
        if now == *before {
            return Ok(None);
        }
        if now != self.value {
            let why = format!("somebody has set it since (it was \"{before}\")");
            return Ok(Some(format!("left {what} at \"{now}\": {why}")));
        }
        self.set_back()?;
        match self.now()? == *before {
            true => Ok(Some(format!("set {what} to \"{before}\" again"))),
            false => Err(io::Error::other(format!(
                "{what}: does not go back to \"{before}\""
            ))),
        }
    }

    /// The same whatever is in force.
    ///
    /// # Errors
    /// The command fails.
    pub fn set_back(&self) -> io::Result<()> {
        run(&self.argv).map(drop)
    }
}

/// Runs one to its end, and gives what it has printed.
///
/// # Errors
/// It cannot be started, or fails.
pub fn run(argv: &[String]) -> io::Result<String> {
    let output = ended(argv, None, None)?;
    match output.status {
        Some(0) => Ok(output.stdout),
        _ => Err(io::Error::other(complaint(argv, &output).text)),
    }
}

/// Runs one to its end.
///
/// # Arguments
/// `input` is what it reads; without any it speaks the language of programs. After `limit` it is killed,
/// with all in its session.
///
/// # Errors
/// There is no such program, it cannot be started, or its time has passed.
pub fn ended(
    argv: &[String],
    input: Option<&str>,
    limit: Option<Duration>,
) -> io::Result<HostOutput> {
    let name = argv.first().map_or("", String::as_str);
    let path = find_program(name)
        .ok_or_else(|| io::Error::other(format!("there is no program \"{name}\" on this host")))?;
    let in_memory = || memfd_create("said", MemfdFlags::CLOEXEC).map(File::from);
    // Not through pipes: what stays may keep them open.
    let [mut stdin, mut stdout, mut stderr] = [in_memory()?, in_memory()?, in_memory()?];
    let mut command = Command::new(path);
    command.arg0(name).args(&argv[1..]);
    match input {
        None => drop(command.env("LC_ALL", "C")),
        Some(input) => stdin.write_all(input.as_bytes())?,
    }
    stdin.rewind()?;
    command
        .stdin(stdin)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    // SAFETY: setsid(2) and sigprocmask(2) are all that is done before exec.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            Ok(())
        });
    }
    let status = program::without_orphans(|| command.spawn().and_then(|child| wait(child, limit)))?;
    let text = |file: &mut File| -> io::Result<String> {
        let mut bytes = Vec::new();
        // The end of what is longer: there it says how it has ended.
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(SAID_BYTES)))?;
        file.take(SAID_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(HostOutput {
        status: status.code(),
        signal: status.signal(),
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
        ..HostOutput::default()
    })
}

fn wait(mut child: Child, limit: Option<Duration>) -> io::Result<ExitStatus> {
    let Some(limit) = limit else {
        return child.wait();
    };
    let give_up = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > give_up {
            if let Some(session) = Pid::from_raw(child.id().cast_signed()) {
                // It may have ended meanwhile.
                let _ = kill_process_group(session, Signal::KILL);
            }
            child.wait()?;
            let text = format!("it has not ended within {} s", limit.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
        thread::sleep(STEP);
    }
}
