//! Directories and workers of a trial: made before the first loop, gone after the last one.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kit::failure::io_failure;
use kit::Content;
use rustix::fs::{statvfs, StatVfs};
use wire::Failure;

use super::params::Params;
use super::paths::{c_path, Paths};
use super::worker::{Worker, DIRECTORY_PERMISSIONS};
use storage::backend::Backend;
use storage::scratch::in_the_way;

/// Where the trial works, and who does. Dropping it removes all that is still there.
pub struct Site<'a, B: Backend> {
    backend: &'a B,
    params: &'a Params,
    directories: Vec<PathBuf>,
    /// One for each thread.
    pub workers: Vec<Worker<'a, B>>,
    /// Directories that were not there before, parents first.
    ours: Vec<CString>,
}

impl<'a, B: Backend> Site<'a, B> {
    /// Makes the directories below `target`, and the workers.
    ///
    /// # Errors
    /// Whatever the kernel refused.
    pub fn make(
        backend: &'a B,
        params: &'a Params,
        content: &'a Content,
        target: &Path,
    ) -> Result<Self, Failure> {
        let mut site = Self {
            backend,
            params,
            directories: directories(params, target),
            workers: Vec::new(),
            ours: Vec::new(),
        };
        for index in 0..site.directories.len() {
            let directory = site.directories[index].clone();
            if !params.directories.is_empty() {
                site.make_directory(&c_path(&directory))?;
            }
            let mut paths = Paths::new(&directory, params);
            for subdirectory in 0..params.subdirectories {
                site.make_subdirectory(paths.holding(subdirectory))?;
            }
        }
        for index in 0..params.threads {
            let directory = &site.directories[index as usize % site.directories.len()];
            let worker = Worker::new(backend, params, content, directory, index)?;
            site.workers.push(worker);
        }
        Ok(site)
    }

    /// Whether there is room for the files of one more loop.
    ///
    /// # Errors
    /// Those of stat(2) and statvfs(3).
    pub fn has_room(&self) -> Result<bool, Failure> {
        let sharers = u64::from(self.params.threads) / self.directories.len() as u64;
        let bytes = self.params.files * sharers * self.params.size.bytes();
        let mut file_systems = BTreeMap::new();
        for directory in &self.directories {
            let failed = |error: io::Error| io_failure("look at", directory, &error);
            let device = directory.metadata().map_err(failed)?.dev();
            let state = self.state_of(directory)?;
            let available = state.f_bavail.saturating_mul(state.f_frsize);
            let (_, needed) = file_systems.entry(device).or_insert((available, 0_u64));
            *needed = needed.saturating_add(bytes);
        }
        Ok(file_systems
            .values()
            .all(|(available, needed)| needed <= available))
    }

    /// How full the file system of the first directory is, in percent, rounded down.
    ///
    /// # Errors
    /// Those of statvfs(3).
    pub fn used_percent(&self) -> Result<u64, Failure> {
        let state = self.state_of(&self.directories[0])?;
        let used = u128::from(state.f_blocks.saturating_sub(state.f_bavail));
        Ok((100 * used / u128::from(state.f_blocks.max(1))) as u64)
    }

    /// Removes files and directories.
    ///
    /// # Errors
    /// Whatever the kernel refused first; the rest is removed all the same.
    pub fn clear(&mut self) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for worker in &mut self.workers {
            let cleared = worker.clear();
            outcome = outcome.and(cleared);
        }
        while let Some(path) = self.ours.pop() {
            match self.backend.rmdir(&path) {
                // The original makes subdirectories when they are needed, if ever.
                Err(error) if error.raw_os_error() != Some(libc::ENOENT) => {
                    outcome = outcome.and(Err(directory_failure("remove", &path, &error)));
                }
                _ => {}
            }
        }
        outcome
    }

    /// Leaves files and directories behind.
    pub fn leave(&mut self) {
        self.workers.iter_mut().for_each(Worker::forget);
        self.ours.clear();
    }

    /// One that is there is used, with all that is in it; anything else is in the way.
    fn make_directory(&mut self, path: &CStr) -> Result<(), Failure> {
        match self.backend.mkdir(path, DIRECTORY_PERMISSIONS) {
            Ok(()) => self.ours.push(path.to_owned()),
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                let found = Path::new(OsStr::from_bytes(path.to_bytes()));
                if !found.is_dir() {
                    return Err(in_the_way(found));
                }
            }
            Err(error) => return Err(directory_failure("make", path, &error)),
        }
        Ok(())
    }

    /// The original makes them as it goes; what is not there now will be ours then.
    fn make_subdirectory(&mut self, path: &CStr) -> Result<(), Failure> {
        if !self.params.classic {
            return self.make_directory(path);
        }
        if Path::new(OsStr::from_bytes(path.to_bytes()))
            .symlink_metadata()
            .is_err()
        {
            self.ours.push(path.to_owned());
        }
        Ok(())
    }

    fn state_of(&self, directory: &Path) -> Result<StatVfs, Failure> {
        statvfs(directory)
            .map_err(|error| io_failure("look at the file system of", directory, &error.into()))
    }
}

impl<B: Backend> Drop for Site<'_, B> {
    fn drop(&mut self) {
        // After success nothing is left; after a failure, that is what is reported.
        let _ = self.clear();
    }
}

/// The directories that threads take in turn.
fn directories(params: &Params, target: &Path) -> Vec<PathBuf> {
    if params.directories.is_empty() {
        return vec![target.to_owned()];
    }
    let below = params.directories.iter().map(|name| target.join(name));
    below.collect()
}

fn directory_failure(action: &str, path: &CStr, error: &io::Error) -> Failure {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    io_failure(&format!("{action} directory"), path, error)
}
