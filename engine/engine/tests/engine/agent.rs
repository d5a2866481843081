//! The engine as an agent: what it reads and executes of a host, within its bounds, and nothing
//! left of it however it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::common::{children_of, command, lives, scratch_directory, wait_until};
use serde_json::{json, Value};
use wire::{
    HostDone, HostFailureKind, HostFound, HostHello, HostLine, HostOutput, HOST_LINE_BYTES,
};

/// An agent, and what it says.
pub struct Agent {
    pub process: Child,
    pub requests: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    hello: HostHello,
}

impl Agent {
    pub fn start(arguments: &[&str]) -> Self {
        Self::begin(command(&[&["agent"], arguments].concat()))
    }

    pub fn begin(mut command: Command) -> Self {
        command.env("TILTYARD_TEST", "of the agent");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let Some(HostLine::Hello { hello }) = heard(&mut lines) else {
            panic!("no hello");
        };
        Self {
            requests: process.stdin.take(),
            lines,
            process,
            hello,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.requests.as_ref().unwrap().write_all(bytes).unwrap();
    }

    pub fn ask(&mut self, request: &Value) {
        self.write(format!("{request}\n").as_bytes());
    }

    pub fn hear(&mut self) -> HostLine {
        heard(&mut self.lines).expect("the agent is gone")
    }

    fn read(&mut self, read: Value) -> HostFound {
        self.ask(&json!({"id": 7, "read": read}));
        match self.hear() {
            HostLine::Done {
                id: 7,
                done: HostDone::Read(found),
            } => found,
            other => panic!("{other:?}"),
        }
    }

    fn run(&mut self, run: Value) -> Result<HostOutput, (HostFailureKind, String)> {
        self.ask(&json!({"id": 8, "run": run}));
        match self.hear() {
            HostLine::Done {
                id: 8,
                done: HostDone::Run(output),
            } => Ok(output),
            HostLine::Failed {
                id: Some(8),
                failed,
            } => Err((failed.kind, failed.text)),
            other => panic!("{other:?}"),
        }
    }

    /// Begins a command that never ends and ignores what asks it to; its process.
    fn in_the_middle(&mut self) -> u32 {
        self.ask(&json!({"id": 9, "run": {"argv": sh("trap '' TERM; sleep 600"), "limit_s": 600}}));
        self.below(2)[0]
    }

    /// What is below it, when that is so much.
    fn below(&self, processes: usize) -> Vec<u32> {
        let mut found = Vec::new();
        let is_so_much = || {
            found = children_of(self.process.id());
            let below: Vec<u32> = found.iter().flat_map(|pid| children_of(*pid)).collect();
            found.extend(below);
            found.len() == processes
        };
        wait_until(is_so_much, "there are not so many processes");
        found
    }

    pub fn code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.requests.take();
        let _ = self.process.wait();
    }
}

fn heard(lines: &mut BufReader<ChildStdout>) -> Option<HostLine> {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.len() <= HOST_LINE_BYTES, "{}", line.len());
    let own = line.strip_prefix('\u{1e}')?;
    Some(serde_json::from_str(own).unwrap())
}

fn sh(line: &str) -> Value {
    json!(["sh", "-c", line])
}

