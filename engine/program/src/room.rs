//! The trial's directory on the system, and the space that must be left there.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{chown, PermissionsExt};
use std::path::{Path, PathBuf};

use kit::failure::{failure, io_failure};
use rustix::mount::UnmountFlags;
use wire::{Failure, FailureKind};

use crate::account::Account;

/// Its name. Always the same, because programs print paths, and their outputs are compared.
const NAME: &str = "program";
/// At least this stays free, or a fiftieth of the file system where that is less.
const RESERVE_BYTES: u64 = 256 << 20;
/// With less than this above the reserve, the space is looked at often.
const NEAR_BYTES: u64 = 4 << 30;
const FAR_NS: u64 = 100_000_000;
const NEAR_NS: u64 = 20_000_000;

/// A directory that did not exist before; removed with all that is in it when dropped.
pub struct Room {
    pub path: PathBuf,
    watched: Vec<Watched>,
}

/// A file system.
struct Watched {
    path: PathBuf,
    reserve_bytes: u64,
}

impl Room {
    /// Makes it in `directory`; the file system of `place` is watched as well.
    ///
    /// # Errors
    /// `Refused` when something has that name; otherwise those of mkdir(2).
    pub fn make(
        directory: &Path,
        place: Option<&str>,
        account: Option<&Account>,
    ) -> Result<Self, Failure> {
        let directory = directory
            .canonicalize()
            .map_err(|error| io_failure("find", directory, &error))?;
        let path = directory.join(NAME);
        fs::create_dir(&path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => in_the_way(&path),
            _ => io_failure("create", &path, &error),
        })?;
        let mut room = Self {
            path: path.clone(),
            watched: Vec::new(),
        };
        let own = account.map(|account| &account.ids);
        let given = own.map_or(Ok(()), |ids| chown(&path, Some(ids.user), Some(ids.group)));
        given
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)))
            .map_err(|error| io_failure("hand over", &path, &error))?;
        let places = [Some(path), place.map(PathBuf::from)];
        room.watched = places.into_iter().flatten().filter_map(watched).collect();
        Ok(room)
    }

    /// When to look at the space again, in ns from now.
    ///
    /// # Errors
    /// The path of a file system that is nearly full.
    pub fn look(&self) -> Result<u64, &Path> {
        let mut pause_ns = FAR_NS;
        for one in &self.watched {
            let Some((free_bytes, _)) = space(&one.path) else {
                continue;
            };
            if free_bytes < one.reserve_bytes {
                return Err(&one.path);
            }
            if free_bytes - one.reserve_bytes < NEAR_BYTES {
                pause_ns = NEAR_NS;
            }
        }
        Ok(pause_ns)
    }

    /// Takes away what programs have mounted in it; the mount points.
    pub fn unmount(&self) -> Vec<PathBuf> {
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        let points = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
            let point = kit::device::unescaped(line.split(|&byte| byte == b' ').nth(4)?);
            (point.starts_with(&self.path)).then_some(point)
        });
        let points: Vec<PathBuf> = points.collect();
        // The last one mounted lies on top.
        for point in points.iter().rev() {
            let _ = rustix::mount::unmount(point, UnmountFlags::DETACH);
        }
        points
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.unmount();
        if fs::remove_dir_all(&self.path).is_err() {
            // A directory without permissions keeps its owner out, too.
            open_up(&self.path);
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn open_up(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

fn in_the_way(path: &Path) -> Failure {
    let message = format!(
        "{} already exists and would be overwritten. Fix: remove it, or use another directory",
        path.display()
    );
    failure(FailureKind::Refused, message)
}

/// A trial that begins with less may use half of what there is.
fn watched(path: PathBuf) -> Option<Watched> {
    let (free_bytes, all_bytes) = space(&path)?;
    let reserve_bytes = RESERVE_BYTES.min(all_bytes / 50).min(free_bytes / 2);
    Some(Watched {
        path,
        reserve_bytes,
    })
}

/// Bytes that are free and that there are; `None` where the file system has no such limit.
fn space(path: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks * found.f_frsize;
    (found.f_blocks > 0).then(|| (bytes(found.f_bavail), bytes(found.f_blocks)))
}
