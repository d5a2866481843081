//! What a thread does with its flows, as the two ends agreed.

use kit::team::Member;
use kit::Probe;
use wire::Failure;

use super::{stream, Flow, Notes};
use crate::control::message::{Receive, Send, Transport};

/// Sends over `flows`.
///
/// # Errors
/// `Io` when a connection breaks.
pub fn send<P: Probe>(
    part: &Send,
    _transport: Transport,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    stream::send_part(part, &flows[0], member).map(|()| Notes::new())
}

/// Takes what comes over `flows`.
///
/// # Errors
/// `Io` when a connection breaks.
pub fn receive<P: Probe>(
    part: &Receive,
    _transport: Transport,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    stream::receive_part(part, &flows[0], member).map(|()| Notes::new())
}
