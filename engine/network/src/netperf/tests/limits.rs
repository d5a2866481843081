//! What a server grants, and what it does not.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use super::*;

fn refusal(site: Site, test: &Test) -> String {
    let refused = run_at(site, test).err().expect("a refusal");
    assert_eq!(refused.kind, wire::FailureKind::Far);
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
    assert!(refusal(site(address), &test).contains("closed the data socket"));
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
    test.far.port = if port == u16::MAX { 1_024 } else { port + 1 };
    assert!(refusal(site(address), &test).contains("denied"));
    test.far.port = 0;
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
    let first = TcpStream::connect(address).unwrap();
    let test = counted(Kind::TcpRr, 10);
    let message = refusal(site(address), &test);
    assert!(
        message.contains("busy") || message.contains("broke"),
        "{message}"
    );
    drop(first);
    assert!(soon(|| run_at(site(address), &test).ok()).is_some());
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
