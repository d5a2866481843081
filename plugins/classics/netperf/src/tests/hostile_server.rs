//! Servers that are not netserver. Whatever they do, the client says what is wrong.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::mpsc;

use proptest::prelude::*;
use socket2::{Domain, Socket, Type};

use super::*;
use crate::message::{Message, Response, Results, TestType, PROC_STAT};

/// A server for one client, that does `part` when it has heard the request.
pub(super) fn impostor(part: impl FnOnce(&mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.read_exact(&mut [0; 656]).unwrap();
        part(&mut client);
    });
    address
}

fn failure_with(test: &Test, part: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
    let failure = run_at(site(impostor(part)), test).err().expect("a failure");
    assert_eq!(failure.kind, wire::FailureKind::Far, "{}", failure.message);
    failure.message
}

pub(super) fn accept(client: &mut TcpStream, port: u16) {
    let response = Response {
        port: port.into(),
        ..Response::default()
    };
    let message = Message::response(TestType::Omni, &response);
    client
        .write_all(&message.to_bytes(Generation::V2_7))
        .unwrap();
}

/// What was counted, which is nothing.
pub(super) fn send_results(client: &mut TcpStream) {
    let results = Message::new(TestType::Omni.results(), 0);
    client
        .write_all(&results.to_bytes(Generation::V2_7))
        .unwrap();
}

#[test]
fn an_errno_is_told_in_words() {
    let test = counted(Kind::TcpRr, 10);
    let answering = |errno| {
        failure_with(&test, move |client| {
            let message = Message::new(98, errno);
            client
                .write_all(&message.to_bytes(Generation::V2_7))
                .unwrap();
        })
    };
    assert!(answering(libc::EACCES).contains("Permission denied"));
    assert!(answering(998).contains("does not know this test"));
}

#[test]
fn one_that_goes_without_an_answer_is_named() {
    let message = failure_with(&counted(Kind::TcpRr, 10), |_| {});
    assert!(message.starts_with("netserver at 127.0.0.1:"), "{message}");
    assert!(
        message.contains("closed the control connection"),
        "{message}"
    );
}

#[test]
fn one_that_is_not_there_is_named() {
    // Bound, so that nobody else is there, and not listening.
    let nobody = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    nobody.bind(&any.into()).unwrap();
    let address = nobody.local_addr().unwrap().as_socket().unwrap();
    let failure = Netserver::connect(site(address)).err().unwrap();
    assert_eq!(failure.kind, wire::FailureKind::Far);
    assert!(failure
        .message
        .contains("no netserver answers at 127.0.0.1:"));
}

#[test]
fn one_that_vanishes_in_the_middle_of_a_test_is_noticed() {
    let mut test = counted(Kind::TcpMaerts, 0);
    test.extent = Extent::Seconds(1_000);
    let message = failure_with(&test, |client| {
        let data = TcpListener::bind("127.0.0.1:0").unwrap();
        accept(client, data.local_addr().unwrap().port());
        // The data connection stays, and silent, until the client closes it.
        let (mut connection, _) = data.accept().unwrap();
        client.shutdown(std::net::Shutdown::Both).unwrap();
        let _ = connection.read(&mut [0]);
    });
    assert!(
        message.contains("closed the control connection"),
        "{message}"
    );
}

#[test]
fn one_that_closes_the_data_connection_is_noticed() {
    let mut test = counted(Kind::TcpRr, 0);
    test.extent = Extent::Seconds(1_000);
    let message = failure_with(&test, |client| {
        let data = TcpListener::bind("127.0.0.1:0").unwrap();
        accept(client, data.local_addr().unwrap().port());
        drop(data.accept().unwrap());
        // It still listens to what it is told.
        let _ = client.read(&mut [0]);
    });
    assert!(message.contains("closed the data socket"), "{message}");
}

