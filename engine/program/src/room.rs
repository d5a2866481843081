//! The trial's directory on the system, and the space that must be left there.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{chown, fchown, PermissionsExt};
use std::path::{Path, PathBuf};

use kit::failure::{failure, io_failure};
use rustix::mount::UnmountFlags;
use wire::{Failure, FailureKind, Part, Stage};

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
    /// Whether it is there for later parts as well.
    stays: bool,
}

/// A file system.
struct Watched {
    path: PathBuf,
    reserve_bytes: u64,
}

impl Room {
    /// Makes it in `directory`, or finds it where an earlier `stage` has made it; the file system
    /// of `place` is watched as well.
    ///
    /// # Errors
    /// `Refused` when something has that name; otherwise those of mkdir(2).
    pub fn make(
        directory: &Path,
        place: Option<&str>,
        account: Option<&Account>,
        stage: Option<&Stage>,
    ) -> Result<Self, Failure> {
        let directory = directory
            .canonicalize()
            .map_err(|error| io_failure("find", directory, &error))?;
        let path = directory.join(stage.map_or(NAME, |stage| &stage.room));
        let part = stage.map(|stage| stage.part);
        let is_shared = matches!(
            part,
            Some(Part::Trial | Part::TurnCleanup | Part::StudyCleanup)
        );
        let is_there = match fs::create_dir(&path) {
            Ok(()) => false,
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(io_failure("create", &path, &error))
            }
            Err(_) if is_shared && path.symlink_metadata().is_ok_and(|found| found.is_dir()) => {
                true
            }
            Err(_) => return Err(in_the_way(&path)),
        };
        let mut room = Self {
            path: path.clone(),
            watched: Vec::new(),
            stays: matches!(part, Some(Part::StudySetup | Part::TurnSetup | Part::Trial)),
        };
        if !is_there {
            let own = account.map(|account| &account.ids);
            let given = own.map_or(Ok(()), |ids| chown(&path, Some(ids.user), Some(ids.group)));
            given
                .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)))
                .map_err(|error| io_failure("hand over", &path, &error))?;
        }
        let places = [Some(path), place.map(PathBuf::from)];
        room.watched = places.into_iter().flatten().filter_map(watched).collect();
        Ok(room)
    }

    /// Writes files into it, for the user of the programs; those of an earlier trial are replaced.
    ///
    /// # Errors
    /// Those of open(2) and write(2).
    pub fn write(
        &self,
        files: &BTreeMap<String, String>,
        account: Option<&Account>,
    ) -> Result<(), Failure> {
        for (name, contents) in files {
            let path = self.path.join(name);
            let written = || -> io::Result<()> {
                // A link that a program of an earlier trial has left is not followed.
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                let mut file = File::create_new(&path)?;
                if let Some(own) = account.map(|account| &account.ids) {
                    fchown(&file, Some(own.user), Some(own.group))?;
                }
                file.set_permissions(Permissions::from_mode(0o644))?;
                file.write_all(contents.as_bytes())
            };
            written().map_err(|error| io_failure("write", &path, &error))?;
        }
        Ok(())
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

    /// Removes it with all that is in it, unless it stays.
    ///
    /// # Errors
    /// `Program` where something stays, with its path.
    pub fn remove(self) -> Result<(), Failure> {
        let Err(error) = self.try_to_remove() else {
            return Ok(());
        };
        let path = self.path.display();
        // As root only an attribute of a file, or of its directory, refuses it: chattr(1).
        let fix = match error.raw_os_error() {
            Some(libc::EPERM) => format!("chattr -R -f -i -a {path} in cleanup, and now by hand"),
            _ => "let cleanup remove it".to_owned(),
        };
        let message = format!("left what cannot be removed, in {path}: {error}. Fix: {fix}");
        Err(failure(FailureKind::Program, message))
    }

    fn try_to_remove(&self) -> io::Result<()> {
        if self.stays || !self.path.exists() {
            return Ok(());
        }
        // Most leave nothing in it.
        let removed = fs::remove_dir(&self.path).or_else(|_| fs::remove_dir_all(&self.path));
        removed.or_else(|_| {
            // A directory without permissions keeps its owner out, too.
            open_up(&self.path);
            fs::remove_dir_all(&self.path)
        })
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
        if self.path.exists() {
            self.unmount();
        }
        let _ = self.try_to_remove();
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
