//! A test as the remote end is asked for it. What the local end sends, the remote end receives.

use std::net::SocketAddr;

use kit::failure::{bad_parameter, failure};
use wire::{Failure, FailureKind};

use super::test::{Extent, Kind, Moves, Test};
use crate::message::{
    flag, words_of, Generation, Moves as RemoteMoves, Request, TestType, FAMILY_IPV4, FAMILY_IPV6,
    KEEP, RECEIVE, SEND,
};

/// Most bytes of a remote end's file name, without the zero.
const FILL_BYTES_MAX: usize = 31;
/// A congestion control's name likewise.
const CONGESTION_BYTES_MAX: usize = 15;

/// The request for `test`, to a netserver of `generation`. `local` is the address of the local
/// end's data socket; of `remote` only the family counts.
///
/// # Errors
/// `BadJob` for what cannot be said on the wire.
pub fn request_of(
    test: &Test,
    generation: Generation,
    local: SocketAddr,
    remote: SocketAddr,
) -> Result<(TestType, Request), Failure> {
    let Some(test_type) = test.kind.test_type(generation) else {
        return Err(failure(
            FailureKind::BadJob,
            "a netserver 2.4 cannot send datagrams: it needs one of 2.6 or later",
        ));
    };
    let mut request = Request {
        send: moves(&test.remote.send)?,
        receive: moves(&test.remote.receive)?,
        send_buffer: word("remote.send_buffer", test.remote.send_buffer)?,
        receive_buffer: word("remote.receive_buffer", test.remote.receive_buffer)?,
        flags: flags(test),
        length: length(test, test_type)?,
        port: test.remote.port.into(),
        family: if remote.is_ipv6() {
            FAMILY_IPV6
        } else {
            FAMILY_IPV4
        },
        local_port: local.port().into(),
        local_address: words_of(local.ip()),
        remote_address: test.remote.address.map_or([0; 4], words_of),
        priority: word("remote.priority", test.remote.priority)?,
        tos: test.remote.tos.map_or(KEEP, i32::from),
        congestion: text(
            "remote.congestion",
            test.remote.congestion.as_deref(),
            CONGESTION_BYTES_MAX,
        )?,
        fill: text("remote.fill", test.remote.fill.as_deref(), FILL_BYTES_MAX)?,
        ..Request::default()
    };
    if test.kind.is_udp() {
        (request.socket_type, request.protocol) = (libc::SOCK_DGRAM, libc::IPPROTO_UDP);
    }
    if test.kind.is_exchange() {
        request.request_size = word("request_size", Some(test.request_size))?;
        request.response_size = word("response_size", Some(test.response_size))?;
    }
    if test.kind.sends() {
        request.direction |= RECEIVE;
    }
    if test.kind.receives() {
        request.direction |= SEND;
    }
    if let Some(pace) = test.remote.pace {
        request.burst = word("remote.pace.operations", Some(pace.operations))?;
        request.interval_us = i32::try_from(pace.every.as_micros()).unwrap_or(i32::MAX);
    }
    if test_type != TestType::Omni {
        // Here zero, not less, stands for what is not said.
        for size in [
            &mut request.send.size,
            &mut request.receive.size,
            &mut request.request_size,
            &mut request.response_size,
        ] {
            *size = (*size).max(0);
        }
    }
    Ok((test_type, request))
}

fn flags(test: &Test) -> u32 {
    [
        (flag::NO_DELAY, test.no_delay),
        (flag::CONNECTION_TEST, test.kind.is_connection_test()),
        (flag::MEASURE_CPU, test.remote.measure_cpu),
        (flag::ROUTING_ALLOWED, test.routing),
        (flag::CONNECTED, test.remote.connected),
        (flag::DEFER_ACCEPT, test.defer_accept),
        (flag::MTU_DISCOVERY, test.mtu_discovery),
        (flag::KEEP_ALIVE, test.keep_alive),
    ]
    .into_iter()
    .filter(|(_, is_set)| *is_set)
    .fold(0, |flags, (bit, _)| flags | bit)
}

