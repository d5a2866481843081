//! The engine at work in the guest: a process of its own for each trial, as on any host.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use kit::reach;
use rustix::process::{getpid, kill_process, waitpid, Pid, Signal, WaitOptions};

const CHUNK_BYTES: usize = 1 << 16;
/// Of standard error.
const SAID_BYTES: usize = 1 << 20;

/// An engine that runs on behalf of a request. Dropped, it is killed.
pub struct Running {
    /// Of the request.
    pub id: String,
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    said: Vec<u8>,
    is_in_a_line: bool,
}

/// How it ended.
pub struct Ended {
    pub status: i32,
    pub said: String,
}

impl Running {
    /// Starts `engine` on a job.
    ///
    /// # Errors
    /// Those of fork(2) and execve(2).
    pub fn start(engine: &Path, id: String, job: &str) -> io::Result<Self> {
        let mut child = Command::new(engine)
            .env(reach::ALONE, "1")
            .arg("run")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // One that has died at once is found out by its silence.
        let _ = child
            .stdin
            .take()
            .map_or(Ok(()), |mut pipe| pipe.write_all(job.as_bytes()));
        Ok(Self {
            id,
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            said: Vec::new(),
            is_in_a_line: false,
        })
    }

    /// What it can be heard by, until it has ended.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stdout = self.stdout.iter().map(AsFd::as_fd);
        stdout.chain(self.stderr.iter().map(AsFd::as_fd))
    }

    /// Asks it to end; it removes its files.
    pub fn stop(&self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Passes on what standard output has; blocks until it has something.
    ///
    /// # Errors
    /// Those of the channel.
    pub fn pass_on(&mut self, channel: &mut impl Write) -> io::Result<()> {
        let mut chunk = [0; CHUNK_BYTES];
        let count = read(&mut self.stdout, &mut chunk);
        if let Some(last) = chunk[..count].last() {
            self.is_in_a_line = *last != b'\n';
        }
        channel.write_all(&chunk[..count])
    }

    /// Keeps what standard error has, as far as anybody could want to read it.
    pub fn keep_words(&mut self) {
        let mut chunk = [0; CHUNK_BYTES];
        let count = read(&mut self.stderr, &mut chunk);
        let room = SAID_BYTES.saturating_sub(self.said.len());
        self.said.extend_from_slice(&chunk[..count.min(room)]);
    }

    /// How it ended; `None` while it may still say something.
    pub fn ended(&mut self, channel: &mut impl Write) -> io::Result<Option<Ended>> {
        if self.stdout.is_some() || self.stderr.is_some() {
            return Ok(None);
        }
        let status = self.child.wait()?;
        reap_orphans();
        if self.is_in_a_line {
            channel.write_all(b"\n")?;
        }
        let killed_by = status.signal().map_or(0, |signal| -signal);
        Ok(Some(Ended {
            status: status.code().unwrap_or(killed_by),
            said: String::from_utf8_lossy(&self.said).into_owned(),
        }))
    }

    /// Whether a descriptor is standard output's.
    pub fn is_stdout(&self, number: i32) -> bool {
        use std::os::fd::AsRawFd;
        self.stdout
            .as_ref()
            .is_some_and(|pipe| pipe.as_raw_fd() == number)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, or nobody waits for it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads once; a pipe that is at its end is closed, not one whose reading a signal has ended.
fn read(pipe: &mut Option<impl Read>, chunk: &mut [u8]) -> usize {
    let read = pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(chunk));
    if matches!(&read, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
        return 0;
    }
    let count = read.unwrap_or(0);
    if count == 0 {
        *pipe = None;
    }
    count
}

/// Process 1 inherits what the engine's children leave behind; no other process does.
fn reap_orphans() {
    if !getpid().is_init() {
        return;
    }
    while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is interrupted once, then has a word, then ends.
    struct Interrupted(u8);

    impl Read for Interrupted {
        fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => b"word".as_slice().read(chunk),
                _ => Ok(0),
            }
        }
    }

    #[test]
    fn a_signal_is_not_the_end_of_a_pipe() {
        let mut pipe = Some(Interrupted(0));
        let counts = [(); 3].map(|()| (read(&mut pipe, &mut [0; 8]), pipe.is_some()));
        assert_eq!(counts, [(0, true), (4, true), (0, false)]);
    }
}
