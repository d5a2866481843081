//! Nothing that a program starts is missed, and nothing outlives its trial.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{
    end, events, job, left_in, scratch_directory, start, start_command, wait_until,
};
use crate::programs::{done, program, sh, text_of};
use serde_json::{json, Value};
use wire::{Event, HeldBy, Outcome, Step};

/// CPU time of an orphan, which nobody but us waits for.
const ORPHAN: &str = "(sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; touch done' &) \
                      ; while ! test -e done; do sleep 0.01; done; rm done";
const DIRECT: &str =
    "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; touch done'; rm done";

/// CPU time of a child that its parent never waits for: the kernel drops it.
const UNWAITED: &str = "perl -e '$SIG{{CHLD}} = \"IGNORE\"; \
                        if (!fork) { $i++ while $i < 4000000; exit } wait'";
const WAITED: &str = "perl -e 'if (!fork) { $i++ while $i < 4000000; exit } wait'";

/// The engine where hierarchies of these kinds are not mounted.
fn without(kinds: &str, job: &Value) -> Output {
    let mut unshare = Command::new("unshare");
    let line = format!("umount -a -t {kinds}; exec \"$0\" run");
    unshare.args(["--mount", "sh", "-c", &line]);
    unshare.arg(crate::ENGINE);
    start_command(unshare, job).wait_with_output().unwrap()
}

/// In each way of holding a program together: an orphan is counted, and ended.
#[test]
fn nothing_is_missed_with_either_kind_of_group_or_none() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut ways = vec![("none", "cgroup,cgroup2", HeldBy::Subreaper)];
    if mounts.contains(" - cgroup2 ") {
        ways.push(("all", "absent", HeldBy::Cgroup2));
    }
    if mounts
        .lines()
        .any(|line| line.contains(" - cgroup ") && line.ends_with(",pids"))
    {
        ways.push(("version 1", "cgroup2", HeldBy::Cgroup1));
    }
    for (name, kinds, held_by) in ways {
        let directory = scratch_directory();
        let cpu_s = |line: &str| {
            let parameters = json!({"command": sh(line)});
            let output = without(kinds, &job("program", parameters, directory.path()));
            assert_eq!(end(&output).programs.unwrap().held_by, held_by, "{name}");
            let execution = &done(&output).0[0];
            execution.user_s + execution.system_s
        };
        let (orphan_s, direct_s) = (cpu_s(ORPHAN), cpu_s(DIRECT));
        assert!(orphan_s > direct_s / 2.0, "{name}: {orphan_s} {direct_s}");
        if held_by == HeldBy::Cgroup2 {
            let (dropped_s, waited_s) = (cpu_s(UNWAITED), cpu_s(WAITED));
            assert!(dropped_s > waited_s / 2.0, "{name}: {dropped_s} {waited_s}");
        }
        let mark = format!("100{}", std::process::id());
        let parameters = json!({"command": sh(&format!("setsid sh -c 'sleep {mark}' & exit 0"))});
        let output = without(kinds, &job("program", parameters, directory.path()));
        let failure = end(&output).failure.unwrap();
        assert!(
            failure.message.contains("left running"),
            "{name}: {failure:?}"
        );
        assert!(!is_running(&mark), "{name}");
        assert!(left_in(directory.path()).is_empty(), "{name}");
    }
}

/// Whether a process has `mark` in its command line.
fn is_running(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(mark))
}

/// Processes that go on for long, and a mark to find them by.
fn long_trial(directory: &Path, seed: u32) -> (Value, String) {
    let mark = format!("{seed}{}", std::process::id());
    let line = format!("setsid sleep {mark} & sleep {mark} & touch started; wait");
    let cleanup = sh("echo cleaned; rm started");
    let parameters = json!({"command": sh(&line), "cleanup": cleanup});
    (job("program", parameters, directory), mark)
}

#[test]
fn a_signal_ends_what_runs_and_cleans_up() {
    let directory = scratch_directory();
    let (job, mark) = long_trial(directory.path(), 2_000);
    let child = start(&["run"], &job);
    let started = directory.path().join("program/started");
    wait_until(|| started.exists(), "it does not begin");
    let pid = child.id().to_string();
    assert!(Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .unwrap()
        .success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(end(&output).outcome, Outcome::Interrupted);
    let cleaned =
        |event: &Event| matches!(event, Event::Execution(one) if one.step == Step::Cleanup);
    assert!(events(&output).iter().any(cleaned));
    assert!(!is_running(&mark));
    assert!(left_in(directory.path()).is_empty());
}

/// Without any group there are two processes: the engine, and the one above it.
#[test]
fn nothing_outlives_either_process_where_there_is_no_group() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for (seed, is_above) in [(4_000, true), (5_000, false)] {
        let directory = scratch_directory();
        let (job, mark) = long_trial(directory.path(), seed);
        let mut unshare = Command::new("unshare");
        let line = "umount -a -t cgroup,cgroup2; exec \"$0\" run";
        unshare.args(["--mount", "sh", "-c", line]);
        unshare.arg(crate::ENGINE);
        let mut above = start_command(unshare, &job);
        let started = directory.path().join("program/started");
        wait_until(|| started.exists(), "it does not begin");
        assert!(is_running(&mark));
        let pid = above.id().to_string();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let engine = children.trim().to_owned();
        let killed = if is_above { &pid } else { &engine };
        let kill = Command::new("kill").args(["-KILL", killed]).status();
        assert!(kill.unwrap().success());
        let status = above.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it ends as the engine does");
        wait_until(|| !is_running(&mark), "it goes on");
    }
}

/// With a group.
#[test]
fn nothing_outlives_an_engine_that_was_killed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let directory = scratch_directory();
    let (job, mark) = long_trial(directory.path(), 3_000);
    let mut child = start(&["run"], &job);
    let started = directory.path().join("program/started");
    wait_until(|| started.exists(), "it does not begin");
    assert!(is_running(&mark));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| !is_running(&mark), "it goes on");
}

/// SIGPIPE among them: a program that ignored it would not end when nobody reads what it prints.
#[test]
fn a_program_ignores_none_of_the_signals_that_the_engine_ignores() {
    let directory = scratch_directory();
    let asked = json!({"command": ["grep", "SigIgn", "/proc/self/status"]});
    let (executions, outputs) = done(&program(asked, directory.path()));
    let printed = text_of(&executions[0].stdout, &outputs);
    let ignored = printed.trim().strip_prefix("SigIgn:\t").unwrap();
    // 32 and 33 are the C library's, which lets nobody set them.
    let ours = u64::from_str_radix(ignored, 16).unwrap() & !(0b11 << 31);
    assert_eq!(ours, 0, "{ignored}");
}
