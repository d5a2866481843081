//! Why a command failed: one clear sentence each.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use kit::failure::{failure, interrupted};
use wire::{Failure, FailureKind};

use crate::execute::{Cut, Executed};
use crate::params::Exit;
use crate::reap::Ended;
use crate::signals;
use crate::spawn::{NotStarted, Step};

/// Processes that a message names.
const NAMED: usize = 5;

/// How a program begins that the kernel gives its path to nobody else: scripts are told theirs.
const ELF: [u8; 4] = *b"\x7fELF";

/// A command as a message shows it.
pub fn shown(words: &[String]) -> String {
    let quote = |word: &String| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=./,:@%".contains(letter);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!(
                "'{}'",
                word.replace('\'', r"'\''").replace(char::is_control, " ")
            ),
        }
    };
    let line = words.iter().map(quote).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A failure of kind `Program`.
pub fn broken(message: String) -> Failure {
    failure(FailureKind::Program, message)
}

/// There is no such program in `path`.
pub fn missing(what: &str, program: &str, path: &str) -> Failure {
    let message = match program.contains('/') {
        true => format!("{what}: {program} does not exist. Fix: build or install it, or correct the path"),
        false => format!(
            "{what}: {program} is in no directory of PATH ({path}). Fix: install it, or name it by its path"
        ),
    };
    failure(FailureKind::HostLacks, message)
}

/// The program could not be started. `program` is where it was found, and `beginning` its first bytes.
pub fn not_started(
    what: &str,
    program: &Path,
    beginning: &[u8],
    directory: &str,
    why: &NotStarted,
) -> Failure {
    let (step, error) = (why.step, &why.error);
    let program_shown = program.display();
    let lacks = |message: String| failure(FailureKind::HostLacks, message);
    match (step, error.kind()) {
        (Step::Execute, ErrorKind::NotFound) => match interpreter(beginning) {
            Some(interpreter) => lacks(format!(
                "{what}: {program_shown} wants the interpreter {interpreter}, which is not there. \
                 Fix: install it, or correct the first line"
            )),
            None if program.exists() => lacks(format!(
                "{what}: {program_shown} wants a loader that is not there (see: file {program_shown}). \
                 Fix: use a program built for this system"
            )),
            None => missing(what, &program.display().to_string(), ""),
        },
        (Step::Execute, ErrorKind::PermissionDenied) => lacks(format!(
            "{what}: {program_shown} may not be executed. Fix: chmod +x {program_shown}; \
             it must not be on a file system mounted noexec"
        )),
        (Step::Execute, _) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            lacks(match is_binary(beginning) {
                true => format!(
                    "{what}: {program_shown} is damaged, or built for another machine than this \
                     {}. Fix: build or install it for this one (see: file {program_shown})",
                    std::env::consts::ARCH
                ),
                false => format!(
                    "{what}: {program_shown} is no program: it has no first line such as \
                     #!/bin/sh. Fix: add one, or name what reads it: sh {program_shown}"
                ),
            })
        }
        (Step::Directory, ErrorKind::PermissionDenied) => broken(format!(
            "{what}: may not go to the working directory {directory}. Fix: let \"user\" pass all \
             directories above it (chmod o+x), or name another \"where\""
        )),
        (Step::Directory, _) => broken(format!(
            "{what}: cannot go to the working directory {directory}: {error}"
        )),
        (Step::Account, _) => lacks(format!(
            "{what}: cannot become the user: {error}. Fix: run as root, or leave \"user\" out"
        )),
        _ => broken(format!("{what}: cannot start {program_shown} ({step:?}): {error}")),
    }
}

/// Whether it is, or was to be, one that the kernel executes itself.
pub fn is_binary(beginning: &[u8]) -> bool {
    beginning.starts_with(&ELF)
}

/// What a script names in its first line.
fn interpreter(beginning: &[u8]) -> Option<String> {
    let line = beginning.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let named = line.strip_prefix("#!")?.split_whitespace().next()?;
    Some(named.to_owned())
}

/// What is wrong with an execution; `None` when all is as expected. Where the study cannot say
/// which exit codes are `expected`, 0 is.
pub fn wrong(
    what: &str,
    done: &Executed,
    expected: Option<&Exit>,
    timeout_s: f64,
    flood_bytes: u64,
    killed_for_memory: u64,
) -> Option<Failure> {
    // Most are as expected, and nothing is to be said of them.
    let said = || match done.said() {
        none if none.is_empty() => none,
        said => format!("; it said: {said}"),
    };
    if let Some(cut) = &done.cut {
        return Some(match cut {
            Cut::Stop => interrupted(),
            Cut::Timeout => broken(format!(
                "{what}: not done after {timeout_s} s, and ended. Fix: find what it waits for, \
                 or raise \"timeout\"{}",
                said()
            )),
            Cut::Flood => broken(format!(
                "{what}: printed more than {flood_bytes} bytes, and was ended. Fix: let it print \
                 less, or raise \"flood\""
            )),
            Cut::Full(path) => failure(
                FailureKind::NoSpace,
                format!(
                    "{what}: the file system of {path} was nearly full, and it was ended. \
                     Fix: let it write less, or use a larger one"
                ),
            ),
        });
    }
    let memory = match killed_for_memory {
        0 => String::new(),
        _ => "; the kernel ended a process for lack of memory meanwhile. \
              Fix: let it use less, or give it more"
            .to_owned(),
    };
    match done.ended {
        Ended::Signal { number, dumped } => {
            let core = if dumped { ", core dumped" } else { "" };
            let name = signals::name(number);
            return Some(broken(format!(
                "{what}: ended by {name}{core}{memory}{}",
                said()
            )));
        }
        Ended::Exit(code) if !expected.map_or(code == 0, |expected| expected.has(code)) => {
            let fix = match expected {
                Some(expected) if killed_for_memory == 0 => expected.fix(code),
                _ => String::new(),
            };
            let expected = expected.map_or("0".to_owned(), Exit::words);
            return Some(broken(format!(
                "{what}: exit code {code}, expected {expected}{memory}{}{fix}",
                said()
            )));
        }
        Ended::Exit(_) => {}
    }
    (!done.left.is_empty()).then(|| {
        broken(format!(
            "{what}: left running: {}; ended. Fix: let it wait for what it starts, or name that \
             under \"servers\"",
            some_of(&done.left)
        ))
    })
}

/// Processes that the kernel has ended for lack of memory since it was booted.
pub fn killed_for_memory() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// How many since there were `before`, where that may be why an execution ended as it did.
pub fn killed_for_memory_since(before: u64, done: &Executed) -> u64 {
    match done.ended {
        Ended::Exit(0) => 0,
        _ => killed_for_memory().saturating_sub(before),
    }
}

/// The first few names, and how many more there are.
fn some_of(names: &[String]) -> String {
    let (first, more) = names.split_at(names.len().min(NAMED));
    let rest = format!(" and {} more", more.len());
    format!(
        "{}{}",
        first.join(", "),
        if more.is_empty() { "" } else { &rest }
    )
}
