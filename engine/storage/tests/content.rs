//! Contents of chosen shares, in every workload that takes them.

mod common;

use common::{all, named};
use serde_json::json;
use testing::subject::smoke_with;
use testing::{rules, scratch_directory};
use wire::FailureKind;

#[test]
fn every_workload_that_takes_shares_measures_them_and_finds_what_it_wrote() {
    let taken = rules::shares_are_found(&all());
    assert_eq!(taken, ["postmark", "stream", "random"]);
}

#[test]
fn queues_verify_what_they_copied() {
    for (name, backend) in [("stream", "libaio"), ("random", "uring")] {
        named(name).taken_with(&json!({
            "content": {"compressible": 0.5, "dedupable": 0.25}, "verify": true,
            "backend": backend, "depth": 4, "threads": 2,
        }));
    }
}

#[test]
fn a_share_beyond_its_range_names_the_parameter() {
    let directory = scratch_directory();
    let stream = named("stream");
    let parameters = smoke_with(&stream.card, &json!({"content": {"compressible": 2}}));
    let failure = stream.plan(&parameters, directory.path()).err().unwrap();
    assert_eq!(failure.kind, FailureKind::BadJob);
    assert_eq!(failure.parameter.as_deref(), Some("content.compressible"));
    assert!(
        failure.message.contains("use 0 to 1"),
        "{}",
        failure.message
    );
}
