//! The tree: which directories and files there are, what they are called, and in which order
//! each phase goes through them. All of it is the original's.
//!
//! Below the root, levels count down: the root has directories `L4D10` … `L4D1`, those at the
//! bottom are `L1D…`. A file is named after how many levels are below it: `L4F…` in the root,
//! `L0F…` at the bottom. Numbers always go down.

use std::ffi::{CStr, OsStr};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::phase::Phase;

/// Shape of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Levels of directories below the root.
    pub levels: u32,
    /// Directories in each directory that is not at the bottom.
    pub directories: u32,
    /// Files in each directory, root and bottom included.
    pub files: u32,
}

impl Shape {
    /// Directories, the root included; `None` when they are too many to count.
    pub fn directories_all(self) -> Option<u64> {
        let mut all: u64 = 1;
        let mut of_level: u64 = 1;
        for _ in 0..self.levels {
            of_level = of_level.checked_mul(self.directories.into())?;
            all = all.checked_add(of_level)?;
        }
        Some(all)
    }

    /// Files; `None` when they are too many to count.
    pub fn files_all(self) -> Option<u64> {
        self.directories_all()?.checked_mul(self.files.into())
    }

    /// Bytes that the longest path below the root has, with its final NUL.
    fn path_bytes(self) -> usize {
        let longest = |letter, number| format!("/L{}{letter}{number}", self.levels).len();
        self.levels as usize * longest('D', self.directories) + longest('F', self.files) + 1
    }
}

/// A walk through a tree; paths are made in one buffer, without allocating.
pub struct Walk {
    shape: Shape,
    /// Path of the directory that the walk is in.
    path: Vec<u8>,
}

impl Walk {
    /// A walk that begins at `root`.
    pub fn new(shape: Shape, root: &Path) -> Self {
        let root = root.as_os_str().as_bytes();
        let mut path = Vec::with_capacity(root.len() + shape.path_bytes());
        path.extend_from_slice(root);
        Self { shape, path }
    }

    /// Visits the root itself.
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn root<E>(
        &mut self,
        visit: &mut impl FnMut(&mut Entries) -> Result<(), E>,
    ) -> Result<(), E> {
        visit(&mut Entries::new(&mut self.path, None, 1))
    }

    /// Visits what a phase works on below the root: once for each directory, all its entries of
    /// the kind together. Parents come before children, except when directories are removed.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn below<E>(
        &mut self,
        phase: Phase,
        visit: &mut impl FnMut(&mut Entries) -> Result<(), E>,
    ) -> Result<(), E> {
        self.descend(phase, self.shape.levels, visit)
    }

    /// `level`: how many there are below the directory that the walk is in.
    fn descend<E>(
        &mut self,
        phase: Phase,
        level: u32,
        visit: &mut impl FnMut(&mut Entries) -> Result<(), E>,
    ) -> Result<(), E> {
        if phase != Phase::RemoveDirectories {
            self.visit(phase, level, visit)?;
        }
        if level > 0 {
            let base = self.path.len();
            for number in (1..=self.shape.directories).rev() {
                write_entry(&mut self.path, level, 'D', number);
                self.descend(phase, level - 1, visit)?;
                self.path.truncate(base);
            }
        }
        if phase == Phase::RemoveDirectories {
            self.visit(phase, level, visit)?;
        }
        Ok(())
    }

    fn visit<E>(
        &mut self,
        phase: Phase,
        level: u32,
        visit: &mut impl FnMut(&mut Entries) -> Result<(), E>,
    ) -> Result<(), E> {
        let (letter, count) = match phase {
            Phase::CreateFiles | Phase::RemoveFiles => ('F', self.shape.files),
            Phase::CreateDirectories | Phase::RemoveDirectories if level == 0 => return Ok(()),
            Phase::CreateDirectories | Phase::RemoveDirectories => ('D', self.shape.directories),
        };
        if count == 0 {
            return Ok(());
        }
        visit(&mut Entries::new(
            &mut self.path,
            Some((level, letter)),
            count,
        ))
    }
}

/// The entries of one kind in one directory, in order; or the root alone.
pub struct Entries<'a> {
    path: &'a mut Vec<u8>,
    /// Length of the directory's path.
    base: usize,
    /// Level and letter that names have; `None` for the root.
    kind: Option<(u32, char)>,
    left: u32,
}

