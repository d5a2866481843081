//! The engine as an agent that changes a host: what is in its ledger before it is made, and is put back
//! however it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agent::Agent;
use crate::common::{command, scratch_directory};
use crate::trouble::wait_until;
use serde_json::{json, Value};
use wire::{HostDone, HostFailureKind, HostLine, HostUndone};

/// An agent with a state directory of its own, and a place for what it makes.
struct Host {
    directory: tempfile::TempDir,
    agent: Agent,
}

fn start(state: &Path) -> Agent {
    let mut started = command(&["agent"]);
    started.env("TILTYARD_STATE", state);
    Agent::begin(started)
}

impl Host {
    fn new() -> Self {
        let directory = scratch_directory();
        let agent = start(&directory.path().join("state"));
        Self { directory, agent }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn ledgers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn ask(&mut self, request: Value) -> Result<HostDone, (HostFailureKind, String)> {
        self.agent.ask(&request);
        match self.agent.hear() {
            HostLine::Done { done, .. } => Ok(done),
            HostLine::Failed { failed, .. } => Err((failed.kind, failed.text)),
            other => panic!("{other:?}"),
        }
    }

    fn ops(&mut self, turn: &str, list: Value) -> Result<HostDone, (HostFailureKind, String)> {
        self.ask(json!({"id": 1, "ops": {"turn": turn, "list": list}}))
    }

    fn undone(&mut self, request: Value) -> HostUndone {
        match self.ask(request).unwrap() {
            HostDone::Undone(undone) => undone,
            other => panic!("{other:?}"),
        }
    }

    /// ext4 on an image behind a loop device, mounted, with a setting of its queue.
    fn image(&self) -> Value {
        let [image, mount] = ["tiltyard-image", "tiltyard-mount"].map(|name| self.path(name));
        let device = json!({"cat": ["/dev/", {"of": "loop"}]});
        let queue = json!({"cat": ["/sys/block/", {"of": "loop"}, "/queue/read_ahead_kb"]});
        let behind = json!([{"of": "loop"}, image]);
        json!([
            {"op": "put", "path": image, "zeros": 16 << 20},
            {"op": "loop", "file": image, "name": "loop"},
            {"op": "set", "file": queue, "value": "64", "while": behind},
            {"op": "require", "behind": behind},
            {"op": "run", "argv": ["mkfs.ext4", "-q", "-F", device]},
            {"op": "make", "directory": mount},
            {"op": "mount", "from": device, "at": mount, "kind": "ext4", "options": ["noatime"],
             "behind": image},
        ])
    }

    fn mounted(&self) -> Option<String> {
        let at = format!(" {} ", self.path("tiltyard-mount").display());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts
            .lines()
            .find(|line| line.contains(&at))
            .map(str::to_owned)
    }

    fn is_as_it_was(&self) {
        assert_eq!(self.mounted(), None);
        for name in ["tiltyard-image", "tiltyard-mount"] {
            assert!(!self.path(name).exists(), "{name}");
        }
        let image = self.path("tiltyard-image").display().to_string();
        for entry in fs::read_dir("/sys/block").unwrap() {
            let file = entry.unwrap().path().join("loop/backing_file");
            let behind = fs::read_to_string(file).unwrap_or_default();
            assert_ne!(behind.trim_end(), image);
        }
        assert_eq!(self.ledgers(), Vec::<PathBuf>::new());
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_directory_is_made_and_goes_with_all_in_it_at_the_end_of_the_input() {
    let mut host = Host::new();
    let made = host.path("tiltyard-made");
    host.ops("a", json!([{"op": "make", "directory": made}]))
        .unwrap();
    fs::write(made.join("file"), "x").unwrap();
    assert_eq!(host.ledgers().len(), 1);
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    assert!(!made.exists());
    assert!(host.ledgers().is_empty());
}

#[test]
fn an_image_is_one_request_and_its_way_back_is_another() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let HostDone::Ops(did) = host.ops("a", host.image()).unwrap() else {
        panic!("no ops");
    };
    let mounted = host.mounted().unwrap();
    assert!(mounted.contains("noatime"), "{mounted}");
    let device = &did.outputs["loop"];
    let queue = format!("/sys/block/{device}/queue/read_ahead_kb");
    assert_eq!(fs::read_to_string(&queue).unwrap().trim(), "64");
    fs::write(host.path("tiltyard-mount/file"), "x").unwrap();
    let undone = host.undone(json!({"id": 2, "undo": {"turn": "a"}}));
    assert_eq!(undone.left, Vec::<String>::new());
    let begins = [
        "unmounted ",
        "removed ",
        "set /sys/block/",
        "detached /dev/loop",
        "removed ",
    ];
    assert_eq!(undone.done.len(), begins.len(), "{:?}", undone.done);
    for (said, begin) in undone.done.iter().zip(begins) {
        assert!(said.starts_with(begin), "{said}");
    }
    host.agent.requests.take();
    host.agent.code();
    host.is_as_it_was();
}

#[test]
fn what_fails_in_the_middle_takes_its_turn_back_and_no_other() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let other = host.path("tiltyard-other");
    host.ops("b", json!([{"op": "make", "directory": other}]))
        .unwrap();
    let mut list = host.image();
    list[4] = json!({"op": "run", "argv": ["sh", "-c", "echo 'bad luck' >&2; exit 3"]});
    let (kind, text) = host.ops("a", list).unwrap_err();
    assert_eq!(kind, HostFailureKind::Failed);
    assert!(
        text.starts_with("op 4: sh: bad luck; set /sys/block/"),
        "{text}"
    );
    assert!(text.contains("; detached /dev/loop"), "{text}");
    assert_eq!(host.mounted(), None);
    assert!(other.exists() && !host.path("tiltyard-image").exists());
    for (op, kind, says) in [
        (
            json!({"op": "make", "directory": other}),
            HostFailureKind::Refused,
            "is there already",
        ),
        (
            json!({"op": "make", "directory": "relative"}),
            HostFailureKind::Request,
            "no absolute path",
        ),
        (
            json!({"op": "run", "argv": [{"of": "loop"}]}),
            HostFailureKind::Request,
            "has yielded \"loop\"",
        ),
        (
            json!({"op": "run", "argv": ["no-such-program"]}),
            HostFailureKind::Lacks,
            "there is no program",
        ),
        (
            json!({"op": "run", "argv": ["sh", "-c", "kill -9 $$"]}),
            HostFailureKind::Failed,
            "signal 9",
        ),
        (
            json!({"op": "set", "file": other.join("x"), "value": "1"}),
            HostFailureKind::Failed,
            "No such file",
        ),
        (
            json!({"op": "require", "behind": ["loop999", other]}),
            HostFailureKind::Refused,
            "is no longer behind",
        ),
    ] {
        let (found, text) = host.ops("c", json!([op])).unwrap_err();
        assert_eq!(found, kind, "{op}: {text}");
        assert!(text.contains(says), "{op}: {text}");
    }
    assert!(other.exists(), "what was there is nobody's to remove");
    host.agent.requests.take();
    host.agent.code();
    host.is_as_it_was();
}

#[test]
fn whoever_comes_next_puts_back_what_one_that_was_killed_left() {
    if !is_root() {
        return;
    }
    for signal in ["-KILL", "-TERM"] {
        let mut host = Host::new();
        host.ops("a", host.image()).unwrap();
        let pid = host.agent.process.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status();
        assert!(status.unwrap().success());
        host.agent.code();
        let is_killed = signal == "-KILL";
        assert_eq!(host.mounted().is_some(), is_killed);
        host.agent = start(&host.path("state"));
        let told = host.undone(json!({"id": 2, "recover": {}}));
        assert_eq!(told.left, Vec::<String>::new());
        assert_eq!(told.done.len(), if is_killed { 5 } else { 0 }, "{told:?}");
        host.is_as_it_was();
    }
}

#[test]
fn killed_after_each_line_of_the_ledger_nothing_stays() {
    if !is_root() {
        return;
    }
    let directory = Host::new();
    let every = directory.image().as_array().unwrap().len();
    drop(directory);
    for length in 1..=every {
        let mut host = Host::new();
        let list: Vec<Value> = host.image().as_array().unwrap()[..length].to_vec();
        host.ops("a", json!(list)).unwrap();
        host.agent.process.kill().unwrap();
        host.agent.code();
        host.agent = start(&host.path("state"));
        let told = host.undone(json!({"id": 2, "recover": {}}));
        assert_eq!(told.left, Vec::<String>::new(), "{length}");
        host.is_as_it_was();
    }
}

#[test]
fn what_cannot_be_taken_back_is_said_at_the_end_and_stays_recorded() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let made = host.path("tiltyard-made");
    host.ops("a", json!([{"op": "make", "directory": made}]))
        .unwrap();
    let mount = |program: &str, words: &[&str]| {
        let done = Command::new(program).args(words).arg(&made).status();
        assert!(done.unwrap().success());
    };
    mount("mount", &["-t", "tmpfs", "tmpfs"]);
    let undone = host.undone(json!({"id": 2, "undo": {"turn": "a"}}));
    assert!(undone.left[0].contains("is mounted"), "{undone:?}");
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(4));
    assert_eq!(host.ledgers().len(), 1);
    mount("umount", &[]);
    host.agent = start(&host.path("state"));
    let told = host.undone(json!({"id": 2, "recover": {}}));
    assert_eq!((told.done.len(), told.left.len()), (1, 0), "{told:?}");
    assert!(!made.exists() && host.ledgers().is_empty());
}

