//! Connecting with the server.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, Protocol, Socket, Type};

use crate::control::channel::wait_for;
use crate::stop::Stop;

/// How long connecting may take with one address.
const CONNECT: Duration = Duration::from_secs(10);
/// Between two looks at a stop request.
const LOOK: Duration = Duration::from_millis(100);

/// Connects with the first of `addresses` that answers.
///
/// # Errors
/// Of the last address; `Interrupted` when this end is to stop.
pub fn first_of(
    addresses: impl Iterator<Item = SocketAddr>,
    local: Option<IpAddr>,
    stop: &Stop,
) -> io::Result<TcpStream> {
    let mut result = Err(ErrorKind::NotFound.into());
    for address in addresses {
        result = connect(address, local, stop);
        if result.is_ok() || stop.requested() {
            break;
        }
    }
    result
}

fn connect(address: SocketAddr, local: Option<IpAddr>, stop: &Stop) -> io::Result<TcpStream> {
    let until = Instant::now() + CONNECT;
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if let Some(local) = local {
        socket.bind(&SocketAddr::new(local, 0).into())?;
    }
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
        _ => {}
    }
    loop {
        wait_for(&mut [PollFd::new(&socket, PollFlags::OUT)], LOOK);
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if socket.peer_addr().is_ok() {
            return Ok(socket.into());
        }
        if stop.requested() {
            return Err(ErrorKind::Interrupted.into());
        }
        if Instant::now() > until {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_first_that_answers_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let answers = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let stop = Stop::default();
        let stream = first_of([closed, answers].into_iter(), None, &stop).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), answers);
        let refused = first_of([closed].into_iter(), None, &stop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let nobody = first_of(std::iter::empty(), None, &stop).unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_stop_ends_the_wait_for_one_that_is_silent() {
        // A backlog that is full takes no more.
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        listener.bind(&any.into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let _taken = TcpStream::connect(address).unwrap();
        let stop = Stop::default();
        stop.request();
        let began = Instant::now();
        let stopped = first_of([address].into_iter(), None, &stop).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Interrupted);
        assert!(began.elapsed() < CONNECT / 2);
    }
}
