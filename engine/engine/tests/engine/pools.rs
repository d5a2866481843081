//! The engine as an agent of what is reached only by its own commands: pools, and what is in another mount
//! namespace.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::ops::{start, Host};
use serde_json::{json, Value};
use wire::HostFailureKind;

const NAME: &str = "tiltyard-1a2b-pool";
/// Keeps its pools in a file: `create` and `import` take the last word for the name.
const ZPOOL: &str = r#"#!/bin/sh
cd "${0%/*}" && touch pools log && echo "$@" >> log
for name; do :; done
case $1 in
    list) exec cat pools ;;
    create | import) echo "$name" >> pools ;;
    export) [ ! -e busy ] || { rm busy; echo busy >&2; exit 1; }
            grep -v "^$name\$" pools > left; mv left pools ;;
esac
"#;

/// An agent that finds that one.
fn host() -> Host {
    let host = Host::new();
    fs::create_dir(host.path("programs")).unwrap();
    let zpool = host.path("programs/zpool");
    fs::write(&zpool, ZPOOL).unwrap();
    fs::set_permissions(&zpool, fs::Permissions::from_mode(0o755)).unwrap();
    host
}

fn pool(argv: &[&str], again: bool) -> Value {
    json!({"op": "pool", "pool": NAME, "argv": argv, "again": again})
}

fn imported(host: &Host) -> String {
    fs::read_to_string(host.path("programs/pools")).unwrap_or_default()
}

const CREATE: [&str; 3] = ["zpool", "create", NAME];
const IMPORT: [&str; 3] = ["zpool", "import", NAME];

#[test]
fn a_pool_is_imported_once_and_again_where_that_is_asked_for_and_exported() {
    let mut host = host();
    let create = json!({"op": "run", "argv": CREATE});
    let list = json!([pool(&[], false), create, pool(&[], false)]);
    let did = host.ops(list).unwrap();
    assert_eq!((did.changes.len(), did.ran.len()), (2, 1), "{did:?}");
    assert_eq!(imported(&host), format!("{NAME}\n"));
    fs::write(host.path("programs/busy"), "").unwrap();
    let renewed = host.ops(json!([pool(&IMPORT, true)])).unwrap();
    assert_eq!((renewed.changes.len(), renewed.ran.len()), (0, 1));
    let log = fs::read_to_string(host.path("programs/log")).unwrap();
    let last: Vec<_> = log
        .lines()
        .filter(|line| !line.starts_with("list"))
        .collect();
    let [export, import] = ["export", "import"].map(|verb| format!("{verb} {NAME}"));
    assert_eq!(last, [&format!("create {NAME}"), &export, &export, &import]);
    let undone = host.undo(&did.ledger, &[1, 2]);
    assert_eq!(
        (undone.done, undone.left.len()),
        (vec![format!("exported {NAME}")], 0)
    );
    assert_eq!((imported(&host), host.ledgers().len()), (String::new(), 0));
}

#[test]
fn a_pool_of_others_is_left_and_one_of_a_dead_agent_exported() {
    let mut host = host();
    let theirs = format!("tank\n{NAME}\n");
    fs::write(host.path("programs/pools"), &theirs).unwrap();
    for again in [false, true] {
        let (kind, text) = host.ops(json!([pool(&IMPORT, again)])).unwrap_err();
        assert_eq!(kind, HostFailureKind::Refused);
        assert!(text.contains("is imported already"), "{text}");
    }
    let wrong = json!([{"op": "pool", "pool": "tank", "argv": IMPORT}]);
    assert_eq!(host.ops(wrong).unwrap_err().0, HostFailureKind::Request);
    assert_eq!(imported(&host), theirs);
    fs::write(host.path("programs/pools"), "tank\n").unwrap();
    host.ops(json!([pool(&CREATE, false)])).unwrap();
    host.agent.process.kill().unwrap();
    host.agent.code();
    host.agent = start(&host.path("state"));
    let told = host.undone(json!({"id": 2, "recover": {}}));
    assert_eq!((told.done.len(), told.left.len()), (1, 0), "{told:?}");
    assert_eq!(
        (imported(&host), host.ledgers().len()),
        ("tank\n".to_owned(), 0)
    );
}

#[test]
fn a_directory_in_another_namespace_goes_from_there_and_with_it() {
    let mut host = Host::new();
    let own = host.path("mounted");
    fs::create_dir(&own).unwrap();
    let script = "mount -t tmpfs none \"$0\" && echo ready && read line";
    let mut holder = Command::new("unshare");
    holder.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    let mut holder = holder
        .arg(&own)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    if line.is_empty() {
        holder.wait().unwrap();
        return; // This kernel lets nobody have namespaces.
    }
    let there = fs::canonicalize(&own).unwrap().join("tiltyard-made");
    let seen = format!("/proc/{}/root{}", holder.id(), there.display());
    let make = json!([{"op": "make", "directory": there, "within": holder.id().to_string()}]);
    let did = host.ops(make.clone()).unwrap();
    assert!(fs::metadata(&seen).unwrap().is_dir() && !there.exists());
    let (kind, text) = host.ops(make.clone()).unwrap_err();
    assert_eq!(kind, HostFailureKind::Refused, "{text}");
    assert!(
        fs::metadata(&seen).unwrap().is_dir(),
        "what is there is nobody's to remove"
    );
    let undone = host.undo(&did.ledger, &[1]);
    assert_eq!(undone.done, [format!("removed {}", there.display())]);
    assert!(fs::metadata(&seen).is_err());
    let did = host.ops(make.clone()).unwrap();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let undone = host.undo(&did.ledger, &[did.changes[0].number]);
    assert_eq!((undone.done.len(), undone.left.len()), (0, 0), "{undone:?}");
    let (_, text) = host.ops(make).unwrap_err();
    assert!(text.contains("has ended"), "{text}");
}
