//! netperf's options and tables, against a netserver that is ours too.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

use crate::common::{outline, Bench};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// A netserver in the foreground, on a port of its own; it ends with the test.
struct Server {
    child: Child,
    port: u16,
    _home: TempDir,
}

impl Server {
    /// Starts one with `line` beside where it listens.
    fn start(line: &str) -> Self {
        // What listens or connects meanwhile may take the port that was free.
        let mut attempts = std::iter::repeat_with(|| Self::start_at(free_port(), line)).take(20);
        attempts.find_map(|server| server).expect("a port")
    }

    /// Starts one at `port`; `None` where somebody else has that.
    fn start_at(port: u16, line: &str) -> Option<Self> {
        let (home, program) = netserver();
        let mut child = Command::new(program)
            .args(["-4", "-L", "127.0.0.1", "-D", "-p", &port.to_string()])
            .args(line.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut greeting).unwrap();
        if greeting.is_empty() {
            let ended = child.wait_with_output().unwrap();
            let words = String::from_utf8_lossy(&ended.stderr);
            assert!(words.contains("in use"), "{words}");
            return None;
        }
        assert_eq!(
            greeting,
            format!("Starting netserver with host '127.0.0.1' port '{port}' and family AF_INET\n")
        );
        let _home = home;
        Some(Self { child, port, _home })
    }

    /// `line` of a netperf that finds this server.
    fn line(&self, line: &str) -> String {
        format!("-H 127.0.0.1 -p {} {line}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A link to the engine that is called netserver, in a folder of its own.
fn netserver() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = home.path().join("netserver");
    symlink(env!("CARGO_BIN_EXE_tiltyard-engine"), &program).unwrap();
    (home, program)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Values of `NAME=value` lines.
fn values(text: &str) -> Vec<&str> {
    let value = |line| str::split_once(line, '=').map(|(_, value)| value);
    text.lines().filter_map(value).collect()
}

fn numbers(line: &str) -> Vec<f64> {
    let words = line.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_stream_has_a_banner_a_table_and_a_brand() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    let text = bench.text(&server.line("-l -4000000 -t TCP_STREAM -- -m 4096"), "");
    assert_eq!(
        outline(&text),
        "MIGRATED TCP STREAM TEST from #.#.#.# (#.#.#.#) port # AF_INET to #.#.#.# () port # \
         AF_INET : histogram : interval : demo\n\
         Recv Send Send \n\
         Socket Socket Message Elapsed \n\
         Size Size Size Time Throughput \n\
         bytes bytes bytes secs. #^#bits/sec \n\n\
         # # # # # \n"
            .replace("#.#.#.#", "#")
            .as_str()
    );
    let line = server.line("-P0 -l -4000000 -t TCP_STREAM -B text -- -m 4096");
    let row = bench.text(&line, "");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((words.len(), words[2], words[5]), (6, "4096", "text"));
}

#[test]
fn every_test_counts_the_same_at_both_ends() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    let selectors = "LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT";
    for (test, moved) in [
        ("-t TCP_STREAM -l -1000000 -- -m 1000", ["1000000", "0"]),
        ("-t TCP_MAERTS -l -1000000 -- -m ,1000", ["0", "1000000"]),
        ("-t TCP_SENDFILE -l -1000000 -- -m 1000", ["1000000", "0"]),
        ("-t TCP_RR -l -50 -- -r 100,200", ["5000", "10000"]),
        ("-t UDP_RR -l -50 -- -r 100,200", ["5000", "10000"]),
        ("-t TCP_CRR -l -20 -- -r 10,30", ["200", "600"]),
    ] {
        let text = bench.text(&server.line(&format!("-P 0 {test} -k {selectors}")), "");
        let [sent, received] = moved;
        assert_eq!(values(&text), [sent, sent, received, received], "{test}");
    }
    let line = "-P 0 -t TCP_CC -l -20 -- -k THROUGHPUT_UNITS";
    assert_eq!(
        bench.text(&server.line(line), ""),
        "THROUGHPUT_UNITS=Trans/s\n"
    );
}

#[test]
fn datagrams_have_a_line_for_what_was_sent_and_one_for_what_arrived() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    let text = bench.text(
        &server.line("-P 0 -t UDP_STREAM -l -2000000 -- -m 1024"),
        "",
    );
    let lines: Vec<Vec<f64>> = text.lines().map(numbers).collect();
    let [sent, received, end] = &lines[..] else {
        panic!("{text}")
    };
    assert_eq!((sent.len(), received.len(), end.len()), (6, 4, 0));
    assert_eq!(sent[1], 1024.0);
    assert!(received[2] > 0.0 && received[2] <= sent[3], "{text}");
}

#[test]
fn use_of_cpus_and_repetitions() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    let line = "-P 0 -t TCP_RR -l -2000 -c -C -i 3,3 -I 99,400 -- -r 1,1";
    let text = bench.text(&server.line(line), "");
    let table = text.lines().filter(|line| !line.starts_with("!!!"));
    let table: Vec<usize> = table.map(|line| numbers(line).len()).collect();
    assert!([&[10, 2][..], &[0, 10, 2]].contains(&&table[..]), "{text}");
    let line = "-P 0 -t UDP_RR -l -100 -i 30,3 -I 99,100 -- -k CONFIDENCE_ITERATION";
    let text = bench.text(&server.line(line), "");
    let count: u32 = values(&text)[0].parse().unwrap();
    assert!((3..=30).contains(&count), "{text}");
}

