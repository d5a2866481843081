//! What happens when things go wrong in the middle: nothing may be left behind, and the exit
//! code says what it was.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::common::{
    command, end, full, job, left_in, run, scratch_directory, start, wait_until, Tmpfs,
};
use serde_json::{json, Value};
use wire::{AccessVerdict, Event, FailureKind, Outcome};

/// A job for stream in `directory`.
pub fn stream(directory: &Path, parameters: Value) -> Value {
    job("stream", parameters, directory)
}

/// Work for far longer than any test waits: it must be stopped.
pub fn endless(directory: &Path) -> Value {
    let files: Vec<String> = (4..=64).map(|size| format!("{size}M")).collect();
    let records = json!([512, "1k", "2k", "4k", "8k", "16k", "32k", "64k"]);
    stream(directory, json!({"file": files, "block": records}))
}

/// Reads lines until the first value was measured, so that the trial is in the middle.
fn wait_for_a_sample(child: &mut Child) -> BufReader<ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "ended too early");
        match serde_json::from_str(&line).unwrap() {
            Event::Sample(_) => return lines,
            Event::End(end) => panic!("ended too early: {end:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    let directory = scratch_directory();
    let mut child = start(&["run"], &endless(directory.path()));
    let lines = wait_for_a_sample(&mut child);
    // It is removed after all tests of a size, and made again for the next.
    let is_there = || left_in(directory.path()) == ["tiltyard-stream.0"];
    wait_until(is_there, "it works on no file");
    let pid = child.id().to_string();
    assert!(Command::new("kill")
        .args(["-TERM", &pid])
        .status()
        .unwrap()
        .success());
    let last = lines.lines().last().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let Event::End(end) = serde_json::from_str(&last).unwrap() else {
        panic!("{last}");
    };
    assert_eq!(end.outcome, Outcome::Interrupted);
    assert!(end.operations > 0);
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn a_reader_that_goes_away_ends_the_trial() {
    let directory = scratch_directory();
    let mut child = start(&["run"], &endless(directory.path()));
    drop(wait_for_a_sample(&mut child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(left_in(directory.path()).is_empty());
}

#[test]
fn the_death_of_the_starter_ends_the_trial() {
    let directory = scratch_directory();
    let aside = scratch_directory();
    let (job, lines) = (aside.path().join("job"), aside.path().join("lines"));
    std::fs::write(&job, endless(directory.path()).to_string()).unwrap();
    let starter = r#""$0" run --job "$1" > "$2" & until grep -q sample "$2"; do :; done"#;
    let status = Command::new("sh")
        .args(["-c", starter, crate::ENGINE])
        .args([&job, &lines])
        .status();
    assert!(status.unwrap().success());
    let ended = || {
        std::fs::read_to_string(&lines)
            .unwrap()
            .contains("interrupted")
    };
    wait_until(ended, "it goes on without its starter");
    assert!(left_in(directory.path()).is_empty());
}

/// What is lost on the way out is no success, and what it was is told once.
#[test]
fn an_output_that_cannot_be_written_is_told_by_words_and_code() {
    let directory = scratch_directory();
    let small = stream(directory.path(), json!({"file": "64k", "block": "4k"}));
    for arguments in ["run", "validate", "describe", "floor"] {
        let mut command = command(&[arguments]);
        command.current_dir(directory.path()).stdin(Stdio::piped());
        command.stdout(full()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Not everyone reads a job.
        let _ = child
            .stdin
            .take()
            .unwrap()
            .write_all(small.to_string().as_bytes());
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{arguments}: {words}");
        assert!(
            words.contains("cannot write to standard output: No space"),
            "{words}"
        );
        assert_eq!(words.lines().count(), 1, "{arguments}: {words}");
        assert!(left_in(directory.path()).is_empty());
    }
}

#[test]
fn the_exit_code_is_the_same_where_nobody_can_be_told() {
    let mut command = command(&["run"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(full());
    assert_eq!(command.status().unwrap().code(), Some(2));
}

/// Whoever made the pipe may have made it so that a write which finds no room fails.
#[test]
fn a_pipe_that_does_not_wait_is_waited_for() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut child = command(&["describe"]).stdout(writer).spawn().unwrap();
    // It can have written no more than the pipe holds: then it waits, or has ended.
    let is_idle = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        [") S ", ") Z "].iter().any(|state| stat.contains(state))
    };
    wait_until(|| is_idle(child.id()), "it does not wait");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    serde_json::from_str::<wire::Catalogue>(&text).unwrap();
}

/// The kernel takes a ring apart behind the back of the process that had it.
#[test]
fn a_file_system_can_be_unmounted_when_the_engine_has_ended() {
    for _ in 0..12 {
        let Some(tmpfs) = Tmpfs::mount("size=1m") else {
            return;
        };
        let parameters = json!({"file": "64k", "block": "4k", "threads": 2, "backend": "uring"});
        let output = run(&["run"], &job("stream", parameters, tmpfs.path()));
        // The host may have no io_uring.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    }
}

/// A device on which there is never room.
#[test]
fn a_full_file_system_is_told_and_cleaned() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    for (phases, backend) in [
        ("write", "sync"),
        ("read", "sync"),
        ("write", "mmap"),
        ("write", "libaio"),
    ] {
        let parameters =
            json!({"file": "2M", "block": "24k", "phases": phases, "backend": backend});
        let output = run(&["run"], &stream(tmpfs.path(), parameters));
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let failure = end(&output).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::NoSpace, "{failure:?}");
        assert!(left_in(tmpfs.path()).is_empty());
    }
}

#[test]
fn direct_access_that_nothing_can_confirm_is_not_timed() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    let parameters = json!({"file": "64k", "block": "4k", "access": "direct"});
    let output = run(&["run"], &stream(tmpfs.path(), parameters));
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let end = end(&output);
    assert_eq!(end.failure.unwrap().kind, FailureKind::Access);
    assert_eq!(end.access.unwrap().verdict, AccessVerdict::Contradicted);
    assert_eq!(end.operations, 0);
    assert!(left_in(tmpfs.path()).is_empty());
}

#[test]
fn the_cache_of_a_tmpfs_is_confirmed_without_a_device() {
    let Some(tmpfs) = Tmpfs::mount("size=1m") else {
        return;
    };
    let parameters = json!({"file": "64k", "block": "4k"});
    let end = end(&run(&["run"], &stream(tmpfs.path(), parameters)));
    let access = end.access.unwrap();
    assert_eq!(access.verdict, AccessVerdict::Confirmed, "{access:?}");
    assert_eq!(access.device_read_bytes, None);
}

#[test]
fn what_stays_of_what_is_to_be_removed_is_named_with_its_fix_and_the_rest_goes() {
    let scratch = scratch_directory();
    let tree = scratch.path().join("two words");
    std::fs::create_dir_all(tree.join("deep/deeper")).unwrap();
    let path = |name: &str| scratch.path().join(name).into_os_string();
    let arguments = [path("absent"), path("two words/deep/.."), path("two words")];
    let output = command(&["remove"]).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    let named = tree.join("deep/..").display().to_string();
    let fix = format!("Fix: rm -r -f --one-file-system '{named}'\n");
    assert!(
        said.starts_with(&format!("not removed: {named}: ")),
        "{said}"
    );
    assert!(said.ends_with(&fix) && said.lines().count() == 1, "{said}");
    assert!(!tree.exists());
}
