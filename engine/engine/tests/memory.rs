//! A program that takes more memory than it is given. In a binary of its own: the tests of one are
//! in one group.

use std::process::{Command, Stdio};
use std::{fs, io::Write};

use serde_json::json;
use wire::{Event, FailureKind};

const LIMIT: &str = "67108864";

/// A memory group below that of this process, or `None` where none can be made.
#[allow(clippy::print_stderr)]
fn group() -> Option<std::path::PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let path = own.lines().find_map(|line| line.split_once(":memory:"));
    let mount = mounts.lines().find(|line| line.ends_with(",memory"));
    let (top, path, limit) = match path.zip(mount) {
        Some(((_, path), mount)) => {
            let fields: Vec<&str> = mount.split(' ').collect();
            let below = path.strip_prefix(fields[3].trim_end_matches('/'));
            (fields[4], below.unwrap_or(""), "memory.limit_in_bytes")
        }
        None => ("/sys/fs/cgroup", "", "memory.max"),
    };
    let group = format!("{top}{path}/tiltyard-test-{}", std::process::id());
    let made = fs::create_dir(&group).and_then(|()| fs::write(format!("{group}/{limit}"), LIMIT));
    if made.is_err() {
        eprintln!("not tested: a memory group needs root and the controller");
        let _ = fs::remove_dir(&group);
    }
    made.ok().map(|()| group.into())
}

#[test]
fn a_program_that_is_killed_for_memory_is_told_so() {
    let Some(group) = group() else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let job = json!({
        "protocol": wire::PROTOCOL, "workload": "program",
        "parameters": {"command": ["tail", "/dev/zero"]},
        "target": {"directory": directory.path()},
    });
    let enter = "echo $$ > \"$1/cgroup.procs\" && exec \"$0\" run";
    let mut engine = Command::new("sh");
    engine.args(["-c", enter, env!("CARGO_BIN_EXE_tiltyard-core")]);
    engine
        .arg(&group)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut engine = engine.spawn().unwrap();
    let mut stdin = engine.stdin.take().unwrap();
    stdin.write_all(job.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = engine.wait_with_output().unwrap();
    fs::remove_dir(&group).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let Event::End(end) = serde_json::from_str(text.lines().last().unwrap()).unwrap() else {
        panic!("{text}");
    };
    let failure = end.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Program, "{failure:?}");
    for part in ["ended by SIGKILL", "lack of memory"] {
        assert!(failure.message.contains(part), "{failure:?}");
    }
}
