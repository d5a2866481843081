//! One client from its first word to its last.

use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::team::{Finish, Member};
use kit::PassProbe;
use wire::{Failure, WhichEnd};

use super::limits::BYTE_LIMIT;
use super::meet::{self, Meeting};
use super::Offer;
use crate::control::channel::Channel;
use crate::control::frame;
use crate::control::message::{Report, Role, ToFar, ToNear, Work};
use crate::failure::{far, refused, STOPPED};
use crate::flow::{self, connect, exchange, part, Flow, Notes};
use crate::lifeline::{Cut, Lifeline, Terms, Word};
use crate::placement::{self, Placement};
use crate::region::{self, Region};
use crate::socket;

/// How long the next word may be in coming while we wait for it, and how long one may be in
/// going.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may think between two measurements.
const IDLE: Duration = Duration::from_secs(30);
/// How long a client may take to hear why it is served no more.
const FAREWELL: Duration = Duration::from_secs(1);
/// What a measurement may take beyond its time.
const GRACE: Duration = Duration::from_secs(10);
/// When nothing has come between so many looks after the end was told, nothing will.
const QUIET_LOOKS: u32 = 2;

/// Serves a client until it has no more to ask, or is refused.
pub fn serve(offer: &Offer, channel: Channel) {
    let mut session = Session { offer, channel };
    // A defect must not keep the client waiting, and the next one out.
    let done = catch_unwind(AssertUnwindSafe(|| session.run()))
        .unwrap_or_else(|_| Err(far("the far end has a defect")));
    if let Err(failure) = done {
        // A client that went away does not hear it.
        let _ = session
            .channel
            .send(&ToNear::Refused(failure.message), FAREWELL);
    }
}

struct Session<'a> {
    offer: &'a Offer,
    channel: Channel,
}

impl Session<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        loop {
            match self.channel.receive(frame::TO_FAR_BYTES, IDLE) {
                Ok(ToFar::Open(work)) => self.measure(&work)?,
                Ok(_) => return Err(far("\"open\" was to come")),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(unheard(error)),
            }
        }
    }

    fn measure(&mut self, work: &Work) -> Result<(), Failure> {
        self.offer.limits.check(work)?;
        let _placement = Placement::take("far", &work.placement, work.threads)?;
        let at = self
            .channel
            .local_addr()
            .map_err(|error| refused("find the own address", &error))?;
        let meeting = Meeting::open(work, at, self.offer.data_ports.as_ref())?;
        self.say(&ToNear::Ready(meeting.ready.clone()))?;
        let mut flows = meeting.gather(self.channel.line())?;
        flow::share_memory(&mut flows, self.offer.limits.memory_bytes);
        self.say(&ToNear::Connected)?;
        match self.hear()? {
            ToFar::Begin => {}
            _ => return Err(far("\"begin\" was to come")),
        }
        meet::clear(&flows, work.transport)
            .map_err(|error| refused("clear the sockets", &error))?;
        let region = self.attend(work, &flows)?;
        match self.hear()? {
            ToFar::Finish => {}
            _ => return Err(far("\"finish\" was to come")),
        }
        let report = report(work, &flows, region);
        self.say(&ToNear::Report(Box::new(report)))
    }

    /// Lets the flows flow. What made the lifeline cut them is the cause of the errors that this
    /// leads to.
    fn attend(&mut self, work: &Work, flows: &[Flow]) -> Result<Region, Failure> {
        let terms = Terms {
            longest: Duration::from_secs_f64(work.longest_s) + GRACE,
            bytes: self.offer.limits.bytes,
            word: Word::Ends(QUIET_LOOKS),
            transport: work.transport,
        };
        let lifeline = Lifeline::watch(self.channel.line(), flows.to_vec(), terms)
            .map_err(|error| refused("watch over the flows", &error))?;
        let region = self.flow(work, flows);
        match lifeline.end() {
            None | Some(Cut::Ended) => region,
            Some(Cut::Late) => {
                let longest_s = work.longest_s;
                let message = format!("the flows had not ended long after their {longest_s} s");
                Err(far(message))
            }
            Some(Cut::Exceeded) => {
                let limit = self.offer.limits.bytes.unwrap_or_default();
                let message = format!("more than {limit} bytes came or went ({BYTE_LIMIT})");
                Err(far(message))
            }
            Some(Cut::Vanished) => Err(far("the near end went away")),
            Some(Cut::Stopped) => Err(far(STOPPED)),
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
                session.say(&ToNear::Begun)
            },
        };
        let part = |flows: &[Flow], member: &mut Member<PassProbe>| take_part(work, flows, member);
        region::run(&plan, flows, part)
    }

    fn say(&mut self, message: &ToNear) -> Result<(), Failure> {
        self.channel.send(message, PATIENCE).map_err(unheard)
    }

    fn hear(&mut self) -> Result<ToFar, Failure> {
        let heard = self.channel.receive(frame::TO_FAR_BYTES, PATIENCE);
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
        io::ErrorKind::Interrupted => far(STOPPED),
        io::ErrorKind::TimedOut => far("the near end does not keep to the time"),
        _ => far(format!("the control connection: {error}")),
    }
}
