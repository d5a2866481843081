//! Datagrams between two hosts, as far as the kernel is concerned: each one that was handed over is
//! accounted for.

mod common;

use common::namespaces::Pair;
use common::run;
use serde_json::{json, Value};
use testing::Taken;
use wire::Side;

/// Executes a trial between the ends of `pair`.
fn udp_stream(pair: &Pair, parameters: Value) -> (Taken, [Side; 2]) {
    let served = pair.serve();
    let far = served.end();
    let trial = pair.near(move || run("udp_stream", &parameters, &far));
    let done = trial.join().unwrap().unwrap();
    let network = done.totals.network.clone().unwrap();
    (done, [network.near, network.far])
}

fn counter(side: &Side, name: &str) -> u64 {
    side.counters.get(name).copied().unwrap_or(0)
}

#[test]
fn what_was_sent_was_received_or_found_the_buffer_full() {
    let Some(pair) = Pair::new() else { return };
    let asked = json!({"message": 700, "bytes": "8M", "receive_buffer": "4k"});
    let (done, [near, far]) = udp_stream(&pair, asked);
    let sent = (8u64 << 20).div_ceil(700);
    assert_eq!((near.sends, near.sent_bytes), (sent, sent * 700));
    assert_eq!(counter(&near, "UdpOutDatagrams"), sent);
    assert_eq!(counter(&far, "UdpInDatagrams"), far.receives);
    let lost = counter(&far, "UdpRcvbufErrors");
    assert!(lost > 0, "a buffer of a few datagrams lost none of {sent}");
    assert_eq!(far.receives + lost, sent);
    let wanted = lost as f64 / sent as f64;
    assert!((done.values_of("loss")[0] - wanted).abs() < 1e-9);
}

#[test]
fn what_the_own_queue_dropped_was_not_sent() {
    let Some(pair) = Pair::new() else { return };
    pair.near_tc("qdisc replace dev veth0 root tbf rate 20mbit burst 4kb limit 6000");
    let asked = json!({"message": 1_000, "bytes": "200k", "receive_buffer": "1M"});
    let (done, [near, far]) = udp_stream(&pair, asked);
    assert!(counter(&near, "failed_sends") > 0);
    assert_eq!((near.sends, far.receives), (205, 205));
    assert_eq!(counter(&near, "UdpOutDatagrams"), 205);
    assert_eq!(done.values_of("loss"), [0.0]);
}
