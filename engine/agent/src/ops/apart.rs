//! Ops of files, of directories that others could exchange, and of what is owed at the end.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use wire::{HostFailure, HostFailureKind, OpApart, OpOwe, OpPut};

use super::List;
use crate::apart;
use crate::change::{sync_directory, Change};
use crate::command::{failed, failure, reason};
use crate::content;
use crate::owed::Owed;
use crate::request::shown;

impl List<'_> {
    pub(super) fn put(&mut self, put: &OpPut) -> Result<(), HostFailure> {
        let path = self.path(&put.path)?;
        self.record(Change::Put { path: path.clone() }, &path)?;
        match (&put.text, &put.link) {
            (None, None) => content::lay_out(&path, put.zeros, self.at, self.meanwhile),
            (Some(text), _) => write(&path, text).map_err(|error| failed(&path, error)),
            (_, Some(to)) => symlink(self.text(to)?, &path).map_err(|error| failed(&path, error)),
        }
    }

    pub(super) fn make_apart(&mut self, directory: PathBuf, name: &str) -> Result<(), HostFailure> {
        let made = |inode| Change::Made {
            directory: directory.clone(),
            apart: Some(inode),
        };
        // Before it is known, nothing is in it.
        self.note(made(apart::UNKNOWN))?;
        let inode = apart::make(&directory).map_err(|error| refused(&error.to_string()))?;
        self.note(made(inode))?;
        self.did.outputs.insert(name.to_owned(), inode.to_string());
        Ok(())
    }

    pub(super) fn show_apart(
        &mut self,
        from: &str,
        asked: &OpApart,
        at: &Path,
    ) -> Result<(), HostFailure> {
        let inode = self.text(&asked.inode)?;
        let inode = inode.parse().map_err(|_| {
            let text = format!("{inode} is no inode");
            failure(HostFailureKind::Request, shown(&text))
        })?;
        let bound =
            apart::bind(Path::new(from), inode, at).map_err(|error| refused(&error.to_string()))?;
        bound.map_err(|error| {
            let above = Path::new(from)
                .parent()
                .unwrap_or(Path::new(from))
                .display();
            refused(&format!(
                "{above}: not used: {}, and nothing can be mounted here ({}). \
                 Fix: run as that user, or chown root {above}",
                asked.why,
                reason(&error)
            ))
        })
    }

    pub(super) fn owe(&mut self, owe: &OpOwe) -> Result<(), HostFailure> {
        let directory = owe.directory.as_ref();
        let owed = Owed {
            what: owe.what.clone(),
            argv: self.argv(&owe.argv)?,
            stdin: owe.stdin.clone(),
            directory: directory.map(|one| self.path(one)).transpose()?,
            look: self.argv(&owe.look)?,
        };
        self.note(Change::Owes(owed))
    }
}

/// Writes a file; it is on disk afterwards.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    path.parent().map_or(Ok(()), sync_directory)
}

fn refused(text: &str) -> HostFailure {
    failure(HostFailureKind::Refused, shown(text))
}
