//! The real binary, driven as the lab drives it.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{json, Value};
use wire::{Catalogue, End, Event};

/// A fresh directory on the file system of the build: the temporary one may have no disk.
pub fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A job for iozone in `directory`.
pub fn iozone(directory: &Path, parameters: Value) -> Value {
    job("iozone", parameters, directory)
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiltyard-engine"));
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
