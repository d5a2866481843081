//! A server as a process: how it begins and ends, what happens when either end is killed, and
//! what its limits say.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use wire::{Event, Failure, FailureKind, Outcome};

use crate::common::{command, end, run, scratch_directory, start};

/// Longer than any ending may take here.
pub const SOON: Duration = Duration::from_secs(50);

/// A server at any port; killed when it is dropped.
pub struct Far {
    pub child: Child,
    pub port: u16,
}

impl Far {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_command(command(&[&["serve", "--port", "0"], arguments].concat()))
    }

    fn start_command(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
        lines.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(said["type"], "listening");
        assert_eq!(said["data"]["protocol"], wire::PROTOCOL);
        let address = said["data"]["addresses"][0].as_str().unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        Self { child, port }
    }

    /// A job that has this server.
    fn job(&self, parameters: Value) -> Value {
        json!({
            "protocol": wire::PROTOCOL,
            "workload": "tcp_stream",
            "parameters": parameters,
            "target": {"far": {"address": "127.0.0.1", "port": self.port}},
            "conditions": {"unpinned": true},
        })
    }

    /// Executes such a job.
    pub fn run(&self, parameters: Value) -> Output {
        run(&["run"], &self.job(parameters))
    }

    /// Serves a small measurement at once.
    pub fn assert_serves(&self) {
        let began = Instant::now();
        let output = self.run(json!({"bytes": "64k"}));
        assert!(output.status.success(), "{output:?}");
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }

    /// Waits until it ends by itself; its exit code.
    fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it goes on");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What it said to people; it has ended.
    fn words(&mut self) -> String {
        let mut words = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut words).unwrap();
        words
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let status = Command::new("kill").args([name, &pid]).status();
    assert!(status.unwrap().success());
}

/// A client that is in the middle of a long measurement.
fn near_in_the_middle(far: &Far) -> Child {
    let near = start(&["run"], &far.job(json!({"seconds": 60.0, "flows": 2})));
    let until = Instant::now() + SOON;
    while connections_to(far.child.id()) < 3 {
        assert!(Instant::now() < until, "its flows are not connected");
        std::thread::sleep(Duration::from_millis(5));
    }
    // They are connected a moment before they flow.
    std::thread::sleep(Duration::from_millis(150));
    near
}

/// Sockets of a process that are neither listeners nor its own channels.
fn connections_to(pid: u32) -> usize {
    let sockets = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let sockets = sockets.filter(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.to_string_lossy().starts_with("socket:")
    });
    // Two listeners: 127.0.0.1 and, where there is IPv6, ::1.
    let listeners = 1 + usize::from(std::net::TcpListener::bind("[::1]:0").is_ok());
    sockets.count().saturating_sub(listeners)
}

/// How a client ended that was in the middle, and soon did.
fn failure_soon(near: Child) -> Failure {
    let began = Instant::now();
    let output = near.wait_with_output().unwrap();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let failure = end(&output).failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Far, "{failure:?}");
    failure
}

#[test]
fn it_says_where_it_listens_and_ends_with_a_signal() {
    for name in ["-TERM", "-INT"] {
        let mut far = Far::start(&[]);
        far.assert_serves();
        signal(&far.child, name);
        assert_eq!(far.wait(), Some(0));
        assert_eq!(far.words(), "");
    }
}

#[test]
fn it_ends_with_its_input_if_told() {
    let mut far = Far::start(&["--until-eof"]);
    far.assert_serves();
    drop(far.child.stdin.take());
    assert_eq!(far.wait(), Some(0));
}

#[test]
fn it_ends_after_one_client_if_told() {
    let mut far = Far::start(&["--once"]);
    // A stranger is no client.
    drop(TcpStream::connect(("127.0.0.1", far.port)).unwrap());
    far.assert_serves();
    assert_eq!(far.wait(), Some(0));
}

