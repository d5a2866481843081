//! A target that is full, read-only, forbidden, limited, occupied, or changed by somebody else
//! meanwhile: every workload of the catalogue says so in one line, ends with the exit code of the
//! table, leaves nothing behind, and overwrites nothing that it did not make.

use std::fs;
use std::os::unix::fs::{symlink, FileTypeExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::Value;
use wire::{Card, Failure, FailureKind, Outcome, TargetKind};

use crate::common::{
    catalogue, command, end, job, left_in, run, scratch_directory, start_command, Tmpfs,
};

/// The workloads that have a directory as their target.
fn cards() -> impl Iterator<Item = Card> {
    let cards = catalogue().workloads.into_iter();
    cards.filter(|card| card.target == TargetKind::Directory)
}

/// Whether the workload moves bytes itself: what a program makes of an error is its own affair.
fn moves_bytes(workload: &str) -> bool {
    workload != "program"
}

/// A job at the smoke size of each workload, in `directory`.
fn jobs(directory: &Path) -> Vec<(String, Value)> {
    cards()
        .map(|card| {
            let job = job(&card.name, card.smoke, directory);
            (card.name, job)
        })
        .collect()
}

/// One line for people, and the same for programs.
fn failure_of(workload: &str, output: &Output) -> Failure {
    let end = end(output);
    let failure = end
        .failure
        .unwrap_or_else(|| panic!("{workload}: no failure"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(words.lines().count(), 1, "{workload}: {words}");
    assert!(words.contains(&failure.message), "{workload}: {words}");
    assert_eq!(end.outcome, Outcome::Failed, "{workload}: {failure:?}");
    failure
}

/// Runs every workload in `directory` and looks how it failed.
fn assert_all_fail(directory: &Path, prepare: fn(&mut Command), kind: FailureKind, code: i32) {
    assert_fail(directory, |_| true, prepare, kind, code);
}

/// The same of some workloads.
fn assert_fail(
    directory: &Path,
    which: fn(&str) -> bool,
    prepare: fn(&mut Command),
    kind: FailureKind,
    code: i32,
) {
    let jobs = jobs(directory).into_iter();
    for (workload, job) in jobs.filter(|(workload, _)| which(workload)) {
        let mut command = command(&["run"]);
        prepare(&mut command);
        let output = start_command(command, &job).wait_with_output().unwrap();
        let failure = failure_of(&workload, &output);
        assert_eq!(failure.kind, kind, "{workload}: {failure:?}");
        assert_eq!(output.status.code(), Some(code), "{workload}");
        assert!(
            left_in(directory).is_empty(),
            "{workload}: {:?}",
            left_in(directory)
        );
    }
}

#[test]
fn a_full_file_system() {
    let Some(tmpfs) = Tmpfs::mount("size=32k") else {
        return;
    };
    let no_space = FailureKind::NoSpace;
    assert_fail(tmpfs.path(), moves_bytes, |_| {}, no_space, 5);
}

#[test]
fn a_file_system_that_has_no_more_inodes() {
    let Some(tmpfs) = Tmpfs::mount("nr_inodes=1") else {
        return;
    };
    assert_all_fail(tmpfs.path(), |_| {}, FailureKind::NoSpace, 5);
}

#[test]
fn a_read_only_file_system() {
    let Some(tmpfs) = Tmpfs::mount("ro") else {
        return;
    };
    assert_all_fail(tmpfs.path(), |_| {}, FailureKind::Io, 5);
}

#[test]
fn a_directory_that_may_not_be_written() {
    let directory = scratch_directory();
    let permit = |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode));
    permit(0o500).unwrap();
    assert_all_fail(directory.path(), without_privilege, FailureKind::Io, 5);
    permit(0o700).unwrap();
}

/// Root may write everywhere: not this one.
fn without_privilege(command: &mut Command) {
    let drop = || {
        const CAP_DAC_OVERRIDE: libc::c_ulong = 1;
        // SAFETY: plain system call. Who is not root is refused, and has nothing to drop.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) };
        Ok(())
    };
    // SAFETY: one system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(drop) };
}

#[test]
fn a_limit_on_the_size_of_files() {
    let directory = scratch_directory();
    let limit = |command: &mut Command| {
        let set = || {
            let limit = libc::rlimit {
                rlim_cur: 512,
                rlim_max: 512,
            };
            // SAFETY: plain system call with a valid pointer.
            match unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: one system call, which allocates nothing and takes no lock.
        unsafe { command.pre_exec(set) };
    };
    assert_fail(directory.path(), moves_bytes, limit, FailureKind::Io, 5);
}

/// The first name that a job makes in its target.
fn first_name_made(job: &dyn Fn(&Path) -> Value) -> String {
    let directory = scratch_directory();
    let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, directory.path(), WatchFlags::CREATE).unwrap();
    // Even if a busy device makes it fail, it has made its files.
    run(&["run"], &job(directory.path()));
    let mut room = [std::mem::MaybeUninit::uninit(); 4_096];
    let mut events = inotify::Reader::new(&watch, &mut room);
    let event = events.next().expect("every workload makes something");
    event.file_name().unwrap().to_str().unwrap().to_owned()
}

/// What can be in the way: how it is made, and how it is seen that nothing happened to it.
type Obstacle = (fn(&Path), fn(&Path) -> bool);

const OBSTACLES: [Obstacle; 5] = [
    (
        |path| fs::write(path, "precious").unwrap(),
        |path| fs::read(path).is_ok_and(|found| found == b"precious"),
    ),
    (
        |path| {
            fs::create_dir(path).unwrap();
            fs::write(path.join("0"), "precious").unwrap();
        },
        |path| fs::read(path.join("0")).is_ok_and(|found| found == b"precious"),
    ),
    (
        |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap(),
        |path| fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()),
    ),
    (
        |path| symlink("/dev/zero", path).unwrap(),
        |path| fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device()),
    ),
    (
        |path| symlink("nowhere", path).unwrap(),
        |path| fs::symlink_metadata(path).is_ok() && !path.exists(),
    ),
];

