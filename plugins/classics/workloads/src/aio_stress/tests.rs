//! The workload as the engine sees it, on a real directory.

use kit::event_sink::Totals;
use kit::EventSink;
use serde_json::json;
use wire::{Event, FailureKind, Sample};

use super::*;
use testing::scratch_directory;

struct Taken {
    samples: Vec<Sample>,
    warnings: Vec<String>,
    totals: Totals,
}

impl Taken {
    fn sample(&self, metric: &str) -> &Sample {
        let found = self.samples.iter().find(|sample| sample.metric == metric);
        found.unwrap()
    }
}

fn taken(parameters: Value) -> Taken {
    let directory = scratch_directory();
    let (mut samples, mut warnings) = (Vec::new(), Vec::new());
    let mut emit = |event| match event {
        Event::Sample(sample) => samples.push(sample),
        Event::Warning(warning) => warnings.push(warning.code),
        _ => {}
    };
    let plan = AioStress.plan(parameters.as_object().unwrap(), directory.path());
    let mut event_sink = EventSink::new(&mut emit);
    plan.unwrap().run(&mut event_sink).unwrap();
    let totals = event_sink.totals;
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    Taken {
        samples,
        warnings,
        totals,
    }
}

#[test]
fn a_stage_makes_a_request_for_each_record_in_batches() {
    let taken = taken(json!({"file": "1M", "record": "16k", "depth": 16, "content": "random"}));
    for stage in ["write", "read", "random_write", "random_read"] {
        let sample = taken.sample(stage);
        assert_eq!((sample.operations, sample.bytes), (64, 1 << 20), "{stage}");
        assert_eq!(sample.latency_ns.as_ref().unwrap().count, 64);
        assert_eq!(
            taken.totals.counters[&format!("{stage}_submits")],
            8,
            "{stage}"
        );
    }
    assert_ne!(taken.totals.checksum, 0);
}

#[test]
fn the_figure_before_fsync_is_the_larger_one() {
    let taken = taken(json!({"file": "1M", "record": "16k", "stages": "write"}));
    let (before, after) = (taken.sample("write_before_fsync"), taken.sample("write"));
    assert!(before.elapsed_s < after.elapsed_s);
    assert!(before.value > after.value);
    let native = before.native.as_ref().unwrap();
    assert!((native.value / (before.value / 1_048_576.0) - 1.0).abs() < 1e-9);
}

/// All of files, contexts and threads, with random contents verified in every read.
#[test]
fn nested_contexts_of_several_files_add_up() {
    for threads in [1, 2, 4] {
        let taken = taken(json!({
            "file": "256k", "files": 2, "contexts": 2, "context_offset": "32k", "record": "8k",
            "threads": threads, "stonewall": false, "depth": 3, "batch": 2, "submit_max": 5,
            "content": "random",
        }));
        // 32 records of the whole file, and 24 of what lies inside, twice.
        assert_eq!(taken.sample("write").operations, 112);
        assert_eq!(taken.sample("random_read").operations, 112);
    }
}

#[test]
fn a_stonewall_leaves_out_what_was_not_begun() {
    let taken = taken(json!({
        "file": "1M", "files": 2, "record": "4k", "threads": 2, "stages": "write",
    }));
    let operations = taken.sample("write").operations;
    assert!((256..=512).contains(&operations), "{operations}");
}

/// The second thread has a context of one record in the middle of each file, and so stops the
/// first one there; what that has left is written before it is read. Which thread is faster is
/// not known, so that it is tried until a stage was cut short.
#[test]
fn what_a_stonewall_left_unwritten_is_there_when_it_is_read() {
    const FILE_BYTES: u64 = 8 << 20;
    let is_cut_short = || {
        let directory = scratch_directory();
        let parameters = json!({
            "file": FILE_BYTES, "files": 2, "contexts": 2, "context_offset": "4094k",
            "record": "4k", "threads": 2, "depth": 1, "names": ["a", "b"], "keep": true,
            "stages": ["write", "read"], "stonewall": true,
        });
        let mut written = 0;
        let mut emit = |event| match event {
            Event::Sample(sample) if sample.metric == "write" => written = sample.bytes,
            _ => {}
        };
        let plan = AioStress.plan(parameters.as_object().unwrap(), directory.path());
        plan.unwrap().run(&mut EventSink::new(&mut emit)).unwrap();
        for name in ["a", "b"] {
            let kept = directory.path().join(name).metadata().unwrap();
            assert_eq!(kept.len(), FILE_BYTES, "{name}");
        }
        written < 2 * FILE_BYTES
    };
    assert!((0..50).any(|_| is_cut_short()));
}

#[test]
fn classic_random_writes_stay_in_the_file() {
    let taken = taken(json!({
        "file": "4M", "record": "64k", "classic": true, "content": "letter",
        "stages": ["write", "random-write", "random-read"],
    }));
    assert_eq!(taken.sample("random_read").operations, 64);
}

/// The file ends with its last whole record, and the original's offsets do not.
#[test]
fn classic_random_reads_may_end_with_the_file() {
    let taken = taken(json!({
        "file": "3M", "record": "100k", "classic": true,
        "stages": ["write", "read", "random-write", "random-read"],
    }));
    assert_eq!(taken.sample("random_read").operations, 30);
}

#[test]
fn what_is_read_is_laid_out_unless_written() {
    let taken = taken(json!({
        "file": "260k", "record": "64k", "stages": ["read", "random-read"], "content": "random",
    }));
    assert_eq!(taken.sample("read").operations, 4);
}

#[test]
fn threads_without_work_are_left_out_with_a_warning() {
    let taken = taken(json!({"file": "256k", "threads": 3, "stages": "random-write"}));
    assert_eq!(taken.warnings, ["threads-left-out"]);
}

#[test]
fn a_file_in_the_way_is_refused_and_kept() {
    let directory = scratch_directory();
    let path = directory.path().join("aio-stress.0");
    std::fs::write(&path, "precious").unwrap();
    let failure = AioStress.plan(&Map::new(), directory.path()).err().unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn the_files_of_the_last_cell_are_kept_where_that_is_asked_for() {
    let directory = scratch_directory();
    let parameters = json!({
        "file": "64k", "files": 2, "names": ["a", "b"], "keep": true, "record": ["4k", "16k"],
        "stages": "write",
    });
    let plan = AioStress.plan(parameters.as_object().unwrap(), directory.path());
    plan.unwrap().run(&mut EventSink::new(&mut |_| {})).unwrap();
    for name in ["a", "b"] {
        let kept = directory.path().join(name).metadata().unwrap();
        assert_eq!(kept.len(), 64 << 10);
    }
    assert_eq!(directory.path().read_dir().unwrap().count(), 2);
}