#[test]
fn clients_follow_each_other_closely() {
    let far = Far::start(&[]);
    for _ in 0..5 {
        far.assert_serves();
    }
    let jobs = [(); 2].map(|()| start(&["run"], &far.job(json!({"bytes": "64k"}))));
    for near in jobs {
        let output = near.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_server_that_is_stopped_says_so() {
    let mut far = Far::start(&[]);
    let near = near_in_the_middle(&far);
    signal(&far.child, "-TERM");
    assert_eq!(far.wait(), Some(0));
    let failure = failure_soon(near);
    assert!(
        failure.message.ends_with("refused: the server was stopped"),
        "{}",
        failure.message
    );
}

#[test]
fn a_server_that_is_killed_is_missed() {
    let mut far = Far::start(&[]);
    let near = near_in_the_middle(&far);
    far.child.kill().unwrap();
    let failure = failure_soon(near);
    assert!(failure.message.contains("went away"), "{}", failure.message);
}

#[test]
fn a_client_that_is_killed_leaves_the_server_free() {
    let far = Far::start(&[]);
    let mut near = near_in_the_middle(&far);
    near.kill().unwrap();
    near.wait().unwrap();
    far.assert_serves();
}

#[test]
fn a_client_that_is_interrupted_leaves_the_server_free() {
    let far = Far::start(&[]);
    let near = near_in_the_middle(&far);
    signal(&near, "-INT");
    let output = near.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(end(&output).outcome, Outcome::Interrupted);
    far.assert_serves();
    // Nothing stays open, and no thread goes on.
    let threads = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", far.child.id()));
        tasks.unwrap().count()
    };
    let until = Instant::now() + SOON;
    while connections_to(far.child.id()) > 0 || threads() > 1 {
        assert!(Instant::now() < until, "{} threads", threads());
    }
}

/// A file with that text that only we may read.
fn secret_file(directory: &tempfile::TempDir, text: &str) -> String {
    let path = directory.path().join("secret");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_secret_is_wanted_and_proven() {
    let directory = scratch_directory();
    let mut far = Far::start(&["--secret-file", &secret_file(&directory, "lance\nrest\n")]);
    let with = |secret: Value| {
        let mut job = far.job(json!({"bytes": "64k"}));
        job["target"]["far"]["secret"] = secret;
        run(&["run"], &job)
    };
    let without = end(&with(Value::Null)).failure.unwrap().message;
    assert!(without.contains("target.far.secret"), "{without}");
    let wrong = end(&with(json!("lanze"))).failure.unwrap().message;
    assert!(wrong.contains("the secret is not the right one"), "{wrong}");
    let right = with(json!("lance"));
    assert!(right.status.success(), "{right:?}");
    signal(&far.child, "-TERM");
    assert_eq!(far.wait(), Some(0));
    assert_eq!(far.words(), "", "the secret is well kept");
}

/// How `serve` refuses its arguments.
fn refused_at_once(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["serve"], arguments].concat(), &Value::Null);
    assert!(output.stdout.is_empty(), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), words)
}

#[test]
fn what_cannot_be_is_refused_with_its_flag() {
    let far = Far::start(&[]);
    let directory = scratch_directory();
    let port = far.port.to_string();
    let empty = secret_file(&directory, "\n");
    for (arguments, flag) in [
        (&["--port", &port][..], "--port"),
        (&["--bind", "192.0.2.1"], "--bind 192.0.2.1"),
        (&["--bind", "everywhere"], "--bind"),
        (&["--secret-file", "/no/such"], "--secret-file /no/such"),
        (&["--secret-file", "/dev/zero"], "--secret-file /dev/zero"),
        (&["--secret-file", &empty], "--secret-file"),
        (&["--data-ports", "9-8"], "--data-ports"),
        (&["--data-ports", "0-8"], "--data-ports"),
        (&["--time-limit", "0"], "--time-limit"),
        (&["--time-limit", "NaN"], "--time-limit"),
        (&["--time-limit", "1e300"], "--time-limit"),
        (&["--connections", "0"], "--connections"),
        (&["--byte-limit", "much"], "--byte-limit"),
        (&["--memory-limit", "much"], "--memory-limit"),
        (&["--bind", "0.0.0.0"], "--secret-file"),
        (&["--speak", "netperf"], "--speak"),
        (&["--allow", "10.0.0.0/8"], "--speak"),
    ] {
        let (code, words) = refused_at_once(arguments);
        assert_eq!(code, Some(2), "{words}");
        assert!(words.contains(flag), "{flag}: {words}");
    }
}

#[test]
fn a_secret_that_others_may_read_is_said() {
    let directory = scratch_directory();
    let path = secret_file(&directory, "lance\n");
    let cautions = |arguments: &[&str]| {
        let mut far = Far::start(arguments);
        signal(&far.child, "-TERM");
        assert_eq!(far.wait(), Some(0));
        far.words()
    };
    assert_eq!(cautions(&["--bind", "0.0.0.0", "--secret-file", &path]), "");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let open = cautions(&["--secret-file", &path]);
    assert!(open.contains("chmod 600"), "{open}");
}

#[test]
fn two_ends_of_one_host_keep_off_each_others_cpus() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    let far = Far::start(&[]);
    let mut job = far.job(json!({"bytes": "64k"}));
    job["conditions"] = json!({});
    let output = run(&["run"], &job);
    let network = end(&output).network.unwrap();
    let near = network.near.granted["cpus"].as_array().unwrap();
    assert_eq!(near.len(), 1);
    match cpus {
        1 => assert!(!network.far.granted.contains_key("cpus")),
        _ => assert_ne!(&network.far.granted["cpus"][0], &near[0]),
    }
}

#[test]
fn what_both_ends_saw_is_summed_over_the_grid() {
    let far = Far::start(&[]);
    let parameters = json!({"message": ["1k", "4k"], "flows": [1, 2], "bytes": "1M"});
    let output = far.run(parameters);
    assert!(output.status.success(), "{output:?}");
    let end = end(&output);
    let network = end.network.unwrap();
    assert_eq!(end.bytes, 6 << 20);
    assert_eq!(network.near.sent_bytes, 6 << 20);
    assert_eq!(network.far.received_bytes, 6 << 20);
    assert_eq!(network.near.sends, end.operations);
    assert_eq!(network.near.sends, 3 * (1 << 10) + 3 * (1 << 8));
    let events = crate::common::events(&output);
    let intervals = events.iter().filter_map(|event| match event {
        Event::Interval(interval) => Some(interval.bytes),
        _ => None,
    });
    assert_eq!(intervals.sum::<u64>(), end.bytes);
}
