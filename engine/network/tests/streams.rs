//! Streams and their options: what was asked for is what both ends did, exactly.

mod common;

use std::collections::BTreeMap;
use std::io::Write;

use common::{attempt, execute, workload, Served};
use serde_json::{json, Map, Value};
use testing::Taken;
use wire::{Event, FailureKind, Network, Side};

const MESSAGE: u64 = 1_000;

fn parameters(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Executes `name` with 100 messages of 1,000 bytes of each flow, unless told otherwise.
fn stream(ip: &str, name: &str, changes: Value) -> (Taken, Network) {
    let mut asked = parameters(json!({"message": MESSAGE, "bytes": 100 * MESSAGE}));
    asked.extend(parameters(changes));
    let served = Served::at(ip);
    let taken = execute(workload(name), &asked, &served.far());
    let network = taken.totals.network.clone().unwrap();
    (taken, network)
}

fn value_of(taken: &Taken, metric: &str) -> f64 {
    taken.values_of(metric)[0]
}

fn counter(side: &Side, name: &str) -> u64 {
    side.counters.get(name).copied().unwrap_or(0)
}

#[test]
fn bytes_are_exact_and_both_ends_agree() {
    for ip in ["127.0.0.1", "::1"] {
        for name in ["tcp_stream", "tcp_sendfile", "unix_stream"] {
            let (taken, network) = stream(ip, name, json!({"flows": 3}));
            let wanted = 3 * 100 * MESSAGE;
            assert_eq!(network.near.sent_bytes, wanted, "{name}");
            assert_eq!(network.far.received_bytes, wanted, "{name}");
            assert_eq!((network.near.sends, taken.totals.bytes), (300, wanted));
        }
        let (taken, network) = stream(ip, "tcp_maerts", json!({"flows": 3}));
        let wanted = 3 * 100 * MESSAGE;
        assert_eq!((network.far.sent_bytes, network.far.sends), (wanted, 300));
        assert_eq!(
            (network.near.received_bytes, taken.totals.bytes),
            (wanted, wanted)
        );
    }
}

#[test]
fn a_last_message_that_is_not_full_is_sent_as_a_whole() {
    let (_, network) = stream("127.0.0.1", "tcp_stream", json!({"bytes": 2_500}));
    assert_eq!((network.near.sends, network.far.received_bytes), (3, 3_000));
}

#[test]
fn several_flows_share_a_thread() {
    for name in ["tcp_stream", "tcp_maerts", "tcp_sendfile", "unix_stream"] {
        for (near, far) in [(1, 1), (2, 1), (1, 5)] {
            let threads = json!({
                "flows": 5, "message": "40k", "bytes": "2M",
                "client": {"threads": near}, "server": {"threads": far},
            });
            let (_, network) = stream("127.0.0.1", name, threads);
            let wanted = 5 * 52 * (40 << 10);
            let moved =
                [&network.near, &network.far].map(|side| side.sent_bytes + side.received_bytes);
            assert_eq!(moved, [wanted; 2], "{name}, {near}, {far}");
        }
    }
}

#[test]
fn several_flows_of_datagrams_share_a_thread() {
    let threads =
        json!({"flows": 4, "client": {"threads": 1}, "server": {"threads": 1}, "bytes": 5_000});
    let (taken, network) = stream("127.0.0.1", "udp_stream", threads);
    assert_eq!(network.near.sends, 20);
    assert_eq!((network.far.receives, value_of(&taken, "loss")), (20, 0.0));
}

#[test]
fn so_many_buffers_as_are_asked_for_take_turns() {
    for name in [
        "tcp_stream",
        "tcp_maerts",
        "tcp_sendfile",
        "udp_stream",
        "unix_stream",
    ] {
        for buffers in [1, 3] {
            let asked = json!({"buffers": buffers, "receive": MESSAGE, "bytes": 10 * MESSAGE});
            let (_, network) = stream("127.0.0.1", name, asked);
            let moved =
                [&network.near, &network.far].map(|side| side.sent_bytes + side.received_bytes);
            assert_eq!(moved, [10 * MESSAGE; 2], "{name}, {buffers}");
        }
    }
}

#[test]
fn the_server_is_asked_for_as_many_buffers() {
    let served = Served::at("127.0.0.1");
    for name in ["tcp_stream", "tcp_maerts"] {
        let asked = json!({"message": "1M", "receive": "1M", "buffers": 2_000});
        let failure = attempt(workload(name), &parameters(asked), &served.far());
        let failure = failure.err().unwrap();
        assert_eq!(failure.kind, FailureKind::Far, "{failure:?}");
        assert!(failure.message.contains("buffers"), "{}", failure.message);
    }
}

#[test]
fn time_ends_streams_that_share_a_thread() {
    let served = Served::at("127.0.0.1");
    let asked = json!({
        "message": "1M", "seconds": 0.1, "flows": 3, "client": {"threads": 1}, "server": {"threads": 2},
    });
    let taken = execute(workload("tcp_stream"), &parameters(asked), &served.far());
    let network = taken.totals.network.unwrap();
    assert_eq!(network.near.sent_bytes, network.far.received_bytes);
    assert_eq!(network.near.sent_bytes, network.near.sends << 20);
}

#[test]
fn a_rate_is_kept() {
    for name in ["tcp_stream", "udp_stream"] {
        let (taken, network) = stream(
            "127.0.0.1",
            name,
            json!({"rate": 800_000, "bytes": 40_000, "flows": 2}),
        );
        assert_eq!(network.near.sent_bytes, 80_000);
        if name == "udp_stream" {
            // The last of 40 messages is due when 39 intervals have passed.
            let fastest = 800_000.0 * 40.0 / 39.0;
            assert!(value_of(&taken, "throughput_sent") <= fastest);
        } else {
            assert_eq!(network.near.granted["pacing_rate"], json!(400_000));
        }
    }
}

#[test]
fn a_rate_that_is_not_kept_is_told() {
    let asked = json!({"rate": 1e12, "bytes": 2_000});
    let (taken, _) = stream("127.0.0.1", "udp_stream", asked);
    let is_told =
        |event: &Event| matches!(event, Event::Warning(told) if told.code == "rate-not-kept");
    assert!(taken.events.iter().any(is_told));
}

#[test]
fn options_are_granted_at_both_ends() {
    let asked = json!({
        "nodelay": true, "cork": true, "mss": 1_000, "dscp": 46,
        "send_buffer": "64k", "receive_buffer": "32k",
        "client": {"congestion": "reno", "busy_poll_us": 7}, "server": {"cpus": [0]},
    });
    for ip in ["127.0.0.1", "::1"] {
        let (_, network) = stream(ip, "tcp_stream", asked.clone());
        let (near, far) = (&network.near.granted, &network.far.granted);
        assert_eq!(
            (&near["congestion"], &near["busy_poll_us"]),
            (&json!("reno"), &json!(7))
        );
        assert_eq!((&near["cork"], far.get("cork")), (&json!(1), None));
        assert_eq!(
            (&near["nodelay"], &far["nodelay"]),
            (&json!(true), &json!(true))
        );
        assert_eq!((&near["dscp"], &far["dscp"]), (&json!(46), &json!(46)));
        assert!(near["mss"].as_u64().unwrap() <= 1_000);
        assert_eq!(
            (&near["send_buffer"], &far["receive_buffer"]),
            (&json!(131_072), &json!(65_536))
        );
        assert_eq!(far["cpus"], json!([0]));
    }
}

#[test]
fn datagrams_are_connected_unless_it_is_said() {
    for connected in [true, false] {
        let asked = json!({"connected": connected, "bytes": 5_000});
        let (taken, network) = stream("127.0.0.1", "udp_stream", asked);
        assert_eq!(network.near.granted["connected"], json!(connected));
        assert_eq!(network.far.granted["connected"], json!(connected));
        assert_eq!((network.far.receives, value_of(&taken, "loss")), (5, 0.0));
    }
}

#[test]
fn segments_are_datagrams() {
    let asked = json!({"gso": 10, "gro": true, "receive_buffer": "1M"});
    let (taken, network) = stream("127.0.0.1", "udp_stream", asked);
    assert_eq!(network.near.granted["gso_bytes"], json!(MESSAGE));
    assert_eq!(network.far.granted["gro"], json!(1));
    assert_eq!((network.near.sends, network.far.receives), (100, 100));
    assert_eq!(taken.totals.operations, 10, "one call for ten");
}

#[test]
fn a_receiver_need_not_copy() {
    for name in ["tcp_stream", "tcp_maerts"] {
        let (_, network) = stream("127.0.0.1", name, json!({"skip_copy": true}));
        let received = network.far.received_bytes + network.near.received_bytes;
        assert_eq!(received, 100 * MESSAGE);
    }
    let asked = json!({"skip_copy": true, "bytes": 5_000});
    let (_, network) = stream("127.0.0.1", "udp_stream", asked);
    assert_eq!(network.far.received_bytes, 5_000);
}

/// Over loopback the kernel must copy after all, and says so.
#[test]
fn every_send_without_a_copy_is_completed() {
    let (_, network) = stream("127.0.0.1", "tcp_stream", json!({"zerocopy": true}));
    assert_eq!(network.near.granted["zerocopy"], json!(1));
    assert_eq!(counter(&network.near, "zerocopy_completed"), 100);
    assert_eq!(counter(&network.near, "zerocopy_copied"), 100);
    let shared = json!({"zerocopy": true, "flows": 3, "message": "64k", "bytes": "4M",
        "server": {"threads": 1}});
    let (_, network) = stream("127.0.0.1", "tcp_maerts", shared);
    assert_eq!(network.near.received_bytes, 3 * (4 << 20));
    assert_eq!(counter(&network.far, "zerocopy_completed"), 3 * 64);
}

#[test]
fn a_file_is_sent_again_and_again() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 777]).unwrap();
    let path = file.path().to_str().unwrap();
    let (_, network) = stream("127.0.0.1", "tcp_sendfile", json!({"file": path}));
    assert_eq!(network.far.received_bytes, 100 * MESSAGE);
}

