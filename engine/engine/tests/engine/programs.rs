//! Programs as a workload: what is counted, and each way in which they go wrong. All of them are
//! real programs of the host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{
    command, end, events, job, left_in, run, scratch_directory, start_command, Tmpfs,
};
use serde_json::{json, Value};
use wire::{Event, Execution, FailureKind, HeldBy, Outcome, Step};

pub fn program(parameters: Value, directory: &Path) -> Output {
    run(&["run"], &job("program", parameters, directory))
}

/// The executions of a trial that is done, and what they printed in order of first appearance.
pub fn done(output: &Output) -> (Vec<Execution>, Vec<wire::Output>) {
    assert_eq!(end(output).outcome, Outcome::Done, "{:?}", end(output));
    let (mut executions, mut outputs) = (Vec::new(), Vec::new());
    for event in events(output) {
        match event {
            Event::Execution(execution) => executions.push(execution),
            Event::Output(output) => outputs.push(output),
            _ => {}
        }
    }
    (executions, outputs)
}

pub fn text_of(hash: &str, outputs: &[wire::Output]) -> String {
    let found = outputs.iter().find(|output| output.sha256 == hash);
    found.unwrap().text.clone().unwrap()
}

/// The trial fails so, and leaves nothing behind.
pub fn assert_fails(parameters: Value, kind: FailureKind, parts: &[&str]) {
    let directory = scratch_directory();
    let failure = end(&program(parameters, directory.path())).failure.unwrap();
    assert_eq!(failure.kind, kind, "{failure:?}");
    assert_eq!(failure.message.lines().count(), 1, "{failure:?}");
    for part in parts {
        assert!(failure.message.contains(part), "{part}: {failure:?}");
    }
    assert!(left_in(directory.path()).is_empty());
}

pub fn sh(line: &str) -> Value {
    json!(["sh", "-c", line])
}

#[test]
fn each_wrong_end_has_its_reason() {
    use FailureKind::Program;
    for (parameters, parts) in [
        (
            json!({"command": sh("echo one >&2; echo two >&2; exit 7")}),
            &["exit code 7, expected 0", "one | two"][..],
        ),
        (
            json!({"command": sh("echo 3 passed; echo 1 failed; exit 1")}),
            &["exit code 1, expected 0; it said: 3 passed | 1 failed"],
        ),
        (
            json!({"command": ["true"], "expect": {"exit": [1, 3]}}),
            &["exit code 0, expected 1 or 3"],
        ),
        (
            json!({"command": sh("kill -SEGV $$")}),
            &["ended by SIGSEGV"],
        ),
        (
            json!({"command": ["sleep", "1000"], "timeout": 0.2}),
            &["sleep 1000: not done after 0.2 s", "\"timeout\""],
        ),
        (
            json!({"command": sh("setsid sleep 1000 & exit 0")}),
            &["left running: sleep 1000", "\"servers\""],
        ),
        (
            json!({"command": sh("yes & exit 0")}),
            &["left running: yes"],
        ),
        (
            json!({"command": ["yes"], "flood": "1M"}),
            &["more than 1048576 bytes", "\"flood\""],
        ),
        (
            json!({"command": ["date", "+%N"], "executions": 3, "expect": {"stdout": "same"}}),
            &["execution 2", "something else"],
        ),
        (
            json!({"command": ["true"], "files": ["result"]}),
            &["no file", "/program/result"],
        ),
        (
            json!({"command": ["true"], "prepare": ["false"]}),
            &["prepare 1, false: exit code 1"],
        ),
        (
            json!({"command": ["true"], "servers": [{"command": sh("echo no; exit 4")}],
                   "prepare": ["sleep", "0.3"]}),
            &["ended with exit code 4", "it said: no"],
        ),
        (
            json!({"command": ["true"], "servers": [
                {"command": ["sleep", "1000"], "ready": {"path": "never"}, "timeout": 0.1}]}),
            &["not ready after 0.1 s", "\"ready\""],
        ),
    ] {
        assert_fails(parameters, Program, parts);
    }
}

