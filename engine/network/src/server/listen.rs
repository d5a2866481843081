//! Where the server listens, and what to do where it cannot.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};

use kit::failure::{bad_parameter, failure};
use wire::{Failure, FailureKind};

use crate::failure::refused;

/// A port that is free at one address may be taken at the next: so often others are tried.
const ATTEMPTS: usize = 16;

/// The first of `addresses` that other hosts may reach.
pub fn open_to_others(addresses: &[IpAddr]) -> Option<&IpAddr> {
    let is_open = |address: &&IpAddr| !address.to_canonical().is_loopback();
    addresses.iter().find(is_open)
}

/// Listens at all of `addresses`, at one port; 0: any that is free at all of them.
///
/// # Errors
/// `BadJob` or `HostLacks`: what is wrong with the address or port, and what would be right.
pub fn at(addresses: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, Failure> {
    let mut attempts = match port {
        0 => ATTEMPTS,
        _ => 1,
    };
    loop {
        attempts -= 1;
        let (address, error) = match all(addresses, port) {
            Ok(listeners) => return Ok(listeners),
            Err(cannot) => cannot,
        };
        if attempts == 0 || error.kind() != ErrorKind::AddrInUse {
            return Err(cannot(address, &error));
        }
    }
}

fn all(addresses: &[IpAddr], mut port: u16) -> Result<Vec<TcpListener>, (SocketAddr, io::Error)> {
    let mut listeners = Vec::new();
    for &ip in addresses {
        let address = SocketAddr::new(ip, port);
        let listener = listen(address).map_err(|error| (address, error))?;
        port = listener.local_addr().map_or(port, |address| address.port());
        listeners.push(listener);
    }
    Ok(listeners)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn cannot(address: SocketAddr, error: &io::Error) -> Failure {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        ErrorKind::AddrInUse => {
            let message = format!(
                "--port {port}: it is in use at {ip}, perhaps by another server; use another, \
                 or 0 for any that is free"
            );
            bad_parameter("port", message)
        }
        ErrorKind::AddrNotAvailable => {
            let message = format!(
                "--bind {ip}: this host does not have that address; \"ip address\" lists those \
                 that it has"
            );
            bad_parameter("bind", message)
        }
        ErrorKind::PermissionDenied => {
            let message = format!(
                "--port {port}: ports below 1024 need the capability CAP_NET_BIND_SERVICE; use a \
                 higher one"
            );
            failure(FailureKind::HostLacks, message)
        }
        _ => refused(format!("listen at {address}"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_port_is_the_same_at_all_addresses() {
        let addresses = ["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse().unwrap());
        let listeners = at(&addresses, 0).unwrap();
        let [one, other] = [0, 1].map(|index| listeners[index].local_addr().unwrap());
        assert_eq!(one.port(), other.port());
        assert_ne!(one, other);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_remedy() {
        let taken = at(&["127.0.0.1".parse().unwrap()], 0).unwrap();
        let port = taken[0].local_addr().unwrap().port();
        let loopback = "127.0.0.1".parse().unwrap();
        let failure = at(&[loopback], port).unwrap_err();
        assert_eq!(failure.parameter.as_deref(), Some("port"));
        assert!(failure.message.contains("in use"), "{}", failure.message);
        // Of a block that is for documents only (RFC 5737).
        let failure = at(&["192.0.2.1".parse().unwrap()], 0).unwrap_err();
        assert_eq!(failure.parameter.as_deref(), Some("bind"));
        let denied = io::Error::from_raw_os_error(libc::EACCES);
        let failure = cannot(SocketAddr::new(loopback, 7), &denied);
        assert_eq!(failure.kind, FailureKind::HostLacks);
        assert!(failure.message.contains("--port 7"), "{}", failure.message);
    }
}
