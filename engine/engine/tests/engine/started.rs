//! Processes that an agent starts and that stay: ready, looked at, and ended with all that they have
//! started, whoever is killed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::wait_until;
use crate::ops::Host;
use serde_json::{json, Value};
use wire::{HostDone, HostFailureKind, HostServer, HostStarted};

impl Host {
    fn mark(&self) -> String {
        let name = self
            .path("x")
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_owned();
        let name = name.to_string_lossy().replace(['.', '_'], "");
        format!("tiltyard-{}-{name}", std::process::id())
    }

    /// A shell that says when it is ready.
    fn start(&self, script: &str, other: Value) -> Value {
        let mut op = json!({
            "op": "start", "mark": self.mark(), "argv": ["sh", "-c", script],
            "ready": "line", "limit_s": 30, "stop": {"signal": "SIGTERM"}, "stop_s": 20,
        });
        for (name, value) in other.as_object().unwrap() {
            op[name] = value.clone();
        }
        op
    }

    fn started(&mut self, script: &str, other: Value) -> (String, u64, HostStarted) {
        let list = json!([self.start(script, other)]);
        let did = self.ops(list).unwrap();
        (did.ledger, did.changes[0].number, did.started[0].clone())
    }

    fn failed(&mut self, script: &str, other: Value) -> (HostFailureKind, String) {
        let list = json!([self.start(script, other)]);
        let failed = self.ops(list).unwrap_err();
        assert_eq!(self.alive(), Vec::<String>::new());
        assert!(self.ledgers().is_empty());
        failed
    }

    fn state(&mut self) -> HostServer {
        let asked = json!({"id": 4, "servers": {"marks": [self.mark()]}});
        match self.ask(asked).unwrap() {
            HostDone::Servers(mut servers) => servers.remove(0),
            other => panic!("{other:?}"),
        }
    }

    /// The processes of this test: keepers, and whoever has its directory in its command.
    fn alive(&self) -> Vec<String> {
        let (mark, directory) = (self.mark(), self.path("").display().to_string());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines
            .filter(|line| line.contains(&mark) || line.contains(&directory))
            .collect()
    }

    fn is_ended(&self) {
        wait_until(|| self.alive().is_empty(), "something of it is left");
    }
}

/// What leaves its session, its parent and its environment, and says where it is.
fn stray(said: &Path) -> String {
    let said = said.display();
    format!(
        "(setsid env -i PATH=\"$PATH\" sh -c 'echo $$ > {said}; while :; do sleep 0.05; done; : {said}' &) & \
         while [ ! -s {said} ]; do sleep 0.01; done; echo ready; exec sleep 600"
    )
}

#[test]
fn one_is_ready_is_looked_at_and_ends_with_all_that_it_has_started() {
    let mut host = Host::new();
    let said = host.path("said");
    let (ledger, number, started) = host.started(&stray(&said), json!({}));
    assert_eq!(started.line, "ready");
    let state = host.state();
    let pid: u32 = fs::read_to_string(&said).unwrap().trim().parse().unwrap();
    assert!(
        state.ended.is_empty() && state.pids.contains(&pid) && state.pids.contains(&started.pid)
    );
    // What a command of another request leaves behind ends with it, and this does not.
    let run = json!({"id": 3, "run": {"argv": ["sh", "-c", "sleep 600 & echo $!"]}});
    host.ask(run).unwrap();
    let state = host.state();
    assert!(state.pids.contains(&pid) && state.pids.contains(&started.pid));
    let undone = host.undo(&ledger, &[number]);
    let done = format!("ended {}, process {}", host.mark(), started.pid);
    assert_eq!((undone.done, undone.left), (vec![done], vec![]));
    assert_eq!(host.alive(), Vec::<String>::new());
    assert_eq!(host.state().ended, "is not there any more");
}

#[test]
fn one_that_ends_says_how_and_what_it_said_last_but_no_secret() {
    let mut host = Host::new();
    let script =
        "read secret; echo \"$secret\" >&2; echo begun; sleep 0.2; echo \"no $secret\" >&2; exit 7";
    let secret = json!({"stdin": "s3cr3t\n", "secret": "s3cr3t"});
    let (_, _, started) = host.started(script, secret);
    assert_eq!(started.line, "begun");
    wait_until(|| !host.state().ended.is_empty(), "it does not end");
    let state = host.state();
    assert!(state.pids.is_empty());
    // Two pipes know of no order.
    let mut said: Vec<_> = state
        .ended
        .split(": ")
        .flat_map(|one| one.split(" | "))
        .collect();
    said[1..].sort_unstable();
    assert_eq!(
        said,
        ["ended with status 7", "begun", "no {secret}", "{secret}"]
    );
    for ledger in host.ledgers() {
        assert!(!fs::read_to_string(ledger).unwrap().contains("s3cr3t"));
    }
}

