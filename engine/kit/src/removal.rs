//! Removal of a directory with all that is in it, whatever programs have made of it.
//!
//! So many levels are held open at once, and no more. A directory below them is first moved up into
//! the one that is removed, under a name of its own, and its turn comes when that one has no other
//! entries left. So neither memory nor descriptors grow with the tree, no long path is ever built,
//! and nobody who exchanges directories meanwhile leads out of it: each name is one in a directory
//! that is open, and the way up is never asked for.

use std::ffi::{CStr, CString, OsStr};
use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fchmod, fstat, openat, renameat, statx, unlinkat};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, StatxFlags, CWD};
use rustix::io::{Errno, Result};

use crate::{device, reach};

/// Ordinary trees are not deeper, and are removed where they are.
const LEVELS: usize = 16;
/// Some file systems pass over entries when others go. Whoever adds more all the time is not
/// followed for ever.
const PASSES: u32 = 64;
/// What a directory that was moved up is called, with a number behind it.
const MOVED: &str = ".removed-";

/// What could not be removed; all that does not hold it is gone.
#[derive(Debug)]
pub struct Remains {
    /// The first that stays, from the name that was to be removed on; directories above it may
    /// have been moved up.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
    /// How many more stay, without the directories that hold them.
    pub others: u64,
}

impl Remains {
    fn new(path: impl AsRef<Path>, error: impl Into<io::Error>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            error: error.into(),
            others: 0,
        }
    }

    /// What a person can do, so that `path`, of which it is a part, can be removed.
    pub fn fix(&self, path: &Path) -> String {
        let path = quoted(&shown(path));
        match self.error.raw_os_error() {
            // What root is refused is refused by an attribute of the file, or of its directory.
            Some(libc::EPERM) => format!("chattr -R -f -i -a {path}"),
            Some(libc::EXDEV | libc::EBUSY) => format!("unmount what is mounted in {path}"),
            _ => format!("rm -r -f --one-file-system {path}"),
        }
    }
}

impl fmt::Display for Remains {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", shown(&self.path), self.error)?;
        match self.others {
            0 => Ok(()),
            others => write!(out, ", and {others} more"),
        }
    }
}

impl std::error::Error for Remains {}

/// A path in one line, whatever its bytes.
fn shown(path: &Path) -> String {
    let shown = |one: char| match one.is_control() {
        true => one.escape_default().to_string(),
        false => one.to_string(),
    };
    path.to_string_lossy().chars().map(shown).collect()
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |one: char| one.is_ascii_alphanumeric() || "/._-+:,@%=".contains(one);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Removes what has that path, as [`remove_beneath`] does.
///
/// # Errors
/// What stays; its path begins as this one does.
pub fn remove(path: &Path) -> std::result::Result<(), Remains> {
    let Some((above, name)) = path.parent().zip(path.file_name()) else {
        return Err(Remains::new(path, ErrorKind::InvalidInput));
    };
    let there = if above.as_os_str().is_empty() {
        Path::new(".")
    } else {
        above
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, there, flags, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(Remains::new(path, error)),
    };
    remove_beneath(parent.as_fd(), name).map_err(|mut remains| {
        remains.path = above.join(remains.path);
        remains
    })
}

/// Removes what has that name in a directory: a file, a link and not what it leads to, or a
/// directory with all that is in it, also without permissions. Done if nothing has that name.
///
/// Goes into nothing that is mounted there: what is mounted, and the directories that it is in,
/// stay what and where they are.
///
/// # Errors
/// What stays.
pub fn remove_beneath(parent: BorrowedFd<'_>, name: &OsStr) -> std::result::Result<(), Remains> {
    let mount = mount_of(parent).map_err(|error| Remains::new(name, error))?;
    let name = CString::new(name.as_bytes()).map_err(|error| Remains::new(name, error))?;
    let mut removal = Removal {
        parent,
        mount,
        levels: Vec::with_capacity(LEVELS),
        moved: 0,
        found: 0,
        is_mounted_below: None,
        remains: None,
    };
    removal.remove(&name);
    while let Some(level) = removal.levels.last_mut() {
        match level.entries.read() {
            Some(Ok(entry)) if [c".", c".."].contains(&entry.file_name()) => {}
            Some(Ok(entry)) => removal.remove(entry.file_name()),
            Some(Err(error)) => removal.stays(c".", error.into()),
            None if removal.levels.len() == 1 && removal.found < removal.moved => {
                removal.found += 1;
                removal.remove(&moved(removal.found));
            }
            None => removal.end(),
        }
    }
    removal.remains.map_or(Ok(()), Err)
}

struct Removal<'a> {
    parent: BorrowedFd<'a>,
    /// Which mount the tree is on.
    mount: u64,
    /// From the directory that is removed down to the one that is read.
    levels: Vec<Level>,
    /// The number of the last directory that was moved up.
    moved: u64,
    /// That of the last one whose turn has come.
    found: u64,
    /// Looked at before something is moved.
    is_mounted_below: Option<bool>,
    remains: Option<Remains>,
}

/// An open directory.
struct Level {
    name: CString,
    entries: Dir,
    passes: u32,
    /// Whether something has gone in this pass.
    has_lost: bool,
    /// Whether something in it is known to stay.
    holds: bool,
}