#[test]
fn interim_results_add_up_to_the_result() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    // As flent asks for them.
    let line = "-P 0 -v 0 -D -0.1 -4 -t TCP_RR -l -30000 -F /dev/urandom -f x -- -e 2 -k \
                LOCAL_SEND_CALLS";
    let text = bench.text(&server.line(line), "");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "NETPERF_UNITS[0]=Trans/s");
    let all = values(&text);
    let (interims, total) = all.split_at(all.len() - 1);
    // A rate has two decimals, its seconds three: what lies between the bounds is told alike.
    let (mut least, mut most) = (0.0, 0.0);
    for one in interims.chunks(4) {
        let [rate, seconds] = [0, 2].map(|at| one[at].parse::<f64>().unwrap());
        least += (rate - 0.005).max(0.0) * (seconds - 0.000_5).max(0.0);
        most += (rate + 0.005) * (seconds + 0.000_5);
    }
    let total: f64 = total[0].parse().unwrap();
    assert!(least <= total && total <= most + 1.0, "{text}");
}

#[test]
fn latencies_are_measured_for_those_who_ask() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    let line = "-P 0 -j -t TCP_RR -l -500 -- -o \
                MIN_LATENCY,P50_LATENCY,P99_LATENCY,MAX_LATENCY,LOCAL_SEND_CALLS";
    let text = bench.text(&server.line(line), "");
    let values: Vec<f64> = text.trim().split(',').map(|v| v.parse().unwrap()).collect();
    assert_eq!((values.len(), values[4]), (5, 500.0));
    assert!(values[..4].is_sorted(), "{text}");
    let histogram = bench.text(&server.line("-v 3 -t UDP_RR -l -500"), "");
    assert!(
        histogram.ends_with("\nHIST_TOTAL:      500\n"),
        "{histogram}"
    );
}

#[test]
fn an_interrupted_test_prints_what_it_has() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    let line = server.line("-P 0 -v 0 -D 0.1 -t TCP_RR -l 60");
    let mut child = bench.start(&line);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("Interim result: "), "{first}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let last = lines.map(Result::unwrap).last().unwrap();
    assert_eq!(numbers(&last).len(), 1, "{last}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn who_does_not_know_the_passphrase_is_not_served() {
    let (server, bench) = (Server::start("-Z open"), Bench::new("netperf"));
    let served = "-P 0 -v 0 -Z open -t TCP_RR -l -5";
    assert_eq!(numbers(&bench.text(&server.line(served), "")).len(), 1);
    let complaint = bench.complaint(&server.line("-P 0 -Z shut -t TCP_RR -l -5"), "", 5);
    assert!(
        complaint.starts_with("netperf: netserver at 127.0.0.1:"),
        "{complaint}"
    );
}