impl<'a> Entries<'a> {
    fn new(path: &'a mut Vec<u8>, kind: Option<(u32, char)>, count: u32) -> Self {
        Self {
            base: path.len(),
            path,
            kind,
            left: count,
        }
    }

    /// How many are still to come.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The path of the next one.
    pub fn next(&mut self) -> Option<&CStr> {
        if self.left == 0 {
            return None;
        }
        self.path.truncate(self.base);
        if let Some((level, letter)) = self.kind {
            write_entry(self.path, level, letter, self.left);
        }
        self.path.push(0);
        self.left -= 1;
        Some(CStr::from_bytes_with_nul(self.path).expect("the path of a directory has no NUL"))
    }

    /// The path given last, or else that of the directory; for people.
    pub fn shown(&self) -> &Path {
        let path = self.path.strip_suffix(&[0]).unwrap_or(self.path);
        Path::new(OsStr::from_bytes(path))
    }
}

impl Drop for Entries<'_> {
    /// The walk goes on from the directory.
    fn drop(&mut self) {
        self.path.truncate(self.base);
    }
}

fn write_entry(path: &mut Vec<u8>, level: u32, letter: char, number: u32) {
    write!(path, "/L{level}{letter}{number}").expect("a vector takes whatever is written");
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const SMALL: Shape = Shape {
        levels: 2,
        directories: 2,
        files: 1,
    };

    /// The visits of a phase below the root, each with its paths.
    fn visits(shape: Shape, phase: Phase) -> Vec<String> {
        let mut visits = Vec::new();
        let mut walk = Walk::new(shape, Path::new("R"));
        let room = walk.path.capacity();
        let mut visit = |entries: &mut Entries| {
            let mut paths = Vec::new();
            while let Some(path) = entries.next() {
                paths.push(path.to_str().unwrap().to_owned());
            }
            visits.push(paths.join(" "));
            Ok::<(), Infallible>(())
        };
        walk.below(phase, &mut visit).unwrap();
        assert_eq!((walk.path.len(), walk.path.capacity()), (1, room));
        visits
    }

    #[test]
    fn directories_are_made_by_parent_and_then_in_depth() {
        let wanted = [
            "R/L2D2 R/L2D1",
            "R/L2D2/L1D2 R/L2D2/L1D1",
            "R/L2D1/L1D2 R/L2D1/L1D1",
        ];
        assert_eq!(visits(SMALL, Phase::CreateDirectories), wanted);
    }

    #[test]
    fn directories_are_removed_from_the_bottom() {
        let wanted = [
            "R/L2D2/L1D2 R/L2D2/L1D1",
            "R/L2D1/L1D2 R/L2D1/L1D1",
            "R/L2D2 R/L2D1",
        ];
        assert_eq!(visits(SMALL, Phase::RemoveDirectories), wanted);
    }

    #[test]
    fn files_are_in_every_directory() {
        let wanted = [
            "R/L2F1",
            "R/L2D2/L1F1",
            "R/L2D2/L1D2/L0F1",
            "R/L2D2/L1D1/L0F1",
            "R/L2D1/L1F1",
            "R/L2D1/L1D2/L0F1",
            "R/L2D1/L1D1/L0F1",
        ];
        assert_eq!(visits(SMALL, Phase::CreateFiles), wanted);
        assert_eq!(visits(SMALL, Phase::RemoveFiles), wanted);
    }

    #[test]
    fn counts_are_those_that_the_original_prints() {
        for (levels, directories, files, counts) in [
            (4, 10, 10, (11_111, 111_110)),
            (4, 5, 3, (781, 2_343)),
            (3, 4, 5, (85, 425)),
            (0, 7, 3, (1, 3)),
            (5, 0, 2, (1, 2)),
        ] {
            let shape = Shape {
                levels,
                directories,
                files,
            };
            let counted = shape.directories_all().zip(shape.files_all());
            assert_eq!(counted, Some(counts));
            let made: usize = visits(shape, Phase::CreateDirectories)
                .iter()
                .map(|visit| visit.split(' ').count())
                .sum();
            assert_eq!(made as u64 + 1, counts.0);
        }
    }

    #[test]
    fn what_cannot_be_counted_is_none() {
        let shape = Shape {
            levels: 255,
            directories: 10,
            files: 1,
        };
        assert_eq!(shape.directories_all(), None);
    }
}
