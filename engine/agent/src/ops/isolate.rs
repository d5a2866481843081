//! The op that keeps others off CPUs.

use std::collections::BTreeSet;
use std::path::Path;

use wire::{HostFailure, HostFailureKind, HostIsolated, OpIsolate};

use super::{plain, List};
use crate::change::{Change, NotSet};
use crate::command::failure;
use crate::isolate::{hindrance, kernel_threads, root, taken, NotMade, Partition};
use crate::request::shown;

impl List<'_> {
    pub(super) fn isolate(&mut self, asked: &OpIsolate) -> Result<(), HostFailure> {
        let cpus: BTreeSet<u32> = asked.cpus.iter().copied().collect();
        let root = match root() {
            Ok(root) => root,
            Err(why) => return self.skip_because(why),
        };
        let partition = Partition::new(&root, &asked.group);
        if partition.path().exists() {
            return Err(busy(&partition.path()));
        }
        if let Some(why) = hindrance(&root, &cpus).map_err(plain)? {
            return self.skip_because(why);
        }
        if asked.looks_only {
            return Ok(());
        }
        self.note(Change::Isolated {
            partition: partition.clone(),
        })?;
        match partition.make(&cpus) {
            Ok(()) => {}
            Err(NotMade::Taken) => return Err(busy(&partition.path())),
            Err(NotMade::Refused(why)) => {
                return self.skip_because(format!("this host does not take it ({why})"));
            }
        }
        self.did.isolated = Some(HostIsolated {
            enter: partition.entrance().to_string_lossy().into_owned(),
            kernel_threads: kernel_threads(&cpus),
        });
        Ok(())
    }

    fn skip_because(&mut self, text: String) -> Result<(), HostFailure> {
        let now = String::new();
        self.skip(NotSet { text, now })
    }
}

/// Another run has CPUs for itself.
fn busy(group: &Path) -> HostFailure {
    failure(HostFailureKind::Busy, shown(&taken(group)))
}
