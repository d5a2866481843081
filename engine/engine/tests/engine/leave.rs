//! The engine as an agent that has its host booted: what is kept over that, and for whom.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::wait_until;
use crate::ops::{is_root, Host};
use serde_json::{json, Value};
use wire::{HostDone, HostFailureKind, HostUndone};

type Answer = Result<HostDone, (HostFailureKind, String)>;

/// A file that is kept, and a directory that is not.
fn with_two(host: &mut Host) -> [PathBuf; 2] {
    let [kept, gone] = ["tiltyard-kept", "tiltyard-gone"].map(|name| host.path(name));
    let list = json!([
        {"op": "put", "path": kept, "text": "what it\nsays\n"},
        {"op": "make", "directory": gone},
    ]);
    assert_eq!(host.ops(list).unwrap().changes.len(), 2);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "what it\nsays\n");
    [kept, gone]
}

fn leave(argv: &Value) -> Value {
    json!({"id": 3, "leave": {"argv": argv, "study": "1a2b", "keep": [1, 7]}})
}

fn take_up(host: &mut Host, study: &str) -> String {
    match host.ask(json!({"id": 4, "take_up": {"study": study}})) {
        Ok(HostDone::TakenUp(ledger)) => ledger,
        other => panic!("{other:?}"),
    }
}

fn is_left(answer: &Answer) -> bool {
    matches!(answer, Ok(HostDone::Left(_)))
}

/// It ends, with its input, and another one is there.
fn next(host: &mut Host) {
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    host.followed();
}

fn removed(path: &Path) -> Vec<String> {
    vec![format!("removed {}", path.display())]
}

#[test]
fn what_is_kept_over_a_boot_is_the_next_ones_that_takes_it_up() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let [kept, gone] = with_two(&mut host);
    let ended = host.path("ended");
    assert!(is_left(&host.ask(leave(&json!(["touch", ended])))));
    assert!(ended.exists() && kept.exists() && !gone.exists());
    let [ledger] = &host.ledgers()[..] else {
        panic!("{:?}", host.ledgers())
    };
    let name = ledger.file_stem().unwrap().to_str().unwrap().to_owned();
    next(&mut host);
    for other in [json!({}), json!({"kept_for": "another"})] {
        let found = host.undone(json!({"id": 2, "recover": other}));
        assert_eq!((found, kept.exists()), (HostUndone::default(), true));
    }
    assert_eq!(take_up(&mut host, "another"), "");
    assert_eq!(take_up(&mut host, "1a2b"), name);
    assert_eq!(take_up(&mut host, "1a2b"), name, "it has it already");
    let made = host.path("tiltyard-more");
    let did = host
        .ops(json!([{"op": "make", "directory": made}]))
        .unwrap();
    assert_eq!((did.ledger, did.changes[0].number), (name, 3));
    next(&mut host);
    assert!(!kept.exists() && !made.exists() && host.ledgers().is_empty());
}

#[test]
fn what_is_kept_is_given_up_for_its_run_or_by_all() {
    if !is_root() {
        return;
    }
    for which in [json!({"kept": true}), json!({"kept_for": "1a2b"})] {
        let mut host = Host::new();
        let [kept, _] = with_two(&mut host);
        assert!(is_left(&host.ask(leave(&json!(["true"])))));
        let found = host.undone(json!({"id": 2, "recover": which}));
        assert_eq!(found.done, removed(&kept));
        assert!(host.ledgers().is_empty());
    }
}

#[test]
fn a_boot_that_is_refused_keeps_nothing_for_anybody() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let [kept, gone] = with_two(&mut host);
    let script = "echo warning: x >&2; echo Access denied >&2; exit 1";
    let said = "sh -c 'echo warning: x >&2; echo Access denied >&2; exit 1': Access denied";
    let failed = (HostFailureKind::Failed, said.to_owned());
    assert_eq!(host.ask(leave(&json!(["sh", "-c", script]))), Err(failed));
    assert!(kept.exists() && !gone.exists());
    let text = "there is no program \"no-such\" to boot it. Fix: reboot_command = [\"reboot\"], or what boots it";
    let failed = (HostFailureKind::Lacks, text.to_owned());
    assert_eq!(host.ask(leave(&json!(["no-such"]))), Err(failed));
    next(&mut host);
    assert!(!kept.exists() && host.ledgers().is_empty());
}

#[test]
fn what_ends_the_command_by_a_signal_is_the_boot_and_so_is_what_kills_the_agent() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let [kept, _] = with_two(&mut host);
    assert!(is_left(&host.ask(leave(&json!([
        "sh",
        "-c",
        "kill -9 $$"
    ])))));
    next(&mut host);
    assert!(kept.exists());
    take_up(&mut host, "1a2b");
    let [begun, go] = ["begun", "go"].map(|name| host.path(name));
    let script = "touch \"$0\"; while [ ! -e \"$1\" ]; do sleep 0.01; done";
    host.agent
        .ask(&leave(&json!(["sh", "-c", script, begun, go])));
    wait_until(|| begun.exists(), "it does not begin");
    host.agent.process.kill().unwrap();
    host.agent.code();
    fs::write(go, "").unwrap();
    host.followed();
    assert_eq!(
        host.undone(json!({"id": 2, "recover": {}})),
        HostUndone::default()
    );
    assert!(kept.exists());
    assert_ne!(take_up(&mut host, "1a2b"), "");
    next(&mut host);
    assert!(!kept.exists() && host.ledgers().is_empty());
}

#[test]
fn nothing_is_booted_while_others_are_at_work() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let [kept, gone] = with_two(&mut host);
    let other = host.path("state/17-0a0b0c0d.ops");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(
        &other,
        format!("{{\"owner\": {{\"boot\": \"{}\"}}}}\n", boot.trim()),
    )
    .unwrap();
    let locked = fs::File::open(&other).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let asked = json!({"argv": ["true"], "study": "", "alone": true, "asks": true});
    let Err((HostFailureKind::Busy, text)) = host.ask(json!({"id": 3, "leave": asked})) else {
        panic!("it could be booted");
    };
    // Who is logged in is told first.
    let says = "it is not booted while others measure there: process 17";
    assert!(
        text.starts_with(says) || text.contains("others are logged in: "),
        "{text}"
    );
    assert!(kept.exists() && gone.exists());
}
