//! Whole trials of many children.

use serde_json::json;
use wire::{Event, FailureKind};

use super::super::tests::{execute, files_in};
use super::*;
use testing::scratch_directory;

#[test]
fn processes_do_all_that_threads_do() {
    let directory = scratch_directory();
    let job = |kind: &str| {
        json!({
            "file": "64k", "record": "4k", "children": 3, "stonewall": false,
            "children_kind": kind, "child_counters": true,
        })
    };
    let [threads, processes] = ["threads", "processes"].map(|kind| {
        let taken = execute(&Throughput, job(kind), directory.path());
        taken.result.as_ref().unwrap();
        taken
    });
    assert!(threads.samples.keys().eq(processes.samples.keys()));
    assert_eq!(threads.samples.len(), 13 * 5);
    assert_eq!(threads.totals.checksum, processes.totals.checksum);
    assert_eq!(threads.totals.bytes, 13 * 3 * (64 << 10));
    assert_eq!(threads.totals.bytes, processes.totals.bytes);
    let counters = &processes.totals.counters;
    assert_eq!(counters["mixed.64k.4k.3.child_2_bytes"], 64 << 10);
    assert_eq!(files_in(directory.path()), 0);
}

#[test]
fn every_backend_reads_what_system_calls_do() {
    let directory = scratch_directory();
    let checksum = |backend: &str, depth: u32, kind: &str| {
        let job = json!({
            "file": "64k", "record": "4k", "children": [1, 2], "stonewall": false,
            "children_kind": kind, "backend": backend, "depth": depth, "content": "random",
        });
        let taken = execute(&Throughput, job, directory.path());
        taken.result.unwrap();
        taken.totals.checksum
    };
    let called = checksum("sync", 1, "threads");
    for (backend, depth) in [("mmap", 1), ("libaio", 3)] {
        for kind in ["threads", "processes"] {
            assert_eq!(checksum(backend, depth, kind), called, "{backend}, {kind}");
        }
    }
}

#[test]
fn stopped_writers_complete_their_files() {
    for (kind, backend) in [
        ("threads", "sync"),
        ("processes", "sync"),
        ("threads", "libaio"),
    ] {
        for (phase, include_close) in [("write", false), ("write", true), ("pwrite", true)] {
            let directory = scratch_directory();
            let job = json!({
                "file": "4M", "record": "4k", "children": 4, "children_kind": kind,
                "phases": [phase, "reread"], "include_close": include_close, "keep": true,
                "backend": backend,
            });
            let taken = execute(&Throughput, job, directory.path());
            taken.result.unwrap();
            // A child without a record is said to have none, and has no rate.
            let least: Vec<_> = taken.totals.counters.values().collect();
            assert_eq!(least.contains(&&0), !taken.warnings.is_empty());
            let rates = taken.samples.keys().filter(|name| name.ends_with("_min"));
            assert_eq!(
                rates.count(),
                least.iter().filter(|&&&bytes| bytes > 0).count()
            );
            assert_eq!(files_in(directory.path()), 4);
            for file in directory.path().read_dir().unwrap() {
                assert_eq!(file.unwrap().metadata().unwrap().len(), 4 << 20);
            }
        }
    }
}

#[test]
fn children_with_contents_and_options_of_their_own_read_back_what_they_wrote() {
    let directory = scratch_directory();
    for kind in ["threads", "processes"] {
        let job = json!({
            "file": "64k", "record": "4k", "children": 2, "children_kind": kind,
            "phases": ["read", "mixed", "random-write", "stride", "fread"],
            "mixed_order": "sequential", "mixed_readers": 1, "content": "diagnostic",
            "verify_every_byte": true, "locks": "record", "stride_order": "whole-file",
        });
        let taken = execute(&Throughput, job, directory.path());
        taken.result.unwrap();
        assert_ne!(taken.totals.checksum, 0);
    }
}