#[test]
fn a_netserver_goes_to_the_background_and_stays_there() {
    let (_home, program) = netserver();
    let start = || {
        let port = free_port().to_string();
        let called = Command::new(&program)
            .args(["-L", "127.0.0.1", "-p", &port])
            .output()
            .unwrap();
        let is_taken = String::from_utf8_lossy(&called.stderr).contains("in use");
        assert!(is_taken || called.status.success(), "{called:?}");
        (!is_taken).then_some(port)
    };
    let port = std::iter::repeat_with(start).take(20).flatten().next();
    let port = port.expect("a port");
    let daemon = Daemon::find(&program);
    let bench = Bench::new("netperf");
    let line = format!("-H 127.0.0.1 -p {port} -P 0 -v 0 -t TCP_RR -l -5");
    assert_eq!(numbers(&bench.text(&line, "")).len(), 1);
    drop(daemon);
    let complaint = bench.complaint(&line, "", 5);
    assert!(
        complaint.contains("no netserver answers at 127.0.0.1:"),
        "{complaint}"
    );
}

/// A process that has nobody to wait for it; asked to end, and waited for, when dropped.
struct Daemon(Pid);

impl Daemon {
    /// The process that was started as `program`.
    fn find(program: &std::path::Path) -> Self {
        let name = program.as_os_str().as_encoded_bytes();
        let processes = std::fs::read_dir("/proc").unwrap();
        let ours = processes.filter_map(|entry| {
            let path = entry.unwrap().path();
            let line = std::fs::read(path.join("cmdline")).ok()?;
            let number = path.file_name()?.to_str()?.parse().ok()?;
            line.starts_with(name)
                .then(|| Pid::from_raw(number))
                .flatten()
        });
        let found: Vec<Pid> = ours.collect();
        assert_eq!(found.len(), 1, "{found:?}");
        Self(found[0])
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::TERM);
        let process = format!("/proc/{}", self.0.as_raw_nonzero());
        let begin = Instant::now();
        while std::path::Path::new(&process).exists() && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn what_is_printed_without_a_test() {
    let bench = Bench::new("netperf");
    let help = bench.text("-h", "");
    for words in [
        "-H NAME,FAMILY",
        "Options of the test, behind --:",
        "-o [SELECTORS]",
    ] {
        assert!(help.contains(words), "{words}");
    }
    assert_eq!(bench.text("-- -h", ""), help);
    for (tool, name) in [("netperf", "Netperf"), ("netserver", "Netserver")] {
        let version = Bench::new(tool).text("-V", "");
        assert_eq!(version, format!("{name} version 2.7.1 (Tiltyard)\n"));
    }
    let selectors = bench.text("-- -O ?", "");
    assert_eq!(selectors.lines().count(), 173);
    assert_eq!(
        Bench::new("netserver")
            .text("-h", "")
            .lines()
            .next()
            .unwrap(),
        "netserver: the remote end of netperf, for any number of clients"
    );
}

#[test]
fn what_is_wrong_names_the_option() {
    let (server, bench) = (Server::start(""), Bench::new("netperf"));
    for (line, words) in [
        ("-q", "netperf: \"-q\" is not an option here"),
        ("-t TCP_RR -- -Q", "behind --: \"-Q\" is not an option here"),
        (
            "-H no.such.host.invalid",
            "option -H: \"no.such.host.invalid\" is not a host",
        ),
        ("--json", "option --json: "),
        (
            "-- -o NO_SUCH",
            "\"NO_SUCH\" is neither a selector nor a file",
        ),
    ] {
        let complaint = bench.complaint(&server.line(&format!("-P 0 {line}")), "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    let complaint = Bench::new("netserver").complaint("-L 127.0.0.1 -p 70000", "", 2);
    assert!(
        complaint.contains("option -p: 70000 is out of range"),
        "{complaint}"
    );
}
