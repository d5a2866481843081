//! What programs print: where it goes, which exit codes are right, and who compares it.

use crate::common::{end, job, left_in, run, scratch_directory};
use crate::programs::{assert_fails, done, program, sh, text_of};
use serde_json::json;
use std::process::Output;
use wire::{FailureKind, Step};

#[test]
fn any_exit_code_is_right_where_that_is_said_and_no_signal() {
    let directory = scratch_directory();
    let any = json!({"exit": "any"});
    let parameters = json!({"command": sh("exit {execution}"), "executions": 3, "expect": any});
    let (executions, _) = done(&program(parameters, directory.path()));
    let codes: Vec<_> = executions.iter().map(|one| one.exit).collect();
    assert_eq!(codes, [Some(1), Some(2), Some(3)]);
    assert_fails(
        json!({"command": sh("kill -TERM $$"), "expect": any}),
        FailureKind::Program,
        &["ended by SIGTERM"],
    );
}

#[test]
fn standard_output_goes_to_a_file_and_is_captured_from_it() {
    let directory = scratch_directory();
    let parameters = json!({
        "command": sh("echo {execution}; test -f /dev/stdout"), "stdout": "{dir}/out",
        "setup": ["sh", "-c", "echo longer than it > out"], "executions": 2,
    });
    let (executions, outputs) = done(&program(parameters, directory.path()));
    let measured = executions.iter().filter(|one| one.step == Step::Measure);
    let printed: Vec<_> = measured.map(|one| text_of(&one.stdout, &outputs)).collect();
    assert_eq!(printed, ["1\n", "2\n"]);
    let null = json!({"command": sh("echo x; test -c /dev/stdout"), "stdout": "/dev/null"});
    let (executions, outputs) = done(&program(null, directory.path()));
    assert_eq!(text_of(&executions[0].stdout, &outputs), "");
    let link = json!({"command": ["true"], "setup": ["ln", "-s", "/etc/hosts", "out"],
                      "stdout": "{dir}/out"});
    let failure = end(&program(link, directory.path())).failure.unwrap();
    assert!(failure.message.contains("write to"), "{failure:?}");
    let same = json!({"command": ["true"], "stdout": "/dev/null", "expect": {"stdout": "same"}});
    let failure = end(&program(same, directory.path())).failure.unwrap();
    assert_eq!(failure.kind, FailureKind::BadJob, "{failure:?}");
}

#[test]
fn a_command_compares_each_output_that_differs_once() {
    let directory = scratch_directory();
    let words = |expect: &str| sh(&format!("echo $(({{execution}} % 3)) {expect}"));
    let compare = sh("cut -d' ' -f2 {expected} > a; cut -d' ' -f2 {output} > b; cmp a b");
    let expect = json!({"compare": compare});
    let parameters = json!({"command": words("x"), "executions": 6, "expect": expect});
    let mut one = job("program", parameters, directory.path());
    let compared = |output: &Output| {
        let (executions, _) = done(output);
        let steps = executions.iter().filter(|one| one.step == Step::Compare);
        steps.map(|one| one.number).collect::<Vec<_>>()
    };
    // The first one is what the others are compared with.
    assert_eq!(compared(&run(&["run"], &one)), [2, 3]);
    // Or it is given, also where it is no text: "1 x\n" and a byte that is none.
    one["target"]["expected"] = json!({"sha256": "ab".repeat(32), "bytes": 4, "text": "7 x\n"});
    assert_eq!(compared(&run(&["run"], &one)), [1, 2, 3]);
    one["target"]["expected"] =
        json!({"sha256": "ab".repeat(32), "bytes": 4, "base64": "/yB4Cg=="});
    assert_eq!(compared(&run(&["run"], &one)), [1, 2, 3]);
    one["target"]["expected"] = json!({"sha256": "ab".repeat(32), "bytes": 4, "text": "7 y\n"});
    let failure = end(&run(&["run"], &one)).failure.unwrap();
    for part in [
        "execution 1",
        "else than expected (ababab",
        "exit code 1; it said: a b differ",
    ] {
        assert!(failure.message.contains(part), "{part}: {failure:?}");
    }
    assert!(left_in(directory.path()).is_empty());
    for (change, part) in [
        (json!({"keep": 1}), "keep = \"4M\""),
        (
            json!({"expect": {"compare": ["cmp", "{outputs}"]}}),
            "{expected}",
        ),
        (
            json!({"expect": {"compare": ["cmp"], "stdout": "same"}}),
            "leave one of them out",
        ),
        (
            json!({"expect": {"compare": sh("kill -KILL $$")}}),
            "SIGKILL",
        ),
        (
            json!({"command": ["echo", "{output}"]}),
            "nothing stands for {output}",
        ),
    ] {
        let mut parameters = json!({"command": words("x"), "executions": 2, "expect": expect});
        let changed = change.as_object().unwrap().clone();
        parameters.as_object_mut().unwrap().extend(changed);
        let failure = end(&program(parameters, directory.path())).failure.unwrap();
        assert!(failure.message.contains(part), "{part}: {failure:?}");
    }
}
