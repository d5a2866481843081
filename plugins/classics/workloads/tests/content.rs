//! Contents of chosen shares, in every workload that takes them.

mod common;

use std::fs;

use common::{all, named};
use serde_json::{json, Value};
use testing::subject::smoke_with;
use testing::{rules, scratch_directory};

const PAGE_BYTES: usize = 4_096;

#[test]
fn every_workload_that_takes_shares_measures_them_and_finds_what_it_wrote() {
    let taken = rules::shares_are_found(&all());
    let wanted = [
        "iozone",
        "iozone_throughput",
        "fs_mark",
        "tiobench",
        "aio_stress",
    ];
    assert_eq!(taken, wanted);
}

/// A trial with the parameters of the smoke test and these.
fn execute(name: &str, changes: &Value) {
    let directory = scratch_directory();
    let workload = named(name);
    let parameters = smoke_with(&workload.card, changes);
    workload.take(&parameters, directory.path()).unwrap();
}

#[test]
fn iozone_verifies_every_byte_in_queues_in_processes_and_in_vectored_calls() {
    let asked = || json!({"compressible": 0.5, "dedupable": 0.25});
    execute(
        "iozone",
        &json!({
            "content": asked(), "verify_every_byte": true, "backend": "libaio", "depth": 5,
            "tests": ["write", "record-rewrite", "random"],
        }),
    );
    execute(
        "iozone",
        &json!({
            "content": asked(), "verify_every_byte": true, "file": "1M", "record": ["6k", "256k"],
            "tests": ["write", "record-rewrite", "random", "fwrite", "fread", "pwritev", "preadv"],
        }),
    );
    execute(
        "iozone_throughput",
        &json!({
            "content": asked(), "verify_every_byte": true, "children_kind": "processes",
        }),
    );
}

/// The blocks of a file that is left behind are looked at from outside.
#[test]
fn blocks_that_are_written_differ_but_for_the_share_of_duplicates() {
    for (dedupable, duplicates) in [(0.0, 0), (0.25, 256 - 32)] {
        let directory = scratch_directory();
        let changes = json!({
            "content": {"compressible": 0.0, "dedupable": dedupable}, "keep": true,
            "file": "4M", "record": "64k", "tests": "write",
        });
        let iozone = named("iozone");
        let parameters = smoke_with(&iozone.card, &changes);
        iozone.take(&parameters, directory.path()).unwrap();
        let found = fs::read(directory.path().join("iozone.tmp")).unwrap();
        let mut blocks: Vec<_> = found.chunks(PAGE_BYTES).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(1_024 - blocks.len(), duplicates);
    }
}
