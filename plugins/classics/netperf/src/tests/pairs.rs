//! What both ends count is the same.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kit::clock;

use super::hostile_server::{accept, impostor, send_results};
use super::*;
use crate::client::Burst;

const KINDS: [Kind; 9] = [
    Kind::TcpStream,
    Kind::TcpMaerts,
    Kind::TcpSendfile,
    Kind::TcpRr,
    Kind::TcpCrr,
    Kind::TcpCc,
    Kind::UdpStream,
    Kind::UdpMaerts,
    Kind::UdpRr,
];

/// What was sent has arrived, as far as TCP or nobody else's datagrams are concerned.
fn assert_agrees(test: &Test, outcome: &Outcome, generation: Generation) {
    let (local, remote) = (&outcome.local, &outcome.remote);
    let kind = test.kind;
    assert!(outcome.elapsed_s > 0.0 && !outcome.was_stopped);
    match kind {
        Kind::TcpStream | Kind::TcpSendfile => {
            assert_eq!(local.sent_bytes, remote.received_bytes, "{kind:?}");
        }
        Kind::TcpMaerts => assert_eq!(local.received_bytes, remote.sent_bytes),
        Kind::UdpStream => assert!(remote.received_bytes <= local.sent_bytes),
        Kind::UdpMaerts => assert!(local.received_bytes <= remote.sent_bytes),
        Kind::TcpRr | Kind::TcpCrr | Kind::UdpRr => {
            let request = u64::from(test.request_size);
            let response = u64::from(test.response_size);
            // One may have been on the way when time was over.
            assert!(remote.transactions - local.transactions <= 1, "{kind:?}");
            assert!(local.received_bytes / response - local.transactions <= 1);
            assert!(local.sent_bytes / request - local.transactions <= 1);
            assert_eq!(remote.received_bytes / request, remote.transactions);
        }
        Kind::TcpCc => assert!(remote.transactions - local.transactions <= 1),
    }
    let tells_sizes = generation != Generation::V2_4;
    if tells_sizes && kind.receives() && !kind.is_exchange() {
        assert_eq!(remote.send_size, Some(1_000));
    }
}

/// Bytes or transactions that the test is about.
fn done(kind: Kind, outcome: &Outcome) -> u64 {
    match kind {
        Kind::TcpMaerts => outcome.local.received_bytes,
        Kind::UdpMaerts => outcome.remote.sent_bytes,
        _ if kind.counts_transactions() => outcome.local.transactions,
        _ => outcome.local.sent_bytes,
    }
}

/// All at once: it is the counts that matter here, not the rates.
fn each_at_once(kinds: &[Kind], check: impl Fn(Kind) + Sync) {
    thread::scope(|scope| {
        for &kind in kinds {
            let check = &check;
            scope.spawn(move || check(kind));
        }
    });
}

#[test]
fn every_test_by_count() {
    each_at_once(&KINDS, |kind| {
        let test = counted(kind, 4_000);
        let outcome = run(&test);
        assert_agrees(&test, &outcome, Generation::V2_7);
        assert_eq!(done(kind, &outcome), 4_000, "{kind:?}");
    });
}

#[test]
fn what_one_of_many_connections_sent_again_is_not_told() {
    each_at_once(&[Kind::TcpRr, Kind::TcpCrr, Kind::TcpCc], |kind| {
        let outcome = run(&counted(kind, 100));
        for side in [&outcome.local, &outcome.remote] {
            assert_eq!(side.retransmits.is_some(), kind == Kind::TcpRr, "{kind:?}");
        }
    });
}

#[test]
fn every_test_by_time() {
    each_at_once(&KINDS, |kind| {
        let mut test = counted(kind, 0);
        test.extent = Extent::Seconds(1);
        // A second in which the machine stood still shows nothing: another one does.
        let is_shown = || {
            let began_ns = clock::now_ns();
            let outcome = run(&test);
            let took_s = (clock::now_ns() - began_ns) as f64 / 1e9;
            assert_agrees(&test, &outcome, Generation::V2_7);
            // What is timed is a part of the whole, which has the second that was asked for.
            assert!(took_s >= 1.0, "{kind:?}: {took_s} s");
            assert!(outcome.elapsed_s <= took_s, "{kind:?}");
            done(kind, &outcome) > 0
        };
        assert!(soon(|| is_shown().then_some(())).is_some(), "{kind:?}");
    });
}

#[test]
fn older_generations_count_alike() {
    let address = server(Limits {
        generation: Generation::V2_6,
        ..Limits::default()
    });
    let kinds = [
        Kind::TcpStream,
        Kind::TcpSendfile,
        Kind::TcpRr,
        Kind::TcpCrr,
        Kind::TcpCc,
        Kind::UdpRr,
    ];
    for generation in [Generation::V2_6, Generation::V2_4] {
        each_at_once(&kinds, |kind| {
            let site = Site {
                generation,
                ..site(address)
            };
            let mut test = counted(kind, 500);
            test.remote.measure_cpu = true;
            let outcome = run_at(site, &test).unwrap();
            assert_agrees(&test, &outcome, generation);
            assert!(outcome.remote.cpus >= Some(1));
            assert!(outcome.remote.cpu.unwrap().busy <= 1.0);
        });
    }
}

#[test]
fn one_control_connection_serves_any_number_of_tests() {
    let mut netserver = Netserver::connect(site(server(Limits::default()))).unwrap();
    for kind in [
        Kind::TcpCc,
        Kind::TcpSendfile,
        Kind::TcpRr,
        Kind::TcpCc,
        Kind::UdpRr,
    ] {
        let test = counted(kind, 50);
        let outcome = netserver.run(&test, &mut |_| {}).unwrap();
        assert_agrees(&test, &outcome, Generation::V2_7);
    }
}

