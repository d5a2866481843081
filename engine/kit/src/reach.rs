//! Files and directories below what somebody else may change: reached part by part from a directory
//! that is open, so that nobody can put a link in the way of a path that was looked at before.
//!
//! A link is followed only if root or the user of this process made it: nobody else can have meant to
//! lend himself rights by it. Opening never waits for the other end of a pipe.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, FileType, Mode, OFlags, CWD};
use rustix::io::Errno;
use rustix::process::geteuid;

/// As many links as the kernel follows in one path.
const LINKS_MAX: usize = 40;
/// Major number of /dev/null and its like, and the minors of those that tell nothing of this host:
/// null, zero, full.
const MEMORY: u32 = 1;
const HARMLESS: [u32; 3] = [3, 5, 7];
/// What /proc/self/uid_map says outside a user namespace, in which others are not known.
const OF_ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// Variable of the environment of engines in a guest of ours, where nobody else is.
pub const ALONE: &str = "TILTYARD_ALONE";

/// What may be opened as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Regular,
    /// /dev/null, /dev/zero and /dev/full, too.
    OrNothing,
}

/// Opens `path`, from `base` unless it is absolute. What is made is made where no link is.
///
/// # Errors
/// Those of open(2), and a link that somebody else has made.
pub fn open(base: BorrowedFd, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let mut left = parts_of(path);
    let mut links = 0;
    let mut at: Option<OwnedFd> = None;
    let own = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    while let Some(part) = left.pop() {
        let here = at.as_ref().map_or(base, AsFd::as_fd);
        let is_last = left.is_empty();
        let opened = match is_last {
            true => fs::openat(
                here,
                &part,
                flags | OFlags::NONBLOCK | OFlags::NOCTTY | own,
                mode,
            ),
            false => fs::openat(here, &part, OFlags::PATH | OFlags::DIRECTORY | own, mode),
        };
        match opened {
            Ok(opened) if is_last => return Ok(opened),
            Ok(opened) => at = Some(opened),
            Err(error @ (Errno::LOOP | Errno::NOTDIR))
                if !(is_last && flags.contains(OFlags::CREATE)) =>
            {
                left.extend(parts_of(&target_of(here, &part)?.ok_or(error)?));
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::NOENT.into())
}

/// Opens a file as [`open`] does, and nothing else than one.
///
/// # Errors
/// Those of [`open`]; it is a directory, pipe, socket or another device, or a file of /proc, which
/// would tell of this process instead of the one that it is opened for.
pub fn file(
    base: BorrowedFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    kind: Kind,
) -> io::Result<File> {
    let is_none = || io::Error::other("it is not a regular file");
    let opened = open(base, path, flags, mode).map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO | libc::EISDIR) => is_none(),
        _ => error,
    })?;
    let found = fs::fstat(&opened)?;
    let is_right = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => fs::fstatfs(&opened)?.f_type != fs::PROC_SUPER_MAGIC,
        FileType::CharacterDevice => {
            kind == Kind::OrNothing
                && fs::major(found.st_rdev) == MEMORY
                && HARMLESS.contains(&fs::minor(found.st_rdev))
        }
        _ => false,
    };
    if !is_right {
        return Err(is_none());
    }
    // A program that gets it is not to see how it was opened.
    fs::fcntl_setfl(&opened, OFlags::empty())?;
    Ok(opened.into())
}

/// Who could put something else in the place of a directory while root works in it by its path; `None`
/// if nobody could. Trusted are root, and who called sudo(8).
///
/// # Errors
/// Those of [`open`].
pub fn exchanged_by(directory: &Path) -> io::Result<Option<String>> {
    let users = std::fs::read_to_string("/proc/self/uid_map")?;
    if !geteuid().is_root() || !users.split_whitespace().eq(OF_ALL_USERS) {
        return Ok(None);
    }
    let held = open(
        CWD,
        directory,
        OFlags::PATH | OFlags::DIRECTORY,
        Mode::empty(),
    )?;
    let caller = std::env::var("SUDO_UID").ok();
    let caller = caller.and_then(|user| user.parse().ok()).unwrap_or(0);
    let path = path_of(&held)?;
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    for above in above.into_iter().rev() {
        let found = fs::stat(above)?;
        let (mode, shown) = (found.st_mode, above.display());
        if ![0, caller].contains(&found.st_uid) {
            return Ok(Some(format!("{shown} belongs to user {}", found.st_uid)));
        }
        if mode & libc::S_IWOTH != 0 && mode & libc::S_ISVTX == 0 {
            return Ok(Some(format!("anybody can write to {shown}")));
        }
        if mode & (libc::S_IXGRP | libc::S_IXOTH) == 0 {
            // Nobody else gets any further.
            return Ok(None);
        }
    }
    Ok(None)
}

/// Where an open file is now, as the kernel knows it.
///
/// # Errors
/// /proc is not mounted.
pub fn path_of(open: impl AsFd) -> io::Result<PathBuf> {
    std::fs::read_link(by_descriptor(open))
}

