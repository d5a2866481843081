//! A netserver, and the messages sent to it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use kit::failure::{bad_parameter, failure, interrupted};
use kit::{clock, pace, stop};
use socket2::{Domain, Protocol, Socket, Type as SocketType};
use wire::{Failure, FailureKind};

use super::local::LocalEnd;
use super::outcome::remote_side;
use super::outcome::Outcome;
use super::request::request_of;
use super::run::{self, Why};
use super::test::Test;
use crate::control::{Control, NoMessage, Patience};
use crate::data::alarm::Interim;
use crate::message::{Generation, Message, Response, Results, TestType};

/// The control connection is there within this, or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// A netserver answers a request within this.
const ANSWER: Patience = Patience {
    begin: Duration::from_secs(20),
    whole: Duration::from_secs(5),
    after_stop: Duration::ZERO,
};
/// Timeout for its results after the local end has done its part.
const RESULTS: Patience = Patience {
    begin: Duration::from_secs(120),
    whole: Duration::from_secs(5),
    after_stop: Duration::from_secs(10),
};
/// Timeout for the reason after it ended the data path too early.
const REASON: Patience = Patience {
    begin: Duration::from_secs(5),
    whole: Duration::from_secs(5),
    after_stop: Duration::ZERO,
};
/// Its errno for a type of request that it has never heard of.
const UNKNOWN_TEST: i32 = 998;

/// Address of a netserver, and how to talk to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Where it listens.
    pub remote: SocketAddr,
    /// The address and port of this end of the control connection.
    pub local: Option<SocketAddr>,
    /// Its passphrase.
    pub passphrase: Option<String>,
    /// Its release.
    pub generation: Generation,
}

/// A connection to a netserver.
pub struct Netserver {
    site: Site,
    control: Control,
    /// A classic test was run: stock servers leave a timer behind that kills the next.
    is_spent: bool,
}

impl Netserver {
    /// Opens a control connection.
    ///
    /// # Errors
    /// `Far` when there is none to be had.
    pub fn connect(site: Site) -> Result<Self, Failure> {
        let stream = dial(&site)?;
        let control = Control::new(stream, site.generation);
        let control = control.map_err(|error| {
            let message = format!("control connection to {}: {error}", site.remote);
            failure(FailureKind::Io, message)
        })?;
        let mut netserver = Self {
            site,
            control,
            is_spent: false,
        };
        if let Some(word) = netserver.site.passphrase.clone() {
            netserver.say(&Message::passphrase(&word))?;
        }
        Ok(netserver)
    }

    /// Runs one test. A stop ends it early; what was measured until then is given.
    ///
    /// # Errors
    /// `BadJob` for what cannot be asked for, `Far` when the netserver refuses or vanishes, `Io`
    /// when the kernel refuses a call of ours.
    pub fn run(
        &mut self,
        test: &Test,
        observer: &mut (dyn FnMut(Interim) + Send),
    ) -> Result<Outcome, Failure> {
        if self.is_spent {
            *self = Self::connect(self.site.clone())?;
        }
        let remote = self.data_address(test)?;
        let local = self.control.local();
        let local = local.map_err(|error| self.complaint(error))?;
        check_ports(test, remote.ip(), local.ip())?;
        let mut local = LocalEnd::prepare(test, remote, local.ip())?;
        let (test_type, request) = request_of(test, self.site.generation, local.bound(), remote)?;
        self.is_spent = test_type != TestType::Omni;
        self.say(&Message::request(test_type, &request, test.remote.cpu))?;
        let response = self.hear(ANSWER)?.to_response(test_type);
        let port = port_of(&response).ok_or_else(|| {
            self.complaint(format!("it names {} as the port for data", response.port))
        })?;
        local.remote.set_port(port);
        wait(test.wait)?;
        let measured = run::run(&mut local, test_type, self.control.as_fd(), observer);
        let mut outcome = measured.map_err(|why| self.cause_of(why))?;
        let results = match self.hear(RESULTS) {
            Ok(results) => {
                self.sensible(test, results.to_results(test_type, self.site.generation))?
            }
            // A sender that was interrupted may not report; what arrived is known here.
            Err(_) if outcome.was_stopped && !test.kind.sends() => Results::default(),
            Err(failure) => return Err(failure),
        };
        let message_size = outcome.local.send_size;
        outcome.remote = remote_side(test, test_type, message_size, &response, &results);
        Ok(outcome)
    }

    fn say(&mut self, message: &Message) -> Result<(), Failure> {
        let sent = self.control.send(message);
        sent.map_err(|error| self.complaint(format!("it cannot be spoken to: {error}")))
    }

    /// An answer that is not an error.
    fn hear(&mut self, patience: Patience) -> Result<Message, Failure> {
        let heard = self.control.receive(patience);
        let message = heard.map_err(|why| self.no_answer(&why))?;
        match message.status {
            0 => Ok(message),
            UNKNOWN_TEST => Err(self.complaint("it does not know this test".to_owned())),
            errno => Err(self.reported(errno)),
        }
    }