#[test]
fn latencies_and_interim_figures_add_up() {
    let mut test = counted(Kind::TcpRr, 0);
    test.extent = Extent::Seconds(1);
    test.latencies = true;
    test.burst = 3;
    test.interim = Some(Duration::from_millis(100));
    let mut units = Vec::new();
    let mut netserver = Netserver::connect(site(server(Limits::default()))).unwrap();
    let outcome = netserver
        .run(&test, &mut |interim| units.push(interim.units))
        .unwrap();
    assert_eq!(units.iter().sum::<u64>(), outcome.local.transactions);
    let latencies = outcome.latencies.unwrap();
    assert_eq!(latencies.count(), outcome.local.transactions);
    // No more than four are on the way at any time.
    let busy_s = latencies.sum_ns() as f64 / 1e9;
    assert!(busy_s <= 4.0 * outcome.elapsed_s + 1e-6, "{busy_s}");
}

/// The remote end answers nothing before it has all four.
#[test]
fn all_that_are_on_the_way_take_their_time_at_once() {
    let (tell, told) = mpsc::channel();
    let address = impostor(move |control| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        accept(control, listener.local_addr().unwrap().port());
        let mut data: TcpStream = listener.accept().unwrap().0;
        data.read_exact(&mut [0; 4 * 100]).unwrap();
        let began_ns = clock::now_ns();
        thread::sleep(Duration::from_millis(30));
        tell.send(clock::now_ns() - began_ns).unwrap();
        data.write_all(&[0; 4 * 200]).unwrap();
        // Until the other end closes it.
        let _ = data.read(&mut [0]);
        drop(data);
        send_results(control);
    });
    let mut test = counted(Kind::TcpRr, 4);
    test.latencies = true;
    test.burst = 3;
    let outcome = run_at(site(address), &test).unwrap();
    assert_eq!(outcome.local.transactions, 4);
    let busy_ns = outcome.latencies.unwrap().sum_ns();
    assert!(busy_ns >= 4 * told.recv().unwrap(), "{busy_ns}");
}

#[test]
fn a_pace_is_kept() {
    let mut test = counted(Kind::TcpRr, 40);
    test.local.pace = Some(Burst {
        operations: 4,
        every: Duration::from_millis(30),
    });
    // One that is late all along, since the machine stood still, has not waited.
    let has_waited = || {
        let outcome = run(&test);
        assert!(outcome.elapsed_s >= 0.26, "{}", outcome.elapsed_s);
        assert!(outcome.paced_s <= outcome.elapsed_s, "{}", outcome.paced_s);
        outcome.paced_s > 0.0
    };
    assert!(soon(|| has_waited().then_some(())).is_some());
    test.kind = Kind::TcpMaerts;
    test.extent = Extent::Count(40_000);
    test.remote.pace = test.local.pace.take();
    let outcome = run(&test);
    assert!(outcome.elapsed_s >= 0.26, "{}", outcome.elapsed_s);
}

#[test]
fn sockets_are_what_both_ends_were_told() {
    let mut test = counted(Kind::TcpStream, 10_000);
    test.local.send_buffer = Some(50_000);
    test.remote.receive_buffer = Some(60_000);
    test.local.congestion = Some("reno".to_owned());
    test.remote.congestion = Some("reno".to_owned());
    test.remote.receive.size = Some(512);
    test.remote.receive.width = Some(3);
    test.remote.tos = Some(0x10);
    test.no_delay = true;
    test.local.cpu = Some(0);
    test.local.measure_cpu = true;
    let outcome = run(&test);
    let (local, remote) = (outcome.local, outcome.remote);
    assert_eq!(local.send_buffer.initial, Some(100_000));
    assert_eq!(local.send_buffer.last, Some(100_000));
    assert_eq!(remote.receive_buffer.initial, Some(120_000));
    assert_eq!(
        (remote.receive_size, remote.receive_width),
        (Some(512), Some(3))
    );
    assert_eq!(local.congestion.as_deref(), Some("reno"));
    assert_eq!(remote.congestion.as_deref(), Some("reno"));
    assert_eq!(remote.tos, Some(0x10));
    assert!(local.cpu.is_some() && remote.cpu.is_none());
    assert!(local.retransmits.is_some());
    assert!(outcome.segment_size > Some(0));
}

#[test]
fn ipv6_and_connected_datagrams() {
    let address = server_at("[::1]:0", Limits::default());
    for kind in [Kind::TcpCrr, Kind::UdpRr, Kind::UdpMaerts] {
        let mut test = counted(kind, 100);
        test.local.connected = kind == Kind::UdpRr;
        test.remote.connected = kind == Kind::UdpRr;
        let outcome = run_at(site(address), &test).unwrap();
        assert_agrees(&test, &outcome, Generation::V2_7);
    }
}

#[test]
fn a_file_is_sent_over_and_over() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[7; 2_500]).unwrap();
    let mut test = counted(Kind::TcpSendfile, 10_000);
    test.local.fill = file.path().to_str().map(str::to_owned);
    let outcome = run(&test);
    assert_eq!(outcome.local.sent_bytes, 10_000);
    test.local.fill = Some("/dev/null".to_owned());
    let refused = run_at(site(server(Limits::default())), &test)
        .err()
        .unwrap();
    assert_eq!(refused.parameter.as_deref(), Some("local.fill"));
}
