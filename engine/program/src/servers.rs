//! Servers: started before the executions, waited for until they are ready, ended after them.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kit::failure::{bad_parameter, io_failure};
use kit::{clock, stop};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal};
use wire::Failure;

use crate::execute::{Added, Executor, Pipes};
use crate::group::{self, Group};
use crate::output::{self, Capture, Taken};
use crate::params::{At, Ready, Server};
use crate::plan::Far;
use crate::prepare::ExecContext;
use crate::reap::Ended;
use crate::spawn::Recipe;
use crate::{reason, signals, words};

const PAUSE: Duration = Duration::from_millis(5);
const LAST_WORDS_NS: u64 = 200_000_000;
/// What is kept of what a server prints, to look for the sign that it is ready.
const KEPT_BYTES: u64 = 1 << 20;

/// A server that was started.
pub struct Running {
    what: String,
    pid: libc::pid_t,
    group: Group,
    printed: Arc<Mutex<[Capture; 2]>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a server; does not wait for it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        server: &Server,
        number: usize,
        context: &ExecContext,
        executor: &mut Executor,
    ) -> Result<Self, Failure> {
        let words = context.filled(&server.command, 1)?;
        let what = format!("server {}", reason::shown(&words));
        let prepared = context.prepare(&what, &words, 1, Added::default())?;
        let mut group = Group::make(group::places(&name(number)));
        let no_pipe = |error: io::Error| reason::broken(format!("{what}: no pipe: {error}"));
        let pipes = Pipes::new().map_err(no_pipe)?;
        let far = far_of(server, context);
        let network = far.and_then(|far| far.place.network.as_deref());
        let network =
            network.map(|path| File::open(path).map_err(|error| io_failure("open", path, &error)));
        let network = network.transpose()?;
        let near = prepared.recipe(context.planned);
        let recipe = Recipe {
            network: network.as_ref().map(AsFd::as_fd),
            cpus: far.map_or(near.cpus, |far| &far.cpus),
            ..near
        };
        let started = executor.start_server(&recipe, &pipes, &mut group);
        let started = started.map_err(|why| prepared.not_started(&what, context, &why))?;
        let printed = Arc::new(Mutex::new([0; 2].map(|_| Capture::new(KEPT_BYTES))));
        let (readers, seen) = (pipes.into_readers(), Arc::clone(&printed));
        let reader = thread::Builder::new().name("server".into());
        let reader = reader
            .spawn(move || read_on(readers, &seen))
            .map_err(no_pipe);
        let mut running = Self {
            what: what.clone(),
            pid: started.pid,
            group,
            printed,
            reader: None,
        };
        match reader {
            Ok(thread) => running.reader = Some(thread),
            Err(failure) => {
                running.end(libc::SIGKILL, 0, executor);
                return Err(failure);
            }
        }
        Ok(running)
    }

    /// Waits until it is ready. `probe` executes a command and says whether its exit code was 0.
    ///
    /// # Errors
    /// It has ended, or was not ready in time.
    pub fn wait_until_ready(
        &self,
        server: &Server,
        context: &ExecContext,
        executor: &mut Executor,
        mut probe: impl FnMut(&mut Executor, &[String]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let Some(ready) = &server.ready else {
            return self.check(executor);
        };
        let values = context.values(1);
        let fill = |text: &str| words::fill("servers.ready", text, &values);
        let address =
            far_of(server, context).map_or(Ipv4Addr::LOCALHOST.into(), |far| far.place.address);
        let deadline_ns = clock::now_ns() + (server.timeout * 1e9) as u64;
        loop {
            let is_ready = match ready {
                Ready::Command(words) => {
                    let words = context.filled(words, 1)?;
                    probe(executor, &words)?
                }
                Ready::Port(port) => accepts(address, &fill(port)?)?,
                Ready::Path(path) => context.sees(&context.place.join(fill(path)?)),
                Ready::Stdout(text) => {
                    let text = fill(text)?;
                    self.printed().iter().any(|printed| printed.has(&text))
                }
            };
            if is_ready {
                return self.check(executor);
            }
            self.check(executor)?;
            stop::check()?;
            if clock::now_ns() > deadline_ns {
                let said = self.said();
                let (what, timeout_s) = (&self.what, server.timeout);
                return Err(reason::broken(format!(
                    "{what}: not ready after {timeout_s} s. Fix: correct \"ready\", or raise its \
                     \"timeout\"{said}"
                )));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Looks whether it still runs.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&self, executor: &mut Executor) -> Result<(), Failure> {
        executor.reap_orphans(&mut Default::default());
        let gone = executor.gone.iter().find(|(pid, _)| *pid == self.pid);
        let Some((_, ended)) = gone else {
            return Ok(());
        };
        let how = match ended {
            Ended::Exit(code) => format!("with exit code {code}"),
            Ended::Signal { number, .. } => format!("by {}", signals::name(*number)),
        };
        let (what, said) = (&self.what, self.said());
        Err(reason::broken(format!(
            "{what}: it has ended {how} while it was needed. Fix: let it stay in the foreground\
             {said}"
        )))
    }

    /// Asks it to end, and ends it when it has not after `timeout_ns`; whether that was needed.
    pub fn end(&mut self, signal: libc::c_int, timeout_ns: u64, executor: &mut Executor) -> bool {
        let deadline_ns = clock::now_ns() + timeout_ns;
        let has_ended = |executor: &mut Executor| {
            executor.reap_orphans(&mut Default::default());
            executor.gone.iter().any(|(pid, _)| *pid == self.pid)
        };
        let mut is_forced = false;
        if !has_ended(executor) {
            send(self.pid, signal);
            while !has_ended(executor) && clock::now_ns() < deadline_ns {
                thread::sleep(PAUSE);
            }
            is_forced = !has_ended(executor);
        }
        if is_forced {
            send(self.pid, libc::SIGKILL);
        }
        self.group.kill();
        while is_forced && !has_ended(executor) && clock::now_ns() < deadline_ns + 2_000_000_000 {
            thread::sleep(PAUSE);
        }
        executor.staying.retain(|&pid| pid != self.pid);
        executor.gone.retain(|(pid, _)| *pid != self.pid);
        // The reader ends with the last process that has the pipe; outside a group, that may be
        // one which the executor ends later.
        is_forced
    }

    /// Its name, as a message has it.
    pub fn what(&self) -> &str {
        &self.what
    }

    fn printed(&self) -> MutexGuard<'_, [Capture; 2]> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it said last. The end of a server that has ended may not have been read yet.
    fn said(&self) -> String {
        let deadline_ns = clock::now_ns() + LAST_WORDS_NS;
        let is_read = || self.reader.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && clock::now_ns() < deadline_ns {
            thread::sleep(PAUSE);
        }
        let printed = self.printed();
        let said = printed.iter().map(|capture| capture.last_lines(3));
        let said = said.filter(|text| !text.is_empty()).collect::<Vec<_>>();
        match said.is_empty() {
            true => String::new(),
            false => format!("; it said: {}", said.join(" | ")),
        }
    }
}

/// The server's end, if a server is there.
fn far_of<'a>(server: &Server, context: &ExecContext<'a>) -> Option<&'a Far> {
    context
        .planned
        .far
        .as_ref()
        .filter(|_| server.at == At::Server)
}

/// The name of a server's group.
pub fn name(number: usize) -> String {
    format!("server{number}")
}

fn send(pid: libc::pid_t, signal: libc::c_int) {
    let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn accepts(address: IpAddr, port: &str) -> Result<bool, Failure> {
    let number: u16 = port.parse().map_err(|_| {
        let message =
            format!("parameter \"servers.ready.port\": {port:?} is no port; use 1 to 65535");
        bad_parameter("servers.ready.port", message)
    })?;
    let address = SocketAddr::from((address, number));
    Ok(TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
}

/// Reads until nobody can print any more.
fn read_on(mut readers: [Option<File>; 2], printed: &Mutex<[Capture; 2]>) {
    let mut chunk = output::chunk();
    while readers.iter().any(Option::is_some) {
        let open = readers.iter().flatten();
        let mut polled: Vec<PollFd> = open
            .map(|reader| PollFd::new(reader, PollFlags::IN))
            .collect();
        let _ = rustix::event::poll(&mut polled, None);
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        for (reader, capture) in readers.iter_mut().zip(printed.iter_mut()) {
            let Some(open) = reader else { continue };
            if matches!(capture.take(open, &mut chunk), Ok(Taken::End) | Err(_)) {
                *reader = None;
            }
        }
    }
}
