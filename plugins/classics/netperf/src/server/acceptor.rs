//! The acceptor: a connection waits until its client has sent something, and then for a free slot.
//! Those who are silent have neither a place nor a thread, and keep nobody out.

use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::net::{recv, RecvFlags};

use super::shared::{Place, SharedState};
use super::Limits;
use crate::control::Control;
use crate::data::alarm::timespec;
use crate::message::{Message, LARGEST_BYTES};
use network::networks::Network;

/// How long a client may take for its first word.
const FIRST_WORD: Duration = Duration::from_secs(20);
/// How long a client that has said something waits for a place.
const TURN: Duration = Duration::from_secs(5);
/// More do not wait at once.
const PENDING_MAX: usize = 64;
/// Between two looks for a stop.
const LOOK_NS: u64 = 100_000_000;
/// As [`LOOK_NS`], while somebody waits for a place.
const LOOK_IN_TURN_NS: u64 = 5_000_000;
/// Pause after a transient error, to avoid a busy loop.
const NAP: Duration = Duration::from_millis(10);

/// A pending client.
struct PendingPeer {
    stream: TcpStream,
    address: IpAddr,
    /// When it came, and once it has said something, when that was.
    since: Instant,
    has_spoken: bool,
}

/// Pending clients.
pub struct Acceptor<'a> {
    shared: &'a SharedState<'a>,
    peers: Vec<PendingPeer>,
}

impl<'a> Acceptor<'a> {
    /// No client yet.
    pub fn new(shared: &'a SharedState<'a>) -> Self {
        Self {
            shared,
            peers: Vec::new(),
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

    /// Marks those that have sent something, and drops those that have gone.
    fn listen(&mut self, listeners: &[TcpListener]) -> io::Result<()> {
        let (spoken, silent): (Vec<PendingPeer>, Vec<PendingPeer>) =
            std::mem::take(&mut self.peers)
                .into_iter()
                .partition(|peer| peer.has_spoken);
        let look_ns = match spoken.is_empty() {
            true => LOOK_NS,
            false => LOOK_IN_TURN_NS,
        };
        let listeners = listeners.iter();
        let listeners = listeners.map(|listener| PollFd::new(listener, PollFlags::IN));
        let streams = silent.iter().map(|peer| &peer.stream);
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
        self.peers = spoken;
        for (mut peer, has_news) in silent.into_iter().zip(news) {
            if has_news {
                // It is there, or the end is: this does not wait.
                if !matches!(peer.stream.peek(&mut [0]), Ok(1)) {
                    continue;
                }
                (peer.has_spoken, peer.since) = (true, Instant::now());
            }
            self.peers.push(peer);
        }
        Ok(())
    }

    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        for _ in 0..PENDING_MAX {
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
        let limits = self.shared.limits;
        let networks = limits.networks.as_ref();
        if networks.is_some_and(|known| !known.iter().any(|network| network.contains(address))) {
            return refuse(stream, limits, libc::EACCES);
        }
        self.peers.push(PendingPeer {
            stream,
            address,
            since: Instant::now(),
            has_spoken: false,
        });
        if self.peers.len() > PENDING_MAX {
            let peer = self.peers.remove(self.one_too_many());
            refuse(peer.stream, limits, libc::EBUSY);
        }
    }

    /// Of the host that has most peers the one that has been silent for longest; if it has none,
    /// its last.
    fn one_too_many(&self) -> usize {
        let host = |peer: &PendingPeer| Network::of_host(peer.address);
        let hosts = self.peers.iter().map(host);
        let count = |address: &IpAddr| {
            self.peers
                .iter()
                .filter(|peer| host(peer) == *address)
                .count()
        };
        let greediest = hosts.max_by_key(count);
        let of_it = |peer: &&PendingPeer| Some(host(peer)) == greediest;
        let silent = self
            .peers
            .iter()
            .filter(of_it)
            .filter(|peer| !peer.has_spoken);
        let oldest = silent.min_by_key(|peer| peer.since).map(|peer| peer.since);
        let place = |peer: &PendingPeer| Some(peer.since) == oldest && !peer.has_spoken;
        let place = self.peers.iter().position(place);
        place.unwrap_or(self.peers.len() - 1)
    }

    /// Those for whom there is a place; who has waited for too long is sent away.
    fn admit(&mut self) -> Vec<(TcpStream, Place<'a>)> {
        let limits = self.shared.limits;
        let mut admitted = Vec::new();
        for peer in std::mem::take(&mut self.peers) {
            let waited = peer.since.elapsed();
            if !peer.has_spoken {
                // The rest are closed.
                if waited < FIRST_WORD.min(limits.session) {
                    self.peers.push(peer);
                }
            } else if let Some(place) = self.shared.places.take(peer.address) {
                admitted.push((peer.stream, place));
            } else if waited < TURN {
                self.peers.push(peer);
            } else {
                refuse(peer.stream, limits, libc::EBUSY);
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
