//! Flows of datagrams: a socket for each, which learns from an introduction who is at the other
//! end.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use rustix::net::{recv, recvfrom, RecvFlags};
use socket2::{SockAddr, Socket};
use wire::Failure;

use super::{Patience, Rendezvous};
use crate::control::channel::Line;
use crate::control::introduction::Introduction;
use crate::failure::refused;
use crate::flow::Flow;

/// Waits until the client of each socket has introduced itself.
pub fn accept_flows(
    rendezvous: Rendezvous,
    introduction: &Introduction,
    control: &Line,
) -> Result<Vec<Flow>, Failure> {
    let patience = Patience::new(control);
    let is_connected = !rendezvous.work.options.unconnected;
    let cannot = |error: io::Error| refused("connect a socket of datagrams", &error);
    let client = control.peer_ip().map_err(cannot)?;
    let mut awaited: Vec<(u32, Socket)> = (0..).zip(rendezvous.sockets).collect();
    let mut here = Vec::with_capacity(awaited.len());
    while !awaited.is_empty() {
        patience.wait(awaited.iter().map(|(_, socket)| socket.as_fd()))?;
        let mut silent = Vec::new();
        for (number, socket) in awaited {
            let Some(peer) = introduced(&socket, introduction, number, client) else {
                silent.push((number, socket));
                continue;
            };
            socket.set_nonblocking(false).map_err(cannot)?;
            here.push(if is_connected {
                socket.connect(&peer).map_err(cannot)?;
                Flow::new(number, socket)
            } else {
                Flow::unconnected(number, socket, peer)
            });
        }
        awaited = silent;
    }
    here.sort_by_key(|flow| flow.number);
    Ok(here)
}

/// Who said the right words from `client`; whatever else came is thrown away. An address in a
/// datagram can be invented: what is sent goes to nobody who did not ask for it by a connection.
fn introduced(
    socket: &Socket,
    introduction: &Introduction,
    number: u32,
    client: IpAddr,
) -> Option<SockAddr> {
    let mut words = [0; 128];
    loop {
        match recvfrom(socket, &mut words, RecvFlags::DONTWAIT) {
            Ok((length, _, Some(peer)))
                if introduction.number(&words[..length]) == Some(number) =>
            {
                let peer = SocketAddr::try_from(peer).ok()?;
                if peer.ip().to_canonical() == client {
                    return Some(peer.into());
                }
            }
            // An error that an earlier datagram met says nothing of the next.
            Ok(_) | Err(rustix::io::Errno::CONNREFUSED | rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Throws away what has come.
pub fn drain(flow: &Flow) -> io::Result<()> {
    loop {
        match recv(&*flow.socket, &mut [0u8; 1][..], RecvFlags::DONTWAIT) {
            Ok(_) | Err(rustix::io::Errno::CONNREFUSED | rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
