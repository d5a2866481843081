//! What a thread does with its flows, as the two ends agreed.

use std::io;
use std::net::Shutdown;
use std::time::Duration;

use kit::pace::{self, Pace};
use kit::team::Member;
use kit::{Buffer, Probe};
use socket2::Socket;
use wire::Failure;

use super::byte_stream::ByteStream;
use super::closed::Closed;
use super::datagrams::Datagrams;
use super::open::Open;
use super::respond::Respond;
use super::{turns, Channel, Exchange, Requests};
use crate::failure::refused;
use crate::flow::{Flow, Notes};
use crate::socket::Transport;

/// The kernel may wake a reader so much too early (HZ = 100).
const TICK: Duration = Duration::from_millis(10);
/// The name under which transactions are noted whose request or response did not come in time.
pub const LOST: &str = "LostTransactions";

/// The client's part of a thread: sends requests over `flows`.
///
/// # Errors
/// `Io` when a flow breaks; `HostLacks` without memory.
pub fn request<P: Probe>(
    part: &Requests,
    transport: Transport,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    match transport {
        Transport::Tcp | Transport::Unix => {
            let channels = channels(flows, || part.exchange.buffers(), ByteStream::new)?;
            let notes = request_over(part, channels, flows, member)?;
            let ended = |flow: &Flow| flow.socket.shutdown(Shutdown::Write);
            let ended = flows.iter().try_for_each(ended);
            ended.map(|()| notes).map_err(|error| cannot(&error))
        }
        Transport::Udp => {
            let patience = part.lost_after.map(|time| time + TICK);
            for flow in flows {
                let socket = &flow.socket;
                socket
                    .set_read_timeout(patience)
                    .map_err(|error| refused("set SO_RCVTIMEO of a socket", &error))?;
            }
            let channels = channels(flows, || part.exchange.buffers(), Datagrams::new)?;
            let notes = request_over(part, channels, flows, member)?;
            for flow in flows {
                // An empty datagram says that no more comes; if it is lost, the control connection
                // will.
                let _ = flow.socket.send(&[]);
            }
            Ok(notes)
        }
    }
}

/// A channel over each of `flows`, with the buffers of what goes out and what comes in.
fn channels<'f, C>(
    flows: &'f [Flow],
    buffers: impl Fn() -> Result<[Buffer; 2], Failure>,
    new: impl Fn(&'f Socket, Buffer, Buffer) -> C,
) -> Result<Vec<C>, Failure> {
    let channel = |flow: &'f Flow| {
        let [outgoing, incoming] = buffers()?;
        Ok(new(&flow.socket, outgoing, incoming))
    };
    flows.iter().map(channel).collect()
}

fn request_over<P: Probe>(
    part: &Requests,
    channels: Vec<impl Channel>,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let pairs = channels.into_iter().zip(flows);
    let lost = match part.rate {
        None => {
            let closed = pairs.map(|(channel, flow)| Closed::new::<P>(part, channel, &flow.tally));
            let mut closed: Vec<_> = closed.collect();
            member.start()?;
            let done = match &mut closed[..] {
                [flow] => flow.execute(member),
                several => turns::execute(several, member),
            };
            done.map(|()| closed.iter().map(|flow| flow.lost).sum())
        }
        Some(rate) => {
            let open = pairs.map(|(channel, flow)| {
                let pace = Pace::shared(rate.per_s, flow.number as usize, rate.flows as usize);
                Open::new(part, pace, channel, &flow.tally)
            });
            let mut open: Vec<_> = open.collect();
            member.start()?;
            let done = turns::execute(&mut open, member);
            // The rate is that of the whole time, and not of that until the last response.
            if let Some(end_ns) = open.iter().filter_map(Open::end_ns).max() {
                pace::wait_until(member.opened_ns() + end_ns);
            }
            done.map(|()| open.iter().map(|flow| flow.lost).sum())
        }
    };
    member.done();
    let lost: u64 = lost.map_err(|error| cannot(&error))?;
    Ok(part.lost_after.map(|_| (LOST, lost)).into_iter().collect())
}

/// The server's part of a thread: answers requests over `flows` until no more come.
///
/// # Errors
/// `Io` when a flow breaks; `HostLacks` without memory.
pub fn respond<P: Probe>(
    exchange: Exchange,
    transport: Transport,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<Notes, Failure> {
    let buffers = || {
        exchange
            .buffers()
            .map(|[request, response]| [response, request])
    };
    let done = match transport {
        Transport::Tcp | Transport::Unix => {
            let channels = channels(flows, buffers, ByteStream::new)?;
            respond_over(exchange, channels, flows, member)?;
            let ended = |flow: &Flow| flow.socket.shutdown(Shutdown::Write);
            flows.iter().try_for_each(ended)
        }
        Transport::Udp => {
            let channels = channels(flows, buffers, Datagrams::new)?;
            respond_over(exchange, channels, flows, member)?;
            Ok(())
        }
    };
    done.map(|()| Notes::new()).map_err(|error| cannot(&error))
}

fn respond_over<P: Probe>(
    exchange: Exchange,
    channels: Vec<impl Channel>,
    flows: &[Flow],
    member: &mut Member<P>,
) -> Result<(), Failure> {
    let pairs = channels.into_iter().zip(flows);
    let bytes = exchange.bytes();
    let responds = pairs.map(|(channel, flow)| Respond::new(channel, &flow.tally, bytes));
    let mut responds: Vec<_> = responds.collect();
    member.start()?;
    let done = match &mut responds[..] {
        [flow] => flow.execute(member),
        several => turns::execute(several, member),
    };
    done.map_err(|error| cannot(&error))
}

fn cannot(error: &io::Error) -> Failure {
    refused("exchange requests and responses", error)
}
