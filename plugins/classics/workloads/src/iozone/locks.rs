//! Advisory locks of IOzone's -W and -+l, taken with fcntl(2).

use std::hint::black_box;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use storage::backend::{mmap::MmapFile, null::NullFile, stdio::StdioFile, sync::SyncFile};
use storage::io::Range;

/// What a lock keeps others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Writing: for those who read.
    Shared,
    /// Reading and writing: for those who write.
    Exclusive,
}

impl Hold {
    fn kind(self) -> libc::c_int {
        match self {
            Hold::Shared => libc::F_RDLCK,
            Hold::Exclusive => libc::F_WRLCK,
        }
    }
}

/// A file that can be locked, as far as its kind has locks.
pub trait Lock {
    /// Waits for the lock.
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()>;

    /// Gives the lock back.
    fn unlock(&mut self, range: Range) -> io::Result<()>;
}

impl Lock for SyncFile {
    #[inline]
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()> {
        set(self, hold.kind(), range)
    }

    #[inline]
    fn unlock(&mut self, range: Range) -> io::Result<()> {
        set(self, libc::F_UNLCK, range)
    }
}

impl Lock for MmapFile {
    #[inline]
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()> {
        set(self, hold.kind(), range)
    }

    #[inline]
    fn unlock(&mut self, range: Range) -> io::Result<()> {
        set(self, libc::F_UNLCK, range)
    }
}

/// The C library's streams have no call for it.
impl Lock for StdioFile {
    fn lock(&mut self, _: Hold, _: Range) -> io::Result<()> {
        Ok(())
    }

    fn unlock(&mut self, _: Range) -> io::Result<()> {
        Ok(())
    }
}

impl Lock for NullFile {
    #[inline]
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()> {
        black_box((hold, range));
        Ok(())
    }

    #[inline]
    fn unlock(&mut self, range: Range) -> io::Result<()> {
        black_box(range);
        Ok(())
    }
}

fn set(file: &impl AsFd, kind: libc::c_int, range: Range) -> io::Result<()> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: range.offset as libc::off_t,
        l_len: range.size_bytes as libc::off_t,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open for the call, and the structure lives as long.
    match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_SETLKW, &lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Mode, OFlags};

    use super::*;
    use storage::backend::{Backend, Sync};

    /// How many locks of this process the kernel lists for the inode.
    fn listed(inode: u64) -> usize {
        let table = std::fs::read_to_string("/proc/locks").unwrap();
        let ending = format!(":{inode}");
        let is_ours = |line: &&str| line.split(' ').any(|word| word.ends_with(&ending));
        table.lines().filter(is_ours).count()
    }

    #[test]
    fn a_lock_is_seen_by_the_kernel_until_it_is_given_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
        let inode = std::os::unix::fs::MetadataExt::ino(&file.path().metadata().unwrap());
        let mut file = Sync.open(&path, OFlags::RDWR, Mode::empty()).unwrap();
        let record = Range {
            offset: 4_096,
            size_bytes: 4_096,
        };
        for (hold, range) in [(Hold::Shared, record), (Hold::Exclusive, Range::ALL)] {
            file.lock(hold, range).unwrap();
            assert_eq!(listed(inode), 1, "{hold:?}");
            file.unlock(range).unwrap();
            assert_eq!(listed(inode), 0, "{hold:?}");
        }
    }
}