#[test]
fn what_cannot_be_executed_is_told_apart() {
    let aside = scratch_directory();
    let file = |name: &str, text: &str, mode: u32| {
        let path = aside.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        json!({"command": [path]})
    };
    let lacks = FailureKind::HostLacks;
    let plain = file("plain", "#!/bin/sh\n", 0o644);
    assert_fails(plain, lacks, &["chmod +x"]);
    let wrong = file("wrong", "#!/no/such/interpreter -x\n", 0o755);
    assert_fails(wrong, lacks, &["the interpreter /no/such/interpreter"]);
    let text = file("text", "echo hello\n", 0o755);
    assert_fails(text, lacks, &["#!/bin/sh", "/text"]);
    let foreign = file("foreign", "\x7fELF of another machine", 0o755);
    assert_fails(foreign, lacks, &["built for another machine than this"]);
    let missing = json!({"command": ["{dir}/made"], "setup": ["true"]});
    assert_fails(missing, lacks, &["made does not exist"]);
}

#[test]
fn a_full_file_system_ends_it_before_it_is_full() {
    let Some(tmpfs) = Tmpfs::mount("size=64m") else {
        return;
    };
    let fill = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); head -c 1000000 /dev/zero >> f; \
                sleep 0.005; done";
    let output = program(json!({"command": sh(fill)}), tmpfs.path());
    let failure = end(&output).failure.unwrap();
    assert_eq!(failure.kind, FailureKind::NoSpace, "{failure:?}");
    assert!(failure.message.contains("nearly full"), "{failure:?}");
    assert!(left_in(tmpfs.path()).is_empty());
}

#[test]
fn steps_come_in_order_with_their_placeholders() {
    let directory = scratch_directory();
    let mut job = job(
        "program",
        json!({
            "command": sh("echo {what} {execution} >> log; echo ${HOME:+x}{{what}}"),
            "setup": ["sh", "-c", "echo setup > log"],
            "prepare": [["sh", "-c", "echo prepare {execution} >> {dir}/log"], ["sync", "log"]],
            "conclude": ["sh", "-c", "echo conclude {execution} >> log"],
            "cleanup": ["cat", "log"],
            "executions": 2, "warmup": 1, "files": ["log"],
        }),
        directory.path(),
    );
    job["target"]["variables"] = json!({"what": "measure"});
    let (executions, outputs) = done(&run(&["run"], &job));
    let steps: Vec<_> = executions
        .iter()
        .map(|one| (one.step, one.number))
        .collect();
    let whole = |step, number| {
        [
            (Step::Prepare, number),
            (Step::Prepare, number),
            (step, number),
            (Step::Conclude, number),
        ]
    };
    let expected: Vec<_> = [(Step::Setup, 1)]
        .into_iter()
        .chain(whole(Step::Warmup, 1))
        .chain(whole(Step::Measure, 1))
        .chain(whole(Step::Measure, 2))
        .chain([(Step::Cleanup, 1)])
        .collect();
    assert_eq!(steps, expected);
    let round = |number| format!("prepare {number}\nmeasure {number}\nconclude {number}\n");
    let log = format!("setup\n{}{}{}", round(1), round(1), round(2));
    let last = executions.last().unwrap();
    assert_eq!(text_of(&last.stdout, &outputs), log);
    assert_eq!(text_of(&executions[3].stdout, &outputs), "x{what}\n");
    let before = format!("setup\n{}{}prepare 2\nmeasure 2\n", round(1), round(1));
    assert_eq!(text_of(&executions[11].files["log"], &outputs), before);
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn files_of_the_job_lie_in_the_directory_as_they_are() {
    let directory = scratch_directory();
    let text = "{dir} ${X} {{n}}\n";
    let parameters = json!({
        "inputs": {"a.txt": text},
        "setup": ["cp", "a.txt", "b.txt"],
        "command": ["cat", "b.txt"],
    });
    let (executions, outputs) = done(&program(parameters, directory.path()));
    let measured = executions.last().unwrap();
    assert_eq!(text_of(&measured.stdout, &outputs), text);
    assert!(left_in(directory.path()).is_empty());
    for name in ["../a", "", "."] {
        let parameters = json!({"command": ["true"], "inputs": {name: ""}});
        assert_fails(parameters, FailureKind::BadJob, &["is no name of a file"]);
    }
}

#[test]
fn the_environment_is_clean_and_its_size_differs() {
    let directory = scratch_directory();
    let parameters = json!({
        "command": ["env"], "executions": 4, "env": {"A": "{dir}"}, "pass": ["PASSED", "ABSENT"],
    });
    let mut engine = command(&["run"]);
    engine.env("PASSED", "yes").env("SECRET", "no");
    let job = job("program", parameters, directory.path());
    let output = start_command(engine, &job).wait_with_output().unwrap();
    let (executions, outputs) = done(&output);
    let mut sizes = Vec::new();
    for execution in &executions {
        let text = text_of(&execution.stdout, &outputs);
        let mut names: Vec<_> = text
            .lines()
            .map(|line| line.split('=').next().unwrap())
            .collect();
        names.retain(|name| *name != "USER");
        names.sort_unstable();
        let expected = [
            "A",
            "HOME",
            "LANG",
            "PASSED",
            "PATH",
            "TILTYARD_PADDING",
            "TMPDIR",
        ];
        assert_eq!(names, expected);
        let padding = text.split("TILTYARD_PADDING=").nth(1).unwrap();
        let size = padding.lines().next().unwrap().len() as u32;
        assert_eq!(size, execution.padding_bytes);
        sizes.push(size);
    }
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes.len(), 4, "{sizes:?}");
    let programs = end(&output).programs.unwrap();
    assert_eq!(programs.environment["PASSED"], "yes");
    assert!(!programs.environment.contains_key("TILTYARD_PADDING"));
}