#[test]
fn it_says_who_it_is() {
    let agent = Agent::start(&[]);
    let hello = &agent.hello;
    let told = |argv: &[&str]| {
        let output = std::process::Command::new(argv[0])
            .args(&argv[1..])
            .output();
        String::from_utf8(output.unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    };
    assert_eq!(
        (hello.protocol, hello.system.as_str()),
        (wire::PROTOCOL, "linux")
    );
    assert_eq!(hello.machine, told(&["uname", "-m"]));
    assert_eq!(hello.release, told(&["uname", "-r"]));
    assert_eq!(hello.uid.to_string(), told(&["id", "-u"]));
    assert_eq!(hello.cpus.len().to_string(), told(&["nproc"]));
    assert_eq!(
        hello.boot,
        told(&["cat", "/proc/sys/kernel/random/boot_id"])
    );
    assert_eq!(
        hello.does,
        [
            "read", "run", "settle", "watch", "ops", "undo", "recover", "leave", "take_up", "hold",
            "let_go", "servers", "cancel"
        ]
    );
}

#[test]
fn one_request_reads_files_links_programs_space_and_outputs() {
    let mut agent = Agent::start(&[]);
    let found = agent.read(json!({
        "files": ["/proc/meminfo", "/proc/self/[s]tatus", "/no/such/file"],
        "links": ["/proc/self/exe"],
        "programs": ["sh", "no-such-program"],
        "space": ["/"],
        "outputs": [sh("echo $LC_ALL$TILTYARD_TEST; echo why >&2; exit 3"), ["no-such-program"],
            sh("kill -9 $$")],
    }));
    assert_eq!(found.files.len(), 2);
    assert!(found.files["/proc/meminfo"].starts_with("MemTotal:"));
    assert!(found.links["/proc/self/exe"].ends_with("tiltyard-core"));
    assert!(found.programs["sh"].ends_with("/sh"));
    assert_eq!((found.programs.len(), found.space.len()), (1, 1));
    assert!(found.cut.is_empty());
    let [told, absent, killed] = found.outputs.as_slice() else {
        panic!("{:?}", found.outputs);
    };
    assert_eq!(
        (told.status, told.stdout.as_str()),
        (Some(3), "Cof the agent\n")
    );
    assert_eq!((told.stderr.as_str(), told.cut), ("why\n", false));
    assert_eq!(absent.argv, ["no-such-program"]);
    assert_eq!(absent.status, None);
    assert_eq!(
        absent.stderr,
        "there is no program \"no-such-program\" on this host"
    );
    assert_eq!((killed.status, killed.signal), (None, Some(9)));
}

#[test]
fn four_commands_run_at_a_time_and_what_they_leave_ends_with_them() {
    let directory = scratch_directory();
    let log = directory.path().join("log");
    let mut agent = Agent::start(&[]);
    // Each of the first four waits for all four; a line that is appended is whole.
    let line = format!(
        "echo + >> {0}; while [ $(grep -c + {0}) -lt 4 ]; do sleep 0.01; done; sleep 0.05; \
         echo - >> {0}; setsid sleep 600 >/dev/null 2>&1 & echo $!",
        log.display()
    );
    let found = agent.read(json!({"outputs": vec![sh(&line); 9]}));
    let (mut at_once, mut most) = (0, 0);
    for line in fs::read_to_string(&log).unwrap().lines() {
        at_once += if line == "+" { 1 } else { -1 };
        most = most.max(at_once);
    }
    assert_eq!((at_once, most), (0, 4));
    for output in &found.outputs {
        let orphan = output.stdout.trim().parse().unwrap();
        assert!(!lives(orphan), "{output:?}");
    }
    assert!(children_of(agent.process.id()).is_empty());
}

#[test]
fn a_command_gets_what_it_was_given_and_nothing_else() {
    let mut agent = Agent::start(&[]);
    let text = "x".repeat(300_000);
    let run = json!({"argv": ["cat"], "stdin": text});
    let output = agent.run(run).unwrap();
    assert_eq!((output.stdout.len(), output.cut), (256 << 10, true));
    assert!(output.stdout.bytes().all(|byte| byte == b'x'));
    let output = agent
        .run(json!({"argv": ["env"], "environment": {"A": "b"}}))
        .unwrap();
    let mut lines: Vec<_> = output.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=b", "LC_ALL=C"]);
    // Nobody reads it.
    let run = json!({"argv": ["true"], "stdin": text});
    assert_eq!(agent.run(run).unwrap().status, Some(0));
    let state = "readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; \
        grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2; cut -d' ' -f6 /proc/$$/stat; echo $$";
    // Whoever executes the tests may have left some open.
    let alone = std::process::Command::new("sh")
        .args(["-c", state])
        .output()
        .unwrap();
    let alone = String::from_utf8(alone.stdout).unwrap();
    let output = agent.run(json!({"argv": sh(state)})).unwrap();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(
        (lines[0], Some(lines[1])),
        ("/dev/null", alone.lines().nth(1))
    );
    assert_eq!(lines[2], "0000000000000000");
    assert_eq!(lines[4], lines[5], "it has no session of its own");
}

#[test]
fn codes_that_are_accepted_are_no_failure_and_others_say_why() {
    use HostFailureKind::{Failed, Lacks, Limit};
    let mut agent = Agent::start(&[]);
    let mut run = |line: &str, more: Value| {
        let mut run = json!({"argv": sh(line)});
        run.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        agent.run(run)
    };
    let output = run("echo out; exit 3", json!({"ok": [0, 3]})).unwrap();
    assert_eq!((output.status, output.stdout.as_str()), (Some(3), "out\n"));
    let output = run("kill -9 $$", json!({"ok": [137]})).unwrap();
    assert_eq!((output.status, output.signal), (None, Some(9)));
    let failed = |kind, text: &str| Err((kind, text.to_owned()));
    assert_eq!(
        run("echo no >&2; exit 3", json!({})),
        failed(Failed, "sh: no")
    );
    assert_eq!(
        run("kill -9 $$", json!({})),
        failed(Failed, "sh: signal 9 has ended it")
    );
    assert_eq!(
        run("exit 0", json!({"ok": [1]})),
        failed(Failed, "sh: exit status 0")
    );
    let stubborn = "trap '' TERM; setsid sleep 600 & sleep 600";
    let text = "sh: not done after 0.2 s, so it was ended";
    assert_eq!(run(stubborn, json!({"limit_s": 0.2})), failed(Limit, text));
    assert_eq!(run("yes", json!({"limit_s": 0.2})), failed(Limit, text));
    let (kind, text) = agent.run(json!({"argv": ["no-such-program"]})).unwrap_err();
    assert_eq!(kind, Lacks);
    assert_eq!(text, "there is no program \"no-such-program\" on this host");
    let (kind, text) = agent.run(json!({"argv": ["/proc/version"]})).unwrap_err();
    assert_eq!(kind, Lacks, "{text}");
    assert!(children_of(agent.process.id()).is_empty());
}

#[test]
fn however_much_is_printed_the_answer_has_its_bounds() {
    let mut agent = Agent::start(&[]);
    let flood = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2";
    let output = agent.run(json!({"argv": sh(flood)})).unwrap();
    assert!(output.cut);
    assert!(output.stdout.len() == output.stderr.len() && output.stdout.len() > 80_000);
    let outputs = vec![sh("head -c 1100000 /dev/zero"); 12];
    let found = agent.read(json!({"outputs": outputs}));
    assert!(found.outputs.iter().all(|output| output.cut));
    assert_eq!(found.outputs[0].stdout.len(), 1 << 20);
    assert_eq!(found.outputs.len(), 12);
}

#[test]
fn requests_are_answered_in_their_order_and_beats_meanwhile() {
    let mut agent = Agent::start(&[]);
    let directory = scratch_directory();
    let go = directory.path().join("go");
    let waits = format!("while [ ! -e {} ]; do sleep 0.01; done", go.display());
    agent.ask(&json!({"id": 1, "run": {"argv": sh(&waits)}}));
    agent.ask(&json!({"id": 2, "read": {}}));
    let long = "x".repeat(HOST_LINE_BYTES - 50);
    agent.ask(&json!({"id": 3, "run": {"argv": ["true", long]}}));
    agent.ask(&json!({"beat": {}}));
    agent.write(b"nonsense\n");
    let mut answers = Vec::new();
    for last in [2, 4] {
        while answers.len() <= last {
            answers.push(match agent.hear() {
                HostLine::Done { id, .. } => id.to_string(),
                HostLine::Beat { .. } => "beat".to_owned(),
                HostLine::Failed { id, failed } => format!("{id:?} {:?}", failed.kind),
                other => panic!("{other:?}"),
            });
        }
        fs::write(&go, "").unwrap();
    }
    assert_eq!(answers, ["Some(3) Limit", "beat", "None Request", "1", "2"]);
}

#[test]
fn what_a_stranger_does_between_two_readings_is_told_as_others() {
    let mut agent = Agent::start(&[]);
    let own = std::process::id();
    let mut ask = |request: Value| {
        agent.ask(&request);
        match agent.hear() {
            HostLine::Done {
                done: HostDone::Watch(seen),
                ..
            } => Ok(*seen),
            HostLine::Failed { failed, .. } => Err(failed.text),
            other => panic!("{other:?}"),
        }
    };
    let who = |ours: u32| json!({"ours": [ours], "servers": []});
    let begin = |id: u64, ours| json!({"id": id, "watch": {"begin": {"who": who(ours)}}});
    let tell = |id: u64, of: u64, ours| {
        let tell = json!({"of": of, "who": who(ours), "cpus": []});
        json!({"id": id, "watch": {"tell": tell}})
    };
    // Of the second one this process is a stranger.
    ask(begin(1, own)).unwrap();
    ask(begin(2, u32::MAX >> 1)).unwrap();
    let busy = std::time::Instant::now();
    while busy.elapsed().as_millis() < 500 {
        std::hint::black_box(busy);
    }
    let [with_us, without_us] = [(1, own), (2, u32::MAX >> 1)].map(|(of, ours)| {
        let seen = ask(tell(3, of, ours)).unwrap();
        assert!((0.5..60.0).contains(&seen.elapsed_s), "{seen:?}");
        seen.external_s.unwrap()
    });
    assert!(without_us > with_us + 0.1, "{without_us} and {with_us} s");
    ask(json!({"id": 4, "watch": {"end": 1}})).unwrap();
    assert_eq!(
        ask(tell(5, 1, own)).unwrap_err(),
        "there is no watch number 1"
    );
    assert!(ask(tell(6, 2, own)).is_ok());
    let last = json!({"of": 2, "who": who(own)});
    let last = json!({"id": 4, "watch": {"last": last}});
    assert!(ask(last.clone()).unwrap().elapsed_s > 0.0);
    assert_eq!(ask(last).unwrap_err(), "there is no watch number 2");
}

#[test]
fn a_copy_that_was_made_for_it_is_gone_when_it_is_there() {
    let directory = scratch_directory();
    let start = |name: &str| {
        let own = directory.path().join(name);
        fs::create_dir(&own).unwrap();
        fs::copy(crate::ENGINE, own.join("tiltyard-agent")).unwrap();
        let mut started = Command::new(own.join("tiltyard-agent"));
        // As a shell calls it, which is where the directory is.
        started.args(["agent", "--remove-copy", name]);
        started.current_dir(directory.path());
        started
    };
    // One of an earlier boot, whose power was cut, and one that is being sent now.
    let [cut, sent] =
        ["tiltyard-1-agent", "tiltyard-2-agent"].map(|name| directory.path().join(name));
    for copy in [&cut, &sent] {
        fs::create_dir(copy).unwrap();
        fs::write(copy.join("tiltyard-agent"), "half").unwrap();
    }
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    File::open(&cut).unwrap().set_modified(long_ago).unwrap();
    let mut agent = Agent::begin(start("tiltyard-0-agent"));
    let left = fs::read_dir(directory.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [sent]);
    let found = agent.read(json!({"files": ["/proc/self/comm"]}));
    assert_eq!(found.files["/proc/self/comm"], "tiltyard-agent\n");

    let refused = start("bin").output().unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(3), 0));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("was not made for an agent"));
    assert!(directory.path().join("bin/tiltyard-agent").exists());
}

