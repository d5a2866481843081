//! Flows that are connections: they come to one listening socket.

use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};
use wire::Failure;

use super::{Meeting, Patience};
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
pub fn gather(
    meeting: Meeting,
    introduction: &Introduction,
    control: &Line,
) -> Result<Vec<Flow>, Failure> {
    let patience = Patience::new(control);
    let near = control.peer_ip();
    let near = near.map_err(|error| refused("find the address of the near end", &error))?;
    let wanted = meeting.work.flows as usize;
    let buffers = meeting.sockets.first().map_or([0; 2], socket::buffer_bytes);
    let mut here: Vec<Option<Flow>> = (0..wanted).map(|_| None).collect();
    let mut guests: Vec<Guest> = Vec::new();
    while here.iter().any(Option::is_none) {
        let listeners = meeting.sockets.iter().map(Socket::as_fd);
        patience.wait(listeners.chain(guests.iter().map(|guest| guest.socket.as_fd())))?;
        guests.extend(
            meeting
                .sockets
                .iter()
                .flat_map(|listener| accept(listener, near)),
        );
        let surplus = guests.len().saturating_sub(wanted + STRANGERS_MAX);
        guests.drain(..surplus);
        let mut silent = Vec::new();
        for mut guest in guests {
            match guest.listen(introduction) {
                Said::Nothing => silent.push(guest),
                Said::Wrong => {}
                Said::Number(number) => {
                    let socket = guest.socket;
                    socket
                        .set_nonblocking(false)
                        .map_err(|error| refused("prepare a data connection", &error))?;
                    if let Some(place) = here.get_mut(number as usize) {
                        place.get_or_insert(Flow::new(number, socket).with_buffers(buffers));
                    }
                }
            }
        }
        guests = silent;
    }
    Ok(here.into_iter().flatten().collect())
}

/// Those that are waiting; as many as are listened to, if more come and come. One of another host
/// than `near` is closed.
fn accept(listener: &Socket, near: IpAddr) -> impl Iterator<Item = Guest> + '_ {
    let waiting = std::iter::from_fn(move || {
        let (socket, from) = listener.accept().ok()?;
        socket.set_nonblocking(true).ok()?;
        let from = from.as_socket().map(|from| from.ip().to_canonical());
        let guest = Guest {
            socket,
            words: Vec::new(),
            came: Instant::now(),
        };
        // A Unix socket has no address; only this user reaches it.
        Some(from.is_none_or(|from| from == near).then_some(guest))
    });
    waiting.take(STRANGERS_MAX).flatten()
}

/// A connection that has not said which it is.
struct Guest {
    socket: Socket,
    words: Vec<u8>,
    came: Instant,
}

/// What it said.
enum Said {
    Nothing,
    Number(u32),
    Wrong,
}

impl Guest {
    /// Listens, and takes nothing that follows the introduction.
    fn listen(&mut self, introduction: &Introduction) -> Said {
        let missing = introduction.bytes() - self.words.len();
        match (&self.socket)
            .take(missing as u64)
            .read_to_end(&mut self.words)
        {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Said::Wrong,
            _ if self.words.len() == introduction.bytes() => introduction
                .number(&self.words)
                .map_or(Said::Wrong, Said::Number),
            // It ended before it had said it.
            Ok(_) => Said::Wrong,
            Err(_) if self.came.elapsed() > NAMING => Said::Wrong,
            Err(_) => Said::Nothing,
        }
    }
}
