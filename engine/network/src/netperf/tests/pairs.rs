//! What both ends count is the same.

use std::thread;
use std::time::Duration;

use super::*;
use crate::netperf::client::Burst;

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
    let (near, far) = (&outcome.near, &outcome.far);
    let kind = test.kind;
    assert!(outcome.elapsed_s > 0.0 && !outcome.was_stopped);
    match kind {
        Kind::TcpStream | Kind::TcpSendfile => {
            assert!(near.sent_bytes > 0);
            assert_eq!(near.sent_bytes, far.received_bytes, "{kind:?}");
        }
        Kind::TcpMaerts => assert_eq!(near.received_bytes, far.sent_bytes),
        Kind::UdpStream => assert!(far.received_bytes <= near.sent_bytes),
        Kind::UdpMaerts => assert!(near.received_bytes <= far.sent_bytes),
        Kind::TcpRr | Kind::TcpCrr | Kind::UdpRr => {
            let request = u64::from(test.request_size);
            let response = u64::from(test.response_size);
            assert!(near.transactions > 0);
            // One may have been on the way when time was over.
            assert!(far.transactions - near.transactions <= 1, "{kind:?}");
            assert!(near.received_bytes / response - near.transactions <= 1);
            assert!(near.sent_bytes / request - near.transactions <= 1);
            assert_eq!(far.received_bytes / request, far.transactions);
        }
        Kind::TcpCc => assert!(far.transactions - near.transactions <= 1),
    }
    let tells_sizes = generation != Generation::V2_4;
    if tells_sizes && kind.receives() && !kind.is_exchange() {
        assert_eq!(far.send_size, Some(1_000));
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
        let done = match kind {
            Kind::TcpMaerts => outcome.near.received_bytes,
            Kind::UdpMaerts => outcome.far.sent_bytes,
            _ if kind.counts_transactions() => outcome.near.transactions,
            _ => outcome.near.sent_bytes,
        };
        assert_eq!(done, 4_000, "{kind:?}");
    });
}

#[test]
fn every_test_by_time() {
    each_at_once(&KINDS, |kind| {
        let mut test = counted(kind, 0);
        test.extent = Extent::Seconds(1);
        let outcome = run(&test);
        assert_agrees(&test, &outcome, Generation::V2_7);
        let elapsed_s = outcome.elapsed_s;
        assert!((0.9..300.0).contains(&elapsed_s), "{kind:?}: {elapsed_s} s");
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
            test.far.measure_cpu = true;
            let outcome = run_at(site, &test).unwrap();
            assert_agrees(&test, &outcome, generation);
            assert!(outcome.far.cpus >= Some(1));
            assert!(outcome.far.cpu.unwrap().busy <= 1.0);
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
    test.interim = Some(Duration::from_millis(300));
    let mut units = Vec::new();
    let mut netserver = Netserver::connect(site(server(Limits::default()))).unwrap();
    let outcome = netserver
        .run(&test, &mut |interim| units.push(interim.units))
        .unwrap();
    assert!(units.len() >= 2, "{units:?}");
    assert_eq!(units.iter().sum::<u64>(), outcome.near.transactions);
    let latencies = outcome.latencies.unwrap();
    assert_eq!(latencies.count(), outcome.near.transactions);
    // Four are on the way at any time, so that each takes four times the mean distance.
    let busy_s = latencies.sum_ns() as f64 / 1e9;
    assert!(
        (1.1..4.1).contains(&(busy_s / outcome.elapsed_s)),
        "{busy_s}"
    );
}

#[test]
fn a_pace_is_kept() {
    let mut test = counted(Kind::TcpRr, 40);
    test.near.pace = Some(Burst {
        operations: 4,
        every: Duration::from_millis(30),
    });
    let outcome = run(&test);
    assert!(outcome.elapsed_s >= 0.26, "{}", outcome.elapsed_s);
    assert!(outcome.paced_s > 0.0, "{}", outcome.paced_s);
    test.kind = Kind::TcpMaerts;
    test.extent = Extent::Count(40_000);
    test.far.pace = test.near.pace.take();
    let outcome = run(&test);
    assert!(outcome.elapsed_s >= 0.26, "{}", outcome.elapsed_s);
}

#[test]
fn sockets_are_what_both_ends_were_told() {
    let mut test = counted(Kind::TcpStream, 10_000);
    test.near.send_buffer = Some(50_000);
    test.far.receive_buffer = Some(60_000);
    test.near.congestion = Some("reno".to_owned());
    test.far.congestion = Some("reno".to_owned());
    test.far.receive.size = Some(512);
    test.far.receive.width = Some(3);
    test.far.tos = Some(0x10);
    test.no_delay = true;
    test.near.cpu = Some(0);
    test.near.measure_cpu = true;
    let outcome = run(&test);
    let (near, far) = (outcome.near, outcome.far);
    assert_eq!(near.send_buffer.initial, Some(100_000));
    assert_eq!(near.send_buffer.last, Some(100_000));
    assert_eq!(far.receive_buffer.initial, Some(120_000));
    assert_eq!((far.receive_size, far.receive_width), (Some(512), Some(3)));
    assert_eq!(near.congestion.as_deref(), Some("reno"));
    assert_eq!(far.congestion.as_deref(), Some("reno"));
    assert_eq!(far.tos, Some(0x10));
    assert!(near.cpu.is_some() && far.cpu.is_none());
    assert!(near.retransmits.is_some());
    assert!(outcome.segment_size > Some(0));
}

#[test]
fn ipv6_and_connected_datagrams() {
    let address = server_at("[::1]:0", Limits::default());
    for kind in [Kind::TcpCrr, Kind::UdpRr, Kind::UdpMaerts] {
        let mut test = counted(kind, 100);
        test.near.connected = kind == Kind::UdpRr;
        test.far.connected = kind == Kind::UdpRr;
        let outcome = run_at(site(address), &test).unwrap();
        assert_agrees(&test, &outcome, Generation::V2_7);
    }
}

#[test]
fn a_file_is_sent_over_and_over() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[7; 2_500]).unwrap();
    let mut test = counted(Kind::TcpSendfile, 10_000);
    test.near.fill = file.path().to_str().map(str::to_owned);
    let outcome = run(&test);
    assert_eq!(outcome.near.sent_bytes, 10_000);
    test.near.fill = Some("/dev/null".to_owned());
    let refused = run_at(site(server(Limits::default())), &test)
        .err()
        .unwrap();
    assert_eq!(refused.parameter.as_deref(), Some("near.fill"));
}
