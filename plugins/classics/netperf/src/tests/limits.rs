//! What a server grants, and what it does not.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use super::hostile_client::request;
use super::*;
use crate::message::{Message, Request, TestType, RECEIVE, SEND};

fn refusal(site: Site, test: &Test) -> String {
    let refused = run_at(site, test).err().expect("a refusal");
    assert_eq!(refused.kind, wire::FailureKind::Far, "{}", refused.message);
    refused.message
}

#[test]
fn a_passphrase_opens() {
    let address = server(Limits {
        passphrase: Some("open sesame".to_owned()),
        ..Limits::default()
    });
    let saying = |word: Option<&str>| Site {
        passphrase: word.map(str::to_owned),
        ..site(address)
    };
    let test = counted(Kind::TcpRr, 10);
    run_at(saying(Some("open sesame")), &test).unwrap();
    for wrong in [None, Some("open"), Some("open sesame "), Some("")] {
        let message = refusal(saying(wrong), &test);
        assert!(
            message.contains("clos") || message.contains("broke"),
            "{message}"
        );
    }
}

#[test]
fn more_than_the_limits_is_refused_beforehand() {
    let address = server(Limits {
        test: Duration::from_secs(500),
        bytes: Some(10_000),
        ..Limits::default()
    });
    let mut test = counted(Kind::TcpStream, 10_001);
    assert!(refusal(site(address), &test).contains("too large"));
    test.extent = Extent::Seconds(501);
    assert!(refusal(site(address), &test).contains("expired"));
    let mut test = counted(Kind::TcpRr, 34);
    assert!(refusal(site(address), &test).contains("too large"));
    test.extent = Extent::Count(33);
    run_at(site(address), &test).unwrap();
}

#[test]
fn one_that_asks_for_no_end_is_ended() {
    let address = server(Limits {
        bytes: Some(10_000),
        ..Limits::default()
    });
    let mut test = counted(Kind::TcpStream, 0);
    test.extent = Extent::Endless;
    assert!(refusal(site(address), &test).contains("too large"));
}

/// What came before the limit, over the time until then, is no result of the test.
#[test]
fn a_limit_that_cuts_a_test_is_told() {
    for kind in [
        Kind::TcpRr,
        Kind::UdpRr,
        Kind::TcpCrr,
        Kind::TcpStream,
        Kind::TcpMaerts,
    ] {
        let address = server(Limits {
            bytes: Some(30_000),
            ..Limits::default()
        });
        let mut test = counted(kind, 0);
        test.extent = Extent::Seconds(1);
        let message = refusal(site(address), &test);
        assert!(message.contains("too large"), "{kind:?}: {message}");
    }
}

#[test]
fn a_time_that_cuts_a_test_is_told() {
    let address = server(Limits {
        test: Duration::from_millis(50),
        ..Limits::default()
    });
    let test = counted(Kind::TcpRr, u32::MAX as u64 / 2);
    let message = refusal(site(address), &test);
    assert!(message.contains("expired"), "{message}");
}

#[test]
fn memory_is_that_of_all_clients_together() {
    let address = server(Limits {
        memory_bytes: 16 << 20,
        ..Limits::default()
    });
    // Two rings of 6 MiB each.
    let mut large = Request {
        request_size: 6 << 20,
        response_size: 6 << 20,
        ..request()
    };
    large.direction = SEND | RECEIVE;
    let first = hostile_client::granted_of(address, TestType::Omni, &large).expect("a place");
    let message = Message::request(TestType::Omni, &large, None);
    let answer = hostile_client::say(address, &message.to_bytes(Generation::V2_7)).unwrap();
    assert_eq!(answer.status, libc::ENOMEM);
    run_at(site(address), &counted(Kind::TcpRr, 10)).unwrap();
    drop(first);
    assert!(soon(|| hostile_client::granted_of(address, TestType::Omni, &large)).is_some());
}

#[test]
fn only_those_of_the_networks_are_served() {
    let address = server(Limits {
        networks: Some(vec!["127.0.0.0/30".parse().unwrap()]),
        ..Limits::default()
    });
    let test = counted(Kind::TcpRr, 10);
    run_at(site(address), &test).unwrap();
    let message = refusal(site_from("127.0.0.9", address), &test);
    assert!(
        message.contains("denied") || message.contains("broke"),
        "{message}"
    );
}

#[test]
fn those_who_are_silent_keep_nobody_out() {
    let address = server(Limits {
        clients: 1,
        ..Limits::default()
    });
    let silent: Vec<_> = (0..300)
        .filter_map(|_| TcpStream::connect(address).ok())
        .collect();
    assert!(silent.len() > 200);
    run_at(site(address), &counted(Kind::TcpRr, 10)).unwrap();
}

#[test]
fn one_host_leaves_places_for_others() {
    let address = server(Limits {
        clients: 4,
        ..Limits::default()
    });
    let greedy: Vec<_> = (0..3)
        .map(|_| hostile_client::granted(address, TestType::TcpCrr).expect("a place"))
        .collect();
    let test = counted(Kind::TcpRr, 10);
    let message = refusal(site(address), &test);
    assert!(message.contains("busy"), "{message}");
    run_at(site_from("127.0.0.9", address), &test).unwrap();
    drop(greedy);
}

#[test]
fn data_come_in_where_they_may() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let address = server(Limits {
        data_ports: Some(port..=port),
        ..Limits::default()
    });
    let mut test = counted(Kind::TcpRr, 10);
    test.remote.port = if port == u16::MAX { 1_024 } else { port + 1 };
    assert!(refusal(site(address), &test).contains("denied"));
    test.remote.port = 0;
    assert!(refusal(site(address), &test).contains("in use"));
    drop(taken);
    // For a moment it may be somebody else's again.
    assert!(soon(|| run_at(site(address), &test).ok()).is_some());
}

#[test]
fn a_client_too_many_is_told_so_and_served_later() {
    let address = server(Limits {
        clients: 1,
        ..Limits::default()
    });
    let first = hostile_client::granted(address, TestType::TcpCrr).expect("a place");
    let test = counted(Kind::TcpRr, 10);
    let message = refusal(site(address), &test);
    assert!(message.contains("busy"), "{message}");
    // The next one waits for its turn.
    let waiting = thread::spawn(move || run_at(site(address), &counted(Kind::TcpRr, 10)));
    thread::sleep(Duration::from_millis(200));
    drop(first);
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_control_connection_does_not_last_for_ever() {
    let address = server(Limits {
        session: Duration::from_millis(50),
        ..Limits::default()
    });
    let mut idle = TcpStream::connect(address).unwrap();
    idle.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
}
