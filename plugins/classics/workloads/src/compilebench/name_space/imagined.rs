//! A name space that only knows what should be there.

use std::ffi::CStr;
use std::io;

use wire::Failure;

use super::{Contents, Entry, Found, NameSpace, Order, PathBuffer, Sets, Visit};

/// No name space at all: a walk visits what should be there.
pub struct Imagined {
    /// Paths within the tree, one after another.
    paths: Vec<u8>,
    /// Files first, then directories, before those around them.
    expected: Vec<Found>,
}

impl Imagined {
    fn push(&mut self, path: &str, entry: Entry) {
        let from = self.paths.len();
        self.paths.extend_from_slice(path.as_bytes());
        self.expected.push(Found {
            name: [from, self.paths.len()],
            entry,
        });
    }
}

impl NameSpace for Imagined {
    fn new(sets: &Sets) -> Self {
        let (_, paths) = sets.path_bytes();
        Self {
            paths: Vec::with_capacity(paths),
            expected: Vec::with_capacity(sets.files.len() + sets.directories.len()),
        }
    }

    fn expect(&mut self, contents: &Contents, sets: &Sets) {
        self.paths.clear();
        self.expected.clear();
        for (file, size_bytes) in contents.files(sets) {
            let entry = Entry {
                is_directory: false,
                size_bytes,
            };
            self.push(&sets.files[file as usize].path, entry);
        }
        for directory in contents.directories().rev() {
            let entry = Entry {
                is_directory: true,
                size_bytes: 0,
            };
            self.push(&sets.directories[directory as usize].path, entry);
        }
    }

    fn is_there(_: &CStr) -> io::Result<bool> {
        Ok(true)
    }

    fn stat(path: &CStr) -> io::Result<()> {
        std::hint::black_box(path);
        Ok(())
    }

    fn walk(
        &mut self,
        path: &mut PathBuffer,
        _: Order,
        visit: &mut impl Visit,
    ) -> Result<(), Failure> {
        for expected in &self.expected {
            let [from, to] = expected.name;
            let length = path.enter(&self.paths[from..to]);
            visit(path, expected.entry)?;
            path.leave(length);
        }
        Ok(())
    }
}
