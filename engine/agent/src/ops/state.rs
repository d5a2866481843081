//! Ops of the state that a file system is in: aged by a history, copied, put back.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

use wire::{HostFailure, HostFailureKind, OpAge, OpKeep, OpLimit, OpMount, OpPutBack};

use super::List;
use crate::age::{age, expected_bytes, Around};
use crate::change::Change;
use crate::command::{failed, failure};
use crate::copy;
use crate::meanwhile::Told;
use crate::request::shown;
use crate::throttle;

impl List<'_> {
    pub(super) fn limit(&mut self, limit: &OpLimit) -> Result<(), HostFailure> {
        let (device, file) = self.require(&limit.behind, "nothing is limited")?;
        self.note(Change::Limited {
            device: device.clone(),
            file,
        })?;
        throttle::set(&device, limit.bytes_per_s)
            .map_err(|error| failure(HostFailureKind::Lacks, shown(&error.to_string())))
    }

    pub(super) fn keep(&mut self, keep: &OpKeep) -> Result<(), HostFailure> {
        let (device, copy) = (self.path(&keep.device)?, self.path(&keep.copy)?);
        self.record(Change::Put { path: copy.clone() }, &copy)?;
        self.did.digest = Some(copy::keep(&device, &copy, self.at, self.meanwhile)?);
        Ok(())
    }

    pub(super) fn put_back(&mut self, put: &OpPutBack) -> Result<(), HostFailure> {
        let (device, copy) = (self.path(&put.device)?, self.path(&put.copy)?);
        copy::put_back(&device, &copy, &put.sha256, self.at, self.meanwhile).map(drop)
    }

    pub(super) fn age(&mut self, asked: &OpAge) -> Result<(), HostFailure> {
        let directory = self.path(&asked.directory)?;
        let made = DirBuilder::new().mode(0o777).create(&directory);
        made.map_err(|error| failed(&directory, error))?;
        let bytes = expected_bytes(asked, &directory);
        let told = Told::begun(self.at, bytes, self.meanwhile);
        let mut beside = Beside {
            renew: asked.renew.as_ref(),
            told,
            list: self,
        };
        self.did.aged = Some(age(asked, &directory, &mut beside)?);
        Ok(())
    }
}

/// What goes on while a file system ages.
struct Beside<'a, 'b> {
    list: &'a mut List<'b>,
    renew: Option<&'a OpMount>,
    told: Told,
}

impl Around for Beside<'_, '_> {
    fn go_on(&mut self, bytes: u64) -> Result<(), HostFailure> {
        self.told.of_more(bytes, self.list.meanwhile);
        self.list.meanwhile.wait(Some(Duration::ZERO))
    }

    fn renew(&mut self) -> Result<(), HostFailure> {
        match self.renew {
            Some(mount) => self.list.mount(mount),
            None => Ok(()),
        }
    }
}
