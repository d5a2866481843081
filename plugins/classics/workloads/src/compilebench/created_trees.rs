//! The trees that stand: ours alone, and gone when the trial ends, however it ends.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kit::failure::io_failure;
use kit::removal;
use wire::Failure;

use storage::scratch::in_the_way;

/// The directories that were made in one directory. Dropping it removes all that still stand,
/// with everything in them.
pub struct CreatedTrees {
    directory: PathBuf,
    names: BTreeSet<String>,
}

impl CreatedTrees {
    /// None yet.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            names: BTreeSet::new(),
        }
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// `Refused` when something has that name; otherwise those of mkdir(2).
    pub fn make(&mut self, name: &str) -> Result<(), Failure> {
        let path = self.directory.join(name);
        match fs::create_dir(&path) {
            Ok(()) => {
                self.names.insert(name.to_owned());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(in_the_way(&path)),
            Err(error) => Err(io_failure("make directory", &path, &error)),
        }
    }

    /// Removes a directory that is empty.
    ///
    /// # Errors
    /// Those of rmdir(2).
    pub fn remove(&mut self, name: &str) -> Result<(), Failure> {
        let path = self.directory.join(name);
        fs::remove_dir(&path).map_err(|error| io_failure("remove directory", &path, &error))?;
        self.names.remove(name);
        Ok(())
    }

    /// Removes all that still stand.
    ///
    /// # Errors
    /// The first of those that could not be removed.
    pub fn clear(mut self) -> Result<(), Failure> {
        while let Some(name) = self.names.first().cloned() {
            removal::remove(&self.directory.join(&name))
                .map_err(|remains| io_failure("remove", &remains.path, &remains.error))?;
            self.names.remove(&name);
        }
        Ok(())
    }
}

impl Drop for CreatedTrees {
    fn drop(&mut self) {
        for name in &self.names {
            // It is the failure of the trial that is reported.
            let _ = removal::remove(&self.directory.join(name));
        }
    }
}
