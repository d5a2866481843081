//! The files of trees: which of them a source tree has, what a patch changes, and what a build
//! makes. All four sets name files by their place in one list of paths.

use std::collections::HashMap;

/// A set of files that is written or removed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetName {
    /// A source tree.
    Source,
    /// What the next version of the source changes and adds.
    Patch,
    /// What a build of the source makes.
    Objects,
    /// What a build of the next version makes differently.
    PatchedObjects,
}

/// Paths within a tree, each with a size in bytes.
pub type Listing = Vec<(String, u64)>;

/// One file of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Number of the file in [`Sets`].
    pub file: u32,
    pub size_bytes: u64,
    /// Whether no earlier file of the set is in the same directory.
    pub opens_directory: bool,
}

/// The files of a set, in the order in which they are written.
#[derive(Debug, Default)]
pub struct Set {
    pub members: Vec<Member>,
    /// Sum of their sizes.
    pub bytes: u64,
    /// Sizes by number of the file; 0 for one that is not a member.
    sizes: Vec<u64>,
}

/// A directory within a tree.
#[derive(Debug)]
pub struct Directory {
    pub path: String,
    /// The directory around it, unless that is the tree itself.
    pub parent: Option<u32>,
}

/// A file within a tree.
#[derive(Debug)]
pub struct File {
    pub path: String,
    /// Its directory, unless that is the tree itself.
    pub directory: Option<u32>,
}

/// The four sets, with all paths that occur in them.
#[derive(Debug, Default)]
pub struct Sets {
    pub files: Vec<File>,
    pub directories: Vec<Directory>,
    sets: [Set; 4],
}

impl Sets {
    /// Gathers listings, in the order of [`SetName`]; in each, a path occurs once.
    pub fn new(listings: [Listing; 4]) -> Self {
        let mut gathered = Gathered::default();
        let members = listings.map(|listing| gathered.members(listing));
        let mut sets = Self {
            sets: members.map(|members| Set::new(members, gathered.sets.files.len())),
            ..gathered.sets
        };
        for name in SetName::ALL {
            sets.mark_directories(name);
        }
        sets
    }

    /// The set of this name.
    pub fn set(&self, name: SetName) -> &Set {
        &self.sets[name as usize]
    }

    /// Path of a member of a set.
    pub fn path(&self, member: &Member) -> &str {
        &self.files[member.file as usize].path
    }

    /// Size that `file` has in a set that it is a member of.
    pub fn size_bytes(&self, name: SetName, file: u32) -> u64 {
        self.set(name).sizes[file as usize]
    }

    /// Changes the order in which the files of a set are written.
    pub fn reorder(&mut self, name: SetName, order: impl FnOnce(&mut [Member])) {
        order(&mut self.sets[name as usize].members);
        self.mark_directories(name);
    }

    /// Bytes of the longest path within a tree, and of all paths together.
    pub fn path_bytes(&self) -> (usize, usize) {
        let files = self.files.iter().map(|file| file.path.len());
        let directories = self.directories.iter().map(|known| known.path.len());
        files
            .chain(directories)
            .fold((0, 0), |(longest, all), bytes| {
                (bytes.max(longest), all + bytes)
            })
    }

    fn mark_directories(&mut self, name: SetName) {
        let mut is_seen = vec![false; self.directories.len()];
        for member in &mut self.sets[name as usize].members {
            let directory = self.files[member.file as usize].directory;
            let is_seen = directory.map(|directory| &mut is_seen[directory as usize]);
            member.opens_directory = is_seen.is_some_and(|seen| !std::mem::replace(seen, true));
        }
    }
}

impl SetName {
    /// All sets, in order.
    pub const ALL: [SetName; 4] = [
        SetName::Source,
        SetName::Patch,
        SetName::Objects,
        SetName::PatchedObjects,
    ];
}

impl Set {
    fn new(members: Vec<Member>, files: usize) -> Self {
        let mut sizes = vec![0; files];
        for member in &members {
            sizes[member.file as usize] = member.size_bytes;
        }
        Self {
            bytes: members.iter().map(|member| member.size_bytes).sum(),
            members,
            sizes,
        }
    }
}

/// Sets while paths are still being numbered.
#[derive(Default)]
struct Gathered {
    sets: Sets,
    files: HashMap<String, u32>,
    directories: HashMap<String, u32>,
}

impl Gathered {
    fn members(&mut self, listing: Listing) -> Vec<Member> {
        let members = listing.into_iter().map(|(path, size_bytes)| Member {
            file: self.file(path),
            size_bytes,
            opens_directory: false,
        });
        members.collect()
    }

    fn file(&mut self, path: String) -> u32 {
        if let Some(&file) = self.files.get(&path) {
            return file;
        }
        let file = self.sets.files.len() as u32;
        let directory = self.directory_around(&path);
        self.files.insert(path.clone(), file);
        self.sets.files.push(File { path, directory });
        file
    }

    fn directory_around(&mut self, path: &str) -> Option<u32> {
        let (path, _) = path.rsplit_once('/')?;
        if let Some(&directory) = self.directories.get(path) {
            return Some(directory);
        }
        let parent = self.directory_around(path);
        let directory = self.sets.directories.len() as u32;
        self.directories.insert(path.to_owned(), directory);
        self.sets.directories.push(Directory {
            path: path.to_owned(),
            parent,
        });
        Some(directory)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn listing(files: &[(&str, u64)]) -> Listing {
        let files = files.iter();
        files.map(|&(path, size)| (path.to_owned(), size)).collect()
    }

    /// Sets that are small enough to be looked at.
    pub fn few() -> Sets {
        Sets::new([
            listing(&[
                ("Makefile", 10),
                ("a/b/x.c", 20),
                ("a/y.c", 30),
                ("a/b/z.c", 0),
            ]),
            listing(&[("a/y.c", 35), ("n/new.c", 5)]),
            listing(&[("a/b/x.o", 100), ("a/y.o", 200)]),
            listing(&[("a/y.o", 150), ("n/new.o", 50)]),
        ])
    }

    #[test]
    fn paths_are_numbered_once_and_directories_know_their_parents() {
        let sets = few();
        let paths: Vec<_> = sets.files.iter().map(|file| file.path.as_str()).collect();
        let wanted = [
            "Makefile", "a/b/x.c", "a/y.c", "a/b/z.c", "n/new.c", "a/b/x.o", "a/y.o", "n/new.o",
        ];
        assert_eq!(paths, wanted);
        let directories = sets.directories.iter();
        let directories: Vec<_> = directories.map(|d| (d.path.as_str(), d.parent)).collect();
        assert_eq!(directories, [("a", None), ("a/b", Some(0)), ("n", None)]);
        assert_eq!(sets.size_bytes(SetName::PatchedObjects, 6), 150);
        assert_eq!(sets.set(SetName::Source).bytes, 60);
        assert_eq!(
            sets.path_bytes(),
            (8, 7 + 8 + 8 + 5 + 7 + 7 + 5 + 7 + 1 + 3 + 1 - 1)
        );
    }

    #[test]
    fn the_first_file_in_a_directory_opens_it_in_any_order() {
        let mut sets = few();
        let opens = |sets: &Sets| {
            let members = &sets.set(SetName::Source).members;
            members
                .iter()
                .map(|m| m.opens_directory)
                .collect::<Vec<_>>()
        };
        assert_eq!(opens(&sets), [false, true, true, false]);
        sets.reorder(SetName::Source, |members| members.reverse());
        assert_eq!(opens(&sets), [true, true, false, false]);
    }
}
