//! Connecting the flows with where the server is ready.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use kit::failure::interrupted;
use kit::histogram::Histogram;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use socket2::{Domain, SockAddr, Socket, Type};
use wire::Failure;

use crate::control::channel::Line;
use crate::control::introduction::Introduction;
use crate::control::message::{Ready, Role, Work};
use crate::failure::{peer_failure, refused};
use crate::flow::Flow;
use crate::socket::Transport;
use crate::socket::{self, SocketOptions};

const CONNECT: Duration = Duration::from_secs(10);
/// How long datagrams may be lost before we give up.
const INTRODUCE_MAX: Duration = Duration::from_secs(15);
/// Between an introduction and the first repetition; each takes twice as long to follow.
const REPEAT: Duration = Duration::from_millis(100);

/// Between which addresses flows go.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Of the server's control connection.
    pub far: SocketAddr,
    /// Of this end, where it matters.
    pub local: Option<IpAddr>,
}

/// Connects all flows of `part`; returns how long each took, where there is something to connect.
///
/// # Errors
/// `Far` when one cannot be connected; `Io` or `HostLacks` when an option is not granted.
pub fn connect(
    part: &Work,
    ready: &Ready,
    place: Place,
    options: &SocketOptions,
) -> Result<(Vec<Flow>, Histogram), Failure> {
    let introduction = Introduction::of(&ready.token);
    let mut connects = Histogram::new();
    let flow = |number: u32| match part.transport {
        _ if matches!(part.role, Role::Accept(_)) => pattern(number, ready, place, options),
        Transport::Udp => pair_datagrams(number, ready, place, options),
        Transport::Tcp => {
            let address = at_port(place.far, ready.ports.first())?;
            let socket = prepared(
                new_socket(address, Type::STREAM, place.local),
                part,
                options,
            )?;
            let flow = connect_stream(number, socket, &address.into(), &mut connects)
                .map_err(|error| cannot(place, &error))?;
            introduced(flow, place, &introduction)
        }
        Transport::Unix => {
            let path = ready.path.as_deref().unwrap_or(Path::new(""));
            let address = SockAddr::unix(path).map_err(|error| unseen(path, &error))?;
            let socket = prepared(Socket::new(Domain::UNIX, Type::STREAM, None), part, options)?;
            let flow = connect_stream(number, socket, &address, &mut connects)
                .map_err(|error| unseen(path, &error))?;
            introduced(flow, place, &introduction)
        }
    };
    let flows = (0..part.flows).map(flow).collect::<Result<_, Failure>>()?;
    Ok((flows, connects))
}

/// Introduces flows of datagrams, which may be lost, again and again until something is heard on
/// `control`.
///
/// # Errors
/// `Far` when nothing is heard, or the server's host sends back that nobody is there.
pub fn introduce_until_heard(
    flows: &[Flow],
    ready: &Ready,
    place: Place,
    control: &Line,
) -> Result<(), Failure> {
    let introduction = Introduction::of(&ready.token);
    let until = Instant::now() + INTRODUCE_MAX;
    let mut pause = REPEAT;
    while Instant::now() < until && !control.is_stopped() {
        let sent = flows
            .iter()
            .try_for_each(|flow| introduce(flow, &introduction));
        if is_heard(control.stream(), pause) {
            return Ok(());
        }
        sent.map_err(|error| cannot(place, &error))?;
        pause *= 2;
    }
    match control.is_stopped() {
        true => Err(interrupted()),
        false => Err(cannot(place, &ErrorKind::TimedOut.into())),
    }
}

/// A flow of which each transaction is a connection: its socket, which is never connected, has
/// the options that all of them have.
fn pattern(
    number: u32,
    ready: &Ready,
    place: Place,
    options: &SocketOptions,
) -> Result<Flow, Failure> {
    let address = at_port(place.far, ready.ports.get(number as usize))?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)
        .map_err(|error| refused("make a socket", &error))?;
    options.apply(&socket, Transport::Tcp)?;
    Ok(Flow::unconnected(number, socket, address.into()))
}

/// A flow from a new socket to the server's socket of that number.
fn pair_datagrams(
    number: u32,
    ready: &Ready,
    place: Place,
    options: &SocketOptions,
) -> Result<Flow, Failure> {
    let address = at_port(place.far, ready.ports.get(number as usize))?;
    let wrong = |error: io::Error| cannot(place, &error);
    let socket = new_socket(address, Type::DGRAM, place.local).map_err(wrong)?;
    options.apply(&socket, Transport::Udp)?;
    if options.unconnected {
        return Ok(Flow::unconnected(number, socket, address.into()));
    }
    socket.connect(&address.into()).map_err(wrong)?;
    Ok(Flow::new(number, socket))
}

/// A socket with its options.
fn prepared(
    socket: io::Result<Socket>,
    part: &Work,
    options: &SocketOptions,
) -> Result<Socket, Failure> {
    let socket = socket.map_err(|error| refused("make a socket", &error))?;
    options.apply(&socket, part.transport)?;
    Ok(socket)
}

/// A flow that is a connection.
fn connect_stream(
    number: u32,
    socket: Socket,
    address: &SockAddr,
    connects: &mut Histogram,
) -> io::Result<Flow> {
    let buffers = socket::buffer_bytes(&socket);
    let began = Instant::now();
    socket.connect_timeout(address, CONNECT)?;
    connects.record(began.elapsed().as_nanos() as u64);
    Ok(Flow::new(number, socket).with_buffers(buffers))
}

/// A socket of the right family, bound where that matters.
fn new_socket(address: SocketAddr, kind: Type, local: Option<IpAddr>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if let Some(local) = local {
        socket.bind(&SocketAddr::new(local, 0).into())?;
    }
    Ok(socket)
}

/// The server at a data port; the scope of a link-local address stays.
fn at_port(mut far_end: SocketAddr, port: Option<&u16>) -> Result<SocketAddr, Failure> {
    let port = port.ok_or_else(|| peer_failure("the server opened too few ports for data"))?;
    far_end.set_port(*port);
    Ok(far_end)
}

/// A connection that has said which flow it is.
fn introduced(flow: Flow, place: Place, introduction: &Introduction) -> Result<Flow, Failure> {
    introduce(&flow, introduction).map_err(|error| cannot(place, &error))?;
    Ok(flow)
}

/// Says which flow this is.
fn introduce(flow: &Flow, introduction: &Introduction) -> io::Result<()> {
    let words = introduction.words(flow.number);
    let sent = match &flow.peer {
        Some(peer) => flow.socket.send_to(&words, peer)?,
        None => flow.socket.send(&words)?,
    };
    match sent == words.len() {
        true => Ok(()),
        false => Err(ErrorKind::WriteZero.into()),
    }
}

/// Whether there is something on `control` within `time`.
fn is_heard(control: &TcpStream, time: Duration) -> bool {
    let mut fds = [PollFd::new(control, PollFlags::IN | PollFlags::RDHUP)];
    let time = Timespec::try_from(time).ok();
    poll(&mut fds, time.as_ref()).is_ok_and(|ready| ready > 0)
}

fn cannot(place: Place, error: &io::Error) -> Failure {
    let address = place.far.ip();
    peer_failure(format!(
        "cannot connect for data with the server at {address}: {error}; if a firewall is \
         between, give \"serve --data-ports\" a range that it lets pass"
    ))
}

fn unseen(path: &Path, error: &io::Error) -> Failure {
    peer_failure(format!(
        "cannot connect with the server's socket {}: {error}; Unix sockets need both ends on one \
         host, run by one user",
        path.display()
    ))
}