#[test]
fn each_receive_of_the_client_can_be_timed() {
    let (taken, network) = stream("127.0.0.1", "tcp_maerts", json!({"timing": "operation"}));
    let found = taken.samples_of("throughput");
    let latency = found[0].latency_ns.as_ref().unwrap();
    assert_eq!(latency.count, network.near.receives);
}

#[test]
fn points_of_the_grid_are_measured_one_after_the_other() {
    let asked = json!({"message": [500, 1_000], "flows": [1, 2], "bytes": 10_000});
    let (taken, network) = stream("127.0.0.1", "tcp_stream", asked);
    let mut received = BTreeMap::new();
    for sample in taken.samples_of("throughput") {
        let at = ["message", "flows"].map(|name| sample.at[name].as_u64().unwrap());
        received.insert(at, sample.bytes);
    }
    let wanted = [[500, 1], [500, 2], [1_000, 1], [1_000, 2]].map(|at| (at, 10_000 * at[1]));
    assert_eq!(received, wanted.into());
    assert_eq!(network.far.received_bytes, 60_000);
}

#[test]
fn a_cpu_that_the_far_host_has_not_is_refused_there() {
    let served = Served::at("127.0.0.1");
    let asked = json!({"bytes": 1, "server": {"cpus": [1_000_000]}});
    let failure = attempt(workload("tcp_stream"), &parameters(asked), &served.far())
        .err()
        .unwrap();
    assert_eq!(failure.kind, FailureKind::Far);
    assert!(
        failure.message.contains("server.cpus"),
        "{}",
        failure.message
    );
}
