//! The engine as an agent that sets something of a host by commands, while it holds the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{lives, wait_until};
use crate::ops::{is_root, Host};
use serde_json::{json, Value};
use wire::{HostDone, HostFailureKind};

/// Holds the machine; whoever else has it meanwhile is waited for.
pub fn hold(host: &mut Host) {
    let asked = json!({"id": 9, "hold": {"what": "a test", "run": host.path("run")}});
    wait_until(
        || match host.ask(asked.clone()) {
            Ok(HostDone::Held(_)) => true,
            Err((HostFailureKind::Busy, _)) => false,
            other => panic!("{other:?}"),
        },
        "others hold the machine",
    );
}

/// A setting that is a file of ours: a command sets it to 2, and another one back to 1.
fn setting(file: &Path, sets: &str) -> Value {
    let shell = |script: &str| json!(["sh", "-c", script, file]);
    json!([{
        "op": "run", "argv": shell(sets), "skip": true,
        "back": {"what": "it", "look": shell("cat \"$0\""), "before": "1", "value": "2",
                 "argv": shell("echo back; echo 1 > \"$0\"")},
    }])
}

const SETS: &str = "echo 2 > \"$0\"";

#[test]
fn what_a_command_sets_is_set_back_and_what_somebody_has_set_since_is_left() {
    let mut host = Host::new();
    let file = host.path("setting");
    fs::write(&file, "1\n").unwrap();
    let (kind, text) = host.ops(setting(&file, SETS)).unwrap_err();
    let is_told = (
        kind,
        text.contains("the whole machine, which is to be held before"),
    );
    assert_eq!(is_told, (HostFailureKind::Request, true), "{text}");
    hold(&mut host);
    let now = || fs::read_to_string(&file).unwrap();
    for (since, told) in [
        ("2\n", vec!["set it to \"1\" again".to_owned()]),
        ("1\n", Vec::new()),
        (
            "3\n",
            vec!["left it at \"3\": somebody has set it since (it was \"1\")".to_owned()],
        ),
    ] {
        let did = host.ops(setting(&file, SETS)).unwrap();
        assert_eq!(
            (did.changes.len(), did.ran.len(), now()),
            (1, 1, "2\n".to_owned())
        );
        fs::write(&file, since).unwrap();
        let undone = host.undo(&did.ledger, &[did.changes[0].number]);
        assert_eq!((undone.done, undone.left.len()), (told, 0), "{since}");
        assert_eq!(now(), if since == "3\n" { since } else { "1\n" });
    }
    let did = host.ops(setting(&file, SETS)).unwrap();
    assert_eq!((did.changes.len(), did.skipped[0].now.as_str()), (0, "3"));
    assert_eq!(
        did.skipped[0].text,
        "it: somebody has set it to \"3\" meanwhile"
    );
}

#[test]
fn what_is_not_taken_is_as_it_was_and_the_list_goes_on() {
    let mut host = Host::new();
    hold(&mut host);
    let [file, other] = ["setting", "other"].map(|name| host.path(name));
    for (sets, says) in [
        ("echo 'out of order' >&2; exit 3", "out of order"),
        ("exit 0", ""),
        ("echo 7 > \"$0\"", ""),
    ] {
        fs::write(&file, "1\n").unwrap();
        fs::write(&other, "1\n").unwrap();
        let [failing, next] = [setting(&file, sets), setting(&other, SETS)];
        let did = host.ops(json!([failing[0], next[0]])).unwrap();
        let [skipped] = &did.skipped[..] else {
            panic!("{did:?}");
        };
        assert!(
            skipped.at == 0 && skipped.text.ends_with(says),
            "{skipped:?}"
        );
        assert_eq!(skipped.text.is_empty(), says.is_empty(), "{skipped:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "1\n", "{sets}");
        assert_eq!((did.changes.len(), did.changes[0].at), (1, 1));
        host.undo(&did.ledger, &[did.changes[0].number]);
    }
    let mut list = setting(&file, "exit 0");
    list[0]["skip"] = json!(false);
    let (_, text) = host.ops(list).unwrap_err();
    assert_eq!(text, "it: it stays \"1\"");
}

#[test]
fn whoever_comes_after_one_that_was_killed_holds_the_machine_and_sets_back() {
    let mut host = Host::new();
    let file = host.path("setting");
    fs::write(&file, "1\n").unwrap();
    hold(&mut host);
    host.ops(setting(&file, SETS)).unwrap();
    host.agent.process.kill().unwrap();
    host.agent.process.wait().unwrap();
    host.followed();
    hold(&mut host); // Its run goes on: what is left of it is not taken for another one's.
    assert_eq!(fs::read_to_string(&file).unwrap(), "2\n");
    let told = host.undone(json!({"id": 3, "recover": {}}));
    assert_eq!(told.done, ["set it to \"1\" again"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "1\n");
}

#[test]
fn what_a_way_back_leaves_running_is_the_host_s() {
    let mut host = Host::new();
    hold(&mut host);
    let [file, pid] = ["setting", "pid"].map(|name| host.path(name));
    fs::write(&file, "1\n").unwrap();
    let mut list = setting(&file, SETS);
    let script = "sleep 60 > /dev/null & echo $! > \"$1\"; echo 1 > \"$0\"";
    list[0]["back"]["argv"] = json!(["sh", "-c", script, file, pid]);
    let did = host.ops(list).unwrap();
    host.undo(&did.ledger, &[did.changes[0].number]);
    host.ask(json!({"id": 4, "run": {"argv": ["true"]}}))
        .unwrap();
    host.agent.requests.take();
    host.agent.code();
    let pid: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    assert!(lives(pid));
    let ended = Command::new("kill").arg(pid.to_string()).status();
    assert!(ended.unwrap().success());
}

#[test]
fn what_has_no_name_of_ours_is_not_made_as_it_could_not_be_taken_back() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let turbo = host.path("turbo");
    for op in [
        json!({"op": "mount", "from": "tmpfs", "at": turbo, "kind": "tmpfs"}),
        json!({"op": "make", "directory": turbo}),
        json!({"op": "put", "path": turbo, "text": "x"}),
    ] {
        let (found, text) = host.ops(json!([op])).unwrap_err();
        assert_eq!(found, HostFailureKind::Request, "{op}: {text}");
        let says = ": its name does not begin with tiltyard-";
        assert!(text.ends_with(says), "{op}: {text}");
    }
    assert!(!turbo.exists());
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    assert!(host.ledgers().is_empty());
}
