//! Classic tools, their workloads, and netperf's protocol, when things go wrong.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{json, Value};
use wire::FailureKind;

use crate::common::{
    children_of, command, end, full, job, left_in, lives, run, scratch_directory, start,
    wait_until, Tmpfs,
};

#[test]
fn iozone_is_in_the_catalogue() {
    let catalogue = crate::common::catalogue();
    let mut workloads = catalogue.workloads.iter();
    let iozone = workloads.find(|known| known.name == "iozone").unwrap();
    assert_eq!(iozone.metrics.len(), 21);
    assert_eq!(iozone.grid, ["file", "record"]);
}

#[test]
fn an_output_that_cannot_be_written_is_told_by_words_and_code() {
    let directory = scratch_directory();
    let output = command(&["classic", "iozone", "-s", "64k", "-r", "4k", "-i", "0"])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(full())
        .output()
        .unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{words}");
    assert!(words.contains("standard output: No space"), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn the_exit_code_is_the_same_where_nobody_can_be_told() {
    let mut command = command(&["classic", "iozone", "-s", "big"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    assert_eq!(command.stderr(full()).status().unwrap().code(), Some(2));
}

#[test]
fn a_full_file_system_is_told_and_cleaned() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    for (tests, backend) in [
        ("write", "sync"),
        ("fwrite", "sync"),
        ("read", "sync"),
        ("write", "mmap"),
        ("write", "libaio"),
    ] {
        let parameters = json!({"file": "2M", "record": "24k", "tests": tests, "backend": backend});
        let output = run(&["run"], &job("iozone", parameters, tmpfs.path()));
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let failure = end(&output).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::NoSpace, "{failure:?}");
        assert!(left_in(tmpfs.path()).is_empty());
    }
}

/// A page is left of what people keep, which takes a part of what is added, and none for a new file.
#[test]
fn what_people_keep_is_never_written_by_half() {
    let Some(tmpfs) = Tmpfs::mount("size=8k") else {
        return;
    };
    let directory = scratch_directory();
    let [full, log, sheet] = ["full", "log", "sheet.xls"].map(|name| tmpfs.path().join(name));
    let kept = "kept\n".repeat(800);
    std::fs::write(&full, [0; 4_096]).unwrap();
    std::fs::write(&log, &kept).unwrap();
    let table = format!("fs_mark -d s -n 1 -s 0 -l {}", log.display());
    let cells = format!("iozone -s 4k -r 4k -i 0 -b {}", sheet.display());
    let report = format!("postmark {}", directory.path().join("commands").display());
    let commands = format!("set transactions 1\nset number 1\nrun {}\n", log.display());
    std::fs::write(directory.path().join("commands"), commands).unwrap();
    for line in [table, cells, report] {
        let output = command(&["classic"])
            .args(line.split(' '))
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{line}: {words}");
        assert!(words.contains("No space left"), "{line}: {words}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), kept, "{line}");
        assert!(!sheet.exists(), "{line}");
    }
}

#[test]
fn children_do_not_outlive_an_engine_that_is_killed() {
    let directory = scratch_directory();
    let parameters = json!({
        "file": "4M", "record": "4k", "children": 3, "children_kind": "processes",
        "think_ms": 10_000, "phases": "write"
    });
    let job = job("iozone_throughput", parameters, directory.path());
    let mut engine = start(&["run"], &job);
    let mut children = Vec::new();
    wait_until(
        || {
            children = children_of(engine.id());
            children.len() == 3
        },
        "it has no children",
    );
    engine.kill().unwrap();
    engine.wait().unwrap();
    let all_ended = || !children.iter().any(|&child| lives(child));
    wait_until(all_ended, "a child has outlived the engine");
    // Nobody could remove the files: the next trial says so, and what to do about it.
    let output = run(&["run"], &job);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let message = end(&output).failure.unwrap().message;
    assert!(
        message.contains("iozone.DUMMY.0 already exists"),
        "{message}"
    );
}

/// A server that speaks netperf's protocol, at any port; killed when it is dropped.
struct Far {
    child: Child,
    port: String,
}

impl Far {
    fn start() -> Self {
        let listen = ["--speak", "netperf", "--port", "0", "--bind", "127.0.0.1"];
        let mut child = command(&[&["serve"], &listen[..]].concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
        lines.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["data"]["addresses"][0].as_str().unwrap();
        let port = address.rsplit_once(':').unwrap().1.to_owned();
        Self { child, port }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_speaks_to_netperf_if_told() {
    let far = Far::start();
    let line = [
        "classic",
        "netperf",
        "-P0",
        "-H",
        "127.0.0.1",
        "-t",
        "TCP_RR",
        "-l",
        "-100",
    ];
    let mut netperf = command(&line);
    let output = netperf.args(["-p", &far.port]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    let first = table.lines().next().unwrap_or_default();
    assert_eq!(first.split_whitespace().count(), 6, "{table}");
}

#[test]
fn whom_netperf_serves_has_to_be_said() {
    for (arguments, flag) in [
        (&["--speak", "netperf"][..], "--bind"),
        (&["--speak", "netperf", "--bind", "0.0.0.0"], "--allow"),
        (
            &["--speak", "netperf", "--bind", "::1", "--allow", "10/8"],
            "--allow",
        ),
        (&["--speak", "netpref"], "Did you mean \"netperf\"?"),
    ] {
        let output = command(&[&["serve"], arguments].concat()).output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(flag), "{flag}: {words}");
    }
}
