//! The real binary, driven as the lab drives it.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{json, Value};
use wire::{End, Event};

/// A fresh directory on the file system of the build: the temporary one may have no disk.
pub fn scratch_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A job for iozone in `directory`.
pub fn iozone(directory: &Path, parameters: Value) -> Value {
    json!({
        "protocol": wire::PROTOCOL,
        "workload": "iozone",
        "parameters": parameters,
        "target": {"directory": directory},
    })
}

/// Starts the engine with `job` on its standard input.
pub fn start(arguments: &[&str], job: &Value) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tiltyard-engine"))
        .args(arguments)
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
