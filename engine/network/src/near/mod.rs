//! The near end: where the job is.

mod meet;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use kit::failure::interrupted;
use kit::team::{Finish, Member};
use kit::{histogram::Histogram, stop, Probe};
use socket2::{Domain, Protocol, Socket, Type};
use wire::{Failure, FarEnd, Interval, WhichEnd};

use crate::control::message::{
    Greeting, Hello, Ready, Report, ToFar, ToNear, Transport, Work, VERSION,
};
use crate::control::{frame, secret};
use crate::failure::{far, refused};
use crate::flow::{Flow, Notes};
use crate::lifeline::{Cut, Lifeline, Word};
use crate::placement;
use crate::region::{self, Region};
use crate::socket::{keep_alive, SocketOptions};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the far end may take for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// What the work may take beyond the time it was to take.
const GRACE: Duration = Duration::from_secs(15);

/// A far end that we are connected with.
pub struct Far {
    control: TcpStream,
    name: String,
    local: Option<IpAddr>,
}

/// The near end's part of a measurement.
#[derive(Debug, Clone)]
pub struct Own {
    /// Options of its sockets.
    pub options: SocketOptions,
    /// Threads among which the flows are shared out.
    pub threads: u32,
    /// When threads that still have work stop.
    pub finish: Finish,
}

/// One measurement, of both ends.
pub struct Measured {
    /// The near end.
    pub near: Region,
    /// The far end.
    pub far: Report,
    /// How long connecting took, of each flow.
    pub connects: Histogram,
}

impl Measured {
    /// What was moved when, as the near end saw it.
    pub fn intervals(&self) -> Vec<Interval> {
        self.near.intervals()
    }
}

impl Far {
    /// Connects, and proves to know the secret.
    ///
    /// # Errors
    /// `Far`, with what to do about it.
    pub fn dial(end: &FarEnd) -> Result<Self, Failure> {
        let name = format!("{} port {}", end.address, end.port);
        let hint = "start \"tiltyard-engine serve\" there";
        let cannot = |error: io::Error| {
            far(format!(
                "cannot reach the far end at {name}: {error}; {hint}"
            ))
        };
        let addresses = (end.address.as_str(), end.port)
            .to_socket_addrs()
            .map_err(cannot)?;
        let control = first_that(addresses, |address| connect_control(address, end.local));
        let mut far = Self {
            control: control.map_err(cannot)?,
            name,
            local: end.local,
        };
        far.introduce(end.secret.as_deref())?;
        Ok(far)
    }

    fn introduce(&mut self, shared: Option<&str>) -> Result<(), Failure> {
        let greeting = match self.hear()? {
            ToNear::Greeting(greeting) => greeting,
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
            return Err(far(format!(
                "the far end at {name} is tiltyard-engine {engine}, which speaks version \
                 {version} of the control connection; this one speaks {VERSION}: use the same \
                 engine at both ends"
            )));
        }
        if wants_proof && shared.is_none() {
            let name = &self.name;
            return Err(far(format!(
                "the far end at {name} wants a secret: give it as target.far.secret"
            )));
        }
        let proof = shared.map(|shared| secret::proof(shared, &nonce));
        self.say(&ToFar::Hello(Hello { version, proof }))
    }

