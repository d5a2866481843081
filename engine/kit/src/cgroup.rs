//! A memory group (cgroup, version 1 or 2) of this process's own, which bounds its page cache.
//!
//! The kernel charges a page of a file to the group of the process that touches it first, and
//! makes room inside that group when it is full. So the bound holds for what is read after
//! entering, once older pages were evicted (see [`crate::cache::evict`]). It is for reading only:
//! version 1 does not slow writers down, so that a group may fill up with pages that wait for the
//! device, where the kernel knows no better than to kill.
//!
//! A process that is killed cannot remove its group. What it leaves is empty, costs nothing, and
//! is removed by the next one that makes a group here: the name tells whose it was.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{getpid, Pid};
use wire::{Failure, FailureKind};

use crate::failure::failure;
use crate::proc;

mod hierarchy;

use hierarchy::Hierarchy;
pub use hierarchy::Version;

/// Names of groups begin so; the process and the tick when it started follow.
const PREFIX: &str = "tiltyard-";
/// The kernel may take a moment to see that a group is empty.
const REMOVAL_TRIES: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(2);

/// A group for this process, with all its threads and the processes it starts; left and removed
/// on drop.
#[derive(Debug)]
pub struct MemoryGroup {
    directory: PathBuf,
    origin: PathBuf,
    limit_bytes: u64,
    is_inside: bool,
}

impl MemoryGroup {
    /// Makes a group that may use `limit_bytes` of memory, page cache included; one at a time in a
    /// process.
    ///
    /// # Errors
    /// `HostLacks` when there is no memory controller, or this process may not use it; the
    /// message tells what would mend that.
    pub fn create(limit_bytes: u64) -> Result<Self, Failure> {
        let hierarchy = Hierarchy::of_this_process()?;
        remove_abandoned(&hierarchy.parent);
        let directory = hierarchy.parent.join(own_name());
        fs::create_dir(&directory).map_err(|error| refused(&directory, &error))?;
        let mut group = Self {
            directory,
            origin: hierarchy.origin,
            limit_bytes,
            is_inside: false,
        };
        let version = hierarchy.version;
        let limited = group.write(version.limit(), limit_bytes).and_then(|()| {
            // Room is to be made by dropping pages of files, never by swapping buffers out. The
            // file is missing where the kernel does not account for swap.
            let _ = group.write(version.swap(), 0);
            group.read(version.limit())
        });
        match limited {
            Ok(granted_bytes) => {
                group.limit_bytes = granted_bytes;
                Ok(group)
            }
            Err(error) => Err(refused(&group.directory, &error)),
        }
    }

    /// Moves this process into the group, unless it is there.
    ///
    /// # Errors
    /// `HostLacks` the permission.
    pub fn enter(&mut self) -> Result<(), Failure> {
        if !self.is_inside {
            move_to(&self.directory).map_err(|error| refused(&self.directory, &error))?;
            self.is_inside = true;
        }
        Ok(())
    }

    /// Moves this process back to where it came from, if it is in the group. What it has touched
    /// meanwhile stays bounded.
    ///
    /// # Errors
    /// `HostLacks` the permission.
    pub fn leave(&mut self) -> Result<(), Failure> {
        if self.is_inside {
            move_to(&self.origin).map_err(|error| refused(&self.origin, &error))?;
            self.is_inside = false;
        }
        Ok(())
    }

    /// The limit as the kernel rounded it, in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    fn write(&self, name: &str, number: u64) -> io::Result<()> {
        fs::write(self.directory.join(name), number.to_string())
    }

    fn read(&self, name: &str) -> io::Result<u64> {
        let text = fs::read_to_string(self.directory.join(name))?;
        text.trim().parse().map_err(io::Error::other)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Neither can be mended here; the group would be removed as an abandoned one.
        let _ = self.leave();
        for _ in 0..REMOVAL_TRIES {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                    thread::sleep(REMOVAL_PAUSE);
                }
                _ => return,
            }
        }
    }
}

/// Moves this process. 0 stands for whoever writes, in whatever namespace.
fn move_to(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// The groups of this process below which programs can have one, the better first.
pub fn for_programs() -> Vec<(Version, PathBuf)> {
    let found = hierarchy::for_programs();
    found
        .iter()
        .for_each(|(_, parent)| remove_abandoned(parent));
    found
}

/// A name for a group of this process; more may follow after a "-".
pub fn own_name() -> String {
    let pid = getpid();
    let started_ticks = proc::process(pid).map_or(0, |own| own.started_ticks);
    format!("{PREFIX}{}-{started_ticks}", pid.as_raw_nonzero())
}

/// Removes the groups of processes that are no more. A group that is in use cannot be removed,
/// so that nothing is lost by trying.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(is_abandoned) == Some(true) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Whether the process that named its group so has ended; `None` when it is no such name.
fn is_abandoned(name: &str) -> Option<bool> {
    let (pid, started_ticks) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let started_ticks: u64 = started_ticks.split('-').next()?.parse().ok()?;
    let alive = proc::process(Pid::from_raw(pid.parse().ok()?)?)
        .is_some_and(|process| process.started_ticks == started_ticks);
    Some(!alive)
}

fn refused(group: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "cannot bound the page cache by the memory group {}: {error}; run as root, or as a user \
         under systemd-run --user --scope",
        group.display()
    );
    failure(FailureKind::HostLacks, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_abandoned_when_its_process_is_another_or_none() {
        assert_eq!(is_abandoned(&own_name()), Some(false));
        let pid = getpid().as_raw_nonzero();
        assert_eq!(is_abandoned(&format!("{PREFIX}{pid}-1")), Some(true));
        for other in ["tiltyard-2147483647-5", "tiltyard-2147483647-5-program"] {
            assert_eq!(is_abandoned(other), Some(true));
        }
        for foreign in ["system.slice", "tiltyard-x-1", "tiltyard-12"] {
            assert_eq!(is_abandoned(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn only_abandoned_groups_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let names = ["tiltyard-2147483647-5".to_owned(), own_name(), "x".into()];
        for name in &names {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        remove_abandoned(parent.path());
        let left = names.map(|name| parent.path().join(name).exists());
        assert_eq!(left, [false, true, true]);
    }
}
