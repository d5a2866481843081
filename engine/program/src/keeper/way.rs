//! How a keeper starts what it keeps: in which environment, directory and network, as whom.

use std::env;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use rustix::pipe::{pipe_with, PipeFlags};
use wire::{HostFailureKind, Start};

use super::MARK;
use crate::account::Account;
use crate::reap::{self, Ended};
use crate::spawn::{c_text, Into, NotStarted, Recipe, Spawner, Step, Strings};

/// Where administration tools live, but PATH may not look.
const ADMIN: &str = "/usr/local/sbin:/usr/sbin:/sbin";
/// Where nobody says where programs are.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";
/// Where ip-netns(8) keeps network namespaces.
const NAMESPACES: &str = "/run/netns";
const PAUSE: Duration = Duration::from_millis(2);

/// All that what it starts has in common.
pub struct Way {
    environment: Strings,
    path: OsString,
    directory: CString,
    root: File,
    network: Option<File>,
    account: Option<Account>,
    cpus: libc::cpu_set_t,
}

impl Way {
    /// What it needs is opened.
    ///
    /// # Errors
    /// There is no such user or namespace, or the kernel lacks something.
    pub fn of(start: &Start<String>) -> io::Result<Self> {
        let mut variables = start.environment.clone().unwrap_or_else(|| {
            let own = env::vars_os();
            let texts = own.filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.into_string().ok()?))
            });
            let english = [("LC_ALL".to_owned(), "C".to_owned())];
            texts.chain(english).collect()
        });
        variables.insert(MARK.to_owned(), start.mark.clone());
        let path = variables.get("PATH").map_or(USUAL, String::as_str).into();
        let variables = variables
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"));
        let account = start.user.as_deref().map(Account::named).transpose();
        // SAFETY: an all-zero set is one; the kernel fills it.
        let mut cpus: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set has that length.
        unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut cpus) };
        Ok(Self {
            environment: Strings::of(variables),
            path,
            directory: c_text(start.directory.as_deref().unwrap_or("/").as_bytes()),
            root: File::open("/")?,
            network: start.network.as_deref().map(network).transpose()?,
            account: account.map_err(|failure| io::Error::other(failure.message))?,
            cpus,
        })
    }

    /// Starts one; its number.
    ///
    /// # Errors
    /// Why it could not be, and what sort of failure that is.
    pub fn spawn(
        &self,
        argv: &[String],
        stdin: BorrowedFd,
        outputs: [BorrowedFd; 2],
    ) -> Result<libc::pid_t, (HostFailureKind, String)> {
        let name = argv.first().map_or("", String::as_str);
        let lacks = || {
            let text = format!("there is no program \"{name}\" on this host");
            (HostFailureKind::Lacks, text)
        };
        let program = find_program(name, &self.path).ok_or_else(lacks)?;
        let recipe = Recipe {
            path: &c_text(program.as_os_str().as_bytes()),
            arguments: &Strings::of(
                shown(&argv[..1])
                    .into_iter()
                    .chain(argv[1..].iter().cloned()),
            ),
            environment: &self.environment,
            directory: &self.directory,
            home: (c"/", self.root.as_fd()),
            network: self.network.as_ref().map(AsFd::as_fd),
            stdin,
            stdout: None,
            cpus: &self.cpus,
            numa: None,
            account: self.account.as_ref().map(|account| &account.ids),
        };
        // One for each: what it tells of is shared with forks of this process.
        let spawner = Spawner::new().map_err(NotStarted::from);
        let started = spawner.and_then(|spawner| spawner.spawn(&recipe, outputs, Into::Nothing));
        started.map(|started| started.pid).map_err(|why| {
            let text = match why.step {
                Step::Directory => {
                    format!(
                        "cannot work in {}: {}",
                        self.directory.to_string_lossy(),
                        why.error
                    )
                }
                Step::Execute if why.error.kind() == ErrorKind::PermissionDenied => {
                    let whose = self.account.as_ref().map_or("us", |account| &account.name);
                    format!("{} may not be executed by {whose}", program.display())
                }
                Step::Account => format!("cannot become its user: {}", why.error),
                _ => format!("cannot be started: {}", why.error),
            };
            (HostFailureKind::Failed, text)
        })
    }

    /// Executes a command that is of no interest but for its end; whether that was a good one, and in time.
    /// To be called in a process of its own, which has what the command leaves behind.
    pub fn ends_well(&self, argv: &[String], within: Duration) -> bool {
        let Ok(nothing) = nothing() else {
            return false;
        };
        let streams = [nothing.as_fd(), nothing.as_fd()];
        let Ok(pid) = self.spawn(argv, nothing.as_fd(), streams) else {
            return false;
        };
        let began = Instant::now();
        while began.elapsed() < within {
            if reap::next_ended() == Some(pid) {
                return reap::reap(pid).is_ok_and(|(ended, _)| ended == Ended::Exit(0));
            }
            if let Some(other) = reap::next_ended() {
                let _ = reap::reap(other);
            }
            thread::sleep(PAUSE);
        }
        false
    }
}

/// A command as its process list shows it: an agent's own file has no name that a person would know.
pub fn shown(argv: &[String]) -> Vec<String> {
    let is_own = |word: &String| word.starts_with("/proc/") && word.ends_with("/exe");
    let words = argv.iter().map(|word| match is_own(word) {
        true => "tiltyard-engine".to_owned(),
        false => word.clone(),
    });
    words.collect()
}

/// A network namespace by its name.
fn network(name: &str) -> io::Result<File> {
    File::open(Path::new(NAMESPACES).join(name))
        .map_err(|error| io::Error::new(error.kind(), format!("network namespace {name}: {error}")))
}

/// Goes into a network namespace, with this process.
pub fn enter(name: &str) -> io::Result<()> {
    let there = network(name)?;
    // SAFETY: no memory is passed.
    match unsafe { libc::setns(there.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn nothing() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}

/// Ends to write to, and those to read from, which do not wait: one pipe for both streams, as then what is
/// said in turns is heard in turns, or one for each where only the first is looked at.
pub fn pipes(is_apart: bool) -> io::Result<([OwnedFd; 2], [Option<File>; 2])> {
    let pipe = || -> io::Result<(OwnedFd, Option<File>)> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok((writer, Some(reader.into())))
    };
    let (first, out) = pipe()?;
    let (second, error) = match is_apart {
        true => pipe()?,
        false => (first.try_clone()?, None),
    };
    Ok(([first, second], [out, error]))
}

/// What it reads: no more than a pipe holds.
pub fn input(text: &str) -> io::Result<OwnedFd> {
    if text.is_empty() {
        return Ok(nothing()?.into());
    }
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    File::from(writer).write_all(text.as_bytes())?;
    Ok(reader)
}

/// The path of a program, which is looked for in these directories and in those of administration.
pub fn find_program(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = if path.is_empty() {
        USUAL.as_ref()
    } else {
        path
    };
    let directories = env::split_paths(path).chain(env::split_paths(ADMIN));
    directories
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(is_program)
}