    /// Measures: connects the flows, lets `work` loose on those of each thread, and hears what the
    /// far end has to tell.
    ///
    /// # Errors
    /// Whatever kept either end from doing its part.
    pub fn measure<P, W>(&mut self, part: &Work, own: &Own, work: W) -> Result<Measured, Failure>
    where
        P: Probe + Default + Send,
        W: Fn(&[Flow], &mut Member<P>) -> Result<Notes, Failure> + Sync,
    {
        let ready = self.open(part)?;
        let address = self
            .control
            .peer_addr()
            .map_err(|error| self.lost(&error))?;
        let place = meet::Place {
            far: address,
            local: self.local,
        };
        let (flows, connects) = meet::connect(part, &ready, place, &own.options)?;
        if part.transport == Transport::Udp {
            meet::insist(&flows, &ready, place, &self.control)?;
        }
        self.expect("connected", |said| matches!(said, ToNear::Connected))?;
        self.say(&ToFar::Begin)?;
        self.expect("begun", |said| matches!(said, ToNear::Begun))?;

        let longest = Duration::from_secs_f64(part.longest_s) + GRACE;
        let lifeline = Lifeline::watch(&self.control, flows.clone(), longest, Word::Wrong)
            .map_err(|error| refused("watch over the flows", &error))?;
        let look = Duration::from_secs_f64(part.look_s);
        let (threads, finish) = (own.threads, own.finish);
        let region = region::run(WhichEnd::Near, &flows, threads, finish, look, work);
        let cut = lifeline.end();
        let mut near = self.judge(region, cut)?;
        self.say(&ToFar::Finish)?;
        let far = match self.hear()? {
            ToNear::Report(report) => *report,
            other => return Err(self.unexpected(&other)),
        };
        near.side.granted = placement::granted();
        if let Some(flow) = flows.first() {
            let options = SocketOptions::granted(&flow.socket, part.transport);
            near.side.granted.extend(options);
        }
        Ok(Measured {
            near,
            far,
            connects,
        })
    }

    fn open(&mut self, part: &Work) -> Result<Ready, Failure> {
        self.say(&ToFar::Open(Box::new(part.clone())))?;
        match self.hear()? {
            ToNear::Ready(ready) => Ok(ready),
            other => Err(self.unexpected(&other)),
        }
    }

    /// What a region gave, or why it could not be: a cut is the cause of the errors it leads to.
    fn judge(
        &mut self,
        region: Result<Region, Failure>,
        cut: Option<Cut>,
    ) -> Result<Region, Failure> {
        match cut {
            None | Some(Cut::Ended) if !stop::requested() => region,
            Some(Cut::Late) => Err(far(format!(
                "data stopped flowing between here and the far end at {}",
                self.name
            ))),
            Some(Cut::Vanished) => match self.hear() {
                Ok(said) => Err(self.unexpected(&said)),
                Err(failure) => Err(failure),
            },
            _ => Err(interrupted()),
        }
    }

    fn say(&mut self, message: &ToFar) -> Result<(), Failure> {
        frame::send(&mut self.control, message).map_err(|error| self.lost(&error))
    }

    fn hear(&mut self) -> Result<ToNear, Failure> {
        frame::receive(&mut self.control, frame::TO_NEAR_BYTES, ANSWER)
            .map_err(|error| self.lost(&error))
    }

    fn expect(&mut self, what: &str, is_it: impl Fn(&ToNear) -> bool) -> Result<(), Failure> {
        let said = self.hear()?;
        match is_it(&said) {
            true => Ok(()),
            false => Err(self.unexpected(&said)).map_err(|mut failure: Failure| {
                failure.message += &format!(" (waiting for \"{what}\")");
                failure
            }),
        }
    }

    fn lost(&self, error: &io::Error) -> Failure {
        let name = &self.name;
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => far(format!(
                "the far end at {name} went away in the middle of the work"
            )),
            io::ErrorKind::TimedOut => far(format!("the far end at {name} does not answer")),
            io::ErrorKind::InvalidData => far(format!(
                "what answers at {name} is no tiltyard-engine: {error}"
            )),
            _ => far(format!("the connection to the far end at {name}: {error}")),
        }
    }

    fn unexpected(&self, said: &ToNear) -> Failure {
        let name = &self.name;
        match said {
            ToNear::Refused(reason) => far(format!("the far end at {name} refused: {reason}")),
            _ => far(format!("the far end at {name} spoke out of turn")),
        }
    }
}

fn connect_control(address: SocketAddr, local: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if let Some(local) = local {
        socket.bind(&SocketAddr::new(local, 0).into())?;
    }
    socket.connect_timeout(&address.into(), CONNECT)?;
    socket.set_tcp_nodelay(true)?;
    keep_alive(&socket)?;
    Ok(socket.into())
}

/// The first success; else the last error.
fn first_that<A, T>(
    all: impl Iterator<Item = A>,
    attempt: impl Fn(A) -> io::Result<T>,
) -> io::Result<T> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for one in all {
        result = attempt(one);
        if result.is_ok() {
            break;
        }
    }
    result
}
