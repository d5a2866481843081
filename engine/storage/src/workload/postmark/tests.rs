//! The workload as the engine sees it: parameters in, a plan or a failure out.

use super::*;
use kit::trial::Planned;

fn plan(given: Value, directory: &Path) -> Planned {
    let Value::Object(parameters) = given else {
        panic!("parameters are an object")
    };
    Postmark.plan(&parameters, directory)
}

fn refusal(given: Value) -> Failure {
    let directory = tempfile::tempdir().expect("a directory");
    let plan = plan(given, directory.path());
    plan.and_then(|plan| plan.foresee()).expect_err("planned")
}

#[test]
fn a_run_finds_that_files_run_out_as_validating_foresees_it() {
    let given = json!({"files": 20, "bias_create": 0});
    let directory = tempfile::tempdir().expect("a directory");
    let plan = plan(given.clone(), directory.path());
    let failure = plan.and_then(|plan| plan.run(&mut EventSink::new(&mut |_| {})));
    assert_eq!(failure.expect_err("done").message, refusal(given).message);
    assert!(directory
        .path()
        .read_dir()
        .expect("a list")
        .next()
        .is_none());
}

#[test]
fn the_defaults_are_those_of_the_original() {
    let directory = tempfile::tempdir().expect("a directory");
    let plan = plan(json!({}), directory.path()).unwrap_or_else(|f| panic!("{}", f.message));
    let expected = json!({
        "files": 500, "transactions": 500, "size": "500..10000", "subdirectories": 0,
        "locations": [], "read_block": 512, "write_block": 512, "buffering": true,
        "bias_read": 5, "bias_create": 5, "threads": 1, "content": "text", "verify": false, "timing": "operation", "seed": 42, "backend": "real",
    });
    assert_eq!(Value::Object(plan.effective()), expected);
}

#[test]
fn bad_parameters_are_named_with_what_would_be_right() {
    for (given, parameter, right) in [
        (json!({"files": 0}), "files", "1 to 10000000"),
        (json!({"transactions": 0}), "transactions", "1 to"),
        (
            json!({"transactions": -1}),
            "transactions",
            "1 to 100000000",
        ),
        (json!({"size": "9..3"}), "size", "3..9"),
        (json!({"read_block": 0}), "read_block", "1 to 1G"),
        (json!({"bias_read": 11}), "bias_read", "0 to 10"),
        (json!({"seed": 0}), "seed", "1 to"),
        (json!({"threads": 0}), "threads", "1 to 1024"),
        (json!({"number": 5}), "number", "files, transactions"),
        (
            json!({"locations": [{"name": "../up"}]}),
            "locations[0].name",
            "cannot be a name",
        ),
        (
            json!({"locations": [{"name": "a", "weight": 0}]}),
            "locations[0].weight",
            "1 to 1000",
        ),
        (
            json!({"locations": [{"name": "a"}, {"name": "a"}]}),
            "locations[1]",
            "weight",
        ),
        (
            json!({"files": 20, "bias_create": 0}),
            "transactions",
            "bias_create above 0",
        ),
    ] {
        let failure = refusal(given);
        assert_eq!(failure.kind, FailureKind::BadJob);
        assert_eq!(
            failure.parameter.as_deref(),
            Some(parameter),
            "{}",
            failure.message
        );
        assert!(failure.message.contains(right), "{}", failure.message);
    }
}

#[test]
fn fewer_than_ten_transactions_are_welcome() {
    let directory = tempfile::tempdir().expect("a directory");
    let plan = plan(json!({"transactions": 3, "files": 5}), directory.path());
    let mut emit = |_| {};
    let mut event_sink = EventSink::new(&mut emit);
    let done = plan.and_then(|plan| plan.run(&mut event_sink));
    assert!(done.is_ok());
    assert_eq!(
        event_sink.totals.counters["files_deleted"],
        event_sink.totals.counters["files_created"]
    );
}

#[test]
fn a_file_in_the_way_is_refused_and_others_are_not() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join("lost+found")).expect("a directory");
    assert!(plan(json!({}), directory.path()).is_ok());
    std::fs::write(directory.path().join("17"), "precious").expect("a file");
    assert!(plan(json!({"threads": 2}), directory.path()).is_ok());
    std::fs::create_dir(directory.path().join("t1")).expect("a directory");
    let failure = plan(json!({"threads": 2}), directory.path()).err();
    assert_eq!(failure.expect("refused").kind, FailureKind::Refused);
    let failure = plan(json!({}), directory.path()).err().expect("refused");
    assert_eq!(failure.kind, FailureKind::Refused);
    assert!(
        failure.message.contains("/17 might be overwritten"),
        "{}",
        failure.message
    );
}
