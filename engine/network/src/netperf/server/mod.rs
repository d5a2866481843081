//! The far end: driven by a stock netperf, or ours. Every client has a control connection and a
//! thread of its own; what it asks for is held to limits before anything is allocated.
//!
//! A file named by a client is never opened: it would be sent back to whoever asks.

mod conduct;
mod door;
mod plan;
mod play;
mod session;

use std::io;
use std::net::{TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use kit::failure::failure;
use kit::stop;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use wire::{Failure, FailureKind};

use super::control::Control;
use super::message::{Generation, Message};

/// Between two looks for a stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// After an error that passes, so that it is not met ever again in a tight loop.
const NAP: Duration = Duration::from_millis(10);

/// A client too many is told so with this errno: "Device or resource busy".
const TOO_MANY: i32 = libc::EBUSY;

/// What clients may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// So many at a time. Each may take two rings of buffers, 64 MiB each at most.
    pub clients: usize,
    /// A control connection may be open so long.
    pub session: Duration,
    /// A test may take so long; one that asks for more is refused.
    pub test: Duration,
    /// A test may move so many bytes at this end; one that asks for more is refused.
    pub bytes: Option<u64>,
    /// Ports for data; any, unless given.
    pub data_ports: Option<RangeInclusive<u16>>,
    /// The word without which nobody is served.
    pub passphrase: Option<String>,
    /// How results are told: a netperf 2.6 cannot be told from later ones.
    pub generation: Generation,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 16,
            session: Duration::from_secs(24 * 3_600),
            test: Duration::from_secs(3_600),
            bytes: None,
            data_ports: None,
            passphrase: None,
            generation: Generation::default(),
        }
    }
}

/// Serves whoever comes to `listeners`, until a stop is asked for.
///
/// # Errors
/// `Io` when a listener breaks.
pub fn serve(listeners: &[TcpListener], limits: &Limits) -> Result<(), Failure> {
    let broken = |error: io::Error| {
        failure(
            FailureKind::Io,
            format!("cannot listen for netperf: {error}"),
        )
    };
    for listener in listeners {
        // One of several may have lost its client before we get to it.
        listener.set_nonblocking(true).map_err(broken)?;
    }
    let serving = AtomicUsize::new(0);
    thread::scope(|scope| {
        while !stop::requested() {
            for stream in arrivals(listeners).map_err(broken)? {
                let Some(place) = Place::take(&serving, limits.clients) else {
                    refuse(stream, limits);
                    continue;
                };
                let client = thread::Builder::new().name("netperf client".to_owned());
                // Without a thread the connection is closed, and the client told by that.
                let _ = client.spawn_scoped(scope, move || {
                    session::attend(stream, limits);
                    drop(place);
                });
            }
        }
        Ok(())
    })
}

/// Those who have come within a tenth of a second.
fn arrivals(listeners: &[TcpListener]) -> io::Result<Vec<TcpStream>> {
    let mut watched: Vec<_> = listeners
        .iter()
        .map(|listener| PollFd::new(listener, PollFlags::IN))
        .collect();
    match poll(&mut watched, Some(&LOOK)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut arrived = Vec::new();
    for listener in listeners {
        match listener.accept() {
            Ok((stream, _)) => arrived.push(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if is_broken(&error) => return Err(error),
            // The client has gone again, or there is nothing left to hold it with, for now.
            Err(_) => thread::sleep(NAP),
        }
    }
    Ok(arrived)
}

/// Whether it is the listener, not what came to it.
fn is_broken(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EOPNOTSUPP)
    )
}

/// The client reads it as the answer to whatever it is about to ask.
fn refuse(stream: TcpStream, limits: &Limits) {
    let answer = Message::new(0, TOO_MANY);
    if let Ok(mut control) = Control::new(stream, limits.generation) {
        // It may have gone already.
        let _ = control.send(&answer);
    }
}

/// One of the places for clients.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(serving: &'a AtomicUsize, places: usize) -> Option<Self> {
        let before = serving.fetch_add(1, Ordering::Relaxed);
        let place = Self(serving);
        (before < places).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