#[test]
fn thinking_is_not_time_of_the_children() {
    let directory = scratch_directory();
    let job = json!({
        "file": "64k", "record": "4k", "children": 3, "phases": ["write", "read"], "think_ms": 1,
        "child_counters": true,
    });
    let taken = execute(&Throughput, job, directory.path());
    taken.result.unwrap();
    let counters = taken.totals.counters;
    for phase in ["initial_write", "read"] {
        for child in 0..3 {
            let of = |what| counters[&format!("{phase}.64k.4k.3.child_{child}_{what}")];
            let records = of("bytes") / 4_096;
            // A system call takes no less than this.
            assert!(of("elapsed_ns") >= 50 * records, "{counters:?}");
        }
    }
    assert!(
        taken.totals.timed_ns >= 2 * 16_000_000,
        "thinking takes time"
    );
}

#[test]
fn a_file_of_any_child_that_is_in_the_way_is_refused() {
    let directory = scratch_directory();
    std::fs::write(directory.path().join("iozone.DUMMY.1"), "precious").unwrap();
    let job = json!({"children": 2});
    let refused = Throughput.plan(job.as_object().unwrap(), directory.path());
    assert_eq!(refused.err().unwrap().kind, FailureKind::Refused);
}

#[test]
fn latencies_belong_to_the_figure_that_is_quoted() {
    let directory = scratch_directory();
    let job = json!({
        "file": "64k", "record": "4k", "children": 2, "phases": ["write", "read"],
        "timing": "operation", "stonewall": false,
    });
    let mut counts = std::collections::BTreeMap::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            counts.insert(
                sample.metric,
                sample.latency_ns.map(|latency| latency.count),
            );
        }
    };
    let trial = Throughput.plan(job.as_object().unwrap(), directory.path());
    trial.unwrap().run(&mut EventSink::new(&mut emit)).unwrap();
    assert_eq!(counts["read"], Some(32));
    assert_eq!(counts["read_parent"], None);
}

#[test]
fn what_a_trial_kept_is_taken_over_by_the_next_and_goes() {
    let directory = scratch_directory();
    let job = |phases: &[&str], more: Value| {
        let mut job = json!({
            "file": "64k", "record": "4k", "stonewall": false, "content": "random",
            "phases": phases,
        });
        job.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        job
    };
    let absent = execute(
        &Throughput,
        job(&["fread"], json!({"existing": "take_over"})),
        directory.path(),
    );
    assert_eq!(
        absent.result.unwrap_err().parameter.as_deref(),
        Some("existing")
    );
    for kind in ["threads", "processes"] {
        let kept = job(&["write"], json!({"keep": true, "children_kind": kind}));
        execute(&Throughput, kept, directory.path()).result.unwrap();
        assert_eq!(files_in(directory.path()), 2);
        let taken = job(
            &["fwrite", "fread"],
            json!({"existing": "take_over", "children_kind": kind}),
        );
        let taken = execute(&Throughput, taken, directory.path());
        taken.result.unwrap();
        assert_eq!(taken.samples["fread"].bytes, 2 * (64 << 10));
        assert_eq!(files_in(directory.path()), 0);
    }
}

#[test]
fn children_are_released_one_after_the_other_and_their_own_time_begins_then() {
    for kind in ["threads", "processes"] {
        let directory = scratch_directory();
        let logs = scratch_directory();
        let job = json!({
            "file": "64k", "record": "4k", "children": 3, "children_kind": kind,
            "stonewall": false, "phases": "write", "release_pause_us": 60_000,
            "child_counters": true, "log_directory": logs.path(),
        });
        let taken = execute(&Throughput, job, directory.path());
        taken.result.unwrap();
        let [children, parent] =
            ["initial_write", "initial_write_parent"].map(|metric| &taken.samples[metric]);
        let whole_s = 3.0 * 65_536.0 / parent.value;
        assert!(whole_s >= 0.12, "{kind}: {whole_s} s");
        assert!(children.value > parent.value);
        // The pause is in no child's own time, nor in a latency.
        let log = std::fs::read_to_string(logs.path().join("Child_2_wol.dat")).unwrap();
        let latencies_us = log.lines().skip(1).map(|row| {
            let latency = row.split_whitespace().nth(1).unwrap();
            latency.parse::<f64>().unwrap()
        });
        let own_ns = taken.totals.counters["initial_write.64k.4k.3.child_2_elapsed_ns"];
        assert!(
            latencies_us.sum::<f64>() <= own_ns as f64 / 1e3 + 1.0,
            "{own_ns} ns: {log}"
        );
    }
}
