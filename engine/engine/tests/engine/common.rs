//! The real binary, driven as the lab drives it.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use wire::{Catalogue, End, Event};

/// A fresh directory on the file system of the build: the temporary one may have no disk.
pub fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A job for `workload` in `directory`.
pub fn job(workload: &str, parameters: Value, directory: &Path) -> Value {
    json!({
        "protocol": wire::PROTOCOL,
        "workload": workload,
        "parameters": parameters,
        "target": {"directory": directory},
    })
}

/// Everything that the engine can do.
pub fn catalogue() -> Catalogue {
    let output = run(&["describe"], &Value::Null);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The engine, not yet started.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::ENGINE);
    command.args(arguments);
    command
}

/// Starts the engine with `job` on its standard input.
pub fn start(arguments: &[&str], job: &Value) -> Child {
    start_command(command(arguments), job)
}

/// Starts `command` with `job` on its standard input.
pub fn start_command(mut command: Command, job: &Value) -> Child {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads no job may have ended already.
    let _ = stdin.write_all(job.to_string().as_bytes());
    child
}

/// Starts the engine and waits until it ends.
pub fn run(arguments: &[&str], job: &Value) -> Output {
    start(arguments, job).wait_with_output().unwrap()
}

/// The events on standard output, every line of it.
pub fn events(output: &Output) -> Vec<Event> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The last line.
pub fn end(output: &Output) -> End {
    match events(output).pop() {
        Some(Event::End(end)) => *end,
        other => panic!("the last line is {other:?}"),
    }
}

/// Names left in `directory`.
pub fn left_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// A device that is always full.
pub fn full() -> std::fs::File {
    std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
}

/// Processes that `pid` has made and that have not ended, by the kernel.
pub fn children_of(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// Whether there is such a process that has not ended.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits for the condition, five minutes at most.
pub fn wait_until(mut condition: impl FnMut() -> bool, otherwise: &str) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !condition() {
        assert!(Instant::now() < deadline, "{otherwise}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A tmpfs with mount options, or `None` where one may not be mounted; unmounted on drop.
pub struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    #[allow(clippy::print_stderr)]
    pub fn mount(options: &str) -> Option<Self> {
        let directory = scratch_directory();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(directory.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("not tested: mounting a tmpfs needs root");
        }
        mounted.then_some(Self(directory))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.path()).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}
