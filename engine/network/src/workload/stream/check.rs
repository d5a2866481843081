//! What goes together in a stream, and what does not.

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::Size;
use wire::Failure;

use super::params::Params;
use super::Stream;
use crate::flow::zerocopy::ZeroCopy;
use crate::socket::Transport;
use crate::workload::plan::MESSAGE_MAX;

/// An IPv4 packet has 16 bits for its length, and 28 bytes of headers.
const DATAGRAM_MAX: Size = Size(65_507);

/// Parameters that mean nothing to `stream`: its card does not list them.
pub fn foreign(stream: &Stream) -> Vec<&'static str> {
    let tcp = ["nodelay", "cork", "mss"];
    let udp = ["connected", "gso", "gro"];
    let mut foreign = Vec::new();
    if stream.transport != Transport::Tcp {
        foreign.extend(tcp);
    }
    if stream.transport != Transport::Udp {
        foreign.extend(udp);
    }
    if stream.transport == Transport::Unix {
        foreign.extend(["rate", "skip_copy", "dscp"]);
    }
    if stream.transport != Transport::Tcp || stream.sends_file {
        foreign.push("zerocopy");
    }
    if !stream.sends_file {
        foreign.push("file");
    }
    foreign
}

/// Checks what is asked of `stream`.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn check(params: &Params, stream: &Stream) -> Result<(), Failure> {
    check_sizes(params, stream)?;
    check_pace(params, stream)?;
    params.open_file()?;
    params.client.check("client", stream.transport)?;
    params.server.check("server", stream.transport)
}

fn check_sizes(params: &Params, stream: &Stream) -> Result<(), Failure> {
    let is_udp = stream.transport == Transport::Udp;
    let message_max = if is_udp { DATAGRAM_MAX } else { MESSAGE_MAX };
    for &message in params.message.iter() {
        within("message", message, Size(1)..=message_max)?;
        let gso = params.gso;
        if message.bytes() * u64::from(gso) > message_max.bytes() {
            let message = format!(
                "parameter \"gso\": {gso} messages of {message} are more than {message_max} bytes, \
                 as much as one call takes"
            );
            return Err(bad_parameter("gso", message));
        }
    }
    if let Some(buffers) = params.buffers {
        let fitting = ZeroCopy::width(buffers);
        if params.zerocopy && fitting != buffers {
            let message = format!(
                "parameter \"buffers\": {buffers} cannot take turns with \"zerocopy\"; use {fitting}"
            );
            return Err(bad_parameter("buffers", message));
        }
    }
    Ok(())
}

fn check_pace(params: &Params, stream: &Stream) -> Result<(), Failure> {
    let shares_threads = |&flows: &u32| params.client.threads(flows) < flows;
    let is_paced = params.rate.is_some() && stream.transport == Transport::Udp;
    if is_paced && params.flows.iter().any(shares_threads) {
        let message = "parameter \"rate\": a thread can wait for the instants of one flow only; \
                       leave out \"client.threads\"";
        return Err(bad_parameter("rate", message.to_owned()));
    }
    Ok(())
}
