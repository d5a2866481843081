//! What stock netperfs and netservers said to each other, taken down on the way: what we read
//! from it is what they meant, and what we would have said is the same.

use super::*;
use crate::client::request::request_of;
use crate::message::{flag, Message, TestType, Type, KEEP, RECEIVE, SEND};

/// A message of `bytes`, of which the zeros at the end were not taken down.
fn message(hex: &str, bytes: usize) -> Message {
    let digits: String = hex.split_whitespace().collect();
    let mut whole: Vec<u8> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect();
    whole.resize(bytes, 0);
    Message::from_bytes(&whole)
}

/// `-t TCP_RR -l -100 -c -C -- -r 100,200 -D`, of netperf 2.7.1.
const OMNI_REQUEST: &str = "
    00000061 ffffffff
    ffffffff ffffffff 00000008 00000000 00000001 00000064
    ffffffff ffffffff 00000008 00000000 00000001 000000c8
    00000029 00000000 ffffff9c 00000000 00000000 ffffffff ffffffff ffffffff
    00000000 00000004 00000001 00000006 00000006
    00000000 00000000 00000000
    00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
    ffffffff ffffffff";

#[test]
fn a_stock_client_asks_for_transactions() {
    let message = message(OMNI_REQUEST, 656);
    assert_eq!(
        Type::of(message.type_word),
        Some(Type::Test(TestType::Omni))
    );
    let request = message.to_request(TestType::Omni);
    assert_eq!((request.request_size, request.response_size), (100, 200));
    assert_eq!((request.length, request.family), (-100, 4));
    assert_eq!(request.direction, SEND | RECEIVE);
    let wanted = flag::NO_DELAY | flag::MEASURE_CPU | flag::ROUTING_ALLOWED;
    assert_eq!(request.flags, wanted);
    assert_eq!((request.send.width, request.receive.align), (1, 8));
    assert_eq!((request.priority, request.tos), (KEEP, KEEP));
    assert_eq!(Message::request(TestType::Omni, &request, None), message);
}

#[test]
fn we_ask_as_a_stock_client_does() {
    let mut test = Test::new(Kind::TcpRr, Extent::Count(100));
    (test.request_size, test.response_size) = (100, 200);
    (test.no_delay, test.remote.measure_cpu) = (true, true);
    // It tells the remote end the widths of its own rings.
    (test.remote.send.width, test.remote.receive.width) = (Some(1), Some(1));
    let local = "0.0.0.0:0".parse().unwrap();
    let remote = "127.0.0.1:12865".parse().unwrap();
    let (test_type, request) = request_of(&test, Generation::V2_7, local, remote).unwrap();
    assert_eq!(
        Message::request(test_type, &request, None),
        message(OMNI_REQUEST, 656)
    );
}

/// The answers of a netserver 2.7.1 to it. In the second the type has its bytes swapped.
#[test]
fn a_stock_server_answers() {
    let response = message(
        "00000062 00000000
         00020000 00000064 00000001 00004000 000000c8 00000001 00000009 42c80000 00000000
         00000000 00000000 0000b68f 00000000 00000000 00000000 00000000 ffffffff ffffffff",
        656,
    );
    assert_eq!(response.type_word, TestType::Omni.response());
    let response = response.to_response(TestType::Omni);
    assert_eq!(
        (response.receive_buffer, response.send_buffer),
        (131_072, 16_384)
    );
    assert_eq!((response.receive_size, response.send_size), (100, 200));
    assert_eq!((response.port, response.cpu_rate), (46_735, 100.0));

    let results = message(
        "62000000 00000000
         00000000 00002710 00000064 00020000 00000000 00004e20 00000064 00400000
         00000000 00000064 3a1e12a5
         00000000 00000000 00000000 00000000 00000000 00000000 ffffffff 00000008 00000002",
        656,
    );
    let results = results.to_results(TestType::Omni, Generation::V2_7);
    assert_eq!((results.received_bytes, results.receives), (10_000, 100));
    assert_eq!((results.sent_bytes, results.sends), (20_000, 100));
    assert_eq!(
        (results.receive_buffer, results.send_buffer),
        (131_072, 4_194_304)
    );
    assert_eq!((results.transactions, results.retransmits), (100, 0));
    assert!((f64::from(results.elapsed_s) - 0.000_603).abs() < 1e-6);
}

