//! Whole trials of a single stream, and what tests of trials have in common.

use std::collections::BTreeMap;

use kit::event_sink::Totals;
use wire::{Event, FailureKind, Sample};

use super::*;
use testing::scratch_directory;

/// What a trial gave.
pub struct Taken {
    pub samples: BTreeMap<String, Sample>,
    pub warnings: Vec<String>,
    pub totals: Totals,
    pub result: Result<(), Failure>,
}

pub fn execute(workload: &dyn Workload, parameters: Value, directory: &Path) -> Taken {
    let (mut samples, mut warnings) = (BTreeMap::new(), Vec::new());
    let mut emit = |event| match event {
        Event::Sample(sample) => {
            samples.insert(sample.metric.clone(), sample);
        }
        Event::Warning(warning) => warnings.push(warning.code),
        _ => {}
    };
    let mut event_sink = EventSink::new(&mut emit);
    let trial = workload.plan(parameters.as_object().unwrap(), directory);
    let result = trial.and_then(|trial| trial.run(&mut event_sink));
    let totals = event_sink.totals;
    Taken {
        samples,
        warnings,
        totals,
        result,
    }
}

pub fn files_in(directory: &Path) -> usize {
    directory.read_dir().unwrap().count()
}

#[test]
fn all_options_together_read_back_what_they_wrote() {
    for (content, native) in [
        ("diagnostic", "ops/s"),
        ("uniform", "us/op"),
        ("random", "kB/s"),
    ] {
        let directory = scratch_directory();
        let job = json!({
            "file": "512k", "record": "4k", "tests": Test::ALL, "content": content,
            "native": native, "verify_every_byte": true, "locks": "record", "open_sync": "dsync",
            "jitter": true, "purge": "64k", "include_fsync": true, "include_close": true,
            "stride_order": "whole-file", "random_order": "3.487", "pattern": 7,
            "timing": "operation",
        });
        let taken = execute(&Iozone, job, directory.path());
        taken.result.unwrap();
        assert_eq!(taken.samples.len(), 21);
        assert_eq!(taken.samples["repreadv"].operations, 8);
        assert_eq!(taken.samples["random_read"].operations, 128);
        let native_units = taken
            .samples
            .values()
            .map(|sample| sample.native.clone().unwrap().unit);
        assert!(native_units.into_iter().all(|unit| unit == native));
        assert_eq!(files_in(directory.path()), 0);
    }
}

#[test]
fn without_retests_the_second_passes_are_left_out() {
    let directory = scratch_directory();
    let job = json!({"file": "128k", "record": "4k", "retest": false, "locks": "file"});
    let taken = execute(&Iozone, job, directory.path());
    taken.result.unwrap();
    let metrics: Vec<&str> = taken.samples.keys().map(String::as_str).collect();
    let wanted = [
        "backward_read",
        "fread",
        "fwrite",
        "random_read",
        "random_write",
        "read",
        "record_rewrite",
        "stride_read",
        "write",
    ];
    assert_eq!(metrics, wanted);
}

#[test]
fn a_file_that_was_kept_can_be_read_later_and_stays() {
    let directory = scratch_directory();
    let make = json!({
        "file": ["64k", "128k"], "record": "4k", "tests": "write", "keep": true, "name": "kept",
        "content": "random",
    });
    execute(&Iozone, make.clone(), directory.path())
        .result
        .unwrap();
    let path = directory.path().join("kept");
    assert_eq!(path.metadata().unwrap().len(), 128 << 10);

    let read = |changes: Value| {
        let mut job = json!({
            "file": "128k", "record": "8k", "tests": ["read", "preadv", "fread"],
            "existing": "read", "name": "kept", "content": "random",
        });
        job.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        execute(&Iozone, job, directory.path())
    };
    // The bytes of the file are those of records of 4k.
    let same = read(json!({"record": "4k"}));
    same.result.unwrap();
    assert_ne!(same.totals.checksum, 0);
    let other = read(json!({"content": "classic"})).result.unwrap_err();
    assert_eq!(other.kind, FailureKind::Verification);
    read(json!({"content": "classic", "verify": false}))
        .result
        .unwrap();
    let short = read(json!({"file": "256k"})).result.unwrap_err();
    assert_eq!(short.parameter.as_deref(), Some("existing"));
    let again = execute(&Iozone, make, directory.path()).result.unwrap_err();
    assert_eq!(again.kind, FailureKind::Refused);
    assert_eq!(path.metadata().unwrap().len(), 128 << 10);
}

