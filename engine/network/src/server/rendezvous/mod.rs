//! Where the flows of one measurement come to: opened for it, and closed when all have come.

mod datagrams;
mod streams;

use std::fs::DirBuilder;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, iter};

use kit::removal;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use socket2::{Domain, Socket, Type};
use wire::Failure;

use crate::control::channel::Line;
use crate::control::introduction::Introduction;
use crate::control::message::{Ready, Role, Work};
use crate::control::secret;
use crate::failure::{peer_failure, refused, STOPPED};
use crate::flow::{connect, Flow};
use crate::socket::Transport;

/// How long flows may take to come.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(20);
/// So many may wait to be accepted, flows and strangers; the kernel has a limit of its own.
const WAITING_MAX: i32 = 4_096;
/// Between two looks at a stop request.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Where flows of one measurement come to.
pub struct Rendezvous<'a> {
    work: &'a Work,
    sockets: Vec<Socket>,
    /// What is sent to the client.
    pub ready: Ready,
    /// Where a Unix socket is; removed with this.
    _directory: Option<Directory>,
}

impl<'a> Rendezvous<'a> {
    /// Opens it at the address that the client came to.
    ///
    /// # Errors
    /// When no port is free, or an option is not granted.
    pub fn open(
        work: &'a Work,
        at: SocketAddr,
        ports: Option<&RangeInclusive<u16>>,
    ) -> Result<Self, Failure> {
        let cannot = |error: io::Error| refused("wait for data connections", &error);
        let mut rendezvous = Self {
            work,
            sockets: Vec::new(),
            ready: Ready {
                ports: Vec::new(),
                path: None,
                token: secret::nonce().map_err(cannot)?,
            },
            _directory: None,
        };
        let at = match at.ip().to_canonical() {
            // An IPv4 client of a socket for both families.
            IpAddr::V4(ip) => SocketAddr::new(ip.into(), 0),
            IpAddr::V6(_) => at,
        };
        match work.transport {
            Transport::Tcp => {
                let count = match work.role {
                    // Connections that say no number come to the port of their flow.
                    Role::Accept(_) => work.flows,
                    _ => 1,
                };
                rendezvous.sockets = bind(at, ports, Type::STREAM, count)?;
            }
            Transport::Udp => rendezvous.sockets = bind(at, ports, Type::DGRAM, work.flows)?,
            Transport::Unix => {
                let directory = Directory::new().map_err(cannot)?;
                let path = directory.path().join("flows");
                rendezvous.sockets = vec![streams::bind_unix(&path).map_err(cannot)?];
                rendezvous.ready.path = Some(path);
                rendezvous._directory = Some(directory);
            }
        }
        for socket in &rendezvous.sockets {
            // Accepted sockets have the options of the one that listens.
            work.options.apply(socket, work.transport)?;
            socket.set_nonblocking(true).map_err(cannot)?;
            let address = socket.local_addr().map_err(cannot)?;
            let port = address.as_socket().map(|address| address.port());
            rendezvous.ready.ports.extend(port);
            if work.transport != Transport::Udp {
                socket.listen(WAITING_MAX).map_err(cannot)?;
            }
        }
        Ok(rendezvous)
    }

    /// Waits until all flows are here. They come from where the control connection does; strangers
    /// are turned away, also those who know the token.
    ///
    /// # Errors
    /// `Far` when they do not come, or something is heard on `control` meanwhile.
    pub fn accept_flows(self, control: &Line) -> Result<Vec<Flow>, Failure> {
        if let Role::Accept(_) = self.work.role {
            return doors(self.sockets, control)
                .map_err(|error| refused("wait for the connections of transactions", &error));
        }
        let introduction = Introduction::of(&self.ready.token);
        match self.work.transport {
            Transport::Udp => datagrams::accept_flows(self, &introduction, control),
            Transport::Tcp | Transport::Unix => streams::accept_flows(self, &introduction, control),
        }
    }
}

/// Flows of which each connection is a transaction: where they come to, and who may.
fn doors(sockets: Vec<Socket>, control: &Line) -> io::Result<Vec<Flow>> {
    let client = SocketAddr::new(control.peer_ip()?, 0);
    let acceptor = |(number, socket): (u32, Socket)| {
        socket.set_nonblocking(false)?;
        connect::set_timeouts(&socket)?;
        Ok(Flow::unconnected(number, socket, client.into()))
    };
    (0..).zip(sockets).map(acceptor).collect()
}

/// Throws away what has come over `flows` until now: introductions are repeated, and the last ones
/// may come when the flow is long known.
///
/// # Errors
/// As recv(2).
pub fn drain(flows: &[Flow], transport: Transport) -> io::Result<()> {
    match transport {
        Transport::Udp => flows.iter().try_for_each(datagrams::drain),
        Transport::Tcp | Transport::Unix => Ok(()),
    }
}

/// The patience of a rendezvous.
struct Patience<'a> {
    until: Instant,
    control: &'a Line,
}

impl<'a> Patience<'a> {
    fn new(control: &'a Line) -> Self {
        Self {
            until: Instant::now() + ACCEPT_TIMEOUT,
            control,
        }
    }

    /// Waits until one of `sockets` has something, or for a moment.
    fn wait<'s>(&self, sockets: impl Iterator<Item = BorrowedFd<'s>>) -> Result<(), Failure> {
        if Instant::now() > self.until {
            return Err(peer_failure("not all data connections came"));
        }
        if self.control.is_stopped() {
            return Err(peer_failure(STOPPED));
        }
        let mut fds = vec![PollFd::new(
            self.control.stream(),
            PollFlags::IN | PollFlags::RDHUP,
        )];
        fds.extend(sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)));
        // Interrupted or not: what is there is found without it.
        let _ = poll(&mut fds, Some(&LOOK));
        match fds[0].revents().is_empty() {
            true => Ok(()),
            false => Err(peer_failure(
                "the client gave up while its flows were awaited",
            )),
        }
    }
}

/// `count` sockets, each with the first port that is free.
fn bind(
    mut at: SocketAddr,
    ports: Option<&RangeInclusive<u16>>,
    kind: Type,
    count: u32,
) -> Result<Vec<Socket>, Failure> {
    let count = count as usize;
    let mut candidates: Box<dyn Iterator<Item = u16>> = match ports {
        Some(ports) => Box::new(ports.clone()),
        None => Box::new(iter::repeat_n(0, count)),
    };
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    let mut sockets = Vec::new();
    while sockets.len() < count {
        let Some(port) = candidates.next() else {
            let ip = at.ip();
            let wanted = format!("find a port for each data connection at {ip}");
            return Err(refused(wanted, &last));
        };
        at.set_port(port);
        match bind_one(at, kind) {
            Ok(socket) => sockets.push(socket),
            Err(error) => last = error,
        }
    }
    Ok(sockets)
}

fn bind_one(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    // A port of connections that are long closed may be taken again; one of datagrams that is
    // taken would be shared.
    socket.set_reuse_address(kind == Type::STREAM)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Removed, with the socket in it, when this is dropped.
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Makes it among the temporary files.
    ///
    /// # Errors
    /// As mkdir(2).
    pub fn new() -> io::Result<Self> {
        // The name of a socket has at most 107 bytes, unix(7): a short one suffices.
        let number = secret::nonce()?;
        let path = std::env::temp_dir().join(format!("tiltyard-{}", &number[..12]));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Nothing could be done about an error.
        let _ = removal::remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_ours_alone_and_does_not_last() {
        let directory = Directory::new().unwrap();
        let path = directory.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("flows"), "").unwrap();
        drop(directory);
        assert!(!path.exists());
    }
}
