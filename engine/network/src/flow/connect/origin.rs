//! Where the connections of one flow come from: sockets, and ports that take turns.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use kit::failure::failure;
use kit::inject::before;
use socket2::{Domain, Socket, Type};
use wire::{Call, Failure, FailureKind};

use super::Connections;
use crate::control::message::Transport;
use crate::failure::{peer_failure, refused};

/// How long a connection may take to be established, and each message to come: whoever waits for
/// an end that vanished wakes by then.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Where the connections of one flow come from.
pub struct Origin<'a> {
    part: &'a Connections,
    to: SocketAddr,
    ports: Option<Turns>,
}

impl<'a> Origin<'a> {
    /// Of flow number `flow`, to the server's `to`.
    pub fn new(part: &'a Connections, to: SocketAddr, flow: u32) -> Self {
        let turns = |ports: &RangeInclusive<u16>| Turns::new(ports, flow, part.flows);
        Self {
            part,
            to,
            ports: part.ports.as_ref().map(turns),
        }
    }

    /// A new connection, from the next port that can be used.
    ///
    /// # Errors
    /// `HostLacks` when there is none; `Far`; `Io`.
    pub fn connect(&mut self) -> Result<Socket, Failure> {
        let mut attempts = self.ports.as_ref().map_or(1, Turns::count);
        loop {
            let socket = new_socket(self.to).map_err(|error| refused("make a socket", &error))?;
            self.part.options.apply(&socket, Transport::Tcp)?;
            before(Call::Connect);
            match self
                .bind(&socket)
                .and_then(|()| socket.connect(&self.to.into()))
            {
                Ok(()) => return Ok(socket),
                Err(error) if is_in_use(&error) => attempts -= 1,
                Err(error) => return Err(unconnected(self.to, &error)),
            }
            if attempts == 0 {
                return Err(no_ports(self.ports.is_some()));
            }
        }
    }

    fn bind(&mut self, socket: &Socket) -> io::Result<()> {
        let port = self.ports.as_mut().map(Turns::turn);
        if self.part.local.is_none() && port.is_none() {
            return Ok(());
        }
        let any = match self.to {
            SocketAddr::V4(_) => IpAddr::from([0; 4]),
            SocketAddr::V6(_) => IpAddr::from([0; 16]),
        };
        socket.set_reuse_address(port.is_some())?;
        let from = SocketAddr::new(self.part.local.unwrap_or(any), port.unwrap_or(0));
        socket.bind(&from.into())
    }
}

/// Ports that take turns: every flow has its own share of a range.
#[derive(Debug)]
struct Turns {
    first: u32,
    last: u32,
    step: u32,
    next: u32,
}

impl Turns {
    fn new(ports: &RangeInclusive<u16>, flow: u32, flows: u32) -> Self {
        let first = u32::from(*ports.start()) + flow;
        Self {
            first,
            last: (*ports.end()).into(),
            step: flows,
            next: first,
        }
    }

    /// How many there are.
    fn count(&self) -> u32 {
        (self.last - self.first) / self.step + 1
    }

    fn turn(&mut self) -> u16 {
        let port = self.next;
        self.next += self.step;
        if self.next > self.last {
            self.next = self.first;
        }
        port as u16
    }
}

fn new_socket(to: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    set_timeouts(&socket)?;
    Ok(socket)
}

/// Nobody waits longer than [`PATIENCE`] on `socket`, nor on those that it accepts.
///
/// # Errors
/// As setsockopt(2).
pub fn set_timeouts(socket: &Socket) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    // It bounds connecting too.
    socket.set_write_timeout(Some(PATIENCE))
}

fn is_in_use(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable
    )
}

fn no_ports(is_chosen: bool) -> Failure {
    let remedy = match is_chosen {
        true => "give \"ports\" a wider range",
        false => "widen net.ipv4.ip_local_port_range",
    };
    failure(
        FailureKind::HostLacks,
        format!(
            "no port is free for another connection to the server: those of connections that \
             were closed here wait for a minute (TIME_WAIT); {remedy}, or wait"
        ),
    )
}

fn unconnected(to: SocketAddr, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EINPROGRESS) => peer_failure(format!(
            "the server's {to} has not accepted a connection for {} s",
            PATIENCE.as_secs()
        )),
        _ => peer_failure(format!("cannot connect with the server's {to}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_out_a_range_of_ports() {
        let turns = |flow| {
            let mut turns = Turns::new(&(100..=106), flow, 3);
            let ports: Vec<_> = (0..4).map(|_| turns.turn()).collect();
            (turns.count(), ports)
        };
        assert_eq!(turns(0), (3, vec![100, 103, 106, 100]));
        assert_eq!(turns(1), (2, vec![101, 104, 101, 104]));
        assert_eq!(turns(2), (2, vec![102, 105, 102, 105]));
    }
}
