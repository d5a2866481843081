//! Parameters that cannot be: every workload of the list refuses them before it says a word to the
//! server, and names the one that is to blame.
//!
//! What is tried follows from the schemas of the cards, so that a new workload is covered by its
//! line in the list.

mod common;

use common::{nowhere, subject, workload};
use network::workload::ALL;
use serde_json::json;
use testing::{Parameter, Subject};
use wire::{FailureKind, FarEnd};

/// All workloads of the list, with one server.
fn subjects(far: &FarEnd) -> Vec<Subject<'_>> {
    let all = ALL.iter();
    all.map(|workload| subject(*workload, far)).collect()
}

#[test]
fn no_parameter_takes_what_has_no_meaning() {
    let far = nowhere();
    let subjects = subjects(&far);
    for parameter in Parameter::of(&subjects) {
        parameter.assert_refuses_nonsense();
    }
}

#[test]
fn sizes_and_numbers_have_limits() {
    let far = nowhere();
    let subjects = subjects(&far);
    let mut amounts = Parameter::of(&subjects);
    amounts.retain(Parameter::is_amount);
    assert!(amounts.len() > 3 * ALL.len());
    for amount in amounts {
        amount.assert_refuses_beyond_limits();
    }
}

#[test]
fn what_means_nothing_to_a_workload_is_unknown_to_it() {
    for (name, foreign) in [
        ("udp_stream", "nodelay"),
        ("tcp_stream", "gso"),
        ("tcp_sendfile", "zerocopy"),
        ("unix_stream", "dscp"),
    ] {
        let failure = subject(workload(name), &nowhere()).refusal(&json!({foreign: true}));
        assert_eq!(failure.parameter.as_deref(), Some(foreign));
        assert!(
            failure.message.contains("is not a parameter"),
            "{failure:?}"
        );
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (name, changes, blamed) in [
        ("udp_stream", json!({"message": 65_508}), "message"),
        ("udp_stream", json!({"message": "32k", "gso": 2}), "gso"),
        (
            "udp_stream",
            json!({"flows": 2, "rate": 1e6, "client": {"threads": 1}}),
            "rate",
        ),
        (
            "udp_stream",
            json!({"client": {"congestion": "cubic"}}),
            "client.congestion",
        ),
        (
            "tcp_stream",
            json!({"server": {"cpus": [0], "numa_node": 0}}),
            "server.numa_node",
        ),
        (
            "unix_stream",
            json!({"server": {"busy_poll_us": 50}}),
            "server.busy_poll_us",
        ),
        ("tcp_stream", json!({"rate": 0.5}), "rate"),
        ("tcp_stream", json!({"seconds": 0}), "seconds"),
        ("tcp_stream", json!({"buffers": 0}), "buffers"),
        ("tcp_stream", json!({"buffers": 65_537}), "buffers"),
        (
            "tcp_stream",
            json!({"buffers": 1, "zerocopy": true}),
            "buffers",
        ),
        ("tcp_sendfile", json!({"file": "/etc"}), "file"),
    ] {
        let failure = subject(workload(name), &nowhere()).refusal(&changes);
        assert_eq!(failure.kind, FailureKind::BadJob, "{failure:?}");
        assert_eq!(failure.parameter.as_deref(), Some(blamed), "{failure:?}");
    }
}
