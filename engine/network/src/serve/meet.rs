//! Where data connections come to: opened for one measurement, and closed when all have come.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use wire::Failure;

use crate::control::message::{Ready, Transport, Work};
use crate::control::secret;
use crate::failure::{far, refused};
use crate::flow::Flow;

/// How long flows may take to come.
const COMING: Duration = Duration::from_secs(20);
/// How long one that has come may take to say which it is.
const NAMING: Duration = Duration::from_secs(2);

/// Where flows of one measurement come to.
pub struct Meeting {
    listener: TcpListener,
    /// What the near end is told.
    pub ready: Ready,
}

impl Meeting {
    /// Opens it at the address that the client came to.
    ///
    /// # Errors
    /// When no port is free, or an option is not granted.
    pub fn open(
        work: &Work,
        at: SocketAddr,
        ports: Option<&RangeInclusive<u16>>,
    ) -> Result<Self, Failure> {
        if work.transport != Transport::Tcp {
            return Err(far("not spoken yet"));
        }
        let socket = bind_in(at, ports)?;
        // Accepted sockets have the options of the one that listens.
        work.options.apply(&socket, work.transport)?;
        let token = secret::nonce();
        let listened = socket
            .listen(work.flows.min(4_096) as i32)
            .and_then(|()| socket.set_nonblocking(true));
        let listener: TcpListener = socket.into();
        let port = listener.local_addr().map(|address| address.port());
        match (listened, token, port) {
            (Ok(()), Ok(token), Ok(port)) => Ok(Self {
                listener,
                ready: Ready {
                    ports: vec![port],
                    path: None,
                    token,
                },
            }),
            _ => Err(refused("listen for data", &io::Error::last_os_error())),
        }
    }

    /// Waits until all flows are here; strangers are turned away.
    ///
    /// # Errors
    /// `Far` when they do not come.
    pub fn gather(&self, flows: u32) -> Result<Vec<Flow>, Failure> {
        let until = Instant::now() + COMING;
        let mut here: Vec<Option<Flow>> = (0..flows).map(|_| None).collect();
        while here.iter().any(Option::is_none) {
            if Instant::now() > until || kit::stop::requested() {
                let missing = here.iter().filter(|flow| flow.is_none()).count();
                return Err(far(format!(
                    "{missing} of {flows} data connections did not come"
                )));
            }
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let socket = Socket::from(stream);
                    if let Ok(number) = self.name_of(&socket) {
                        if let Some(place) = here.get_mut(number as usize) {
                            place.get_or_insert(Flow::new(number, socket));
                        }
                    }
                }
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        Ok(here.into_iter().flatten().collect())
    }

    /// Which flow this is, if it is ours.
    fn name_of(&self, socket: &Socket) -> io::Result<u32> {
        let token = self.ready.token.as_bytes();
        let mut words = vec![0; token.len() + 4];
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(NAMING))?;
        (&*socket).read_exact(&mut words)?;
        socket.set_read_timeout(None)?;
        let (said, number) = words.split_at(token.len());
        match (said == token, number.try_into()) {
            (true, Ok(number)) => Ok(u32::from_be_bytes(number)),
            _ => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

/// A socket with the first port that is free.
fn bind_in(at: SocketAddr, ports: Option<&RangeInclusive<u16>>) -> Result<Socket, Failure> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports.cloned().unwrap_or(0..=0) {
        let address = SocketAddr::new(at.ip(), port);
        let bound = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))
            .and_then(|socket| {
                socket.set_reuse_address(true)?;
                socket.bind(&address.into()).map(|()| socket)
            });
        match bound {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(refused(
        format!("find a port for data at {}", at.ip()),
        &last,
    ))
}
