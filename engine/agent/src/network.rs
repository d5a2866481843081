//! Network namespaces, as ip-netns(8) keeps them: their devices go with them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kit::proc;
use rustix::io::Errno;
use rustix::mount::{unmount, UnmountFlags};

use crate::marked::end_all;
use crate::names::require_prefix;

const DIRECTORY: &str = "/run/netns";

/// Where one of a name is bound.
pub fn path_of(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

/// Ends the processes in one of ours, and removes it.
///
/// # Errors
/// It is none of ours, a process in it does not end, or it cannot be removed.
pub fn remove(name: &str) -> io::Result<Option<String>> {
    let path = path_of(name);
    require_prefix(&path, "not removed")?;
    let Ok(found) = fs::symlink_metadata(&path) else {
        return Ok(None);
    };
    // A name that was not bound to a namespace yet holds nobody.
    if fs::metadata(DIRECTORY)?.dev() != found.dev() {
        let own = (found.dev(), found.ino());
        end_all(&format!("network namespace {name}"), || inside(own))?;
    }
    match unmount(&path, UnmountFlags::DETACH) {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(Some(format!("removed network namespace {name}"))),
    }
}

/// Who runs in a namespace: device and inode of it.
fn inside(own: (u64, u64)) -> BTreeSet<u32> {
    let is_in = |pid: &u32| {
        fs::metadata(format!("/proc/{pid}/ns/net"))
            .is_ok_and(|found| (found.dev(), found.ino()) == own)
    };
    proc::all_pids().into_iter().filter(is_in).collect()
}