#[test]
fn beats_are_answered_while_ops_are_carried_out_and_other_requests_wait() {
    let directory = scratch_directory();
    let [state, go] = ["state", "go"].map(|name| directory.path().join(name));
    let mut started = command(&["agent"]);
    started.env("TILTYARD_STATE", state);
    let mut agent = Agent::begin(started);
    let waits = format!("while [ ! -e {} ]; do sleep 0.01; done", go.display());
    let run = json!([{"op": "run", "argv": sh(&waits)}]);
    let nothing = json!({"list": []});
    // All in one piece: what stands behind ops is heard meanwhile.
    let lines = [
        json!({"id": 1, "ops": {"list": run}}),
        json!({"id": 2, "read": {}}),
        json!({"id": 3, "ops": nothing}),
        json!({"cancel": 3}),
        json!({"cancel": 2}),
        json!({"beat": {}}),
    ];
    agent.write(lines.map(|line| format!("{line}\n")).concat().as_bytes());
    let mut answers = Vec::new();
    while answers.len() < 5 {
        answers.push(match agent.hear() {
            HostLine::Done { id, .. } => format!("{id}"),
            HostLine::Beat { .. } => {
                fs::write(&go, "").unwrap();
                "beat".to_owned()
            }
            HostLine::Failed { id, failed } => format!("{} {}", id.unwrap(), failed.text),
            HostLine::Progress { id, progress } => format!("{id} begins {}", progress.at),
            other @ HostLine::Hello { .. } => panic!("{other:?}"),
        });
    }
    answers[..3].sort();
    assert_eq!(
        answers,
        ["1 begins 0", "3 it was cancelled", "beat", "1", "2"]
    );
}

