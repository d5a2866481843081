//! Two hosts as far as the kernel is concerned: what both ends count is what the kernel counted
//! between them, a rate that it imposes is what is measured, and a host that falls silent is
//! noticed.

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::namespaces::{Pair, FAR, NEAR};
use common::run;
use serde_json::{json, Value};
use testing::Taken;
use wire::{Failure, FailureKind, FarEnd, Network, Side};

/// Executes a trial at the client of `pair`.
fn run_at(
    pair: &Pair,
    name: &'static str,
    parameters: Value,
    far: &FarEnd,
) -> Result<Taken, Failure> {
    let far = far.clone();
    let trial = pair.near(move || run(name, &parameters, &far));
    trial.join().unwrap()
}

/// Bytes that came in and went out at `veth0` in the namespace of this thread, with headers.
fn octets() -> [u64; 2] {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix("veth0:"));
    let fields: Vec<u64> = line
        .unwrap()
        .split_whitespace()
        .map(|field| field.parse().unwrap())
        .collect();
    [fields[0], fields[8]]
}

/// What a flow of `bytes` may be on the wire: no segment is so small that headers are more than a
/// tenth, and the control connection says little.
fn assert_is_about(octets: u64, bytes: u64) {
    assert!(
        octets > bytes && octets < bytes + bytes / 10 + 100_000,
        "{octets} for {bytes}"
    );
}

#[test]
fn what_both_ends_count_is_what_the_kernel_counted_between_them() {
    let Some(pair) = Pair::new() else { return };
    let served = pair.serve();
    let far = served.end();
    assert!(!far.address.is_empty());
    for name in ["tcp_stream", "tcp_maerts"] {
        let before = pair.far(octets).join().unwrap();
        let parameters = json!({"message": ["1000", "64k"], "bytes": "3M", "flows": [1, 2]});
        let done = run_at(&pair, name, parameters, &far).unwrap();
        let after = pair.far(octets).join().unwrap();
        let network = done.totals.network.unwrap();
        let (sender, receiver): (&Side, &Side) = match name {
            "tcp_stream" => (&network.near, &network.far),
            _ => (&network.far, &network.near),
        };
        // Whole messages, in flows of one and of two.
        let bytes = 3 * ((3u64 << 20).div_ceil(1_000) * 1_000 + (3 << 20));
        assert_eq!(sender.sent_bytes, bytes, "{name}");
        assert_eq!(receiver.received_bytes, bytes, "{name}");
        assert_eq!((sender.received_bytes, receiver.sent_bytes), (0, 0));
        assert_is_about(receiver.counters["IpInOctets"], bytes);
        assert_is_about(sender.counters["IpOutOctets"], bytes);
        let [came_in, went_out] = [0, 1].map(|index| after[index] - before[index]);
        assert_is_about(
            [came_in, went_out][usize::from(name != "tcp_stream")],
            bytes,
        );
    }
}

#[test]
fn datagrams_are_received_or_counted_as_lost() {
    let Some(pair) = Pair::new() else { return };
    let served = pair.serve();
    let parameters = json!({"message": "1000", "bytes": "3M", "receive_buffer": "8k"});
    let done = run_at(&pair, "udp_stream", parameters, &served.end()).unwrap();
    let network = done.totals.network.unwrap();
    let (near, far) = (network.near, network.far);
    let count = |side: &Side, name: &str| side.counters.get(name).copied().unwrap_or(0);
    assert_eq!(near.sends, (3u64 << 20).div_ceil(1_000));
    assert_eq!(near.sent_bytes, 1_000 * near.sends);
    assert_eq!(far.received_bytes, 1_000 * far.receives);
    assert_eq!(count(&near, "UdpOutDatagrams"), near.sends);
    assert_eq!(count(&far, "UdpInDatagrams"), far.receives);
    let lost = count(&far, "UdpRcvbufErrors");
    assert_eq!(far.receives + lost, near.sends);
}

