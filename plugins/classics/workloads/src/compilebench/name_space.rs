//! The name space: what the stages ask of it beside opening and removing files. One is the
//! kernel's; the other only knows what should be there, so that loops can be measured without
//! I/O.

mod imagined;
mod on_disk;

use std::ffi::CStr;
use std::io;

use kit::failure::io_failure;
use wire::Failure;

use super::contents::Contents;
use super::path::PathBuffer;
use super::sets::Sets;

pub use imagined::Imagined;
pub use on_disk::OnDisk;

/// Which of a directory and what it contains comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The files of a directory before its directories.
    TopDown,
    /// What is in its directories, then its files, then the directories themselves.
    BottomUp,
}

/// Something in a tree.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub is_directory: bool,
    /// Size of a file.
    pub size_bytes: u64,
}

/// What is done to an entry at a path.
pub trait Visit: FnMut(&mut PathBuffer, Entry) -> Result<(), Failure> {}
impl<F: FnMut(&mut PathBuffer, Entry) -> Result<(), Failure>> Visit for F {}

/// A name space.
pub trait NameSpace {
    /// With room for walks through trees made of `sets`.
    fn new(sets: &Sets) -> Self;

    /// Prepares for a walk through a tree with these contents.
    fn expect(&mut self, contents: &Contents, sets: &Sets);

    /// Whether there is something at `path` (stat(2)).
    fn is_there(path: &CStr) -> io::Result<bool>;

    /// Asks for the attributes of what is at `path` (stat(2)).
    fn stat(path: &CStr) -> io::Result<()>;

    /// Visits all that is below `path`; allocates nothing.
    ///
    /// # Errors
    /// The first of the kernel or of `visit`.
    fn walk(
        &mut self,
        path: &mut PathBuffer,
        order: Order,
        visit: &mut impl Visit,
    ) -> Result<(), Failure>;
}

/// Something that a walk finds.
struct Found {
    /// Where its name begins and ends among the names that the walk keeps.
    name: [usize; 2],
    entry: Entry,
}

/// The kernel refused the attributes of what is at `path`.
pub fn unattributed(path: &PathBuffer, error: &io::Error) -> Failure {
    io_failure("ask for the attributes of", path.as_path(), error)
}
