//! Both ends of the channel, joined by real pipes, with a shell script in the place of the engine.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use guest::into::{Ended, Guest};
use guest::message::{Ask, Hello, Line, Mount, Reply, Request};
use guest::server::Server;
use rustix::fs::{mknodat, FileType, Mode, CWD};
use rustix::process::Pid;
use tempfile::TempDir;
use wire::FailureKind;

/// Echoes its job, and ends in the middle of a line.
const ECHO: &str = "read -r job; echo \"$job\"; printf torn; echo 'for people' >&2; exit 3";
/// Says that it has begun, and runs until a signal comes.
const WAIT: &str =
    "trap 'echo asked to stop; exit 0' TERM; echo begun; while true; do sleep 0.01; done";

/// A program that does what `script` says when it is called with `run`.
fn engine(directory: &TempDir, script: &str) -> PathBuf {
    let path = directory.path().join("engine");
    fs::write(
        &path,
        format!("#!/bin/sh\n[ \"$1\" = run ] || exit 9\n{script}\n"),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A guest that serves in a thread, and the lab's end of its line.
struct Served {
    asks: UnixStream,
    answers: BufReader<UnixStream>,
    server: JoinHandle<()>,
    _directory: TempDir,
}

impl Served {
    fn new(script: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let engine = engine(&directory, script);
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || {
            let output = theirs.try_clone().unwrap();
            let mut server = Server::new(theirs, output, &engine);
            server.serve("1.2.3", vec!["no module".to_owned()]).unwrap();
        });
        let answers = BufReader::new(ours.try_clone().unwrap());
        let mut served = Self {
            asks: ours,
            answers,
            server,
            _directory: directory,
        };
        let hello = Reply::Hello(Hello {
            version: guest::message::VERSION,
            engine: "1.2.3".to_owned(),
            troubles: vec!["no module".to_owned()],
        });
        assert_eq!(served.said(), hello);
        served
    }

    fn ask(&mut self, id: &str, ask: Ask) {
        let request = Request {
            id: id.to_owned(),
            ask,
        };
        writeln!(self.asks, "{}", serde_json::to_string(&request).unwrap()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line
    }

    fn said(&mut self) -> Reply {
        let line = self.line();
        serde_json::from_str::<Line>(&line).unwrap().guest
    }

    fn switch_off(mut self) {
        self.ask("off", Ask::PowerOff);
        assert!(matches!(self.said(), Reply::Done { id, .. } if id == "off"));
        self.server.join().unwrap();
    }
}

fn id(id: &str) -> String {
    id.to_owned()
}

#[test]
fn what_can_be_read_is_found_and_the_rest_left_out() {
    let mut guest = Served::new(ECHO);
    let paths = ["/proc/sys/kernel/ostype", "/no/such"]
        .map(PathBuf::from)
        .to_vec();
    guest.ask("1", Ask::Read { paths });
    let Reply::Done { found, .. } = guest.said() else {
        panic!("not done")
    };
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [(id("/proc/sys/kernel/ostype"), id("Linux"))]
    );
    guest.switch_off();
}

#[test]
fn what_cannot_be_done_is_refused_and_the_guest_goes_on() {
    let mut guest = Served::new(ECHO);
    writeln!(guest.asks, "what?").unwrap();
    assert!(matches!(guest.said(), Reply::Refused { message, .. } if message.contains("request")));
    let directory = TempDir::new().unwrap();
    let mount = Mount {
        device: PathBuf::from("none"),
        directory: directory.path().join("there"),
        filesystem: id("no-such-fs"),
        options: Vec::new(),
    };
    guest.ask("2", Ask::Mount(mount));
    let Reply::Refused { id: of, message } = guest.said() else {
        panic!("not refused")
    };
    assert_eq!(of, "2");
    assert!(message.starts_with("cannot mount no-such-fs"), "{message}");
    guest.switch_off();
}

#[test]
fn the_engines_lines_pass_as_they_are_and_its_end_is_told() {
    let mut guest = Served::new(ECHO);
    guest.ask(
        "3",
        Ask::Run {
            job: id("{\"a\":\"b\"}\n"),
        },
    );
    assert_eq!(guest.said(), Reply::Begun { id: id("3") });
    assert_eq!(guest.line(), "{\"a\":\"b\"}\n");
    assert_eq!(guest.line(), "torn\n");
    let ended = Reply::Ended {
        id: id("3"),
        status: 3,
        said: id("for people\n"),
    };
    assert_eq!(guest.said(), ended);
    guest.switch_off();
}

#[test]
fn an_engine_can_be_stopped() {
    let mut guest = Served::new(WAIT);
    guest.ask("4", Ask::Run { job: id("") });
    assert_eq!(guest.said(), Reply::Begun { id: id("4") });
    assert_eq!(guest.line(), "begun\n");
    guest.ask("4", Ask::Stop);
    assert_eq!(guest.line(), "asked to stop\n");
    assert!(matches!(guest.said(), Reply::Ended { status: 0, .. }));
    guest.switch_off();
}

#[test]
fn whoever_asks_for_something_else_has_given_up_on_the_engine() {
    let mut guest = Served::new(WAIT);
    guest.ask("5", Ask::Run { job: id("") });
    assert_eq!(guest.said(), Reply::Begun { id: id("5") });
    assert_eq!(guest.line(), "begun\n");
    guest.ask(
        "6",
        Ask::Unmount {
            directory: PathBuf::from("/no/such"),
        },
    );
    assert!(matches!(guest.said(), Reply::Refused { id, .. } if id == "6"));
    guest.switch_off();
}

/// Two pipes as between lab and guest, and who serves at their other ends.
fn piped(
    directory: &TempDir,
    script: &str,
    serve: fn(File, File, &Path),
) -> (Guest, JoinHandle<()>) {
    let channel = directory.path().join("channel");
    let open = |extension: &str| {
        let path = channel.with_extension(extension);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap()
    };
    let (input, output) = (open("in"), open("out"));
    let engine = engine(directory, script);
    let server = thread::spawn(move || serve(input, output, &engine));
    let console = directory.path().join("console");
    fs::write(
        &console,
        "booting\nKernel panic - not syncing: why\n end of trace\n",
    )
    .unwrap();
    (
        Guest {
            channel,
            console: Some(console),
            machine: None,
        },
        server,
    )
}

#[test]
fn a_job_goes_in_and_lines_come_back() {
    let directory = TempDir::new().unwrap();
    let serve = |input: File, output: File, engine: &Path| {
        Server::new(input, output, engine)
            .serve("1", Vec::new())
            .unwrap();
    };
    let (guest, server) = piped(&directory, ECHO, serve);
    for job in ["first", "second"] {
        let mut lines = Vec::new();
        let ended = guest
            .run(job, &mut |line| lines.push(line.to_vec()))
            .unwrap();
        assert_eq!(
            ended,
            Ended {
                status: 3,
                said: id("for people\n")
            }
        );
        assert_eq!(lines, [format!("{job}\n").into_bytes(), b"torn\n".to_vec()]);
    }
    let off = serde_json::to_vec(&Request {
        id: id("off"),
        ask: Ask::PowerOff,
    })
    .unwrap();
    let mut into = OpenOptions::new()
        .write(true)
        .open(directory.path().join("channel.in"))
        .unwrap();
    into.write_all(&[&off[..], b"\n"].concat()).unwrap();
    server.join().unwrap();
}

#[test]
fn a_guest_that_ends_or_has_ended_is_told_with_its_last_words() {
    let directory = TempDir::new().unwrap();
    let vanish = |mut input: File, mut output: File, _: &Path| {
        let mut request = String::new();
        BufReader::new(&mut input).read_line(&mut request).unwrap();
        let id = serde_json::from_str::<Request>(&request).unwrap().id;
        let begun = serde_json::to_vec(&Line {
            guest: Reply::Begun { id },
        })
        .unwrap();
        output.write_all(&[&begun[..], b"\n"].concat()).unwrap();
    };
    let (guest, server) = piped(&directory, ECHO, vanish);
    let lost = guest.run("job", &mut |_| {}).unwrap_err();
    server.join().unwrap();
    assert_eq!(lost.kind, FailureKind::Far);
    assert!(lost.message.contains("it has ended"), "{}", lost.message);
    assert!(
        lost.message.ends_with("Kernel panic - not syncing: why"),
        "{}",
        lost.message
    );
    // Another test that starts a program has its ends too, until execve closes them.
    let gone = || guest.run("job", &mut |_| {}).unwrap_err().message;
    let is_told = |_| gone().starts_with("the guest is not there any more");
    assert!((0..100).any(is_told), "{}", gone());
}

#[test]
fn a_machine_whose_helpers_hold_the_pipes_has_ended_all_the_same() {
    let directory = TempDir::new().unwrap();
    // Listens, and never answers.
    let (mut guest, _server) = piped(&directory, ECHO, |_input, _output, _| {
        thread::sleep(Duration::from_secs(600));
    });
    let mut machine = Command::new("/bin/true").spawn().unwrap();
    guest.machine = Pid::from_raw(machine.id().cast_signed());
    // A zombie, until it is waited for, and then not even that.
    for _ in 0..2 {
        let lost = guest.run("job", &mut |_| {}).unwrap_err();
        assert!(lost.message.contains("it has ended"), "{}", lost.message);
        machine.wait().unwrap();
    }
}
