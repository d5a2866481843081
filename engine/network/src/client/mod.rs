//! The client: where the job is.

mod flows;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kit::failure::interrupted;
use kit::team::{Finish, Member};
use kit::{barrier, histogram::Histogram, Probe};
use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, Protocol, Socket, Type};
use wire::{Failure, FailureKind, FarEnd, WhichEnd};

use crate::control::channel::{wait_for, Channel};
use crate::control::message::{
    Greeting, Hello, Ready, Report, Role, ToClient, ToServer, Work, VERSION,
};
use crate::control::{frame, secret};
use crate::failure::{peer_failure, refused};
use crate::flow::{self, Flow, Notes};
use crate::placement::{self, Neighbour};
use crate::region::{self, Region};
use crate::server::MEMORY_BYTES;
use crate::socket::Transport;
use crate::socket::{self, SocketOptions};
use crate::stop::Stop;
use crate::watchdog::{AbortReason, OnControlData, Watchdog, WatchdogLimits};

/// How long the server may take for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// What the work may take beyond the time it was to take.
const GRACE: Duration = Duration::from_secs(15);
/// How long the server may take to say why its connections have ended.
const CAUSE: Duration = Duration::from_secs(5);

/// A server that we are connected with.
pub struct ServerConnection {
    control: Channel,
    name: String,
    local: Option<IpAddr>,
}

/// The client's part of a measurement.
#[derive(Debug, Clone)]
pub struct LocalPart {
    /// Options of its sockets.
    pub options: SocketOptions,
    /// Threads among which the flows are shared out.
    pub threads: u32,
    /// When threads that still have work stop.
    pub finish: Finish,
}

/// One measurement, of both ends.
pub struct Measurement {
    /// The client.
    pub near: Region,
    /// The server.
    pub far: Report,
    /// How long connecting took, of each flow.
    pub connects: Histogram,
}

impl ServerConnection {
    /// Connects, and proves to know the secret.
    ///
    /// # Errors
    /// `Far`, with what to do about it.
    pub fn open(end: &FarEnd) -> Result<Self, Failure> {
        let name = format!("{} port {}", end.address, end.port);
        let hint = "start \"tiltyard-engine serve\" there";
        let cannot = |error: io::Error| {
            peer_failure(format!(
                "cannot reach the server at {name}: {error}; {hint}"
            ))
        };
        let addresses = (end.address.as_str(), end.port)
            .to_socket_addrs()
            .map_err(cannot)?;
        let stop = Stop::default();
        let stream = first_of(addresses, end.local, &stop);
        if stop.requested() {
            return Err(interrupted());
        }
        let mut far = Self {
            control: stream
                .and_then(|stream| Channel::new(stream, stop))
                .map_err(cannot)?,
            name,
            local: end.local,
        };
        far.introduce(end.secret.as_deref())?;
        Ok(far)
    }

    fn introduce(&mut self, shared: Option<&str>) -> Result<(), Failure> {
        let greeting = match self.hear()? {
            ToClient::Greeting(greeting) => greeting,
            other => return Err(self.unexpected(&other)),
        };
        let Greeting {
            version,
            engine,
            nonce,
            wants_proof,
        } = greeting;
        if version != VERSION {
            let name = &self.name;
            return Err(peer_failure(format!(
                "the server at {name} is tiltyard-engine {engine}, which speaks version \
                 {version} of the control connection; this one speaks {VERSION}: use the same \
                 engine at both ends"
            )));
        }
        if wants_proof && shared.is_none() {
            let name = &self.name;
            return Err(peer_failure(format!(
                "the server at {name} wants a secret: give it as target.far.secret"
            )));
        }
        let proof = shared.map(|shared| secret::proof(shared, &nonce));
        self.say(&ToServer::Hello(Hello { version, proof }))
    }

    /// Measures: connects the flows, lets `work` loose on those of each thread, and hears what the
    /// server has to tell.
    ///
    /// # Errors
    /// Whatever kept either end from doing its part.
    pub fn measure<P, W>(
        &mut self,
        part: &Work,
        local: &LocalPart,
        work: W,
    ) -> Result<Measurement, Failure>
    where
        P: Probe + Default + Send,
        W: Fn(&[Flow], &mut Member<P>) -> Result<Notes, Failure> + Sync,
    {
        let ready = self.negotiate(part, local)?;
        let address = self
            .control
            .peer_addr()
            .map_err(|error| self.lost(&error))?;
        let place = flows::Place {
            far: address,
            local: self.local,
        };
        let (mut flows, connects) = flows::connect(part, &ready, place, &local.options)
            .map_err(|failure| self.caused(FailureKind::Far, failure))?;
        flow::share_memory(&mut flows, MEMORY_BYTES);
        if part.transport == Transport::Udp {
            flows::introduce_until_heard(&flows, &ready, place, self.control.line())?;
        }
        self.expect(|answer| matches!(answer, ToClient::Connected))?;
        let mut near = self.flow(part, local, &flows, work)?;
        self.say(&ToServer::Finish)?;
        let far = match self.hear()? {
            ToClient::Report(report) => *report,
            other => return Err(self.unexpected(&other)),
        };
        near.side.granted = placement::granted();
        if let Some(flow) = flows.first() {
            let options = socket::granted(&flow.socket, part.transport);
            near.side.granted.extend(options);
        }
        Ok(Measurement {
            near,
            far,
            connects,
        })
    }

