//! A working directory for the trial: names in it are relative, and the kernel does not walk the
//! whole path at each open and unlink. The classic tools are started in the directory they work
//! in; measured from elsewhere, a deep target would be slower than it is for them.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::{chdir, fchdir};

/// A directory that is the working directory of the calling thread, and of threads that it
/// starts, until this is dropped. Other threads stay where they are.
pub struct WorkingDirGuard {
    directory: PathBuf,
    /// Where to go back to; `None` where a sandbox keeps threads from having a directory of their
    /// own, and full paths have to do.
    home: Option<OwnedFd>,
}

impl WorkingDirGuard {
    /// Goes to `directory` if that can be done.
    pub fn enter(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            home: go(directory).ok(),
        }
    }

    /// What the paths that are handed to the kernel begin with.
    pub fn base(&self) -> &Path {
        match self.home {
            Some(_) => Path::new(""),
            None => &self.directory,
        }
    }

    /// Such a path in full, for people.
    pub fn shown(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }
}

impl Drop for WorkingDirGuard {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            // It was held open; should it be out of bounds by now, full paths still work.
            let _ = fchdir(home);
        }
    }
}

/// Goes to `directory`; gives the one that was left.
fn go(directory: &Path) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; no other thread relies on moving together with this one.
    if unsafe { libc::unshare(libc::CLONE_FS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let here = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let home = rustix::fs::open(".", here, Mode::empty())?;
    chdir(directory)?;
    Ok(home)
}

#[cfg(test)]
mod tests {
    use std::env::current_dir;
    use std::thread;

    use super::*;

    #[test]
    fn only_this_thread_stands_there_and_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().canonicalize().unwrap();
        let home = current_dir().unwrap();
        let working_dir = WorkingDirGuard::enter(&inside);
        std::fs::write(working_dir.base().join("here"), "").unwrap();
        assert!(inside.join("here").is_file());
        assert_eq!(
            working_dir.shown(&working_dir.base().join("here")),
            inside.join("here")
        );
        if working_dir.home.is_some() {
            assert_eq!(thread::spawn(current_dir).join().unwrap().unwrap(), inside);
        }
        drop(working_dir);
        assert_eq!(current_dir().unwrap(), home);
    }

    #[test]
    fn a_directory_that_cannot_be_entered_is_named_in_full() {
        let home = current_dir().unwrap();
        let working_dir = WorkingDirGuard::enter(Path::new("/no/such"));
        assert_eq!(working_dir.base(), Path::new("/no/such"));
        assert_eq!(
            working_dir.shown(Path::new("/no/such/7")),
            Path::new("/no/such/7")
        );
        assert_eq!(current_dir().unwrap(), home);
    }
}
