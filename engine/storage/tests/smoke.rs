//! Every workload in the list, at the smoke size of its card, with and without I/O: sums add
//! up, every metric is given at every point of the grid, and nothing is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kit::ledger::Totals;
use kit::Ledger;
use serde_json::{json, Map, Value};
use storage::workload::{Workload, ALL};
use wire::{AccessVerdict, Event, Sample};

struct Taken {
    events: Vec<Event>,
    totals: Totals,
}

/// Not in the temporary directory, which may have nothing under its page cache.
fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn execute(workload: &dyn Workload, parameters: &Map<String, Value>, directory: &Path) -> Taken {
    let mut events = Vec::new();
    let mut emit = |event| events.push(event);
    let mut ledger = Ledger::new(&mut emit);
    let trial = workload.plan(parameters, directory).unwrap();
    trial.run(&mut ledger).unwrap();
    let totals = ledger.totals;
    Taken { events, totals }
}

fn samples(taken: &Taken) -> Vec<&Sample> {
    let events = taken.events.iter();
    events
        .filter_map(|event| match event {
            Event::Sample(sample) => Some(sample),
            _ => None,
        })
        .collect()
}

/// The smoke parameters of a card with some of them changed.
fn smoke_with(workload: &dyn Workload, changes: Value) -> Map<String, Value> {
    let mut parameters = workload.card().smoke.as_object().unwrap().clone();
    parameters.extend(changes.as_object().unwrap().clone());
    parameters
}

fn check(workload: &dyn Workload, changes: Value) -> Taken {
    let directory = scratch_directory();
    let parameters = smoke_with(workload, changes);
    let taken = execute(workload, &parameters, directory.path());
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "files are left behind");
    assert_sums(&taken);
    assert_metrics(workload, &taken);
    taken
}

fn assert_sums(taken: &Taken) {
    let (mut operations, mut bytes) = (0, 0);
    for event in &taken.events {
        if let Event::Interval(interval) = event {
            operations += interval.operations;
            bytes += interval.bytes;
        }
    }
    assert!(operations > 0);
    assert_eq!(
        (operations, bytes),
        (taken.totals.operations, taken.totals.bytes)
    );
}

fn assert_metrics(workload: &dyn Workload, taken: &Taken) {
    let card = workload.card();
    let declared: BTreeMap<_, _> = card
        .metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric))
        .collect();
    let mut seen = BTreeSet::new();
    for sample in samples(taken) {
        let metric = declared[sample.metric.as_str()];
        assert_eq!(
            (sample.unit, sample.direction),
            (metric.unit, metric.direction)
        );
        assert!(sample.value.is_finite() && sample.value > 0.0, "{sample:?}");
        assert!(sample.at.keys().eq(card.grid.iter()), "{sample:?}");
        if let Some(latency) = &sample.latency_ns {
            assert_eq!(latency.count, sample.operations, "{sample:?}");
        }
        seen.insert((
            sample.metric.as_str(),
            Value::from(sample.at.clone()).to_string(),
        ));
    }
    let points: BTreeSet<_> = seen.iter().map(|(_, point)| point).collect();
    assert_eq!(seen.len(), declared.len() * points.len(), "{seen:?}");
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
    for sample in samples(&taken) {
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
    let metrics: Vec<_> = samples(&taken).iter().map(|s| s.metric.as_str()).collect();
    assert_eq!(metrics, ["stride_read", "fread", "freread"]);
    assert_ne!(taken.totals.checksum, 0);
}

#[test]
fn iozone_native_figure_is_the_truncated_one() {
    let taken = check(iozone(), json!({}));
    for sample in samples(&taken) {
        let native = sample.native.as_ref().unwrap();
        let bytes_per_s = (sample.bytes as f64 / sample.elapsed_s).floor();
        assert_eq!(native.value, (bytes_per_s / 1024.0).floor());
        assert_eq!(native.unit, "kB/s");
    }
}
