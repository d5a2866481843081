//! What one thread does: creates files, forces them to the device, removes them.
//!
//! The original forks a process for each, so each thread has its own table of descriptors.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use kit::content::{Stamped, PAGE_BYTES};
use kit::failure::{failure, interrupted, io_failure, no_memory};
use kit::place::unshare_descriptors;
use kit::team::Member;
use kit::{Content, Probe};
use rustix::fs::{Mode, OFlags};
use rustix::time::{clock_gettime, ClockId};
use wire::{Failure, FailureKind};

use super::call::{Call, CallsOfLoop};
use super::names::{Names, Stock};
use super::params::{Again, BackendName, Params};
use super::paths::Paths;
use super::spread::Spread;
use storage::backend::{Backend, File};

/// The original truncates what bears the name already. Here that can never be.
const CREATE: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL);
const PERMISSIONS: Mode = Mode::from_raw_mode(0o666);
pub const DIRECTORY_PERMISSIONS: Mode = Mode::from_raw_mode(0o777);
/// Names drawn for a file before it is concluded that there are too few.
const DRAWS: u32 = 1_000;

/// One thread's files and all it needs to work on them.
pub struct Worker<'a, B: Backend> {
    backend: &'a B,
    params: &'a Params,
    content: &'a Content,
    /// What of it is written where blocks must differ.
    stamped: Option<Stamped>,
    settling: Settling,
    names: Names,
    spread: Spread,
    paths: Paths,
    stock: Stock,
    /// The first file of this loop.
    first: usize,
    /// The time of each call in this loop.
    pub calls: CallsOfLoop,
}

/// What "sync" means.
enum Settling {
    /// Nothing: there is no I/O.
    Nothing,
    /// The file system of this directory.
    FileSystem(OwnedFd),
    /// Every file system of the machine, as in the original.
    Machine,
}

impl<'a, B: Backend> Worker<'a, B> {
    /// The thread `index`, which works in `directory` as number `rank` of those that share it.
    ///
    /// # Errors
    /// Those of open(2) on the directory.
    pub fn new(
        backend: &'a B,
        params: &'a Params,
        content: &'a Content,
        directory: &Path,
        index: u32,
    ) -> Result<Self, Failure> {
        let directories = params.directory_count();
        let (rank, sharers) = (index / directories, params.threads / directories);
        let seed = if params.classic {
            now_us()
        } else {
            params.seed
        };
        let settling = Settling::new(params, directory)
            .map_err(|error| io_failure("open directory", directory, &error))?;
        let random_characters = params.random_characters;
        Ok(Self {
            backend,
            params,
            content,
            stamped: content.stamped(index).map_err(no_memory)?,
            settling,
            names: Names::new(
                params.name_length,
                random_characters,
                &[seed, u64::from(index)],
            ),
            spread: Spread::new(params, rank, sharers),
            paths: Paths::new(directory, params),
            stock: Stock::new(params.name_length),
            first: 0,
            calls: CallsOfLoop::new(),
        })
    }

    /// Loop `number`: \[first instant\] create, write, sync and close the files; sync again
    /// \[second instant\].
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn create_all<P: Probe>(
        &mut self,
        member: &mut Member<P>,
        number: u32,
    ) -> Result<(), Failure> {
        unshare_descriptors();
        let files = self.params.files;
        self.first = self.stock.len();
        let reserved = self.stock.reserve(files as usize);
        reserved.map_err(|error| no_memory(io::Error::other(error)))?;
        self.calls.clear();
        self.spread.begin_loop(now_s());

        member.start()?;
        for index in 0..files {
            go_on(member)?;
            let [began_ns, ended_ns] = self.create(index, number)?;
            let bytes = self.params.size.bytes();
            member.probe.overlapped_operation(bytes, began_ns, ended_ns);
        }
        self.sync_again(member)?;
        member.done();
        Ok(())
    }

    /// \[First instant\] remove the files of the loop \[second instant\].
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn remove_all<P: Probe>(&mut self, member: &mut Member<P>) -> Result<(), Failure> {
        unshare_descriptors();
        member.start()?;
        for index in 0..self.stock.len() {
            go_on(member)?;
            let (name, subdirectory) = self.stock.get(index);
            let path = self.paths.file(subdirectory, name);
            let began_ns = self.calls.begin();
            let removed = self.backend.unlink(path);
            let ended_ns = self.calls.end(Call::Unlink);
            removed.map_err(|error| self.failed("remove", &error))?;
            member.probe.overlapped_operation(0, began_ns, ended_ns);
        }
        member.done();
        self.stock.clear();
        Ok(())
    }

