//! Requests of netperf, as its server reads and judges them, and answers, as its client does.

use netperf::message::{Generation, Message, Request, TestType, RECEIVE, SEND};
use netperf::server::{consider, Limits};

use super::Target;

/// The target.
pub const TARGET: Target = Target {
    name: "netperf",
    seeds,
    tokens: &[
        "\0\0\0\x01\0\0\0\x06",
        "\0\0\0\x02\0\0\0\x11",
        "netperf",
        "cubic",
    ],
    run,
};

/// No client has more for its rings: two of them, each with its alignment.
const RINGS_BYTES_MAX: u64 = 2 * ((64 << 20) + 65_536);

fn seeds() -> Vec<Vec<u8>> {
    let request = |socket_type, protocol, direction| Request {
        length: 10,
        request_size: 100,
        response_size: 200,
        local_port: 5_000,
        socket_type,
        protocol,
        direction,
        ..Request::default()
    };
    let tcp = |direction| request(libc::SOCK_STREAM, libc::IPPROTO_TCP, direction);
    let udp = |direction| request(libc::SOCK_DGRAM, libc::IPPROTO_UDP, direction);
    let omni = [SEND, RECEIVE, SEND | RECEIVE];
    let omni = omni.into_iter().flat_map(|way| [tcp(way), udp(way)]);
    let omni = omni.map(|request| Message::request(TestType::Omni, &request, None));
    let classic = TestType::ALL.map(|test| Message::request(test, &tcp(SEND), Some(0)));
    let messages = omni.chain(classic).chain([Message::passphrase("word")]);
    messages
        .map(|message| message.to_bytes(Generation::V2_7))
        .collect()
}

/// As it is, and as a host of the other byte order would have sent it.
fn run(input: &[u8]) {
    let mut turned = input.to_vec();
    turned.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    for bytes in [input, &turned] {
        read(&Message::from_bytes(bytes));
    }
}

fn read(message: &Message) {
    let limits = Limits {
        bytes: Some(1 << 30),
        ..Limits::default()
    };
    for test in TestType::ALL {
        let ring_bytes = consider(test, message, &limits);
        assert!(
            ring_bytes.is_none_or(|bytes| bytes <= RINGS_BYTES_MAX),
            "{ring_bytes:?}"
        );
        // What is read and written again reads the same: nothing is made up.
        let request = message.to_request(test);
        let again = Message::request(test, &request, message.cpu()).to_request(test);
        assert_eq!(request.length, again.length);
        message.to_response(test);
        for generation in [Generation::V2_4, Generation::V2_6, Generation::V2_7] {
            message.to_results(test, generation);
            let bytes = message.to_bytes(generation);
            assert_eq!(bytes.len(), generation.message_bytes());
        }
    }
    assert!(message.to_passphrase().len() < message.to_bytes(Generation::V2_7).len());
}
