//! A connection for each transaction: both ends count the same, and nobody waits for ever.

mod common;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use common::{run, Served};
use serde_json::json;
use testing::Taken;
use wire::{FailureKind, FarEnd};

/// As many transactions as asked for, counted at both ends.
fn assert_exact(done: &Taken, transactions: u64) {
    let network = done.totals.network.as_ref().unwrap();
    for side in [&network.near, &network.far] {
        assert_eq!([side.sends, side.receives], [transactions; 2], "{side:?}");
    }
    assert_eq!(network.near.sent_bytes, network.far.received_bytes);
    assert_eq!(network.near.received_bytes, network.far.sent_bytes);
    assert_eq!(done.totals.operations, transactions);
}

#[test]
fn both_ends_count_the_same_over_both_families() {
    for ip in ["127.0.0.1", "::1"] {
        let served = Served::at(ip);
        for timing in ["operation", "pass"] {
            let parameters = json!({
                "size": "100/70000", "flows": 2, "transactions": 20, "timing": timing,
            });
            let done = run("tcp_crr", &parameters, &served.far()).unwrap();
            assert_exact(&done, 40);
            let connects = done.samples_of("connect_time");
            let times = connects[0].latency_ns.as_ref().unwrap();
            assert_eq!(times.count, 40);
        }
    }
}

#[test]
fn the_server_ends_when_the_client_is_done() {
    let served = Served::at("127.0.0.1");
    let began = Instant::now();
    let done = run("tcp_crr", &json!({"seconds": 0.1}), &served.far()).unwrap();
    assert_exact(&done, done.totals.operations);
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_port_is_free_again_at_once_since_the_server_closes_first() {
    let served = Served::at("127.0.0.1");
    let parameters = json!({"ports": "28500-28503", "flows": 2, "transactions": 50});
    let done = run("tcp_crr", &parameters, &served.far()).unwrap();
    assert_exact(&done, 100);
}

#[test]
fn ports_that_are_all_taken_are_a_clear_failure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let served = Served::at("127.0.0.1");
    let parameters = json!({"ports": format!("{port}-{port}"), "transactions": 1});
    let failure = run("tcp_crr", &parameters, &served.far()).err().unwrap();
    drop(taken);
    assert_eq!(failure.kind, FailureKind::HostLacks, "{failure:?}");
    assert!(failure.message.contains("\"ports\""), "{failure:?}");
}

#[test]
fn connections_come_from_the_address_that_the_job_names() {
    let served = Served::at("127.0.0.1");
    let far = FarEnd {
        local: Some("127.0.0.2".parse().unwrap()),
        ..served.far()
    };
    let done = run("tcp_crr", &json!({"transactions": 20}), &far).unwrap();
    assert_exact(&done, 20);
}
