//! Requests and responses: both ends count the same, whatever carries them.

mod common;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use common::{run, workload, Served};
use kit::EventSink;
use serde_json::{json, Value};
use testing::Taken;
use wire::{FailureKind, FarEnd};

/// What has not come by then never comes.
const PATIENCE: Duration = Duration::from_secs(300);

/// Nothing is lost on this host, however long it stands still.
fn execute(name: &str, mut parameters: Value, far: &FarEnd) -> Taken {
    if name.starts_with("udp") {
        parameters["lost_after_s"] = json!(5);
    }
    run(name, &parameters, far).unwrap()
}

/// As many transactions as asked for, counted at both ends.
fn assert_exact(taken: &Taken, transactions: u64, [request, response]: [u64; 2]) {
    let network = taken.totals.network.as_ref().unwrap();
    let near = [network.near.sends, network.near.receives];
    let far = [network.far.sends, network.far.receives];
    assert_eq!([near, far], [[transactions; 2]; 2]);
    let sent = [network.near.sent_bytes, network.far.received_bytes];
    assert_eq!(sent, [transactions * request; 2]);
    let back = [network.near.received_bytes, network.far.sent_bytes];
    assert_eq!(back, [transactions * response; 2]);
    assert_eq!(taken.totals.operations, transactions);
    assert_eq!(taken.totals.bytes, transactions * (request + response));
}

#[test]
fn both_ends_count_the_same_over_every_transport_and_family() {
    for (ip, name) in [
        ("127.0.0.1", "tcp_rr"),
        ("::1", "tcp_rr"),
        ("127.0.0.1", "udp_rr"),
        ("::1", "udp_rr"),
        ("127.0.0.1", "unix_rr"),
    ] {
        let served = Served::at(ip);
        for (burst, timing) in [(0, "operation"), (0, "pass"), (7, "operation"), (7, "pass")] {
            let parameters = json!({
                "size": "3/5", "burst": burst, "flows": 2, "transactions": 100, "timing": timing,
            });
            let taken = execute(name, parameters, &served.far());
            assert_exact(&taken, 200, [3, 5]);
            let latencies: BTreeMap<_, _> = taken.samples_of("latency")[0]
                .latency_ns
                .iter()
                .flat_map(|latency| latency.buckets.iter().copied())
                .collect();
            let counted: u64 = latencies.values().sum();
            assert_eq!(
                counted,
                if timing == "pass" { 0 } else { 200 },
                "{ip} {name}"
            );
        }
    }
}

#[test]
fn what_is_under_way_when_the_time_is_over_counts_at_both_ends() {
    let served = Served::at("127.0.0.1");
    for name in ["tcp_rr", "udp_rr", "unix_rr"] {
        let parameters = json!({"size": 64, "burst": 15, "flows": 2, "seconds": 0.05});
        // Time in which the machine stood still shows nothing: other time does.
        let began = Instant::now();
        let is_shown = || {
            let taken = execute(name, parameters.clone(), &served.far());
            let transactions = taken.totals.operations;
            assert_exact(&taken, transactions, [64, 64]);
            transactions > 32
        };
        while !is_shown() {
            assert!(began.elapsed() < PATIENCE, "{name}: no more than the first");
        }
    }
}

#[test]
fn several_flows_share_a_thread_at_either_end() {
    let served = Served::at("127.0.0.1");
    for name in ["tcp_rr", "udp_rr", "unix_rr"] {
        for (near, far, burst) in [(1, 0, 0), (0, 1, 3), (2, 2, 40), (1, 1, 0)] {
            let parameters = json!({
                "size": "30/20", "burst": burst, "flows": 5, "transactions": 50,
                "client": {"threads": near}, "server": {"threads": far},
            });
            let taken = execute(name, parameters, &served.far());
            assert_exact(&taken, 250, [30, 20]);
        }
        let parameters = json!({
            "size": 16, "rate": 5_000, "flows": 4, "transactions": 50, "client": {"threads": 1},
            "server": {"threads": 2},
        });
        let taken = execute(name, parameters, &served.far());
        assert_exact(&taken, 200, [16, 16]);
    }
}

#[test]
fn requests_and_responses_larger_than_all_buffers_do_not_wait_for_each_other() {
    let served = Served::at("127.0.0.1");
    for name in ["tcp_rr", "unix_rr"] {
        let parameters = json!({
            "size": "1M/2M", "burst": 7, "transactions": 20, "flows": [1, 2],
            "send_buffer": "16k", "receive_buffer": "16k", "client": {"threads": 1},
            "server": {"threads": 1},
        });
        let taken = execute(name, parameters, &served.far());
        assert_exact(&taken, 60, [1 << 20, 2 << 20]);
    }
}

#[test]
fn with_a_rate_so_many_are_answered_as_are_due() {
    let served = Served::at("127.0.0.1");
    for name in ["tcp_rr", "udp_rr", "unix_rr"] {
        let parameters = json!({"size": 16, "rate": 2_000, "flows": 2, "transactions": 100});
        let taken = execute(name, parameters, &served.far());
        assert_exact(&taken, 200, [16, 16]);
        let transactions = taken.samples_of("transactions")[0];
        assert!(transactions.elapsed_s >= 0.1, "{transactions:?}");
        assert!(transactions.value <= 2_000.0, "{transactions:?}");
    }
}

#[test]
fn a_pace_that_was_not_kept_is_told() {
    let served = Served::at("127.0.0.1");
    let parameters = json!({"size": 4_096, "rate": 1e8, "seconds": 0.05});
    let taken = execute("tcp_rr", parameters, &served.far());
    assert_eq!(taken.warnings(), ["rate-not-kept"]);
    assert_exact(&taken, taken.totals.operations, [4_096, 4_096]);
}

#[test]
fn a_server_that_is_stopped_ends_the_trial() {
    for name in ["tcp_rr", "udp_rr", "unix_rr", "tcp_crr"] {
        let served = Served::at("127.0.0.1");
        let far = served.far();
        let parameters = json!({"seconds": 600});
        let trial = workload(name).plan(parameters.as_object().unwrap(), &far);
        let trial = trial.unwrap();
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(served);
        });
        let began = Instant::now();
        let failure = trial.run(&mut EventSink::new(&mut |_| {})).unwrap_err();
        stopper.join().unwrap();
        assert_eq!(failure.kind, FailureKind::Far, "{name}: {failure:?}");
        assert!(began.elapsed() < PATIENCE, "{name}");
    }
}
