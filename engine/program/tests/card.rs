//! The workload is held to the rules of all workloads, as far as a command has to be named: it
//! has no default. One test executes programs, and it is the only one that does, because the
//! engine takes leave of all children of its process.

use std::fs;
use std::path::Path;

use serde_json::json;
use testing::{Parameter, Subject, Taken};
use wire::{ConditionsWanted, Event, FailureKind, HeldBy, Step, Target};

fn subject(directory: &Path) -> Subject<'_> {
    Subject::new(program::card(), move |parameters| {
        let conditions = ConditionsWanted::default();
        program::plan(parameters, directory, &Target::default(), &conditions)
    })
}

#[test]
fn every_parameter_has_help_and_a_default() {
    let card = program::card();
    for (name, property) in card.parameters["properties"].as_object().unwrap() {
        assert!(property["description"].is_string(), "{name} has no help");
        assert!(property.get("default").is_some(), "{name} has no default");
    }
    let directory = tempfile::tempdir().unwrap();
    let effective = subject(directory.path()).plan(card.smoke.as_object().unwrap());
    let effective = effective.unwrap().effective();
    let names = card.parameters["properties"].as_object().unwrap().keys();
    assert!(names.eq(effective.keys()));
    let failure = subject(directory.path()).refusal(&json!({"command": []}));
    assert!(failure.message.contains("name the program"), "{failure:?}");
}

#[test]
fn no_parameter_takes_what_has_no_meaning() {
    let directory = tempfile::tempdir().unwrap();
    let subjects = [subject(directory.path())];
    for parameter in Parameter::of(&subjects) {
        parameter.assert_refuses_nonsense();
        if parameter.is_amount() {
            parameter.assert_refuses_beyond_limits();
        }
    }
}

#[test]
fn what_is_not_there_is_refused_before_anything_is_executed() {
    let directory = tempfile::tempdir().unwrap();
    let subject = subject(directory.path());
    let bad = FailureKind::BadJob;
    for (changes, kind, blamed, part) in [
        (
            json!({"command": ["no-such-program"]}),
            FailureKind::HostLacks,
            "command",
            "of PATH",
        ),
        (
            json!({"setup": ["/no/such"]}),
            FailureKind::HostLacks,
            "setup",
            "does not exist",
        ),
        (
            json!({"prepare": [["true"], []]}),
            bad,
            "prepare",
            "name the program",
        ),
        (
            json!({"command": ["ls", "{size}"]}),
            bad,
            "command",
            "{{size}}",
        ),
        (
            json!({"where": "/no/such"}),
            bad,
            "where",
            "not a directory",
        ),
        (json!({"where": "here"}), bad, "where", "absolute"),
        (json!({"stdin": "/"}), bad, "stdin", "not a file"),
        (json!({"user": "no-such-user"}), bad, "user", "useradd"),
        (json!({"cpus": [4000]}), bad, "cpus", "CPU 4000"),
        (json!({"numa": 900}), bad, "numa", "900"),
        (json!({"env": {"A=B": "c"}}), bad, "env", "no name"),
        (json!({"expect": {"exit": []}}), bad, "expect.exit", "[0]"),
        (
            json!({"servers": [{"command": ["sleep", "1"], "stop": "TERM"}]}),
            bad,
            "servers.stop",
            "SIGTERM",
        ),
    ] {
        let failure = subject.refusal(&changes);
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert_eq!(failure.parameter.as_deref(), Some(blamed), "{failure:?}");
        assert!(failure.message.contains(part), "{failure:?}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn it_runs_at_its_smoke_size_and_adds_up() {
    let directory = tempfile::tempdir().unwrap();
    let card = program::card();
    let trial = subject(directory.path()).plan(card.smoke.as_object().unwrap());
    let taken = Taken::of(trial.unwrap()).unwrap();
    taken.assert_sums();
    taken.assert_metrics(&card);
    let time = taken.samples_of("time")[0];
    assert_eq!(time.operations, 3);
    assert!((time.value - time.elapsed_s / 3.0).abs() < 1e-12);
    let times_s = taken.events.iter().filter_map(|event| match event {
        Event::Execution(done) if done.step == Step::Measure => Some(done.elapsed_s),
        _ => None,
    });
    assert!((times_s.sum::<f64>() - time.elapsed_s).abs() < 1e-9);
    let programs = taken.totals.programs.unwrap();
    // As root in a group of its own; else by whatever can be had.
    let is_root = rustix::process::geteuid().is_root();
    assert!(programs.held_by != HeldBy::Subreaper || !is_root);
    assert_eq!(programs.environment["LANG"], "C.UTF-8");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