#[test]
fn classic_brings_the_defects_back() {
    let directory = scratch_directory();
    let backward_passes = |classic: bool| {
        let job = json!({"classic": classic});
        let (params, _) = Params::parse(job.as_object().unwrap()).unwrap();
        params.passes(Test::Backward).len()
    };
    assert_eq!((backward_passes(false), backward_passes(true)), (1, 2));
    let stride_order = |job: serde_json::Value| {
        let plan = Iozone.plan(job.as_object().unwrap(), directory.path());
        plan.unwrap().effective()["stride_order"].clone()
    };
    assert_eq!(stride_order(json!({})), "whole-file");
    assert_eq!(stride_order(json!({"classic": true})), "classic");
    let mended = json!({"classic": true, "stride_order": "whole-file"});
    assert_eq!(stride_order(mended), "whole-file");
}

#[test]
fn only_the_classic_stride_is_warned_of() {
    let directory = scratch_directory();
    let warnings = |order: &str| {
        let job = json!({"file": "64k", "record": "4k", "tests": "stride", "stride_order": order});
        execute(&Iozone, job, directory.path()).warnings
    };
    assert_eq!(warnings("classic"), ["stride-degenerate"]);
    assert!(warnings("whole-file").is_empty());
}

#[test]
fn think_time_is_taken_off() {
    let directory = scratch_directory();
    let job = json!({"file": "64k", "record": "4k", "tests": "write", "think_ms": 1});
    let taken = execute(&Iozone, job, directory.path());
    taken.result.unwrap();
    assert!(taken.totals.timed_ns >= 2 * 16_000_000);
    let counted_s: f64 = taken.samples.values().map(|sample| sample.elapsed_s).sum();
    assert!(counted_s <= taken.totals.timed_ns as f64 / 1e9 - 0.032);
}

/// All tests, those on C streams too; what they wrote is the same, however it was written.
#[test]
fn every_backend_writes_and_reads_what_system_calls_do() {
    let directory = scratch_directory();
    let with = |name: &str, changes: Value| {
        let mut job = json!({
            "file": "100k", "record": "8k", "tests": Test::ALL, "content": "diagnostic",
            "verify_every_byte": true, "keep": true, "name": name, "timing": "operation",
        });
        job.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        let taken = execute(&Iozone, job, directory.path());
        taken.result.unwrap();
        let operations: Vec<u64> = taken.samples.values().map(|s| s.operations).collect();
        let written = std::fs::read(directory.path().join(name)).unwrap();
        (operations, taken.totals.checksum, written)
    };
    let called = with("called", json!({}));
    assert_eq!(called.0.len(), 21);
    for (name, changes) in [
        ("m1", json!({"backend": "mmap"})),
        (
            "m2",
            json!({"backend": "mmap", "msync": "async", "locks": "record"}),
        ),
        (
            "m3",
            json!({"backend": "mmap", "msync": "sync", "locks": "file"}),
        ),
        ("q1", json!({"backend": "libaio", "include_close": true})),
        (
            "q2",
            json!({"backend": "libaio", "depth": 5, "locks": "record"}),
        ),
        (
            "q3",
            json!({"backend": "libaio", "depth": 64, "copies": true, "timing": "pass"}),
        ),
    ] {
        assert!(with(name, changes) == called, "{name}");
    }
}

#[test]
fn blocks_that_all_differ_are_read_back_from_every_backend() {
    for backend in ["sync", "mmap", "libaio"] {
        let directory = scratch_directory();
        let job = json!({
            "file": "6M", "record": "512k", "tests": Test::ALL, "backend": backend,
            "depth": if backend == "libaio" { 8 } else { 1 }, "verify_every_byte": true,
            "content": {"compressible": 0.5, "dedupable": 0.25},
        });
        let taken = execute(&Iozone, job, directory.path());
        taken
            .result
            .unwrap_or_else(|failure| panic!("{backend}: {failure:?}"));
    }
}

#[test]
fn a_depth_that_is_not_reached_is_warned_of() {
    let directory = scratch_directory();
    let job = json!({"file": "64k", "record": "4k", "tests": "write", "backend": "libaio"});
    let warnings = |depth: u64| {
        let mut job = job.clone();
        job["depth"] = depth.into();
        execute(&Iozone, job, directory.path()).warnings
    };
    assert!(warnings(1).is_empty());
    assert_eq!(warnings(2), ["depth-not-reached"]);
}