/// Seconds, or less than zero for a number of bytes or transactions. One that a word cannot hold
/// is left to the local end, as far as that decides when there are no more.
fn length(test: &Test, test_type: TestType) -> Result<i32, Failure> {
    let count = match test.extent {
        Extent::Endless => return Ok(0),
        Extent::Seconds(seconds) => return word("seconds", Some(seconds)),
        Extent::Count(count) => count,
    };
    let local_ends = matches!(test.kind, Kind::TcpStream | Kind::TcpSendfile | Kind::TcpRr);
    match (test_type, i32::try_from(count)) {
        // Classic streams know no number of bytes: taken for seconds it is time enough.
        (TestType::TcpStream, count) => Ok(count.unwrap_or(i32::MAX)),
        (TestType::TcpMaerts, _) => Err(bad_parameter(
            "count",
            "count: a netserver 2.4 that sends does so for a time, not for a number of bytes",
        )),
        (_, Ok(count)) => Ok(-count),
        (_, Err(_)) if local_ends => Ok(0),
        (_, Err(_)) => {
            let most = i32::MAX;
            let message =
                format!("count: netperf's wire carries at most {most} for this test, not {count}");
            Err(bad_parameter("count", message))
        }
    }
}

fn moves(moves: &Moves) -> Result<RemoteMoves, Failure> {
    Ok(RemoteMoves {
        size: word("remote size", moves.size)?,
        align: word("remote align", Some(moves.align))?,
        offset: word("remote offset", Some(moves.offset))?,
        width: word("remote width", Some(moves.width.unwrap_or(0)))?,
    })
}

fn word(parameter: &str, value: Option<u32>) -> Result<i32, Failure> {
    let Some(value) = value else {
        return Ok(KEEP);
    };
    i32::try_from(value).map_err(|_| {
        bad_parameter(
            parameter,
            format!(
                "{parameter}: netperf's wire carries at most {}, not {value}",
                i32::MAX
            ),
        )
    })
}

fn text<const N: usize>(
    parameter: &str,
    value: Option<&str>,
    longest: usize,
) -> Result<[u8; N], Failure> {
    let bytes = value.unwrap_or_default().as_bytes();
    if bytes.len() > longest {
        return Err(bad_parameter(
            parameter,
            format!("{parameter}: netperf's wire carries at most {longest} bytes"),
        ));
    }
    let mut text = [0; N];
    text[..bytes.len()].copy_from_slice(bytes);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(test: &Test) -> Result<(TestType, Request), Failure> {
        let local = "192.0.2.1:5000".parse().unwrap();
        let remote = "192.0.2.2:12865".parse().unwrap();
        request_of(test, Generation::V2_7, local, remote)
    }

    #[test]
    fn the_far_end_does_the_opposite() {
        let direction = |kind| {
            let test = Test::new(kind, Extent::Seconds(1));
            request(&test).unwrap().1.direction
        };
        assert_eq!(direction(Kind::TcpStream), RECEIVE);
        assert_eq!(direction(Kind::UdpMaerts), SEND);
        assert_eq!(direction(Kind::UdpRr), SEND | RECEIVE);
        assert_eq!(direction(Kind::TcpCc), 0);
    }

    #[test]
    fn a_count_that_the_wire_cannot_carry_is_left_to_the_near_end_or_refused() {
        let length_of = |kind, count| {
            let test = Test::new(kind, Extent::Count(count));
            request(&test).map(|(_, request)| request.length)
        };
        assert_eq!(length_of(Kind::TcpStream, 10).unwrap(), -10);
        assert_eq!(length_of(Kind::TcpStream, 10 << 30).unwrap(), 0);
        let refused = length_of(Kind::TcpMaerts, 10 << 30).unwrap_err();
        assert_eq!(refused.parameter.as_deref(), Some("count"));
    }

    #[test]
    fn what_is_too_long_or_too_high_is_named() {
        let mut test = Test::new(Kind::TcpRr, Extent::Seconds(1));
        test.request_size = u32::MAX;
        let refused = request(&test).unwrap_err();
        assert_eq!(refused.parameter.as_deref(), Some("request_size"));
        test.request_size = 1;
        test.remote.congestion = Some("a-very-long-name".to_owned());
        let refused = request(&test).unwrap_err();
        assert_eq!(refused.parameter.as_deref(), Some("remote.congestion"));
    }
}