/// Every other request is lost; those after it are answered.
#[test]
fn a_lost_datagram_is_given_up_after_a_while() {
    const PATIENCE: Duration = Duration::from_millis(100);
    // The kernel may wake a reader so much too early (HZ = 100).
    const TICK: Duration = Duration::from_millis(10);
    let (tell, heard) = mpsc::channel();
    let address = impostor(move |client| {
        let data = UdpSocket::bind("127.0.0.1:0").unwrap();
        accept(client, data.local_addr().unwrap().port());
        let mut request = [0; 100];
        let mut count = 0;
        loop {
            match data.recv_from(&mut request).unwrap() {
                (0, _) => break,
                (_, from) if count % 2 == 1 => {
                    data.send_to(&[0; 200], from).unwrap();
                }
                _ => {}
            }
            count += 1;
        }
        tell.send(count).unwrap();
        send_results(client);
    });
    let mut test = counted(Kind::UdpRr, 5);
    test.patience = Some(PATIENCE);
    test.latencies = true;
    let outcome = run_at(site(address), &test).unwrap();
    assert_eq!(outcome.local.transactions, 5);
    // A machine that stands still may lose more of them.
    let sends = outcome.local.sends;
    assert_eq!(sends, heard.recv().unwrap());
    assert!(sends >= 10, "{sends}");
    // What was given up took its time, and that is in no latency.
    let latencies = outcome.latencies.unwrap();
    assert_eq!(latencies.count(), 5);
    let given_up_s = (sends - 5) as f64 * (PATIENCE - TICK).as_secs_f64();
    let answered_s = latencies.sum_ns() as f64 / 1e9;
    assert!(
        given_up_s + answered_s <= outcome.elapsed_s + 1e-6,
        "{given_up_s} s + {answered_s} s of {} s",
        outcome.elapsed_s
    );
}

/// Port 0 keeps it from connecting to whatever listens on this machine.
#[test]
fn any_answer_is_an_outcome_or_a_failure() {
    proptest!(ProptestConfig::with_cases(30), |(
        mut bytes in prop::collection::vec(any::<u8>(), 656), is_error: bool,
    )| {
        bytes[8 + 11 * 4..][..4].fill(0);
        if !is_error {
            bytes[4..8].fill(0);
        }
        let failed = run_at(
            site(impostor(move |client| client.write_all(&bytes).unwrap())),
            &counted(Kind::TcpRr, 10),
        );
        let message = failed.err().expect("a failure").message;
        prop_assert!(is_error || message.contains("as the port for data"), "{}", message);
    });
}

#[test]
fn numbers_that_are_none_are_refused() {
    let mut test = counted(Kind::TcpStream, 1_000);
    test.remote.measure_cpu = true;
    let failing = |results: Results| {
        failure_with(&test, move |client| {
            let data = TcpListener::bind("127.0.0.1:0").unwrap();
            accept(client, data.local_addr().unwrap().port());
            let (mut stream, _) = data.accept().unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
            drop(stream);
            let message = Message::results(TestType::Omni, &results, Generation::V2_7);
            client
                .write_all(&message.to_bytes(Generation::V2_7))
                .unwrap();
        })
    };
    let mut results = Results {
        elapsed_s: f32::NAN,
        ..Results::default()
    };
    assert!(failing(results.clone()).contains("no number"));
    (results.elapsed_s, results.cpu_method) = (1.0, PROC_STAT);
    results.cpu.softirq = f32::INFINITY;
    assert!(failing(results).contains("no number"));
}

#[test]
fn an_own_address_that_is_taken_is_not_the_netservers_fault() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = run_at(
        Site {
            local: Some(taken.local_addr().unwrap()),
            ..site(server(Limits::default()))
        },
        &counted(Kind::TcpRr, 1),
    );
    let failure = refused.err().unwrap();
    assert_eq!(failure.kind, wire::FailureKind::HostLacks);
    assert!(
        failure.message.contains("local end's own"),
        "{}",
        failure.message
    );
}
