//! One client from its first word to its last.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use kit::team::{Finish, Member};
use kit::PassProbe;
use socket2::SockRef;
use wire::{Failure, WhichEnd};

use super::meet::{self, Meeting};
use super::Offer;
use crate::control::message::{Greeting, Report, Role, ToFar, ToNear, Work, VERSION};
use crate::control::{frame, secret};
use crate::failure::{far, refused};
use crate::flow::{part, Flow, Notes};
use crate::lifeline::{Cut, Lifeline, Word};
use crate::placement::{self, Placement};
use crate::region::{self, Region};
use crate::socket::{keep_alive, SocketOptions};

/// How long the next word may be in coming while we wait for it.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may think between two measurements.
const IDLE: Duration = Duration::from_secs(120);
/// What a measurement may take beyond its time.
const GRACE: Duration = Duration::from_secs(10);
/// When nothing has come for so long after the end was told, nothing will.
const QUIET: Duration = Duration::from_millis(100);

/// Serves a client until it has no more to ask, or is refused.
pub fn serve(offer: &Offer, stream: TcpStream) {
    let mut session = Session { offer, stream };
    if let Err(failure) = session.run() {
        // A client that went away does not hear it.
        let _ = frame::send(&mut session.stream, &ToNear::Refused(failure.message));
    }
}

struct Session<'a> {
    offer: &'a Offer,
    stream: TcpStream,
}

impl Session<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        let prepared = keep_alive(&SockRef::from(&self.stream));
        prepared
            .and_then(|()| self.stream.set_nodelay(true))
            .map_err(|error| refused("prepare a control connection", &error))?;
        self.greet()?;
        loop {
            match frame::receive(&mut self.stream, frame::TO_FAR_BYTES, IDLE) {
                Ok(ToFar::Open(work)) => self.measure(&work)?,
                Ok(_) => return Err(far("this was not the time for that word")),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(unheard(&error)),
            }
        }
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let nonce = secret::nonce().map_err(|error| refused("draw a number", &error))?;
        self.say(&ToNear::Greeting(Greeting {
            version: VERSION,
            engine: self.offer.engine.clone(),
            nonce: nonce.clone(),
            wants_proof: self.offer.secret.is_some(),
        }))?;
        let hello = match self.hear()? {
            ToFar::Hello(hello) => hello,
            _ => return Err(far("the first word is a hello")),
        };
        if hello.version != VERSION {
            return Err(far(format!("version {VERSION} is spoken here")));
        }
        let proof = hello.proof.as_deref().unwrap_or_default();
        match &self.offer.secret {
            Some(shared) if !secret::proves(shared, &nonce, proof) => {
                Err(far("the secret is not the right one"))
            }
            _ => Ok(()),
        }
    }

    fn measure(&mut self, work: &Work) -> Result<(), Failure> {
        self.check(work)?;
        let _placement = Placement::take("far", &work.placement, work.threads)?;
        let at = self
            .stream
            .local_addr()
            .map_err(|error| refused("find the own address", &error))?;
        let meeting = Meeting::open(work, at, self.offer.data_ports.as_ref())?;
        self.say(&ToNear::Ready(meeting.ready.clone()))?;
        let flows = meeting.gather(&self.stream)?;
        self.say(&ToNear::Connected)?;
        match self.hear()? {
            ToFar::Begin => {}
            _ => return Err(far("\"begin\" was to come")),
        }
        meet::clear(&flows, work.transport)
            .map_err(|error| refused("clear the sockets", &error))?;
        self.say(&ToNear::Begun)?;
        let region = self.attend(work, &flows)?;
        match self.hear()? {
            ToFar::Finish => {}
            _ => return Err(far("\"finish\" was to come")),
        }
        let report = report(work, &flows, region);
        self.say(&ToNear::Report(Box::new(report)))
    }

    /// Whether the limits allow it.
    fn check(&self, work: &Work) -> Result<(), Failure> {
        let limits = &self.offer.limits;
        let longest = limits.time.as_secs_f64();
        if work.flows == 0 || work.flows > limits.flows {
            return Err(far(format!(
                "at most {} flows, and one at least",
                limits.flows
            )));
        }
        if !(work.longest_s > 0.0 && work.longest_s <= longest) {
            return Err(far(format!("at most {longest} s of data")));
        }
        if work.look_s.is_nan() || work.look_s < 0.001 {
            return Err(far("at most 1000 looks per second"));
        }
        Ok(())
    }

    /// Lets the flows flow.
    fn attend(&mut self, work: &Work, flows: &[Flow]) -> Result<Region, Failure> {
        let longest = Duration::from_secs_f64(work.longest_s) + GRACE;
        let lifeline = Lifeline::watch(&self.stream, flows.to_vec(), longest, Word::Ends(QUIET))
            .map_err(|error| refused("watch over the flows", &error))?;
        let finish = match work.role {
            Role::Send(send) => send.limit.finish(),
            Role::Receive(_) => Finish::Everyone,
        };
        let look = Duration::from_secs_f64(work.look_s);
        let part = |flows: &[Flow], member: &mut Member<PassProbe>| take_part(work, flows, member);
        let region = region::run(WhichEnd::Far, flows, work.threads, finish, look, part);
        match lifeline.end() {
            None | Some(Cut::Ended) => region,
            Some(Cut::Late) => Err(far("data stopped flowing")),
            Some(Cut::Vanished) => Err(far("the near end went away")),
            Some(Cut::Stopped) => Err(far("the far end was stopped")),
        }
    }

    fn say(&mut self, message: &ToNear) -> Result<(), Failure> {
        frame::send(&mut self.stream, message).map_err(|error| unheard(&error))
    }

    fn hear(&mut self) -> Result<ToFar, Failure> {
        frame::receive(&mut self.stream, frame::TO_FAR_BYTES, PATIENCE)
            .map_err(|error| unheard(&error))
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
    }
}

fn report(work: &Work, flows: &[Flow], region: Region) -> Report {
    let intervals = region.intervals();
    let reading = region.outcome.reading;
    let mut side = region.side;
    match work.role {
        Role::Receive(_) => {
            (side.received_bytes, side.receives) = (reading.bytes, reading.operations);
        }
        Role::Send(_) => (side.sent_bytes, side.sends) = (reading.bytes, reading.operations),
    }
    side.granted = placement::granted();
    if let Some(flow) = flows.first() {
        let options = SocketOptions::granted(&flow.socket, work.transport);
        side.granted.extend(options);
    }
    Report {
        side,
        elapsed_s: reading.elapsed_s(),
        intervals,
        connections: region.connections,
    }
}

fn unheard(error: &io::Error) -> Failure {
    far(format!("the control connection: {error}"))
}
