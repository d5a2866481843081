//! The workload as the engine sees it, on a real directory.

use std::collections::BTreeMap;
use std::fs;

use kit::EventSink;
use wire::{Event, Failure, FailureKind, Sample};

use super::*;

/// What a trial gave.
struct Done {
    samples: Vec<Sample>,
    counters: BTreeMap<String, u64>,
    operations: u64,
    bytes: u64,
}

fn execute_in(directory: &Path, parameters: &Value) -> Result<Done, Failure> {
    let mut samples = Vec::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            samples.push(sample);
        }
    };
    let mut event_sink = EventSink::new(&mut emit);
    let plan = Fdtree.plan(parameters.as_object().unwrap(), directory)?;
    plan.run(&mut event_sink)?;
    let totals = event_sink.totals;
    Ok(Done {
        samples,
        counters: totals.counters,
        operations: totals.operations,
        bytes: totals.bytes,
    })
}

/// Every path below `directory` with the size of the file, or none for a directory, in order.
fn listing(directory: &Path) -> Vec<(String, Option<u64>)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(current).unwrap() {
            let path = entry.unwrap().path();
            let size = path.is_file().then(|| fs::metadata(&path).unwrap().len());
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
            found.push((name.to_owned(), size));
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

fn small(changes: Value) -> Value {
    let mut parameters = json!({"levels": 1, "directories": 2, "files": 2, "size": "8k"});
    let object = parameters.as_object_mut().unwrap();
    object.extend(changes.as_object().unwrap().clone());
    parameters
}

#[test]
fn both_modes_make_the_same_tree_and_can_take_down_the_other_s() {
    let trees = ["in-process", "spawn"].map(|mode| {
        let directory = tempfile::tempdir().unwrap();
        let create = small(json!({"mode": mode, "phases": "create", "root": "LEVEL0.host.7"}));
        let done = execute_in(directory.path(), &create).unwrap();
        assert_eq!((done.operations, done.bytes), (9, 6 * 8_192));
        let tree = listing(directory.path());
        let other = if mode == "spawn" {
            "in-process"
        } else {
            "spawn"
        };
        let remove = small(json!({"mode": other, "phases": "remove", "root": "LEVEL0.host.7"}));
        let done = execute_in(directory.path(), &remove).unwrap();
        assert_eq!(done.operations, 9);
        assert!(listing(directory.path()).is_empty());
        tree
    });
    assert_eq!(trees[0], trees[1]);
    let wanted: Vec<(String, Option<u64>)> = [
        ("", None),
        ("/L1D1", None),
        ("/L1D1/L0F1", Some(8_192)),
        ("/L1D1/L0F2", Some(8_192)),
        ("/L1D2", None),
        ("/L1D2/L0F1", Some(8_192)),
        ("/L1D2/L0F2", Some(8_192)),
        ("/L1F1", Some(8_192)),
        ("/L1F2", Some(8_192)),
    ]
    .map(|(path, size)| (format!("LEVEL0.host.7{path}"), size))
    .into();
    assert_eq!(trees[0], wanted);
}

#[test]
fn every_phase_is_measured_and_nothing_is_left() {
    for mode in ["in-process", "spawn"] {
        let directory = tempfile::tempdir().unwrap();
        let done = execute_in(directory.path(), &small(json!({"mode": mode}))).unwrap();
        let counts: Vec<_> = done
            .samples
            .iter()
            .map(|sample| (sample.metric.as_str(), sample.operations, sample.bytes))
            .collect();
        let wanted = [
            ("directories_created", 3, 0),
            ("files_created", 6, 49_152),
            ("data_written", 6, 49_152),
            ("files_removed", 6, 0),
            ("directories_removed", 3, 0),
        ];
        assert_eq!(counts, wanted, "{mode}");
        for sample in done
            .samples
            .iter()
            .filter(|sample| sample.metric != "data_written")
        {
            assert_eq!(sample.latency_ns.as_ref().unwrap().count, sample.operations);
        }
        assert_eq!(done.counters["files_removed"], 6);
        assert!(done.counters["files_removed_in_s"] <= done.counters["directories_removed_out_s"]);
        assert!(listing(directory.path()).is_empty());
    }
}

#[test]
fn files_of_one_directory_are_removed_by_one_program() {
    let directory = tempfile::tempdir().unwrap();
    let parameters = json!({
        "levels": 0, "files": 3, "size": 0, "mode": "spawn",
    });
    let done = execute_in(directory.path(), &parameters).unwrap();
    let removed = done
        .samples
        .iter()
        .find(|sample| sample.metric == "files_removed");
    let latency = removed.unwrap().latency_ns.as_ref().unwrap();
    assert_eq!((latency.count, latency.min), (3, latency.max));
}

#[test]
fn a_tree_in_the_way_is_refused_and_one_that_is_missing_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = execute_in(directory.path(), &small(json!({"phases": "remove"})));
    assert_eq!(missing.err().unwrap().parameter.as_deref(), Some("root"));
    fs::create_dir(directory.path().join("LEVEL0")).unwrap();
    for phases in ["all", "create"] {
        let refused = execute_in(directory.path(), &small(json!({"phases": phases})));
        assert_eq!(refused.err().unwrap().kind, FailureKind::Refused);
    }
    assert_eq!(listing(directory.path()).len(), 1);
}

/// Somewhere on the way down, the path becomes longer than the kernel takes.
#[test]
fn a_failure_on_the_way_leaves_nothing() {
    for mode in ["in-process", "spawn"] {
        let directory = tempfile::tempdir().unwrap();
        let root = "r".repeat(255);
        let deep = json!({
            "levels": 255, "directories": 1, "files": 1, "root": root, "mode": mode, "size": 0,
        });
        let deep_directory = directory.path().join("d".repeat(255)).join("e".repeat(255));
        let deepest = (0..10).fold(deep_directory, |path, _| path.join("f".repeat(250)));
        fs::create_dir_all(&deepest).unwrap();
        let failure = execute_in(&deepest, &deep).err().unwrap();
        assert_eq!(failure.kind, FailureKind::Io, "{}", failure.message);
        assert!(
            failure.message.starts_with("cannot make directory"),
            "{}",
            failure.message
        );
        assert!(listing(&deepest).is_empty());
    }
}

#[test]
fn a_tree_that_lacks_a_file_is_not_taken_down_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    execute_in(directory.path(), &small(json!({"phases": "create"}))).unwrap();
    fs::remove_file(directory.path().join("LEVEL0/L1D2/L0F1")).unwrap();
    let failure = execute_in(directory.path(), &small(json!({"phases": "remove"})));
    let message = failure.err().unwrap().message;
    assert!(message.contains("L1D2/L0F1"), "{message}");
}
