//! A command that runs: in a session of its own, with an end to its time and to what is kept of
//! what it prints.

use std::env;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kit::signals::Signals;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::process::{kill_process_group, Pid, Signal, WaitStatus};
use wire::{HostFailure, HostFailureKind, HostOutput, HostRun};

use crate::meanwhile::Meanwhile;
use crate::request::shown;

/// How long one may take to end that was asked to.
const GRACE: Duration = Duration::from_secs(2);
const CHUNK_BYTES: usize = 16 << 10;
/// Of a command, in a message that tells why it has failed.
const TYPED_CHARS: usize = 300;
/// Read of what a command has printed that changes something.
const SAID_BYTES: u64 = 64 << 10;
/// Read of each stream before something else is looked at: one may be endless.
const CHUNKS: usize = 16;
/// The path of a program.
pub fn find_program(name: &str) -> Option<PathBuf> {
    program::keeper::find_program(name, &env::var_os("PATH").unwrap_or_default())
}

pub struct Running {
    /// Without its directory.
    name: String,
    pid: Pid,
    stdin: Option<Input>,
    streams: [Stream; 2],
    limit: Duration,
    began: Instant,
    /// Since when it is to end, and whether that was for its time.
    stopped: Option<(Instant, bool)>,
    is_killed: bool,
}

impl Running {
    /// Starts one; of each stream so many bytes are kept.
    ///
    /// # Errors
    /// `Lacks`: there is no such program. `Failed`: the kernel does not start it.
    pub fn start(
        run: &mut HostRun,
        most_bytes: usize,
        signals: &Signals,
    ) -> Result<Self, HostFailure> {
        let Some(path) = find_program(&run.argv[0]) else {
            let text = shown(&format!(
                "there is no program \"{}\" on this host",
                run.argv[0]
            ));
            return Err(failure(HostFailureKind::Lacks, text));
        };
        let started = start(run, &path, signals).and_then(|mut child| {
            let pid = Pid::from_raw(child.id().cast_signed());
            Ok(Self {
                name: short(&run.argv[0]).to_owned(),
                pid: pid.ok_or(ErrorKind::NotFound)?,
                stdin: Input::of(child.stdin.take().map(Into::into), run.stdin.take())?,
                streams: [
                    Stream::of(child.stdout.take().map(Into::into), most_bytes)?,
                    Stream::of(child.stderr.take().map(Into::into), most_bytes)?,
                ],
                limit: Duration::from_secs_f64(run.limit_s),
                began: Instant::now(),
                stopped: None,
                is_killed: false,
            })
        });
        started.map_err(|error| {
            let text = shown(&format!(
                "{}: cannot be started: {error}",
                short(&run.argv[0])
            ));
            failure(HostFailureKind::Failed, text)
        })
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// What there may be something of.
    pub fn polled(&self) -> impl Iterator<Item = PollFd<'_>> {
        let input = self.stdin.iter();
        let input = input.map(|input| PollFd::new(&input.pipe, PollFlags::OUT));
        let streams = self.streams.iter();
        let streams = streams.filter_map(|stream| stream.pipe.as_ref());
        input.chain(streams.map(|pipe| PollFd::new(pipe, PollFlags::IN)))
    }

    /// How long it is left alone.
    pub fn time_left(&self) -> Option<Duration> {
        let (from, time) = match self.stopped {
            None => (self.began, self.limit),
            Some((at, _)) if !self.is_killed => (at, GRACE),
            Some(_) => return None,
        };
        Some(time.saturating_sub(from.elapsed()))
    }

    /// Passes on what it reads and keeps what it prints; ends it where its time has passed.
    pub fn advance(&mut self) {
        self.stdin.take_if(|input| input.is_over());
        self.streams
            .iter_mut()
            .for_each(|stream| stream.keep(CHUNKS));
        if self.time_left() == Some(Duration::ZERO) {
            match self.stopped {
                None => self.stop(true),
                Some(_) => {
                    self.is_killed = true;
                    self.signal(Signal::KILL);
                }
            }
        }
    }

    /// Asks it to end, with all in its group; later it is killed.
    pub fn stop(&mut self, is_for_its_time: bool) {
        if self.stopped.is_none() {
            self.stopped = Some((Instant::now(), is_for_its_time));
            self.signal(Signal::TERM);
        }
    }

