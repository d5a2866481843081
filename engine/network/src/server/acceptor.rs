//! The acceptor: a connection is pending until its client has said hello. Pending peers are few,
//! have little
//! time, need no thread each, and keep nobody out.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::ServerConfig;
use crate::control::channel::{wait_for, Channel};
use crate::control::message::{Greeting, Hello, ToClient, ToServer, VERSION};
use crate::control::{frame, secret};
use crate::failure::STOPPED;
use crate::stop::Stop;

/// How long a peer may take for its first word: more than a virtual machine stands still.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// How long a client waits for the one before it to go: trials follow each other closely, on a
/// machine that may stand still for seconds.
const TURN: Duration = Duration::from_secs(5);
/// How long a peer may take to hear a word: there is room for it in any socket's buffer.
const AT_ONCE: Duration = Duration::from_millis(10);
/// More peers do not wait at once; then the oldest must go.
const PENDING_MAX: usize = 64;
/// Between two looks at what no socket tells.
const LOOK: Duration = Duration::from_millis(50);
/// As [`LOOK`], while somebody waits for his turn.
const LOOK_IN_TURN: Duration = Duration::from_millis(2);

/// Somebody at the acceptor.
struct PendingPeer {
    channel: Channel,
    nonce: String,
    since: Instant,
}

/// Those at the acceptor: peers, and clients that wait for their turn.
pub struct Acceptor<'a> {
    config: &'a ServerConfig,
    peers: VecDeque<PendingPeer>,
    clients: VecDeque<(Channel, Instant)>,
}

impl<'a> Acceptor<'a> {
    /// No client yet.
    pub fn new(config: &'a ServerConfig) -> Self {
        Self {
            config,
            peers: VecDeque::new(),
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
        for mut peer in std::mem::take(&mut self.peers) {
            match peer.channel.take(frame::HELLO_BYTES) {
                Ok(word) => self.hear(peer, word),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.keep(peer),
                Err(error) => refuse(peer.channel, &format!("this is no hello: {error}")),
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
            let waiting = waiting.take(PENDING_MAX);
            waiting.for_each(|(stream, _)| self.greet(stream, stop));
        }
        let peers = self.peers.drain(..).map(|peer| peer.channel);
        let clients = self.clients.drain(..).map(|(client, _)| client);
        for channel in peers.chain(clients) {
            refuse(channel, STOPPED);
        }
    }

    fn wait(&self, listeners: &[TcpListener]) {
        let peers = self.peers.iter().map(|peer| peer.channel.line().stream());
        let peers = peers.map(|stream| PollFd::new(stream, PollFlags::IN));
        let listeners = listeners.iter();
        let listeners = listeners.map(|listener| PollFd::new(listener, PollFlags::IN));
        let mut fds: Vec<PollFd> = listeners.chain(peers).collect();
        wait_for(
            &mut fds,
            match self.clients.is_empty() {
                true => LOOK,
                false => LOOK_IN_TURN,
            },
        );
    }

    fn greet(&mut self, stream: TcpStream, stop: &Stop) {
        let greeted = || -> io::Result<PendingPeer> {
            let mut channel = Channel::new(stream, stop.clone())?;
            let nonce = secret::nonce()?;
            let greeting = Greeting {
                version: VERSION,
                engine: self.config.engine.clone(),
                nonce: nonce.clone(),
                wants_proof: self.config.secret.is_some(),
            };
            channel.send(&ToClient::Greeting(greeting), AT_ONCE)?;
            Ok(PendingPeer {
                channel,
                nonce,
                since: Instant::now(),
            })
        };
        // Whoever cannot be greeted has gone away again.
        if let Ok(peer) = greeted() {
            self.peers.push_back(peer);
            if self.peers.len() > PENDING_MAX {
                self.peers.pop_front();
            }
        }
    }

    fn hear(&mut self, peer: PendingPeer, word: ToServer) {
        let reason = match word {
            ToServer::Hello(hello) => self.why_not(&peer, &hello),
            _ => Some("\"hello\" was to come".to_owned()),
        };
        let has_room = self.clients.len() < PENDING_MAX;
        match reason {
            Some(reason) => refuse(peer.channel, &reason),
            None if has_room => self.clients.push_back((peer.channel, Instant::now())),
            None => refuse(peer.channel, BUSY),
        }
    }

    fn why_not(&self, peer: &PendingPeer, hello: &Hello) -> Option<String> {
        if hello.version != VERSION {
            return Some(format!(
                "version {VERSION} of the control connection is spoken here"
            ));
        }
        let proof = hello.proof.as_deref().unwrap_or_default();
        match &self.config.secret {
            Some(shared) if !secret::proves(shared, &peer.nonce, proof) => {
                Some("the secret is not the right one".to_owned())
            }
            _ => None,
        }
    }

    /// Waits on, unless it was too long.
    fn keep(&mut self, peer: PendingPeer) {
        match peer.since.elapsed() < FIRST_WORD {
            true => self.peers.push_back(peer),
            false => refuse(peer.channel, "no hello came in time"),
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
    let _ = channel.send(&ToClient::Refused(reason.to_owned()), AT_ONCE);
}