/// Those of a netserver 2.6.0: no shares of CPU time.
#[test]
fn an_older_server_tells_less() {
    let results = message(
        "62000000 00000000
         00000000 00002710 00000064 00020000 00000000 00004e20 00000064 00400000
         00000000 00000064 3acb07d1
         00000000 00000000 00000008 00000002 00000000 00000000
         fffffffe fffffffe fffffffe fffffffe 00000000",
        656,
    );
    let results = results.to_results(TestType::Omni, Generation::V2_6);
    assert_eq!((results.transactions, results.cpus), (100, 2));
    assert_eq!((results.cpu_method, results.retransmits), (8, 0));
}

/// `-t TCP_SENDFILE -l -100000 -c -C`: a classic request, the bytes in place of seconds.
#[test]
fn a_stock_client_sends_a_file() {
    let asked = message(
        "0000000a ffffffff
         ffffffff ffffffff 00000000 00000008 00000000 00000000 00000001 00000000 000186a0
         00000000 00000000 00000000 00000000 00000000 00000004",
        656,
    );
    assert_eq!(
        Type::of(asked.type_word),
        Some(Type::Test(TestType::TcpStream))
    );
    let request = asked.to_request(TestType::TcpStream);
    assert_eq!(
        (request.length, request.receive.size, request.direction),
        (100_000, 0, RECEIVE)
    );
    assert!(request.measures_cpu());

    let mut test = Test::new(Kind::TcpSendfile, Extent::Count(100_000));
    test.remote.measure_cpu = true;
    let local = "0.0.0.0:0".parse().unwrap();
    let remote = "127.0.0.1:12865".parse().unwrap();
    let (test_type, ours) = request_of(&test, Generation::V2_7, local, remote).unwrap();
    assert_eq!(Message::request(test_type, &ours, None), asked);

    let response = message(
        "0000000b 00000000
         00020000 00020000 00000000 00000001 00000000 00004000 0000a2e3 42c80000",
        656,
    )
    .to_response(TestType::TcpStream);
    assert_eq!((response.receive_size, response.port), (131_072, 41_699));
    let results = message(
        "0b000000 00000000
         40fc0000 00000000 00000002 3894e5d6 00000000 00400000 00000008 00000002",
        656,
    )
    .to_results(TestType::TcpStream, Generation::V2_7);
    assert_eq!((results.received_bytes, results.receives), (114_688, 2));
    assert_eq!((results.cpu_method, results.cpus), (8, 2));
}

/// `-t UDP_STREAM -l 1 -- -m 1000` between a netperf and a netserver 2.4.5.
#[test]
fn small_messages_of_long_ago() {
    let request = message(
        "00000010 ffffffff
         ffffffff 000003e8 00000000 00000008 00000000 00000000 00000000 00000000 00000001
         00000000 00000000 00000000 00000004",
        256,
    )
    .to_request(TestType::UdpStream);
    assert_eq!(
        (request.receive.size, request.length, request.family),
        (1_000, 1, 4)
    );
    assert_eq!(request.protocol, libc::IPPROTO_UDP);
    let response = message(
        "00000011 00000000 00034000 00034000 00000000 00000001 0000daab",
        256,
    )
    .to_response(TestType::UdpStream);
    assert_eq!((response.receive_buffer, response.port), (212_992, 55_979));
    let results = message("00000012 00000000 0007ab21 e778f41d 3f8003c4 bf800000", 256)
        .to_results(TestType::UdpStream, Generation::V2_4);
    assert_eq!(results.receives, 502_561);
    assert_eq!(results.cpu.busy, -1.0);
}
