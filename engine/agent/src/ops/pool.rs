//! Ops of what is reached only by its own commands: a ZFS pool, a directory in another mount namespace.

use std::path::{Path, PathBuf};

use wire::{HostFailure, HostFailureKind, OpMake, OpPool, OpText};

use super::{plain, refused, List};
use crate::change::Change;
use crate::command::failure;
use crate::inside::{self, Process};
use crate::ledger::Ledger;
use crate::pool;
use crate::request::shown;

impl List<'_> {
    pub(super) fn pool(&mut self, asked: &OpPool) -> Result<(), HostFailure> {
        let (name, argv) = (&asked.pool, self.argv(&asked.argv)?);
        let change = Change::Pool { name: name.clone() };
        let ledger = self.ledger.as_ref();
        let is_ours = ledger.is_some_and(|own: &Ledger| own.has(&change));
        let is_known = asked.again && is_ours;
        if is_known {
            change.take_back().map_err(plain)?;
        } else {
            // What imports it makes another one, or has been here already.
            if pool::is_imported(name) && !(is_ours && argv.is_empty()) {
                return Err(refused(Path::new(name), "is imported already"));
            }
            self.note(change)?;
        }
        match argv.is_empty() {
            true => Ok(()),
            false => self.run(argv),
        }
    }

    pub(super) fn make_within(
        &mut self,
        make: &OpMake,
        directory: PathBuf,
        process: &OpText,
    ) -> Result<(), HostFailure> {
        let pid = self.text(process)?;
        let Some(of) = Process::of(&pid) else {
            let text = format!("process {pid}, whose namespace it is in, has ended");
            return Err(failure(HostFailureKind::Failed, shown(&text)));
        };
        let path = directory.to_string_lossy().into_owned();
        let argv = match make.inside {
            true => of.enter(&["mkdir", "-p", &path]),
            false => of.enter(&["mkdir", &path]),
        };
        if !make.inside {
            if inside::is_there(&path, &of) {
                return Err(refused(&directory, "is there already"));
            }
            self.note(Change::Inside { directory, of })?;
        }
        self.run(argv)
    }
}
