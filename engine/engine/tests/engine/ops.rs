//! The engine as an agent that changes a host: what is in its ledger before it is made, and is put back
//! however it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agent::Agent;
use crate::common::{command, scratch_directory, wait_until};
use serde_json::{json, Value};
use wire::{HostDid, HostDone, HostFailureKind, HostLine, HostProgress, HostUndone};

/// An agent with a state directory of its own, and a place for what it makes.
pub struct Host {
    directory: tempfile::TempDir,
    pub agent: Agent,
}

/// Programs of a test go before those of this host.
pub fn start(state: &Path) -> Agent {
    let mut started = command(&["agent"]);
    started.env("TILTYARD_STATE", state);
    let programs = state.with_file_name("programs");
    let others = std::env::var("PATH").unwrap_or_default();
    started.env("PATH", format!("{}:{others}", programs.display()));
    Agent::begin(started)
}

impl Host {
    pub fn new() -> Self {
        let directory = scratch_directory();
        let agent = start(&directory.path().join("state"));
        Self { directory, agent }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn ledgers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub fn ask(&mut self, request: Value) -> Result<HostDone, (HostFailureKind, String)> {
        self.agent.ask(&request);
        self.answer().1
    }

    /// How far it was said to be, and what came of it.
    fn answer(
        &mut self,
    ) -> (
        Vec<HostProgress>,
        Result<HostDone, (HostFailureKind, String)>,
    ) {
        let mut told = Vec::new();
        loop {
            match self.agent.hear() {
                HostLine::Progress { progress, .. } => told.push(progress),
                HostLine::Done { done, .. } => return (told, Ok(done)),
                HostLine::Failed { failed, .. } => return (told, Err((failed.kind, failed.text))),
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn ops(&mut self, list: Value) -> Result<HostDid, (HostFailureKind, String)> {
        match self.ask(json!({"id": 1, "ops": {"list": list}}))? {
            HostDone::Ops(did) => Ok(did),
            other => panic!("{other:?}"),
        }
    }

    pub fn undo(&mut self, ledger: &str, numbers: &[u64]) -> HostUndone {
        self.undone(json!({"id": 2, "undo": {"ledger": ledger, "numbers": numbers}}))
    }

    /// Begins ops that wait for a file before they end; that file.
    fn in_the_middle(&mut self, made: &Path) -> PathBuf {
        let [begun, go] = ["begun", "go"].map(|name| self.path(name));
        let script =
            "echo > \"$0\"; while [ ! -e \"$1\" ]; do sleep 0.01; done; echo > \"$0.done\"";
        let list = json!([
            {"op": "make", "directory": made},
            {"op": "run", "argv": ["sh", "-c", script, begun, go]},
            {"op": "make", "directory": made.join("later"), "inside": true},
        ]);
        self.agent.ask(&json!({"id": 1, "ops": {"list": list}}));
        wait_until(|| begun.exists(), "it does not begin");
        go
    }

    /// Another one, with the same state directory, in its place.
    pub fn followed(&mut self) -> Agent {
        let next = start(&self.path("state"));
        std::mem::replace(&mut self.agent, next)
    }

    pub fn undone(&mut self, request: Value) -> HostUndone {
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
            {"op": "mend", "path": image},
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

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_directory_is_made_and_goes_with_all_in_it_at_the_end_of_the_input() {
    let mut host = Host::new();
    let made = host.path("tiltyard-made");
    host.ops(json!([{"op": "make", "directory": made}]))
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
    host.agent
        .ask(&json!({"id": 1, "ops": {"list": host.image()}}));
    let (told, done) = host.answer();
    let HostDone::Ops(did) = done.unwrap() else {
        panic!("no ops");
    };
    let begun: Vec<_> = told
        .iter()
        .filter(|told| told.done_bytes == 0)
        .map(|told| (told.at, told.of_bytes))
        .collect();
    let [put, run, mend, mount] = begun[..] else {
        panic!("{begun:?}");
    };
    assert_eq!((put, run, mount), ((0, 16 << 20), (4, 0), (7, 0)));
    assert_eq!(mend.0, 5);
    let made: Vec<_> = did.changes.iter().map(|one| (one.at, one.number)).collect();
    assert_eq!(made, [(0, 1), (1, 2), (2, 3), (6, 4), (7, 5)]);
    let ran: Vec<_> = did.ran.iter().map(|ran| ran.argv[0].as_str()).collect();
    assert_eq!(ran, ["mkfs.ext4", "mount"]);
    assert!(did.ran.iter().all(|ran| ran.elapsed_s > 0.0), "{did:?}");
    let mounted = host.mounted().unwrap();
    assert!(mounted.contains("noatime"), "{mounted}");
    let device = &did.outputs["loop"];
    let queue = format!("/sys/block/{device}/queue/read_ahead_kb");
    assert_eq!(fs::read_to_string(&queue).unwrap().trim(), "64");
    fs::write(host.path("tiltyard-mount/file"), "x").unwrap();
    let undone = host.undo(&did.ledger, &[1, 2, 3, 4, 5]);
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
fn what_fails_in_the_middle_takes_its_list_back_and_no_other() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let other = host.path("tiltyard-other");
    host.ops(json!([{"op": "make", "directory": other}]))
        .unwrap();
    let mut list = host.image();
    list[4] = json!({"op": "run", "argv": ["sh", "-c", "echo 'bad luck' >&2; exit 3"]});
    let (kind, text) = host.ops(list).unwrap_err();
    assert_eq!(kind, HostFailureKind::Failed);
    assert_eq!(
        text,
        r#"sh -c 'echo '"'"'bad luck'"'"' >&2; exit 3': bad luck"#
    );
    assert_eq!(host.mounted(), None);
    assert!(other.exists() && !host.path("tiltyard-image").exists());
    host.agent.requests.take();
    host.agent.code();
    host.is_as_it_was();
}

#[test]
fn what_cannot_be_done_says_why_and_changes_nothing() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    crate::settings::hold(&mut host);
    let other = host.path("tiltyard-other");
    fs::create_dir(&other).unwrap();
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
            "/tiltyard-other; not formatted",
        ),
        (
            json!({"op": "set", "file": "/proc/sys/vm/overcommit_memory", "value": "9"}),
            HostFailureKind::Failed,
            "/proc/sys/vm/overcommit_memory: \"9\" is not taken (Invalid argument",
        ),
        (
            json!({"op": "set", "file": "/proc/sys/vm/overcommit_memory", "value": "9"}),
            HostFailureKind::Failed,
            "; it says \"",
        ),
    ] {
        let (found, text) = host.ops(json!([op])).unwrap_err();
        assert_eq!(found, kind, "{op}: {text}");
        assert!(text.contains(says), "{op}: {text}");
    }
    let taken = fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap();
    assert_ne!(taken.trim(), "9");
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    assert!(other.exists(), "what was there is nobody's to remove");
    assert!(host.ledgers().is_empty());
}

#[test]
fn whoever_comes_next_puts_back_what_one_that_was_killed_left() {
    if !is_root() {
        return;
    }
    for signal in ["-KILL", "-TERM"] {
        let mut host = Host::new();
        host.ops(host.image()).unwrap();
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
        host.ops(json!(list)).unwrap();
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
    let did = host
        .ops(json!([{"op": "make", "directory": made}]))
        .unwrap();
    let mount = |program: &str, words: &[&str]| {
        let done = Command::new(program).args(words).arg(&made).status();
        assert!(done.unwrap().success());
    };
    mount("mount", &["-t", "tmpfs", "tmpfs"]);
    let undone = host.undo(&did.ledger, &[1]);
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
    host.agent.ask(&json!({"id": 1, "ops": {"list": list}}));
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
fn at_the_end_of_the_input_it_waits_for_those_that_its_asker_has_started() {
    let directory = scratch_directory();
    let path = |name: &str| directory.path().join(name);
    let made = path("tiltyard-made");
    // The pipe is numbered by a shell, which leaves it to the one who works, and to nobody else.
    let script = "exec \"$0\" agent --after 9 9> >(exec 9>&- >&- 2>&-; \
                  while [ ! -e \"$1/go\" ]; do sleep 0.01; done; ls \"$1\" > \"$1/seen\")";
    let mut shell = Command::new("bash");
    let engine = crate::ENGINE;
    shell.args(["-c", script, engine]).arg(directory.path());
    shell.env("TILTYARD_STATE", path("state"));
    let mut agent = Agent::begin(shell);
    agent.ask(&json!({"id": 1, "ops": {"list": [{"op": "make", "directory": made}]}}));
    assert!(matches!(agent.hear(), HostLine::Done { .. }));
    agent.requests.take();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(made.exists(), "what still works may need it");
    fs::write(path("go"), "").unwrap();
    assert_eq!(agent.code(), Some(0));
    assert!(!made.exists());
    assert!(fs::read_to_string(path("seen"))
        .unwrap()
        .contains("tiltyard-made"));
}

#[test]
fn without_a_record_nothing_is_changed() {
    let mut host = Host::new();
    fs::write(host.path("state"), "no directory").unwrap();
    let made = host.path("tiltyard-made");
    let (kind, text) = host
        .ops(json!([{"op": "make", "directory": made}]))
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
    host.ops(json!([{"op": "make", "directory": first}]))
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
    let paths: Vec<PathBuf> = (0..200)
        .map(|number| host.path(&format!("tiltyard-{number}")))
        .collect();
    let list = paths
        .iter()
        .map(|path| json!({"op": "make", "directory": path}));
    let failed = host.ops(list.collect()).unwrap_err();
    assert_eq!(failed.0, HostFailureKind::Lacks, "{failed:?}");
    assert!(failed.1.contains("No space left on device"), "{failed:?}");
    assert!(!failed.1.starts_with("op 0"), "{failed:?}");
    let left = paths.iter().find(|path| path.exists());
    assert_eq!(left, None, "the list was taken back");
    assert!(first.exists() && !second.exists());
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    assert!(!first.exists());
    mount(&["umount"]);
}

#[test]
fn numbers_are_taken_back_by_whoever_is_there_and_once() {
    let mut host = Host::new();
    let paths = [1, 2, 3].map(|one| host.path(&format!("tiltyard-{one}")));
    let removed = |at: usize| format!("removed {}", paths[at].display());
    let made = paths
        .iter()
        .map(|path| json!({"op": "make", "directory": path}));
    let did = host.ops(made.collect()).unwrap();
    let name = host.ledgers()[0].file_stem().unwrap().to_owned();
    assert_eq!(did.ledger, name.to_str().unwrap());
    assert_eq!(host.undo(&did.ledger, &[2, 7]).done, [removed(1)]);
    assert_eq!(host.undo(&did.ledger, &[2]), HostUndone::default());
    assert_eq!(host.undo("1-2", &[1]), HostUndone::default());
    host.agent.process.kill().unwrap();
    host.agent.code();
    host.followed();
    assert_eq!(host.undo(&did.ledger, &[2, 3]).done, [removed(2)]);
    assert!(paths[0].exists() && host.ledgers().len() == 1);
    assert_eq!(host.undo(&did.ledger, &[1]).done, [removed(0)]);
    assert!(host.ledgers().is_empty());
}

#[test]
fn one_that_is_about_to_end_is_waited_for() {
    let mut host = Host::new();
    let made = host.path("tiltyard-made");
    let did = host
        .ops(json!([{"op": "make", "directory": made}]))
        .unwrap();
    let mut ending = host.followed();
    let undo = json!({"id": 2, "undo": {"ledger": did.ledger, "numbers": [1]}});
    host.agent.ask(&undo);
    host.agent.ask(&json!({"beat": {}}));
    assert!(matches!(host.agent.hear(), HostLine::Beat { .. }));
    assert!(made.exists());
    ending.requests.take();
    assert_eq!(ending.code(), Some(0));
    let (_, done) = host.answer();
    assert_eq!(done, Ok(HostDone::Undone(HostUndone::default())));
    assert!(!made.exists());
}

#[test]
fn ops_that_are_cancelled_let_their_command_end_and_are_taken_back() {
    let mut host = Host::new();
    let made = host.path("tiltyard-made");
    let go = host.in_the_middle(&made);
    host.agent.ask(&json!({"cancel": 1}));
    host.agent.ask(&json!({"beat": {}}));
    loop {
        match host.agent.hear() {
            HostLine::Beat { .. } => break,
            HostLine::Progress { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(made.exists());
    fs::write(go, "").unwrap();
    let (_, failed) = host.answer();
    let text = "it was cancelled".to_owned();
    assert_eq!(failed, Err((HostFailureKind::Interrupted, text)));
    assert!(host.path("begun.done").exists() && !made.exists());
    // Others are not.
    assert!(host.ops(json!([])).is_ok());
}

#[test]
fn the_end_of_the_input_and_a_signal_are_noticed_in_the_middle_of_ops() {
    for (how, code) in [("input", 0), ("-TERM", 130)] {
        let mut host = Host::new();
        let made = host.path("tiltyard-made");
        let go = host.in_the_middle(&made);
        match how {
            "input" => drop(host.agent.requests.take()),
            signal => {
                let pid = host.agent.process.id().to_string();
                let status = Command::new("kill").args([signal, &pid]).status();
                assert!(status.unwrap().success());
            }
        }
        fs::write(go, "").unwrap();
        let (_, failed) = host.answer();
        let (kind, text) = failed.unwrap_err();
        assert_eq!(kind, HostFailureKind::Interrupted, "{how}");
        assert_eq!(text, "it was ended before it was done");
        assert_eq!(host.agent.code(), Some(code), "{how}");
        assert!(host.path("begun.done").exists() && !made.exists());
        assert!(host.ledgers().is_empty());
    }
}

#[test]
fn a_file_that_is_being_written_is_gone_soon_after_it_is_cancelled() {
    let mut host = Host::new();
    let path = host.path("tiltyard-image");
    let list = json!([{"op": "put", "path": path, "zeros": 4_u64 << 30}]);
    host.agent.ask(&json!({"id": 1, "ops": {"list": list}}));
    assert!(matches!(host.agent.hear(), HostLine::Progress { .. }));
    host.agent.ask(&json!({"cancel": 1}));
    let (_, failed) = host.answer();
    let text = "it was cancelled".to_owned();
    assert_eq!(failed, Err((HostFailureKind::Interrupted, text)));
    assert!(!path.exists());
    let status = format!("/proc/{}/status", host.agent.process.id());
    let status = fs::read_to_string(status).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    assert!(kib.unwrap().parse::<u64>().unwrap() <= 2 << 10, "{line:?}");
}

#[test]
fn where_there_is_no_room_for_a_file_the_host_lacks_it() {
    let Some(small) = crate::common::Tmpfs::mount("size=1m") else {
        return;
    };
    let mut host = Host::new();
    let path = small.path().join("tiltyard-image");
    let put = json!([{"op": "put", "path": path, "zeros": 2 << 20}]);
    let (kind, text) = host.ops(put).unwrap_err();
    assert_eq!(kind, HostFailureKind::Lacks);
    assert_eq!(text, format!("{}: No space left on device", path.display()));
    assert!(!path.exists());
    // It cannot tell where it has holes.
    fs::write(&path, "x").unwrap();
    host.ops(json!([{"op": "mend", "path": path}])).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

#[test]
fn a_file_with_holes_is_mended() {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let mut host = Host::new();
    let path = host.path("tiltyard-image");
    host.ops(json!([{"op": "put", "path": path, "zeros": 0}]))
        .unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(20 << 20).unwrap();
    file.write_all_at(b"what it holds", 18 << 20).unwrap();
    let before = fs::read(&path).unwrap();
    let did = host.ops(json!([{"op": "mend", "path": path}])).unwrap();
    assert!(did.changes.is_empty() && !did.ledger.is_empty());
    assert!(fs::read(&path).unwrap() == before);
    assert!(file.metadata().unwrap().blocks() * 512 >= 20 << 20);
}

#[test]
fn what_is_inside_goes_with_what_it_is_in() {
    let mut host = Host::new();
    let made = host.path("tiltyard-made");
    let make = |name: &str| json!({"op": "make", "directory": made.join(name), "inside": true});
    let outer = json!({"op": "make", "directory": made});
    let did = host.ops(json!([outer, make("a"), make("a/b"), make("a")]));
    assert_eq!(did.unwrap().changes.len(), 1);
    assert!(made.join("a/b").is_dir());
    std::os::unix::fs::symlink(made.join("a"), made.join("link")).unwrap();
    fs::write(made.join("file"), "").unwrap();
    for name in ["link", "file"] {
        let (kind, text) = host.ops(json!([make(name)])).unwrap_err();
        assert_eq!(kind, HostFailureKind::Refused);
        assert!(text.contains("is no directory"), "{text}");
    }
    host.agent.requests.take();
    assert_eq!(host.agent.code(), Some(0));
    assert!(!made.exists());
}

#[test]
fn whatever_is_mounted_where_the_name_is_ours_is_unmounted() {
    if !is_root() {
        return;
    }
    let mut host = Host::new();
    let [at, from] = ["tiltyard-mount", "tiltyard-from"].map(|name| host.path(name));
    let list = json!([
        {"op": "make", "directory": at},
        {"op": "make", "directory": from},
        {"op": "mount", "from": "tiltyard", "at": at, "kind": "tmpfs", "options": ["size=1m"]},
        {"op": "mount", "from": from, "at": at, "kind": "", "options": ["bind"]},
    ]);
    let did = host.ops(list).unwrap();
    fs::write(from.join("file"), "x").unwrap();
    assert!(at.join("file").exists());
    let undone = host.undo(&did.ledger, &[1, 2, 3, 4]);
    assert_eq!(undone.left, Vec::<String>::new());
    let unmounted = format!("unmounted {}", at.display());
    assert_eq!(undone.done[0], unmounted);
    assert_eq!(undone.done.len(), 3, "{undone:?}");
    assert!(host.mounted().is_none() && !at.exists());
}
