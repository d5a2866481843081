//! The kernel's name space.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;

use kit::failure::io_failure;
use rustix::fs::{FileType, Mode, OFlags, RawDir};
use wire::Failure;

use super::{unattributed, Contents, Entry, Found, NameSpace, Order, PathBuffer, Sets, Visit};

/// Bytes of names that one getdents64(2) gives, as in the C library.
const LIST_BYTES: usize = 32 << 10;

/// The kernel's.
pub struct OnDisk {
    /// What getdents64(2) fills.
    listed: Box<[MaybeUninit<u8>]>,
    /// Names of the directories that the walk is in, one after another.
    names: Vec<u8>,
    /// What they are the names of.
    found: Vec<Found>,
}

impl OnDisk {
    /// Reads a directory, then asks for the attributes of each name to tell directories from
    /// files, as the original does.
    fn list(&mut self, path: &mut PathBuffer) -> Result<(), Failure> {
        let first = self.found.len();
        self.read_names(path.as_c_str())
            .map_err(|error| io_failure("list directory", path.as_path(), &error))?;
        for found in &mut self.found[first..] {
            let length = path.enter(&self.names[found.name[0]..found.name[1]]);
            found.entry = entry(path.as_c_str()).map_err(|error| unattributed(path, &error))?;
            path.leave(length);
        }
        Ok(())
    }

    fn read_names(&mut self, path: &CStr) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        let mut entries = RawDir::new(&directory, &mut self.listed);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let from = self.names.len();
            self.names.extend_from_slice(name);
            self.found.push(Found {
                name: [from, self.names.len()],
                entry: Entry {
                    is_directory: false,
                    size_bytes: 0,
                },
            });
        }
        Ok(())
    }

    /// Visits files first, then directories, of those found from `first` to `last`.
    fn visit_found(
        &self,
        [first, last]: [usize; 2],
        path: &mut PathBuffer,
        visit: &mut impl Visit,
    ) -> Result<(), Failure> {
        for are_directories in [false, true] {
            for found in &self.found[first..last] {
                if found.entry.is_directory == are_directories {
                    let length = path.enter(&self.names[found.name[0]..found.name[1]]);
                    visit(path, found.entry)?;
                    path.leave(length);
                }
            }
        }
        Ok(())
    }
}

impl NameSpace for OnDisk {
    fn new(sets: &Sets) -> Self {
        let (_, names) = sets.path_bytes();
        Self {
            listed: vec![MaybeUninit::uninit(); LIST_BYTES].into(),
            names: Vec::with_capacity(names),
            found: Vec::with_capacity(sets.files.len() + sets.directories.len()),
        }
    }

    fn expect(&mut self, _: &Contents, _: &Sets) {}

    fn is_there(path: &CStr) -> io::Result<bool> {
        match rustix::fs::stat(path) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn stat(path: &CStr) -> io::Result<()> {
        rustix::fs::stat(path)?;
        Ok(())
    }

    fn walk(
        &mut self,
        path: &mut PathBuffer,
        order: Order,
        visit: &mut impl Visit,
    ) -> Result<(), Failure> {
        let (first, names) = (self.found.len(), self.names.len());
        self.list(path)?;
        let last = self.found.len();
        if order == Order::TopDown {
            self.visit_found([first, last], path, visit)?;
        }
        for index in first..last {
            if self.found[index].entry.is_directory {
                let [from, to] = self.found[index].name;
                let length = path.enter(&self.names[from..to]);
                // The original makes sure that it is not a link that would lead elsewhere.
                rustix::fs::lstat(path.as_c_str())
                    .map_err(|error| unattributed(path, &error.into()))?;
                self.walk(path, order, visit)?;
                path.leave(length);
            }
        }
        if order == Order::BottomUp {
            self.visit_found([first, last], path, visit)?;
        }
        self.found.truncate(first);
        self.names.truncate(names);
        Ok(())
    }
}

fn entry(path: &CStr) -> io::Result<Entry> {
    let attributes = rustix::fs::stat(path)?;
    Ok(Entry {
        is_directory: FileType::from_raw_mode(attributes.st_mode) == FileType::Directory,
        size_bytes: attributes.st_size as u64,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::compilebench::sets::tests::few;

    fn walked(order: Order) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for made in ["a", "a/b"] {
            fs::create_dir(directory.path().join(made)).unwrap();
        }
        for made in ["a/b/x.c", "a/y.c", "Makefile"] {
            fs::write(directory.path().join(made), "12345").unwrap();
        }
        let mut visited = Vec::new();
        let mut path = PathBuffer::new(directory.path(), 100);
        let mut visit = |path: &mut PathBuffer, entry: Entry| {
            let within = path.as_path().strip_prefix(directory.path()).unwrap();
            assert!(entry.is_directory || entry.size_bytes == 5);
            visited.push(within.to_str().unwrap().to_owned());
            Ok(())
        };
        let mut on_disk = OnDisk::new(&few());
        on_disk.walk(&mut path, order, &mut visit).unwrap();
        assert!(on_disk.found.is_empty() && on_disk.names.is_empty());
        visited
    }

    #[test]
    fn walks_go_down_or_come_up() {
        let down = ["Makefile", "a", "a/y.c", "a/b", "a/b/x.c"];
        assert_eq!(walked(Order::TopDown), down);
        let up = ["a/b/x.c", "a/y.c", "a/b", "Makefile", "a"];
        assert_eq!(walked(Order::BottomUp), up);
    }

    #[test]
    fn what_cannot_be_listed_is_named() {
        let mut path = PathBuffer::new(std::path::Path::new("/nowhere/at/all"), 0);
        let mut on_disk = OnDisk::new(&few());
        let failure = on_disk.walk(&mut path, Order::TopDown, &mut |_: &mut PathBuffer, _| {
            Ok(())
        });
        let message = failure.unwrap_err().message;
        assert!(
            message.starts_with("cannot list directory /nowhere/at/all"),
            "{message}"
        );
    }
}