#[test]
fn a_command_goes_to_its_end_when_its_agent_is_killed_and_is_waited_for() {
    let mut host = Host::new();
    let [made, begun] = ["tiltyard-made", "begun"].map(|name| host.path(name));
    // Its output would end it, were it a pipe.
    let script = "echo > \"$0\"; sleep 1; echo x; echo x; touch \"$1/done\"; : > \"$0.done\"";
    let list = json!([
        {"op": "make", "directory": made},
        {"op": "run", "argv": ["sh", "-c", script, begun, made]},
    ]);
    host.agent
        .ask(&json!({"id": 1, "ops": {"turn": "a", "list": list}}));
    wait_until(|| begun.exists(), "it does not begin");
    host.agent.process.kill().unwrap();
    host.agent.code();
    assert!(!made.join("done").exists());
    host.agent = start(&host.path("state"));
    let told = host.undone(json!({"id": 2, "recover": {}}));
    assert!(host.path("begun.done").exists(), "it was not waited for");
    assert_eq!(told.done, [format!("removed {}", made.display())]);
    assert!(told.left.is_empty() && host.ledgers().is_empty());
}

#[test]
fn without_a_record_nothing_is_changed() {
    let mut host = Host::new();
    fs::write(host.path("state"), "no directory").unwrap();
    let made = host.path("tiltyard-made");
    let (kind, text) = host
        .ops("a", json!([{"op": "make", "directory": made}]))
        .unwrap_err();
    assert_eq!(kind, HostFailureKind::Lacks);
    assert!(
        text.contains("cannot keep the record of changes here"),
        "{text}"
    );
    assert!(
        text.contains("TILTYARD_STATE names another directory"),
        "{text}"
    );
    assert!(!made.exists());
}

