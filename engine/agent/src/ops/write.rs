//! Small files.

use std::fs::File;
use std::io::Write;

use wire::{HostFailure, OpWrite};

use super::List;
use crate::change::{sync_directory, Change};
use crate::command::failed;

impl List<'_> {
    pub(super) fn write(&mut self, asked: &OpWrite) -> Result<(), HostFailure> {
        let path = self.path(&asked.path)?;
        self.record(Change::Put { path: path.clone() }, &path)?;
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(asked.text.as_bytes())?;
            file.sync_all()?;
            path.parent().map_or(Ok(()), sync_directory)
        });
        written.map_err(|error| failed(&path, error))
    }
}
