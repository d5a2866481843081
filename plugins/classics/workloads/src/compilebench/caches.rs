//! Waiting for the device, dropping the caches, and the evidence of where reads came from.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use kit::device::Counters;
use kit::failure::{failure, io_failure};
use kit::{program, Device, EventSink};
use wire::{Failure, FailureKind};

use super::params::{BackendName, Fill, Params};
use super::schedule::{Settle, Step};
use storage::access::is_from_device;

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// Page cache, directory entries and inodes.
const ALL_CACHES: &[u8] = b"3";

/// The caches above one directory.
pub struct Caches {
    /// The directory, for its file system; none where there is no I/O.
    directory: Option<File>,
    device: Option<Device>,
    /// Whether caches are dropped: wanted, and granted.
    is_dropping: bool,
    /// As the original, a trial goes on when caches cannot be dropped.
    is_tolerant: bool,
    /// What is written compresses, so that few bytes from the device prove nothing.
    is_compressible: bool,
    dropped: u64,
    reads: Reads,
}

/// Read trees, by where their bytes came from.
#[derive(Default)]
struct Reads {
    from_device: u64,
    from_cache: u64,
    unverified: u64,
}

impl Caches {
    /// Looks whether caches may be dropped, where that is wanted.
    ///
    /// # Errors
    /// `HostLacks` when they may not.
    pub fn new(
        params: &Params,
        directory: &Path,
        event_sink: &mut EventSink,
    ) -> Result<Self, Failure> {
        let mut caches = Self {
            directory: None,
            device: None,
            is_dropping: false,
            is_tolerant: params.classic,
            is_compressible: params.content == Fill::Classic,
            dropped: 0,
            reads: Reads::default(),
        };
        if params.backend == BackendName::Null {
            return Ok(caches);
        }
        let opened = File::open(directory);
        let opened = opened.map_err(|error| io_failure("open directory", directory, &error))?;
        caches.directory = Some(opened);
        caches.device = Device::under(directory);
        caches.is_dropping = params.cold;
        if params.cold {
            let granted = OpenOptions::new().write(true).open(DROP_CACHES);
            granted
                .map(drop)
                .or_else(|error| caches.refused(&error, event_sink))?;
        }
        Ok(caches)
    }

    /// Waits until nothing on the file system of the trees is left to be written. (The original
    /// calls sync, which also waits for file systems that have nothing to do with the trial.)
    ///
    /// # Errors
    /// Those of syncfs(2).
    pub fn sync(&self) -> Result<(), Failure> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        rustix::fs::syncfs(directory).map_err(|error| {
            let message = format!("cannot sync the file system of the trees: {error}");
            failure(FailureKind::Io, message)
        })
    }

    /// Brings about what a step begins with.
    ///
    /// # Errors
    /// Those of syncfs(2); `HostLacks` when caches cannot be dropped.
    pub fn settle(&mut self, settle: Settle, event_sink: &mut EventSink) -> Result<(), Failure> {
        if settle != Settle::AsIs {
            self.sync()?;
        }
        if settle == Settle::DropCaches && self.is_dropping {
            let opened = OpenOptions::new().write(true).open(DROP_CACHES);
            match opened.and_then(|mut file| file.write_all(ALL_CACHES)) {
                Ok(()) => {
                    program::fetch();
                    self.dropped += 1;
                }
                Err(error) => self.refused(&error, event_sink)?,
            }
        }
        Ok(())
    }

    /// The counters of the device, for [`Caches::weigh`].
    pub fn counters(&self) -> Option<Counters> {
        self.device.as_ref().and_then(Device::counters)
    }

    /// Weighs where the `bytes` came from that a step read between two looks at the counters.
    ///
    /// # Errors
    /// `Access` when caches had been dropped and yet served the read.
    pub fn weigh(
        &mut self,
        step: &Step,
        bytes: u64,
        around: [Option<Counters>; 2],
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        let [Some(before), Some(after)] = around else {
            self.reads.unverified += 1;
            return Ok(());
        };
        let delivered = after.since(before).read_bytes;
        if is_from_device(delivered, bytes) {
            self.reads.from_device += 1;
            return Ok(());
        }
        if self.is_compressible {
            self.reads.unverified += 1;
            return Ok(());
        }
        self.reads.from_cache += 1;
        if step.settle != Settle::DropCaches || !self.is_dropping {
            return Ok(());
        }
        let message = format!(
            "kernel-{} was read after all caches had been dropped, but the device delivered only \
             {delivered} of {bytes} bytes",
            step.tree
        );
        if self.is_tolerant {
            event_sink.warning("warm_read", message, None);
            return Ok(());
        }
        Err(failure(FailureKind::Access, message))
    }

    /// Says what was granted and found.
    pub fn report(&self, event_sink: &mut EventSink) {
        let Reads {
            from_device,
            from_cache,
            unverified,
        } = self.reads;
        for (name, count) in [
            ("caches_dropped", self.dropped),
            ("trees_read_from_device", from_device),
            ("trees_read_from_cache", from_cache),
            ("trees_read_unverified", unverified),
        ] {
            event_sink.totals.counters.insert(name.to_owned(), count);
        }
        if self.is_dropping && unverified > 0 {
            let reason = match self.device {
                Some(_) => "what was written may have been compressed",
                None => "there is no device whose counters could tell",
            };
            let message = format!(
                "caches were dropped, but {unverified} reads of trees cannot be confirmed to have \
                 come from the device: {reason}"
            );
            event_sink.warning("cold_read_unverified", message, None);
        }
    }

    /// Caches cannot be dropped: the end, or, as in the original, said once and not tried again.
    fn refused(&mut self, error: &io::Error, event_sink: &mut EventSink) -> Result<(), Failure> {
        self.is_dropping = false;
        let message = format!("the caches of this host cannot be dropped ({DROP_CACHES}: {error})");
        if self.is_tolerant {
            event_sink.warning("warm_caches", message, Some("run as root"));
            return Ok(());
        }
        let message = format!(
            "parameter \"cold\": {message}; run as root, or measure with warm caches: cold = false"
        );
        Err(Failure {
            parameter: Some("cold".to_owned()),
            ..failure(FailureKind::HostLacks, message)
        })
    }
}

#[cfg(test)]
mod tests;
