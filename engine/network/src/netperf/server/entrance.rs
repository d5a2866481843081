//! The entrance: whoever connects waits there until it has said something, and then for a place.
//! Those who are silent have neither a place nor a thread, and keep nobody out.

use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::net::{recv, RecvFlags};

use super::hall::{Hall, Place};
use super::Limits;
use crate::netperf::control::Control;
use crate::netperf::data::alarm::timespec;
use crate::netperf::message::{Message, LARGEST_BYTES};
use crate::networks::Network;

/// How long a client may take for its first word.
const FIRST_WORD: Duration = Duration::from_secs(20);
/// How long a client that has said something waits for a place.
const TURN: Duration = Duration::from_secs(5);
/// More do not wait at once.
const GUESTS_MAX: usize = 64;
/// Between two looks for a stop.
const LOOK_NS: u64 = 100_000_000;
/// As [`LOOK_NS`], while somebody waits for a place.
const LOOK_IN_TURN_NS: u64 = 5_000_000;
/// After an error that passes, so that it is not met ever again in a tight loop.
const NAP: Duration = Duration::from_millis(10);

/// Somebody who waits.
struct Guest {
    stream: TcpStream,
    address: IpAddr,
    /// When it came, and once it has said something, when that was.
    since: Instant,
    has_spoken: bool,
}

/// Those who wait.
pub struct Entrance<'a> {
    hall: &'a Hall<'a>,
    guests: Vec<Guest>,
}

impl<'a> Entrance<'a> {
    /// Nobody is there.
    pub fn new(hall: &'a Hall<'a>) -> Self {
        Self {
            hall,
            guests: Vec::new(),
        }
    }

    /// Waits for a moment until somebody comes or says something; gives those who now have a place.
    ///
    /// # Errors
    /// When a listener breaks.
    pub fn attend(&mut self, listeners: &[TcpListener]) -> io::Result<Vec<(TcpStream, Place<'a>)>> {
        self.listen(listeners)?;
        for listener in listeners {
            self.accept(listener)?;
        }
        Ok(self.admit())
    }

    /// Notes who has said something, and forgets who has gone.
    fn listen(&mut self, listeners: &[TcpListener]) -> io::Result<()> {
        let (spoken, silent): (Vec<Guest>, Vec<Guest>) = std::mem::take(&mut self.guests)
            .into_iter()
            .partition(|guest| guest.has_spoken);
        let look_ns = match spoken.is_empty() {
            true => LOOK_NS,
            false => LOOK_IN_TURN_NS,
        };
        let listeners = listeners.iter();
        let listeners = listeners.map(|listener| PollFd::new(listener, PollFlags::IN));
        let streams = silent.iter().map(|guest| &guest.stream);
        let streams = streams.map(|stream| PollFd::new(stream, PollFlags::IN));
        let mut watched: Vec<_> = listeners.chain(streams).collect();
        match poll(&mut watched, Some(&timespec(look_ns))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let first = watched.len() - silent.len();
        let has_news = |fd: &PollFd| !fd.revents().is_empty();
        let news: Vec<bool> = watched[first..].iter().map(has_news).collect();
        drop(watched);
        self.guests = spoken;
        for (mut guest, has_news) in silent.into_iter().zip(news) {
            if has_news {
                // It is there, or the end is: this does not wait.
                if !matches!(guest.stream.peek(&mut [0]), Ok(1)) {
                    continue;
                }
                (guest.has_spoken, guest.since) = (true, Instant::now());
            }
            self.guests.push(guest);
        }
        Ok(())
    }

    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        for _ in 0..GUESTS_MAX {
            match listener.accept() {
                Ok((stream, from)) => self.greet(stream, from.ip().to_canonical()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_broken(&error) => return Err(error),
                // The client has gone again, or there is nothing left to hold it with, for now.
                Err(_) => thread::sleep(NAP),
            }
        }
        Ok(())
    }

    fn greet(&mut self, stream: TcpStream, address: IpAddr) {
        let limits = self.hall.limits;
        let networks = limits.networks.as_ref();
        if networks.is_some_and(|known| !known.iter().any(|network| network.contains(address))) {
            return refuse(stream, limits, libc::EACCES);
        }
        self.guests.push(Guest {
            stream,
            address,
            since: Instant::now(),
            has_spoken: false,
        });
        if self.guests.len() > GUESTS_MAX {
            let guest = self.guests.remove(self.one_too_many());
            refuse(guest.stream, limits, libc::EBUSY);
        }
    }

    /// Of the host that has most guests the one that has been silent for longest; if it has none,
    /// its last.
    fn one_too_many(&self) -> usize {
        let host = |guest: &Guest| Network::of_host(guest.address);
        let hosts = self.guests.iter().map(host);
        let count = |one: &IpAddr| {
            self.guests
                .iter()
                .filter(|guest| host(guest) == *one)
                .count()
        };
        let greediest = hosts.max_by_key(count);
        let of_it = |guest: &&Guest| Some(host(guest)) == greediest;
        let silent = self
            .guests
            .iter()
            .filter(of_it)
            .filter(|guest| !guest.has_spoken);
        let oldest = silent
            .min_by_key(|guest| guest.since)
            .map(|guest| guest.since);
        let place = |guest: &Guest| Some(guest.since) == oldest && !guest.has_spoken;
        let place = self.guests.iter().position(place);
        place.unwrap_or(self.guests.len() - 1)
    }

    /// Those for whom there is a place; who has waited for too long is sent away.
    fn admit(&mut self) -> Vec<(TcpStream, Place<'a>)> {
        let limits = self.hall.limits;
        let mut admitted = Vec::new();
        for guest in std::mem::take(&mut self.guests) {
            let waited = guest.since.elapsed();
            if !guest.has_spoken {
                // The rest are closed.
                if waited < FIRST_WORD.min(limits.session) {
                    self.guests.push(guest);
                }
            } else if let Some(place) = self.hall.places.take(guest.address) {
                admitted.push((guest.stream, place));
            } else if waited < TURN {
                self.guests.push(guest);
            } else {
                refuse(guest.stream, limits, libc::EBUSY);
            }
        }
        admitted
    }
}

/// Whether it is the listener, not what came to it.
fn is_broken(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EOPNOTSUPP)
    )
}

/// The client reads it as the answer to whatever it is about to ask.
fn refuse(stream: TcpStream, limits: &Limits, errno: i32) {
    // What was said is taken: a connection that is closed with words unread destroys the answer.
    let mut words = [0; LARGEST_BYTES];
    let _ = recv(&stream, &mut words[..], RecvFlags::DONTWAIT);
    if let Ok(mut control) = Control::new(stream, limits.generation) {
        // It may have gone already.
        let _ = control.send(&Message::new(0, errno));
    }
}
