//! The door: whoever connects is a guest until it has said who it is. Guests are few, have little
//! time, need no thread each, and keep nobody out.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::Offer;
use crate::control::channel::{wait_for, Channel};
use crate::control::message::{Greeting, Hello, ToFar, ToNear, VERSION};
use crate::control::{frame, secret};
use crate::failure::STOPPED;
use crate::stop::Stop;

/// How long a guest may take for its first word: more than a virtual machine stands still.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// How long a client waits for the one before it to go: trials follow each other closely, on a
/// machine that may stand still for seconds.
const TURN: Duration = Duration::from_secs(5);
/// How long a guest may take to hear a word: there is room for it in any socket's buffer.
const AT_ONCE: Duration = Duration::from_millis(10);
/// More guests do not wait at once; then the oldest must go.
const GUESTS_MAX: usize = 64;
/// Between two looks at what no socket tells.
const LOOK: Duration = Duration::from_millis(50);
/// As [`LOOK`], while somebody waits for his turn.
const LOOK_IN_TURN: Duration = Duration::from_millis(2);

/// Somebody at the door.
struct Guest {
    channel: Channel,
    nonce: String,
    since: Instant,
}

/// Those at the door: guests, and clients that wait for their turn.
pub struct Door<'a> {
    offer: &'a Offer,
    guests: VecDeque<Guest>,
    clients: VecDeque<(Channel, Instant)>,
}

impl<'a> Door<'a> {
    /// Nobody is there.
    pub fn new(offer: &'a Offer) -> Self {
        Self {
            offer,
            guests: VecDeque::new(),
            clients: VecDeque::new(),
        }
    }

    /// Waits until somebody comes or says something, and hears all who do.
    pub fn attend(&mut self, listeners: &[TcpListener], stop: &Stop) {
        self.wait(listeners);
        for listener in listeners {
            match listener.accept() {
                Ok((stream, _)) => self.greet(stream, stop),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // No descriptors, say: it is not better at once.
                Err(_) => std::thread::sleep(LOOK),
            }
        }
        for mut guest in std::mem::take(&mut self.guests) {
            match guest.channel.take(frame::HELLO_BYTES) {
                Ok(word) => self.hear(guest, word),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.keep(guest),
                Err(error) => refuse(guest.channel, &format!("this is no hello: {error}")),
            }
        }
        self.turn_away_those_who_waited();
    }

    /// The client whose turn it is.
    pub fn next(&mut self) -> Option<Channel> {
        self.clients.pop_front().map(|(client, _)| client)
    }

    /// Says to all that there is no more to wait for, also to those who have just come.
    pub fn close(&mut self, listeners: &[TcpListener], stop: &Stop) {
        for listener in listeners {
            let waiting = std::iter::from_fn(|| listener.accept().ok());
            let waiting = waiting.take(GUESTS_MAX);
            waiting.for_each(|(stream, _)| self.greet(stream, stop));
        }
        let guests = self.guests.drain(..).map(|guest| guest.channel);
        let clients = self.clients.drain(..).map(|(client, _)| client);
        for channel in guests.chain(clients) {
            refuse(channel, STOPPED);
        }
    }

    fn wait(&self, listeners: &[TcpListener]) {
        let guests = self
            .guests
            .iter()
            .map(|guest| guest.channel.line().stream());
        let guests = guests.map(|stream| PollFd::new(stream, PollFlags::IN));
        let listeners = listeners.iter();
        let listeners = listeners.map(|listener| PollFd::new(listener, PollFlags::IN));
        let mut fds: Vec<PollFd> = listeners.chain(guests).collect();
        wait_for(
            &mut fds,
            match self.clients.is_empty() {
                true => LOOK,
                false => LOOK_IN_TURN,
            },
        );
    }

    fn greet(&mut self, stream: TcpStream, stop: &Stop) {
        let greeted = || -> io::Result<Guest> {
            let mut channel = Channel::new(stream, stop.clone())?;
            let nonce = secret::nonce()?;
            let greeting = Greeting {
                version: VERSION,
                engine: self.offer.engine.clone(),
                nonce: nonce.clone(),
                wants_proof: self.offer.secret.is_some(),
            };
            channel.send(&ToNear::Greeting(greeting), AT_ONCE)?;
            Ok(Guest {
                channel,
                nonce,
                since: Instant::now(),
            })
        };
        // Whoever cannot be greeted has gone away again.
        if let Ok(guest) = greeted() {
            self.guests.push_back(guest);
            if self.guests.len() > GUESTS_MAX {
                self.guests.pop_front();
            }
        }
    }

    fn hear(&mut self, guest: Guest, word: ToFar) {
        let reason = match word {
            ToFar::Hello(hello) => self.why_not(&guest, &hello),
            _ => Some("\"hello\" was to come".to_owned()),
        };
        let has_room = self.clients.len() < GUESTS_MAX;
        match reason {
            Some(reason) => refuse(guest.channel, &reason),
            None if has_room => self.clients.push_back((guest.channel, Instant::now())),
            None => refuse(guest.channel, BUSY),
        }
    }

    fn why_not(&self, guest: &Guest, hello: &Hello) -> Option<String> {
        if hello.version != VERSION {
            return Some(format!(
                "version {VERSION} of the control connection is spoken here"
            ));
        }
        let proof = hello.proof.as_deref().unwrap_or_default();
        match &self.offer.secret {
            Some(shared) if !secret::proves(shared, &guest.nonce, proof) => {
                Some("the secret is not the right one".to_owned())
            }
            _ => None,
        }
    }

    /// Waits on, unless it was too long.
    fn keep(&mut self, guest: Guest) {
        match guest.since.elapsed() < FIRST_WORD {
            true => self.guests.push_back(guest),
            false => refuse(guest.channel, "no hello came in time"),
        }
    }

    fn turn_away_those_who_waited(&mut self) {
        while let Some((_, since)) = self.clients.front() {
            if since.elapsed() < TURN {
                return;
            }
            if let Some(client) = self.next() {
                refuse(client, BUSY);
            }
        }
    }
}

const BUSY: &str = "it is busy with another client; try again when that one is done";

fn refuse(mut channel: Channel, reason: &str) {
    // Whoever does not take it has gone away again.
    let _ = channel.send(&ToNear::Refused(reason.to_owned()), AT_ONCE);
}
