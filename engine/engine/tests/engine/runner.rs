//! The engine as a runner: trial after trial in one process, each as if it were alone, and nothing
//! left of any, however trial, runner or whoever asked for it ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::common::{
    children_of, command, job, left_in, lives, run, scratch_directory, wait_until,
};
use crate::programs::sh;
use crate::trouble::{endless, stream};
use serde_json::{json, Value};
use wire::{Event, Outcome, RunnerLine, RunnerReply};

/// A runner, and what it says.
struct Runner {
    process: Child,
    requests: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

enum Heard {
    Event(Box<Event>),
    Reply(RunnerReply),
    Nothing,
}

impl Heard {
    fn is_sample(&self) -> bool {
        matches!(self, Heard::Event(event) if matches!(**event, Event::Sample(_)))
    }
}

impl Runner {
    fn start(arguments: &[&str]) -> Self {
        let mut command = command(&[&["runner"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let mut runner = Self {
            requests: process.stdin.take(),
            lines: BufReader::new(process.stdout.take().unwrap()),
            process,
        };
        let Heard::Reply(RunnerReply::Hello { protocol, .. }) = runner.hear() else {
            panic!("no hello");
        };
        assert_eq!(protocol, wire::PROTOCOL);
        runner
    }

    fn ask(&mut self, request: &Value) {
        writeln!(self.requests.as_ref().unwrap(), "{request}").unwrap();
    }

    fn begin(&mut self, job: &Value) {
        self.ask(&json!({"run": {"job": job.to_string()}}));
    }

    fn hear(&mut self) -> Heard {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        match line.strip_prefix('\u{1e}') {
            Some(own) => Heard::Reply(serde_json::from_str::<RunnerLine>(own).unwrap().runner),
            None if line.is_empty() => Heard::Nothing,
            None => Heard::Event(Box::new(serde_json::from_str(&line).unwrap())),
        }
    }

    /// The events of a trial, and how the runner says that it ended.
    fn hear_out(&mut self) -> (Vec<Event>, i32, String) {
        let mut events = Vec::new();
        loop {
            match self.hear() {
                Heard::Event(event) => events.push(*event),
                Heard::Reply(RunnerReply::Ended { status, said, .. }) => {
                    return (events, status, said)
                }
                Heard::Reply(other) => panic!("{other:?}"),
                Heard::Nothing => panic!("the runner is gone"),
            }
        }
    }

    /// What comes of a trial before the answer to a beat.
    fn hear_a_beat(&mut self) {
        loop {
            match self.hear() {
                Heard::Event(_) => {}
                Heard::Reply(RunnerReply::Beat {}) => return,
                _ => panic!("no answer to a beat"),
            }
        }
    }

    fn execute(&mut self, job: &Value) -> (Vec<Event>, i32, String) {
        self.begin(job);
        self.hear_out()
    }

    /// Begins a trial and waits until it is in the middle; its process.
    fn in_the_middle(&mut self, directory: &Path) -> u32 {
        self.begin(&endless(directory));
        while !self.hear().is_sample() {}
        *children_of(self.process.id()).first().unwrap()
    }

    fn status(&self) -> String {
        fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap()
    }

    fn code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.requests.take();
        let _ = self.process.wait();
    }
}

fn outcome(events: &[Event]) -> Outcome {
    match events.last() {
        Some(Event::End(end)) => end.outcome,
        other => panic!("the last line is {other:?}"),
    }
}

/// What a trial's engine and its program have from whoever came before.
const STATE: &str =
    "grep -E '^(Sig(Blk|Ign|Cgt)|Cpus_allowed_list|Mems_allowed_list|VmLck|Threads)' \
    /proc/$PPID/status; readlink /proc/$PPID/cwd; cat /proc/$PPID/limits /proc/$PPID/oom_score_adj \
    /proc/$PPID/cgroup; tr '\\0' '\\n' < /proc/$PPID/environ; nice; \
    grep -E '^(Sig[BIC]|Cpus_allowed_list|CapEff)' /proc/self/status; ls /proc/self/fd; pwd; env";
/// But for those of kernel threads, which come and go.
const DESCRIPTORS: &str =
    "for fd in /proc/$PPID/fd/*; do readlink $fd; done | grep -v schedstat | sed 's/[0-9]*//g' | \
    sort";

fn printed(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Output(output) => output.text.clone(),
        _ => None,
    });
    texts.collect::<String>()
}

fn small(directory: &Path) -> Value {
    stream(directory, json!({"file": "64k", "block": "4k"}))
}

#[test]
fn each_of_several_trials_is_as_if_it_were_alone() {
    let directory = scratch_directory();
    let looking = |words: &str| {
        let parameters = json!({"command": sh(words), "executions": 1, "layout": "fixed"});
        job("program", parameters, directory.path())
    };
    let alone = printed(&crate::common::events(&run(&["run"], &looking(STATE))));
    assert!(alone.contains("Cpus_allowed_list"), "{alone}");
    let mut runner = Runner::start(&[]);
    let first = printed(&runner.execute(&looking(DESCRIPTORS)).0);
    assert!(first.contains("/dev/null"), "{first}");
    let mut pinned = small(directory.path());
    pinned["conditions"] = json!({"cpus": [0], "inject": {"delay_ns": 1000}});
    for disturbing in [
        pinned,
        json!({"protocol": 1, "workload": "none", "target": {"directory": "/"}}),
        job(
            "program",
            json!({"command": sh("exit 3")}),
            directory.path(),
        ),
    ] {
        runner.execute(&disturbing);
        assert_eq!(printed(&runner.execute(&looking(STATE)).0), alone);
        assert_eq!(printed(&runner.execute(&looking(DESCRIPTORS)).0), first);
    }
    let (events, status, said) = runner.execute(&small(directory.path()));
    let Some(Event::End(end)) = events.last() else {
        panic!("{events:?}");
    };
    assert!(!end.counters.contains_key("InjectedDelays"));
    assert_eq!((end.outcome, status, said.as_str()), (Outcome::Done, 0, ""));
    assert!(end.usage.parent_s >= 0.0 && end.floor.clock_ns > 0.0);
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn words_and_status_are_those_of_the_trial() {
    let mut runner = Runner::start(&[]);
    let (events, status, said) = runner.execute(&json!({"no": "job"}));
    assert_eq!((outcome(&events), status), (Outcome::Failed, 2));
    assert!(said.contains("unknown field `no`"), "{said}");
    let directory = scratch_directory();
    let (_, status, said) = runner.execute(&small(directory.path()));
    assert_eq!((status, said.as_str()), (0, ""));
}

#[test]
fn what_is_no_request_is_refused_and_changes_nothing() {
    let directory = scratch_directory();
    let mut runner = Runner::start(&[]);
    runner.ask(&json!({"stop": {}}));
    for (request, why) in [
        (json!({"dance": {}}), "unknown variant `dance`"),
        (json!([1]), "not a request"),
    ] {
        runner.ask(&request);
        let Heard::Reply(RunnerReply::Refused { message }) = runner.hear() else {
            panic!("not refused: {request}");
        };
        assert!(message.contains(why), "{message}");
    }
    runner.in_the_middle(directory.path());
    runner.begin(&small(directory.path()));
    runner.ask(&json!({"stop": {}}));
    let mut refused = 0;
    loop {
        match runner.hear() {
            Heard::Reply(RunnerReply::Refused { .. }) => refused += 1,
            Heard::Reply(RunnerReply::Ended { status, .. }) => break assert_eq!(status, 130),
            Heard::Nothing => panic!("the runner is gone"),
            _ => {}
        }
    }
    assert_eq!(refused, 1);
    let (events, ..) = runner.execute(&small(directory.path()));
    assert_eq!(outcome(&events), Outcome::Done);
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn the_end_of_the_input_ends_trial_and_runner() {
    let directory = scratch_directory();
    let mut runner = Runner::start(&[]);
    let trial = runner.in_the_middle(directory.path());
    runner.requests.take();
    let (events, status, _) = runner.hear_out();
    assert_eq!((outcome(&events), status), (Outcome::Interrupted, 130));
    assert_eq!(runner.code(), Some(0));
    assert!(!lives(trial));
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn the_fork_that_waits_is_replaced_when_it_is_killed_and_ends_with_its_runner() {
    let directory = scratch_directory();
    let job = small(directory.path());
    // More than a pipe holds.
    let long = json!({"run": {"job": format!("{}{job}", " ".repeat(300_000))}});
    for signal in ["", "-TERM", "-KILL"] {
        let mut runner = Runner::start(&[]);
        let waiting = |runner: &Runner| children_of(runner.process.id()).first().copied();
        let kill = |signal: &str, pid: u32| {
            let mut kill = std::process::Command::new("kill");
            assert!(kill
                .args([signal, &pid.to_string()])
                .status()
                .unwrap()
                .success());
        };
        wait_until(|| waiting(&runner).is_some(), "none waits");
        let first = waiting(&runner).unwrap();
        kill("-KILL", first);
        wait_until(|| !lives(first), "it is still there");
        runner.ask(&long);
        assert_eq!(outcome(&runner.hear_out().0), Outcome::Done);
        wait_until(|| waiting(&runner).is_some(), "none waits for the next job");
        let second = waiting(&runner).unwrap();
        match signal {
            "" => drop(runner.requests.take()),
            _ => kill(signal, runner.process.id()),
        }
        runner.code();
        wait_until(|| !lives(second), "it outlives its runner");
    }
}

#[test]
fn a_trial_is_between_two_looks_at_its_host() {
    let directory = scratch_directory();
    let mut runner = Runner::start(&[]);
    let job = small(directory.path()).to_string();
    let watch = json!({"who": {"servers": [std::process::id()]}});
    for settle in [None, Some(json!({"limit_s": 0.1, "sync": true}))] {
        let mut bracket = json!({"watch": watch});
        if let Some(asked) = &settle {
            bracket["settle"] = asked.clone();
        }
        runner.ask(&json!({"run": {"job": job, "bracket": bracket}}));
        if settle.is_some() {
            let Heard::Reply(RunnerReply::Settled(settled)) = runner.hear() else {
                panic!("the trial begins before its host has settled");
            };
            assert!(settled.elapsed_s > 0.0);
        }
        let mut events = Vec::new();
        let seen = loop {
            match runner.hear() {
                Heard::Event(event) => events.push(*event),
                Heard::Reply(RunnerReply::Ended { seen, .. }) => break seen.unwrap(),
                _ => panic!("neither an event nor the end"),
            }
        };
        assert_eq!(outcome(&events), Outcome::Done);
        let Some(Event::End(end)) = events.last() else {
            panic!("no end");
        };
        assert!(seen.elapsed_s >= end.elapsed_s, "{seen:?}");
        assert!(seen.servers_s.is_some());
    }
    runner.ask(&json!({"run": {"job": job, "bracket": {"settle": {"limit_s": -1, "sync": false}, "watch": {}}}}));
    assert!(matches!(
        runner.hear(),
        Heard::Reply(RunnerReply::Refused { .. })
    ));
    runner.execute(&small(directory.path()));
}

#[test]
fn a_trial_that_is_stopped_while_its_host_settles_does_nothing() {
    let directory = scratch_directory();
    let mut runner = Runner::start(&[]);
    let bracket = json!({"settle": {"limit_s": 3600, "sync": true}, "watch": {}});
    let job = endless(directory.path()).to_string();
    runner.ask(&json!({"run": {"job": job, "bracket": bracket}}));
    runner.ask(&json!({"stop": {}}));
    loop {
        match runner.hear() {
            Heard::Reply(RunnerReply::Ended { status, .. }) => {
                assert_ne!(status, 0);
                break;
            }
            Heard::Reply(RunnerReply::Settled(_)) | Heard::Event(_) => {}
            _ => panic!("neither the trial nor its end"),
        }
    }
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn a_lease_that_runs_out_ends_both_and_beats_make_it_longer() {
    let directory = scratch_directory();
    // So long that a machine which stands still for a moment sends the beats in time.
    let mut runner = Runner::start(&["--lease", "5"]);
    runner.in_the_middle(directory.path());
    for _ in 0..60 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        runner.ask(&json!({"beat": {}}));
        runner.hear_a_beat();
    }
    assert!(runner.process.try_wait().unwrap().is_none());
    let (events, status, _) = runner.hear_out();
    assert_eq!((outcome(&events), status), (Outcome::Interrupted, 130));
    assert_eq!(runner.code(), Some(130));
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn a_signal_and_sigkill_of_the_runner_end_the_trial() {
    for (signal, code) in [("-TERM", Some(130)), ("-KILL", None)] {
        let directory = scratch_directory();
        let mut runner = Runner::start(&[]);
        let trial = runner.in_the_middle(directory.path());
        let pid = runner.process.id().to_string();
        let killed = std::process::Command::new("kill")
            .args([signal, &pid])
            .status();
        assert!(killed.unwrap().success());
        assert_eq!(runner.code(), code);
        wait_until(|| !lives(trial), "the trial goes on");
        assert!(left_in(directory.path()).is_empty(), "{signal}");
    }
}

#[test]
fn a_runner_does_not_outlive_whoever_started_it() {
    let line = "exec 3<&0; \"$0\" runner <&3 & wait";
    let mut starter = std::process::Command::new("sh")
        .args(["-c", line, crate::ENGINE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut hello = String::new();
    let mut lines = BufReader::new(starter.stdout.take().unwrap());
    lines.read_line(&mut hello).unwrap();
    assert!(hello.contains("hello"), "{hello}");
    let runner = children_of(starter.id())[0];
    // Its input stays open: we hold the other end.
    let _input = starter.stdin.take();
    starter.kill().unwrap();
    starter.wait().unwrap();
    wait_until(|| !lives(runner), "the runner goes on without its starter");
}

#[test]
fn a_trial_that_is_killed_leaves_no_process_and_the_runner_goes_on() {
    let directory = scratch_directory();
    let mut runner = Runner::start(&[]);
    let line = "setsid sleep 600 & setsid sh -c 'trap \"\" TERM; sleep 600' & echo; wait";
    runner.begin(&job(
        "program",
        json!({"command": sh(line)}),
        directory.path(),
    ));
    let all_below = |runner: &Runner| {
        let mut found = children_of(runner.process.id());
        let mut next = 0;
        while let Some(pid) = found.get(next) {
            found.extend(children_of(*pid));
            next += 1;
        }
        found
    };
    wait_until(|| all_below(&runner).len() >= 6, "the program does not run");
    let below = all_below(&runner);
    let engine = below[0].to_string();
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &engine])
        .status();
    assert!(killed.unwrap().success());
    let (_, status, _) = runner.hear_out();
    assert_eq!(status, -9);
    assert!(!below.iter().any(|&process| lives(process)), "{below:?}");
    let other = scratch_directory();
    assert_eq!(
        outcome(&runner.execute(&small(other.path())).0),
        Outcome::Done
    );
}

#[test]
fn a_runner_is_small_and_sleeps_while_a_trial_runs() {
    let directory = scratch_directory();
    let mut runner = Runner::start(&[]);
    runner.execute(&small(directory.path()));
    runner.in_the_middle(directory.path());
    let number = |status: &str, name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_ascii_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    let before = runner.status();
    for _ in 0..20 {
        while !runner.hear().is_sample() {}
    }
    let now = runner.status();
    for switches in ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"] {
        assert_eq!(number(&before, switches), number(&now, switches));
    }
    // Without the pages of the program itself, of which a debug build has more.
    assert!(number(&now, "RssAnon:") <= 2 << 10, "{now}");
    runner.ask(&json!({"stop": {}}));
    runner.hear_out();
}

#[test]
fn an_execution_that_is_held_begins_with_what_is_prepared_for_it() {
    let directory = scratch_directory();
    let log = directory.path().join("log");
    let written = || fs::read_to_string(&log).unwrap_or_default();
    let line = |what: &str| sh(&format!("echo {what} >> {}", log.display()));
    let parameters = json!({
        "command": line("run"), "prepare": line("prepare"), "warmup": 1, "executions": 3,
    });
    let job = job("program", parameters, directory.path());
    let mut runner = Runner::start(&[]);
    runner.ask(&json!({"run": {"job": job.to_string(), "held": "executions"}}));
    let mut expected = "prepare\nrun\n".to_owned();
    for _ in 0..3 {
        while !matches!(runner.hear(), Heard::Reply(RunnerReply::Ready {})) {}
        assert_eq!(written(), expected);
        runner.ask(&json!({"go": {"at_ns": 0}}));
        expected += "prepare\nrun\n";
    }
    let (_, status, said) = runner.hear_out();
    assert_eq!((status, said.as_str()), (0, ""));
    assert_eq!(written(), expected);
}
