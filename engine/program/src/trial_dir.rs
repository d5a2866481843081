//! The trial's directory on the system, and the space that must be left there.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, PermissionsExt};
use std::path::{Path, PathBuf};

use kit::failure::{failure, io_failure};
use kit::reach::{self, by_descriptor, path_of};
use kit::removal::{remove_beneath, Remains};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use wire::{Failure, FailureKind, Part, Stage};

use crate::account::{acting, Account};

/// Its name. Always the same, because programs print paths, and their outputs are compared.
const NAME: &str = "program";
/// At least this stays free, or a fiftieth of the file system where that is less.
const RESERVE_BYTES: u64 = 256 << 20;
/// With less than this above the reserve, the space is looked at often.
const NEAR_BYTES: u64 = 4 << 30;
const FAR_NS: u64 = 100_000_000;
const NEAR_NS: u64 = 20_000_000;
/// Of files that are made for a program, and of directories.
pub const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
pub const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// What the kernel says behind the path of a file that has none any more.
const DELETED: &[u8] = b" (deleted)";
const DOTS: [&CStr; 2] = [c".", c".."];
/// Whoever adds more all the time to what is removed is not followed for ever.
const PASSES: u32 = 64;
const TO_LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// A directory that did not exist before; removed with all that is in it when dropped. Both it and
/// the one that it is in are open: whatever takes the place of either is never used.
pub struct TrialDir {
    /// For people and programs, whose path it was when it was made.
    pub path: PathBuf,
    held: OwnedFd,
    parent: OwnedFd,
    name: String,
    /// The user of the programs; what they leave is removed with his rights.
    account: Option<Account>,
    watched: Vec<Watched>,
    /// Whether it is there for later parts as well.
    stays: bool,
}

/// A file system.
struct Watched {
    path: PathBuf,
    held: Option<OwnedFd>,
    reserve_bytes: u64,
}