#[test]
fn the_path_of_a_binary_has_another_length_and_that_of_a_script_has_not() {
    let directory = scratch_directory();
    // The loader of glibc prints what the kernel has handed over.
    let parameters = json!({
        "command": ["sh", "-c", ":", "first"], "executions": 4, "env": {"LD_SHOW_AUXV": "1"},
    });
    let (executions, outputs) = done(&program(parameters, directory.path()));
    let mut lengths = Vec::new();
    for execution in &executions {
        let text = text_of(&execution.stdout, &outputs);
        let path = text.split("AT_EXECFN:").nth(1).unwrap();
        let path = path.lines().next().unwrap().trim();
        let slashes = path.matches('/').count() as u32;
        let least = path.split('/').filter(|part| !part.is_empty()).count() as u32;
        assert_eq!(slashes, least + execution.path_bytes, "{path}");
        lengths.push(execution.path_bytes);
    }
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths.len(), 4, "{lengths:?}");
    let script = directory.path().join("script");
    fs::write(&script, "#!/bin/sh\necho $0 $@\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for command in [
        json!([script, "a"]),
        sh("echo $0 $@; tr '\\0' ' ' < /proc/$$/cmdline"),
    ] {
        let parameters = json!({
            "command": command, "executions": 3, "expect": {"stdout": "same"},
        });
        let (executions, _) = done(&program(parameters, directory.path()));
        assert!(executions.iter().any(|one| one.padding_bytes > 0));
    }
}

#[test]
fn a_shell_is_started_only_when_asked_for_and_subtracted() {
    let directory = scratch_directory();
    let parameters = json!({"command": ["echo one | tr n N"], "shell": true, "executions": 3});
    let output = program(parameters, directory.path());
    let (executions, outputs) = done(&output);
    assert_eq!(text_of(&executions[0].stdout, &outputs), "oNe\n");
    let shell_s = end(&output).programs.unwrap().shell_s.unwrap();
    assert!(shell_s > 0.0 && shell_s < 10.0, "{shell_s}");
    let plain = program(json!({"command": ["echo", "a | b"]}), directory.path());
    assert!(end(&plain).programs.unwrap().shell_s.is_none());
    assert_eq!(
        text_of(&done(&plain).0[0].stdout, &done(&plain).1),
        "a | b\n"
    );
}

#[test]
fn executions_are_thrown_away_until_times_are_steady_and_repeated_until_it_is_long_enough() {
    let directory = scratch_directory();
    let parameters = json!({"command": ["sleep", "0.03"], "steady": true, "at_least": 0.1});
    let output = program(parameters, directory.path());
    let (executions, _) = done(&output);
    let of = |step| executions.iter().filter(|one| one.step == step).count();
    assert!(
        (10..=100).contains(&of(Step::Warmup)),
        "{}",
        of(Step::Warmup)
    );
    assert!(of(Step::Measure) >= 2);
    let variation = end(&output).programs.unwrap().variation.unwrap();
    assert_eq!(variation > 0.02, of(Step::Warmup) == 100, "{variation}");
}

