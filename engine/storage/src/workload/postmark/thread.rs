//! What one thread does: its model decides, its files follow. PostMark has one; of several, each
//! has its own pool and directory.
//!
//! Deciding costs a few random numbers per operation, inside the timed regions as in the
//! original.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kit::failure::{interrupted, io_failure};
use kit::{Content, Probe};
use rustix::fs::Mode;
use wire::Failure;

use super::call::CallsOfRun;
use super::files::{Files, Opening};
use super::model::{DataStep, Model, NameStep, OutOfFiles};
use super::names::{directories, of_thread};
use super::out_of_files;
use super::params::Params;
use super::tally::Tally;
use super::text::Text;
use crate::backend::Backend;
use crate::io::watch::Watch;
use crate::working_dir::WorkingDirGuard;

/// A thread's part of the trial. Dropping it removes all that is still there.
pub struct Thread<'a, B: Backend, P: Probe> {
    params: &'a Params,
    backend: B,
    model: Model,
    files: Files<B, P>,
    /// Where its files and their directories are.
    home: PathBuf,
    /// What was done, counted apart from what was decided.
    tally: Tally,
    /// Directories that were made, parents first.
    directories: Vec<CString>,
}

impl<'a, B: Backend + Copy, P: Probe> Thread<'a, B, P> {
    /// Thread number `index`, with its own `params`, in `working_dir`. It writes what `mixed`
    /// holds, or its own text.
    ///
    /// # Errors
    /// `HostLacks` memory; `BadJob` when names of files are too long.
    pub fn new(
        (backend, opening): (B, Opening),
        (index, params): (u32, &'a Params),
        working_dir: &Arc<WorkingDirGuard>,
        mixed: Option<&Content>,
    ) -> Result<Self, Failure> {
        let (model, text) = Model::new(params);
        let text = Text::new(text, mixed, index, params.verify)?;
        let home = of_thread(working_dir.base(), index, params);
        Ok(Self {
            params,
            backend,
            model,
            files: Files::new((backend, opening), (working_dir, &home), params, text)?,
            home,
            tally: Tally::default(),
            directories: Vec::new(),
        })
    }

    /// What it did.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How long each part of that took.
    pub fn calls(&self) -> &CallsOfRun {
        self.files.calls()
    }

    /// Over what it read.
    pub fn checksum(&self) -> u64 {
        self.files.checksum()
    }

    /// Creates the files of its pool.
    ///
    /// # Errors
    /// Whatever the kernel refused; `Interrupted`.
    pub fn create_pool(&mut self, watch: &mut impl Watch) -> Result<(), Failure> {
        for _ in 0..self.params.files {
            go_on(watch)?;
            let file = self
                .model
                .create()
                .expect("there are more slots than files");
            let bytes = self.files.create(&file)?;
            self.tally.created_alone += 1;
            self.tally.bytes_written += bytes;
            watch.operation(bytes);
        }
        Ok(())
    }

    /// Performs its transactions.
    ///
    /// # Errors
    /// Whatever the kernel refused or was not what had been written; `Interrupted`.
    pub fn transact(&mut self, watch: &mut impl Watch) -> Result<(), Failure> {
        for after in 0..self.params.transactions {
            go_on(watch)?;
            if self.model.is_out_of_files() {
                return Err(out_of_files(self.params, OutOfFiles { after }));
            }
            let bytes = self.data_step()? + self.name_step()?;
            self.tally.transactions += 1;
            watch.operation(bytes);
        }
        Ok(())
    }

    fn data_step(&mut self) -> Result<u64, Failure> {
        match self.model.data_step() {
            DataStep::Read(file) => {
                let bytes = self.files.read(&file)?;
                self.tally.read += 1;
                self.tally.bytes_read += bytes;
                Ok(bytes)
            }
            DataStep::Append { file, length } => {
                let bytes = self.files.append(&file, length)?;
                self.tally.appended += 1;
                self.tally.bytes_written += bytes;
                Ok(bytes)
            }
            DataStep::Nothing => Ok(0),
        }
    }

    fn name_step(&mut self) -> Result<u64, Failure> {
        match self.model.name_step() {
            NameStep::Create(file) => {
                let bytes = self.files.create(&file)?;
                self.tally.created_mixed += 1;
                self.tally.bytes_written += bytes;
                Ok(bytes)
            }
            NameStep::Delete(file) => {
                self.files.delete(&file)?;
                self.tally.deleted_mixed += 1;
                Ok(0)
            }
            NameStep::Nothing => Ok(0),
        }
    }

    /// Deletes what is left of its pool.
    ///
    /// # Errors
    /// Whatever the kernel refused; `Interrupted`.
    pub fn delete_pool(&mut self, watch: &mut impl Watch) -> Result<(), Failure> {
        loop {
            go_on(watch)?;
            let Some(file) = self.model.drain() else {
                return Ok(());
            };
            self.files.delete(&file)?;
            self.tally.deleted_alone += 1;
            watch.operation(0);
        }
    }

    /// Makes the directories of its files.
    ///
    /// # Errors
    /// Those of mkdir(2).
    pub fn make_directories(&mut self) -> Result<(), Failure> {
        let own = (self.params.threads > 1).then(|| c_path(&self.home));
        for path in own.into_iter().chain(directories(&self.home, self.params)) {
            self.backend
                .mkdir(&path, Mode::RWXU)
                .map_err(|error| self.directory_failure("make", &path, &error))?;
            self.directories.push(path);
        }
        Ok(())
    }

    /// Removes them.
    ///
    /// # Errors
    /// Those of rmdir(2).
    pub fn remove_directories(&mut self) -> Result<(), Failure> {
        while let Some(path) = self.directories.pop() {
            self.backend
                .rmdir(&path)
                .map_err(|error| self.directory_failure("remove", &path, &error))?;
        }
        Ok(())
    }

    #[cold]
    fn directory_failure(&self, action: &str, path: &CStr, error: &io::Error) -> Failure {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let path = self.files.working_dir().shown(path);
        io_failure(&format!("{action} directory"), &path, error)
    }
}

impl<B: Backend, P: Probe> Drop for Thread<'_, B, P> {
    /// After success nothing is left. After a failure it is the failure that is reported, so
    /// errors here (a file that was never made, for one) are passed over.
    fn drop(&mut self) {
        while let Some(file) = self.model.drain() {
            let _ = self.files.delete(&file);
        }
        while let Some(path) = self.directories.pop() {
            let _ = self.backend.rmdir(&path);
        }
    }
}

/// Looks whether the trial is asked to end, or another thread has failed.
fn go_on(watch: &impl Watch) -> Result<(), Failure> {
    if watch.goes_on() {
        Ok(())
    } else {
        Err(interrupted())
    }
}

fn c_path(path: &Path) -> CString {
    let bytes = path.to_owned().into_os_string().into_vec();
    CString::new(bytes).expect("the path of a directory has no NUL")
}