    /// Removes what is still there, without a clock; gives the first error, and goes on after it.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn clear(&mut self) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for index in 0..self.stock.len() {
            let (name, subdirectory) = self.stock.get(index);
            let removed = self.backend.unlink(self.paths.file(subdirectory, name));
            if let Err(error) = removed {
                outcome = outcome.and_then(|()| Err(self.failed("remove", &error)));
            }
        }
        self.stock.clear();
        outcome
    }

    /// Leaves all files where they are.
    pub fn forget(&mut self) {
        self.stock.clear();
    }

    /// One file; gives the instants before open and after close.
    fn create(&mut self, index: u64, number: u32) -> Result<[u64; 2], Failure> {
        let (now_s, stamp) = if self.params.classic {
            (now_s(), now_s())
        } else {
            (0, u64::from(number))
        };
        let subdirectory = self.spread.next(now_s);
        if self.params.classic {
            self.make_directory(subdirectory)?;
        }
        self.draw(stamp, subdirectory);

        let began_ns = self.calls.begin();
        let mut file = self.open(stamp, subdirectory)?;
        self.calls.end(Call::Create);
        self.stock.push(self.names.name(), subdirectory);
        self.write(&mut file, u64::from(number) * self.params.files, index)
            .map_err(|error| self.failed("write", &error))?;
        if self.params.sync.is_inband() {
            file.sync().map_err(|error| self.failed("fsync", &error))?;
            self.calls.end(Call::Fsync);
        }
        file.close().map_err(|error| self.failed("close", &error))?;
        Ok([began_ns, self.calls.end(Call::Close)])
    }

    fn draw(&mut self, stamp: u64, subdirectory: u32) {
        self.names.draw(stamp);
        self.paths.file(subdirectory, self.names.name());
    }

    /// Opens the file whose name was drawn, and draws another if there is one of that name.
    fn open(&mut self, stamp: u64, subdirectory: u32) -> Result<B::File, Failure> {
        for _ in 0..DRAWS {
            match self.backend.open(self.paths.current(), CREATE, PERMISSIONS) {
                Ok(file) => return Ok(file),
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                    self.draw(stamp, subdirectory);
                }
                Err(error) => return Err(self.failed("create", &error)),
            }
        }
        let message = format!(
            "{} already exists and would be overwritten, as {DRAWS} others before it; \
             use more random_characters or another directory",
            self.paths.shown().display()
        );
        Err(failure(FailureKind::Refused, message))
    }

    /// Writes the whole size of file `index` of this loop; an empty file is written to once, with
    /// no bytes. Loops with so many files came `before`.
    fn write(&mut self, file: &mut B::File, before: u64, index: u64) -> io::Result<()> {
        let (size, block) = (self.params.size.bytes(), self.params.write_block.bytes());
        let first = index * size.div_ceil(block);
        let place = (before + index) * size.next_multiple_of(PAGE_BYTES as u64);
        let mut written = 0;
        loop {
            let length = block.min(size - written);
            let record = match &mut self.stamped {
                None => &self.content.record(first + written / block)[..length as usize],
                Some(stamped) => stamped.span(place + written, length as usize),
            };
            file.write_whole(record)?;
            self.calls.end(Call::Write);
            written += length;
            if written == size {
                return Ok(());
            }
        }
    }

    /// What the method does when all files of the loop have been written.
    fn sync_again<P: Probe>(&mut self, member: &Member<P>) -> Result<(), Failure> {
        let method = self.params.sync;
        if method.syncs_file_system() {
            self.calls.begin();
            let settled = self.settling.settle();
            self.calls.end(Call::Sync);
            settled.map_err(|error| {
                failure(
                    FailureKind::Io,
                    format!("cannot sync the file system: {error}"),
                )
            })?;
        }
        let mut files = self.first..self.stock.len();
        let mut sync = |index| go_on(member).and_then(|()| self.sync_file(index));
        match method.again() {
            Again::Nothing => Ok(()),
            Again::First => sync(files.start),
            Again::InOrder => files.try_for_each(sync),
            Again::Reverse => files.rev().try_for_each(sync),
        }
    }

    fn sync_file(&mut self, index: usize) -> Result<(), Failure> {
        let (name, subdirectory) = self.stock.get(index);
        let path = self.paths.file(subdirectory, name);
        self.calls.begin();
        let synced = sync_path(self.backend, path);
        self.calls.end(Call::Fsync);
        synced.map_err(|error| self.failed("sync", &error))
    }

    /// Makes the directory that the next file goes to, as the original does before every file.
    fn make_directory(&mut self, subdirectory: u32) -> Result<(), Failure> {
        let path = self.paths.holding(subdirectory);
        match self.backend.mkdir(path, DIRECTORY_PERMISSIONS) {
            Err(error) if error.raw_os_error() != Some(libc::EEXIST) => {
                Err(self.failed("make directory", &error))
            }
            _ => Ok(()),
        }
    }

    /// The kernel refused `action` on the file or directory named last.
    #[cold]
    fn failed(&self, action: &str, error: &io::Error) -> Failure {
        io_failure(action, self.paths.shown(), error)
    }
}

impl Settling {
    fn new(params: &Params, directory: &Path) -> io::Result<Self> {
        if params.backend == BackendName::Null || !params.sync.syncs_file_system() {
            Ok(Self::Nothing)
        } else if params.classic {
            Ok(Self::Machine)
        } else {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(directory, flags, Mode::empty())?;
            Ok(Self::FileSystem(opened))
        }
    }

    fn settle(&self) -> io::Result<()> {
        match self {
            Self::Nothing => {}
            Self::FileSystem(directory) => rustix::fs::syncfs(directory)?,
            Self::Machine => rustix::fs::sync(),
        }
        Ok(())
    }
}

fn sync_path<B: Backend>(backend: &B, path: &CStr) -> io::Result<()> {
    let mut file = backend.open(path, OFlags::RDONLY, Mode::empty())?;
    file.sync()?;
    file.close()
}

fn go_on<P: Probe>(member: &Member<P>) -> Result<(), Failure> {
    if member.goes_on() {
        Ok(())
    } else {
        Err(interrupted())
    }
}

/// Whole seconds since 1970, as time(2) gives them.
fn now_s() -> u64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec as u64
}

/// The microseconds of the time of day: all that the original's random numbers depend on.
fn now_us() -> u64 {
    clock_gettime(ClockId::Realtime).tv_nsec as u64 / 1_000
}