    /// It leads its group, and was not waited for.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    /// What it leaves behind.
    ///
    /// # Errors
    /// `Limit`: it was ended because its time had passed.
    pub fn ended(mut self, status: WaitStatus) -> Result<HostOutput, HostFailure> {
        if self
            .stopped
            .is_some_and(|(_, is_for_its_time)| is_for_its_time)
        {
            let after_s = self.limit.as_secs_f64();
            let text = format!("{}: not done after {after_s} s, so it was ended", self.name);
            return Err(failure(HostFailureKind::Limit, shown(&text)));
        }
        let [(stdout, of_out), (stderr, of_error)] = self.streams.each_mut().map(|stream| {
            stream.keep(CHUNKS);
            let text = String::from_utf8_lossy(&stream.kept).into_owned();
            (text, stream.is_cut)
        });
        Ok(HostOutput {
            argv: Vec::new(),
            status: status.exit_status(),
            signal: status.terminating_signal(),
            stdout,
            stderr,
            cut: of_out || of_error,
        })
    }
}

fn start(run: &HostRun, path: &Path, signals: &Signals) -> io::Result<std::process::Child> {
    let mut command = Command::new(path);
    command.arg0(&run.argv[0]).args(&run.argv[1..]);
    if let Some(environment) = &run.environment {
        command.env_clear().envs(environment);
    }
    let stdin = match run.stdin {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    };
    command.env("LC_ALL", "C").stdin(stdin);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let restore = signals.restorer();
    // SAFETY: setsid(2) and sigprocmask(2) are all that is done before exec.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            restore();
            Ok(())
        });
    }
    command.spawn()
}

/// Runs a command that changes something to its end. What it prints goes into memory and not through a
/// pipe, which would kill it (SIGPIPE) in the middle of its work when this process is killed; `lock`
/// stays open in it until it has ended.
///
/// # Errors
/// `Lacks`: there is no such program. `Failed`: it cannot be started, or has failed.
pub fn run_to_its_end(
    argv: &[String],
    lock: BorrowedFd<'_>,
    meanwhile: &mut dyn Meanwhile,
) -> Result<(), HostFailure> {
    let lacks = |text: String| failure(HostFailureKind::Lacks, shown(&text));
    let name = argv.first().map_or("", String::as_str);
    let path = find_program(name)
        .ok_or_else(|| lacks(format!("there is no program \"{name}\" on this host")))?;
    let ended = wait_for(argv, &path, lock, meanwhile).map_err(|error| {
        let text = format!("{}: cannot be started: {error}", short(name));
        failure(HostFailureKind::Failed, shown(&text))
    })?;
    if ended.status == Some(0) {
        return Ok(());
    }
    Err(not_done(argv, &ended))
}

/// The failure of a command that should have changed something.
pub fn not_done(argv: &[String], ended: &HostOutput) -> HostFailure {
    let text = format!("{}: {}", as_typed(argv), why(argv, ended));
    failure(HostFailureKind::Failed, shown(&text))
}

/// What the system says of an error, without its number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// A command as a person would type it.
fn as_typed(argv: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%_-+=:,./".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\"'\"'")),
    };
    let typed = argv.iter().map(word).collect::<Vec<_>>().join(" ");
    match typed.char_indices().nth(TYPED_CHARS) {
        Some((end, _)) => format!("{} …", &typed[..end]),
        None => typed,
    }
}

fn wait_for(
    argv: &[String],
    path: &Path,
    lock: BorrowedFd<'_>,
    meanwhile: &mut dyn Meanwhile,
) -> io::Result<HostOutput> {
    let in_memory = || memfd_create("said", MemfdFlags::CLOEXEC).map(File::from);
    let [mut stdout, mut stderr] = [in_memory()?, in_memory()?];
    let mut command = Command::new(path);
    command.arg0(&argv[0]).args(&argv[1..]);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let (lock, restore) = (lock.as_raw_fd(), meanwhile.signals().restorer());
    // SAFETY: setsid(2), sigprocmask(2) and fcntl(2) are all that is done before exec.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            restore();
            match libc::fcntl(lock, libc::F_SETFD, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // Whoever wants an end of it gets that afterwards: nothing is to be left half made.
        let _ = meanwhile.wait(None);
    };
    let text = |file: &mut File| -> io::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(SAID_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(HostOutput {
        argv: Vec::new(),
        status: status.code(),
        signal: status.signal(),
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
        cut: false,
    })
}

/// What a command reads.
struct Input {
    pipe: File,
    text: Vec<u8>,
    written: usize,
}

impl Input {
    fn of(pipe: Option<OwnedFd>, text: Option<String>) -> io::Result<Option<Self>> {
        let Some((pipe, text)) = pipe.zip(text) else {
            return Ok(None);
        };
        Ok(Some(Self {
            pipe: unblocked(pipe)?,
            text: text.into_bytes(),
            written: 0,
        }))
    }

    /// Writes what there is room for; whether that was all, or nobody reads it.
    fn is_over(&mut self) -> bool {
        while self.written < self.text.len() {
            match self.pipe.write(&self.text[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
        true
    }
}

/// What a command prints.
struct Stream {
    pipe: Option<File>,
    kept: Vec<u8>,
    most_bytes: usize,
    is_cut: bool,
}

impl Stream {
    fn of(pipe: Option<OwnedFd>, most_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe.map(unblocked).transpose()?,
            kept: Vec::new(),
            most_bytes,
            is_cut: false,
        })
    }

    /// Reads what is there, in so many chunks at most.
    fn keep(&mut self, chunks: usize) {
        let mut chunk = [0; CHUNK_BYTES];
        for _ in 0..chunks {
            let Some(pipe) = &mut self.pipe else {
                return;
            };
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = self.most_bytes - self.kept.len();
                    self.kept.extend_from_slice(&chunk[..count.min(room)]);
                    self.is_cut |= count > room;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // There is nothing now.
                Err(_) => return,
            }
        }
    }
}

fn unblocked(pipe: OwnedFd) -> io::Result<File> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(pipe.into())
}