#[test]
fn a_server_is_there_when_it_is_needed_and_gone_afterwards() {
    let directory = scratch_directory();
    let serve = "echo $$ > pid; sleep 0.1; echo ready for work; trap 'echo bye > bye; exit' TERM; \
                 while :; do sleep 0.02; done";
    let parameters = json!({
        "command": sh("kill -0 $(cat pid)"), "executions": 2,
        "servers": [{"command": sh(serve), "ready": {"stdout": "for work"}}],
        "cleanup": sh("cat bye; ! kill -0 $(cat pid)"),
    });
    let (executions, outputs) = done(&program(parameters, directory.path()));
    let last = executions.last().unwrap();
    assert_eq!(text_of(&last.stdout, &outputs), "bye\n");
    let stubborn = json!({
        "command": ["true"],
        "servers": [{"command": sh("trap '' TERM; while :; do sleep 0.02; done"), "timeout": 0.2,
                     "ready": {"command": ["true"]}}],
    });
    let output = program(stubborn, directory.path());
    let killed =
        |event: &Event| matches!(event, Event::Warning(told) if told.code == "server_killed");
    assert!(events(&output).iter().any(killed));
}

#[test]
fn what_a_program_mounts_is_taken_away() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mount = sh("mkdir m && mount -t tmpfs -o size=1m left m && touch m/file");
    assert_fails(
        json!({"command": mount}),
        FailureKind::Program,
        &["left mounted", "/program/m"],
    );
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("/program/m "));
}

#[test]
fn a_program_runs_as_the_user_and_only_root_may_ask_for_that() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(directory.path(), open).unwrap();
    let parameters =
        json!({"command": sh("id -un; id -G; touch mine; echo $HOME"), "user": "nobody"});
    let (executions, outputs) = done(&program(parameters.clone(), directory.path()));
    let text = text_of(&executions[0].stdout, &outputs);
    assert!(text.starts_with("nobody\n65534\n"), "{text}");
    // The engine itself as somebody else: no right to become nobody, and no group to be had.
    let engine = directory.path().join("engine");
    fs::copy(crate::ENGINE, &engine).unwrap();
    let inside = directory.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o777)).unwrap();
    let as_daemon = |parameters: Value| {
        let mut command = Command::new(&engine);
        command.arg("run").uid(1).gid(1).current_dir("/");
        let job = job("program", parameters, &inside);
        start_command(command, &job).wait_with_output().unwrap()
    };
    let failure = end(&as_daemon(parameters)).failure.unwrap();
    assert_eq!(failure.kind, FailureKind::HostLacks, "{failure:?}");
    assert!(failure.message.contains("Fix: run as root"), "{failure:?}");
    let output = as_daemon(json!({"command": sh("(sleep 0.05 &); id -u")}));
    let (executions, outputs) = done(&output);
    assert_eq!(text_of(&executions[0].stdout, &outputs), "1\n");
    assert_eq!(end(&output).programs.unwrap().held_by, HeldBy::Subreaper);
}

#[test]
fn a_program_has_all_cpus_unless_it_is_placed() {
    let directory = scratch_directory();
    let counted = |cpus: Value, conditions: Value| {
        let parameters = json!({"command": ["nproc"], "cpus": cpus});
        let mut job = job("program", parameters, directory.path());
        job["conditions"] = conditions;
        let output = run(&["run"], &job);
        let (executions, outputs) = done(&output);
        let Some(Event::Hello(hello)) = events(&output).into_iter().next() else {
            panic!("no hello");
        };
        let printed = text_of(&executions[0].stdout, &outputs);
        (
            printed.trim().parse::<usize>().unwrap(),
            hello.conditions.cpus,
        )
    };
    let allowed = std::thread::available_parallelism().unwrap().get();
    let (all, cpus) = counted(json!([]), json!({}));
    assert_eq!((all, cpus.len()), (allowed, allowed));
    let first = cpus[0];
    assert_eq!(counted(json!([first]), json!({})), (1, vec![first]));
    assert_eq!(
        counted(json!([]), json!({"cpus": [first]})),
        (1, vec![first])
    );
}

#[test]
fn all_that_is_printed_is_hashed_whatever_is_kept() {
    let directory = scratch_directory();
    let line = "seq 300000; seq 300000 | sha256sum >&2";
    let parameters = json!({"command": sh(line), "keep": "1k", "executions": 2});
    let (executions, outputs) = done(&program(parameters, directory.path()));
    let told = text_of(&executions[0].stderr, &outputs);
    assert_eq!(told.split(' ').next().unwrap(), executions[0].stdout);
    assert_eq!(executions[0].stdout, executions[1].stdout);
    assert_eq!(outputs.len(), 2, "each content is handed over once");
    assert!(outputs[0].truncated && outputs[0].bytes == 1_988_895);
    let kept = text_of(&executions[0].stdout, &outputs);
    assert!(kept.len() == 1_024 && kept.starts_with("1\n2\n3\n"));
}
