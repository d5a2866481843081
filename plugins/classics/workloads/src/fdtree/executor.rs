//! Who does the work: system calls of this process, or the programs of the original.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kit::failure::{failure, io_failure, no_memory};
use kit::{clock, stop, Content, Probe};
use rustix::fs::{Mode, OFlags};
use wire::{Failure, FailureKind};

use super::params::{Fill, Params};
use super::phase::Phase;
use super::tree::Entries;
use storage::backend::{Backend, File};

const CREATE: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::TRUNC);
const FILE_PERMISSIONS: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_PERMISSIONS: Mode = Mode::from_raw_mode(0o777);

/// Does what a phase does to the entries of one directory, and counts each in the probe.
pub trait Executor {
    /// # Errors
    /// Whatever the kernel refused.
    fn perform<P: Probe>(
        &mut self,
        phase: Phase,
        entries: &mut Entries,
        probe: &mut P,
    ) -> Result<(), Failure>;
}

/// System calls: mkdir; open, write, close; unlink; rmdir.
pub struct SyscallExecutor<B> {
    backend: B,
    content: Content,
    size_bytes: u64,
    block_bytes: u64,
}

impl<B: Backend> SyscallExecutor<B> {
    /// # Errors
    /// Out of memory.
    pub fn new(backend: B, params: &Params) -> Result<Self, Failure> {
        let block_bytes = params.write_block.bytes();
        let content = match params.content {
            Fill::Zeroes => Content::uniform(block_bytes as usize, 0),
            Fill::Random => Content::random(block_bytes as usize),
        };
        Ok(Self {
            backend,
            content: content.map_err(no_memory)?,
            size_bytes: params.size.bytes(),
            block_bytes,
        })
    }

    fn create(&self, path: &CStr) -> io::Result<()> {
        let mut file = self.backend.open(path, CREATE, FILE_PERMISSIONS)?;
        let mut written = 0;
        while written < self.size_bytes {
            let length = self.block_bytes.min(self.size_bytes - written);
            let record = self.content.record(written / self.block_bytes);
            file.write_whole(&record[..length as usize])?;
            written += length;
        }
        file.close()
    }
}

impl<B: Backend> Executor for SyscallExecutor<B> {
    fn perform<P: Probe>(
        &mut self,
        phase: Phase,
        entries: &mut Entries,
        probe: &mut P,
    ) -> Result<(), Failure> {
        while let Some(path) = entries.next() {
            let done = match phase {
                Phase::CreateDirectories => self.backend.mkdir(path, DIRECTORY_PERMISSIONS),
                Phase::CreateFiles => self.create(path),
                Phase::RemoveFiles => self.backend.unlink(path),
                Phase::RemoveDirectories => self.backend.rmdir(path),
            };
            done.map_err(|error| io_failure(phase.action(), entries.shown(), &error))?;
            probe.operation(bytes_of(phase, self.size_bytes));
            stop::check()?;
        }
        Ok(())
    }
}

/// ProgramExecutor, one after another: a mkdir for each directory, a dd for each file, and one rm or
/// rmdir for all that a directory contains. What they do at once counts as one operation each,
/// and all take as long as the program did.
pub struct ProgramExecutor {
    mkdir: PathBuf,
    dd: PathBuf,
    rm: PathBuf,
    rmdir: PathBuf,
    size_bytes: u64,
    block_bytes: u64,
}

impl ProgramExecutor {
    /// # Errors
    /// `HostLacks` when one of them is not on PATH.
    pub fn find(params: &Params) -> Result<Self, Failure> {
        Ok(Self {
            mkdir: program("mkdir")?,
            dd: program("dd")?,
            rm: program("rm")?,
            rmdir: program("rmdir")?,
            size_bytes: params.size.bytes(),
            block_bytes: params.write_block.bytes(),
        })
    }

    /// What is started for a phase; the paths are still missing.
    fn command(&self, phase: Phase) -> Command {
        let program = match phase {
            Phase::CreateDirectories => &self.mkdir,
            Phase::CreateFiles => &self.dd,
            Phase::RemoveFiles => &self.rm,
            Phase::RemoveDirectories => &self.rmdir,
        };
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        command.stdout(Stdio::null());
        command.stderr(Stdio::null());
        match phase {
            Phase::CreateFiles => {
                let (block, count) = (self.block_bytes, self.size_bytes / self.block_bytes);
                command.arg("if=/dev/zero");
                command.args([format!("bs={block}"), format!("count={count}")]);
            }
            Phase::RemoveFiles => {
                command.arg("-f");
            }
            Phase::CreateDirectories | Phase::RemoveDirectories => {}
        }
        command
    }

    fn one_by_one<P: Probe>(
        &self,
        phase: Phase,
        entries: &mut Entries,
        probe: &mut P,
    ) -> Result<(), Failure> {
        while let Some(path) = entries.next() {
            let mut command = self.command(phase);
            let path = OsStr::from_bytes(path.to_bytes());
            if phase == Phase::CreateFiles {
                let mut output = OsStr::new("of=").to_owned();
                output.push(path);
                command.arg(output);
            } else {
                command.arg(path);
            }
            execute(command, phase, entries.shown())?;
            probe.operation(bytes_of(phase, self.size_bytes));
        }
        Ok(())
    }

    fn all_at_once<P: Probe>(
        &self,
        phase: Phase,
        entries: &mut Entries,
        probe: &mut P,
    ) -> Result<(), Failure> {
        let count = entries.left();
        let began_ns = clock::now_ns();
        let mut command = self.command(phase);
        while let Some(path) = entries.next() {
            command.arg(OsStr::from_bytes(path.to_bytes()));
        }
        execute(command, phase, entries.shown())?;
        let ended_ns = clock::now_ns();
        for _ in 0..count {
            probe.overlapped_operation(0, began_ns, ended_ns);
        }
        Ok(())
    }
}

impl Executor for ProgramExecutor {
    fn perform<P: Probe>(
        &mut self,
        phase: Phase,
        entries: &mut Entries,
        probe: &mut P,
    ) -> Result<(), Failure> {
        if phase.creates() {
            self.one_by_one(phase, entries, probe)
        } else {
            self.all_at_once(phase, entries, probe)
        }
    }
}

/// Starts a program and waits for it. `last` is the last path that it was given.
fn execute(mut command: Command, phase: Phase, last: &Path) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| io_failure("start", Path::new(command.get_program()), &error))?;
    // A signal from the terminal reaches the program too, which then fails.
    stop::check()?;
    if status.success() {
        return Ok(());
    }
    let message = format!(
        "cannot {} {}: {} ended with {status}",
        phase.action(),
        last.display(),
        Path::new(command.get_program()).display()
    );
    Err(failure(FailureKind::Io, message))
}

/// Where a program is, so that it need not be searched for each time.
fn program(name: &str) -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = std::env::split_paths(&path).map(|directory| directory.join(name));
    let mut found = candidates.filter(|candidate| candidate.is_file());
    found.next().ok_or_else(|| {
        let message = format!("{name} is not on PATH; install it, or use mode \"in-process\"");
        failure(FailureKind::HostLacks, message)
    })
}

fn bytes_of(phase: Phase, size_bytes: u64) -> u64 {
    match phase {
        Phase::CreateFiles => size_bytes,
        _ => 0,
    }
}