#[test]
fn one_that_does_not_get_ready_is_ended_and_says_why() {
    let mut host = Host::new();
    let failed = host.failed("echo no room >&2; exit 3", json!({"what": "service"}));
    assert_eq!(failed.0, HostFailureKind::Failed);
    assert!(
        failed.1.starts_with("service: sh -c 'echo no room"),
        "{}",
        failed.1
    );
    assert!(
        failed.1.ends_with(": ended with status 3: no room"),
        "{}",
        failed.1
    );
    let (kind, text) = host.failed("sleep 600", json!({"limit_s": 0.2}));
    assert_eq!(kind, HostFailureKind::Limit);
    assert!(
        text.ends_with("not ready after 0.2 s: it said nothing"),
        "{text}"
    );
    let (kind, text) = host.failed("", json!({"argv": ["no-such-program"]}));
    assert_eq!(kind, HostFailureKind::Lacks);
    assert!(
        text.ends_with("there is no program \"no-such-program\" on this host"),
        "{text}"
    );
    let (_, text) = host.failed("", json!({"user": "no-such-user"}));
    assert!(text.contains("no user \"no-such-user\""), "{text}");
    let (_, text) = host.failed("", json!({"in": "no-such-namespace"}));
    assert!(
        text.contains("network namespace no-such-namespace"),
        "{text}"
    );
}

#[test]
fn a_command_port_path_or_end_is_a_sign_too() {
    let mut host = Host::new();
    let begun = host.path("begun").display().to_string();
    let script = format!("sleep 0.1; mkdir {begun}; exec sleep 600");
    let probe = json!(["sh", "-c", format!("sleep 600 & test -e {begun}")]);
    let never = json!({"port": {"address": "127.0.0.1", "port": "1"}});
    for ready in [json!({"path": begun}), json!({"command": probe})] {
        let (ledger, number, _) = host.started(&script, json!({"ready": ready}));
        assert!(fs::metadata(&begun).unwrap().is_dir());
        // Of a probe nothing is left.
        assert!(!host.alive().iter().any(|line| line.contains("sleep 600 &")));
        host.undo(&ledger, &[number]);
        fs::remove_dir(&begun).unwrap();
    }
    let (kind, _) = host.failed("exec sleep 600", json!({"ready": never, "limit_s": 0.5}));
    assert_eq!(kind, HostFailureKind::Limit);
    let op = host.start("sleep 600 & exit 0", json!({"ready": "ended", "stop_s": 0}));
    let did = host.ops(json!([op])).unwrap();
    assert_eq!((did.changes.len(), did.started[0].pid), (0, 0));
    let failed = host.failed("exit 1", json!({"ready": "ended"}));
    assert!(
        failed.1.ends_with("ended with status 1: it said nothing"),
        "{}",
        failed.1
    );
}

#[test]
fn the_engine_itself_is_started_without_a_path() {
    let mut host = Host::new();
    let words = [
        "serve",
        "--port",
        "0",
        "--bind",
        "127.0.0.1",
        "--secret-file",
        "/dev/stdin",
    ];
    for before in [vec![], vec!["env", "A=b"]] {
        let before = before.into_iter().map(Value::from);
        let argv = before
            .chain([json!({"of": "self"})])
            .chain(words.map(Value::from));
        let argv = Value::from_iter(argv);
        let (ledger, number, started) =
            host.started("", json!({"argv": argv, "stdin": "s3cr3t\n"}));
        let told: Value = serde_json::from_str(&started.line).unwrap();
        assert_eq!(told["type"], "listening");
        host.undo(&ledger, &[number]);
    }
}

#[test]
fn one_is_asked_to_end_by_a_command_and_killed_when_it_does_not() {
    let mut host = Host::new();
    let asked = host.path("asked").display().to_string();
    let stop = json!({"command": ["sh", "-c", format!("echo > {asked}")]});
    let script = format!(": {asked}; trap '' TERM; echo ready; while :; do sleep 0.05; done");
    let (ledger, number, _) = host.started(&script, json!({"stop": stop, "stop_s": 0.3}));
    assert_eq!(host.undo(&ledger, &[number]).left, Vec::<String>::new());
    assert!(Path::new(&asked).exists());
    assert_eq!(host.alive(), Vec::<String>::new());
}

#[test]
fn what_others_lie_upon_stays_until_somebody_recovers() {
    let mut host = Host::new();
    let (_, _, started) = host.started("echo ready; exec sleep 600", json!({"outlives": true}));
    let mut before = host.followed();
    before.process.kill().unwrap();
    drop(before);
    assert_eq!(host.alive().len(), 1, "its keeper");
    let undone = host.undone(json!({"id": 9, "recover": {}}));
    let done = format!("ended {}, process {}", host.mark(), started.pid);
    assert_eq!((undone.done, undone.left), (vec![done], vec![]));
    host.is_ended();
}

#[test]
fn whoever_is_killed_nothing_of_it_is_left_after_a_recovery() {
    for (kills_agent, kills_keeper) in [(true, false), (false, true), (true, true)] {
        let mut host = Host::new();
        let (said, work) = (host.path("said"), host.path("work"));
        fs::create_dir(&work).unwrap();
        let work = json!({"directory": work, "directories": [work]});
        let (_, _, started) = host.started(&stray(&said), work);
        if kills_keeper {
            let pid = started.pid.to_string();
            assert!(Command::new("kill")
                .args(["-KILL", &pid])
                .status()
                .unwrap()
                .success());
        }
        let mut before = host.followed();
        if kills_agent {
            before.process.kill().unwrap();
        }
        drop(before);
        let undone = host.undone(json!({"id": 9, "recover": {}}));
        assert_eq!(undone.left, Vec::<String>::new());
        host.is_ended();
        assert!(host.ledgers().is_empty());
    }
}
