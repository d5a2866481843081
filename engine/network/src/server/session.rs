//! One client from its first word to its last.

use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::team::{Finish, Member};
use kit::PassProbe;
use wire::{Failure, WhichEnd};

use super::limits::BYTE_LIMIT;
use super::rendezvous::{self, Rendezvous};
use super::ServerConfig;
use crate::control::channel::Channel;
use crate::control::frame;
use crate::control::message::{Report, Role, ToClient, ToServer, Work};
use crate::failure::{peer_failure, refused, STOPPED};
use crate::flow::{self, connect, exchange, part, Flow, Notes};
use crate::placement::{self, Placement};
use crate::region::{self, Region};
use crate::socket;
use crate::watchdog::{AbortReason, OnControlData, Watchdog, WatchdogLimits};

/// How long the next word may be in coming while we wait for it, and how long one may be in
/// going.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may think between two measurements.
const IDLE: Duration = Duration::from_secs(30);
/// How long a client may take to hear why it is served no more.
const FAREWELL: Duration = Duration::from_secs(1);
/// What a measurement may take beyond its time.
const GRACE: Duration = Duration::from_secs(10);
/// After the end was announced, data are over when nothing arrived between this many checks.
const QUIET_LOOKS: u32 = 2;

/// Serves a client until it has no more to ask, or is refused.
pub fn serve(config: &ServerConfig, channel: Channel) {
    let mut session = Session { config, channel };
    // A defect must not keep the client waiting, and the next one out.
    let done = catch_unwind(AssertUnwindSafe(|| session.run()))
        .unwrap_or_else(|_| Err(peer_failure("the server has a defect")));
    if let Err(failure) = done {
        // A client that went away does not hear it.
        let _ = session
            .channel
            .send(&ToClient::Refused(failure.message), FAREWELL);
    }
}

struct Session<'a> {
    config: &'a ServerConfig,
    channel: Channel,
}

impl Session<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        loop {
            match self.channel.receive(frame::TO_SERVER_BYTES, IDLE) {
                Ok(ToServer::Open(work)) => self.measure(&work)?,
                Ok(_) => return Err(peer_failure("\"open\" was to come")),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(unheard(error)),
            }
        }
    }

    fn measure(&mut self, work: &Work) -> Result<(), Failure> {
        self.config.limits.check(work)?;
        let _placement = Placement::take("server", &work.placement, work.threads)?;
        let at = self
            .channel
            .local_addr()
            .map_err(|error| refused("find the own address", &error))?;
        let rendezvous = Rendezvous::open(work, at, self.config.data_ports.as_ref())?;
        self.say(&ToClient::Ready(rendezvous.ready.clone()))?;
        let mut flows = rendezvous.accept_flows(self.channel.line())?;
        flow::share_memory(&mut flows, self.config.limits.memory_bytes);
        self.say(&ToClient::Connected)?;
        match self.hear()? {
            ToServer::Begin => {}
            _ => return Err(peer_failure("\"begin\" was to come")),
        }
        rendezvous::drain(&flows, work.transport)
            .map_err(|error| refused("clear the sockets", &error))?;
        let region = self.attend(work, &flows)?;
        match self.hear()? {
            ToServer::Finish => {}
            _ => return Err(peer_failure("\"finish\" was to come")),
        }
        let report = report(work, &flows, region);
        self.say(&ToClient::Report(Box::new(report)))
    }

    /// Lets the flows flow. What made the watchdog cut them is the cause of the errors that this
    /// leads to.
    fn attend(&mut self, work: &Work, flows: &[Flow]) -> Result<Region, Failure> {
        let limits = WatchdogLimits {
            longest: Duration::from_secs_f64(work.longest_s) + GRACE,
            bytes: self.config.limits.bytes,
            on_control_data: OnControlData::Finish(QUIET_LOOKS),
            transport: work.transport,
        };
        let watchdog = Watchdog::watch(self.channel.line(), flows.to_vec(), limits)
            .map_err(|error| refused("watch over the flows", &error))?;
        let region = self.flow(work, flows);
        match watchdog.end() {
            None | Some(AbortReason::Ended) => region,
            Some(AbortReason::TimeUp) => {
                let longest_s = work.longest_s;
                let message = format!("the flows had not ended long after their {longest_s} s");
                Err(peer_failure(message))
            }
            Some(AbortReason::Exceeded) => {
                let limit = self.config.limits.bytes.unwrap_or_default();
                let message = format!("more than {limit} bytes came or went ({BYTE_LIMIT})");
                Err(peer_failure(message))
            }
            Some(AbortReason::Vanished | AbortReason::Silence) => {
                Err(peer_failure("the client went away"))
            }
            Some(AbortReason::Stopped) => Err(peer_failure(STOPPED)),
        }
    }

    fn flow(&mut self, work: &Work, flows: &[Flow]) -> Result<Region, Failure> {
        let session = Mutex::new(self);
        let plan = region::Plan {
            end: WhichEnd::Far,
            threads: work.threads,
            finish: match work.role {
                Role::Send(send) => send.limit.finish(),
                Role::Receive(_) | Role::Respond(_) | Role::Accept(_) => Finish::Everyone,
            },
            look: Duration::from_secs_f64(work.look_s),
            ready: &|| {
                let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
                session.say(&ToClient::Begun)?;
                match work.held.then(|| session.hear()).transpose()? {
                    None | Some(ToServer::Go) => Ok(()),
                    Some(_) => Err(peer_failure("\"go\" was to come")),
                }
            },
        };
        let part = |flows: &[Flow], member: &mut Member<PassProbe>| take_part(work, flows, member);
        region::run(&plan, flows, part)
    }

    fn say(&mut self, message: &ToClient) -> Result<(), Failure> {
        self.channel.send(message, PATIENCE).map_err(unheard)
    }

    fn hear(&mut self) -> Result<ToServer, Failure> {
        let heard = self.channel.receive(frame::TO_SERVER_BYTES, PATIENCE);
        heard.map_err(unheard)
    }
}

/// The part of one thread.
fn take_part(
    work: &Work,
    flows: &[Flow],
    member: &mut Member<PassProbe>,
) -> Result<Notes, Failure> {
    match &work.role {
        Role::Receive(part) => part::receive(part, work.transport, flows, member),
        Role::Send(part) => part::send(part, work.transport, flows, member),
        Role::Respond(part) => exchange::respond(*part, work.transport, flows, member),
        Role::Accept(part) => connect::answer(*part, &flows[0], member),
    }
}

fn report(work: &Work, flows: &[Flow], region: Region) -> Report {
    let reading = region.outcome.reading;
    let mut side = region.side;
    match work.role {
        Role::Receive(_) => {
            (side.received_bytes, side.receives) = (reading.bytes, reading.operations);
        }
        Role::Send(_) => (side.sent_bytes, side.sends) = (reading.bytes, reading.operations),
        Role::Respond(exchange) | Role::Accept(exchange) => {
            (side.receives, side.sends) = (reading.operations, reading.operations);
            side.received_bytes = reading.operations * exchange.request;
            side.sent_bytes = reading.operations * exchange.response;
        }
    }
    side.granted = placement::granted();
    if let Some(flow) = flows.first() {
        let options = socket::granted(&flow.socket, work.transport);
        side.granted.extend(options);
    }
    Report {
        side,
        elapsed_s: reading.elapsed_s(),
        connections: region.connections,
    }
}

fn unheard(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::Interrupted => peer_failure(STOPPED),
        io::ErrorKind::TimedOut => peer_failure("the client does not keep to the time"),
        _ => peer_failure(format!("the control connection: {error}")),
    }
}
