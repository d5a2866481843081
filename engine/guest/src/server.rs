//! What the guest does when it is asked, one request after the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::sync;
use rustix::io::Errno;

use crate::message::{Ask, Hello, Line, Reply, Request, VERSION};
use crate::mounts;
use crate::running::Running;

const CHUNK_BYTES: usize = 1 << 16;
/// dentries, inodes and pages; <https://docs.kernel.org/admin-guide/sysctl/vm.html>
const DROP_EVERYTHING: &str = "3";

/// Serves whoever is at the other end of a channel.
pub struct Server<I, O> {
    input: I,
    output: O,
    engine: PathBuf,
    running: Option<Running>,
    heard: Vec<u8>,
}

impl<I: Read + AsFd, O: Write> Server<I, O> {
    /// A server that has said nothing yet.
    ///
    /// `engine` is the program that it runs: this one.
    pub fn new(input: I, output: O, engine: &Path) -> Self {
        Self {
            input,
            output,
            engine: engine.to_owned(),
            running: None,
            heard: Vec::new(),
        }
    }

    /// Says that the guest is ready, and serves until it is asked to switch off, or nobody can ask
    /// it any more.
    ///
    /// # Errors
    /// Those of the channel.
    pub fn serve(&mut self, engine_version: &str, troubles: Vec<String>) -> io::Result<()> {
        self.say(Reply::Hello(Hello {
            version: VERSION,
            engine: engine_version.to_owned(),
            troubles,
        }))?;
        loop {
            let ready = self.wait()?;
            for number in ready {
                if number != self.input.as_fd().as_raw_fd() {
                    self.hear_engine(number)?;
                } else if !self.hear_requests()? {
                    return Ok(());
                }
            }
        }
    }

    /// Blocks until something can be heard; the numbers of the descriptors.
    fn wait(&self) -> io::Result<Vec<i32>> {
        let engine = self.running.iter().flat_map(Running::descriptors);
        let mut all: Vec<PollFd> = std::iter::once(self.input.as_fd())
            .chain(engine)
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        match poll(&mut all, None) {
            Err(Errno::INTR) => return Ok(Vec::new()),
            other => other?,
        };
        let ready = all.iter().filter(|entry| !entry.revents().is_empty());
        Ok(ready.map(|entry| entry.as_fd().as_raw_fd()).collect())
    }

    /// Passes on what the engine says.
    fn hear_engine(&mut self, number: i32) -> io::Result<()> {
        let Some(running) = self.running.as_mut() else {
            return Ok(());
        };
        match running.is_stdout(number) {
            true => running.pass_on(&mut self.output)?,
            false => running.keep_words(),
        }
        if let Some(ended) = running.ended(&mut self.output)? {
            let id = std::mem::take(&mut running.id);
            self.running = None;
            self.say(Reply::Ended {
                id,
                status: ended.status,
                said: ended.said,
            })?;
        }
        Ok(())
    }

    /// Does what whole lines ask for; whether there will be more.
    fn hear_requests(&mut self) -> io::Result<bool> {
        let mut chunk = [0; CHUNK_BYTES];
        let count = self.input.read(&mut chunk)?;
        self.heard.extend_from_slice(&chunk[..count]);
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if !self.obey(&line)? {
                return Ok(false);
            }
        }
        Ok(count > 0)
    }

    /// Does what one line asks for; whether there may be more.
    fn obey(&mut self, line: &[u8]) -> io::Result<bool> {
        let request: Request = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(error) => {
                let id = String::new();
                let message = format!("not a request: {error}");
                self.say(Reply::Refused { id, message })?;
                return Ok(true);
            }
        };
        let id = request.id;
        // Whoever asks for something else has given up on the engine that still runs.
        if !matches!(request.ask, Ask::Stop | Ask::Read { .. }) {
            self.running = None;
        }
        let done = match request.ask {
            Ask::Stop => {
                self.running.iter().for_each(Running::stop);
                return Ok(true);
            }
            Ask::Run { job } => return self.run(id, &job).map(|()| true),
            Ask::Read { paths } => Ok(texts(&paths)),
            Ask::Mount(mount) => mounts::mount_as_asked(&mount),
            Ask::Unmount { directory } => {
                mounts::unmount_patiently(&directory).map(|()| BTreeMap::new())
            }
            Ask::DropCaches => drop_caches().map(|()| BTreeMap::new()),
            Ask::PowerOff => {
                self.say(done(id))?;
                return Ok(false);
            }
        };
        self.say(match done {
            Ok(found) => Reply::Done { id, found },
            Err(message) => Reply::Refused { id, message },
        })?;
        Ok(true)
    }

    fn run(&mut self, id: String, job: &str) -> io::Result<()> {
        match Running::start(&self.engine, id.clone(), job) {
            Ok(running) => {
                self.say(Reply::Begun { id })?;
                self.running = Some(running);
                Ok(())
            }
            Err(error) => self.say(Reply::Refused {
                id,
                message: format!("cannot start the engine: {error}"),
            }),
        }
    }

    fn say(&mut self, said: Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { guest: said })?;
        line.push(b'\n');
        self.output.write_all(&line)?;
        self.output.flush()
    }
}

/// Nothing was asked for but that it be done.
fn done(id: String) -> Reply {
    Reply::Done {
        id,
        found: BTreeMap::new(),
    }
}

/// The text of files that can be read.
fn texts(paths: &[PathBuf]) -> BTreeMap<String, String> {
    let text = |path: &PathBuf| Some((path.display().to_string(), read_text(path)?));
    paths.iter().filter_map(text).collect()
}

fn read_text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn drop_caches() -> Result<(), String> {
    sync();
    fs::write("/proc/sys/vm/drop_caches", DROP_EVERYTHING)
        .map_err(|error| format!("cannot drop the caches: {error}"))
}
