//! The far end: each request is received as a whole and answered.

use std::io;

use kit::team::Member;
use kit::Probe;

use super::{Channel, Received};
use crate::flow::{stream, Tally};

/// Answers until no more requests come.
///
/// # Errors
/// As send(2) and recv(2).
pub fn execute<P: Probe>(
    channel: &mut impl Channel,
    tally: &Tally,
    bytes: u64,
    member: &mut Member<P>,
) -> io::Result<()> {
    loop {
        match channel.receive()? {
            Received::Message(number) => {
                channel.send(number, true)?;
                stream::count(member, tally, bytes);
            }
            Received::Nothing => {}
            Received::End => return Ok(()),
        }
    }
}
