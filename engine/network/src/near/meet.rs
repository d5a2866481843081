//! Connecting the flows with where the far end is ready.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use kit::histogram::Histogram;
use socket2::{Domain, Protocol, Socket, Type};
use wire::Failure;

use crate::control::message::{Ready, Transport, Work};
use crate::failure::far;
use crate::flow::Flow;
use crate::socket::SocketOptions;

const CONNECT: Duration = Duration::from_secs(10);

/// Between which addresses flows go.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Of the far end.
    pub address: IpAddr,
    /// Of this one, where it matters.
    pub local: Option<IpAddr>,
}

/// Connects all flows of `part`; tells how long each took.
///
/// # Errors
/// `Far` when one cannot be connected; `Io` or `HostLacks` when an option is not granted.
pub fn connect(
    part: &Work,
    ready: &Ready,
    place: Place,
    options: &SocketOptions,
) -> Result<(Vec<Flow>, Histogram), Failure> {
    let mut connects = Histogram::new();
    let flow = |number| {
        let socket = match part.transport {
            Transport::Tcp => connect_tcp(ready, place, options, &mut connects)?,
            Transport::Udp | Transport::Unix => return Err(far("not spoken yet")),
        };
        introduce(&socket, ready, number).map_err(|error| cannot(place, &error))?;
        Ok(Flow::new(number, socket))
    };
    let flows = (0..part.flows).map(flow).collect::<Result<_, Failure>>()?;
    Ok((flows, connects))
}

fn connect_tcp(
    ready: &Ready,
    place: Place,
    options: &SocketOptions,
    connects: &mut Histogram,
) -> Result<Socket, Failure> {
    let port = ready.ports.first().copied().unwrap_or_default();
    let address = SocketAddr::new(place.address, port);
    let new = || -> io::Result<Socket> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        if let Some(local) = place.local {
            socket.bind(&SocketAddr::new(local, 0).into())?;
        }
        Ok(socket)
    };
    let socket = new().map_err(|error| cannot(place, &error))?;
    options.apply(&socket, Transport::Tcp)?;
    let began = Instant::now();
    socket
        .connect_timeout(&address.into(), CONNECT)
        .map_err(|error| cannot(place, &error))?;
    connects.record(began.elapsed().as_nanos() as u64);
    Ok(socket)
}

/// Says which flow this is.
fn introduce(socket: &Socket, ready: &Ready, number: u32) -> io::Result<()> {
    let mut words = ready.token.clone().into_bytes();
    words.extend(number.to_be_bytes());
    (&*socket).write_all(&words)
}

fn cannot(place: Place, error: &io::Error) -> Failure {
    let address = place.address;
    far(format!(
        "cannot connect for data with the far end at {address}: {error}; if a firewall is \
         between, give \"serve --data-ports\" a range that it lets pass"
    ))
}
