//! Flows that are connections: they come to one listening socket.

use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};
use wire::Failure;

use super::{Patience, Rendezvous};
use crate::control::channel::Line;
use crate::control::introduction::Introduction;
use crate::failure::refused;
use crate::flow::Flow;
use crate::socket;

/// How long one that has come may take to say which it is.
const NAMING: Duration = Duration::from_secs(5);
/// So many strangers are listened to beside the flows; of more, the first go.
const STRANGERS_MAX: usize = 64;

/// A socket that listens at `path`.
pub fn bind_unix(path: &Path) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    Ok(socket)
}

/// Accepts until all flows have said which they are; none waits for another.
pub fn accept_flows(
    rendezvous: Rendezvous,
    introduction: &Introduction,
    control: &Line,
) -> Result<Vec<Flow>, Failure> {
    let patience = Patience::new(control);
    let client = control.peer_ip();
    let client = client.map_err(|error| refused("find the address of the client", &error))?;
    let wanted = rendezvous.work.flows as usize;
    let buffers = rendezvous
        .sockets
        .first()
        .map_or([0; 2], socket::buffer_bytes);
    let mut here: Vec<Option<Flow>> = (0..wanted).map(|_| None).collect();
    let mut peers: Vec<PendingPeer> = Vec::new();
    while here.iter().any(Option::is_none) {
        let listeners = rendezvous.sockets.iter().map(Socket::as_fd);
        patience.wait(listeners.chain(peers.iter().map(|peer| peer.socket.as_fd())))?;
        peers.extend(
            rendezvous
                .sockets
                .iter()
                .flat_map(|listener| accept(listener, client)),
        );
        let surplus = peers.len().saturating_sub(wanted + STRANGERS_MAX);
        peers.drain(..surplus);
        let mut silent = Vec::new();
        for mut peer in peers {
            match peer.listen(introduction) {
                Introduced::Nothing => silent.push(peer),
                Introduced::Wrong => {}
                Introduced::Number(number) => {
                    let socket = peer.socket;
                    socket
                        .set_nonblocking(false)
                        .map_err(|error| refused("prepare a data connection", &error))?;
                    if let Some(place) = here.get_mut(number as usize) {
                        place.get_or_insert(Flow::new(number, socket).with_buffers(buffers));
                    }
                }
            }
        }
        peers = silent;
    }
    Ok(here.into_iter().flatten().collect())
}

/// Those that are waiting; as many as are listened to, if more come and come. One of another host
/// than `client` is closed.
fn accept(listener: &Socket, client: IpAddr) -> impl Iterator<Item = PendingPeer> + '_ {
    let waiting = std::iter::from_fn(move || {
        let (socket, from) = listener.accept().ok()?;
        socket.set_nonblocking(true).ok()?;
        let from = from.as_socket().map(|from| from.ip().to_canonical());
        let peer = PendingPeer {
            socket,
            words: Vec::new(),
            came: Instant::now(),
        };
        // A Unix socket has no address; only this user reaches it.
        Some(from.is_none_or(|from| from == client).then_some(peer))
    });
    waiting.take(STRANGERS_MAX).flatten()
}

/// A connection that has not said which it is.
struct PendingPeer {
    socket: Socket,
    words: Vec<u8>,
    came: Instant,
}

/// What it said.
enum Introduced {
    Nothing,
    Number(u32),
    Wrong,
}

impl PendingPeer {
    /// Listens, and takes nothing that follows the introduction.
    fn listen(&mut self, introduction: &Introduction) -> Introduced {
        let missing = introduction.bytes() - self.words.len();
        match (&self.socket)
            .take(missing as u64)
            .read_to_end(&mut self.words)
        {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Introduced::Wrong,
            _ if self.words.len() == introduction.bytes() => introduction
                .number(&self.words)
                .map_or(Introduced::Wrong, Introduced::Number),
            // It ended before it had said it.
            Ok(_) => Introduced::Wrong,
            Err(_) if self.came.elapsed() > NAMING => Introduced::Wrong,
            Err(_) => Introduced::Nothing,
        }
    }
}