/// The failure of a command that has ended in another way than it may.
pub fn complaint(argv: &[String], output: &HostOutput) -> HostFailure {
    let text = format!("{}: {}", short(&argv[0]), why(argv, output));
    failure(HostFailureKind::Failed, shown(&text))
}

/// What a command says that has ended so, without its own name.
fn why(argv: &[String], output: &HostOutput) -> String {
    let ended = match (output.status, output.signal) {
        (Some(status), _) => format!("exit status {status}"),
        (None, signal) => format!("signal {} has ended it", signal.unwrap_or_default()),
    };
    let by_signal = output.signal.is_some();
    let said = match output.stderr.trim().is_empty() && !by_signal {
        true => &output.stdout,
        false => &output.stderr,
    };
    // Help and hints come after what is the matter, and remarks before it.
    let is_remark = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.starts_with("warning") || line.starts_with("note")
    };
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let why = lines.find(|line| !is_remark(line)).unwrap_or(&ended);
    let why = match by_signal && why != ended {
        true => format!("{ended}: {why}"),
        false => why.to_owned(),
    };
    // Most programs begin with it.
    let rest = why.strip_prefix(short(&argv[0]));
    match rest.and_then(|rest| rest.strip_prefix(':')) {
        Some(rest) => rest.trim_start().to_owned(),
        None => why,
    }
}

/// The name of a program without its directory.
pub fn short(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What a command says that only tells.
///
/// # Errors
/// `Lacks`: there is no such program. `Failed`: it cannot be started, or has failed.
pub fn said_by(argv: &[&str]) -> Result<String, HostFailure> {
    let Some(path) = find_program(argv[0]) else {
        let text = format!("there is no program \"{}\" on this host", argv[0]);
        return Err(failure(HostFailureKind::Lacks, shown(&text)));
    };
    let mut command = Command::new(path);
    command.arg0(argv[0]).args(&argv[1..]).env("LC_ALL", "C");
    let ended = command.stdin(Stdio::null()).output().map_err(|error| {
        let text = format!("{}: cannot be started: {error}", argv[0]);
        failure(HostFailureKind::Failed, shown(&text))
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let output = HostOutput {
        status: ended.status.code(),
        signal: ended.status.signal(),
        stdout: text(&ended.stdout),
        stderr: text(&ended.stderr),
        ..HostOutput::default()
    };
    match output.status {
        Some(0) => Ok(output.stdout),
        _ => {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            Err(not_done(&argv, &output))
        }
    }
}

/// What became of a path.
pub fn failed(path: &Path, error: io::Error) -> HostFailure {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => HostFailureKind::Lacks,
        _ => HostFailureKind::Failed,
    };
    let text = format!("{}: {}", path.display(), reason(&error));
    failure(kind, shown(&text))
}

pub fn failure(kind: HostFailureKind, text: String) -> HostFailure {
    HostFailure {
        kind,
        text,
        left: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(argv0: &str, status: Result<i32, i32>, stdout: &str, stderr: &str) -> String {
        let output = HostOutput {
            status: status.ok(),
            signal: status.err(),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            ..HostOutput::default()
        };
        complaint(&[argv0.to_owned()], &output).text
    }

    #[test]
    fn a_failure_tells_the_line_that_says_why() {
        assert_eq!(told("/sbin/mkfs.x", Ok(1), "", ""), "mkfs.x: exit status 1");
        let remarks = "Warning: old\n\n no room \nTry --help\n";
        assert_eq!(told("mkfs.x", Ok(1), "a", remarks), "mkfs.x: no room");
        assert_eq!(
            told("mkfs.x", Ok(1), "", "mkfs.x: no room"),
            "mkfs.x: no room"
        );
        assert_eq!(told("x", Ok(1), "on stdout\n", " \n"), "x: on stdout");
        assert_eq!(told("x", Err(9), "half\n", ""), "x: signal 9 has ended it");
        assert_eq!(
            told("x", Err(6), "", "oops\n"),
            "x: signal 6 has ended it: oops"
        );
    }
}