#[test]
fn what_is_in_the_way_is_never_overwritten() {
    for card in cards() {
        let job = |directory: &Path| job(&card.name, card.smoke.clone(), directory);
        let name = first_name_made(&job);
        for (make, is_unharmed) in OBSTACLES {
            let directory = scratch_directory();
            let path = directory.path().join(&name);
            make(&path);
            let output = run(&["run"], &job(directory.path()));
            assert!(is_unharmed(&path), "{}: {name}", card.name);
            assert_eq!(left_in(directory.path()), [name.as_str()]);
            // One that works in directories that are there may, if it harms nothing.
            if !(path.is_dir() && output.status.success()) {
                let failure = failure_of(&card.name, &output);
                assert_eq!(failure.kind, FailureKind::Refused, "{failure:?}");
                assert_eq!(output.status.code(), Some(4));
            }
        }
    }
}

/// Does something to the entries of a directory over and over, until dropped.
fn while_disturbed<T>(directory: &Path, disturb: fn(&Path), work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for entry in fs::read_dir(directory).unwrap().flatten() {
                    disturb(&entry.path());
                }
            }
        });
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

/// Whatever somebody else does to the files, the trial ends by itself, and either nothing was
/// hit or it has failed with a clear line. Those that `can_notice` must do so in the end.
fn assert_survives(disturb: fn(&Path), can_notice: fn(&Card) -> bool) {
    for card in cards() {
        // How many trials it takes is luck, and worse luck on a busy machine: so a time.
        let (mut was_hit, started) = (!can_notice(&card), Instant::now());
        let mut tries = 0;
        while tries < 3 || (!was_hit && started.elapsed() < Duration::from_secs(60)) {
            tries += 1;
            let directory = scratch_directory();
            let job = job(&card.name, card.smoke.clone(), directory.path());
            let output = while_disturbed(directory.path(), disturb, || run(&["run"], &job));
            assert_eq!(output.status.signal(), None, "{}", card.name);
            if end(&output).outcome == Outcome::Done {
                continue;
            }
            let failure = failure_of(&card.name, &output);
            assert_eq!(output.status.code(), Some(5), "{}: {failure:?}", card.name);
            assert!(left_in(directory.path()).is_empty(), "{}", card.name);
            was_hit = true;
            break;
        }
        assert!(was_hit, "{} does not notice in {tries} trials", card.name);
    }
}

#[test]
fn files_that_vanish() {
    let remove = |path: &Path| {
        // A directory that is being filled may resist.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    };
    assert_survives(remove, |_| true);
}

#[test]
fn files_that_are_truncated() {
    // Who only writes does not see it.
    let reads = |card: &Card| {
        let mut metrics = card.metrics.iter();
        moves_bytes(&card.name) && metrics.any(|metric| metric.name.contains("read"))
    };
    assert_survives(truncate_all, reads);
}

fn truncate_all(path: &Path) {
    if let Ok(entries) = fs::read_dir(path) {
        entries
            .flatten()
            .for_each(|entry| truncate_all(&entry.path()));
    } else if let Ok(file) = fs::OpenOptions::new().write(true).open(path) {
        let _ = file.set_len(0);
    }
}

#[test]
fn a_target_that_is_no_directory() {
    let directory = scratch_directory();
    let file = directory.path().join("file");
    fs::write(&file, "precious").unwrap();
    for target in [
        file.as_path(),
        Path::new("/dev/null"),
        Path::new(""),
        Path::new("/no/such"),
    ] {
        for (workload, job) in jobs(target) {
            let output = run(&["run"], &job);
            let failure = failure_of(&workload, &output);
            assert_eq!(output.status.code(), Some(2));
            assert_eq!(failure.parameter.as_deref(), Some("target.directory"));
        }
    }
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

#[test]
fn direct_access_to_what_lies_in_memory() {
    let Some(tmpfs) = Tmpfs::mount("size=16m") else {
        return;
    };
    let with_access = cards().filter(|card| card.parameters["properties"].get("access").is_some());
    for mut card in with_access {
        card.smoke["access"] = "direct".into();
        let output = run(&["run"], &job(&card.name, card.smoke, tmpfs.path()));
        let failure = failure_of(&card.name, &output);
        assert_eq!(failure.kind, FailureKind::Access, "{failure:?}");
        assert_eq!(output.status.code(), Some(5), "{}", card.name);
        assert_eq!(end(&output).operations, 0, "{}", card.name);
        assert!(left_in(tmpfs.path()).is_empty(), "{}", card.name);
    }
}
