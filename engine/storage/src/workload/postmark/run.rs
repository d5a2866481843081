//! Carrying it out: the model decides, the files follow, the clock runs.
//!
//! Deciding costs a few random numbers per operation, inside the timed regions as in the
//! original.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kit::content::Filling;
use kit::failure::{failure, interrupted, io_failure};
use kit::probe::Reading;
use kit::{stop, Content, Ledger, OperationProbe, Probe, Size};
use rustix::fs::Mode;
use wire::{Failure, FailureKind};

use super::call;
use super::course::{calendar_s, Course};
use super::files::{Files, Opening};
use super::measures;
use super::model::{DataStep, Model, NameStep};
use super::names::directories;
use super::params::{Fill, Params};
use super::tally::Tally;
use super::text::Text;
use crate::backend::Backend;
use crate::stand::Stand;

/// Executes a trial in `directory`; `expected` is what its rehearsal came to.
///
/// # Errors
/// Whatever the kernel refused; `Verification` when a file is shorter than it should be.
pub fn run<B: Backend + Copy>(
    backend: B,
    opening: Opening,
    params: &Params,
    directory: &Path,
    expected: &Tally,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    let mixed = match params.content {
        Filling::Named(Fill::Text) => None,
        Filling::Shares(shares) => {
            let block = params.write_block.min(Size(params.size.largest.into()));
            Some(Content::checked(block.bytes() as usize, shares, ledger)?)
        }
    };
    let mut run = Run::new(backend, opening, params, directory, mixed.as_ref())?;
    let outcome = run.measure(expected, ledger);
    ledger.totals.checksum ^= run.files.checksum();
    ledger.totals.counters.extend(run.tally.counters());
    let course = outcome?;
    run.remove_directories()?;
    if run.tally != *expected {
        let message = format!("did {:?}, but should have done {expected:?}", run.tally);
        return Err(failure(FailureKind::Internal, message));
    }
    let rates = measures::samples(&run.tally, &course).into_iter();
    for sample in rates.chain(call::samples(run.files.calls())) {
        ledger.sample(sample);
    }
    Ok(())
}

/// A trial under way. Dropping it removes all that is still there.
struct Run<'a, B: Backend> {
    params: &'a Params,
    backend: B,
    model: Model,
    files: Files<B>,
    /// What was done, counted apart from what was decided.
    tally: Tally,
    /// Directories that were made, parents first.
    directories: Vec<CString>,
}

impl<'a, B: Backend + Copy> Run<'a, B> {
    fn new(
        backend: B,
        opening: Opening,
        params: &'a Params,
        directory: &Path,
        mixed: Option<&Content>,
    ) -> Result<Self, Failure> {
        let (model, text) = Model::new(params);
        let text = Text::new(text, mixed, 0, params.verify)?;
        Ok(Self {
            params,
            backend,
            model,
            files: Files::new(backend, opening, Stand::enter(directory), params, text),
            tally: Tally::default(),
            directories: Vec::new(),
        })
    }

    fn measure(&mut self, expected: &Tally, ledger: &mut Ledger) -> Result<Course, Failure> {
        self.make_directories()?;
        let mut probe = OperationProbe::new();
        let operations = [
            expected.created_alone,
            expected.transactions,
            expected.deleted_alone,
        ];
        let [create, transact, delete] = operations.map(|count| count as f64);
        let share = |done: f64| done / (create + transact + delete);

        ledger.progress(0.0, "creating files");
        let begun_s = calendar_s();
        let (creation, created_s) = self.phase(&mut probe, ledger, Self::create_pool)?;
        ledger.progress(share(create), "performing transactions");
        let (transactions, transacted_s) = self.phase(&mut probe, ledger, Self::transact)?;
        ledger.progress(share(create + transact), "deleting files");
        let (deletion, deleted_s) = self.phase(&mut probe, ledger, Self::delete_pool)?;
        let calendar_s = [begun_s, created_s, transacted_s, deleted_s];
        Ok(Course {
            creation,
            transactions,
            deletion,
            calendar_s,
        })
    }

    /// One timed region. It ends in the ledger even if it fails.
    fn phase(
        &mut self,
        probe: &mut OperationProbe,
        ledger: &mut Ledger,
        work: impl FnOnce(&mut Self, &mut OperationProbe) -> Result<(), Failure>,
    ) -> Result<(Reading, u64), Failure> {
        probe.start();
        let outcome = work(self, probe);
        let reading = probe.finish();
        let ended_s = calendar_s();
        ledger.add(&reading);
        outcome.map(|()| (reading, ended_s))
    }

    fn create_pool(&mut self, probe: &mut OperationProbe) -> Result<(), Failure> {
        for _ in 0..self.params.files {
            go_on()?;
            let file = self
                .model
                .create()
                .expect("there are more slots than files");
            let bytes = self.files.create(&file)?;
            self.tally.created_alone += 1;
            self.tally.bytes_written += bytes;
            probe.operation(bytes);
        }
        Ok(())
    }

    fn transact(&mut self, probe: &mut OperationProbe) -> Result<(), Failure> {
        for _ in 0..self.params.transactions {
            go_on()?;
            let bytes = self.data_step()? + self.name_step()?;
            self.tally.transactions += 1;
            probe.operation(bytes);
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

    fn delete_pool(&mut self, probe: &mut OperationProbe) -> Result<(), Failure> {
        loop {
            go_on()?;
            let Some(file) = self.model.drain() else {
                return Ok(());
            };
            self.files.delete(&file)?;
            self.tally.deleted_alone += 1;
            probe.operation(0);
        }
    }

    fn make_directories(&mut self) -> Result<(), Failure> {
        for path in directories(self.files.stand().base(), self.params) {
            self.backend
                .mkdir(&path, Mode::RWXU)
                .map_err(|error| self.directory_failure("make", &path, &error))?;
            self.directories.push(path);
        }
        Ok(())
    }

    fn remove_directories(&mut self) -> Result<(), Failure> {
        while let Some(path) = self.directories.pop() {
            self.backend
                .rmdir(&path)
                .map_err(|error| self.directory_failure("remove", &path, &error))?;
        }
        Ok(())
    }
}

impl<B: Backend> Run<'_, B> {
    #[cold]
    fn directory_failure(&self, action: &str, path: &CStr, error: &io::Error) -> Failure {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let path = self.files.stand().shown(path);
        io_failure(&format!("{action} directory"), &path, error)
    }
}

impl<B: Backend> Drop for Run<'_, B> {
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

/// Looks whether the trial is asked to end.
fn go_on() -> Result<(), Failure> {
    if stop::requested() {
        return Err(interrupted());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
