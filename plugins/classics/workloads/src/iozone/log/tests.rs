//! Logs of whole trials.

use std::fs;

use serde_json::{json, Value};
use tempfile::TempDir;

use super::super::table::Test;
use super::super::tests::execute;
use super::super::{Iozone, Throughput};
use super::*;
use storage::workload::Workload;
use testing::{assert_refusals_name, scratch_directory};

/// A trial with logs in a directory of their own.
fn logged(workload: &dyn Workload, mut job: Value) -> TempDir {
    let (directory, logs) = (scratch_directory(), scratch_directory());
    job["log_directory"] = json!(logs.path());
    execute(workload, job, directory.path()).result.unwrap();
    logs
}

fn names(logs: &TempDir) -> Vec<String> {
    let entries = logs.path().read_dir().unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Offsets in kB, latencies in us and sizes in bytes of the log called `name`.
fn rows(logs: &TempDir, name: &str) -> Vec<(u64, f64, u64)> {
    let text = fs::read_to_string(logs.path().join(name)).unwrap();
    let rows = text.lines().filter(|line| *line != HEADING);
    rows.map(|row| {
        let words: Vec<_> = row.split_whitespace().collect();
        let [offset, latency, size] = words[..] else {
            panic!("three columns, not {row:?}");
        };
        let number = |word: &str| word.parse().unwrap();
        (number(offset), latency.parse().unwrap(), number(size))
    })
    .collect()
}

fn offsets(logs: &TempDir, name: &str) -> Vec<u64> {
    rows(logs, name).into_iter().map(|(kb, ..)| kb).collect()
}

#[test]
fn every_pass_has_a_log_in_the_order_of_its_operations() {
    for (backend, depth) in [("sync", 1), ("mmap", 1), ("libaio", 3), ("null", 1)] {
        let job = json!({
            "file": "64k", "record": "4k", "tests": Test::ALL, "backend": backend, "depth": depth,
            "classic": true,
        });
        let logs = logged(&Iozone, job);
        let names = names(&logs);
        assert_eq!(names.len(), 21);
        for name in &names {
            let rows = rows(&logs, name);
            assert!(rows.iter().all(|&(_, latency_us, _)| latency_us >= 0.0));
            assert!(rows.iter().any(|&(_, latency_us, _)| latency_us > 0.0));
            let bytes: u64 = rows.iter().map(|&(_, _, bytes)| bytes).sum();
            assert_eq!(bytes, 64 << 10, "{name}");
        }
        let forward: Vec<u64> = (0..16).map(|record| record * 4).collect();
        for name in ["wol.dat", "rwol.dat", "rol.dat", "frol.dat", "pwol.dat"] {
            assert_eq!(offsets(&logs, name), forward, "{name}");
        }
        assert!(offsets(&logs, "revol.dat").iter().eq(forward.iter().rev()));
        assert_eq!(offsets(&logs, "record_rewrite.dat"), [0; 16]);
        // As few records as these the original's stride never leaves.
        assert_eq!(offsets(&logs, "strol.dat"), [0; 16]);
        // Observed with the original from 3.488 on.
        let random =
            [1, 5, 7, 13, 10, 6, 0, 8, 14, 3, 11, 2, 4, 12, 9, 15].map(|record| record * 4);
        assert_eq!(offsets(&logs, "randrol.dat"), random);
        assert_eq!(offsets(&logs, "randwol.dat"), random);
        let groups = rows(&logs, "preadv.dat");
        assert_eq!((groups[0].0, groups[0].2), (0, 64 << 10));
    }
}

#[test]
fn each_child_has_logs_of_its_own_whatever_it_is() {
    for kind in ["threads", "processes"] {
        let job = json!({
            "file": "256k", "record": "4k", "children": 2, "children_kind": kind,
            "stonewall": false,
        });
        let logs = logged(&Throughput, job);
        assert_eq!(names(&logs).len(), 26);
        for name in names(&logs) {
            assert_eq!(rows(&logs, &name).len(), 64, "{kind}, {name}");
        }
        let [first, second] = [0, 1].map(|child| offsets(&logs, &format!("Child_{child}_rol.dat")));
        assert_eq!(first, second);
        assert!(first.is_sorted());
    }
}

#[test]
fn what_a_stopped_child_moved_is_logged_and_no_more() {
    for kind in ["threads", "processes"] {
        let job = json!({
            "file": "1M", "record": "4k", "children": 3, "children_kind": kind,
            "child_counters": true, "phases": ["write", "read"],
        });
        let (directory, logs) = (scratch_directory(), scratch_directory());
        let mut with_logs = job.clone();
        with_logs["log_directory"] = json!(logs.path());
        let taken = execute(&Throughput, with_logs, directory.path());
        taken.result.unwrap();
        for (phase, stem) in [("initial_write", "wol"), ("read", "rol")] {
            for child in 0..3 {
                let moved = &format!("{phase}.1M.4k.3.child_{child}_bytes");
                let rows = rows(&logs, &format!("Child_{child}_{stem}.dat"));
                assert_eq!(rows.len() as u64 * 4096, taken.totals.counters[moved]);
            }
        }
    }
}

#[test]
fn cells_follow_each_other_and_files_in_the_way_are_added_to_only_when_told() {
    let (directory, logs) = (scratch_directory(), scratch_directory());
    let job = |append: bool| {
        json!({
            "file": "64k", "record": ["16k", "32k"], "tests": "write", "retest": false,
            "log_directory": logs.path(), "log_append": append,
        })
    };
    let sizes = [16_384, 16_384, 16_384, 16_384, 32_768, 32_768];
    let logged_sizes = || -> Vec<u64> {
        let rows = rows(&logs, "wol.dat");
        rows.into_iter().map(|(_, _, bytes)| bytes).collect()
    };
    execute(&Iozone, job(false), directory.path())
        .result
        .unwrap();
    assert_eq!(logged_sizes(), sizes);
    let refused = execute(&Iozone, job(false), directory.path())
        .result
        .unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused);
    assert!(refused.message.contains("wol.dat"), "{}", refused.message);
    assert_eq!(logged_sizes(), sizes);
    execute(&Iozone, job(true), directory.path())
        .result
        .unwrap();
    assert_eq!(logged_sizes(), [sizes, sizes].concat());
}

#[test]
fn refusals_name_the_parameter() {
    let directory = scratch_directory();
    let here = directory.path();
    let plan = |workload: &dyn Workload, job: Value| {
        workload.plan(job.as_object().unwrap(), here).map(drop)
    };
    let huge = json!({"file": "1T", "record": "4k", "log_directory": here});
    let absent = json!({"log_directory": here.join("absent")});
    let cases = || {
        [
            (huge.clone(), "log_directory"),
            (absent.clone(), "log_directory"),
            (json!({"log_append": true}), "log_append"),
        ]
    };
    assert_refusals_name(|job| plan(&Iozone, job), cases());
    assert_refusals_name(|job| plan(&Throughput, job), cases());
    let children = json!({"file": "64G", "record": "4k", "children": 8, "log_directory": here});
    assert_refusals_name(|job| plan(&Throughput, job), [(children, "log_directory")]);
}