/// A path that leads to an open file, whatever has its name.
pub fn by_descriptor(open: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd()))
}

/// The parts of a path, the last one first.
fn parts_of(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

/// Where the link `name` leads; `None` if it is none.
fn target_of(here: BorrowedFd, name: &OsStr) -> io::Result<Option<PathBuf>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = fs::openat(here, name, flags, Mode::empty())?;
    let found = fs::fstat(&link)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    if ![0, geteuid().as_raw()].contains(&found.st_uid) {
        let (name, user) = (Path::new(name).display(), found.st_uid);
        return Err(io::Error::other(format!(
            "{name} is a link that user {user} has made, and is not followed. \
             Fix: name what it leads to"
        )));
    }
    let target = fs::readlinkat(&link, "", Vec::new())?.into_bytes();
    Ok(Some(OsString::from_vec(target).into()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{chown, lchown, symlink, PermissionsExt};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn read(base: &File, path: &str, kind: Kind) -> Result<String, String> {
        let opened = file(
            base.as_fd(),
            Path::new(path),
            OFlags::RDONLY,
            Mode::empty(),
            kind,
        );
        let read = opened.and_then(std::io::read_to_string);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn links_of_root_and_our_own_are_followed_and_those_of_others_are_not() {
        let made = tempfile::tempdir().unwrap();
        let at = |name: &str| made.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("sub/file"), "text").unwrap();
        symlink("../sub/./file", at("sub/last")).unwrap();
        symlink(at("sub"), at("middle")).unwrap();
        symlink("round", at("round")).unwrap();
        let base = File::open(made.path()).unwrap();
        for path in ["sub/file", "sub/../sub/file", "sub/last", "middle/last"] {
            assert_eq!(
                read(&base, path, Kind::Regular).as_deref(),
                Ok("text"),
                "{path}"
            );
        }
        let whole = at("middle/file").display().to_string();
        assert_eq!(read(&base, &whole, Kind::Regular).as_deref(), Ok("text"));
        assert!(read(&base, "round", Kind::Regular)
            .unwrap_err()
            .contains("symbolic links"));
        assert!(read(&base, "sub/file/x", Kind::Regular)
            .unwrap_err()
            .contains("Not a directory"));
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let written = open(base.as_fd(), Path::new("sub/last"), flags, Mode::empty());
        assert!(written.is_err(), "what is made is made where no link is");
        if geteuid().is_root() {
            lchown(at("middle"), Some(65_534), None).unwrap();
            for path in ["middle/file", &whole] {
                let refused = read(&base, path, Kind::Regular).unwrap_err();
                assert!(
                    refused.contains("middle is a link that user 65534 has made"),
                    "{refused}"
                );
            }
        }
    }

    #[test]
    fn root_is_told_who_could_exchange_its_directory() {
        let made = tempfile::tempdir().unwrap();
        let set = |name: &str, mode: u32| {
            let path = made.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        set("", 0o755);
        let (theirs, open) = (set("theirs", 0o755), set("open", 0o777));
        let below = [set("theirs/in", 0o700), set("open/in", 0o700)];
        let who = |path: &Path| exchanged_by(path).unwrap().unwrap_or_default();
        if !geteuid().is_root() {
            return assert_eq!(
                who(&below[1]),
                "",
                "others than root risk their own files only"
            );
        }
        chown(&theirs, Some(65_534), None).unwrap();
        assert_eq!([who(&theirs), who(&open)], ["", ""], "what is above counts");
        assert!(
            who(&below[0]).ends_with("theirs belongs to user 65534"),
            "{}",
            who(&below[0])
        );
        assert!(
            who(&below[1]).starts_with("anybody can write to "),
            "{}",
            who(&below[1])
        );
        set("open", 0o1777);
        assert_eq!(who(&below[1]), "", "names stay in a sticky one");
        set("", 0o700);
        assert_eq!(who(&below[0]), "", "nobody gets there");
    }

    #[test]
    fn nothing_but_a_file_is_opened_and_nothing_is_waited_for() {
        let made = tempfile::tempdir().unwrap();
        let (pipe, socket) = (made.path().join("pipe"), made.path().join("socket"));
        fs::mkfifoat(fs::CWD, &pipe, Mode::RWXU).unwrap();
        let _listening = UnixListener::bind(&socket).unwrap();
        let base = File::open(made.path()).unwrap();
        for path in ["pipe", "socket", ".", "/dev/tty", "/proc/self/environ"] {
            for flags in [OFlags::RDONLY, OFlags::WRONLY] {
                let none = Mode::empty();
                let kind = Kind::OrNothing;
                assert!(
                    file(base.as_fd(), Path::new(path), flags, none, kind).is_err(),
                    "{path}"
                );
            }
        }
        assert_eq!(read(&base, "/dev/null", Kind::OrNothing).as_deref(), Ok(""));
        let refused = read(&base, "/dev/null", Kind::Regular).unwrap_err();
        assert!(refused.contains("not a regular file"), "{refused}");
    }
}
