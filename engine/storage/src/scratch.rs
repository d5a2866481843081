//! The test file: ours alone, and gone when the cell ends, however it ends.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use kit::failure::{failure, io_failure};
use rustix::fs::{Mode, OFlags};
use wire::{Failure, FailureKind};

use crate::backend::{Backend, File};

/// A file that did not exist before; its name is removed on drop unless it is to be kept.
pub struct Scratch<'a, B: Backend> {
    backend: &'a B,
    path: PathBuf,
    c_path: CString,
    is_kept: bool,
}

impl<'a, B: Backend> Scratch<'a, B> {
    /// Makes the file, empty, with the permissions that IOzone gives it.
    ///
    /// # Errors
    /// `Refused` when something has that name; otherwise those of open(2).
    pub fn create(backend: &'a B, path: PathBuf) -> Result<Self, Failure> {
        let c_path = c_path(&path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let permissions = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        match backend.open(&c_path, flags, permissions) {
            Ok(file) => {
                let scratch = Self {
                    backend,
                    path,
                    c_path,
                    is_kept: false,
                };
                file.close().map_err(|e| scratch.failed("close", &e))?;
                Ok(scratch)
            }
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Err(in_the_way(&path)),
            Err(error) => Err(io_failure("create", &path, &error)),
        }
    }

    /// A file that someone else made: it is not made, and not removed.
    ///
    /// # Errors
    /// `BadJob` when the name cannot be passed to the kernel.
    pub fn found(backend: &'a B, path: PathBuf) -> Result<Self, Failure> {
        Ok(Self {
            c_path: c_path(&path)?,
            backend,
            path,
            is_kept: true,
        })
    }

    /// A file that an earlier trial kept: it is not made, but removed.
    ///
    /// # Errors
    /// `BadJob` when the name cannot be passed to the kernel.
    pub fn taken_over(backend: &'a B, path: PathBuf) -> Result<Self, Failure> {
        let mut scratch = Self::found(backend, path)?;
        scratch.is_kept = false;
        Ok(scratch)
    }

    /// Leaves the file behind when this is dropped.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Waits until nothing on the file system of this file is left to be written. (The original
    /// calls sync, which also waits for file systems that have nothing to do with the trial.)
    ///
    /// # Errors
    /// Those of open(2) and syncfs(2).
    pub fn settle_file_system(&self) -> Result<(), Failure> {
        std::fs::File::open(&self.path)
            .and_then(|file| Ok(rustix::fs::syncfs(&file)?))
            .map_err(|error| self.failed("sync the file system of", &error))
    }

    /// Its name, for the kernel.
    pub fn c_path(&self) -> &CStr {
        &self.c_path
    }

    /// Its name, for people and the standard library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel refused `action` on this file.
    pub fn failed(&self, action: &str, error: &std::io::Error) -> Failure {
        io_failure(action, &self.path, error)
    }
}

impl<B: Backend> Drop for Scratch<'_, B> {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nothing could be done about an error, and the trial's own result must not be lost.
            let _ = self.backend.unlink(&self.c_path);
        }
    }
}

fn c_path(path: &Path) -> Result<CString, Failure> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|error| failure(FailureKind::BadJob, format!("target.directory: {error}")))
}

/// Nothing has the names of test files.
///
/// # Errors
/// `Refused`, naming what has one.
pub fn check_free(paths: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    let mut paths = paths.into_iter();
    let taken = paths.find(|path| path.symlink_metadata().is_ok());
    taken.map_or(Ok(()), |path| Err(in_the_way(&path)))
}

/// Something has the name of the test file, and it is not ours to overwrite; nor would removing
/// it be good advice where it is a device.
pub fn in_the_way(path: &Path) -> Failure {
    let kind = path.symlink_metadata().map(|found| found.file_type());
    let is_device = kind.is_ok_and(|kind| kind.is_block_device() || kind.is_char_device());
    let why = match is_device {
        true => "is a device; name a file on a file system",
        false => "already exists and would be overwritten; remove it or use another directory",
    };
    failure(FailureKind::Refused, format!("{} {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Sync;

    #[test]
    fn the_file_goes_when_the_scratch_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let scratch = Scratch::create(&Sync, path.clone()).unwrap();
        assert!(path.exists());
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_kept_or_was_found_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let mut scratch = Scratch::create(&Sync, path.clone()).unwrap();
        scratch.keep();
        drop(scratch);
        drop(Scratch::found(&Sync, path.clone()).unwrap());
        assert!(path.exists());
        drop(Scratch::taken_over(&Sync, path.clone()).unwrap());
        assert!(!path.exists(), "what was kept for a trial goes with it");
    }

    #[test]
    fn a_file_in_the_way_is_refused_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        std::fs::write(&path, "precious").unwrap();
        let failure = Scratch::create(&Sync, path.clone()).err().unwrap();
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
