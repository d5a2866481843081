//! Clients that are not netperf. Whatever they do, the next one is served.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

use proptest::prelude::*;

use super::*;
use crate::message::{flag, words_of, Message, Moves, Request, TestType, KEEP, RECEIVE, SEND};

fn assert_serves(address: SocketAddr) {
    let served = run_at(site(address), &counted(Kind::TcpRr, 10)).unwrap();
    assert_eq!(served.local.transactions, 10);
}

/// Says it, and gives the first answer, if there is one.
pub(super) fn say(address: SocketAddr, bytes: &[u8]) -> Option<Message> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // The server may have closed or reset the connection, with bytes of ours unread.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.take(656).read_to_end(&mut answer);
    (!answer.is_empty()).then(|| Message::from_bytes(&answer))
}

fn moves() -> impl Strategy<Value = Moves> {
    let number = prop_oneof![Just(-1), Just(0), 1..100_000, any::<i32>()];
    prop::array::uniform4(number).prop_map(|[size, align, offset, width]| Moves {
        size,
        align,
        offset,
        width,
    })
}

prop_compose! {
    fn requests()(
        ends in [moves(), moves()],
        buffers: [i32; 2],
        sizes in prop::array::uniform2(prop_oneof![-1..10, any::<i32>()]),
        flags: u32,
        length in prop_oneof![-10..10, any::<i32>()],
        port in prop_oneof![Just(0), any::<u32>()],
        family in prop_oneof![Just(0), Just(4), Just(6), any::<i32>()],
        kind in prop_oneof![Just((1, 6)), Just((2, 17)), any::<(i32, i32)>()],
        direction in prop_oneof![0..8, any::<i32>()],
        local_port: u32,
        pace: [i32; 2],
        marks: [i32; 2],
        congestion in prop::array::uniform16(any::<u8>()),
    ) -> Request {
        let [send, receive] = ends;
        Request {
            send, receive, send_buffer: buffers[0], receive_buffer: buffers[1],
            request_size: sizes[0], response_size: sizes[1], flags, length, port, family,
            socket_type: kind.0, protocol: kind.1, direction, local_port,
            burst: pace[0], interval_us: pace[1], priority: marks[0], tos: marks[1], congestion,
            ..Request::default()
        }
    }
}

#[test]
fn no_request_brings_a_server_down() {
    let address = server(Limits::default());
    proptest!(ProptestConfig::with_cases(80), |(
        request in requests(), test in prop::sample::select(&TestType::ALL[..]), cpu: i32,
    )| {
        let mut message = Message::request(test, &request, None);
        message.status = cpu;
        let answer = say(address, &message.to_bytes(Generation::V2_7)).expect("an answer");
        // Either it names a port, or says why not.
        prop_assert!(answer.status != 0 || answer.to_response(test).port > 0);
    });
    assert_serves(address);
}

#[test]
fn no_bytes_bring_a_server_down() {
    let address = server(Limits::default());
    proptest!(ProptestConfig::with_cases(40), |(bytes in prop::collection::vec(any::<u8>(), 0..1_400))| {
        // Random types are hardly ever those of tests.
        say(address, &bytes);
    });
    assert_serves(address);
}

#[test]
fn a_flood_of_connections_is_survived() {
    let address = server(Limits {
        clients: 4,
        ..Limits::default()
    });
    let flood: Vec<_> = (0..100)
        .filter_map(|_| TcpStream::connect(address).ok())
        .collect();
    drop(flood);
    let outcome = soon(|| run_at(site(address), &counted(Kind::TcpRr, 10)).ok());
    assert!(outcome.is_some());
}

/// An ordinary one.
pub(super) fn request() -> Request {
    Request {
        length: 1_000,
        request_size: 1,
        response_size: 1,
        socket_type: libc::SOCK_STREAM,
        protocol: libc::IPPROTO_TCP,
        ..Request::default()
    }
}

/// The control connection of a client that was granted a test, and the port for its data.
pub(super) fn granted(address: SocketAddr, test: TestType) -> Option<(TcpStream, u16)> {
    granted_of(address, test, &request())
}

