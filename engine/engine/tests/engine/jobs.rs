//! Jobs, good and bad, from text to exit code.

use crate::common::{end, events, job, left_in, run, scratch_directory};
use crate::trouble::stream;
use serde_json::{json, Value};
use wire::{AccessVerdict, Event, FailureKind, Outcome};

#[test]
fn a_good_job_says_hello_first_and_ends_with_evidence() {
    let directory = scratch_directory();
    let mut job = stream(directory.path(), json!({"file": "128k", "block": "32k"}));
    job["conditions"] = json!({"keep_awake": true});
    let output = run(&["run"], &job);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty());
    let events = events(&output);
    let Event::Hello(hello) = &events[0] else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(hello.effective["block"], json!([32_768]));
    assert_eq!(hello.conditions.cpus.len(), 1);
    assert_eq!(hello.hash.len(), 64);
    let end = end(&output);
    assert_eq!(end.outcome, Outcome::Done);
    assert_eq!((end.operations, end.bytes), (3 * 4, 3 * 4 * 32_768));
    assert_eq!(end.access.unwrap().verdict, AccessVerdict::Confirmed);
    assert!(end.floor.clock_ns > 0.0 && end.elapsed_s > 0.0);
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn an_injected_delay_is_in_every_call_that_was_named_and_no_other() {
    const DELAY_NS: u64 = 2_000_000;
    let directory = scratch_directory();
    let parameters = json!({
        "file": "64k", "block": "4k", "operations": 50, "read_percent": 100, "access": "in-cache",
    });
    let mut job = job("random", parameters, directory.path());
    let mut timed_s = |into: &str, every: u32| {
        job["conditions"] =
            json!({"inject": {"delay_ns": DELAY_NS, "every": every, "into": [into]}});
        let output = run(&["run"], &job);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let hello = events(&output).remove(0);
        let Event::Hello(hello) = hello else {
            panic!("{hello:?}");
        };
        assert_eq!(hello.conditions.inject.unwrap().delay_ns, DELAY_NS);
        let read_s = events(&output)
            .into_iter()
            .find_map(|event| match event {
                Event::Sample(sample) => Some(sample.elapsed_s),
                _ => None,
            })
            .unwrap();
        (end(&output).counters["InjectedDelays"], read_s)
    };
    let (delays, elapsed_s) = timed_s("read", 1);
    assert!(delays >= 50, "{delays}");
    assert!(
        elapsed_s >= 50.0 * 0.9 * DELAY_NS as f64 / 1e9,
        "{elapsed_s}"
    );
    assert!(timed_s("read", 5).0 >= 10);
    assert_eq!(timed_s("send", 1).0, 0);
}

#[test]
fn first_reads_of_pages_are_counted_where_it_is_asked_for_and_nowhere_else() {
    let directory = scratch_directory();
    let parameters = json!({
        "file": "1M", "block": "4k", "operations": 50, "read_percent": 100, "access": "in-cache",
    });
    let mut job = job("random", parameters, directory.path());
    let mut counters = |conditions: Value| {
        job["conditions"] = conditions;
        let output = run(&["run"], &job);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        end(&output).counters
    };
    assert!(!counters(json!({})).contains_key("FirstTouchesNs"));
    assert!(counters(json!({"settle": true})).contains_key("FirstTouchesNs"));
}

#[test]
fn validate_resolves_and_does_nothing() {
    let directory = scratch_directory();
    let written = run(
        &["validate"],
        &stream(directory.path(), json!({"file": "1M"})),
    );
    assert_eq!(written.status.code(), Some(0));
    let as_bytes = run(
        &["validate"],
        &stream(directory.path(), json!({"file": [1_048_576]})),
    );
    assert_eq!(written.stdout, as_bytes.stdout, "equal work, equal hash");
    assert!(matches!(events(&written)[..], [Event::Hello(_)]));
}

#[test]
fn bad_jobs_name_the_parameter_and_exit_with_2() {
    let directory = scratch_directory();
    let good = stream(directory.path(), json!({}));
    let with = |key: &str, value: Value| {
        let mut job = good.clone();
        job[key] = value;
        job
    };
    for (job, parameter) in [
        (with("parameters", json!({"blokc": "4k"})), "blokc"),
        (
            with("parameters", json!({"block": ["4k", "1.5M"]})),
            "block[1]",
        ),
        (with("parameters", json!({"verify": "yes"})), "verify"),
        (
            with("parameters", json!({"file": "4k", "block": "8k"})),
            "block",
        ),
        (with("workload", json!("straem")), "workload"),
        (with("protocol", json!(0)), "protocol"),
        (
            with("target", json!({"directory": "/no/such"})),
            "target.directory",
        ),
        (
            with("conditions", json!({"cpus": [4_000]})),
            "conditions.cpus",
        ),
    ] {
        let output = run(&["run"], &job);
        assert_eq!(output.status.code(), Some(2), "{job}");
        let end = end(&output);
        let failure = end.failure.unwrap();
        assert_eq!(end.outcome, Outcome::Failed);
        assert_eq!(failure.kind, FailureKind::BadJob);
        assert_eq!(failure.parameter.as_deref(), Some(parameter), "{job}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(words.lines().count(), 1, "{words}");
        assert!(words.contains(&failure.message), "{words}");
    }
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn a_file_in_the_way_is_refused_and_kept() {
    let directory = scratch_directory();
    let path = directory.path().join("tiltyard-stream.0");
    std::fs::write(&path, "precious").unwrap();
    for command in ["run", "validate"] {
        let output = run(&[command], &stream(directory.path(), json!({})));
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert_eq!(end(&output).failure.unwrap().kind, FailureKind::Refused);
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_job_file_is_read_and_a_missing_one_named() {
    let directory = scratch_directory();
    let path = directory.path().join("job.json");
    let job = stream(
        directory.path(),
        json!({"backend": "null", "file": "64k", "block": "4k"}),
    );
    std::fs::write(&path, job.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let output = run(&["run", "--job", path], &json!(null));
    assert_eq!(end(&output).outcome, Outcome::Done);
    let missing = run(&["run", "--job", "/no/such.json"], &json!(null));
    assert_eq!(missing.status.code(), Some(2));
    assert!(end(&missing)
        .failure
        .unwrap()
        .message
        .contains("/no/such.json"));
}