impl Removal<'_> {
    /// Where the names of the last level's entries are.
    fn here(&self) -> Result<BorrowedFd<'_>> {
        let last = self.levels.last();
        last.map_or(Ok(self.parent), |level| level.entries.fd())
    }

    fn unlink(&self, name: &CStr, flags: AtFlags) -> Result<()> {
        unlinkat(self.here()?, name, flags)
    }

    /// Removes an entry of the last level; goes into it, or moves it up, where it has entries.
    fn remove(&mut self, name: &CStr) {
        let removed = match self.unlink(name, AtFlags::empty()) {
            Err(Errno::ISDIR) => self.unlink(name, AtFlags::REMOVEDIR),
            unlinked => unlinked,
        };
        let gone = match removed {
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.go_into(name),
            other => other,
        };
        match gone {
            Ok(()) | Err(Errno::NOENT) => self.lost(),
            Err(error) => self.stays(name, error.into()),
        }
    }

    fn go_into(&mut self, name: &CStr) -> Result<()> {
        let entries = Dir::new(self.open(name)?)?;
        if self.levels.len() == LEVELS {
            return self.move_up(name);
        }
        self.levels.push(Level {
            name: name.to_owned(),
            entries,
            passes: 0,
            has_lost: false,
            holds: false,
        });
        Ok(())
    }

    /// Opens a directory of the last level, and whatever keeps its owner out of it.
    fn open(&self, name: &CStr) -> Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |how| {
            let opened = openat(self.here()?, name, flags | how, Mode::empty())?;
            match mount_of(opened.as_fd())? == self.mount {
                true => Ok(opened),
                false => Err(Errno::XDEV),
            }
        };
        let opened = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => {
                let closed = open(OFlags::PATH)?;
                let path = reach::by_descriptor(&closed);
                let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
                open(OFlags::RDONLY)?
            }
            opened => opened?,
        };
        if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::RWXU) {
            // If that is refused, so is what it is needed for, and that is told.
            let _ = fchmod(&opened, Mode::RWXU);
        }
        Ok(opened)
    }

    /// Moves a directory of the last level into the first one. An empty directory that has the
    /// new name goes by it; whatever else has it stays, and another name is taken.
    fn move_up(&mut self, name: &CStr) -> Result<()> {
        let top = self.levels[0].entries.fd()?;
        // The path of what is mounted somewhere below would become another one.
        if *self
            .is_mounted_below
            .get_or_insert_with(|| is_mounted_below(top))
        {
            return Err(Errno::XDEV);
        }
        loop {
            self.moved += 1;
            let free = moved(self.moved);
            match renameat(self.here()?, name, self.levels[0].entries.fd()?, &free) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::ISDIR) => {}
                done => return done,
            }
        }
    }

    /// The last level has no more entries to be read.
    fn end(&mut self) {
        let Some(mut level) = self.levels.pop() else {
            return;
        };
        match self.unlink(&level.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => self.lost(),
            Err(Errno::NOTEMPTY | Errno::EXIST)
                if level.has_lost && !level.holds && level.passes < PASSES =>
            {
                level.has_lost = false;
                level.passes += 1;
                level.entries.rewind();
                self.levels.push(level);
            }
            Err(_) if level.holds => self.holds(),
            Err(error) => self.stays(&level.name, error.into()),
        }
    }

    fn lost(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.has_lost = true;
        }
    }

    fn holds(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.holds = true;
        }
    }

    /// An entry of the last level stays.
    fn stays(&mut self, name: &CStr, error: io::Error) {
        self.holds();
        match &mut self.remains {
            Some(first) => first.others += 1,
            None => {
                let above = self.levels.iter().map(|level| level.name.as_c_str());
                let names = above.chain([name]);
                let path = names.map(|name| OsStr::from_bytes(name.to_bytes()));
                self.remains = Some(Remains::new(path.collect::<PathBuf>(), error));
            }
        }
    }
}

fn moved(number: u64) -> CString {
    CString::new(format!("{MOVED}{number}")).unwrap_or_default()
}

/// Which mount something open is on: also one of the same file system is another one.
fn mount_of(open: BorrowedFd<'_>) -> Result<u64> {
    let wanted = StatxFlags::MNT_ID;
    match statx(open, "", AtFlags::EMPTY_PATH, wanted) {
        Ok(found) if StatxFlags::from_bits_retain(found.stx_mask).contains(wanted) => {
            return Ok(found.stx_mnt_id);
        }
        Ok(_) | Err(Errno::NOSYS) => {}
        Err(error) => return Err(error),
    }
    // A kernel before 5.8.
    let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", open.as_raw_fd()));
    let told = told.unwrap_or_default();
    let mut lines = told.lines();
    let number = lines.find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or(Errno::NOSYS)
}

/// Whether anything is mounted below an open directory, as far as this process can see.
fn is_mounted_below(directory: BorrowedFd<'_>) -> bool {
    let path = reach::path_of(directory);
    let mounts = fs::File::open("/proc/self/mountinfo").map(BufReader::new);
    let (Ok(path), Ok(mounts)) = (path, mounts) else {
        return false;
    };
    mounts.split(b'\n').map_while(io::Result::ok).any(|line| {
        let point = line.split(|&byte| byte == b' ').nth(4);
        point.is_some_and(|point| device::unescaped(point).starts_with(&path))
    })
}
