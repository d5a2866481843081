//! Contents of chosen shares, in every workload that takes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kit::EventSink;
use serde_json::{json, Map, Value};
use storage::workload::{Workload, ALL};
use wire::{Failure, FailureKind};

const PAGE_BYTES: usize = 4_096;

fn asked() -> Value {
    json!({"compressible": 0.5, "dedupable": 0.25})
}

fn workload(name: &str) -> &'static dyn Workload {
    let found = ALL.iter().find(|known| known.card().name == name);
    *found.unwrap()
}

/// Counters of a trial with the parameters of its smoke test and these.
fn execute(
    workload: &dyn Workload,
    changes: Value,
    directory: &Path,
) -> Result<BTreeMap<String, u64>, Failure> {
    let smoke = workload.card().smoke;
    let mut parameters: Map<String, Value> = smoke.as_object().unwrap().clone();
    parameters.extend(changes.as_object().unwrap().clone());
    let mut emit = |_| {};
    let mut event_sink = EventSink::new(&mut emit);
    workload
        .plan(&parameters, directory)?
        .run(&mut event_sink)
        .map(|()| event_sink.totals.counters)
}

/// In memory, so that what others read from a disk does not contradict the declared access.
fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

#[test]
fn every_workload_that_takes_shares_measures_them_and_finds_what_it_wrote() {
    let mut taken = Vec::new();
    for workload in ALL {
        let card = workload.card();
        if card.parameters["$defs"].get("Shares").is_none() {
            continue;
        }
        let mut changes = json!({"content": asked()});
        if card.parameters["properties"].get("verify").is_some() {
            changes["verify"] = true.into();
        }
        let directory = scratch_directory();
        let counters = execute(*workload, changes, directory.path());
        let counters = counters.unwrap_or_else(|failure| panic!("{}: {failure:?}", card.name));
        for (share, permille) in [("compressible", 500_u64), ("dedupable", 250)] {
            let found = counters[&format!("content_{share}_permille")];
            assert!(found.abs_diff(permille) <= 30, "{}: {found}", card.name);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        taken.push(card.name);
    }
    let wanted = [
        "iozone",
        "iozone_throughput",
        "postmark",
        "fs_mark",
        "tiobench",
        "aio_stress",
        "stream",
        "random",
    ];
    assert_eq!(taken, wanted);
}

#[test]
fn queues_verify_what_they_copied() {
    let directory = scratch_directory();
    for (name, backend) in [("stream", "libaio"), ("random", "uring")] {
        let changes = json!({
            "content": asked(), "verify": true, "backend": backend, "depth": 4, "threads": 2,
        });
        execute(workload(name), changes, directory.path()).unwrap();
    }
    let changes = json!({
        "content": asked(), "verify_every_byte": true, "backend": "libaio", "depth": 5,
        "tests": ["write", "record-rewrite", "random"],
    });
    execute(workload("iozone"), changes, directory.path()).unwrap();
}

#[test]
fn iozone_verifies_every_byte_in_processes_and_in_vectored_calls() {
    let directory = scratch_directory();
    let changes = json!({
        "content": asked(), "verify_every_byte": true, "file": "1M", "record": ["6k", "256k"],
        "tests": ["write", "record-rewrite", "random", "fwrite", "fread", "pwritev", "preadv"],
    });
    execute(workload("iozone"), changes, directory.path()).unwrap();
    let changes = json!({
        "content": asked(), "verify_every_byte": true, "children_kind": "processes",
    });
    execute(workload("iozone_throughput"), changes, directory.path()).unwrap();
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
        execute(workload("iozone"), changes, directory.path()).unwrap();
        let found = fs::read(directory.path().join("iozone.tmp")).unwrap();
        let mut blocks: Vec<_> = found.chunks(PAGE_BYTES).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(1_024 - blocks.len(), duplicates);
    }
}

#[test]
fn a_share_beyond_its_range_names_the_parameter() {
    let directory = scratch_directory();
    let changes = json!({"content": {"compressible": 2}});
    let failure = execute(workload("stream"), changes, directory.path()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadJob);
    assert_eq!(failure.parameter.as_deref(), Some("content.compressible"));
    assert!(
        failure.message.contains("use 0 to 1"),
        "{}",
        failure.message
    );
}
