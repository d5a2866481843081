//! The workload as the engine sees it, on a real directory.

use kit::EventSink;
use serde_json::json;
use wire::{Event, FailureKind, Sample};

use super::*;
use testing::scratch_directory;

fn samples(parameters: Value) -> Vec<Sample> {
    let directory = scratch_directory();
    let mut samples = Vec::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            samples.push(sample);
        }
    };
    let plan = Tiobench.plan(parameters.as_object().unwrap(), directory.path());
    plan.unwrap().run(&mut EventSink::new(&mut emit)).unwrap();
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    samples
}

fn find<'a>(samples: &'a [Sample], metric: &str) -> &'a Sample {
    samples
        .iter()
        .find(|sample| sample.metric == metric)
        .unwrap()
}

#[test]
fn every_version_moves_the_same_and_credits_its_own() {
    for (version, credited) in [("0.3.3", 1.0), ("20170504", 8.0), ("20241028", 1.0)] {
        let samples = samples(json!({
            "version": version, "file": "256k", "threads": 2, "random_operations": 8,
            "content": "random",
        }));
        for (metric, operations) in [("write", 128), ("random_write", 16), ("random_read", 16)] {
            let sample = find(&samples, metric);
            assert_eq!(
                (sample.operations, sample.bytes),
                (operations, operations * 4_096)
            );
        }
        let random = find(&samples, "random_write");
        let native = random.native.as_ref().unwrap();
        let inflation = native.value * 1_048_576.0 / random.value;
        assert!(
            (inflation / credited - 1.0).abs() < 1e-9,
            "{version}: {inflation}"
        );
        assert_eq!(
            native.unit.contains("credited"),
            credited > 1.0,
            "{version}"
        );
    }
}

#[test]
fn latency_is_that_of_the_operations() {
    let samples = samples(json!({"file": "64k", "threads": 2, "random_operations": 5}));
    let latency = find(&samples, "read").latency_ns.as_ref().unwrap();
    assert_eq!(latency.count, 32);
    let mean = find(&samples, "read_latency_mean");
    assert!((mean.value - latency.mean / 1e9).abs() < 1e-12);
    let max = find(&samples, "read_latency_max");
    assert_eq!(max.native.as_ref().unwrap().value, latency.max as f64 / 1e6);
    assert!(max.value <= find(&samples, "read").elapsed_s);
}

#[test]
fn a_phase_alone_finds_its_files_laid_out() {
    for version in ["0.3.3", "20241028"] {
        for phase in ["random-write", "read", "random-read"] {
            let samples = samples(json!({
                "version": version, "file": "64k", "threads": 2, "random_operations": 5,
                "phases": phase, "content": "random",
            }));
            let calls = samples
                .iter()
                .filter(|sample| sample.metric.ends_with("_time"));
            assert_eq!(
                calls.clone().count(),
                samples.len() - 4,
                "{version} {phase}"
            );
            for call in calls {
                assert_eq!(call.operations, 2, "one of each thread: {}", call.metric);
            }
        }
    }
}

/// As one thread is at it while the other waits, the phase takes as long as both.
#[test]
fn threads_may_take_turns() {
    let samples = samples(json!({
        "file": "256k", "threads": 2, "in_turn": true, "sync": true, "phases": "write",
    }));
    assert_eq!(find(&samples, "write").operations, 128);
    let waited_s = find(&samples, "write").elapsed_s;
    let worked_s = 128.0 * find(&samples, "write_latency_mean").value;
    assert!(worked_s <= waited_s, "{worked_s} s of work in {waited_s} s");
}

#[test]
fn a_file_in_the_way_is_refused_and_kept() {
    let directory = scratch_directory();
    let path = directory.path().join("tiotest.3");
    std::fs::write(&path, "precious").unwrap();
    let failure = Tiobench.plan(&Map::new(), directory.path()).err().unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    let fewer = json!({"threads": 3});
    assert!(Tiobench
        .plan(fewer.as_object().unwrap(), directory.path())
        .is_ok());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}
