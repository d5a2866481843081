//! Out-of-cache access by the real binary: from the device, or not at all.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{json, Value};
use wire::{AccessVerdict, FailureKind};

use crate::common::{end, left_in, run, scratch_directory, start};

const MIB: u64 = 1 << 20;

fn job(workload: &str, directory: &Path, mut parameters: Value) -> Value {
    parameters["access"] = json!("out-of-cache");
    json!({
        "protocol": wire::PROTOCOL,
        "workload": workload,
        "parameters": parameters,
        "target": {"directory": directory},
    })
}

/// Whether this host lets us bound the cache.
#[allow(clippy::print_stderr)]
fn is_possible(output: &Output) -> bool {
    let failure = end(output).failure;
    let lacking = failure.filter(|failure| failure.kind == FailureKind::HostLacks);
    if let Some(failure) = &lacking {
        eprintln!("not tested: {}", failure.message);
    }
    lacking.is_none()
}

fn confirmed(workload: &str, parameters: Value) {
    let directory = scratch_directory();
    let output = run(&["run"], &job(workload, directory.path(), parameters));
    if !is_possible(&output) {
        return;
    }
    let end = end(&output);
    assert!(end.failure.is_none(), "{:?}", end.failure);
    let access = end.access.unwrap();
    assert_eq!(access.verdict, AccessVerdict::Confirmed, "{access:?}");
    assert!(access.resident.unwrap() <= 0.01, "{access:?}");
    assert!(access.delivered.unwrap() >= 0.9, "{access:?}");
    assert!(access.memory_limit_bytes.unwrap() < 64 * MIB, "{access:?}");
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn every_test_of_iozone_reads_from_the_device() {
    confirmed(
        "iozone",
        json!({"file": "24M", "record": ["64k", "1M"], "stride_order": "whole-file"}),
    );
}

#[test]
fn teams_of_threads_read_from_the_device() {
    let parameters = json!({"file": "16M", "record": "64k", "children": 3, "stonewall": false});
    confirmed("iozone_throughput", parameters);
    confirmed(
        "tiobench",
        json!({"file": "16M", "block": "16k", "threads": 2, "random_operations": 20}),
    );
}

#[test]
fn processes_read_from_the_device() {
    let parameters = json!({
        "file": "16M", "record": "256k", "children": 2, "children_kind": "processes",
    });
    confirmed("iozone_throughput", parameters);
}

#[test]
fn blocks_that_are_read_again_from_memory_fail_the_trial() {
    let directory = scratch_directory();
    let parameters = json!({"file": "1M", "threads": 1, "random_operations": 4000});
    let output = run(&["run"], &job("tiobench", directory.path(), parameters));
    if !is_possible(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let end = end(&output);
    assert_eq!(end.failure.unwrap().kind, FailureKind::Access);
    assert_eq!(end.access.unwrap().verdict, AccessVerdict::Contradicted);
}

#[test]
fn the_group_of_an_engine_that_was_killed_is_removed_by_the_next() {
    let directory = scratch_directory();
    let endless = json!({"file": "64M", "record": 512, "access": "out-of-cache"});
    let mut child = start(&["run"], &job("iozone", directory.path(), endless));
    let name = format!("tiltyard-{}-", child.id());
    let groups = format!("/proc/{}/cgroup", child.id());
    let is_in_its_group = loop {
        let is_inside = fs::read_to_string(&groups).unwrap().contains(&name);
        if is_inside || child.try_wait().unwrap().is_some() {
            break is_inside;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    if !is_in_its_group {
        assert!(!is_possible(&output), "{output:?}");
        return;
    }
    confirmed(
        "iozone",
        json!({"file": "8M", "record": "1M", "tests": "read"}),
    );
    assert!(!exists_below(Path::new("/sys/fs/cgroup"), &name));
}

fn exists_below(group: &Path, prefix: &str) -> bool {
    let Ok(entries) = fs::read_dir(group) else {
        return false;
    };
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_directory).any(|entry| {
        entry.file_name().to_string_lossy().starts_with(prefix)
            || exists_below(&entry.path(), prefix)
    })
}

#[test]
fn memory_itself_may_bound_the_cache_without_a_group() {
    let directory = scratch_directory();
    let parameters = json!({
        "file": "8M", "record": "1M", "tests": ["read", "random"], "cache_limit": "1T",
    });
    let end = end(&run(&["run"], &job("iozone", directory.path(), parameters)));
    let access = end.access.unwrap();
    assert_eq!(access.verdict, AccessVerdict::Confirmed, "{access:?}");
    assert_eq!(access.memory_limit_bytes, kit::proc::machine_memory_bytes());
}
