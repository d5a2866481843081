//! The workload as the engine sees it, on a real directory.

use std::collections::BTreeMap;
use std::fs;

use kit::EventSink;
use wire::{Event, FailureKind, Sample};

use super::*;

/// What a trial gave.
struct Done {
    samples: Vec<Sample>,
    counters: BTreeMap<String, u64>,
    checksum: u64,
}

fn execute_in(directory: &Path, changes: Value) -> Result<Done, Failure> {
    let mut parameters = json!({
        "scenario": "make-j", "trees": 4, "files": 20, "sync": false, "cold": false,
    });
    let object = parameters.as_object_mut().unwrap();
    object.extend(changes.as_object().unwrap().clone());
    let mut samples = Vec::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            samples.push(sample);
        }
    };
    let mut event_sink = EventSink::new(&mut emit);
    let plan = Compilebench.plan(object, directory)?;
    plan.run(&mut event_sink)?;
    let totals = event_sink.totals;
    Ok(Done {
        samples,
        counters: totals.counters,
        checksum: totals.checksum,
    })
}

fn is_empty(directory: &Path) -> bool {
    directory.read_dir().unwrap().next().is_none()
}

#[test]
fn make_j_moves_the_bytes_of_its_sets_with_every_backend() {
    let sets = synthetic::sets(20);
    let set = |name| sets.set(name);
    let (source, objects) = (set(sets::SetName::Source), set(sets::SetName::Objects));
    let files = (source.members.len() + objects.members.len()) as u64;
    let directories = {
        let mut contents = contents::Contents::new(&sets);
        for action in [schedule::Action::Create, schedule::Action::Compile] {
            contents.follow(
                &schedule::Step {
                    tree: 0,
                    action,
                    state: schedule::State::Source,
                    stage: stage::Stage::Create,
                    settle: schedule::Settle::AsIs,
                    is_synced: false,
                },
                &sets,
            );
        }
        contents.directories().count() as u64
    };
    let both = source.bytes + objects.bytes;
    for backend in ["stdio", "sync", "null"] {
        let directory = tempfile::tempdir().unwrap();
        let done = execute_in(directory.path(), json!({"backend": backend})).unwrap();
        let of = |sample: &Sample| (sample.metric.clone(), sample.operations, sample.bytes);
        let found: Vec<_> = done.samples.iter().map(of).collect();
        let wanted = [
            ("initial_create", 4 * 20, 4 * source.bytes),
            (
                "compile",
                4 * objects.members.len() as u64,
                4 * objects.bytes,
            ),
            ("read_compiled_tree", 3 * files, 3 * both),
            ("delete_compiled_tree", 4 * (files + directories), 0),
        ];
        let wanted = wanted.map(|(name, count, bytes)| (name.to_owned(), count, bytes));
        assert_eq!(found, wanted, "{backend}");
        for sample in &done.samples {
            assert_eq!(sample.latency_ns.as_ref().unwrap().count, sample.operations);
        }
        assert_eq!(done.counters["read_compiled_tree_trees"], 3);
        assert_eq!(done.counters["caches_dropped"], 0);
        assert_eq!(done.checksum != 0, backend != "null");
        assert!(is_empty(directory.path()), "{backend}");
    }
}

/// What the original's files look like, in small.
#[test]
fn a_dataset_is_replayed() {
    let dataset = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "dataset-unpatched",
            "Makefile 700\nkernel/a.c 5000\nkernel/sub/b.c 300000\n",
        ),
        (
            "dataset-patched",
            "Makefile 700\nkernel/a.c 6000\nkernel/sub/b.c 300000\nnew.c 1\n",
        ),
        (
            "dataset-unpatched-compiled",
            "Makefile 700\nkernel/a.o 9000\nvmlinux 600001\n",
        ),
        (
            "dataset-patched-compiled",
            "Makefile 700\nkernel/a.o 9001\nvmlinux 600001\n",
        ),
    ] {
        fs::write(dataset.path().join(name), text).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let changes = json!({
        "dataset": dataset.path(), "scenario": "random", "operations": 60, "content": "classic",
    });
    let done = execute_in(directory.path(), changes).unwrap();
    let created = &done.samples[0];
    assert_eq!((created.operations, created.bytes), (12, 4 * 305_700));
    assert!(done.samples.iter().any(|sample| sample.metric == "patch"));
    assert!(is_empty(directory.path()));
}

#[test]
fn usual_and_smoke_reach_all_stages() {
    for parameters in [Compilebench.card().usual, Compilebench.card().smoke] {
        let params: Params = kit::params::parse(parameters.as_object().unwrap()).unwrap();
        let mut choices = choices::Choices::seeded(params.seed);
        let objects = &synthetic::sets(params.files);
        let objects = objects.set(sets::SetName::Objects).members.len();
        choices.shuffle(&mut vec![0_u8; objects]);
        let steps = schedule::schedule(&params, choices);
        for stage in stage::Stage::ALL {
            assert!(
                steps.iter().any(|step| step.stage == stage),
                "{stage:?}: {params:?}"
            );
        }
    }
}

#[test]
fn what_is_in_the_way_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("kernel-2"), "precious").unwrap();
    let refused = execute_in(directory.path(), json!({})).err().unwrap();
    assert_eq!(refused.kind, FailureKind::Refused);
    let kept = fs::read(directory.path().join("kernel-2")).unwrap();
    assert_eq!(kept, b"precious");
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
}

/// A file name that is too long stops the first creation.
#[test]
fn a_failure_on_the_way_leaves_nothing() {
    let dataset = tempfile::tempdir().unwrap();
    let long = "n".repeat(300);
    for (name, text) in [
        ("dataset-unpatched", format!("a/b 1\n{long} 1\n")),
        ("dataset-patched", "c 1\n".to_owned()),
        ("dataset-unpatched-compiled", "o 1\n".to_owned()),
        ("dataset-patched-compiled", "o 2\n".to_owned()),
    ] {
        fs::write(dataset.path().join(name), text).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let failed = execute_in(directory.path(), json!({"dataset": dataset.path()}))
        .err()
        .unwrap();
    assert_eq!(failed.kind, FailureKind::Io);
    assert!(
        failed.message.starts_with("cannot create "),
        "{}",
        failed.message
    );
    assert!(is_empty(directory.path()));
}

#[test]
fn refusals_name_the_parameter() {
    let directory = tempfile::tempdir().unwrap();
    for (changes, parameter) in [
        (json!({"trees": 0}), "trees"),
        (json!({"operations": 0}), "operations"),
        (json!({"files": 19}), "files"),
        (json!({"buffer": 511}), "buffer"),
        (json!({"scenario": "makej"}), "scenario"),
        (json!({"dataset": "/nowhere"}), "dataset"),
    ] {
        let failure = execute_in(directory.path(), changes.clone()).err().unwrap();
        assert_eq!(failure.parameter.as_deref(), Some(parameter), "{changes}");
    }
}