#[test]
fn on_a_full_disk_nothing_is_changed_and_what_was_is_put_back() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let (state, full) = (host.path("state"), host.path("state/full"));
    fs::create_dir(&state).unwrap();
    let mount = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&state).stderr(Stdio::null());
        assert!(command.status().unwrap().success());
    };
    mount(&["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"]);
    let [first, second] = ["tiltyard-first", "tiltyard-second"].map(|name| host.path(name));
    host.ops("a", json!([{"op": "make", "directory": first}]))
        .unwrap();
    let mut bytes = 1 << 16;
    while bytes > 0 {
        // The last page of the ledger has room yet.
        let piece = vec![b'x'; bytes];
        let opened = fs::OpenOptions::new().create(true).append(true).open(&full);
        if std::io::Write::write_all(&mut opened.unwrap(), &piece).is_err() {
            bytes /= 2;
        }
    }
    let mut made = 0;
    let failed = loop {
        let path = host.path(&format!("tiltyard-{made}"));
        match host.ops("b", json!([{"op": "make", "directory": path}])) {
            Ok(_) => made += 1,
            Err(failed) => break failed,
        }
    };
    assert_eq!(failed.0, HostFailureKind::Lacks, "{failed:?}");
    assert!(failed.1.contains("No space left on device"), "{failed:?}");
    for number in 0..=made {
        assert!(
            !host.path(&format!("tiltyard-{number}")).exists(),
            "the turn was taken back"
        );
    }
    assert!(first.exists() && !second.exists());
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    assert!(!first.exists());
    mount(&["umount"]);
}