#[test]
fn what_is_torn_or_no_request_is_refused_and_it_goes_on() {
    let mut agent = Agent::start(&[]);
    let deep = [b"[".repeat(100_000), b"\n".to_vec()].concat();
    for (line, id) in [
        (&b"\n"[..], None),
        (b"\x00\xff\xfe\n", None),
        (b"{\"id\":5,\"read\":{\"files\":[\"/etc\n", None),
        (b"{\"id\":5,\"erase\":{}}\n", Some(5)),
        (&deep, None),
    ] {
        let (begin, end) = line.split_at(line.len() / 2);
        agent.write(begin);
        agent.write(end);
        let HostLine::Failed { id: of, failed } = agent.hear() else {
            panic!("{:?} is answered", String::from_utf8_lossy(line));
        };
        assert_eq!((of, failed.kind), (id, HostFailureKind::Request));
    }
    agent.ask(&json!({"beat": {}}));
    assert!(matches!(agent.hear(), HostLine::Beat { .. }));
    // The end of a line that is too long would not be understood.
    let _ = agent
        .requests
        .as_ref()
        .unwrap()
        .write_all(&vec![b' '; HOST_LINE_BYTES + (1 << 20)]);
    assert!(matches!(agent.hear(), HostLine::Failed { id: None, .. }));
    assert_eq!(agent.code(), Some(0));
}