    /// The flows at this end; both ends have prepared before the first instant. From then on the
    /// watchdog watches over them.
    fn flow<P, W>(
        &mut self,
        part: &Work,
        local: &LocalPart,
        flows: &[Flow],
        work: W,
    ) -> Result<Region, Failure>
    where
        P: Probe + Default + Send,
        W: Fn(&[Flow], &mut Member<P>) -> Result<Notes, Failure> + Sync,
    {
        let watchdog = Mutex::new(None);
        let far = Mutex::new(&mut *self);
        let plan = region::Plan {
            end: WhichEnd::Near,
            threads: local.threads,
            finish: local.finish,
            look: Duration::from_secs_f64(part.look_s),
            ready: &|| {
                let watch = locked(&far).begin(part, flows)?;
                *locked(&watchdog) = Some(watch);
                Ok(())
            },
        };
        let region = region::run(&plan, flows, work);
        let cut = locked(&watchdog).take().and_then(Watchdog::end);
        self.judge(region, cut)
    }

    fn begin(&mut self, part: &Work, flows: &[Flow]) -> Result<Watchdog, Failure> {
        self.say(&ToServer::Begin)?;
        self.expect(|answer| matches!(answer, ToClient::Begun))?;
        if is_held(part) {
            barrier::pass_ahead();
            self.say(&ToServer::Go)?;
        }
        let limits = WatchdogLimits {
            longest: Duration::from_secs_f64(part.longest_s) + GRACE,
            bytes: None,
            on_control_data: OnControlData::Abort,
            transport: part.transport,
        };
        Watchdog::watch(self.control.line(), flows.to_vec(), limits)
            .map_err(|error| refused("watch over the flows", &error))
    }

    fn negotiate(&mut self, part: &Work, local: &LocalPart) -> Result<Ready, Failure> {
        let mut part = part.clone();
        part.placement.neighbour = Neighbour::here(local.threads);
        part.held = is_held(&part);
        self.say(&ToServer::Open(Box::new(part)))?;
        match self.hear()? {
            ToClient::Ready(ready) => Ok(ready),
            other => Err(self.unexpected(&other)),
        }
    }

    /// What a region gave, or why it could not be: a cut is the cause of the errors that it leads
    /// to, and what the server has to say is the cause of errors that come from there.
    fn judge(
        &mut self,
        region: Result<Region, Failure>,
        cut: Option<AbortReason>,
    ) -> Result<Region, Failure> {
        if self.control.line().is_stopped() {
            return Err(interrupted());
        }
        match (cut, region) {
            (None, Ok(region)) => Ok(region),
            (Some(AbortReason::TimeUp), _) => Err(peer_failure(format!(
                "data stopped flowing between here and the server at {}",
                self.name
            ))),
            (Some(_), _) => match self.hear() {
                Ok(answer) => Err(self.unexpected(&answer)),
                Err(failure) => Err(failure),
            },
            (None, Err(failure)) => Err(self.caused(FailureKind::Io, failure)),
        }
    }

    /// What has led to `failure`, if it is of the `kind` that a server may be the cause of.
    fn caused(&mut self, kind: FailureKind, failure: Failure) -> Failure {
        match failure.kind == kind {
            true => self.cause().unwrap_or(failure),
            false => failure,
        }
    }

    /// Why the server does no more, if it says so or has gone away.
    fn cause(&mut self) -> Option<Failure> {
        match self.control.receive(frame::TO_CLIENT_BYTES, CAUSE) {
            Ok(answer) => Some(self.unexpected(&answer)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => None,
            Err(error) => Some(self.lost(&error)),
        }
    }

    fn say(&mut self, message: &ToServer) -> Result<(), Failure> {
        match self.control.send(message, ANSWER) {
            Ok(()) => Ok(()),
            // It may have said why before it went away.
            Err(error) => Err(self.cause().unwrap_or_else(|| self.lost(&error))),
        }
    }

    fn hear(&mut self) -> Result<ToClient, Failure> {
        let heard = self.control.receive(frame::TO_CLIENT_BYTES, ANSWER);
        heard.map_err(|error| self.lost(&error))
    }

    fn expect(&mut self, is_it: impl Fn(&ToClient) -> bool) -> Result<(), Failure> {
        let answer = self.hear()?;
        match is_it(&answer) {
            true => Ok(()),
            false => Err(self.unexpected(&answer)),
        }
    }

    fn lost(&self, error: &io::Error) -> Failure {
        let name = &self.name;
        match error.kind() {
            io::ErrorKind::Interrupted => interrupted(),
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => peer_failure(format!(
                "the server at {name} went away in the middle of the work"
            )),
            io::ErrorKind::TimedOut => {
                peer_failure(format!("the server at {name} does not answer"))
            }
            io::ErrorKind::InvalidData => peer_failure(format!(
                "what answers at {name} is no tiltyard-engine: {error}"
            )),
            _ => peer_failure(format!("the connection to the server at {name}: {error}")),
        }
    }

    fn unexpected(&self, answer: &ToClient) -> Failure {
        let name = &self.name;
        match answer {
            ToClient::Refused(reason) => {
                peer_failure(format!("the server at {name} refused: {reason}"))
            }
            _ => peer_failure(format!("the server at {name} spoke out of turn")),
        }
    }
}

/// Whether the server begins, and only when this end may, which others begin with.
fn is_held(part: &Work) -> bool {
    matches!(part.role, Role::Send(_)) && barrier::is_held()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
