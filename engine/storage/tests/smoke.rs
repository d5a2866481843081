//! Every workload in the list, at the smoke size of its card, with and without I/O: sums add
//! up, every metric is given at every point of the grid, and nothing is left behind.

mod common;

use std::fs;
use std::path::Path;

use common::subject;
use serde_json::{json, Map, Value};
use storage::workload::{Workload, ALL};
use testing::subject::smoke_with;
use testing::Taken;
use wire::AccessVerdict;

/// In memory, so that what others read from a disk does not contradict the declared access.
fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn execute(workload: &dyn Workload, parameters: &Map<String, Value>, directory: &Path) -> Taken {
    let trial = subject(workload, directory).plan(parameters).unwrap();
    Taken::of(trial).unwrap()
}

fn check(workload: &dyn Workload, changes: Value) -> Taken {
    let directory = scratch_directory();
    let card = workload.card();
    let taken = execute(workload, &smoke_with(&card, &changes), directory.path());
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "files are left behind");
    taken.assert_sums();
    taken.assert_metrics(&card);
    for sample in taken.samples() {
        assert!(sample.value > 0.0, "{sample:?}");
    }
    taken
}

#[test]
fn every_workload_runs_at_its_smoke_size_and_adds_up() {
    for workload in ALL {
        let taken = check(*workload, json!({}));
        if let Some(access) = &taken.totals.access {
            assert_eq!(access.verdict, AccessVerdict::Confirmed, "{access:?}");
        }
    }
}

#[test]
fn every_workload_runs_without_io() {
    for workload in ALL {
        let taken = check(*workload, json!({"backend": "null"}));
        assert!(taken.totals.access.is_none());
    }
}

fn iozone() -> &'static dyn Workload {
    let found = ALL.iter().find(|known| known.card().name == "iozone");
    *found.unwrap()
}

#[test]
fn iozone_gives_latencies_when_each_operation_is_timed() {
    let taken = check(iozone(), json!({"timing": "operation"}));
    for sample in taken.samples() {
        let latency = sample.latency_ns.as_ref().unwrap();
        assert_eq!(latency.count, sample.operations);
    }
}

#[test]
fn iozone_takes_its_options_together() {
    check(
        iozone(),
        json!({"include_fsync": true, "include_close": true, "content": "random", "stride": 3}),
    );
}

#[test]
fn iozone_lays_out_the_file_when_no_test_writes_it() {
    let directory = scratch_directory();
    let parameters = json!({"file": "64k", "record": "4k", "tests": ["fread", "stride"]});
    let taken = execute(iozone(), parameters.as_object().unwrap(), directory.path());
    let metrics: Vec<_> = taken.samples().iter().map(|s| s.metric.as_str()).collect();
    assert_eq!(metrics, ["stride_read", "fread", "freread"]);
    assert_ne!(taken.totals.checksum, 0);
}

#[test]
fn iozone_native_figure_is_the_truncated_one() {
    let taken = check(iozone(), json!({}));
    for sample in taken.samples() {
        let native = sample.native.as_ref().unwrap();
        let bytes_per_s = (sample.bytes as f64 / sample.elapsed_s).floor();
        assert_eq!(native.value, (bytes_per_s / 1024.0).floor());
        assert_eq!(native.unit, "kB/s");
    }
}