#[test]
fn the_end_of_the_input_a_signal_and_the_lease_end_what_runs() {
    for (how, code) in [
        ("input", Some(0)),
        ("-TERM", Some(130)),
        ("-HUP", Some(130)),
        ("lease", Some(130)),
    ] {
        let arguments: &[&str] = if how == "lease" {
            &["--lease", "2"]
        } else {
            &[]
        };
        let mut agent = Agent::start(arguments);
        let process = agent.in_the_middle();
        let below = agent.below(2);
        match how {
            "input" => drop(agent.requests.take()),
            "lease" => {}
            signal => {
                let pid = agent.process.id().to_string();
                let mut kill = std::process::Command::new("kill");
                assert!(kill.args([signal, &pid]).status().unwrap().success());
            }
        }
        let HostLine::Failed {
            id: Some(9),
            failed,
        } = agent.hear()
        else {
            panic!("{how}: it is not told of the end");
        };
        assert_eq!(failed.kind, HostFailureKind::Interrupted);
        assert_eq!(agent.code(), code, "{how}");
        assert!(
            !lives(process) && !below.iter().any(|&pid| lives(pid)),
            "{how}"
        );
    }
}

#[test]
fn an_agent_outlives_the_thread_that_started_it() {
    let mut agent = std::thread::spawn(|| Agent::start(&[])).join().unwrap();
    // What was asked before a signal is answered.
    for _ in 0..2 {
        agent.ask(&json!({"beat": {}}));
        assert!(matches!(agent.hear(), HostLine::Beat { .. }));
    }
}

#[test]
fn it_is_small_again_after_a_long_answer() {
    let mut agent = Agent::start(&[]);
    agent
        .run(json!({"argv": sh("head -c 3000000 /dev/zero"), "stdin": "x".repeat(900_000)}))
        .unwrap();
    agent.read(json!({"files": ["/proc/[0-9]*/maps", "/proc/[0-9]*/mountinfo", "/proc/*"]}));
    agent.ask(&json!({"beat": {}}));
    assert!(matches!(agent.hear(), HostLine::Beat { .. }));
    let status = fs::read_to_string(format!("/proc/{}/status", agent.process.id())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    let anonymous_kib: u64 = line
        .split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    // Without the pages of the program itself, of which a debug build has more.
    assert!(anonymous_kib <= 2 << 10, "{line}");
}

#[test]
fn a_host_settles_while_beats_are_answered_and_no_longer_than_it_may() {
    let mut agent = Agent::start(&[]);
    agent.write(b"{\"id\":1,\"settle\":{\"limit_s\":0.5,\"sync\":true}}\n{\"beat\":{}}\n");
    let mut heard = [agent.hear(), agent.hear()];
    heard.sort_by_key(|line| matches!(line, HostLine::Done { .. }));
    let [HostLine::Beat { .. }, HostLine::Done {
        done: HostDone::Settled(settled),
        ..
    }] = &heard
    else {
        panic!("{heard:?}");
    };
    assert!(settled.elapsed_s >= 0.05, "{settled:?}");
    for limit_s in [-1.0, 1e300] {
        agent.ask(&json!({"id": 2, "settle": {"limit_s": limit_s, "sync": false}}));
        let HostLine::Failed { failed, .. } = agent.hear() else {
            panic!("{limit_s}");
        };
        assert!(
            failed.text.ends_with("s is no time to wait"),
            "{}",
            failed.text
        );
    }
}
