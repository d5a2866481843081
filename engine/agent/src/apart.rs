//! A directory among names that another user can exchange: made, shown and removed by root, who comes to
//! it step by step, through no link, and holds it open.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use kit::device::mounts;
use kit::{reach, removal};
use rustix::fs::{fstat, mkdirat, openat, unlinkat, AtFlags, Mode, OFlags, CWD};
use rustix::process::geteuid;

use crate::names::{refused, require_prefix};

/// Of one that was made and not looked at yet: only an empty one is removed.
pub const UNKNOWN: u64 = 0;

const STEP: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const INSIDE: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Makes one; its inode.
///
/// # Errors
/// Another user has put something in its place, or a link on the way to it.
pub fn make(directory: &Path) -> io::Result<u64> {
    let (above, name) = above(directory)?;
    mkdirat(&above, name, Mode::from_raw_mode(0o777)).map_err(|error| named(directory, error))?;
    let made = inside(&above, name).map_err(|error| named(directory, error))?;
    let found = fstat(&made)?;
    let is_ours = found.st_uid == geteuid().as_raw();
    match is_ours && entries(made.as_fd())?.is_empty() {
        true => Ok(found.st_ino),
        false => Err(exchanged(directory)),
    }
}

/// Mounts one on a directory that nobody else can exchange.
///
/// # Errors
/// It is another one by now, or nothing can be mounted here.
pub fn bind(directory: &Path, inode: u64, at: &Path) -> io::Result<Result<(), io::Error>> {
    let (above, name) = above(directory)?;
    let made = inside(&above, name).map_err(|error| named(directory, error))?;
    if fstat(&made)?.st_ino != inode {
        return Err(exchanged(directory));
    }
    let bound = rustix::mount::mount_bind(reach::by_descriptor(&made), at);
    Ok(bound.map_err(io::Error::from))
}

/// Removes one with all that is in it, and nothing that another user has put in its place.
///
/// # Errors
/// Something is mounted in it, or something stays.
pub fn remove(directory: &Path, inode: u64) -> io::Result<Option<String>> {
    require_prefix(directory, "not removed")?;
    let left = || {
        let why = "another user has put something else in its place";
        Ok(Some(format!("left {} alone: {why}", directory.display())))
    };
    let (above, name) = match above(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return left(),
        Ok(reached) => reached,
    };
    let made = match inside(&above, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return left(),
        Ok(made) => made,
    };
    let found = entries(made.as_fd())?;
    if fstat(&made)?.st_ino != inode && (inode != UNKNOWN || !found.is_empty()) {
        return left();
    }
    let real = reach::path_of(&made)?;
    if let Some((mounted, _)) = mounts()?.iter().find(|(point, _)| point.starts_with(&real)) {
        let why = format!("not removed, because {} is mounted", mounted.display());
        return Err(refused(directory.display(), why));
    }
    for name in found {
        removal::remove_beneath(made.as_fd(), &name)
            .map_err(|remains| refused(directory.display(), remains))?;
    }
    if let Err(error) = unlinkat(&above, name, AtFlags::REMOVEDIR) {
        // He may have exchanged it at this very moment.
        let now = inside(&above, name).and_then(|now| Ok(fstat(now)?.st_ino));
        return match now {
            Ok(now) if now == fstat(&made)?.st_ino => Err(named(directory, error)),
            _ => left(),
        };
    }
    fs::File::open(reach::by_descriptor(&above))?.sync_all()?;
    Ok(Some(format!("removed {}", directory.display())))
}

/// What it is in, open, and its name there.
fn above(directory: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let (Some(above), Some(name)) = (directory.parent(), directory.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let mut at = openat(CWD, "/", STEP, Mode::empty())?;
    for part in above.components() {
        let Component::Normal(part) = part else {
            continue;
        };
        at = openat(&at, part, STEP, Mode::empty()).map_err(|error| match io::Error::from(error) {
            error if error.kind() == ErrorKind::NotADirectory => {
                let part = Path::new(part).display();
                let why = format!(
                    "not used: {part} is a link, or no directory, by now. Fix: name what it leads to"
                );
                refused(above.display(), why)
            }
            error => error,
        })?;
    }
    Ok((at, name))
}

fn inside(above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(above, name, INSIDE, Mode::empty())?)
}

fn entries(directory: BorrowedFd<'_>) -> io::Result<Vec<std::ffi::OsString>> {
    let found = fs::read_dir(reach::by_descriptor(directory))?;
    found.map(|entry| Ok(entry?.file_name())).collect()
}

fn named(path: &Path, error: impl Into<io::Error>) -> io::Error {
    let error: io::Error = error.into();
    refused(path.display(), crate::command::reason(&error))
}

fn exchanged(directory: &Path) -> io::Error {
    let why = "not used: another user has put something else in its place";
    refused(directory.display(), why)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_that_was_put_in_its_place_is_shown_or_removed() {
        let all = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(all.path()).unwrap();
        let made = root.join("tiltyard-apart");
        let inode = make(&made).unwrap();
        fs::write(made.join("file"), "measured").unwrap();
        fs::rename(&made, root.join("away")).unwrap();
        symlink(root.join("away"), &made).unwrap();
        let told = remove(&made, inode).unwrap().unwrap();
        assert!(told.contains("another user"), "{told}");
        assert!(root.join("away/file").exists());
        fs::remove_file(&made).unwrap();
        fs::create_dir(&made).unwrap();
        let error = bind(&made, inode, Path::new("/no/such")).unwrap_err();
        assert!(error.to_string().contains("another user"), "{error}");
        fs::write(made.join("file"), "precious").unwrap();
        for known in [inode, UNKNOWN] {
            let told = remove(&made, known).unwrap().unwrap();
            assert!(told.starts_with("left"), "{told}");
        }
        fs::remove_dir_all(&made).unwrap();
        fs::rename(root.join("away"), &made).unwrap();
        assert!(remove(&made, inode)
            .unwrap()
            .unwrap()
            .starts_with("removed"));
        assert_eq!(remove(&made, inode).unwrap(), None);
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let all = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(all.path()).unwrap();
        fs::create_dir(root.join("his")).unwrap();
        symlink(root.join("his"), root.join("link")).unwrap();
        let error = make(&root.join("link/tiltyard-apart")).unwrap_err();
        assert!(error.to_string().contains("link is a link"), "{error}");
        assert!(!root.join("his/tiltyard-apart").exists());
    }
}