impl TrialDir {
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
        let none = Mode::empty();
        let opened = reach::open(rustix::fs::CWD, directory, TO_LIST, none)
            .and_then(|parent| path_of(&parent).map(|path| (parent, path)));
        let (parent, directory) = opened.map_err(|error| io_failure("use", directory, &error))?;
        let name = stage.map_or(NAME, |stage| &stage.room).to_owned();
        let path = directory.join(&name);
        let part = stage.map(|stage| stage.part);
        let is_shared = matches!(
            part,
            Some(Part::Trial | Part::TurnCleanup | Part::StudyCleanup)
        );
        let is_made = match rustix::fs::mkdirat(&parent, &name, DIRECTORY_MODE) {
            Ok(()) => true,
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(io_failure("create", &path, &error.into()))
            }
            Err(_) if is_shared => false,
            Err(_) => return Err(in_the_way(&path)),
        };
        let user = account.map(|account| account.ids.user);
        let held = own_directory(&parent, &name, is_made, user)
            .map_err(|error| io_failure("use", &path, &error))?
            .ok_or_else(|| in_the_way(&path))?;
        let mut trial_dir = Self {
            path,
            held,
            parent,
            name,
            account: account.cloned(),
            watched: Vec::new(),
            stays: matches!(part, Some(Part::StudySetup | Part::TurnSetup | Part::Trial)),
        };
        if is_made {
            let own = account.map(|account| &account.ids);
            let held = &trial_dir.held;
            let given = own.map_or(Ok(()), |ids| fchown(held, Some(ids.user), Some(ids.group)));
            given
                .and_then(|()| Ok(rustix::fs::fchmod(held, DIRECTORY_MODE)?))
                .map_err(|error| io_failure("hand over", &trial_dir.path, &error))?;
        }
        let own = watched(trial_dir.path.clone(), trial_dir.held.try_clone().ok());
        let other = place.and_then(|place| watched(place.into(), None));
        trial_dir.watched = own.into_iter().chain(other).collect();
        Ok(trial_dir)
    }

    /// Where a path begins, and the path from there: below it nobody's links are in the way.
    pub fn way<'a>(&self, path: &'a Path) -> (BorrowedFd<'_>, &'a Path) {
        let way = match path.strip_prefix(&self.path) {
            Ok(below) if below.as_os_str().is_empty() => Path::new("."),
            Ok(below) => below,
            Err(_) => path,
        };
        (self.held.as_fd(), way)
    }

    /// Writes files into it, as the user of the programs; those of an earlier trial are replaced.
    ///
    /// # Errors
    /// Those of open(2) and write(2).
    pub fn write(&self, files: &BTreeMap<String, String>) -> Result<(), Failure> {
        for (name, contents) in files {
            let written = self.acting(|| {
                match rustix::fs::unlinkat(&self.held, name, AtFlags::empty()) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
                create(self.held.as_fd(), name, contents.as_bytes())
            });
            written.map_err(|error| io_failure("write", &self.path.join(name), &error))?;
        }
        Ok(())
    }

    /// Has two files in a new directory of it, of the user of the programs, while it does `act`.
    ///
    /// # Errors
    /// Those of mkdir(2), open(2) and write(2).
    pub fn with_files<T>(
        &self,
        directory: &str,
        files: [(&str, &[u8]); 2],
        act: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let failed = |error| io_failure("write", &self.path.join(directory), &error);
        let written = self.acting(|| {
            rustix::fs::mkdirat(&self.held, directory, DIRECTORY_MODE)?;
            let made = reach::open(
                self.held.as_fd(),
                directory.as_ref(),
                TO_LIST,
                Mode::empty(),
            )?;
            let mut files = files.into_iter();
            files.try_for_each(|(name, contents)| create(made.as_fd(), name, contents))
        });
        let done = written.map_err(failed).and_then(|()| act());
        let _ = self.acting(|| Ok(remove_beneath(self.held.as_fd(), directory.as_ref())));
        done
    }

    fn acting<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        acting(self.account.as_ref(), act)
    }

    /// When to look at the space again, in ns from now.
    ///
    /// # Errors
    /// The path of a file system that is nearly full.
    pub fn look(&self) -> Result<u64, &Path> {
        let mut pause_ns = FAR_NS;
        for one in &self.watched {
            let Some((free_bytes, _)) = space(&one.path, one.held.as_ref()) else {
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
        self.try_to_remove()
            .map_err(|left| failure(FailureKind::Program, left))
    }

    /// Why it, or something in it, stays.
    fn try_to_remove(&self) -> Result<(), String> {
        if self.stays {
            return Ok(());
        }
        if !self.is_there() {
            let now = path_of(&self.held).unwrap_or_default();
            return match now.as_os_str().as_encoded_bytes().ends_with(DELETED) {
                true => Ok(()),
                false => Err(format!(
                    "left its directory elsewhere: {}. Fix: let cleanup remove it, and now by hand",
                    now.display()
                )),
            };
        }
        // Most leave nothing in it, and it is in a directory of ours.
        let gone = || match rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR) {
            Err(error) if error != Errno::NOENT => Err(error),
            _ => Ok(()),
        };
        if gone().is_ok() {
            return Ok(());
        }
        let left = self.acting(|| self.empty());
        gone().map_err(|error| {
            let own = |error| Remains {
                path: self.path.clone(),
                error,
                others: 0,
            };
            let mut remains = left
                .unwrap_or_else(|error| Some(own(error)))
                .unwrap_or_else(|| own(error.into()));
            remains.path = self.path.join(&remains.path);
            let fix = remains.fix(&self.path);
            format!(
                "left what cannot be removed: {remains}. Fix: {fix} in cleanup, and now by hand"
            )
        })
    }

    /// Removes what is in it; what stays.
    fn empty(&self) -> io::Result<Option<Remains>> {
        // Not all file systems have modes.
        let _ = rustix::fs::fchmod(&self.held, DIRECTORY_MODE);
        let mut left = None;
        for _ in 0..PASSES {
            let mut has_lost = false;
            for entry in Dir::read_from(&self.held)? {
                let entry = entry?;
                if DOTS.contains(&entry.file_name()) {
                    continue;
                }
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                match (remove_beneath(self.held.as_fd(), name), &mut left) {
                    (Ok(()), _) => has_lost = true,
                    (Err(more), None) => left = Some(more),
                    (Err(more), Some(first)) => first.others += 1 + more.others,
                }
            }
            if !has_lost || left.is_some() {
                break;
            }
        }
        Ok(left)
    }

    /// Whether what has its name is what was made.
    fn is_there(&self) -> bool {
        let named = rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let both = named.and_then(|named| Ok([named, rustix::fs::fstat(&self.held)?]));
        let is = |found: &Stat| (found.st_dev, found.st_ino);
        both.is_ok_and(|[named, held]| is(&named) == is(&held))
    }

    /// Takes away what programs have mounted in it; the mount points.
    pub fn unmount(&self) -> Vec<PathBuf> {
        let Ok(parent) = path_of(&self.parent) else {
            return Vec::new();
        };
        let own = parent.join(&self.name);
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        let points = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
            let point = kit::device::unescaped(line.split(|&byte| byte == b' ').nth(4)?);
            (point.starts_with(&own)).then_some(point)
        });
        let points: Vec<PathBuf> = points.collect();
        // The last one mounted lies on top.
        for point in points.iter().rev() {
            let below = point.strip_prefix(&parent).unwrap_or(point);
            let found = reach::open(self.parent.as_fd(), below, OFlags::PATH, Mode::empty());
            if let Ok(found) = found {
                let _ = rustix::mount::unmount(by_descriptor(&found), UnmountFlags::DETACH);
            }
        }
        points
    }
}

