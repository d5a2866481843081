//! What a timed region does to one tree.

use std::io::{self, SeekFrom};
use std::path::Path;

use kit::failure::{io_failure, no_memory};
use kit::{stop, Buffer, Content, Probe};
use rustix::fs::{Mode, OFlags};
use wire::Failure;

use super::name_space::{unattributed, Entry, NameSpace, Order};
use super::params::{Fill, Params};
use super::path::PathBuffer;
use super::schedule::{Action, Step};
use super::sets::{Member, Set, Sets};
use storage::backend::{Backend, File};

/// As fopen(3) opens with mode `a+`: nothing is truncated.
const WRITE: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::APPEND);
const FILE_PERMISSIONS: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_PERMISSIONS: Mode = Mode::from_raw_mode(0o777);

/// Works on trees in one directory.
pub struct Worker<B, N> {
    backend: B,
    pub name_space: N,
    path: PathBuffer,
    mover: Mover,
}

impl<B: Backend, N: NameSpace> Worker<B, N> {
    /// For trees made of `sets`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(
        backend: B,
        sets: &Sets,
        params: &Params,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let (longest, _) = sets.path_bytes();
        // The name of a tree is `kernel-` or `native-` and a number.
        let room = longest + "/kernel-4294967295/".len();
        Ok(Self {
            backend,
            name_space: N::new(sets),
            path: PathBuffer::new(directory, room),
            mover: Mover::new(params)?,
        })
    }

    /// Over what was read.
    pub fn checksum(&self) -> u64 {
        self.mover.checksum()
    }

    /// Goes down to a tree or file, does `work` there, and comes back.
    pub fn within<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let length = self.path.enter(name.as_bytes());
        let outcome = work(self);
        self.path.leave(length);
        outcome
    }

    /// Does what a step does to the tree that the worker is in.
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn perform<P: Probe>(
        &mut self,
        step: &Step,
        sets: &Sets,
        probe: &mut P,
    ) -> Result<(), Failure> {
        match (step.action, step.set()) {
            (Action::Clean, Some(name)) => self.clean(sets.set(name), sets, probe),
            (action, Some(name)) => self.write(sets.set(name), action, sets, probe),
            (Action::Read, None) => self.read(probe),
            (Action::Stat, None) => self.stat(probe),
            (_, None) => self.delete(probe),
        }
    }

    /// Makes all files of a set, empty.
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn make_empty(&mut self, set: &Set, sets: &Sets) -> Result<(), Failure> {
        for member in &set.members {
            stop::check()?;
            self.open_directory(member, sets)?;
            self.within(sets.path(member), |worker| {
                let opened = worker
                    .backend
                    .open(worker.path.as_c_str(), WRITE, FILE_PERMISSIONS);
                opened
                    .and_then(File::close)
                    .map_err(|error| worker.failed("create", &error))
            })?;
        }
        Ok(())
    }

    fn write<P: Probe>(
        &mut self,
        set: &Set,
        action: Action,
        sets: &Sets,
        probe: &mut P,
    ) -> Result<(), Failure> {
        for member in &set.members {
            stop::check()?;
            self.open_directory(member, sets)?;
            self.within(sets.path(member), |worker| {
                probe.begin_operation();
                if action == (Action::Patch { unlink: true }) {
                    worker.unlink_old()?;
                }
                let written = worker.write_file(action, member.size_bytes);
                written.map_err(|error| worker.failed("write", &error))?;
                probe.operation(member.size_bytes);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn write_file(&mut self, action: Action, size_bytes: u64) -> io::Result<()> {
        let mut file = self
            .backend
            .open(self.path.as_c_str(), WRITE, FILE_PERMISSIONS)?;
        if matches!(action, Action::Patch { .. }) {
            // What is there is read to its end, however long it is; without I/O that is nothing.
            self.mover.read(&mut file, 0)?;
            file.resize(0)?;
        }
        file.seek(SeekFrom::Start(0))?;
        self.mover.write(&mut file, size_bytes)?;
        file.close()
    }

    /// Removes a file that a patch rewrites; one that it adds is not there.
    fn unlink_old(&self) -> Result<(), Failure> {
        match self.backend.unlink(self.path.as_c_str()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failed("remove", &error))
            }
            _ => Ok(()),
        }
    }

    fn clean<P: Probe>(&mut self, set: &Set, sets: &Sets, probe: &mut P) -> Result<(), Failure> {
        for member in &set.members {
            stop::check()?;
            self.within(sets.path(member), |worker| {
                probe.begin_operation();
                let removed = worker.backend.unlink(worker.path.as_c_str());
                removed.map_err(|error| worker.failed("remove", &error))?;
                probe.operation(0);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn read<P: Probe>(&mut self, probe: &mut P) -> Result<(), Failure> {
        let (backend, mover) = (&self.backend, &mut self.mover);
        let mut visit = |path: &mut PathBuffer, entry: Entry| {
            if entry.is_directory {
                return Ok(());
            }
            stop::check()?;
            probe.begin_operation();
            let opened = backend.open(path.as_c_str(), OFlags::RDONLY, Mode::empty());
            let bytes = opened.and_then(|mut file| {
                let bytes = mover.read(&mut file, entry.size_bytes)?;
                file.close()?;
                Ok(bytes)
            });
            let bytes = bytes.map_err(|error| io_failure("read", path.as_path(), &error))?;
            probe.operation(bytes);
            Ok(())
        };
        self.name_space
            .walk(&mut self.path, Order::TopDown, &mut visit)
    }

    fn stat<P: Probe>(&mut self, probe: &mut P) -> Result<(), Failure> {
        let mut visit = |path: &mut PathBuffer, _: Entry| {
            stop::check()?;
            probe.begin_operation();
            N::stat(path.as_c_str()).map_err(|error| unattributed(path, &error))?;
            probe.operation(0);
            Ok(())
        };
        self.name_space
            .walk(&mut self.path, Order::BottomUp, &mut visit)
    }

    /// Removes all that is in the tree.
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn delete<P: Probe>(&mut self, probe: &mut P) -> Result<(), Failure> {
        let backend = &self.backend;
        let mut visit = |path: &mut PathBuffer, entry: Entry| {
            stop::check()?;
            probe.begin_operation();
            let removed = if entry.is_directory {
                backend.rmdir(path.as_c_str())
            } else {
                backend.unlink(path.as_c_str())
            };
            removed.map_err(|error| io_failure("remove", path.as_path(), &error))?;
            probe.operation(0);
            Ok(())
        };
        self.name_space
            .walk(&mut self.path, Order::BottomUp, &mut visit)
    }

    /// Visits the files of the tree in the order in which the file system lists them.
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn list(&mut self, mut found: impl FnMut(&Path)) -> Result<(), Failure> {
        let mut visit = |path: &mut PathBuffer, entry: Entry| {
            if !entry.is_directory {
                found(path.as_path());
            }
            stop::check()
        };
        self.name_space
            .walk(&mut self.path, Order::TopDown, &mut visit)
    }

    /// Makes the directory of a file, where that is the first in it and it is not there yet.
    fn open_directory(&mut self, member: &Member, sets: &Sets) -> Result<(), Failure> {
        match sets.files[member.file as usize].directory {
            Some(directory) if member.opens_directory => self.make_directory(directory, sets),
            _ => Ok(()),
        }
    }

    fn make_directory(&mut self, number: u32, sets: &Sets) -> Result<(), Failure> {
        let directory = &sets.directories[number as usize];
        let length = self.path.enter(directory.path.as_bytes());
        let is_there = N::is_there(self.path.as_c_str());
        let is_there = is_there.map_err(|error| unattributed(&self.path, &error))?;
        self.path.leave(length);
        if is_there {
            return Ok(());
        }
        if let Some(parent) = directory.parent {
            self.make_directory(parent, sets)?;
        }
        let length = self.path.enter(directory.path.as_bytes());
        let made = self
            .backend
            .mkdir(self.path.as_c_str(), DIRECTORY_PERMISSIONS);
        made.map_err(|error| self.failed("make directory", &error))?;
        self.path.leave(length);
        Ok(())
    }

    fn failed(&self, action: &str, error: &io::Error) -> Failure {
        io_failure(action, self.path.as_path(), error)
    }
}

/// What is written, and where what is read goes to.
struct Mover {
    content: Content,
    buffer: Buffer,
    /// Over the last byte of each buffer that was read.
    checksum: u64,
}

impl Mover {
    fn new(params: &Params) -> Result<Self, Failure> {
        let bytes = params.buffer.bytes() as usize;
        let content = match params.content {
            Fill::Classic => Content::uniform(bytes, b'a'),
            Fill::Random => Content::random(bytes),
        };
        Ok(Self {
            content: content.map_err(no_memory)?,
            buffer: Buffer::new(bytes).map_err(no_memory)?,
            checksum: 0,
        })
    }

    /// Over what was read.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Writes so many bytes.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn write(&self, file: &mut impl File, size_bytes: u64) -> io::Result<()> {
        let full = self.buffer.len() as u64;
        let mut written = 0;
        while written < size_bytes {
            let length = full.min(size_bytes - written);
            let record = self.content.record(written / full);
            file.write_whole(&record[..length as usize])?;
            written += length;
        }
        Ok(())
    }

    /// Reads to the end, and gives the number of bytes; without I/O there is no end, and
    /// `size_bytes` are read.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn read<F: File>(&mut self, file: &mut F, size_bytes: u64) -> io::Result<u64> {
        let mut bytes = 0;
        loop {
            let room = match F::MOVES_DATA {
                true => self.buffer.len(),
                false => self.buffer.len().min((size_bytes - bytes) as usize),
            };
            let moved = file.read(&mut self.buffer[..room])?;
            if moved == 0 {
                return Ok(bytes);
            }
            bytes += moved as u64;
            self.checksum = self.checksum.rotate_left(1) ^ u64::from(self.buffer[moved - 1]);
        }
    }
}