/// As [`granted`], of that request.
pub(super) fn granted_of(
    address: SocketAddr,
    test: TestType,
    request: &Request,
) -> Option<(TcpStream, u16)> {
    let message = Message::request(test, request, None);
    let mut control = TcpStream::connect(address).ok()?;
    let mut answer = [0; 656];
    control
        .write_all(&message.to_bytes(Generation::V2_7))
        .ok()?;
    control.read_exact(&mut answer).ok()?;
    let port = Message::from_bytes(&answer).to_response(test).port;
    let port = u16::try_from(port).ok().filter(|&port| port > 0)?;
    Some((control, port))
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_a_test_frees_its_place() {
    let address = server(Limits {
        clients: 1,
        ..Limits::default()
    });
    for test in [TestType::TcpCrr, TestType::UdpRr, TestType::TcpMaerts] {
        let (control, port) = soon(|| granted(address, test)).expect("a place");
        let data =
            (test != TestType::UdpRr).then(|| TcpStream::connect(("127.0.0.1", port)).unwrap());
        drop(control);
        let outcome = soon(|| run_at(site(address), &counted(Kind::TcpRr, 10)).ok());
        assert!(outcome.is_some(), "{test:?}");
        drop(data);
    }
}

#[test]
fn the_way_that_nothing_takes_is_told_as_it_was_asked_for() {
    let address = server(Limits::default());
    for direction in [SEND, RECEIVE] {
        let request = Request {
            direction,
            request_size: KEEP,
            response_size: KEEP,
            ..request()
        };
        let message = Message::request(TestType::Omni, &request, None);
        let answer = say(address, &message.to_bytes(Generation::V2_7)).unwrap();
        let told = answer.to_response(TestType::Omni);
        let sizes = [(SEND, told.send_size), (RECEIVE, told.receive_size)];
        for (way, size) in sizes {
            assert_eq!(size > 0, way == direction, "{told:?}");
            assert!(size > 0 || size == KEEP, "{told:?}");
        }
    }
}

/// A server is nobody's cannon.
#[test]
fn datagrams_are_not_sent_to_others() {
    let address = server(Limits::default());
    let request = Request {
        direction: 2,
        socket_type: libc::SOCK_DGRAM,
        protocol: libc::IPPROTO_UDP,
        family: 4,
        length: 1,
        local_port: 9,
        local_address: words_of("192.0.2.1".parse().unwrap()),
        ..Request::default()
    };
    let message = Message::request(TestType::Omni, &request, None);
    let answer = say(address, &message.to_bytes(Generation::V2_7)).unwrap();
    assert_eq!(answer.status, libc::EACCES);
}

/// Requests are a byte long and responses 60,000: whoever could name another's address would send
/// him that.
#[test]
fn datagrams_of_others_are_not_answered() {
    let address = server(Limits::default());
    let request = Request {
        direction: SEND | RECEIVE,
        socket_type: libc::SOCK_DGRAM,
        protocol: libc::IPPROTO_UDP,
        response_size: 60_000,
        length: 3,
        ..request()
    };
    for flags in [0, flag::CONNECTED] {
        let request = Request {
            flags,
            ..request.clone()
        };
        let (_control, port) =
            soon(|| granted_of(address, TestType::Omni, &request)).expect("a place");
        let [third, own] = ["127.0.0.9:0", "127.0.0.1:0"].map(|at| UdpSocket::bind(at).unwrap());
        for socket in [&third, &own, &third, &own] {
            // In this order they come.
            socket.send_to(&[0], ("127.0.0.1", port)).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(own.recv(&mut [0; 65_000]).unwrap(), 60_000);
        }
        third.set_nonblocking(true).unwrap();
        let none = third.recv(&mut [0; 65_000]).unwrap_err();
        assert_eq!(none.kind(), std::io::ErrorKind::WouldBlock);
    }
}

/// With one port for both ends of one host, the client's socket would find itself.
#[test]
fn a_client_that_would_talk_to_itself_is_told() {
    let address = server(Limits::default());
    let request = Request {
        port: 43_999,
        local_port: 43_999,
        ..request()
    };
    let message = Message::request(
        TestType::Omni,
        &Request {
            direction: 2,
            ..request
        },
        None,
    );
    let answer = say(address, &message.to_bytes(Generation::V2_7)).unwrap();
    assert_eq!(answer.status, libc::EADDRINUSE);
    let mut test = counted(Kind::TcpStream, 1_000);
    (test.local.port, test.remote.port) = (43_999, 43_999);
    let failure = run_at(site(address), &test).err().unwrap();
    assert!(
        failure.message.contains("with itself"),
        "{}",
        failure.message
    );
}