impl Drop for TrialDir {
    fn drop(&mut self) {
        self.unmount();
        let _ = self.try_to_remove();
    }
}

/// The directory of this name: empty where it was `made` just now, else that of the user. `None` if
/// it is another one. Who owns a new one says nothing: some file systems make all of it somebody's.
fn own_directory(
    parent: &OwnedFd,
    name: &str,
    made: bool,
    user: Option<u32>,
) -> io::Result<Option<OwnedFd>> {
    let flags = TO_LIST | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
        opened => opened?,
    };
    let is_own = match (made, user) {
        (true, _) => is_empty(&held)?,
        (false, Some(user)) => rustix::fs::fstat(&held)?.st_uid == user,
        (false, None) => true,
    };
    Ok(is_own.then_some(held))
}

fn is_empty(directory: &OwnedFd) -> io::Result<bool> {
    let mut entries = Dir::read_from(directory)?.flatten();
    Ok(entries.all(|entry| DOTS.contains(&entry.file_name())))
}

/// Makes a file in an open directory.
fn create(directory: BorrowedFd, name: &str, contents: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut file = File::from(reach::open(directory, name.as_ref(), flags, FILE_MODE)?);
    file.set_permissions(Permissions::from_mode(FILE_MODE.bits()))?;
    file.write_all(contents)
}

fn in_the_way(path: &Path) -> Failure {
    let message = format!(
        "{} already exists and would be overwritten. Fix: remove it, or use another directory",
        path.display()
    );
    failure(FailureKind::Refused, message)
}

/// A trial that begins with less may use half of what there is.
fn watched(path: PathBuf, held: Option<OwnedFd>) -> Option<Watched> {
    let (free_bytes, all_bytes) = space(&path, held.as_ref())?;
    let reserve_bytes = RESERVE_BYTES.min(all_bytes / 50).min(free_bytes / 2);
    Some(Watched {
        path,
        held,
        reserve_bytes,
    })
}

/// Bytes that are free and that there are; `None` where the file system has no such limit.
fn space(path: &Path, held: Option<&OwnedFd>) -> Option<(u64, u64)> {
    let found = held.map_or_else(|| rustix::fs::statvfs(path), rustix::fs::fstatvfs);
    let found = found.ok()?;
    let bytes = |blocks: u64| blocks * found.f_frsize;
    (found.f_blocks > 0).then(|| (bytes(found.f_bavail), bytes(found.f_blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_its_place_is_left_alone_and_where_it_went_is_said() {
        let made = tempfile::tempdir().unwrap();
        let trial_dir = TrialDir::make(made.path(), None, None, None).unwrap();
        let (path, elsewhere) = (trial_dir.path.clone(), made.path().join("elsewhere"));
        fs::rename(&path, &elsewhere).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "").unwrap();
        trial_dir
            .write(&[("in".to_owned(), "text".to_owned())].into())
            .unwrap();
        assert_eq!(fs::read_to_string(elsewhere.join("in")).unwrap(), "text");
        let failure = trial_dir.remove().unwrap_err();
        assert!(
            failure.message.contains("left its directory elsewhere: "),
            "{failure:?}"
        );
        assert!(failure.message.contains("/elsewhere"), "{failure:?}");
        assert!(path.join("file").exists() && elsewhere.join("in").exists());
    }

    #[test]
    fn what_its_user_may_not_remove_stays_and_is_named() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let made = tempfile::tempdir().unwrap();
        let nobody = Account::named("nobody").unwrap();
        let trial_dir = TrialDir::make(made.path(), None, Some(&nobody), None).unwrap();
        let (theirs, kept) = (
            trial_dir.path.join("theirs"),
            trial_dir.path.join("of-root/kept"),
        );
        fs::create_dir(kept.parent().unwrap()).unwrap();
        fs::write(&kept, "").unwrap();
        fs::write(&theirs, "").unwrap();
        let failure = trial_dir.remove().unwrap_err();
        let said = format!("{}: Permission denied", kept.display());
        assert!(failure.message.contains(&said), "{failure:?}");
        assert!(kept.exists() && !theirs.exists());
    }

    #[test]
    fn one_that_is_gone_is_removed_and_another_in_its_place_is_not() {
        let made = tempfile::tempdir().unwrap();
        let trial_dir = TrialDir::make(made.path(), None, None, None).unwrap();
        fs::remove_dir(&trial_dir.path).unwrap();
        fs::write(&trial_dir.path, "").unwrap();
        let path = trial_dir.path.clone();
        trial_dir.remove().unwrap();
        assert!(path.exists());
        let failure = TrialDir::make(made.path(), None, None, None).err().unwrap();
        assert_eq!(failure.kind, FailureKind::Refused, "{failure:?}");
    }
}
