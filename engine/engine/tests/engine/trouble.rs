//! What happens when things go wrong in the middle: nothing may be left behind, and the exit
//! code says what it was.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{command, end, iozone, job, left_in, run, scratch_directory, start, Tmpfs};
use serde_json::{json, Value};
use wire::{AccessVerdict, Event, FailureKind, Outcome};

/// Work for far longer than any test waits: it must be stopped.
fn endless(directory: &Path) -> Value {
    let files: Vec<String> = (4..=16).map(|size| format!("{size}M")).collect();
    let records = json!([512, "1k", "2k", "4k", "8k", "16k", "32k", "64k"]);
    iozone(directory, json!({"file": files, "record": records}))
}

/// Reads lines until the first value was measured, so that the trial is in the middle.
fn wait_for_a_sample(child: &mut Child) -> BufReader<ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "ended too early");
        match serde_json::from_str(&line).unwrap() {
            Event::Sample(_) => return lines,
            Event::End(end) => panic!("ended too early: {end:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    let directory = scratch_directory();
    let mut child = start(&["run"], &endless(directory.path()));
    let lines = wait_for_a_sample(&mut child);
    // It is removed after all tests of a size, and made again for the next.
    let is_there = || left_in(directory.path()) == ["iozone.tmp"];
    wait_until(is_there, "it works on no file");
    let pid = child.id().to_string();
    assert!(Command::new("kill")
        .args(["-TERM", &pid])
        .status()
        .unwrap()
        .success());
    let last = lines.lines().last().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let Event::End(end) = serde_json::from_str(&last).unwrap() else {
        panic!("{last}");
    };
    assert_eq!(end.outcome, Outcome::Interrupted);
    assert!(end.operations > 0);
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn a_reader_that_goes_away_ends_the_trial() {
    let directory = scratch_directory();
    let mut child = start(&["run"], &endless(directory.path()));
    drop(wait_for_a_sample(&mut child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(left_in(directory.path()).is_empty());
}

/// Starts an attended trial and waits until it is in the middle.
fn attended(directory: &Path) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut command = command(&["run", "--attended"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", endless(directory)).unwrap();
    let lines = wait_for_a_sample(&mut child);
    (child, stdin, lines)
}

#[test]
fn an_attended_trial_goes_on_while_its_input_is_open() {
    let directory = scratch_directory();
    let (mut child, mut stdin, mut lines) = attended(directory.path());
    writeln!(stdin, "still here").unwrap();
    let mut line = String::new();
    while !line.contains("\"sample\"") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "ended too early");
    }
    assert!(child.try_wait().unwrap().is_none());
    drop(stdin);
    let last = lines.lines().last().unwrap().unwrap();
    assert!(last.contains("\"interrupted\""), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn the_death_of_the_starter_ends_the_trial() {
    let directory = scratch_directory();
    let aside = scratch_directory();
    let (job, lines) = (aside.path().join("job"), aside.path().join("lines"));
    std::fs::write(&job, endless(directory.path()).to_string()).unwrap();
    let starter = r#""$0" run --job "$1" > "$2" & until grep -q sample "$2"; do :; done"#;
    let status = Command::new("sh")
        .args(["-c", starter, env!("CARGO_BIN_EXE_tiltyard-engine")])
        .args([&job, &lines])
        .status();
    assert!(status.unwrap().success());
    let ended = || {
        std::fs::read_to_string(&lines)
            .unwrap()
            .contains("interrupted")
    };
    wait_until(ended, "it goes on without its starter");
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn a_full_file_system_is_told_and_cleaned() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    for (tests, backend) in [
        ("write", "sync"),
        ("fwrite", "sync"),
        ("read", "sync"),
        ("write", "mmap"),
        ("write", "libaio"),
    ] {
        let parameters = json!({"file": "2M", "record": "24k", "tests": tests, "backend": backend});
        let output = run(&["run"], &iozone(tmpfs.path(), parameters));
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let failure = end(&output).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::NoSpace, "{failure:?}");
        assert!(left_in(tmpfs.path()).is_empty());
    }
}

#[test]
fn direct_access_that_nothing_can_confirm_is_not_timed() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    let parameters = json!({"file": "64k", "record": "4k", "access": "direct"});
    let output = run(&["run"], &iozone(tmpfs.path(), parameters));
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let end = end(&output);
    assert_eq!(end.failure.unwrap().kind, FailureKind::Access);
    assert_eq!(end.access.unwrap().verdict, AccessVerdict::Contradicted);
    assert_eq!(end.operations, 0);
    assert!(left_in(tmpfs.path()).is_empty());
}

#[test]
fn the_cache_of_a_tmpfs_is_confirmed_without_a_device() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    let parameters = json!({"file": "64k", "record": "4k"});
    let end = end(&run(&["run"], &iozone(tmpfs.path(), parameters)));
    let access = end.access.unwrap();
    assert_eq!(access.verdict, AccessVerdict::Confirmed, "{access:?}");
    assert_eq!(access.device_read_bytes, None);
}

/// Processes that `pid` has made and that have not ended, by the kernel.
fn children_of(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn wait_until(mut condition: impl FnMut() -> bool, otherwise: &str) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !condition() {
        assert!(Instant::now() < deadline, "{otherwise}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn children_do_not_outlive_an_engine_that_is_killed() {
    let directory = scratch_directory();
    let parameters = json!({
        "file": "4M", "record": "4k", "children": 3, "children_kind": "processes",
        "think_ms": 10_000, "phases": "write"
    });
    let job = job("iozone_throughput", parameters, directory.path());
    let mut engine = start(&["run"], &job);
    let mut children = Vec::new();
    wait_until(
        || {
            children = children_of(engine.id());
            children.len() == 3
        },
        "it has no children",
    );
    engine.kill().unwrap();
    engine.wait().unwrap();
    let all_ended = || !children.iter().any(|&child| lives(child));
    wait_until(all_ended, "a child has outlived the engine");
    // Nobody could remove the files: the next trial says so, and what to do about it.
    let output = run(&["run"], &job);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let message = end(&output).failure.unwrap().message;
    assert!(
        message.contains("iozone.DUMMY.0 already exists"),
        "{message}"
    );
}