#[test]
fn transactions_are_what_the_kernel_counted() {
    let Some(pair) = Pair::new() else { return };
    let served = pair.serve();
    let measure = |name| {
        let mut parameters = json!({"size": "100/200", "transactions": 500});
        if name == "udp_rr" {
            // Longer than a busy machine stands still.
            parameters["lost_after_s"] = json!(5);
        }
        let done = run_at(&pair, name, parameters, &served.end()).unwrap();
        assert_eq!(done.totals.operations, 500, "{name}");
        let Network { near, far } = done.totals.network.unwrap();
        assert_eq!(
            [near.sends, far.receives, far.sends, near.receives],
            [500; 4]
        );
        assert_eq!([near.sent_bytes, far.received_bytes], [50_000; 2]);
        assert_eq!([far.sent_bytes, near.received_bytes], [100_000; 2]);
        [near.counters, far.counters]
    };
    let [near, far] = measure("udp_rr");
    assert_eq!((near["UdpInDatagrams"], far["UdpOutDatagrams"]), (500, 500));
    // An empty one says that no more comes.
    assert_eq!((near["UdpOutDatagrams"], far["UdpInDatagrams"]), (501, 501));
    let [near, far] = measure("tcp_crr");
    // A connection that brings nothing says it here.
    assert_eq!((near["TcpActiveOpens"], far["TcpPassiveOpens"]), (501, 501));
    let [near, far] = measure("tcp_rr");
    for [one, other] in [[&near, &far], [&far, &near]] {
        assert!(!one.contains_key("TcpActiveOpens"));
        // What the control connection says may lie within the time of one of them only.
        assert_is_about(one["IpOutOctets"], other["IpInOctets"] * 9 / 10);
        assert!(one["TcpOutSegs"] >= 500);
    }
}

#[test]
fn addresses_of_both_ends_are_those_that_were_asked_for() {
    let Some(pair) = Pair::new() else { return };
    let served = pair.serve();
    let parameters = json!({"bytes": "10k"});
    let local = |address: &str| FarEnd {
        local: Some(address.parse().unwrap()),
        ..served.end()
    };
    run_at(&pair, "tcp_stream", parameters.clone(), &local(NEAR)).unwrap();
    let failure = run_at(&pair, "tcp_stream", parameters, &local(FAR))
        .err()
        .unwrap();
    assert_eq!(failure.kind, FailureKind::Far);
    assert!(failure.message.contains(FAR), "{}", failure.message);
}

/// The rate of a token bucket counts whole packets; what is measured is their payload. The bucket
/// is full at first, and holds what comes in four seconds: a host that stands still for less makes
/// good what it has not sent, and what arrives is the bucket and the rate.
#[test]
fn a_rate_that_the_kernel_imposes_is_what_is_measured() {
    let Some(pair) = Pair::new() else { return };
    let served = pair.serve();
    let measure = |megabits: u32| {
        let rate = f64::from(megabits) * 1e6 / 8.0;
        let burst = 4.0 * rate;
        // A queue that loses nothing.
        let bucket = format!("burst {burst} limit 16mb");
        pair.near_tc(&format!(
            "qdisc replace dev veth0 root tbf rate {megabits}mbit {bucket}"
        ));
        let parameters =
            json!({"message": "64k", "seconds": 0.7, "client": {"congestion": "reno"}});
        let done = run_at(&pair, "tcp_stream", parameters, &served.end()).unwrap();
        let payload = done.totals.network.as_ref().unwrap().far.received_bytes as f64;
        let elapsed_s = payload / done.values_of("throughput")[0];
        // Of 1514 bytes of a frame 1448 are payload.
        let passed = payload * 1_514.0 / 1_448.0;
        (passed - burst) / elapsed_s / rate
    };
    for megabits in [19, 20] {
        // What it has not sent at the end it cannot make good: at some time it stands still
        // elsewhere.
        let mut shares = Vec::new();
        let is_measured = || {
            shares.push(measure(megabits));
            shares
                .last()
                .is_some_and(|share| (share - 1.0).abs() < 0.005)
        };
        assert!(
            std::iter::repeat_with(is_measured).take(40).any(|is| is),
            "{megabits} Mbit/s: {shares:?}"
        );
    }
}

#[test]
fn a_host_that_falls_silent_is_noticed_at_both_ends() {
    let Some(pair) = Pair::new() else { return };
    let served = pair.serve();
    let far = served.end();
    let trial = pair.near(move || run("tcp_stream", &json!({"seconds": 600.0}), &far));
    // In the middle of it: so much comes of nothing else.
    let arrived = || pair.far(octets).join().unwrap()[0];
    let deadline = Instant::now() + Duration::from_secs(300);
    while arrived() < 10_000_000 {
        assert!(Instant::now() < deadline, "nothing flows");
        std::thread::sleep(Duration::from_millis(10));
    }
    let began = Instant::now();
    pair.near_ip("link set veth0 down");
    let failure = trial.join().unwrap().err().unwrap();
    assert_eq!(failure.kind, FailureKind::Far, "{failure:?}");
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "{:?}",
        began.elapsed()
    );
    // The server has noticed it as well when it serves the next one.
    pair.near_ip("link set veth0 up");
    while run_at(&pair, "tcp_stream", json!({"bytes": "10k"}), &served.end()).is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "{:?}",
            began.elapsed()
        );
    }
}