    /// Results whose numbers are numbers.
    fn sensible(&self, test: &Test, results: Results) -> Result<Results, Failure> {
        // Shares of CPU time that nobody asked for are nothing in particular.
        let has_cpu = test.remote.measure_cpu && results.cpu_method > 0;
        let cpu = results
            .cpu
            .percents()
            .into_iter()
            .chain([results.peak_percent]);
        let mut numbers = cpu.filter(|_| has_cpu).chain([results.elapsed_s]);
        match numbers.all(f32::is_finite) {
            true => Ok(results),
            false => Err(self.complaint("a time or share that it tells is no number")),
        }
    }

    fn reported(&self, errno: i32) -> Failure {
        let error = io::Error::from_raw_os_error(errno);
        self.complaint(format!("it reports an error of its own: {error}"))
    }

    /// Why nothing was heard, and what may be behind it.
    fn no_answer(&self, why: &NoMessage) -> Failure {
        let small = Generation::V2_4.message_bytes();
        let is_small = self.site.generation == Generation::V2_4;
        let hint = match why {
            NoMessage::Stopped => return interrupted(),
            NoMessage::Partial(bytes) if bytes % small == 0 && !is_small => {
                ": it is a netserver 2.4, which has to be spoken to as such"
            }
            NoMessage::Silent if is_small => ": it may be newer than 2.4",
            _ => "",
        };
        self.complaint(format!("{why}{hint}"))
    }

    /// A test without a result; a netserver that ended it may report the reason.
    fn cause_of(&mut self, why: Why) -> Failure {
        let reason = match why {
            Why::Remote(_) => self.control.receive(REASON).ok(),
            Why::Call(_) => None,
        };
        match reason.map(|message| message.status) {
            None | Some(0) => self.failure_of(why),
            Some(errno) => self.reported(errno),
        }
    }

    /// A test without a result.
    fn failure_of(&self, why: Why) -> Failure {
        match why {
            Why::Call(error) => failure(
                FailureKind::Io,
                format!("data of {}: {error}", self.site.remote),
            ),
            Why::Remote(what) => self.complaint(what),
        }
    }

    fn complaint(&self, what: impl std::fmt::Display) -> Failure {
        let message = format!("netserver at {}: {what}", self.site.remote);
        failure(FailureKind::Far, message)
    }

    /// Where the data go: to the address of the control connection unless given.
    fn data_address(&self, test: &Test) -> Result<SocketAddr, Failure> {
        let peer = self.control.peer();
        let peer = peer.map_err(|error| self.complaint(error))?;
        Ok(match test.remote.address {
            // The peer's own would bring along the scope of a link-local address.
            Some(given) if given != peer.ip() => SocketAddr::new(given, 0),
            _ => peer,
        })
    }
}

fn dial(site: &Site) -> Result<TcpStream, Failure> {
    let silent = |error: io::Error| {
        let message = format!("no netserver answers at {}: {error}", site.remote);
        failure(FailureKind::Far, message)
    };
    let domain = Domain::for_address(site.remote);
    let socket = Socket::new(domain, SocketType::STREAM, Some(Protocol::TCP)).map_err(silent)?;
    if let Some(local) = site.local {
        let bound = socket.set_reuse_address(true);
        let bound = bound.and_then(|()| socket.bind(&local.into()));
        bound.map_err(|error| own_end(local, &error))?;
    }
    let connected = socket.connect_timeout(&site.remote.into(), CONNECT_TIMEOUT);
    connected.map_err(|error| match (site.local, error.raw_os_error()) {
        // The connection before this one, between the same ports, is remembered for a minute.
        (Some(local), Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL)) => own_end(local, &error),
        _ => silent(error),
    })?;
    Ok(socket.into())
}

/// The given local address cannot be used.
fn own_end(local: SocketAddr, error: &io::Error) -> Failure {
    let message = format!(
        "the local end's own address {local} of the control connection cannot be used: {error}. \
         Fix: name another port or address of this host, none, or wait a minute"
    );
    failure(FailureKind::HostLacks, message)
}

/// A TCP socket that is bound to a port, and connected to the same one of the same host, finds
/// itself there.
fn check_ports(test: &Test, remote: IpAddr, local: IpAddr) -> Result<(), Failure> {
    let port = test.local.port;
    let is_one_host = test.local.address.unwrap_or(local) == remote;
    let is_same = !test.kind.is_udp() && port > 0 && test.remote.port == port && is_one_host;
    match is_same && !test.kind.is_connection_test() {
        true => Err(bad_parameter(
            "data_port",
            format!(
                "data_port: {port} at both ends of one host connects the local end with itself. \
                 Fix: name two ports, {port} and another"
            ),
        )),
        false => Ok(()),
    }
}

fn port_of(response: &Response) -> Option<u16> {
    u16::try_from(response.port).ok().filter(|&port| port > 0)
}

/// Waits, unless a stop is asked for.
fn wait(time: Duration) -> Result<(), Failure> {
    if time > Duration::ZERO {
        pace::wait_until(clock::now_ns() + time.as_nanos() as u64);
    }
    stop::check()
}
